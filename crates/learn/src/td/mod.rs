//! Temporal-difference learning of afterstate values: an n-tuple network plays itself greedily, and every value moves towards what
//! came after it. docs/methods/td.md describes the method and its numbered details.

mod config;
mod files;
mod lane;
mod own;
mod state;

pub use config::{NO_TABLES, PRESETS, TdConfig};

use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use afterstate_agent::{BoxedAgent, Context, Spec, SpecError, TABLES_LEAST, build_with};
use afterstate_arena::{Evaluation, RunError, Setup, Size, StartsError, Summary, for_size, grouped};
use afterstate_board::{Board, Position, Rng, SpawnRule, notation};
use afterstate_evaluator::ntuple::LayoutError;
use afterstate_evaluator::ntuple::file::FileError;
use afterstate_evaluator::tables;

use crate::run::{ConfigError, FolderError, Notice, Origin, Resumed, RunFolder, Start, Stop, resolve};
use files::{Files, Reached};
use lane::{Beginning, Guide, Lane, Outcome, Played, Rule, Tables};
use own::Trial;
use state::State;

/// The random numbers of game `g` of a run: `Rng::stream(seed, g, ...)`.
mod stream {
    pub const SPAWNS: u64 = 0;
    pub const RESTART: u64 = 1;
    pub const START: u64 = 2;
}

/// Why a run cannot begin, or ended early. The last checkpoint is safe.
#[derive(Debug, thiserror::Error)]
pub enum TdError {
    /// The network makes no sense.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// The run folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The settings.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A checkpoint that cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The network to begin with has other patterns, or stages.
    #[error("{name} cannot be where this run begins: its patterns are {patterns}, not those of this run in one stage")]
    From {
        /// Its name, or its file.
        name: String,
        /// What it looks up.
        patterns: String,
    },
    /// The network to begin with says something else.
    #[error(
        "{name} cannot be where this run begins: its values are not what this run learns (points, or the chance of its `goal`)"
    )]
    FromOther {
        /// Its name, or its file.
        name: String,
    },
    /// The files of positions are not in order.
    #[error("starts: the positions of {after} begin earlier than those of {before}: name the earliest first")]
    Order {
        /// The file that is named first.
        before: String,
        /// The one that is named next.
        after: String,
    },
    /// There is not enough memory for the weights.
    #[error("cannot get memory for {weights} weights (choose smaller patterns or fewer stages)")]
    Memory {
        /// How many.
        weights: usize,
        /// What the system said.
        source: io::Error,
    },
    /// The evaluation games.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The positions that games begin at.
    #[error(transparent)]
    Starts(#[from] StartsError),
    /// The endgame tables.
    #[error(transparent)]
    Tables(#[from] SpecError),
    /// Values grew beyond all bounds.
    #[error(
        "values are no longer finite after {games} games: lower rate or plain_rate (the last checkpoint is intact)"
    )]
    Diverged {
        /// When it was noticed.
        games: u64,
    },
}

/// How far a run has come, after each block of games.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Games done.
    pub games: u64,
    /// Games in all.
    pub of: u64,
    /// Seconds trained.
    pub seconds: f64,
    /// Seconds that are left, by games or by the clock.
    pub remaining: f64,
    /// Games a second in this block.
    pub games_per_second: f64,
    /// Moves a second in this block.
    pub moves_per_second: f64,
    /// Mean score of the block's whole games.
    pub mean_score: f64,
    /// In a run for a goal, the chance of it at the end of each game, on average.
    pub chance: Option<f64>,
    /// In a run for a goal, the first file of positions that games begin at, counted from 1.
    pub first_file: Option<u64>,
    /// The best mean score of a block so far, in this process.
    pub best_mean: f64,
    /// The share of the block's whole games that reached a tile: 2048, 4096, 8192, 16384, 32768.
    pub reach: [f64; 5],
    /// What the games of an evaluation gave, if this block ended with one.
    pub evaluation: Option<Summary>,
}

