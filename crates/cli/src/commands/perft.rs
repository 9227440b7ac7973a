//! `perft`: the size of the game tree, for checking engines against each other.

use std::io::Write;
use std::time::Instant;

use afterstate_board::{Position, SpawnRule, notation, perft};
use clap::Args;
use serde_json::json;

use crate::failure::{OrUsage, Outcome};
use crate::size::{Size, for_size};

/// Count the sequences of (legal move, spawn cell, spawn value) of a given length.
#[derive(Args, Debug)]
pub struct PerftArgs {
    /// The position, in digits or decimal tiles
    #[arg(long, value_name = "BOARD")]
    board: String,
    /// How many moves deep
    #[arg(long, value_name = "N")]
    depth: u32,
    /// Board size
    #[arg(long, default_value_t = Size::CLASSIC, value_name = "RxC")]
    size: Size,
    /// Which tiles spawn, as TILE:PROBABILITY pairs
    #[arg(long, default_value_t = SpawnRule::CLASSIC, value_name = "RULE")]
    spawn: SpawnRule,
}

pub fn run(args: &PerftArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    for_size!(args.size, P => count::<P>(args, json, out))
}

fn count<P: Position>(args: &PerftArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let board: P = notation::parse(&args.board).or_usage()?;
    let begin = Instant::now();
    let nodes = perft(&board, args.depth, &args.spawn);
    let seconds = begin.elapsed().as_secs_f64();
    if json {
        writeln!(
            out,
            "{}",
            json!({"board": notation::digits(&board, ""), "depth": args.depth, "nodes": nodes, "seconds": seconds})
        )?;
    } else {
        writeln!(out, "{nodes} sequences of {} moves and spawns ({seconds:.3} s)", args.depth)?;
    }
    Ok(Outcome::Done)
}
