//! `bench`: speed side by side in one run, and the fingerprint of behaviour.

use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::bench::engine::Comparison;
use crate::bench::{behaviour, engine};
use crate::failure::Outcome;

/// Measure speed, two implementations side by side in one run, and end with the fingerprint of behaviour.
///
/// Workload W1: uniformly random games. From two tiles on distinct uniform cells, repeat: list the legal moves, stop if there
/// are none, pick one uniformly, apply it, spawn a tile. About 118.5 moves and 1,096 points a game.
/// Workload W2: all four afterstates with rewards of 1,000,000 boards recorded from W1.
/// Then four primitives: clone, move, legal moves, whole step.
///
/// `board` is the fast 4x4 board, one game at a time; `batch` advances 32 boards at once on one core; `grid` is the plain
/// implementation. Each contender runs five times in alternation and keeps its best round.
///
/// The fingerprint stands for behaviour: rules, spawns, and games of every agent, evaluator and preset.
#[derive(Args, Debug)]
#[command(verbatim_doc_comment)]
pub struct BenchArgs {
    /// What to measure
    #[arg(default_value = "all")]
    what: What,
    /// An eighth of the work: for a first impression
    #[arg(long)]
    quick: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Everything below
    All,
    /// The engine: W1, W2 and the primitives
    Engine,
    /// Only the fingerprint of behaviour
    Fingerprint,
}

pub fn run(args: &BenchArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let engine = if args.what == What::Fingerprint { Vec::new() } else { engine::run(args.quick) };
    let fingerprint = if args.what == What::Engine { None } else { Some(behaviour::fingerprint()?) };
    if json {
        writeln!(out, "{}", json!({"engine": engine, "fingerprint": fingerprint}))?;
        return Ok(Outcome::Done);
    }
    for comparison in &engine {
        show(out, comparison)?;
    }
    if let Some(fingerprint) = fingerprint {
        writeln!(out, "fingerprint {fingerprint}")?;
    }
    Ok(Outcome::Done)
}

fn show(out: &mut dyn Write, comparison: &Comparison) -> std::io::Result<()> {
    let (first, last) = (comparison.rates[0].0, comparison.rates[comparison.rates.len() - 1].0);
    writeln!(out, "{}", comparison.workload)?;
    for (name, rate) in &comparison.rates {
        writeln!(out, "  {name:<18} {:>10.2} million {}/s", rate / 1e6, comparison.unit)?;
    }
    writeln!(out, "  {first} : {last} = {:.1} : 1\n", comparison.ratio)
}
