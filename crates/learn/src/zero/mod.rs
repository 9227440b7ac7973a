//! Self-play with search (rows Z2-Z5, after Silver et al. 2018): many games move in step, each move by a tree search whose leaves are
//! judged in one batch; the policy learns what the searches preferred, the value what came of the games. docs/methods/zero.md has the
//! details.

mod config;
mod noise;
mod pending;
#[cfg(test)]
mod tests;

pub use config::{PRESETS, ZeroConfig};

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use afterstate_agent::{Prior, Puct, PuctOptions};
use afterstate_board::{Direction, Position, Rng, potential};
use afterstate_evaluator::Evaluator;
use afterstate_evaluator::file::Saved;
use afterstate_evaluator::lookup::Role;

use crate::course::{self, Block, Course, CourseError, Learner, Outcome};
use crate::imitation::{self, Errors};
use crate::lanes::{Lane, Lanes};
use crate::network::{self, Network, Wanted};
use crate::replay::{Lesson, Replay};
use crate::{side_by_side, threads_of};
use pending::Pending;

/// The purpose of the random numbers that draw the `u`-th batch: `Rng::stream(seed, u, REPLAY)`.
const REPLAY: u64 = u64::MAX;
/// The purpose of the random numbers of a move's search: `Rng::stream(seed, game, SEARCH - move)`.
const SEARCH: u64 = u64::MAX / 2;

/// The learner.
pub struct Zero<P: Position> {
    config: ZeroConfig,
    network: Box<dyn Network<P>>,
    lanes: Lanes<P>,
    /// The search of each game, and its moves that wait for what came of them.
    searches: Vec<Puct>,
    pending: Vec<Pending<P>>,
    replay: Replay<Lesson<P>>,
    moves: u64,
    updates: u64,
    errors: Errors,
    /// Where the time of self-play went: judging leaves, and all of it.
    judging: Duration,
    playing: Duration,
}

/// One game with all that belongs to it.
struct Seat<'a, P> {
    lane: &'a mut Lane<P>,
    search: &'a mut Puct,
    pending: &'a mut Pending<P>,
    outcome: Option<Outcome>,
    lessons: Vec<Lesson<P>>,
    rng: Rng,
}

impl<P: Position> Zero<P> {
    /// What document Z values a finished game with (row Z5), from -1 to 1.
    fn blend(board: &P, score: u64) -> f32 {
        let filled = 1.0 - f64::from(board.empty_count()) / P::CELLS as f64;
        let corner = [0, P::COLUMNS - 1, P::CELLS - P::COLUMNS, P::CELLS - 1]
            .iter()
            .any(|&cell| board.exponent(cell) == board.max_exponent());
        let board_part = 0.5 * (1.0 - filled) + 0.5 * f64::from(u8::from(corner));
        let value = 0.5 * (score as f64).min(150_000.0) / 150_000.0
            + 0.3 * f64::from(board.max_exponent()) / 16.0
            + 0.2 * board_part;
        (2.0 * value - 1.0) as f32
    }

    /// The value of a leaf at which the game is over.
    fn lost(&self, board: &P) -> f64 {
        if self.config.blend { f64::from(Self::blend(board, potential(board))) } else { 0.0 }
    }

    /// What the network says, as a search wants it: values in points, or as they are.
    fn prior(&self, outputs: &[f32], board: &P) -> Prior {
        let logits = [outputs[0], outputs[1], outputs[2], outputs[3]];
        let value = outputs[4] * if self.config.blend { 1.0 } else { self.config.unit as f32 };
        Prior { moves: afterstate_agent::masked_softmax(&logits, board.legal()), value }
    }

    /// Simulations of a move, which grow along the run.
    fn simulations(&self) -> u32 {
        let along = (self.moves as f64 / self.config.course.moves as f64).min(1.0);
        let grown = (along / self.config.ramp.max(1e-9)).min(1.0);
        let (from, to) = (f64::from(self.config.simulations_start), f64::from(self.config.simulations));
        (from + (to - from) * grown).round() as u32
    }

