//! Where games begin other than with two random tiles: one position, or a file of them.

use std::path::PathBuf;

use afterstate_arena::{StartsError, read_starts};
use afterstate_board::{Position, notation};
use clap::Args;

use crate::failure::OrUsage;

/// Start positions, shared by the commands that play many games.
#[derive(Args, Debug, Default)]
pub struct StartArgs {
    /// Begin every game at this position
    #[arg(long, value_name = "B", conflicts_with = "starts")]
    board: Option<String>,
    /// Begin each game at a position of this file, one a line, drawn by the game's seed (`replay --sum` and `--tile` write such files)
    #[arg(long, value_name = "FILE")]
    starts: Option<PathBuf>,
}

impl StartArgs {
    /// The positions as digits, checked; none unless asked for.
    pub fn read<P: Position>(&self) -> anyhow::Result<Vec<String>> {
        let starts: Vec<P> = match (&self.board, &self.starts) {
            (Some(board), _) => vec![notation::parse(board).or_usage()?],
            (None, Some(path)) => match read_starts(path) {
                Err(error @ StartsError::Read { .. }) => return Err(error.into()),
                starts => starts.or_usage()?,
            },
            (None, None) => Vec::new(),
        };
        Ok(starts.iter().map(|board| notation::digits(board, "")).collect())
    }
}
