//! Imitation: a network learns the moves of a stronger agent, from its records or by asking it about every position of games that the
//! network plays itself (Ross, Gordon and Bagnell 2011). What comes of it is taught, not self-taught. docs/methods/distill.md has the
//! details.

mod config;
mod school;
#[cfg(test)]
mod tests;

pub use config::{DistillConfig, PRESETS};

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use afterstate_agent::{BoxedAgent, Context, build_from_text};
use afterstate_board::{Position, Rng};
use afterstate_evaluator::Evaluator;
use afterstate_evaluator::file::Saved;
use afterstate_evaluator::lookup::Role;

use crate::course::{self, Block, Course, CourseError, Learner, Outcome};
use crate::imitation::{self, Errors};
use crate::lanes::Lanes;
use crate::network::{self, Network, Wanted};
use crate::replay::{Lesson, Replay};
use crate::{side_by_side, threads_of};
use school::{Archive, Pupil};

/// The purpose of the random numbers that draw the `u`-th batch: `Rng::stream(seed, u, REPLAY)`.
const REPLAY: u64 = u64::MAX;

/// The learner.
pub struct Distill<P: Position> {
    config: DistillConfig,
    network: Box<dyn Network<P>>,
    lanes: Lanes<P>,
    /// One teacher for each thread; none if there are records.
    teachers: Vec<BoxedAgent<P>>,
    archive: Option<Archive<P>>,
    replay: Replay<Lesson<P>>,
    moves: u64,
    updates: u64,
    errors: Errors,
}

impl<P: Position> Distill<P> {
    /// The share of moves that the student makes now: none at first, for it knows nothing.
    fn share(&self) -> f64 {
        let along = self.moves as f64 / self.config.course.moves as f64;
        self.config.student * (10.0 * along).min(1.0)
    }

    /// One move of every game; every position is kept with what the teacher says of it.
    fn step(&mut self, outcomes: &mut Vec<Outcome>) {
        let mut lanes = std::mem::take(&mut self.lanes.lanes);
        let mut teachers = std::mem::take(&mut self.teachers);
        let each = lanes.len().div_ceil(teachers.len().max(1));
        let mut answers: Vec<(Lesson<P>, Option<Outcome>)> =
            lanes.iter().map(|lane| (Lesson { board: lane.board, moves: [0.0; 4], value: 0.0 }, None)).collect();
        let (network, config, share) = (&*self.network, &self.config, self.share());
        let parts = lanes.chunks_mut(each).zip(answers.chunks_mut(each)).zip(&mut teachers);
        side_by_side(parts.map(|((lanes, answers), teacher)| {
            move || {
                Pupil { network, config, share }.step(lanes, &mut **teacher, answers);
            }
        }));
        (self.lanes.lanes, self.teachers) = (lanes, teachers);
        for (lesson, outcome) in answers {
            self.replay.push(lesson);
            self.moves += 1;
            self.lanes.ended += u64::from(outcome.is_some());
            outcomes.extend(outcome);
        }
    }

    /// The next game of the records.
    fn read(&mut self, outcomes: &mut Vec<Outcome>) {
        let Some(archive) = &self.archive else { return };
        let (lessons, outcome) = archive.game(self.lanes.ended, self.config.unit as f32);
        self.moves += lessons.len() as u64;
        lessons.into_iter().for_each(|lesson| self.replay.push(lesson));
        self.lanes.ended += 1;
        outcomes.push(outcome);
    }

    /// As many batches as the moves so far call for.
    fn improve(&mut self, batch: &mut Vec<Lesson<P>>) {
        let due = (self.moves as f64 * self.config.reuse / self.config.batch as f64) as u64;
        let rates = self.config.steps.at(self.moves, self.config.course.moves);
        while self.updates < due {
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

course::at_any_size!(Distill by DistillConfig);

impl<P: Position> Learner<P> for Distill<P> {
    type Config = DistillConfig;
    const AGENT: &'static str = "policy";

    fn course(config: &DistillConfig) -> Course {
        config.course.clone()
    }

    fn new(config: &DistillConfig) -> Result<Self, CourseError> {
        let Course { seed, rule, .. } = config.course;
        let wanted = Wanted { role: Role::Policy, unit: config.unit as f32, rewards: 1.0, seed };
        let mut network = network::build(&config.network, wanted).map_err(CourseError::Network)?;
        network.use_threads(threads_of(config.threads));
        let (mut teachers, mut archive) = (Vec::new(), None);
        if config.records.is_empty() {
            for _ in 0..threads_of(config.threads) {
                let teacher = build_from_text(&config.teacher, &Context { rule });
                teachers.push(teacher.map_err(|error| CourseError::Network(format!("teacher: {error}")))?);
            }
        } else {
            archive = Some(Archive::open(&config.records)?);
        }
        Ok(Self {
            lanes: Lanes::new(config.lanes, seed, &rule),
            network,
            teachers,
            archive,
            replay: Replay::new(config.replay),
            config: config.clone(),
            moves: 0,
            updates: 0,
            errors: Errors::default(),
        })
    }

    fn load(config: &DistillConfig, path: &Path) -> Result<Self, CourseError> {
        let mut learner = Self::new(config)?;
        let saved = Saved::open(path, &learner.network.format().0)?;
        learner.network.load(&saved)?;
        (learner.moves, learner.updates) = (saved.number("moves")?, saved.number("updates")?);
        learner.lanes = Lanes::of_file(config.lanes, &saved)?;
        learner.replay = Replay::of_file(config.replay, &saved)?;
        Ok(learner)
    }

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        let taught = if self.archive.is_some() { &self.config.records } else { &self.config.teacher };
        let facts =
            [("moves", self.moves.to_string()), ("updates", self.updates.to_string()), ("taught_by", taught.clone())];
        let more = [("replay", &*self.replay.to_bytes())];
        self.lanes.save_with(("distill", &self.config.network), &*self.network, &facts, &more, out)
    }

    fn done(&self) -> (u64, u64) {
        (self.lanes.ended, self.moves)
    }

    fn block(&mut self) -> Result<Block, CourseError> {
        let end = (self.lanes.ended / self.config.block + 1) * self.config.block;
        let (mut outcomes, mut batch) = (Vec::new(), Vec::new());
        self.errors = Errors::default();
        while self.lanes.ended < end && self.moves < self.config.course.moves {
            if self.archive.is_some() {
                self.read(&mut outcomes);
            } else {
                self.step(&mut outcomes);
            }
            self.improve(&mut batch);
        }
        Ok(Block { outcomes, numbers: self.errors.numbers() })
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