/// The exponents of [`Progress::reach`].
pub const REACH: [u8; 5] = [11, 12, 13, 14, 15];

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (games, mean, best) = (grouped(self.games as f64), grouped(self.mean_score), grouped(self.best_mean));
        match self.chance {
            None => write!(f, "{games} games, mean {mean} (best {best})")?,
            Some(chance) => write!(f, "{games} games, chance {:.1}%", 100.0 * chance)?,
        }
        if let Some(file) = self.first_file {
            write!(f, " from file {file} on")?;
        }
        for (e, share) in REACH.iter().zip(self.reach).filter(|(_, share)| *share > 0.0) {
            write!(f, ", {} {:.1}%", 1u32 << e, 100.0 * share)?;
        }
        let left = self.remaining as u64;
        write!(f, ", {:.2}M moves/s, {:.0} games/s", self.moves_per_second / 1e6, self.games_per_second)?;
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
    /// The last checkpoint: `eval=ntuple@PATH`.
    pub checkpoint: std::path::PathBuf,
    /// An agent that plays by it.
    pub agent: String,
}

/// What a caller hears of a run.
pub enum Event<'a> {
    /// Something found or done when the run was resumed.
    Notice(&'a Notice),
    /// A block is done.
    Progress(&'a Progress),
}

/// [`train`] on boards of a size that is known only when it runs, compiled here for whoever runs it.
pub fn train_at(
    size: Size,
    out: &Path,
    start: Start<'_, TdConfig>,
    stop: &Stop,
    hear: &mut dyn FnMut(Event<'_>),
) -> Result<Trained, TdError> {
    for_size!(size, P => train::<P>(out, start, stop, hear))
}

/// Begins a run in a new folder, or goes on with the one in it.
pub fn train<P: Position>(
    out: &Path,
    start: Start<'_, TdConfig>,
    stop: &Stop,
    mut hear: impl FnMut(Event<'_>),
) -> Result<Trained, TdError> {
    let make: Make = |config, checkpoint| {
        let state = match checkpoint {
            None => State::<P>::new(config)?,
            Some(checkpoint) => State::load(config, checkpoint)?,
        };
        Ok(Box::new(Learner::new(config.clone(), state)?))
    };
    begin(make, out, start, stop, &mut hear)?.finish(&mut hear)
}

/// Makes what learns, from nothing or from a checkpoint.
type Make = fn(&TdConfig, Option<&Path>) -> Result<Box<dyn Running>, TdError>;

fn begin(
    make: Make,
    out: &Path,
    start: Start<'_, TdConfig>,
    stop: &Stop,
    hear: &mut dyn FnMut(Event<'_>),
) -> Result<Run, TdError> {
    let (learner, config, folder) = match start {
        Start::New(config) => {
            (make(config, None)?, config.clone(), RunFolder::create(out, config, &Origin::here(config.seed))?)
        }
        Start::Resume { file, sets } => {
            let amend = |kept: TdConfig| resolve(kept, file, sets);
            let Resumed { mut folder, config, mut checkpoint, notices } =
                RunFolder::open_to_resume(out, amend, |config: &TdConfig| Origin::here(config.seed))?;
            notices.iter().for_each(|notice| hear(Event::Notice(notice)));
            let learner = loop {
                let Some(from) = &checkpoint else { break make(&config, None)? };
                match make(&config, Some(&folder.path_of(from))) {
                    Err(TdError::File(error)) => {
                        let (earlier, notices) = folder.fall_back(from, &error.to_string())?;
                        notices.iter().for_each(|notice| hear(Event::Notice(notice)));
                        checkpoint = Some(earlier);
                    }
                    made => break made?,
                }
            };
            (learner, config, folder)
        }
    };
    Ok(Run { learner, config, folder, best_mean: 0.0, stop: stop.clone() })
}

/// How fast a configuration learns on the 4x4 board, without a run folder: all its games, of which those before the `first` are not measured, and
/// nothing kept.
pub fn measure(config: &TdConfig, first: u64) -> Result<Measured, TdError> {
    let mut learner = Learner::<Board>::new(config.clone(), State::new(config)?)?;
    let mut measured = Measured { moves: 0, seconds: 0.0, mean_score: 0.0 };
    while learner.state.games < config.games {
        let (began, is_measured) = (Instant::now(), learner.state.games >= first);
        let outcomes = learner.block(measured.seconds);
        if is_measured {
            measured.seconds += began.elapsed().as_secs_f64();
            measured.moves += outcomes.iter().map(|outcome| u64::from(outcome.moves)).sum::<u64>();
        }
        measured.mean_score = outcomes.iter().map(|outcome| outcome.score as f64).sum::<f64>() / outcomes.len() as f64;
    }
    Ok(measured)
}

/// What [`measure`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Moves played and learned from.
    pub moves: u64,
    /// Time they took.
    pub seconds: f64,
    /// Mean score of the last block.
    pub mean_score: f64,
}

/// What learns: settings and all that was learned so far.
struct Learner<P: Position> {
    config: TdConfig,
    state: State<P>,
    /// Positions that games begin at; none for two random tiles.
    starts: Files<P>,
    guide: Option<Guide>,
    /// Do threads learn faster apart?
    trial: Trial,
}

/// What a run asks of a learner: the run itself is compiled once, not for each size of boards.
trait Running {
    fn games(&self) -> u64;
    /// See [`Progress::first_file`].
    fn first_file(&self) -> Option<u64>;
    /// See [`Learner::block`].
    fn block(&mut self, seconds: f64) -> Vec<Played>;
    fn is_finite(&self) -> bool;
    fn save(&self, out: &mut dyn Write) -> io::Result<()>;
    /// Games in the arena with the weights as they are, begun and guided as those of the training; `None` if interrupted.
    fn evaluate(&self, stop: &Stop) -> Result<Option<Summary>, TdError>;
}

impl<P: Position> Running for Learner<P> {
    fn games(&self) -> u64 {
        self.state.games
    }

    fn first_file(&self) -> Option<u64> {
        let is_told = self.config.goal != 0 && !self.starts.is_empty();
        is_told.then(|| self.starts.first(self.state.reached) as u64 + 1)
    }

    fn block(&mut self, seconds: f64) -> Vec<Played> {
        self.block(seconds)
    }

    fn is_finite(&self) -> bool {
        self.state.is_finite()
    }

    fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        self.state.save(out)
    }

    fn evaluate(&self, stop: &Stop) -> Result<Option<Summary>, TdError> {
        let network = self.state.network();
        let rule: SpawnRule = self.config.rule.parse().unwrap_or(SpawnRule::CLASSIC);
        let spec: Spec = self.player().parse().map_err(RunError::Agent)?;
        let starts = self.starts.positions().map(|start| notation::digits(start, "")).collect();
        let setup = Setup { rule, starts, ..Setup::new(spec.to_string(), self.config.seed) };
        let mut evaluation = Evaluation::new(setup, self.config.evaluate_games);
        evaluation.threads = self.config.threads;
        evaluation.cancel = stop.flag();
        let make = || -> Result<BoxedAgent<P>, SpecError> {
            build_with(&spec, &Context { rule }, || Box::new(network.clone()))
        };
        Ok(evaluation.run::<P>(make, |_, _| Ok(()))?.summary())
    }
}

/// A learner with its run folder.
struct Run {
    learner: Box<dyn Running>,
    config: TdConfig,
    folder: RunFolder,
    best_mean: f64,
    stop: Stop,
}

impl<P: Position> Learner<P> {
    fn new(config: TdConfig, mut state: State<P>) -> Result<Self, TdError> {
        let starts = Files::read(config.files(), config.seed, config.pass)?;
        let least = TABLES_LEAST.map(|least| least as f32);
        let guide = match config.tables.as_str() {
            NO_TABLES => None,
            set => Some(Guide { tables: tables::tables(set)?, least }),
        };
        state.know_from(starts.known(state.reached));
        Ok(Self { config, state, starts, guide, trial: Trial::default() })
    }

    /// The rule of the games from now on, `seconds` into the run.
    fn rule(&self, seconds: f64) -> Rule<'_> {
        let config = &self.config;
        let plain = self.state.games < config.plain_games;
        let rate = if plain { config.plain_rate } else { config.rate };
        let nears = |done: f64, end: u64| end > 0 && done >= (1.0 - config.end_share) * end as f64;
        let ends = nears(self.state.games as f64, config.games) || nears(seconds, config.seconds);
        let rate = if ends { rate * config.end_rate } else { rate };
        Rule {
            spawns: config.rule.parse().unwrap_or(SpawnRule::CLASSIC),
            step: rate as f32 / self.state.layout().features() as f32,
            coherent: !plain,
            lambda: config.lambda as f32,
            horizon: config.horizon,
            late: if config.restarts > 0.0 { config.restart_tile } else { u32::MAX },
            guide: self.guide.as_ref(),
            goal: config.goal(),
        }
    }

    /// Takes note of how the games of a block ended, by the files they began at. The stages before a file from which enough of the games come to
    /// something begin with the weights of its own.
    fn reach(&mut self, outcomes: &[Outcome<P>]) {
        let Self { state, starts, .. } = self;
        let first = starts.first(state.reached);
        if starts.count(&mut state.reached, outcomes) && first > 0 {
            let [before, after] = [first - 1, first].map(|file| state.layout().stages().of(starts.earliest(file)));
            state.promote(after, before..after);
        }
        state.know_from(starts.known(state.reached));
    }

    /// The agent that plays as the training games do, on these weights.
    fn player(&self) -> String {
        match self.config.tables.as_str() {
            NO_TABLES => "greedy".into(),
            set => format!("tables:set={set},opening=none,depth=0,effort=1"),
        }
    }

    /// Plays and learns from one block of games. No game is left unfinished: what a checkpoint must hold is the numbers alone.
    fn block(&mut self, seconds: f64) -> Vec<Played> {
        self.state.part_stages(self.config.shared_games);
        let is_tried = self.state.can_part() && self.state.games >= self.config.apart;
        self.state.part_threads(is_tried && self.trial.is_apart());
        let rule = self.rule(seconds);
        let end = (self.state.games / self.config.block + 1) * self.config.block;
        let end = end.min(self.config.games);
        let next = AtomicU64::new(self.state.games);
        let threads = crate::threads_of(self.config.threads);
        let worker = |thread: usize| Worker {
            tables: self.state.tables_of(thread),
            rule: &rule,
            next: &next,
            end,
            lanes: self.config.lanes,
            seed: self.config.seed,
            restarts: self.config.restarts,
            late: &self.state.late,
            starts: &self.starts,
            reached: self.state.reached,
        };
        let is_plain = |games: u64| games < self.config.plain_games;
        let turns = is_plain(self.state.games) && !is_plain(end);
        let began = Instant::now();
        let mut outcomes: Vec<Outcome<P>> = thread::scope(|scope| {
            let worker = &worker;
            let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || worker(thread).work())).collect();
            let own = worker(0).work();
            others.into_iter().flat_map(|other| other.join().unwrap_or_default()).chain(own).collect()
        });
        outcomes.sort_unstable_by_key(|outcome| outcome.game);
        self.state.games = end;
        let moves = outcomes.iter().map(|outcome| u64::from(outcome.played.moves)).sum();
        if is_tried {
            self.trial.note(moves, began.elapsed().as_secs_f64());
        }
        if turns {
            // Plain corrections and coherent ones are not weighed against each other.
            self.state.gather();
        }
        self.state.count(moves);
        self.reach(&outcomes);
        self.state.remember(outcomes.iter().filter_map(|outcome| outcome.late));
        outcomes.into_iter().map(|outcome| outcome.played).collect()
    }
}

