//! `solve`: small boards, exactly.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use afterstate_arena::grouped;
use afterstate_board::SpawnRule;
use afterstate_evaluator::exact::{self, Brief, Goal, Problem};
use afterstate_learn::run::Stop;
use afterstate_learn::solve::{Ended, Phase, Progress, Solved, solve};
use clap::Args;
use serde_json::{Value, json};

use crate::failure::{OrUsage, Outcome, complain};
use crate::interrupt;
use crate::progress::duration;
use crate::size::Size;

/// Solve a small board: the best possible expected score, or probability of a tile, from two random tiles.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  afterstate solve --size 2x2                           (at once, nothing is stored)
  afterstate solve --size 3x3                           (stores 480 MB; then `eval --size 3x3 --agent optimal` plays perfectly)
  afterstate solve --size 2x4 --goal 256 --json
  AFTERSTATE_DATA=/big/disk afterstate solve --size 3x3 (where agents look too, if the variable is set for them)

Ctrl-C, a kill or a full disk loses nothing: give the same command again and it goes on.")]
pub struct SolveArgs {
    /// Board size: 2x2, 2x3, 2x4 or 3x3
    #[arg(long, value_name = "RxC")]
    size: Size,
    /// What to strive for: `score`, or a tile to reach
    #[arg(long, value_name = "score|TILE", default_value_t = Goal::Score)]
    goal: Goal,
    /// Which tiles spawn, as TILE:PROBABILITY pairs
    #[arg(long, default_value_t = SpawnRule::CLASSIC, value_name = "RULE")]
    spawn: SpawnRule,
    /// The folder of tables (unless given: $AFTERSTATE_DATA, or the user's data folder)
    #[arg(long, visible_alias = "out", value_name = "DIR")]
    data: Option<PathBuf>,
    /// Threads; 0 is one for each core
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    threads: u16,
}

pub fn run(args: &SolveArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let problem = Problem::new(args.size.rows, args.size.columns, args.spawn, args.goal).or_usage()?;
    let began = Instant::now();
    if args.data.is_none()
        && let Some(solution) = exact::at_once(&problem)
    {
        return show(out, json, solution.brief(), None, began.elapsed().as_secs_f64());
    }
    let folder = args.data.as_ref().map_or_else(exact::folder, |data| data.join(exact::FOLDER));
    let threads = match args.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        some => some.into(),
    };
    let stop = Stop::from(interrupt::flag()?);
    let mut meter = Meter::new();
    let ended = solve(&problem, &folder, threads, &stop, &mut |progress| meter.show(progress));
    meter.finish();
    match ended? {
        Ended::Stopped => {
            complain!("stopped; give the same command again to go on");
            if json {
                writeln!(out, "{}", json!({"interrupted": true}))?;
            }
            Ok(Outcome::Interrupted)
        }
        Ended::Solved(solved) => show(out, json, &solved.brief, Some(&solved), solved.seconds),
    }
}

/// The value of a new game under the name of what it is.
fn named(brief: &Brief) -> (&'static str, &'static str) {
    match brief.problem.goal() {
        Goal::Score => ("expected_score", "expected score"),
        Goal::Tile(_) => ("probability", "probability of reaching the tile"),
    }
}

fn show(
    out: &mut dyn Write,
    json: bool,
    brief: &Brief,
    stored: Option<&Solved>,
    seconds: f64,
) -> anyhow::Result<Outcome> {
    let problem = &brief.problem;
    let size = format!("{}x{}", problem.rows(), problem.columns());
    let (key, name) = named(brief);
    if json {
        let goal: Value = match problem.goal() {
            Goal::Score => json!("score"),
            Goal::Tile(exponent) => json!(1u64 << exponent),
        };
        let answer = json!({key: brief.start_value, "states": brief.states, "layers": brief.layers, "size": size,
            "goal": goal, "spawn": problem.rule().to_string(), "file": stored.map(|s| s.path.display().to_string()),
            "bytes": stored.map(|s| s.bytes), "resumed_layers": stored.map(|s| s.resumed), "seconds": seconds});
        writeln!(out, "{answer}")?;
        return Ok(Outcome::Done);
    }
    writeln!(out, "{problem}")?;
    writeln!(out, "  {name} under perfect play, from two random tiles: {}", brief.start_value)?;
    let (states, layers) = (grouped(brief.states as f64), grouped(f64::from(brief.layers)));
    writeln!(out, "  {states} positions up to symmetry, in {layers} layers of equal tile sum; {seconds:.1} s")?;
    match stored {
        Some(solved) => writeln!(out, "  {} ({:.1} MB)", solved.path.display(), solved.bytes as f64 / 1e6)?,
        None => writeln!(out, "  nothing is stored: agents solve this board themselves when asked")?,
    }
    let goal = if problem.goal() == Goal::Score { String::new() } else { format!(":goal={}", problem.goal()) };
    writeln!(out, "Play it: afterstate eval --size {size} --agent optimal{goal}")?;
    Ok(Outcome::Done)
}

/// Progress on standard error: in place on a terminal, a line now and then elsewhere.
struct Meter {
    terminal: bool,
    shown: Option<(Phase, Instant)>,
}

impl Meter {
    fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), shown: None }
    }

    fn show(&mut self, progress: &Progress) {
        let every = Duration::from_millis(if self.terminal { 100 } else { 5_000 });
        if self.shown.is_some_and(|(phase, at)| phase == progress.phase && at.elapsed() < every) {
            return;
        }
        self.shown = Some((progress.phase, Instant::now()));
        let line = describe(progress);
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[2K{line}");
        } else {
            complain!("{line}");
        }
    }

    fn finish(&self) {
        if self.terminal && self.shown.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

/// `valuing, tile sum 812: 12,345,678 of 48,713,519 positions, 1,700,000/s, 21 s left`.
fn describe(progress: &Progress) -> String {
    let what = match progress.phase {
        Phase::Listing => "listing (1 of 3)",
        Phase::Valuing => "valuing (2 of 3)",
        Phase::Storing => "storing (3 of 3)",
    };
    let of = progress.total.map_or_else(String::new, |total| format!(" of {}", grouped(total as f64)));
    let left = progress.remaining.map_or_else(String::new, |left| format!(", {} left", duration(left)));
    let (states, rate) = (grouped(progress.states as f64), grouped(progress.rate.round()));
    format!("{what}, tile sum {}: {states}{of} positions, {rate}/s{left}", progress.sum)
}