    /// A search for each of some games, then a move. Time spent judging.
    fn play(&self, seats: &mut [Seat<'_, P>]) -> Duration {
        let (count, simulations) = (self.network.role().outputs(), self.simulations());
        let mut judging = Duration::ZERO;
        let mut outputs = vec![0.0; count * seats.len()];
        let mut judge = |boards: &[P], outputs: &mut [f32]| {
            let began = Instant::now();
            self.network.judge(boards, outputs);
            judging += began.elapsed();
        };
        let mut boards: Vec<P> = seats.iter().map(|seat| seat.lane.board).collect();
        judge(&boards, &mut outputs);
        for (seat, outputs) in seats.iter_mut().zip(outputs.chunks_exact(count)) {
            let mut prior = self.prior(outputs, &seat.lane.board);
            let noise = if self.config.gumbel {
                noise::gumbel(&mut seat.rng)
            } else {
                noise::dirichlet(&mut prior.moves, self.config.noise_alpha, self.config.noise, &mut seat.rng);
                [0.0; 4]
            };
            seat.search.begin(&seat.lane.board, &prior, noise);
        }
        let mut waiting = Vec::with_capacity(seats.len());
        for _ in 0..simulations {
            boards.clear();
            waiting.clear();
            for (i, seat) in seats.iter_mut().enumerate() {
                let leaf = seat.search.descend(&seat.lane.board, &mut seat.rng);
                if leaf.is_over() {
                    seat.search.end(self.lost(&leaf));
                } else {
                    boards.push(leaf);
                    waiting.push(i);
                }
            }
            judge(&boards, &mut outputs[..count * boards.len()]);
            for ((&i, board), outputs) in waiting.iter().zip(&boards).zip(outputs.chunks_exact(count)) {
                seats[i].search.tell(&self.prior(outputs, board));
            }
        }
        seats.iter_mut().for_each(|seat| self.make_move(seat));
        judging
    }

    /// The move that a search calls for: drawn by visits at the beginning of a game, then the best.
    fn choice(&self, seat: &mut Seat<'_, P>) -> Direction {
        let search = &seat.search;
        if self.config.gumbel || seat.lane.outcome.moves >= self.config.temperature_moves {
            return search.best();
        }
        let visits = search.visits();
        let mut left = seat.rng.below(visits.iter().sum::<u32>().max(1));
        for d in Direction::ALL {
            if left < visits[d.index()] {
                return d;
            }
            left -= visits[d.index()];
        }
        search.best()
    }

    fn make_move(&self, seat: &mut Seat<'_, P>) {
        let Course { seed, rule, .. } = &self.config.course;
        let direction = self.choice(seat);
        let board = seat.lane.board;
        let Some(slide) = board.slide(direction) else { return };
        let scale = if self.config.blend { 1.0 } else { self.config.unit };
        let reward = if self.config.blend { 0.0 } else { slide.reward as f32 / scale as f32 };
        let value = (seat.search.value() / scale) as f32;
        seat.pending.push(board, seat.search.improved(), reward, value);
        seat.lane.go_on(&slide.after, *seed, rule);
        let outcome = &mut seat.lane.outcome;
        outcome.score += u64::from(slide.reward);
        outcome.moves += 1;
        outcome.reward += f64::from(slide.reward);
        if seat.lane.board.is_over() {
            let end = if self.config.blend { Self::blend(&seat.lane.board, seat.lane.outcome.score) } else { 0.0 };
            seat.pending.settle_all(end, self.config.discount as f32, &mut seat.lessons);
            seat.outcome = Some(seat.lane.renew(self.config.lanes as u64, *seed, rule));
        } else if !self.config.blend {
            seat.pending.settle_old(self.config.n_step, self.config.discount as f32, &mut seat.lessons);
        }
    }

    /// One move of every game, on all threads.
    fn step(&mut self, outcomes: &mut Vec<Outcome>) {
        let began = Instant::now();
        let (mut lanes, mut searches) = (std::mem::take(&mut self.lanes.lanes), std::mem::take(&mut self.searches));
        let (mut pending, seed) = (std::mem::take(&mut self.pending), self.config.course.seed);
        if self.config.gumbel {
            // Sequential halving must know how many simulations there will be.
            searches = lanes.iter().map(|_| self.search()).collect();
        }
        let games = lanes.iter_mut().zip(&mut searches).zip(&mut pending);
        let mut seats: Vec<Seat<'_, P>> = games
            .map(|((lane, search), pending)| {
                let rng = Rng::stream(seed, lane.outcome.game, SEARCH - u64::from(lane.outcome.moves));
                Seat { lane, search, pending, outcome: None, lessons: Vec::new(), rng }
            })
            .collect();
        let each = seats.len().div_ceil(threads_of(self.config.threads));
        let mut times = vec![Duration::ZERO; seats.len().div_ceil(each)];
        let this = &*self;
        side_by_side(seats.chunks_mut(each).zip(&mut times).map(|(seats, time)| move || *time = this.play(seats)));
        let (judging, jobs) = (times.iter().sum::<Duration>(), times.len() as u32);
        self.moves += seats.len() as u64;
        for seat in &mut seats {
            seat.lessons.drain(..).for_each(|lesson| self.replay.push(lesson));
            self.lanes.ended += u64::from(seat.outcome.is_some());
            outcomes.extend(seat.outcome);
        }
        drop(seats);
        (self.lanes.lanes, self.searches, self.pending) = (lanes, searches, pending);
        self.judging += judging / jobs;
        self.playing += began.elapsed();
    }

    fn search(&self) -> Puct {
        Puct::new(PuctOptions {
            c: self.config.c,
            explicit: self.config.spawn == "explicit",
            gumbel: self.config.gumbel.then(|| self.simulations()),
            rewards: if self.config.blend { 0.0 } else { 1.0 },
            rule: self.config.course.rule,
        })
    }

    fn improve(&mut self, batch: &mut Vec<Lesson<P>>) {
        if self.replay.len() < self.config.batch {
            return;
        }
        let rates = self.config.steps.at(self.moves, self.config.course.moves);
        for _ in 0..self.config.batches {
            let mut rng = Rng::stream(self.config.course.seed, self.updates, REPLAY);
            self.replay.draw(self.config.batch, &mut rng, batch);
            if self.config.augment {
                batch.iter_mut().for_each(|lesson| *lesson = imitation::turned(lesson, &mut rng));
            }
            let weight = self.config.value_weight as f32;
            imitation::learn(&mut *self.network, batch, rates, weight, &mut self.errors);
            self.updates += 1;
        }
    }
}

course::at_any_size!(Zero by ZeroConfig);

impl<P: Position> Learner<P> for Zero<P> {
    type Config = ZeroConfig;
    const AGENT: &'static str = "puct:simulations=50";

