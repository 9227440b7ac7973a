//! Proximal policy optimisation (Schulman et al. 2017; rows P3-P5, A2) with masked moves: many games move in step under the policy,
//! advantages look back over what came of it, and the policy moves a little towards what turned out better. docs/methods/ppo.md has
//! the details.

mod config;
mod loss;
#[cfg(test)]
mod tests;

pub use config::{PRESETS, PpoConfig};

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use afterstate_board::{Direction, Position, Rng};
use afterstate_evaluator::Evaluator;
use afterstate_evaluator::file::{Metadata, Saved};
use afterstate_evaluator::lookup::Role;

use crate::course::{self, Block, Call, Course, CourseError, Learner, Outcome};
use crate::lanes::{Lane, Lanes};
use crate::network::{self, Network, Rates, Wanted};
use crate::reward::Reward;
use crate::{side_by_side, threads_of};
pub(crate) use loss::chances;
use loss::{Report, Sample, explained, gradient, value_gradient};

/// The purpose of the random numbers that shuffle the moves for the `u`-th batch and those after it: `Rng::stream(seed, u, SHUFFLE)`.
const SHUFFLE: u64 = u64::MAX - 1;

/// Games whose mean score says which checkpoint is the best (row P5), and by how much it must be better.
const EPISODES: usize = 100;
const BETTER: f64 = 1.01;

/// The learner.
pub struct Ppo<P: Position> {
    config: PpoConfig,
    network: Box<dyn Network<P>>,
    /// Values of positions, if they have a network of their own.
    critic: Option<Box<dyn Network<P>>>,
    lanes: Lanes<P>,
    moves: u64,
    /// Batches learned from.
    updates: u64,
    /// The scores of the last games, the best mean of them that was kept, and the largest tile so far.
    scores: VecDeque<u64>,
    best: f64,
    largest: u8,
    call: Call,
}

/// One move of a rollout.
struct Step<P> {
    sample: Sample,
    board: P,
    reward: f32,
    /// The afterstate of the move, what it was thought to be worth, what it should have been, and the points of the move.
    after: P,
    after_value: f32,
    after_target: f32,
    points: f32,
    /// Did the game end with it?
    last: bool,
}

/// What one game went through between two rounds of learning.
struct Rollout<P> {
    steps: Vec<Step<P>>,
    /// The value of the position that it stopped at.
    value: f32,
    outcomes: Vec<Outcome>,
}

impl<P: Position> Rollout<P> {
    /// Generalised advantages (Schulman et al. 2016), and returns as targets of the values.
    fn look_back(&mut self, discount: f32, lambda: f32) {
        let (mut next, mut advantage) = (self.value, 0.0);
        for step in self.steps.iter_mut().rev() {
            if step.last {
                (next, advantage) = (0.0, 0.0);
            }
            let error = step.reward + discount * next - step.sample.value;
            advantage = error + discount * lambda * advantage;
            step.sample.advantage = advantage;
            step.sample.target = advantage + step.sample.value;
            next = step.sample.value;
        }
        // Afterstates are worth points still to come, whatever moves are rewarded with; the last one learns nothing yet.
        let mut later: Option<(f32, f32, f32)> = None;
        for step in self.steps.iter_mut().rev() {
            let worth = later.map(|(points, value, target)| points + (1.0 - lambda) * value + lambda * target);
            step.after_target = if step.last { 0.0 } else { worth.unwrap_or(step.after_value) };
            later = Some((step.points, step.after_value, step.after_target));
        }
    }
}

/// Draws a move by its chance.
fn drawn(chances: &[f32; 4], rng: &mut Rng) -> Direction {
    let mut left = rng.unit() as f32;
    let mut last = Direction::ALL[0];
    for (direction, &chance) in Direction::ALL.into_iter().zip(chances).filter(|(_, chance)| **chance > 0.0) {
        last = direction;
        left -= chance;
        if left < 0.0 {
            break;
        }
    }
    last
}

impl<P: Position> Ppo<P> {
    /// The outputs for each board, with the critic's values if there is one.
    fn judge(&self, boards: &[P], outputs: &mut [f32], values: &mut [f32]) {
        self.network.judge(boards, outputs);
        if let Some(critic) = &self.critic {
            critic.judge(boards, values);
            let each = self.network.role().outputs();
            outputs.chunks_exact_mut(each).zip(values).for_each(|(outputs, value)| outputs[4] = *value);
        }
    }