impl Run {
    fn finished(&self) -> bool {
        let late = self.config.seconds > 0 && self.folder.seconds() >= self.config.seconds as f64;
        self.learner.games() >= self.config.games || late
    }

    fn finish(&mut self, hear: &mut dyn FnMut(Event<'_>)) -> Result<Trained, TdError> {
        let mut saved = self.folder.checkpoints().last().cloned();
        while !self.finished() && !self.stop.requested() {
            let began = Instant::now();
            let before = self.learner.games();
            let outcomes = self.learner.block(self.folder.seconds());
            let mut progress = self.progress(&outcomes, began.elapsed().as_secs_f64());
            self.record(&progress)?;
            if !progress.mean_score.is_finite() || !self.learner.is_finite() {
                return Err(TdError::Diverged { games: self.learner.games() });
            }
            let games = self.learner.games();
            let due = |every: u64| every > 0 && before / every != games / every;
            let ends = self.finished() || self.stop.requested();
            let mut figure = None;
            if due(self.config.evaluate_every) || (self.config.evaluate_every > 0 && self.finished()) {
                progress.evaluation = self.evaluate()?;
                figure = progress.evaluation.as_ref().map(|summary| summary.score.mean);
            }
            if due(self.config.checkpoint_every) || ends || figure.is_some() {
                saved = Some(self.folder.checkpoint(games, figure, |out| self.learner.save(out))?);
            }
            self.folder.log(&progress.to_string())?;
            hear(Event::Progress(&progress));
        }
        let (games, seconds) = (self.learner.games(), self.folder.seconds());
        if saved.as_ref().is_none_or(|saved| saved.step != games) {
            saved = Some(self.folder.checkpoint(games, None, |out| self.learner.save(out))?);
        }
        let checkpoint = saved.map(|saved| self.folder.path_of(&saved)).unwrap_or_default();
        let agent = match self.config.goal {
            0 => format!("greedy:eval=ntuple@{}", checkpoint.display()),
            _ => format!("tables:set={},late={}", self.config.tables, checkpoint.display()),
        };
        Ok(Trained { games, seconds, finished: self.finished(), checkpoint, agent })
    }

    fn progress(&mut self, outcomes: &[Played], seconds: f64) -> Progress {
        let whole: Vec<_> = outcomes.iter().filter(|outcome| !outcome.restarted).collect();
        let count = whole.len().max(1) as f64;
        let mean_score = whole.iter().map(|outcome| outcome.score as f64).sum::<f64>() / count;
        self.best_mean = self.best_mean.max(mean_score);
        let moves: u64 = outcomes.iter().map(|outcome| u64::from(outcome.moves)).sum();
        let games_per_second = outcomes.len() as f64 / seconds;
        let by_games = (self.config.games - self.learner.games()) as f64 / games_per_second;
        let by_clock = match self.config.seconds {
            0 => f64::INFINITY,
            limit => (limit as f64 - self.folder.seconds()).max(0.0),
        };
        Progress {
            games: self.learner.games(),
            of: self.config.games,
            seconds: self.folder.seconds(),
            remaining: by_games.min(by_clock),
            games_per_second,
            moves_per_second: moves as f64 / seconds,
            mean_score,
            chance: (self.config.goal != 0).then(|| mean_score / f64::from(self.config.goal)),
            first_file: self.learner.first_file(),
            best_mean: self.best_mean,
            reach: REACH.map(|e| whole.iter().filter(|outcome| outcome.largest >= e).count() as f64 / count),
            evaluation: None,
        }
    }

    fn record(&mut self, progress: &Progress) -> Result<(), TdError> {
        let [r2048, r4096, r8192, r16384, r32768] = progress.reach;
        let goal = [
            progress.chance.map(|chance| ("chance", chance)),
            progress.first_file.map(|file| ("first_file", file as f64)),
        ];
        let numbers = [
            ("games", progress.games as f64),
            ("mean_score", progress.mean_score),
            ("games_per_second", progress.games_per_second),
            ("moves_per_second", progress.moves_per_second),
            ("reach_2048", r2048),
            ("reach_4096", r4096),
            ("reach_8192", r8192),
            ("reach_16384", r16384),
            ("reach_32768", r32768),
        ];
        let numbers: Vec<(&str, f64)> = numbers.into_iter().chain(goal.into_iter().flatten()).collect();
        Ok(self.folder.record("train", self.learner.games(), &numbers)?)
    }

    /// [`Running::evaluate`], noted in the run folder.
    fn evaluate(&mut self) -> Result<Option<Summary>, TdError> {
        let summary = self.learner.evaluate(&self.stop)?;
        if let Some(summary) = &summary {
            let [low, high] = summary.score.ci95.unwrap_or([summary.score.mean; 2]);
            let reach = |tile: u64| summary.reach.get(&tile).map_or(0.0, |rate| rate.rate);
            let numbers = [
                ("games", summary.games as f64),
                ("mean_score", summary.score.mean),
                ("low", low),
                ("high", high),
                ("reach_2048", reach(2048)),
                ("reach_8192", reach(8192)),
                ("reach_16384", reach(16384)),
                ("reach_32768", reach(32768)),
            ];
            self.folder.record("evaluation", self.learner.games(), &numbers)?;
        }
        Ok(summary)
    }
}

/// What a thread needs to play its share of a block.
struct Worker<'a, P: Position> {
    tables: Tables<'a>,
    rule: &'a Rule<'a>,
    next: &'a AtomicU64,
    end: u64,
    lanes: usize,
    seed: u64,
    restarts: f64,
    late: &'a [P],
    starts: &'a Files<P>,
    reached: Reached,
}

