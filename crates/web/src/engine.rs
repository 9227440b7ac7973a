//! The one place where a size given at run time becomes a position type: what lies behind is generic, what lies before is not.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use afterstate_agent::{BoxedAgent, Decision};
use afterstate_arena::record::{Reader, Writer, read_header};
use afterstate_arena::{
    Analysis, Evaluation, Game, Header, Playing, Progress, Results, Setup, Size, Step, UnknownSize, for_size,
    read_results, stream,
};
use afterstate_board::{Direction, Position, Rng, Spawn, notation, shifts};
use serde::Serialize;
use serde_json::{Value, json};

use crate::agents::{Variant, Wanted};
use crate::error::{ApiError, ApiResult};

/// An agent that judges positions, whatever their size.
pub(crate) trait Judge: Send {
    /// What it thinks of a position.
    fn analyze(&mut self, board: &str, seed: u64) -> ApiResult<Analysis>;
}

/// A game that an agent plays while somebody looks on.
pub(crate) trait Show: Send {
    /// Makes moves until one of the bounds is met, and thinks about the position it ends in.
    fn advance(&mut self, bounds: &Bounds) -> ApiResult<()>;
    /// Everything to be shown now.
    fn frame(&mut self) -> Frame;
}

/// When a show pauses.
pub(crate) struct Bounds {
    pub moves: u64,
    pub until: Instant,
    pub stop_at: Option<u8>,
    pub stop: Arc<AtomicBool>,
}

/// A game that is gone through move by move.
pub(crate) trait Study: Send {
    /// Judges further positions until the time is up: one entry each. Empty at the end of the game.
    fn judge(&mut self, until: Instant, stop: &AtomicBool) -> ApiResult<Vec<Judged>>;
    /// What its values are.
    fn unit(&self) -> &'static str;
}

/// What an agent thinks of one move that was made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Judged {
    pub ply: usize,
    pub played: usize,
    pub best: Option<usize>,
    pub values: [Option<f64>; 4],
}

/// One moment of a watched game.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Frame {
    pub board: String,
    pub score: u64,
    pub moves: usize,
    pub max_tile: u64,
    pub over: bool,
    pub goal: bool,
    pub best: Option<&'static str>,
    pub values: Value,
    pub depth: u32,
    pub nodes: u64,
    pub unit: &'static str,
    /// The move that led here, if the frame before showed the position before.
    pub last: Option<Value>,
}

pub(crate) fn judge(wanted: &Wanted) -> ApiResult<Box<dyn Judge>> {
    for_size!(wanted.variant.size, P => {
        let agent = wanted.build::<P>()?;
        Ok(Box::new(Seat::<P> { agent, wanted: wanted.clone() }) as Box<dyn Judge>)
    })
}

pub(crate) fn show(wanted: &Wanted, seed: u64, index: u64) -> ApiResult<Box<dyn Show>> {
    for_size!(wanted.variant.size, P => {
        let mut agent = wanted.build::<P>()?;
        agent.new_game();
        let setup = wanted.setup(seed);
        let playing = Playing::<P>::new(&setup, index).map_err(|error| ApiError::internal(error.to_string()))?;
        Ok(Box::new(Stage { agent, setup, playing, pending: None, shown: None, reached: false }) as Box<dyn Show>)
    })
}

pub(crate) fn study(wanted: &Wanted, start: &str, steps: &str) -> ApiResult<Box<dyn Study>> {
    for_size!(wanted.variant.size, P => {
        let game = read_game::<P>(start, steps)?;
        let agent = wanted.build::<P>()?;
        Ok(Box::new(Lesson::<P> { agent, budget: wanted.budget, position: game.start, game, next: 0 }) as Box<dyn Study>)
    })
}

/// What a move of a position does: for animation, and for pages that set up positions.
pub(crate) fn state(variant: Variant, request: &crate::game::GameRequest) -> ApiResult<Value> {
    for_size!(variant.size, P => crate::game::state::<P>(variant.rule, request))
}

/// A game as data, with the position after each move.
pub(crate) fn film(variant: Variant, start: &str, steps: &str) -> ApiResult<Value> {
    for_size!(variant.size, P => read_game::<P>(start, steps).map(|game| film_of(&game, variant)))
}

/// Reads a board of a size and writes it in both notations.
pub(crate) fn describe(size: Size, board: &str) -> ApiResult<Value> {
    for_size!(size, P => {
        let board = read_board::<P>(board)?;
        let legal: Vec<&str> = board.legal().iter().map(Direction::name).collect();
        let largest = 1u64 << P::MAX_EXPONENT;
        Ok(json!({
            "board": notation::digits(&board, ""), "tiles": notation::tiles(&board), "legal": legal,
            "over": board.is_over(), "rows": P::ROWS, "columns": P::COLUMNS, "largest": largest,
        }))
    })
}