    /// Some games go on for one horizon, and begin anew where they end.
    fn play(&self, lanes: &mut [Lane<P>], rollouts: &mut [Rollout<P>]) {
        let Course { seed, rule, .. } = &self.config.course;
        let (count, unit) = (self.network.role().outputs(), self.config.unit as f32);
        let points_unit = self.config.points_unit as f32;
        let mut outputs = vec![0.0; count * lanes.len()];
        let mut values = vec![0.0; if self.critic.is_some() { lanes.len() } else { 0 }];
        let mut boards: Vec<P> = Vec::with_capacity(lanes.len());
        for time in 0..=self.config.horizon {
            boards.clear();
            boards.extend(lanes.iter().map(|lane| lane.board));
            self.judge(&boards, &mut outputs, &mut values);
            for ((lane, rollout), outputs) in lanes.iter_mut().zip(rollouts.iter_mut()).zip(outputs.chunks_exact(count))
            {
                rollout.value = outputs[4];
                if time == self.config.horizon {
                    continue;
                }
                let slides = lane.board.slides();
                let chances = chances(outputs, slides.legal);
                let direction = drawn(&chances, &mut lane.dice(*seed));
                let (after, points) = (slides.after[direction.index()], slides.reward[direction.index()]);
                let reward = self.config.reward.of(&lane.board, after.board(), points);
                let sample = Sample {
                    action: direction,
                    legal: slides.legal,
                    log_chance: chances[direction.index()].ln(),
                    value: outputs[4],
                    advantage: 0.0,
                    target: 0.0,
                };
                let board = lane.board;
                lane.go_on(&after, *seed, rule);
                lane.outcome.score += u64::from(points);
                lane.outcome.moves += 1;
                lane.outcome.reward += f64::from(reward);
                let last = lane.board.is_over();
                rollout.steps.push(Step {
                    sample,
                    board,
                    reward: reward / unit,
                    after: *after.board(),
                    after_value: 0.0,
                    after_target: 0.0,
                    points: points as f32 / points_unit,
                    last,
                });
                if last {
                    rollout.outcomes.push(lane.renew(self.config.lanes as u64, *seed, rule));
                }
            }
            if self.config.afterstates && time < self.config.horizon {
                self.judge_afterstates(rollouts, &mut boards, &mut outputs);
            }
        }
    }

    /// What the last afterstate of each game is thought to be worth.
    fn judge_afterstates(&self, rollouts: &mut [Rollout<P>], boards: &mut Vec<P>, outputs: &mut [f32]) {
        boards.clear();
        boards.extend(rollouts.iter().filter_map(|rollout| rollout.steps.last()).map(|step| step.after));
        self.network.judge(boards, outputs);
        for (rollout, outputs) in rollouts.iter_mut().zip(outputs.chunks_exact(self.network.role().outputs())) {
            if let (Some(step), Some(value)) = (rollout.steps.last_mut(), outputs.get(5)) {
                step.after_value = *value;
            }
        }
    }

    /// All games go on for one horizon, on all threads.
    fn roll_out(&mut self) -> Vec<Rollout<P>> {
        let mut lanes = std::mem::take(&mut self.lanes.lanes);
        let blank = || Rollout { steps: Vec::with_capacity(self.config.horizon), value: 0.0, outcomes: Vec::new() };
        let mut rollouts: Vec<Rollout<P>> = lanes.iter().map(|_| blank()).collect();
        let each = lanes.len().div_ceil(threads_of(self.config.threads));
        let this = &*self;
        side_by_side(lanes.chunks_mut(each).zip(rollouts.chunks_mut(each)).map(|(lanes, rollouts)| {
            move || {
                this.play(lanes, rollouts);
                let (discount, lambda) = (this.config.discount as f32, this.config.lambda as f32);
                rollouts.iter_mut().for_each(|rollout| rollout.look_back(discount, lambda));
            }
        }));
        self.lanes.lanes = lanes;
        self.moves += rollouts.iter().map(|rollout| rollout.steps.len() as u64).sum::<u64>();
        rollouts
    }

