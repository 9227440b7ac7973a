//! `move`: what one move does to a position, before the spawn.

use std::io::Write;

use afterstate_board::{Direction, Position, notation};
use clap::Args;
use serde_json::json;

use crate::failure::{OrUsage, Outcome};
use crate::size::{Size, for_size};

/// Slide the tiles of a position and show the board before the next tile spawns.
#[derive(Args, Debug)]
pub struct MoveArgs {
    /// The position, in digits (`1230/...`) or decimal tiles (`2 4 8 0 / ...`)
    #[arg(long, value_name = "BOARD")]
    board: String,
    /// left, right, up or down
    #[arg(long, value_name = "DIRECTION")]
    dir: Direction,
    /// Board size
    #[arg(long, default_value_t = Size::CLASSIC, value_name = "RxC")]
    size: Size,
}

pub fn run(args: &MoveArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    for_size!(args.size, P => slide::<P>(args, json, out))
}

fn slide<P: Position>(args: &MoveArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let board: P = notation::parse(&args.board).or_usage()?;
    let slide = board.slide(args.dir);
    let after = slide.map_or(board, |s| *s.after.board());
    let reward = slide.map_or(0, |s| s.reward);
    if json {
        let board = notation::digits(&after, "");
        writeln!(
            out,
            "{}",
            json!({"legal": slide.is_some(), "board": board, "tiles": notation::tiles(&after), "reward": reward})
        )?;
    } else if slide.is_some() {
        writeln!(out, "{}\n{after}\n+{reward} points", notation::tiles(&after).replace(" / ", "\n"))?;
    } else {
        writeln!(out, "{} is not legal here: it changes nothing", args.dir)?;
    }
    Ok(Outcome::Done)
}
