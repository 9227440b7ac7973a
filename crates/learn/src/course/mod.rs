//! The course of a run that learns in blocks of games: play a block, note what came of it, evaluate and save now and then. Learners on
//! networks differ in what a block does, and in nothing here.

#[cfg(test)]
mod tests;

use std::fmt;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use afterstate_agent::{BoxedAgent, Context, Spec, SpecError, build_with};
use afterstate_arena::{Evaluation, RunError, Setup, Size, Summary, grouped};
use afterstate_board::{Position, SpawnRule};
use afterstate_evaluator::Evaluator;
use afterstate_evaluator::file::FileError;

use serde::{Deserialize, Serialize};

use crate::run::{Config, ConfigError, FolderError, Notice, Origin, Resumed, RunFolder, Start, Stop, resolve, within};

/// Why a run cannot begin, or ended early. The last checkpoint is safe.
#[derive(Debug, thiserror::Error)]
pub enum CourseError {
    /// The network makes no sense, or does not fit into memory.
    #[error("{0}")]
    Network(String),
    /// The run folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A checkpoint that cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is not enough memory for a copy of the network.
    #[error("cannot copy the network: {0}")]
    Memory(#[from] io::Error),
    /// The evaluation games.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Outputs grew beyond all bounds.
    #[error("outputs are no longer finite after {games} games: lower the rates (the last checkpoint is intact)")]
    Diverged {
        /// When it was noticed.
        games: u64,
    },
}

/// The settings that every such learner has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// Moves in all.
    pub moves: u64,
    /// End after so many seconds even if moves are left; 0 for no limit.
    pub seconds: u64,
    /// Games between two checkpoints.
    pub checkpoint_every: u64,
    /// Games between two evaluations; 0 for none.
    pub evaluate_every: u64,
    /// Games of an evaluation.
    pub evaluate_games: u64,
    /// Names all random numbers.
    pub seed: u64,
    /// Which tiles spawn.
    #[serde(with = "rule_text")]
    pub rule: SpawnRule,
}

impl Course {
    /// The first complaint about them.
    pub fn check(&self) -> Result<(), String> {
        const MANY: f64 = 1e15;
        within(&[
            ("moves", self.moves as f64, 1.0, MANY),
            ("checkpoint_every", self.checkpoint_every as f64, 1.0, MANY),
            ("evaluate_games", self.evaluate_games as f64, 1.0, MANY),
        ])
    }
}

/// Spawn rules as people write them.
mod rule_text {
    use afterstate_board::SpawnRule;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(rule: &SpawnRule, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(&rule.to_string())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SpawnRule, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// How a training game ended.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Its number.
    pub game: u64,
    /// Points.
    pub score: u64,
    /// Moves made.
    pub moves: u32,
    /// Exponent of the largest tile.
    pub largest: u8,
    /// What it was rewarded with in all.
    pub reward: f64,
}

/// What came of a block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Its games.
    pub outcomes: Vec<Outcome>,
    /// What the learner has to say: loss, rates and the like.
    pub numbers: Vec<(&'static str, f64)>,
}

/// What a learner asks for after a block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Call {
    /// Keep a checkpoint now.
    pub checkpoint: bool,
    /// How good it is, if games of the training tell: the checkpoint of the highest figure is kept as the best.
    pub figure: Option<f64>,
}

/// A learner that learns in blocks of games.
pub trait Learner<P: Position>: Sized + 'static {
    /// Its settings.
    type Config: Config;
    /// The agent that plays what it learned.
    const AGENT: &'static str;

    /// What it shares with others.
    fn course(config: &Self::Config) -> Course;
    /// One that knows nothing.
    fn new(config: &Self::Config) -> Result<Self, CourseError>;
    /// One that knows what a checkpoint holds.
    fn load(config: &Self::Config, path: &Path) -> Result<Self, CourseError>;
    /// Writes all it knows.
    fn save(&self, out: &mut dyn Write) -> io::Result<()>;
    /// Games and moves done.
    fn done(&self) -> (u64, u64);
    /// Plays and learns until the next block of games has ended; games go on from block to block.
    fn block(&mut self) -> Result<Block, CourseError>;
    /// What the last block calls for, beside what the course has planned.
    fn calls_for(&mut self) -> Call {
        Call::default()
    }
    /// Are its outputs still numbers?
    fn is_finite(&self) -> bool;
    /// A copy of its network that plays.
    fn player(&self) -> io::Result<Arc<dyn Evaluator<P>>>;
    /// The evaluator that reads its checkpoints.
    fn evaluator(&self) -> &'static str;
}

