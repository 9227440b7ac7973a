//! `watch`: an agent's game, on the whole screen or as text.

use std::io::Write;
use std::ops::ControlFlow;

use afterstate_agent::{BoxedAgent, Context, Decision, Spec, build, default_player};
use afterstate_arena::{Game, Live, Ply, Setup, play_game};
use afterstate_board::{Position, SpawnRule, notation};
use clap::Args;
use serde::Serialize;

use crate::failure::{OrUsage, Outcome};
use crate::interrupt;
use crate::size::{Size, for_size};
use crate::tui::panel::grouped;
use crate::tui::speed::Speed;
use crate::tui::text::MoveValues;
use crate::tui::{TerminalStyle, text, watch};

/// Watch an agent play a game in the terminal: pause, step, change the speed
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  afterstate watch
  afterstate watch --agent random --speed 0           (as fast as it goes)
  afterstate watch --seed 7 --game 3 --size 3x3
  afterstate watch --json --steps | head              (one object a move, then the result)

Keys: space pause, n step, + and - speed, r new game, ? all keys, q quit.
Game I of seed S is the same game that `eval --seed S` plays. Without a terminal, and with --plain, the game is printed.")]
pub struct WatchArgs {
    /// Who plays: NAME[:key=value,...] or @PRESET (see `afterstate list`) (unless given: perfect play where the board is solved, else the champion and endgame tables)
    #[arg(long, value_name = "SPEC")]
    agent: Option<String>,
    /// Names all random numbers: the same seed, the same games
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Which game of the seed
    #[arg(long, value_name = "I", default_value_t = 0)]
    game: u64,
    /// Moves a second on the screen; 0 is as fast as it goes
    #[arg(long, value_name = "RATE", default_value = "10", allow_negative_numbers = true)]
    speed: Speed,
    #[command(flatten)]
    board: BoardArgs,
    /// Print the game even on a terminal
    #[arg(long)]
    plain: bool,
    /// Print every move (printing only)
    #[arg(long)]
    steps: bool,
}

/// Which game is played: shared by the commands that play one.
#[derive(Args, Debug)]
pub struct BoardArgs {
    /// Board size
    #[arg(long, default_value_t = Size::CLASSIC, value_name = "RxC")]
    pub size: Size,
    /// Which tiles spawn, as TILE:PROBABILITY pairs
    #[arg(long, default_value_t = SpawnRule::CLASSIC, value_name = "RULE")]
    pub spawn: SpawnRule,
}

impl BoardArgs {
    /// The agent of that specification, and its full name.
    pub fn agent<P: Position>(&self, spec: &str) -> anyhow::Result<(BoxedAgent<P>, String)> {
        let spec: Spec = spec.parse().or_usage()?;
        Ok((build(&spec, &Context { rule: self.spawn }).or_usage()?, spec.to_string()))
    }
}

pub fn run(args: &WatchArgs, style: TerminalStyle, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    for_size!(args.board.size, P => watch_one::<P>(args, style, out))
}

fn watch_one<P: Position>(args: &WatchArgs, style: TerminalStyle, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let (agent, label) =
        args.board.agent::<P>(args.agent.as_deref().unwrap_or_else(|| default_player::<P>(&args.board.spawn)))?;
    let setup = Setup { rule: args.board.spawn, ..Setup::new(label, args.seed) };
    if style.full_screen(args.plain) {
        let summary = watch::run(agent, setup, args.game, args.speed, style.color)?;
        writeln!(out, "{summary}")?;
    } else {
        print(agent, &setup, args, style.json, out)?;
    }
    Ok(if interrupt::requested() { Outcome::Interrupted } else { Outcome::Done })
}

/// The result as JSON.
#[derive(Serialize)]
struct Report<'a> {
    agent: &'a str,
    size: String,
    seed: u64,
    game: u64,
    score: u64,
    moves: u64,
    max_tile: u64,
    board: String,
    over: bool,
}

/// One move as JSON.
#[derive(Serialize)]
struct StepReport {
    #[serde(rename = "move")]
    number: u64,
    direction: &'static str,
    reward: u32,
    spawn: SpawnReport,
    score: u64,
    board: String,
    values: MoveValues,
    nodes: u64,
    depth: u32,
}

#[derive(Serialize)]
struct SpawnReport {
    cell: u8,
    tile: u64,
}

