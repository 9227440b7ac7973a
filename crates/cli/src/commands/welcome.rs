//! `afterstate` alone: what this is, a game played just now, and five things to try. The page is served after it.

use std::io::Write;
use std::ops::ControlFlow;

use afterstate_agent::{Context, build_from_text};
use afterstate_arena::{Setup, grouped, play_game};
use afterstate_board::{Board, Position, notation};
use serde_json::json;

use crate::failure::Outcome;

/// Shallow enough for the welcome not to keep anyone waiting.
const DEMONSTRATOR: &str = "expectimax:depth=1";

const TO_TRY: [(&str, &str); 5] = [
    ("afterstate watch", "watch a game in the terminal"),
    ("afterstate play", "play yourself, with undo and hints"),
    ("afterstate eval --agent expectimax:depth=1 --games 100", "measure an agent, with intervals"),
    ("afterstate compare greedy flat-mc --games 50", "which of two is better, and how sure is that?"),
    ("afterstate bench engine", "see how fast the engine is on this machine"),
];

pub fn run(json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    if json {
        let commands: Vec<&str> = TO_TRY.iter().map(|(command, _)| *command).collect();
        let version = env!("CARGO_PKG_VERSION");
        writeln!(out, "{}", json!({"name": "afterstate", "version": version, "commands": commands}))?;
        return Ok(Outcome::Done);
    }
    let setup = Setup::new(DEMONSTRATOR, std::process::id().into());
    let mut agent = build_from_text::<Board>(DEMONSTRATOR, &Context::default())?;
    let game = play_game(&mut *agent, &setup, 0, |_, _| ControlFlow::Continue(()))?;
    let tile = 1u64 << game.last.max_exponent();
    writeln!(out, "afterstate {}: the laboratory for the game 2048\n", env!("CARGO_PKG_VERSION"))?;
    for row in notation::tiles(&game.last).split(" / ") {
        let cells = row.split(' ').map(|tile| format!("{:>6}", if tile == "0" { "." } else { tile }));
        writeln!(out, "  {}", cells.collect::<String>())?;
    }
    let (score, moves) = (grouped(game.score as f64), grouped(game.moves() as f64));
    writeln!(out, "\n  Played just now by `{DEMONSTRATOR}`: {score} points, {moves} moves, a {tile}.\n\nTry:")?;
    for (command, what) in TO_TRY {
        writeln!(out, "  {command:<58} {what}")?;
    }
    writeln!(out, "\n`afterstate --help` lists every command; each has --help with examples.\n")?;
    Ok(Outcome::Done)
}
