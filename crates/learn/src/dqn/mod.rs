//! Q-learning (row P1): a network judges the four moves of a position, and the value of each moves towards what came after it.
//! Illegal moves are masked, or punished as in the document. docs/methods/dqn.md has the details.

mod config;
#[cfg(test)]
mod tests;

pub use config::{DqnConfig, PRESETS};

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use afterstate_board::{Direction, Directions, Position, Rng, Slide, SpawnRule};
use afterstate_evaluator::Evaluator;
use afterstate_evaluator::file::Saved;
use afterstate_evaluator::lookup::Role;

use crate::course::{self, Block, Course, CourseError, Learner};
use crate::lanes::{Lane, Lanes, Waiting};
use crate::network::{self, Network, Rates, Wanted};
use crate::replay::{Replay, Transition};

/// The purpose of the random numbers that draw the `u`-th replayed batch: `Rng::stream(seed, u, REPLAY)`.
const REPLAY: u64 = u64::MAX;

/// The same, for the spawns that the moves of the `u`-th batch lead to if all of them are learned from.
const SPAWNS: u64 = u64::MAX - 1;

/// Illegal moves in a row after which a game of the punished variant is given up.
const PATIENCE: u32 = 20;

/// The learner.
pub struct Dqn<P: Position> {
    config: DqnConfig,
    rule: SpawnRule,
    network: Box<dyn Network<P>>,
    replay: Replay<Transition<P>>,
    lanes: Lanes<P>,
    moves: u64,
    /// Batches learned from.
    updates: u64,
    /// Squared errors since the block began, and how many.
    loss: (f64, u64),
}

/// Moves whose values are to change, and towards what.
#[derive(Debug, PartialEq)]
struct Lesson<P> {
    board: P,
    /// By direction index; `None` for moves of which nothing is known.
    targets: [Option<f32>; 4],
}

impl<P> Lesson<P> {
    /// About one move.
    fn of_one(board: P, action: u8, target: f32) -> Self {
        let mut targets = [None; 4];
        targets[usize::from(action)] = Some(target);
        Self { board, targets }
    }
}

/// The best of the moves allowed, with its value; `None` if there is none.
fn best(values: &[f32], allowed: Directions) -> Option<(Direction, f32)> {
    let with_value = allowed.iter().map(|direction| (direction, values[direction.index()]));
    with_value.reduce(|best, other| if other.1 > best.1 { other } else { best })
}

/// The oldest waiting move of a game with the rewards from it on, and what the value of the board now counts for.
fn settle<P: Position>(lane: &mut Lane<P>, config: &DqnConfig, over: bool) -> Option<Transition<P>> {
    let (mut reward, mut weight) = (0.0, 1.0);
    for later in &lane.waiting {
        reward += weight * later.reward;
        weight *= config.discount as f32;
    }
    let Waiting { board, action, .. } = lane.waiting.pop_front()?;
    Some(Transition { board, action, reward, weight: if over { 0.0 } else { weight }, next: lane.board })
}

/// What a move is rewarded with, `None` for an illegal one, in points.
fn reward<P: Position>(board: &P, slide: Option<&Slide<P>>, config: &DqnConfig) -> f32 {
    match slide {
        Some(slide) => config.reward.of(board, slide.after.board(), slide.reward),
        None => -config.penalty as f32,
    }
}

/// Makes a move, legal or not.
fn play<P: Position>(lane: &mut Lane<P>, direction: Direction, config: &DqnConfig, rule: &SpawnRule) {
    let (board, action, slide) = (lane.board, direction.index() as u8, lane.board.slide(direction));
    let reward = reward(&board, slide.as_ref(), config);
    lane.waiting.push_back(Waiting { board, action, reward: reward / config.unit as f32, worth: 0.0 });
    match slide {
        Some(slide) => {
            lane.go_on(&slide.after, config.seed, rule);
            lane.outcome.score += u64::from(slide.reward);
        }
        None => lane.stuck += 1,
    }
    lane.outcome.moves += 1;
    lane.outcome.reward += f64::from(reward);
}

impl<P: Position> Dqn<P> {
    /// How far along the run is, from 0 to 1.
    fn fraction(&self) -> f64 {
        (self.moves as f64 / self.config.moves as f64).min(1.0)
    }

    fn rates(&self) -> Rates {
        let left = self.config.rate_end.powf(self.fraction());
        let clip = if self.config.clip > 0.0 { self.config.clip as f32 } else { f32::INFINITY };
        Rates { table: (self.config.table_rate * left) as f32, dense: (self.config.dense_rate * left) as f32, clip }
    }

