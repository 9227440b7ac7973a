//! `bench`: speed side by side in one run, and the fingerprint of behaviour.

use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::failure::Outcome;
use afterstate_bench::engine::Comparison;
use afterstate_bench::learn::{self, LearnReport};
use afterstate_bench::search::{self, SearchReport};
use afterstate_bench::{behaviour, engine};

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
/// Searches: decisions on positions of games that look one spawn ahead, 500 or more moves into them. `two threads` is how much sooner
/// two threads end one decision, `two searches` how much more two threads get done with decisions of their own.
///
/// Learning: moves a second of an n-tuple network (4x6) that learns from nothing, on one thread and on two.
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
    /// The searches: slides a second, threads, batched leaves, time budgets
    Search,
    /// Learning: moves a second by algorithm and threads
    Learn,
    /// Only the fingerprint of behaviour
    Fingerprint,
}

pub fn run(args: &BenchArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let wants = |what: What| args.what == What::All || args.what == what;
    let engine = if wants(What::Engine) { engine::run(args.quick) } else { Vec::new() };
    let search = wants(What::Search).then(|| search::run(args.quick)).transpose()?;
    let learn = wants(What::Learn).then(|| learn::run(args.quick)).transpose()?;
    let fingerprint = wants(What::Fingerprint).then(behaviour::fingerprint).transpose()?;
    if json {
        writeln!(out, "{}", json!({"engine": engine, "search": search, "learn": learn, "fingerprint": fingerprint}))?;
        return Ok(Outcome::Done);
    }
    for comparison in &engine {
        show(out, comparison)?;
    }
    if let Some(search) = &search {
        show_search(out, search)?;
    }
    if let Some(learn) = &learn {
        show_learn(out, learn)?;
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

fn show_search(out: &mut dyn Write, report: &SearchReport) -> std::io::Result<()> {
    writeln!(out, "Expectimax with the heuristic, {} positions", report.positions)?;
    writeln!(out, "  depth      slides    us/move  M slides/s  two threads  M slides/s  two searches")?;
    for d in &report.depths {
        let name = format!("{}{}", d.depth, if d.exact { " exact" } else { "" });
        let (threads, searches) = (d.two_threads, d.two_searches);
        writeln!(
            out,
            "  {name:<8} {:>8.0} {:>10.1} {:>11.1} {threads:>11.2}x {:>11.1} {searches:>12.2}x",
            d.slides, d.micros, d.rate, d.two_rate
        )?;
    }
    writeln!(out, "\nLeaves judged in one call beside the plain search, us/move")?;
    for b in &report.batches {
        let (plain, batched, hits) = (b.plain_micros, b.batched_micros, 100.0 * b.hit_rate);
        writeln!(
            out,
            "  {:<46} plain {plain:>8.1}  batched {batched:>8.1}  ratio {:.2}  {:.0} leaves, {hits:.0}% met before",
            b.agent, b.ratio, b.leaves
        )?;
    }
    writeln!(out, "\nTime budgets, ms: half, 99% and all of the decisions end within")?;
    for b in &report.budgets {
        let kept = if b.is_kept { "" } else { "  over 10% + 2 ms" };
        writeln!(out, "  {:<18} {:>8.2} {:>8.2} {:>8.2}{kept}", b.agent, b.p50, b.p99, b.max)?;
    }
    writeln!(out)
}

fn show_learn(out: &mut dyn Write, reports: &[LearnReport]) -> std::io::Result<()> {
    writeln!(out, "Learning, 4x6 network from nothing, million moves/s")?;
    for r in reports {
        let [one, two] = [r.one_thread, r.two_threads].map(|rate| rate / 1e6);
        writeln!(
            out,
            "  {:<16} one thread {one:>5.2}  two {two:>5.2}  ratio {:.2}  {} games, the last ones {:.0} and {:.0} points",
            r.algorithm, r.ratio, r.games, r.mean_scores[0], r.mean_scores[1]
        )?;
    }
    writeln!(out)
}
