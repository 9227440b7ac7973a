//! `analyze`: what an agent thinks of each move of a position.

use std::io::Write;
use std::time::Instant;

use afterstate_agent::{Agent, Budget, Context, Decision, Spec, build, default_agent};
use afterstate_arena::{Analysis, grouped, stream};
use afterstate_board::{Direction, Position, Rng, Spawn, SpawnRule, notation};
use clap::Args;

use crate::failure::{OrUsage, Outcome};
use crate::size::{Size, for_size};

/// Show the value of each of the four moves of a position, the best one, and the line the agent expects.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  afterstate analyze --board \"1024 512 256 128 / 2 4 8 64 / 0 0 2 4 / 0 0 0 2\"
  afterstate analyze --board A987/1236/0012/0001 --agent expectimax:ms=100 --json")]
pub struct AnalyzeArgs {
    /// The position, in digits or decimal tiles
    #[arg(long, value_name = "BOARD")]
    board: String,
    /// Who judges: NAME[:key=value,...] or @PRESET (see `afterstate list`) (unless given: perfect play where the board is solved, else the champion)
    #[arg(long, value_name = "SPEC")]
    agent: Option<String>,
    /// Names the random numbers of agents that draw
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Board size
    #[arg(long, default_value_t = Size::CLASSIC, value_name = "RxC")]
    size: Size,
    /// Which tiles spawn, as TILE:PROBABILITY pairs
    #[arg(long, default_value_t = SpawnRule::CLASSIC, value_name = "RULE")]
    spawn: SpawnRule,
}

pub fn run(args: &AnalyzeArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    for_size!(args.size, P => analyze::<P>(args, json, out))
}

/// A line of play: moves, each with the spawn expected after it.
type Line = [(Direction, Option<Spawn>)];

fn analyze<P: Position>(args: &AnalyzeArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let board: P = notation::parse(&args.board).or_usage()?;
    let spec: Spec = args.agent.as_deref().unwrap_or_else(|| default_agent::<P>(&args.spawn)).parse().or_usage()?;
    let mut agent = build::<P>(&spec, &Context { rule: args.spawn }).or_usage()?;
    let began = Instant::now();
    let decision = agent.decide(&board, &Budget::OWN, &mut Rng::stream(args.seed, 0, stream::AGENT));
    let ms = 1e3 * began.elapsed().as_secs_f64();
    let line = agent.line(&board, &decision);
    if json {
        let analysis = Analysis::of(&board, &spec.to_string(), agent.unit(), &decision, &line, ms);
        writeln!(out, "{}", serde_json::to_string(&analysis)?)?;
    } else {
        show(out, &board, &*agent, &decision, &line, ms)?;
    }
    Ok(Outcome::Done)
}

fn show<P: Position>(
    out: &mut dyn Write,
    board: &P,
    agent: &dyn Agent<P>,
    decision: &Decision,
    line: &Line,
    ms: f64,
) -> anyhow::Result<()> {
    writeln!(out, "{}\n", notation::tiles(board).replace(" / ", "\n"))?;
    let Some(best) = decision.direction else {
        writeln!(out, "The game is over: no move is legal.")?;
        return Ok(());
    };
    writeln!(out, "Values in {}:", agent.unit())?;
    for direction in Direction::ALL {
        let i = direction.index();
        let value = match decision.values[i] {
            Some(value) => format!("{value:>14.2}"),
            None if board.legal().contains(direction) => format!("{:>14}", "no value"),
            None => format!("{:>14}", "not legal"),
        };
        let visits = if decision.visits[i] > 0 {
            format!("  {} tries", grouped(decision.visits[i] as f64))
        } else {
            String::new()
        };
        let success = decision.table.and_then(|table| table.success[i]);
        let success = success.map_or_else(String::new, |share| format!("  succeeds in {:.2}%", 100.0 * share));
        let mark = if direction == best { "  <- best" } else { "" };
        writeln!(out, "  {direction:<6}{value}{visits}{success}{mark}")?;
    }
    let (nodes, depth) = (grouped(decision.nodes as f64), decision.depth);
    writeln!(out, "{nodes} slides examined, {depth} spawns ahead, {ms:.2} ms")?;
    if let Some(table) = decision.table {
        writeln!(out, "Decided by endgame table {} (see `afterstate tables list`)", table.pattern)?;
    }
    if let Some(batch) = decision.batch {
        let leaves = grouped(batch.leaves as f64);
        writeln!(out, "{leaves} leaves in one call, {:.1}% of those met were known", 100.0 * batch.hit_rate())?;
    }
    if line.len() > 1 {
        writeln!(
            out,
            "Expected line: {}",
            line.iter().map(|(d, spawn)| step::<P>(*d, *spawn)).collect::<Vec<_>>().join(", ")
        )?;
    }
    Ok(())
}

/// `left (2 at row 1, column 3)`.
fn step<P: Position>(direction: Direction, spawn: Option<Spawn>) -> String {
    let place = |s: Spawn| {
        let (row, column) = (usize::from(s.cell) / P::COLUMNS + 1, usize::from(s.cell) % P::COLUMNS + 1);
        format!(" ({} at row {row}, column {column})", 1u64 << s.exponent)
    };
    format!("{direction}{}", spawn.map_or_else(String::new, place))
}
