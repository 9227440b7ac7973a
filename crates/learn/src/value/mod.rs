//! Value learning (rows T2, T3): a network plays itself by the values of afterstates, and each value moves towards what came after it.
//! As each move happens, or replayed in batches against targets of an earlier network. docs/methods/value.md has the details.

mod config;
#[cfg(test)]
mod tests;

pub use config::{PRESETS, ValueConfig};

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use afterstate_board::{Position, Rng, Slides, SpawnRule};
use afterstate_evaluator::Evaluator;
use afterstate_evaluator::file::Saved;
use afterstate_evaluator::lookup::Role;

use crate::course::{self, Block, Course, CourseError, Learner};
use crate::lanes::{Lane, Lanes, Waiting};
use crate::network::{self, Network, Rates, Wanted};
use crate::replay::{Replay, Transition};
use crate::{among_them, side_by_side, threads_of};

/// The purpose of the random numbers that draw the `u`-th replayed batch: `Rng::stream(seed, u, REPLAY)`.
const REPLAY: u64 = u64::MAX;

/// The learner.
pub struct Value<P: Position> {
    config: ValueConfig,
    rule: SpawnRule,
    network: Box<dyn Network<P>>,
    replay: Replay<Transition<P>>,
    lanes: Lanes<P>,
    moves: u64,
    /// Batches learned from.
    updates: u64,
    loss: Loss,
    desks: Vec<Desk<P>>,
}

/// The mean squared error since the block began.
#[derive(Clone, Copy, Debug, Default)]
struct Loss {
    sum: f64,
    count: u64,
}

/// What was found out about several positions at once.
struct Looked<P> {
    slides: Vec<Slides<P>>,
    /// The afterstates of all legal moves, and their values.
    afters: Vec<P>,
    values: Vec<f32>,
}

impl<P> Default for Looked<P> {
    fn default() -> Self {
        Self { slides: Vec::new(), afters: Vec::new(), values: Vec::new() }
    }
}

/// The best move of a position, by reward and value.
#[derive(Clone, Copy, Debug)]
struct Best {
    direction: usize,
    worth: f32,
}

impl<P: Position> Looked<P> {
    /// Judges all moves of the positions.
    fn look<'p>(&mut self, positions: impl Iterator<Item = &'p P>, network: &dyn Network<P>) {
        self.slides.clear();
        self.afters.clear();
        for position in positions {
            let slides = position.slides();
            self.afters.extend(slides.iter().map(|(_, slide)| *slide.after.board()));
            self.slides.push(slides);
        }
        self.values.resize(self.afters.len(), 0.0);
        network.judge(&self.afters, &mut self.values);
    }

    /// The best move of each position, in order; `None` where the game is over.
    fn best<'l>(
        &'l self,
        config: &'l ValueConfig,
        before: impl Iterator<Item = &'l P> + 'l,
    ) -> impl Iterator<Item = Option<Best>> + 'l {
        let mut values = self.values.iter();
        let (unit, discount) = (config.unit as f32, config.discount as f32);
        self.slides.iter().zip(before).map(move |(slides, before)| {
            let mut best: Option<Best> = None;
            for ((direction, slide), value) in slides.iter().zip(&mut values) {
                let reward = config.reward.of(before, slide.after.board(), slide.reward) / unit;
                let worth = reward + discount * value;
                if best.is_none_or(|best| worth > best.worth) {
                    best = Some(Best { direction: direction.index(), worth });
                }
            }
            best
        })
    }
}

/// The oldest waiting afterstate of a game with the rewards after it, and what the worth of the board now counts for.
fn settle<P: Position>(lane: &mut Lane<P>, config: &ValueConfig) -> Option<Transition<P>> {
    let Waiting { board, action, .. } = lane.waiting.pop_front()?;
    let (mut reward, mut weight, lambda) = (0.0, 1.0, config.lambda as f32);
    for later in &lane.waiting {
        reward += weight * ((1.0 - lambda) * later.worth + lambda * later.reward);
        weight *= lambda * config.discount as f32;
    }
    Some(Transition { board, action, reward, weight, next: lane.board })
}

impl<P: Position> Value<P> {
    /// How far along the run is, from 0 to 1.
    fn fraction(&self) -> f64 {
        (self.moves as f64 / self.config.moves as f64).min(1.0)
    }