/// The header and the games of a record, moves aside.
pub(crate) fn record_list(path: &Path) -> ApiResult<(Header, Vec<Value>)> {
    let header = read_header(path).map_err(unreadable)?;
    let results = record_results(path)?;
    let row = |o: &afterstate_arena::Outcome| json!({"game": o.index, "score": o.score, "moves": o.moves, "max_tile": 1u64 << o.max_exponent, "over": o.over});
    Ok((header, results.outcomes().iter().map(row).collect()))
}

/// The outcomes of a record.
pub(crate) fn record_results(path: &Path) -> ApiResult<Results> {
    read_results(path).map_err(unreadable)
}

/// One game of a record.
pub(crate) fn record_game(path: &Path, index: u64) -> ApiResult<Value> {
    let header = read_header(path).map_err(unreadable)?;
    let size: Size = header.size().parse().map_err(|error: UnknownSize| ApiError::bad(error.to_string()))?;
    let variant = Variant { size, rule: header.setup.rule };
    for_size!(size, P => {
        for game in Reader::open(path).and_then(Reader::games::<P>).map_err(unreadable)? {
            let game = game.map_err(unreadable)?;
            if game.index == index {
                let mut film = film_of(&game, variant);
                film["agent"] = header.setup.agent.clone().into();
                film["seed"] = header.setup.seed.into();
                film["game"] = index.into();
                return Ok(film);
            }
        }
        Err(ApiError::missing(format!("the record has no game {index}")))
    })
}

