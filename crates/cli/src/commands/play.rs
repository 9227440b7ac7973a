//! `play`: the game for people, on the whole screen or line by line.

use std::io::{IsTerminal, Write, stderr, stdin};
use std::time::{SystemTime, UNIX_EPOCH};

use afterstate_agent::default_agent;
use afterstate_board::{Position, SpawnRule};
use clap::Args;

use super::watch::BoardArgs;
use crate::failure::Outcome;
use crate::interrupt;
use crate::size::for_size;
use crate::tui::panel::grouped;
use crate::tui::play::best::{Best, user_file};
use crate::tui::play::lines::Lines;
use crate::tui::play::state::State;
use crate::tui::{TerminalStyle, play, text};

/// Play the game yourself, with undo and hints from any agent
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  afterstate play
  afterstate play --size 3x3 --agent random
  printf 'left\\nup up\\nhint\\nundo\\n' | afterstate play --seed 1

Keys: arrows, w a s d or h j k l move; u undo, y redo, t hint, T hints on every move, n new game, i all keys, q quit.
Without a terminal, and with --plain, words are read line by line: left right up down (or l r u d), undo, redo, hint, new,
board, help, quit; with --json every line is answered with one object.
The best score of each size is kept in $XDG_DATA_HOME/afterstate/best.json (~/.local/share if unset).")]
pub struct PlayArgs {
    /// Who gives hints: NAME[:key=value,...] or @PRESET (see `afterstate list`) (unless given: perfect play where the board is solved, else the champion)
    #[arg(long, value_name = "SPEC")]
    agent: Option<String>,
    /// Names all random numbers: the same seed, the same tiles [default: another one each time]
    #[arg(long, value_name = "S")]
    seed: Option<u64>,
    /// Which game of the seed
    #[arg(long, value_name = "I", default_value_t = 0)]
    game: u64,
    #[command(flatten)]
    board: BoardArgs,
    /// Read words line by line even on a terminal
    #[arg(long)]
    plain: bool,
}

pub fn run(args: &PlayArgs, style: TerminalStyle, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    for_size!(args.board.size, P => play_one::<P>(args, style, out))
}

fn play_one<P: Position>(args: &PlayArgs, style: TerminalStyle, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let (hint_agent, label) =
        args.board.agent::<P>(args.agent.as_deref().unwrap_or_else(|| default_agent::<P>(&args.board.spawn)))?;
    // Only a person's games count: a program that plays through a pipe would spoil the fun.
    let best_file = user_file().filter(|_| stdin().is_terminal() && !style.json);
    let best = Best::load(best_file, kind::<P>(args.board.spawn));
    let mut state = State::new(args.board.spawn, args.seed.unwrap_or_else(new_seed), args.game, best);
    let result = if style.full_screen(args.plain) {
        play::run(&mut state, hint_agent, &label, style.color).and_then(|()| farewell(&state, out))
    } else {
        let lines = Lines { state: &mut state, hint_agent, label: &label, json: style.json };
        lines.run(stdin().lock(), out, &mut stderr())
    };
    if let Err(error) = state.best_mut().save() {
        crate::failure::complain!("the best score could not be kept: {error}");
    }
    result?;
    Ok(if interrupt::requested() { Outcome::Interrupted } else { Outcome::Done })
}

/// Games by another spawn rule are easier or harder: they have a best of their own.
fn kind<P: Position>(rule: SpawnRule) -> String {
    let size = text::size::<P>();
    if rule == SpawnRule::CLASSIC { size } else { format!("{size} {rule}") }
}

/// Short enough to be typed again.
fn new_seed() -> u64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(time.subsec_nanos() ^ time.as_secs() as u32)
}

fn farewell<P: Position>(state: &State<P>, out: &mut dyn Write) -> anyhow::Result<()> {
    let (live, best) = (state.live(), state.best().score());
    let (score, moves) = (grouped(live.score()), text::moves(live.steps().len() as u64));
    let tile = text::max_tile(live.position());
    writeln!(out, "score {score}, {moves}, max tile {tile}, best {} (seed {})", grouped(best), state.seed())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use afterstate_board::{Board, Grid};

    use super::*;

    #[test]
    fn other_rules_and_sizes_have_their_own_best() {
        assert_eq!(kind::<Board>(SpawnRule::CLASSIC), "4x4");
        assert_eq!(kind::<Grid<3, 3>>("2:0.5,4:0.5".parse().unwrap()), "3x3 2:0.5,4:0.5");
    }
}