    fn rates(&self) -> Rates {
        let (hold, done) = (self.config.rate_hold, self.fraction());
        let left = self.config.rate_end.powf((done - hold).max(0.0) / (1.0 - hold));
        let clip = if self.config.clip > 0.0 { self.config.clip as f32 } else { f32::INFINITY };
        Rates { table: (self.config.table_rate * left) as f32, dense: (self.config.dense_rate * left) as f32, clip }
    }

    fn epsilon(&self) -> f64 {
        let fallen = (self.fraction() / self.config.epsilon_fall).min(1.0);
        self.config.epsilon + (self.config.epsilon_end - self.config.epsilon) * fallen
    }

    /// Moves the values of boards towards their targets.
    fn learn(&mut self, boards: &[P], targets: &[f32]) {
        let (rates, loss) = (self.rates(), &mut self.loss);
        self.network.learn(boards, rates, &mut |outputs, gradient| {
            for ((g, value), target) in gradient.iter_mut().zip(outputs).zip(targets) {
                *g = value - target;
                loss.sum += f64::from(*g * *g);
            }
            loss.count += outputs.len() as u64;
        });
        self.updates += 1;
    }

    /// One batch of what happened before.
    fn learn_from_replay(&mut self, target: Option<&dyn Network<P>>, batch: &mut Vec<Transition<P>>) {
        let mut rng = Rng::stream(self.config.seed, self.updates, REPLAY);
        self.replay.draw(self.config.batch, &mut rng, batch);
        let network = target.unwrap_or(&*self.network);
        let (config, mut targets) = (&self.config, vec![0.0; batch.len()]);
        let each = self.share(batch.len());
        side_by_side(batch.chunks(each).zip(targets.chunks_mut(each)).map(|(batch, targets)| {
            move || {
                let mut looked = Looked::default();
                looked.look(batch.iter().map(|t| &t.next), network);
                let bests = looked.best(config, batch.iter().map(|t| &t.next));
                for ((t, best), target) in batch.iter().zip(bests).zip(targets) {
                    *target = t.reward + t.weight * best.map_or(0.0, |best| best.worth);
                }
            }
        }));
        let boards: Vec<P> = batch.iter().map(|t| t.board).collect();
        self.learn(&boards, &targets);
    }

    /// How many of so many games or boards each thread takes on.
    fn share(&self, count: usize) -> usize {
        count.div_ceil(self.network.threads()).max(1)
    }

    /// One move of every lane. Gathers what can be learned from now: boards and their targets.
    fn step(&mut self, due: &mut (Vec<P>, Vec<f32>), over: &mut Vec<bool>) {
        let (each, count) = (self.share(self.lanes.lanes.len()), self.lanes.lanes.len());
        self.desks.resize_with(count.div_ceil(each), Desk::default);
        let turn = Turn { config: &self.config, rule: &self.rule, network: &*self.network, epsilon: self.epsilon() };
        let turn = &turn;
        let parts = self.lanes.lanes.chunks_mut(each).zip(&mut self.desks);
        side_by_side(parts.map(|(lanes, desk)| move || desk.step(lanes, turn)));
        over.clear();
        for desk in &mut self.desks {
            over.append(&mut desk.over);
            self.moves += desk.moves;
            for (transition, worth) in desk.settled.drain(..) {
                if self.config.replay > 0 {
                    self.replay.push(transition);
                } else {
                    due.0.push(transition.board);
                    due.1.push(transition.reward + transition.weight * worth);
                }
            }
        }
    }
}

/// What holds for all games while each makes a move.
struct Turn<'t, P: Position> {
    config: &'t ValueConfig,
    rule: &'t SpawnRule,
    network: &'t dyn Network<P>,
    epsilon: f64,
}

/// Where one thread lets its share of the games move.
struct Desk<P> {
    looked: Looked<P>,
    before: Vec<P>,
    /// What waited long enough, and the worth of the position it led to.
    settled: Vec<(Transition<P>, f32)>,
    /// Which of the games are over.
    over: Vec<bool>,
    moves: u64,
}

impl<P> Default for Desk<P> {
    fn default() -> Self {
        Self { looked: Looked::default(), before: Vec::new(), settled: Vec::new(), over: Vec::new(), moves: 0 }
    }
}