/// Plays the game and prints it as it goes. Ctrl-C ends it with what has been played.
fn print<P: Position>(
    mut agent: BoxedAgent<P>,
    setup: &Setup,
    args: &WatchArgs,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    interrupt::flag()?;
    let start = *Live::<P>::new(setup.rule, setup.seed, args.game).start();
    if !json {
        let size = text::size::<P>();
        writeln!(
            out,
            "{} on {size}, seed {}, game {}\n\n{}\n",
            setup.agent,
            setup.seed,
            args.game,
            text::table(&start)
        )?;
        out.flush()?;
    }
    let mut printer = Printer { out: &mut *out, number: 0, score: 0, max: start.max_exponent() };
    let mut failure = None;
    let game = play_game(&mut *agent, setup, args.game, |ply, decision| {
        printer.follow(ply);
        let printed = match (json, args.steps) {
            (true, true) => printer.json(ply, decision),
            (true, false) => Ok(()),
            (false, true) => printer.line(ply),
            (false, false) => printer.milestone(ply),
        };
        failure = printed.err();
        if failure.is_some() || interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    match failure {
        Some(error) => Err(error),
        None => print_result(&game, setup, json, out),
    }
}

fn print_result<P: Position>(game: &Game<P>, setup: &Setup, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let (score, moves, max_tile, over) = (game.score, game.moves(), text::max_tile(&game.last), game.is_over());
    if json {
        let (agent, size, seed, index) = (setup.agent.as_str(), text::size::<P>(), setup.seed, game.index);
        let board = notation::digits(&game.last, "");
        return text::json_line(out, &Report { agent, size, seed, game: index, score, moves, max_tile, board, over });
    }
    let end = if over { "game over" } else { "stopped" };
    let (score, moves) = (grouped(score), text::moves(moves));
    writeln!(out, "{}\n{end}: score {score}, {moves}, max tile {max_tile}", text::table(&game.last))?;
    Ok(())
}

/// Follows a game to print it.
struct Printer<'a> {
    out: &'a mut dyn Write,
    number: u64,
    score: u64,
    max: u8,
}

impl Printer<'_> {
    fn follow<P: Position>(&mut self, ply: &Ply<P>) {
        self.number += 1;
        self.score += u64::from(ply.reward);
    }

    fn json<P: Position>(&mut self, ply: &Ply<P>, decision: &Decision) -> anyhow::Result<()> {
        let report = StepReport {
            number: self.number,
            direction: ply.direction.name(),
            reward: ply.reward,
            spawn: SpawnReport { cell: ply.spawn.cell, tile: 1 << ply.spawn.exponent },
            score: self.score,
            board: notation::digits(&ply.position, ""),
            values: decision.values.into(),
            nodes: decision.nodes,
            depth: decision.depth,
        };
        text::json_line(self.out, &report)
    }

    fn line<P: Position>(&mut self, ply: &Ply<P>) -> anyhow::Result<()> {
        let (spawn, reward) = (text::spawn::<P>(ply.spawn), format!("+{}", ply.reward));
        let (number, direction, score) = (self.number, ply.direction, self.score);
        writeln!(
            self.out,
            "{number:>6}  {direction:<5}  {reward:>7}  {spawn:<23}  score {score:>8}  {}",
            ply.position
        )?;
        Ok(())
    }

    /// The board, whenever its largest tile is new. The first few come within seconds and say little.
    fn milestone<P: Position>(&mut self, ply: &Ply<P>) -> anyhow::Result<()> {
        let max = ply.position.max_exponent();
        if max > self.max {
            self.max = max;
            if max >= 5 || P::CELLS < 9 {
                let (number, tile, score) = (grouped(self.number), 1u64 << max, grouped(self.score));
                writeln!(self.out, "move {number}: first {tile}, score {score}\n{}\n", text::table(&ply.position))?;
                // Whoever waits for a slow agent sees each board when it comes.
                self.out.flush()?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use afterstate_board::{Board, Grid};
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: WatchArgs,
    }

    fn printed<P: Position>(words: &str, json: bool) -> String {
        let args = Cli::try_parse_from(["watch"].into_iter().chain(words.split_whitespace())).unwrap().args;
        let style = TerminalStyle { color: false, interactive: false, json };
        let mut out = Vec::new();
        watch_one::<P>(&args, style, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_result_as_json_is_the_arenas_game() {
        let result: serde_json::Value =
            serde_json::from_str(&printed::<Board>("--agent greedy --seed 3 --game 2", true)).unwrap();
        let mut agent = build::<Board>(&"greedy".parse().unwrap(), &Context::default()).unwrap();
        let game = play_game(&mut *agent, &Setup::new("x", 3), 2, |_, _| ControlFlow::Continue(())).unwrap();
        assert_eq!((&result["score"], &result["moves"]), (&game.score.into(), &game.moves().into()));
        assert_eq!(result["board"].as_str().unwrap().parse(), Ok(game.last));
        assert_eq!((&result["over"], &result["game"], &result["size"]), (&true.into(), &2.into(), &"4x4".into()));
    }

    #[test]
    fn steps_as_json_are_one_line_a_move() {
        let text = printed::<Grid<3, 3>>("--agent greedy --steps", true);
        let objects: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (last, moves) = objects.split_last().unwrap();
        assert_eq!(last["moves"], moves.len());
        assert_eq!((&moves[0]["move"], &moves[moves.len() - 1]["score"]), (&1.into(), &last["score"]));
    }

    #[test]
    fn text_shows_start_milestones_and_result() {
        let text = printed::<Board>("--agent greedy", false);
        assert!(text.starts_with("greedy"), "{text}");
        assert!(text.contains("first 32,") && text.contains("game over: score"), "{text}");
        let steps = printed::<Board>("--agent greedy --steps", false);
        assert!(steps.lines().count() > 100 && steps.contains(" at row "), "{steps}");
    }
}