/// How far a run has come, after each block.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Games done.
    pub games: u64,
    /// Moves done.
    pub moves: u64,
    /// Seconds that are left, by moves or by the clock.
    pub remaining: f64,
    /// Moves a second in this block.
    pub moves_per_second: f64,
    /// Mean score of the block's games.
    pub mean_score: f64,
    /// The mean of their largest tiles.
    pub mean_tile: f64,
    /// The mean of what they were rewarded with.
    pub mean_reward: f64,
    /// The share of the block's games that reached 512, 1024, 2048, 4096, 8192.
    pub reach: [f64; 5],
    /// What the learner has to say.
    pub numbers: Vec<(&'static str, f64)>,
    /// What the games of an evaluation gave, if this block ended with one.
    pub evaluation: Option<Summary>,
}

/// The exponents of [`Progress::reach`].
const REACH: [u8; 5] = [9, 10, 11, 12, 13];

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (games, moves, mean) = (grouped(self.games as f64), grouped(self.moves as f64), grouped(self.mean_score));
        write!(f, "{games} games, {moves} moves, mean {mean}, largest tile {:.0} on average", self.mean_tile)?;
        for (e, share) in REACH.iter().zip(self.reach).filter(|(_, share)| *share > 0.0) {
            write!(f, ", {} {:.1}%", 1u32 << e, 100.0 * share)?;
        }
        self.numbers.iter().try_for_each(|(name, number)| write!(f, ", {name} {number:.4}"))?;
        let left = self.remaining as u64;
        write!(f, ", {} moves/s", grouped(self.moves_per_second))?;
        write!(f, ", {}:{:02}:{:02} left", left / 3600, left / 60 % 60, left % 60)?;
        match &self.evaluation {
            None => Ok(()),
            Some(summary) => write!(f, "; evaluated: {} over {} games", grouped(summary.score.mean), summary.games),
        }
    }
}

/// What a run ended with.
#[derive(Clone, Debug, PartialEq)]
pub struct Trained {
    /// Games done.
    pub games: u64,
    /// Seconds trained.
    pub seconds: f64,
    /// False if it was stopped before its end.
    pub finished: bool,
    /// The last checkpoint.
    pub checkpoint: PathBuf,
    /// The agent that plays it, as in `--agent`.
    pub agent: String,
}

/// What a caller hears of a run.
pub enum Event<'a> {
    /// Something found or done when the run was resumed.
    Notice(&'a Notice),
    /// A block is done.
    Progress(&'a Progress),
}

/// A learner on boards of some size, and what a run asks of it: the run itself is compiled once, not for each learner and size.
trait Running {
    fn done(&self) -> (u64, u64);
    fn block(&mut self) -> Result<Block, CourseError>;
    fn calls_for(&mut self) -> Call;
    fn is_finite(&self) -> bool;
    fn save(&self, out: &mut dyn Write) -> io::Result<()>;
    fn evaluator(&self) -> &'static str;
    /// Games in the arena with the network as it is.
    fn play(&self, agent: &Spec, evaluation: &Evaluation) -> Result<Option<Summary>, CourseError>;
}

struct On<P: Position, L: Learner<P>> {
    learner: L,
    board: PhantomData<P>,
}

impl<P: Position, L: Learner<P>> Running for On<P, L> {
    fn done(&self) -> (u64, u64) {
        self.learner.done()
    }

    fn block(&mut self) -> Result<Block, CourseError> {
        self.learner.block()
    }

    fn calls_for(&mut self) -> Call {
        self.learner.calls_for()
    }

    fn is_finite(&self) -> bool {
        self.learner.is_finite()
    }

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        self.learner.save(out)
    }

    fn evaluator(&self) -> &'static str {
        self.learner.evaluator()
    }

    fn play(&self, agent: &Spec, evaluation: &Evaluation) -> Result<Option<Summary>, CourseError> {
        play(&self.learner.player()?, agent, evaluation)
    }
}

/// The summary of games by an agent with this evaluator; `None` if there were none.
fn play<P: Position>(
    player: &Arc<dyn Evaluator<P>>,
    agent: &Spec,
    evaluation: &Evaluation,
) -> Result<Option<Summary>, CourseError> {
    let context = Context { rule: evaluation.setup.rule };
    let make = || -> Result<BoxedAgent<P>, SpecError> { build_with(agent, &context, || Box::new(player.clone())) };
    Ok(evaluation.run::<P>(make, |_, _| Ok(()))?.summary())
}

/// A learner with its run folder.
struct Run {
    learner: Box<dyn Running>,
    /// See [`Learner::AGENT`].
    agent: &'static str,
    course: Course,
    folder: RunFolder,
    stop: Stop,
}