impl<P: Position> Desk<P> {
    /// One move of each of the games.
    fn step(&mut self, lanes: &mut [Lane<P>], turn: &Turn<'_, P>) {
        let (config, seed) = (turn.config, turn.config.seed);
        self.before.clear();
        self.before.extend(lanes.iter().map(|lane| lane.board));
        self.looked.look(self.before.iter(), turn.network);
        self.moves = 0;
        let bests = self.looked.best(config, self.before.iter());
        for ((lane, best), slides) in lanes.iter_mut().zip(bests).zip(&self.looked.slides) {
            self.over.push(best.is_none());
            let worth = best.map_or(0.0, |best| best.worth);
            while lane.waiting.len() >= config.n_step || (best.is_none() && !lane.waiting.is_empty()) {
                let Some(settled) = settle(lane, config) else { break };
                let weight = if best.is_none() { 0.0 } else { settled.weight };
                self.settled.push((Transition { weight, ..settled }, worth));
            }
            let Some(Best { mut direction, .. }) = best else { continue };
            if turn.epsilon > 0.0 {
                let mut dice = lane.dice(seed);
                if dice.unit() < turn.epsilon {
                    direction = slides.legal.nth(dice.below(slides.legal.len() as u32) as usize).index();
                }
            }
            let (after, points) = (slides.after[direction], slides.reward[direction]);
            let reward = config.reward.of(&lane.board, after.board(), points);
            let rewarded = reward / config.unit as f32;
            lane.waiting.push_back(Waiting { board: *after.board(), action: direction as u8, reward: rewarded, worth });
            lane.go_on(&after, seed, turn.rule);
            lane.outcome.score += u64::from(points);
            lane.outcome.moves += 1;
            lane.outcome.reward += f64::from(reward);
            self.moves += 1;
        }
    }
}

course::at_any_size!(Value by ValueConfig);

impl<P: Position> Learner<P> for Value<P> {
    type Config = ValueConfig;
    const AGENT: &'static str = "greedy";

    fn course(config: &ValueConfig) -> Course {
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

    fn new(config: &ValueConfig) -> Result<Self, CourseError> {
        let wanted = Wanted { role: Role::Value, unit: config.unit as f32, rewards: 1.0, seed: config.seed };
        let rule = config.rule.parse().unwrap_or(SpawnRule::CLASSIC);
        let mut network = network::build(&config.network, wanted).map_err(CourseError::Network)?;
        network.use_threads(threads_of(config.threads));
        Ok(Self {
            rule,
            lanes: Lanes::new(config.lanes, config.seed, &rule),
            network,
            replay: Replay::new(config.replay),
            config: config.clone(),
            moves: 0,
            updates: 0,
            loss: Loss::default(),
            desks: Vec::new(),
        })
    }

    fn load(config: &ValueConfig, path: &Path) -> Result<Self, CourseError> {
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
        self.lanes.save_with(("value", &self.config.network), &*self.network, &facts, &more, out)
    }

    fn done(&self) -> (u64, u64) {
        (self.lanes.ended, self.moves)
    }

    fn block(&mut self) -> Result<Block, CourseError> {
        let end = (self.lanes.ended / self.config.block + 1) * self.config.block;
        let target = if self.config.target { Some(self.network.target()?) } else { None };
        let (mut due, mut over, mut batch) = ((Vec::new(), Vec::new()), Vec::new(), Vec::new());
        let mut outcomes = Vec::new();
        self.loss = Loss::default();
        among_them(self.network.threads(), || {
            while self.lanes.ended < end {
                due.0.clear();
                due.1.clear();
                self.step(&mut due, &mut over);
                if !due.0.is_empty() {
                    let each = if self.config.at_once == 0 { due.0.len() } else { self.config.at_once };
                    for (boards, targets) in due.0.chunks(each).zip(due.1.chunks(each)) {
                        self.learn(boards, targets);
                    }
                } else if self.replay.len() >= self.config.batch {
                    self.learn_from_replay(target.as_deref(), &mut batch);
                }
                self.lanes.renew(&over, self.config.seed, &self.rule, &mut outcomes);
            }
        });
        let error = (self.loss.sum / self.loss.count.max(1) as f64).sqrt();
        let mut numbers = vec![("error", error), ("rate", f64::from(self.rates().table))];
        if self.config.epsilon > 0.0 {
            numbers.push(("epsilon", self.epsilon()));
        }
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