    fn epsilon(&self) -> f64 {
        let fallen = (self.fraction() / self.config.epsilon_fall).min(1.0);
        self.config.epsilon + (self.config.epsilon_end - self.config.epsilon) * fallen
    }

    /// The moves that may be chosen: all of them if illegal ones are punished.
    fn allowed(&self, board: &P) -> Directions {
        let legal = board.legal();
        if self.config.penalty > 0.0 && !legal.is_empty() { Directions::ALL } else { legal }
    }

    fn learn(&mut self, lessons: &[Lesson<P>]) {
        let boards: Vec<P> = lessons.iter().map(|lesson| lesson.board).collect();
        let (rates, loss) = (self.rates(), &mut self.loss);
        let most = if self.config.huber > 0.0 { self.config.huber as f32 } else { f32::INFINITY };
        self.network.learn(&boards, rates, &mut |outputs, gradient| {
            let targets = lessons.iter().flat_map(|lesson| lesson.targets);
            for ((output, gradient), target) in outputs.iter().zip(gradient).zip(targets) {
                let Some(target) = target else { continue };
                let error = output - target;
                *gradient = error.clamp(-most, most);
                *loss = (loss.0 + f64::from(error * error), loss.1 + 1);
            }
        });
        self.updates += 1;
    }

    /// What positions are worth to the player to move: judged by the target network, chosen by the one under training if that is wanted.
    fn worths(&self, positions: &[P], target: &dyn Network<P>) -> Vec<f32> {
        let mut judged = vec![0.0; 4 * positions.len()];
        target.judge(positions, &mut judged);
        let mut chosen = Vec::new();
        if self.config.double {
            chosen.resize(judged.len(), 0.0);
            self.network.judge(positions, &mut chosen);
        }
        let worth = |(i, position): (usize, &P)| {
            let (allowed, values) = (self.allowed(position), &judged[4 * i..][..4]);
            match chosen.get(4 * i..4 * i + 4) {
                Some(chosen) => best(chosen, allowed).map_or(0.0, |(direction, _)| values[direction.index()]),
                None => best(values, allowed).map_or(0.0, |(_, value)| value),
            }
        };
        positions.iter().enumerate().map(worth).collect()
    }

    /// What replayed moves should have been worth.
    fn lessons(&self, batch: &[Transition<P>], target: &dyn Network<P>) -> Vec<Lesson<P>> {
        let next: Vec<P> = batch.iter().map(|t| t.next).collect();
        let lesson = |(t, worth): (&Transition<P>, f32)| {
            let later = if t.weight == 0.0 { 0.0 } else { t.weight * worth };
            Lesson::of_one(t.board, t.action, t.reward + later)
        };
        batch.iter().zip(self.worths(&next, target)).map(lesson).collect()
    }

    /// What all allowed moves of some positions should be worth, each with a spawn of its own.
    fn lessons_of_all(&self, boards: impl Iterator<Item = P>, target: &dyn Network<P>) -> Vec<Lesson<P>> {
        let mut rng = Rng::stream(self.config.seed, self.updates, SPAWNS);
        let (mut lessons, mut next) = (Vec::new(), Vec::new());
        for board in boards {
            let mut lesson = Lesson { board, targets: [None; 4] };
            for direction in self.allowed(&board).iter() {
                let slide = board.slide(direction);
                next.push(slide.as_ref().map_or(board, |slide| slide.after.sample(&self.rule, &mut rng)));
                lesson.targets[direction.index()] =
                    Some(reward(&board, slide.as_ref(), &self.config) / self.config.unit as f32);
            }
            lessons.push(lesson);
        }
        let discount = self.config.discount as f32;
        let targets = lessons.iter_mut().flat_map(|lesson| lesson.targets.iter_mut().flatten());
        targets.zip(self.worths(&next, target)).for_each(|(target, worth)| *target += discount * worth);
        lessons
    }