    /// Some rounds of learning from all moves of a rollout.
    fn improve(&mut self, steps: &mut [Step<P>]) -> Report {
        let mut report = Report { explained: explained(steps.iter().map(|step| &step.sample)), ..Report::default() };
        normalise(steps);
        let along = self.moves as f64 / self.config.course.moves as f64;
        let weights = loss::Weights {
            clip_ratio: self.config.clip_ratio as f32,
            clip_value: if self.config.clip_value > 0.0 { self.config.clip_value as f32 } else { f32::INFINITY },
            value: self.config.value_weight as f32,
            entropy: (self.config.entropy + (self.config.entropy_end - self.config.entropy) * along.min(1.0)) as f32,
        };
        let mut order: Vec<u32> = (0..steps.len() as u32).collect();
        for epoch in 0..self.config.epochs {
            shuffle(&mut order, &mut Rng::stream(self.config.course.seed, self.updates, SHUFFLE));
            let before = report;
            for batch in order.chunks(self.config.batch) {
                self.learn(steps, batch, &weights, &mut report);
                if self.config.afterstates && epoch == 0 {
                    self.learn_afterstates(steps, batch);
                }
                self.updates += 1;
            }
            let kl = (report.kl - before.kl) / (report.samples - before.samples).max(1.0);
            if self.config.target_kl > 0.0 && kl > self.config.target_kl {
                break;
            }
        }
        report
    }

    fn learn(&mut self, steps: &[Step<P>], batch: &[u32], weights: &loss::Weights, report: &mut Report) {
        let boards: Vec<P> = batch.iter().map(|&i| steps[i as usize].board).collect();
        let (rates, count) =
            (self.config.steps.at(self.moves, self.config.course.moves), self.network.role().outputs());
        let alone = self.critic.is_none();
        self.network.learn(&boards, rates, &mut |outputs, all| {
            for ((&i, outputs), out) in batch.iter().zip(outputs.chunks_exact(count)).zip(all.chunks_exact_mut(count)) {
                gradient(outputs, &steps[i as usize].sample, weights, out, report);
                out[4] = if alone { out[4] } else { 0.0 };
            }
        });
        if let Some(critic) = &mut self.critic {
            let factor = self.config.critic_rate as f32;
            let rates = Rates { table: factor * rates.table, dense: factor * rates.dense, ..rates };
            critic.learn(&boards, rates, &mut |values, out| {
                for ((&i, value), out) in batch.iter().zip(values).zip(out) {
                    *out = value_gradient(*value, &steps[i as usize].sample, weights);
                }
            });
        }
    }

    /// The values that a search asks for.
    fn learn_afterstates(&mut self, steps: &[Step<P>], batch: &[u32]) {
        let boards: Vec<P> = batch.iter().map(|&i| steps[i as usize].after).collect();
        let rates = self.config.steps.at(self.moves, self.config.course.moves);
        let weight = self.config.value_weight as f32;
        self.network.learn(&boards, rates, &mut |outputs, all| {
            for ((&i, outputs), out) in batch.iter().zip(outputs.chunks_exact(6)).zip(all.chunks_exact_mut(6)) {
                out[5] = weight * (outputs[5] - steps[i as usize].after_target);
            }
        });
    }

    /// Notes the games of a block, and whether they call for a checkpoint (row P5).
    fn note(&mut self, outcomes: &[Outcome]) {
        self.call = Call::default();
        for outcome in outcomes {
            self.scores.push_back(outcome.score);
            if self.scores.len() > EPISODES {
                self.scores.pop_front();
            }
            self.call.checkpoint |= outcome.largest > self.largest;
            self.largest = self.largest.max(outcome.largest);
        }
        let mean = self.scores.iter().sum::<u64>() as f64 / EPISODES as f64;
        if self.config.course.evaluate_every == 0 && self.scores.len() == EPISODES && mean > BETTER * self.best {
            self.best = mean;
            self.call.figure = Some(mean);
        }
    }
}

/// Advantages with mean 0 and standard deviation 1.
fn normalise<P>(steps: &mut [Step<P>]) {
    let n = steps.len().max(1) as f64;
    let mean = steps.iter().map(|step| f64::from(step.sample.advantage)).sum::<f64>() / n;
    let square = steps.iter().map(|step| (f64::from(step.sample.advantage) - mean).powi(2)).sum::<f64>() / n;
    let unit = square.sqrt() + 1e-8;
    steps.iter_mut().for_each(|step| step.sample.advantage = ((f64::from(step.sample.advantage) - mean) / unit) as f32);
}

/// Fisher and Yates.
fn shuffle(order: &mut [u32], rng: &mut Rng) {
    for i in (1..order.len()).rev() {
        order.swap(i, rng.below(i as u32 + 1) as usize);
    }
}

course::at_any_size!(Ppo by PpoConfig);