    fn course(config: &ZeroConfig) -> Course {
        config.course.clone()
    }

    fn new(config: &ZeroConfig) -> Result<Self, CourseError> {
        let (unit, rewards) = if config.blend { (1.0, 0.0) } else { (config.unit as f32, 1.0) };
        let wanted = Wanted { role: Role::Policy, unit, rewards, seed: config.course.seed };
        let mut network = network::build(&config.network, wanted).map_err(CourseError::Network)?;
        network.use_threads(threads_of(config.threads));
        let mut learner = Self {
            lanes: Lanes::new(config.lanes, config.course.seed, &config.course.rule),
            network,
            searches: Vec::new(),
            pending: (0..config.lanes).map(|_| Pending::default()).collect(),
            replay: Replay::new(config.replay),
            config: config.clone(),
            moves: 0,
            updates: 0,
            errors: Errors::default(),
            judging: Duration::ZERO,
            playing: Duration::ZERO,
        };
        learner.searches = (0..config.lanes).map(|_| learner.search()).collect();
        Ok(learner)
    }

    fn load(config: &ZeroConfig, path: &Path) -> Result<Self, CourseError> {
        let mut learner = Self::new(config)?;
        let saved = Saved::open(path, &learner.network.format().0)?;
        learner.network.load(&saved)?;
        (learner.moves, learner.updates) = (saved.number("moves")?, saved.number("updates")?);
        learner.lanes = Lanes::of_file(config.lanes, &saved)?;
        learner.replay = Replay::of_file(config.replay, &saved)?;
        let pending = Pending::read_all(config.lanes, saved.byte_array("pending")?);
        learner.pending = pending.ok_or_else(|| saved.refused("its moves in progress cannot be read"))?;
        Ok(learner)
    }

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        let facts = [("moves", self.moves.to_string()), ("updates", self.updates.to_string())];
        let more = [("replay", &*self.replay.to_bytes()), ("pending", &*Pending::write_all(&self.pending))];
        self.lanes.save_with(("zero", &self.config.network), &*self.network, &facts, &more, out)
    }

    fn done(&self) -> (u64, u64) {
        (self.lanes.ended, self.moves)
    }

    fn block(&mut self) -> Result<Block, CourseError> {
        let end = (self.lanes.ended / self.config.block + 1) * self.config.block;
        let (mut outcomes, mut batch) = (Vec::new(), Vec::new());
        (self.errors, self.judging, self.playing) = (Errors::default(), Duration::ZERO, Duration::ZERO);
        while self.lanes.ended < end && self.moves < self.config.course.moves {
            self.step(&mut outcomes);
            self.improve(&mut batch);
        }
        let mut numbers = self.errors.numbers();
        numbers.push(("simulations", f64::from(self.simulations())));
        numbers.push(("judging", self.judging.as_secs_f64() / self.playing.as_secs_f64().max(1e-9)));
        Ok(Block { outcomes, numbers })
    }

    fn is_finite(&self) -> bool {
        self.network.is_finite()
    }

    fn player(&self) -> io::Result<Arc<dyn Evaluator<P>>> {
        self.network.player()
    }

    fn evaluator(&self) -> &'static str {
        self.network.format().1
    }
}
