//! `compare`: two agents on the same games, and how sure the difference is.

use std::io::Write;

use afterstate_arena::{CompareError, Results, compare};
use afterstate_board::Position;
use clap::Args;
use serde_json::json;

use super::eval::GamesArgs;
use crate::failure::Outcome;
use crate::interrupt;
use crate::size::for_size;
use crate::table;

/// Play the same games with two agents and say which is better, and how sure that is.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  afterstate compare random greedy --games 200")]
pub struct CompareArgs {
    /// The first agent
    #[arg(value_name = "A")]
    a: String,
    /// The second agent
    #[arg(value_name = "B")]
    b: String,
    #[command(flatten)]
    games: GamesArgs,
}

pub fn run(args: &CompareArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    for_size!(args.games.size, P => pair::<P>(args, json, out))
}

fn pair<P: Position>(args: &CompareArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    args.games.check::<P>(&args.b)?;
    let a = args.games.play::<P>(&args.a)?;
    // After Ctrl-C the second agent plays nothing.
    let b = args.games.play::<P>(&args.b)?;
    let interrupted = interrupt::requested();
    let comparison = match compare(&a, &b) {
        Err(CompareError::NoPairs { .. }) if interrupted => None,
        other => Some(other?),
    };
    let summaries: Vec<_> = [&a, &b].into_iter().filter_map(Results::summary).collect();
    if json {
        writeln!(out, "{}", json!({"comparison": comparison, "results": summaries, "interrupted": interrupted}))?;
    } else {
        table::show(out, &summaries)?;
        let verdict = comparison.as_ref().map_or("interrupted: no pair of games to compare", |c| c.verdict.as_str());
        writeln!(out, "{verdict}")?;
    }
    Ok(if interrupted { Outcome::Interrupted } else { Outcome::Done })
}
