//! Where games begin other than with two random tiles: one position, or a file of them.

use std::path::PathBuf;

use afterstate_board::{Position, notation};
use anyhow::{Context, anyhow};
use clap::Args;

use crate::failure::OrUsage;

/// Start positions, shared by the commands that play many games.
#[derive(Args, Debug, Default)]
pub struct StartArgs {
    /// Begin every game at this position
    #[arg(long, value_name = "B", conflicts_with = "starts")]
    board: Option<String>,
    /// Begin each game at a position of this file, one a line, drawn by the game's seed (`replay --sum` writes such files)
    #[arg(long, value_name = "FILE")]
    starts: Option<PathBuf>,
}

impl StartArgs {
    /// The positions as digits, checked; none unless asked for.
    pub fn read<P: Position>(&self) -> anyhow::Result<Vec<String>> {
        let digits = |text: &str| notation::parse::<P>(text).map(|board| notation::digits(&board, ""));
        if let Some(board) = &self.board {
            return Ok(vec![digits(board).or_usage()?]);
        }
        let Some(path) = &self.starts else { return Ok(Vec::new()) };
        let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot read it", path.display()))?;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let read = |(at, line)| digits(line).map_err(|error| anyhow!("{}, line {}: {error}", path.display(), at + 1));
        let starts: Vec<String> = lines.map(read).collect::<anyhow::Result<_>>().or_usage()?;
        if starts.is_empty() {
            return Err(anyhow!("{}: no positions in it (write one a line)", path.display())).or_usage();
        }
        Ok(starts)
    }
}