    /// One move of every lane. Gathers what can be learned from now, unless it is for replay.
    fn step(&mut self, due: &mut Vec<Lesson<P>>, over: &mut Vec<bool>) {
        let epsilon = self.epsilon();
        let mut lanes = std::mem::take(&mut self.lanes.lanes);
        let boards: Vec<P> = lanes.iter().map(|lane| lane.board).collect();
        let mut values = vec![0.0; 4 * boards.len()];
        self.network.judge(&boards, &mut values);
        if self.config.every && self.config.replay == 0 {
            due.extend(self.lessons_of_all(boards.into_iter(), &*self.network));
        }
        over.clear();
        for (lane, values) in lanes.iter_mut().zip(values.chunks_exact(4)) {
            let allowed = self.allowed(&lane.board);
            let choice = best(values, allowed).filter(|_| lane.stuck < PATIENCE);
            over.push(choice.is_none());
            while lane.waiting.len() >= self.config.n_step || (choice.is_none() && !lane.waiting.is_empty()) {
                let Some(settled) = settle(lane, &self.config, choice.is_none()) else { break };
                if self.config.replay > 0 {
                    self.replay.push(settled);
                } else if !self.config.every {
                    let later = settled.weight * choice.map_or(0.0, |(_, value)| value);
                    due.push(Lesson::of_one(settled.board, settled.action, settled.reward + later));
                }
            }
            let Some((mut direction, _)) = choice else { continue };
            if epsilon > 0.0 {
                let mut dice = lane.dice(self.config.seed);
                if dice.unit() < epsilon {
                    direction = allowed.nth(dice.below(allowed.len() as u32) as usize);
                }
            }
            play(lane, direction, &self.config, &self.rule);
            self.moves += 1;
        }
        self.lanes.lanes = lanes;
    }
}

course::at_any_size!(Dqn by DqnConfig);

impl<P: Position> Learner<P> for Dqn<P> {
    type Config = DqnConfig;
    const AGENT: &'static str = "policy";

    fn course(config: &DqnConfig) -> Course {
        Course {
            moves: config.moves,
            seconds: config.seconds,
            checkpoint_every: config.checkpoint_every,
            evaluate_every: config.evaluate_every,
            evaluate_games: config.evaluate_games,
            seed: config.seed,
            rule: config.rule.parse().unwrap_or(SpawnRule::CLASSIC),
        }
    }

    fn new(config: &DqnConfig) -> Result<Self, CourseError> {
        let wanted = Wanted { role: Role::Moves, unit: config.unit as f32, rewards: 1.0, seed: config.seed };
        let rule = config.rule.parse().unwrap_or(SpawnRule::CLASSIC);
        Ok(Self {
            rule,
            lanes: Lanes::new(config.lanes, config.seed, &rule),
            network: network::build(&config.network, wanted).map_err(CourseError::Network)?,
            replay: Replay::new(config.replay),
            config: config.clone(),
            moves: 0,
            updates: 0,
            loss: (0.0, 0),
        })
    }

    fn load(config: &DqnConfig, path: &Path) -> Result<Self, CourseError> {
        let mut learner = Self::new(config)?;
        let saved = Saved::open(path, &learner.network.format().0)?;
        learner.network.load(&saved)?;
        (learner.moves, learner.updates) = (saved.number("moves")?, saved.number("updates")?);
        learner.lanes = Lanes::of_file(config.lanes, &saved)?;
        if config.replay > 0 {
            learner.replay = Replay::of_file(config.replay, &saved)?;
        }
        Ok(learner)
    }

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        let facts = [("moves", self.moves.to_string()), ("updates", self.updates.to_string())];
        let more = [("replay", &*self.replay.to_bytes())];
        self.lanes.save_with(("dqn", &self.config.network), &*self.network, &facts, &more, out)
    }

    fn done(&self) -> (u64, u64) {
        (self.lanes.ended, self.moves)
    }

    fn block(&mut self) -> Result<Block, CourseError> {
        let end = (self.lanes.ended / self.config.block + 1) * self.config.block;
        let target = if self.config.target { Some(self.network.target()?) } else { None };
        let (mut due, mut over, mut batch, mut outcomes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        self.loss = (0.0, 0);
        while self.lanes.ended < end {
            due.clear();
            self.step(&mut due, &mut over);
            if !due.is_empty() {
                self.learn(&due);
            } else if self.replay.len() >= self.config.batch {
                for _ in 0..self.config.batches {
                    let mut rng = Rng::stream(self.config.seed, self.updates, REPLAY);
                    self.replay.draw(self.config.batch, &mut rng, &mut batch);
                    let judge = target.as_deref().unwrap_or(&*self.network);
                    let lessons = if self.config.every {
                        self.lessons_of_all(batch.iter().map(|t| t.board), judge)
                    } else {
                        self.lessons(&batch, judge)
                    };
                    self.learn(&lessons);
                }
            }
            self.lanes.renew(&over, self.config.seed, &self.rule, &mut outcomes);
        }
        let error = (self.loss.0 / self.loss.1.max(1) as f64).sqrt();
        Ok(Block { outcomes, numbers: vec![("error", error), ("epsilon", self.epsilon())] })
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