impl<P: Position> Learner<P> for Ppo<P> {
    type Config = PpoConfig;
    const AGENT: &'static str = "policy";

    fn course(config: &PpoConfig) -> Course {
        config.course.clone()
    }

    fn new(config: &PpoConfig) -> Result<Self, CourseError> {
        let (role, unit) = match config.afterstates {
            true => (Role::Actor, config.points_unit as f32),
            false => (Role::Policy, config.unit as f32),
        };
        // Without values in points a search can only compare boards.
        let rewards = if config.afterstates || config.reward == Reward::POINTS { 1.0 } else { 0.0 };
        let wanted = Wanted { role, unit, rewards, seed: config.course.seed };
        let mut network = network::build(&config.network, wanted).map_err(CourseError::Network)?;
        network.use_threads(threads_of(config.threads));
        let mut critic = None;
        if !config.critic.is_empty() {
            let wanted = Wanted { role: Role::Value, unit: config.unit as f32, rewards: 0.0, seed: config.course.seed };
            let mut own = network::build(&config.critic, wanted).map_err(CourseError::Network)?;
            own.use_threads(threads_of(config.threads));
            critic = Some(own);
        }
        Ok(Self {
            critic,
            lanes: Lanes::new(config.lanes, config.course.seed, &config.course.rule),
            network,
            config: config.clone(),
            moves: 0,
            updates: 0,
            scores: VecDeque::new(),
            best: 0.0,
            largest: 0,
            call: Call::default(),
        })
    }

    fn load(config: &PpoConfig, path: &Path) -> Result<Self, CourseError> {
        let mut learner = Self::new(config)?;
        let saved = Saved::open(path, &learner.network.format().0)?;
        learner.network.load(&saved)?;
        if let Some(critic) = &mut learner.critic {
            critic.load(&saved.within("critic", &critic.format().0)?)?;
        }
        (learner.moves, learner.updates) = (saved.number("moves")?, saved.number("updates")?);
        let numbers = |key: &str| -> Result<Vec<u64>, CourseError> {
            let words = saved.text(key)?.split_whitespace().map(str::parse);
            Ok(words.collect::<Result<_, _>>().map_err(|_| saved.refused(format!("its '{key}' cannot be read")))?)
        };
        learner.scores = numbers("scores")?.into();
        learner.best = f64::from_bits(saved.number("best")?);
        learner.largest = saved.number("largest")?.min(31) as u8;
        learner.lanes = Lanes::of_file(config.lanes, &saved)?;
        Ok(learner)
    }

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        let scores: Vec<String> = self.scores.iter().map(u64::to_string).collect();
        let facts = [
            ("moves", self.moves.to_string()),
            ("updates", self.updates.to_string()),
            ("scores", scores.join(" ")),
            ("best", self.best.to_bits().to_string()),
            ("largest", self.largest.to_string()),
        ];
        let (mut critic, mut more) = (Vec::new(), Vec::new());
        if let Some(own) = &self.critic {
            own.save(&mut critic, Metadata::new(), &[])?;
            more.push(("critic", critic.as_slice()));
        }
        self.lanes.save_with(("ppo", &self.config.network), &*self.network, &facts, &more, out)
    }

    fn done(&self) -> (u64, u64) {
        (self.lanes.ended, self.moves)
    }

    fn block(&mut self) -> Result<Block, CourseError> {
        let end = (self.lanes.ended / self.config.block + 1) * self.config.block;
        let (mut outcomes, mut report) = (Vec::new(), Report::default());
        while self.lanes.ended < end && self.moves < self.config.course.moves {
            let rollouts = self.roll_out();
            outcomes.extend(rollouts.iter().flat_map(|rollout| &rollout.outcomes));
            self.lanes.ended += rollouts.iter().map(|rollout| rollout.outcomes.len() as u64).sum::<u64>();
            let mut steps: Vec<Step<P>> = rollouts.into_iter().flat_map(|rollout| rollout.steps).collect();
            report.add(&self.improve(&mut steps));
        }
        self.note(&outcomes);
        Ok(Block { outcomes, numbers: report.numbers() })
    }

    fn calls_for(&mut self) -> Call {
        self.call
    }

    fn is_finite(&self) -> bool {
        self.network.is_finite() && self.critic.as_ref().is_none_or(|critic| critic.is_finite())
    }

    fn player(&self) -> io::Result<Arc<dyn Evaluator<P>>> {
        self.network.player()
    }

    fn evaluator(&self) -> &'static str {
        self.network.format().1
    }
}