impl<P: Position> Worker<'_, P> {
    /// Begins the next game of the block; false if there is none.
    fn begin(&self, lane: &mut Lane<P>) -> bool {
        let game = self.next.fetch_add(1, Ordering::Relaxed);
        if game >= self.end {
            return false;
        }
        let mut dice = Rng::stream(self.seed, game, stream::RESTART);
        let restarts = self.restarts > 0.0 && !self.late.is_empty() && dice.unit() < self.restarts;
        let start = match self.starts.position(game, self.reached) {
            _ if restarts => Beginning::Late(self.late[dice.below(self.late.len() as u32) as usize]),
            None => Beginning::Usual,
            Some(position) => Beginning::Given(position),
        };
        lane.begin(game, start, Rng::stream(self.seed, game, stream::SPAWNS), self.rule);
        lane.prepare(&self.tables, self.rule);
        true
    }

    /// Plays the worker's share of the block's games, in code for the processor at hand: all is the same to the last bit.
    fn work(&self) -> Vec<Outcome<P>> {
        #[cfg(target_arch = "x86_64")]
        {
            macro_rules! with {
                ($($feature:tt),*) => {{
                    #[target_feature($(enable = $feature),*)]
                    fn work<P: Position>(worker: &Worker<'_, P>) -> Vec<Outcome<P>> {
                        worker.work_anywhere()
                    }
                    if $(is_x86_feature_detected!($feature))&&* {
                        // SAFETY: the processor was asked; it is the same safe body.
                        return unsafe { work(self) };
                    }
                }};
            }
            with!("avx512f", "avx512bw", "avx512vl", "bmi1", "bmi2", "lzcnt", "popcnt");
            with!("avx2", "bmi1", "bmi2", "lzcnt", "popcnt");
        }
        self.work_anywhere()
    }

    #[inline(always)]
    fn work_anywhere(&self) -> Vec<Outcome<P>> {
        let mut outcomes = Vec::new();
        let mut lanes: Vec<Lane<P>> = (0..self.lanes).map(|_| Lane::new(self.tables.layout(), self.rule)).collect();
        lanes.retain_mut(|lane| self.begin(lane));
        // A loop over numbers: what an iterator's closure calls would not be compiled for the processor at hand.
        let mut at = 0;
        while !lanes.is_empty() {
            let lane = &mut lanes[at];
            match lane.decide(&self.tables, self.rule) {
                None => {
                    lane.prepare(&self.tables, self.rule);
                    at += 1;
                }
                Some(outcome) => {
                    outcomes.push(outcome);
                    if self.begin(lane) {
                        at += 1;
                    } else {
                        lanes.remove(at);
                    }
                }
            }
            at = if at >= lanes.len() { 0 } else { at };
        }
        outcomes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    /// Threads that learn by themselves, before stages part and after, and across a resumption: what is saved is what all have learned.
    #[test]
    fn what_threads_learn_by_themselves_is_saved_and_goes_on() {
        let base =
            TdConfig { patterns: "0123 4567 0145".into(), stages: vec![256], shared_games: 300, ..TdConfig::new() };
        let config = TdConfig { games: 1_500, block: 50, threads: 2, apart: 100, plain_games: 130, ..base };
        let mut learner = Learner::<Board>::new(config.clone(), State::new(&config).unwrap()).unwrap();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        while learner.state.games < 800 {
            learner.block(0.0);
        }
        learner.state.save(&mut file).unwrap();
        let other = State::<Board>::load(&TdConfig { goal: 64, ..config.clone() }, file.path());
        assert!(other.err().unwrap().to_string().contains("its goal is not that of config.toml"));
        let state = State::<Board>::load(&config, file.path()).unwrap();
        assert_eq!((state.games, state.moves), (learner.state.games, learner.state.moves));
        let weights = |state: &State<Board>| -> Vec<u32> {
            let network = state.network();
            let all = network.weights().atomics();
            all[..network.layout().weights()].iter().map(|weight| weight.load(Relaxed)).collect()
        };
        let [before, after] = [&learner.state, &state].map(weights);
        assert!(before == after && before.iter().any(|&weight| weight != 0));
        let mut resumed = Learner::<Board>::new(config.clone(), state).unwrap();
        let mut mean = 0.0;
        while resumed.state.games < config.games {
            let played = resumed.block(0.0);
            mean = played.iter().map(|played| played.score as f64).sum::<f64>() / played.len() as f64;
        }
        assert!(mean > 3_000.0, "{mean}");
    }

    /// Games beside tables end with their word: what comes after it is learned only without them, and a file says so, also one of a resumed run.
    #[test]
    fn only_runs_without_tables_learn_up_to_the_goal() {
        for (tables, is_whole) in [(NO_TABLES, true), ("tiny", false)] {
            let config =
                TdConfig { patterns: "0123".into(), goal: 64, tables: tables.into(), block: 10, ..TdConfig::new() };
            let mut file = tempfile::NamedTempFile::new().unwrap();
            State::<Board>::new(&config).unwrap().save(&mut file).unwrap();
            let loaded = State::<Board>::load(&config, file.path()).unwrap();
            let mut again = tempfile::NamedTempFile::new().unwrap();
            loaded.save(&mut again).unwrap();
            for file in [file.path(), again.path()] {
                let network = afterstate_evaluator::ntuple::load::<Board>(file).unwrap();
                assert_eq!(network.goal().map(|goal| goal.is_whole), Some(is_whole), "{tables}");
            }
        }
    }

    /// What is compiled for the processor at hand plays and learns as what runs anywhere.
    #[test]
    fn the_processor_at_hand_learns_the_same() {
        let config = TdConfig { patterns: "17x4".into(), games: 200, block: 200, threads: 1, ..TdConfig::new() };
        let learned = |work: fn(&Worker<'_, Board>) -> Vec<Outcome<Board>>| {
            let learner = Learner::<Board>::new(config.clone(), State::new(&config).unwrap()).unwrap();
            let outcomes = work(&Worker {
                tables: learner.state.tables(),
                rule: &learner.rule(0.0),
                next: &AtomicU64::new(0),
                end: config.games,
                lanes: config.lanes,
                seed: config.seed,
                restarts: 0.0,
                late: &[],
                starts: &learner.starts,
                reached: Reached::default(),
            });
            let weights =
                learner.state.network().weights().atomics().iter().map(|weight| weight.load(Relaxed)).collect();
            (outcomes, weights)
        };
        let (here, anywhere): ((_, Vec<u32>), _) =
            (learned(|worker| worker.work()), learned(|worker| worker.work_anywhere()));
        assert!(here.0.len() == 200 && here.1.iter().any(|&weight| weight != 0));
        assert!(here == anywhere);
    }
}