/// Plays an evaluation and keeps its games in a new record.
pub(crate) fn evaluate(
    wanted: &Wanted,
    evaluation: &Evaluation,
    record: &Path,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Results, String> {
    for_size!(wanted.variant.size, P => {
        let header = Header::new::<P>(evaluation.setup.clone());
        let mut writer = Writer::<P>::create_new(record, &header).map_err(|error| error.to_string())?;
        let make = || -> Result<BoxedAgent<P>, _> { wanted.build_plain::<P>() };
        let results = evaluation.run(make, |game: Game<P>, now: &Progress| {
            writer.write(&game)?;
            progress(now);
            Ok(())
        });
        results.map_err(|error| error.to_string())
    })
}

fn unreadable(error: afterstate_arena::RecordError) -> ApiError {
    // The path is this machine's business; everything behind it is the reader's.
    let text = error.to_string();
    let reason = text.split_once(": ").map_or(text.as_str(), |(_, reason)| reason);
    ApiError::bad(format!("the record cannot be read: {reason}"))
}

pub(crate) fn read_board<P: Position>(text: &str) -> ApiResult<P> {
    if text.len() > 400 {
        return Err(ApiError::bad("a board is written in at most 400 characters"));
    }
    notation::parse(text).map_err(|error| ApiError::bad(format!("board: {error}")))
}

/// `l3a`: a move, the cell of the new tile, its exponent, the last two to base 36.
pub(crate) fn step_text(step: &Step) -> String {
    let digit = |n: u8| char::from_digit(n.into(), 36).unwrap_or('?');
    format!("{}{}{}", &step.direction.name()[..1], digit(step.spawn.cell), digit(step.spawn.exponent))
}

fn read_step(text: &[u8]) -> Option<Step> {
    let digit = |byte: u8| char::from(byte).to_digit(36).map(|n| n as u8);
    let [direction, cell, exponent] = text else { return None };
    let direction = char::from(*direction).to_string().parse().ok()?;
    Some(Step { direction, spawn: Spawn { cell: digit(*cell)?, exponent: digit(*exponent)? } })
}

fn read_game<P: Position>(start: &str, steps: &str) -> ApiResult<Game<P>> {
    let read = |(number, text): (usize, &[u8])| {
        read_step(text).ok_or_else(|| ApiError::bad(format!("step {}: not a move with its new tile", number + 1)))
    };
    let steps: Vec<Step> = steps.as_bytes().chunks(3).enumerate().map(read).collect::<ApiResult<_>>()?;
    Game::from_steps(0, read_board::<P>(start)?, steps, 0.0).map_err(|error| ApiError::bad(error.to_string()))
}

pub(crate) fn film_of<P: Position>(game: &Game<P>, variant: Variant) -> Value {
    let (mut boards, mut scores, mut score) = (vec![notation::digits(&game.start, "")], vec![0], 0);
    for ply in game.plies().map_while(Result::ok) {
        score += u64::from(ply.reward);
        boards.push(notation::digits(&ply.position, ""));
        scores.push(score);
    }
    let steps: String = game.steps.iter().map(step_text).collect();
    json!({
        "size": variant.size.to_string(), "spawn": variant.rule.to_string(), "start": boards[0], "steps": steps,
        "boards": boards, "scores": scores, "over": game.is_over(),
    })
}

/// The way of every tile in a move, for animation: `[from, to, exponent, merges]`.
pub(crate) fn shifts_json<P: Position>(board: &P, direction: Direction) -> Value {
    let shift = |s: afterstate_board::Shift| json!([s.from, s.to, s.exponent, u8::from(s.merges)]);
    shifts(board, direction).into_iter().map(shift).collect()
}

struct Seat<P: Position> {
    agent: BoxedAgent<P>,
    wanted: Wanted,
}

impl<P: Position> Judge for Seat<P> {
    fn analyze(&mut self, board: &str, seed: u64) -> ApiResult<Analysis> {
        let board = read_board::<P>(board)?;
        self.agent.new_game();
        let began = Instant::now();
        let decision = self.agent.decide(&board, &self.wanted.budget, &mut Rng::stream(seed, 0, stream::AGENT));
        let ms = 1e3 * began.elapsed().as_secs_f64();
        let line = self.agent.line(&board, &decision);
        Ok(Analysis::of(&board, &self.wanted.name, self.agent.unit(), &decision, &line, ms))
    }
}

struct Stage<P: Position> {
    agent: BoxedAgent<P>,
    setup: Setup,
    playing: Playing<P>,
    /// What the agent thinks of the position now.
    pending: Option<Decision>,
    /// The position that the last frame showed.
    shown: Option<P>,
    /// Has the tile to stop at been met?
    reached: bool,
}

impl<P: Position> Show for Stage<P> {
    fn advance(&mut self, bounds: &Bounds) -> ApiResult<()> {
        let mut made = 0;
        loop {
            if self.playing.live().is_over() {
                return Ok(());
            }
            let decision = match self.pending.take() {
                Some(decision) => decision,
                None => self.playing.think(&mut *self.agent, &self.setup),
            };
            if decision.direction.is_none() && bounds.stop.load(Ordering::Relaxed) {
                return Err(ApiError::excessive("the search took too long: give it less depth or a time (ms)"));
            }
            if made >= bounds.moves || (made > 0 && Instant::now() >= bounds.until) || self.reached {
                self.pending = Some(decision);
                return Ok(());
            }
            self.playing.play(&decision, &self.setup).map_err(|error| ApiError::internal(error.to_string()))?;
            made += 1;
            let met = |exponent| self.playing.live().position().max_exponent() >= exponent;
            self.reached = bounds.stop_at.is_some_and(met);
        }
    }

    fn frame(&mut self) -> Frame {
        let live = self.playing.live();
        let position = *live.position();
        let last = live.steps().last().filter(|_| self.shown.is_some()).and_then(|step| {
            let before = self.shown.filter(|shown| {
                shown.slide(step.direction).and_then(|slide| slide.after.try_place(step.spawn)) == Some(position)
            })?;
            Some(json!({
                "move": step.direction.name(), "shifts": shifts_json(&before, step.direction),
                "spawn": [step.spawn.cell, step.spawn.exponent],
            }))
        });
        self.shown = Some(position);
        let thought = self.pending.clone().unwrap_or_default();
        Frame {
            board: notation::digits(&position, ""),
            score: live.score(),
            moves: live.steps().len(),
            max_tile: 1 << position.max_exponent(),
            over: live.is_over(),
            goal: std::mem::take(&mut self.reached),
            best: thought.direction.map(Direction::name),
            values: Analysis::moves_json(&position, &thought),
            depth: thought.depth,
            nodes: thought.nodes,
            unit: self.agent.unit(),
            last,
        }
    }
}

struct Lesson<P: Position> {
    agent: BoxedAgent<P>,
    budget: afterstate_agent::Budget,
    position: P,
    game: Game<P>,
    next: usize,
}

impl<P: Position> Study for Lesson<P> {
    fn judge(&mut self, until: Instant, stop: &AtomicBool) -> ApiResult<Vec<Judged>> {
        let mut judged = Vec::new();
        while let Some(step) = self.game.steps.get(self.next) {
            let mut rng = Rng::stream(self.next as u64, 0, stream::AGENT);
            let decision = self.agent.decide(&self.position, &self.budget, &mut rng);
            if stop.load(Ordering::Relaxed) {
                return Err(ApiError::excessive("the search took too long: give it less depth or a time (ms)"));
            }
            let (played, best) = (step.direction.index(), decision.direction.map(Direction::index));
            judged.push(Judged { ply: self.next, played, best, values: decision.values });
            let slide = self.position.slide(step.direction);
            let next = slide.and_then(|slide| slide.after.try_place(step.spawn));
            self.position = next.ok_or_else(|| ApiError::internal("a replayed game does not replay"))?;
            self.next += 1;
            if Instant::now() >= until {
                break;
            }
        }
        Ok(judged)
    }

    fn unit(&self) -> &'static str {
        self.agent.unit()
    }
}
