//! `shrink`: a trained network small enough to ship.

use std::io::Write;
use std::path::PathBuf;

use afterstate_arena::grouped;
use afterstate_board::Board;
use afterstate_learn::shrink;
use clap::Args;
use serde_json::json;

use crate::failure::Outcome;

/// Pack a trained network: the weights that matter most, less precisely, into so many bytes.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  afterstate shrink runs/hour/checkpoints/best.safetensors small.safetensors --mebibytes 20
  afterstate eval --agent greedy:eval=ntuple@small.safetensors --games 1000
  afterstate shrink runs/value/checkpoints/best.safetensors small.safetensors --mebibytes 6")]
pub struct ShrinkArgs {
    /// A checkpoint of `train`
    from: PathBuf,
    /// The file to write
    to: PathBuf,
    /// The most it may take
    #[arg(long, value_name = "N", default_value_t = 23.9)]
    mebibytes: f64,
    /// Round the weights of an n-tuple network to so many points
    #[arg(long, value_name = "POINTS", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=65536))]
    step: u32,
}

pub fn run(args: &ShrinkArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let limit = (args.mebibytes.max(0.0) * 1_048_576.0) as usize;
    let shrunk = shrink::<Board>(&args.from, &args.to, limit, args.step)?;
    if json {
        writeln!(out, "{}", json!({"weights": shrunk.weights, "kept": shrunk.kept, "bytes": shrunk.bytes}))?;
    } else {
        let [kept, weights, bytes] = [shrunk.kept, shrunk.weights, shrunk.bytes].map(|n| grouped(n as f64));
        writeln!(out, "{kept} of {weights} weights or rows in {bytes} bytes: {}", args.to.display())?;
    }
    Ok(Outcome::Done)
}