/// A learner by its settings, on boards of a size that is known only when it runs. Each learner says so of itself, so that it
/// is compiled for all sizes in this crate, once, and not again by whoever runs it.
pub trait AnySize: Config {
    /// See [`train`].
    fn train(
        size: Size,
        out: &Path,
        start: Start<'_, Self>,
        stop: &Stop,
        hear: &mut dyn FnMut(Event<'_>),
    ) -> Result<Trained, CourseError>;
}

/// Says it of a learner: `at_any_size!(Learner by Config)`.
macro_rules! at_any_size {
    ($learner:ident by $config:ident) => {
        impl $crate::course::AnySize for $config {
            fn train(
                size: afterstate_arena::Size,
                out: &std::path::Path,
                start: $crate::run::Start<'_, Self>,
                stop: &$crate::run::Stop,
                hear: &mut dyn FnMut($crate::course::Event<'_>),
            ) -> Result<$crate::course::Trained, $crate::course::CourseError> {
                afterstate_arena::for_size!(size, P => $crate::course::train::<P, $learner<P>>(out, start, stop, hear))
            }
        }
    };
}

pub(crate) use at_any_size;

/// Begins a run in a new folder, or goes on with the one in it.
pub fn train<P: Position, L: Learner<P>>(
    out: &Path,
    start: Start<'_, L::Config>,
    stop: &Stop,
    mut hear: impl FnMut(Event<'_>),
) -> Result<Trained, CourseError> {
    fn boxed<P: Position, L: Learner<P>>(learner: L) -> Box<dyn Running> {
        Box::new(On { learner, board: PhantomData })
    }
    let school = School {
        new: |config| L::new(config).map(boxed),
        load: |config, checkpoint| L::load(config, checkpoint).map(boxed),
        course: L::course,
        agent: L::AGENT,
    };
    school.train(out, start, stop, &mut hear)
}

type Enrolled = Result<Box<dyn Running>, CourseError>;

/// Where learners come from, whatever they and their boards are.
struct School<C> {
    new: fn(&C) -> Enrolled,
    load: fn(&C, &Path) -> Enrolled,
    course: fn(&C) -> Course,
    /// See [`Learner::AGENT`].
    agent: &'static str,
}

impl<C: Config> School<C> {
    fn train(
        &self,
        out: &Path,
        start: Start<'_, C>,
        stop: &Stop,
        hear: &mut dyn FnMut(Event<'_>),
    ) -> Result<Trained, CourseError> {
        let origin = |config: &C| Origin::here((self.course)(config).seed);
        let (learner, course, folder) = match start {
            Start::New(config) => {
                let learner = (self.new)(config)?;
                (learner, (self.course)(config), RunFolder::create(out, config, &origin(config))?)
            }
            Start::Resume { file, sets } => self.resume(out, file, sets, hear)?,
        };
        Run { learner, agent: self.agent, course, folder, stop: stop.clone() }.finish(hear)
    }

    /// Goes on from the last checkpoint that can be read.
    fn resume(
        &self,
        out: &Path,
        file: Option<&Path>,
        sets: &[String],
        hear: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Box<dyn Running>, Course, RunFolder), CourseError> {
        let amend = |kept: C| resolve(kept, file, sets);
        let origin = |config: &C| Origin::here((self.course)(config).seed);
        let Resumed { mut folder, config, mut checkpoint, notices } = RunFolder::open_to_resume(out, amend, origin)?;
        notices.iter().for_each(|notice| hear(Event::Notice(notice)));
        let learner = loop {
            let Some(from) = &checkpoint else { break (self.new)(&config)? };
            match (self.load)(&config, &folder.path_of(from)) {
                Ok(learner) => break learner,
                Err(error) => {
                    let (earlier, notices) = folder.fall_back(from, &error.to_string())?;
                    notices.iter().for_each(|notice| hear(Event::Notice(notice)));
                    checkpoint = Some(earlier);
                }
            }
        };
        Ok((learner, (self.course)(&config), folder))
    }
}

impl Run {
    fn finished(&self) -> bool {
        let late = self.course.seconds > 0 && self.folder.seconds() >= self.course.seconds as f64;
        self.learner.done().1 >= self.course.moves || late
    }

    fn finish(&mut self, hear: &mut dyn FnMut(Event<'_>)) -> Result<Trained, CourseError> {
        let mut saved = self.folder.checkpoints().last().cloned();
        while !self.finished() && !self.stop.requested() {
            let (began, before) = (Instant::now(), self.learner.done().0);
            let block = self.learner.block()?;
            let mut progress = self.progress(block, began.elapsed().as_secs_f64());
            self.record(&progress)?;
            let games = progress.games;
            if !self.learner.is_finite() {
                return Err(CourseError::Diverged { games });
            }
            let due = |every: u64| every > 0 && before / every != games / every;
            let mut figure = None;
            if due(self.course.evaluate_every) || (self.course.evaluate_every > 0 && self.finished()) {
                progress.evaluation = self.evaluate()?;
                figure = progress.evaluation.as_ref().map(|summary| summary.score.mean);
            }
            let (ends, call) = (self.finished() || self.stop.requested(), self.learner.calls_for());
            figure = figure.or(call.figure);
            if due(self.course.checkpoint_every) || ends || figure.is_some() || call.checkpoint {
                saved = Some(self.folder.checkpoint(games, figure, |out| self.learner.save(out))?);
            }
            self.folder.log(&progress.to_string())?;
            hear(Event::Progress(&progress));
        }
        let (games, seconds) = (self.learner.done().0, self.folder.seconds());
        if saved.as_ref().is_none_or(|saved| saved.step != games) {
            saved = Some(self.folder.checkpoint(games, None, |out| self.learner.save(out))?);
        }
        let checkpoint = saved.map(|saved| self.folder.path_of(&saved)).unwrap_or_default();
        let agent = format!("{}@{}", self.playing(), checkpoint.display());
        Ok(Trained { games, seconds, finished: self.finished(), checkpoint, agent })
    }

    /// The agent that plays what was learned, up to the name of the evaluator.
    fn playing(&self) -> String {
        let sign = if self.agent.contains(':') { ',' } else { ':' };
        format!("{}{sign}eval={}", self.agent, self.learner.evaluator())
    }

    fn progress(&self, block: Block, seconds: f64) -> Progress {
        let Block { outcomes, numbers } = block;
        // Nothing adds up to -0: as a figure that looks odd.
        let sum = |of: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>() + 0.0;
        let mean = |of: &dyn Fn(&Outcome) -> f64| sum(of) / outcomes.len().max(1) as f64;
        let (games, moves) = self.learner.done();
        let moves_per_second = sum(&|outcome| f64::from(outcome.moves)) / seconds;
        let by_moves = self.course.moves.saturating_sub(moves) as f64 / moves_per_second.max(1.0);
        let by_clock = match self.course.seconds {
            0 => f64::INFINITY,
            limit => (limit as f64 - self.folder.seconds()).max(0.0),
        };
        Progress {
            games,
            moves,
            remaining: by_moves.min(by_clock),
            moves_per_second,
            mean_score: mean(&|outcome| outcome.score as f64),
            mean_tile: mean(&|outcome| f64::from(1u32 << outcome.largest)),
            mean_reward: mean(&|outcome| outcome.reward),
            reach: REACH.map(|e| mean(&|outcome| f64::from(u8::from(outcome.largest >= e)))),
            numbers,
            evaluation: None,
        }
    }

    fn record(&mut self, progress: &Progress) -> Result<(), CourseError> {
        let [r512, r1024, r2048, r4096, r8192] = progress.reach;
        let mut numbers = vec![
            ("games", progress.games as f64),
            ("moves", progress.moves as f64),
            ("mean_score", progress.mean_score),
            ("mean_reward", progress.mean_reward),
            ("mean_tile", progress.mean_tile),
            ("moves_per_second", progress.moves_per_second),
            ("reach_512", r512),
            ("reach_1024", r1024),
            ("reach_2048", r2048),
            ("reach_4096", r4096),
            ("reach_8192", r8192),
        ];
        numbers.extend_from_slice(&progress.numbers);
        Ok(self.folder.record("train", progress.games, &numbers)?)
    }

    /// Games in the arena with the network as it is; `None` if interrupted.
    fn evaluate(&mut self) -> Result<Option<Summary>, CourseError> {
        let agent: Spec = self.agent.parse().map_err(RunError::Agent)?;
        let setup = Setup { rule: self.course.rule, ..Setup::new(self.playing(), self.course.seed) };
        let mut evaluation = Evaluation::new(setup, self.course.evaluate_games);
        evaluation.threads = 1;
        evaluation.cancel = self.stop.flag();
        let summary = self.learner.play(&agent, &evaluation)?;
        if let Some(summary) = &summary {
            let [low, high] = summary.score.ci95.unwrap_or([summary.score.mean; 2]);
            let reach = |tile: u64| summary.reach.get(&tile).map_or(0.0, |rate| rate.rate);
            let numbers = [
                ("games", summary.games as f64),
                ("mean_score", summary.score.mean),
                ("low", low),
                ("high", high),
                ("reach_512", reach(512)),
                ("reach_1024", reach(1024)),
                ("reach_2048", reach(2048)),
                ("reach_4096", reach(4096)),
                ("reach_8192", reach(8192)),
            ];
            self.folder.record("evaluation", self.learner.done().0, &numbers)?;
        }
        Ok(summary)
    }
}
