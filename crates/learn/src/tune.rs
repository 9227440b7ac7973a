//! Tunes the numbers of an evaluator by playing: CMA-ES over the ranges of its catalogue row.
//!
//! A candidate's worth is what an agent with it scores over some games. All candidates of a generation play the same games
//! (common random numbers), each generation new ones, so that nothing is fitted to one set of games. The result is the centre
//! of the distribution averaged over the later half of the run, for games are noisy and the centre wanders; not the luckiest
//! candidate. A run depends on its settings alone, not on threads or interruptions.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use afterstate_agent::{Context, Kind, Parameter, Spec, SpecError, Value};
use afterstate_arena::{Evaluation, Outcome, RunError, Setup};
use afterstate_board::{Position, Rng, SpawnRule};
use serde::{Deserialize, Serialize};

use crate::run::files::{Appender, Folder, Lock};
use crate::{CmaEs, FolderError};

/// What the games of a candidate are summed up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fitness {
    /// The mean score.
    Score,
    /// The mean of the logarithm of the score: less moved by a few lucky games.
    #[default]
    LogScore,
}

impl Fitness {
    /// Of at least one game; for people as well as for ranking, so in points either way.
    fn of(self, outcomes: &[Outcome]) -> f64 {
        let mean = |of: fn(f64) -> f64| {
            outcomes.iter().map(|outcome| of(outcome.score as f64 + 1.0)).sum::<f64>() / outcomes.len() as f64
        };
        match self {
            Self::Score => mean(|score| score),
            Self::LogScore => mean(f64::ln).exp(),
        }
    }
}

/// What to tune, how, and where to keep it.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The agent that plays; its evaluator is what is tuned, from the settings given here.
    pub agent: String,
    /// Which parameters of the evaluator; empty for all that are numbers.
    pub parameters: Vec<String>,
    /// Generations in all, those of an earlier run included.
    pub generations: u64,
    /// Games a candidate.
    pub games: u64,
    /// Candidates a generation; 0 for the usual number.
    pub population: usize,
    /// The first width of the search, relative to each parameter's starting value.
    pub sigma: f64,
    /// What the games are summed up to.
    pub fitness: Fitness,
    /// Which tiles spawn.
    pub rule: SpawnRule,
    /// Positions that games begin at, as text; empty for the usual start.
    pub starts: Vec<String>,
    /// Names all random numbers of the run.
    pub seed: u64,
    /// Number of threads; 0 for one per core.
    pub threads: usize,
    /// The folder of the run.
    pub out: PathBuf,
    /// Go on with the run in that folder, if there is one.
    pub resume: bool,
    /// When it becomes true, the run ends with the generations that are done.
    pub cancel: Arc<AtomicBool>,
}

/// One finished generation: a line of `generations.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Generation {
    /// From 1.
    pub generation: u64,
    /// Generations in all.
    pub of: u64,
    /// What the best candidate reached: too good by luck.
    pub best: f64,
    /// The mean over the candidates.
    pub mean: f64,
    /// What the centre of the distribution reached before this generation moved it: the honest figure.
    pub centre: f64,
    /// The width of the search.
    pub sigma: f64,
    /// The parameters at the centre after this generation.
    pub weights: BTreeMap<String, f64>,
    /// Time spent on it.
    pub seconds: f64,
    /// What the generations to come should take; unknown to a reader of the log.
    #[serde(skip)]
    pub remaining: Duration,
}

/// Where a run stands when it returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// Generations done.
    pub generations: u64,
    /// False if it was cancelled before its last generation.
    pub finished: bool,
    /// The tuned parameters.
    pub weights: BTreeMap<String, f64>,
    /// The agent with them, ready to play.
    pub agent: String,
}

/// Why a run cannot be made or ended early.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The agent cannot be made.
    #[error(transparent)]
    Agent(#[from] SpecError),
    /// Its games failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The run folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// There is nothing to move.
    #[error("evaluator {0} has no number to tune")]
    NothingToTune(String),
    /// A number that makes no sense.
    #[error("{0}")]
    BadSetting(&'static str),
}

/// What determines a run, length and machine aside. Kept in `config.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Config {
    agent: String,
    size: String,
    rule: String,
    parameters: Vec<String>,
    games: u64,
    population: usize,
    sigma: f64,
    fitness: Fitness,
    seed: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    starts: Vec<String>,
}

/// One coordinate of the search: `value = start + unit * x`, kept to the parameter's range.
#[derive(Clone, Debug)]
struct Axis {
    name: &'static str,
    start: f64,
    unit: f64,
    min: f64,
    max: f64,
}

impl Axis {
    fn new(parameter: &Parameter, value: &Value) -> Option<Self> {
        match (parameter.kind, value) {
            (Kind::Number { min, max, .. }, &Value::Number(start)) => {
                // A number that starts at nothing gives no hint of its size but its range.
                let unit = if start == 0.0 { (max - min) / 20.0 } else { start.abs() };
                Some(Self { name: parameter.name, start, unit, min, max })
            }
            _ => None,
        }
    }

    /// Rounded to what is written down, so that what is played is what is kept.
    fn value(&self, x: f64) -> f64 {
        let exact = (self.start + self.unit * x).clamp(self.min, self.max);
        format!("{exact:.4e}").parse::<f64>().map_or(exact, |rounded| rounded.clamp(self.min, self.max))
    }
}

/// The random numbers of generation `g`: `Rng::stream(seed, g, ...)`.
mod stream {
    pub const CANDIDATES: u64 = 0;
    pub const GAMES: u64 = 1;
}

const CONFIG: &str = "config.json";
const STATE: &str = "state.json";
const LOG: &str = "generations.jsonl";
const WEIGHTS: &str = "weights.json";

impl Tuning {
    /// The usual settings for an agent and a folder.
    pub fn new(agent: impl Into<String>, out: impl Into<PathBuf>) -> Self {
        Self {
            agent: agent.into(),
            parameters: Vec::new(),
            generations: 50,
            games: 100,
            population: 0,
            sigma: 0.3,
            fitness: Fitness::default(),
            rule: SpawnRule::CLASSIC,
            starts: Vec::new(),
            seed: 1,
            threads: 0,
            out: out.into(),
            resume: false,
            cancel: Arc::new(AtomicBool::new(false)),
        }
    }

    /// Runs to the last generation or until cancelled. `progress` hears of every finished generation, those of an earlier run
    /// excepted.
    pub fn run<P: Position>(&self, mut progress: impl FnMut(&Generation)) -> Result<Tuned, TuneError> {
        let mut run = Run::<P>::open(self)?;
        let (began, first) = (Instant::now(), run.search.generation());
        while run.search.generation() < self.generations {
            let Some(mut generation) = run.step()? else { break };
            let (done, left) = (generation.generation - first, self.generations - generation.generation);
            generation.remaining = began.elapsed().mul_f64(left as f64 / done as f64);
            progress(&generation);
        }
        let generations = run.search.generation();
        let weights = run.result();
        let agent = run.agent(&weights).to_string();
        Ok(Tuned { generations, finished: generations >= self.generations, weights, agent })
    }

    fn check(&self) -> Result<(), TuneError> {
        let bad = |reason| Err(TuneError::BadSetting(reason));
        match self {
            Self { generations: 0, .. } => bad("0 generations change nothing (ask for at least 1)"),
            Self { games: 0, .. } => bad("0 games are nothing to judge by (ask for at least 1)"),
            Self { population: 1..=3, .. } => bad("a population needs at least 4 candidates (0 for the usual number)"),
            Self { sigma, .. } if !(*sigma > 0.0 && sigma.is_finite()) => bad("sigma must be above 0"),
            _ => Ok(()),
        }
    }
}

/// A run in progress.
struct Run<'t, P> {
    tuning: &'t Tuning,
    spec: Spec,
    axes: Vec<Axis>,
    search: CmaEs,
    /// The centre after each generation.
    centres: Vec<Vec<f64>>,
    folder: Folder,
    log: Appender,
    _lock: Lock,
    size: std::marker::PhantomData<P>,
}

impl<'t, P: Position> Run<'t, P> {
    fn open(tuning: &'t Tuning) -> Result<Self, TuneError> {
        tuning.check()?;
        let spec = afterstate_agent::resolve(&tuning.agent.parse::<Spec>()?)?;
        afterstate_agent::build::<P>(&spec, &Context { rule: tuning.rule })?;
        let axes = axes::<P>(&spec, &tuning.parameters)?;
        let population = match tuning.population {
            0 => CmaEs::usual_population(axes.len()),
            given => given,
        };
        let config = Config {
            agent: spec.to_string(),
            size: P::SIZE.to_string(),
            rule: tuning.rule.to_string(),
            parameters: axes.iter().map(|axis| axis.name.to_owned()).collect(),
            games: tuning.games,
            population,
            sigma: tuning.sigma,
            fitness: tuning.fitness,
            seed: tuning.seed,
            starts: tuning.starts.clone(),
        };
        let folder = Folder::create(&tuning.out)?;
        let lock = folder.lock()?;
        let State { search, centres } = match (folder.has(CONFIG), tuning.resume) {
            (true, false) => return Err(FolderError::Occupied(tuning.out.clone()).into()),
            (true, true) => resumed(&folder, &config, tuning)?,
            (false, _) => {
                folder.write_json(CONFIG, &config)?;
                State::new(&config)
            }
        };
        let log = folder.appender(LOG)?;
        Ok(Self { tuning, spec, axes, search, centres, folder, log, _lock: lock, size: std::marker::PhantomData })
    }

    /// The parameters that the run has found so far: the average of the centres after the later half of the generations.
    fn result(&self) -> BTreeMap<String, f64> {
        let late = &self.centres[self.centres.len() / 2..];
        let mean = |axis: usize| late.iter().map(|centre| centre[axis]).sum::<f64>() / late.len() as f64;
        let found: Vec<f64> =
            if late.is_empty() { self.search.mean().to_vec() } else { (0..self.axes.len()).map(mean).collect() };
        self.weights(&found)
    }

    fn weights(&self, x: &[f64]) -> BTreeMap<String, f64> {
        self.axes.iter().zip(x).map(|(axis, &x)| (axis.name.to_owned(), axis.value(x))).collect()
    }

    /// The agent with these parameters in its evaluator.
    fn agent(&self, weights: &BTreeMap<String, f64>) -> Spec {
        let mut spec = self.spec.clone();
        spec.pairs.retain(|(key, _)| !key.strip_prefix("eval.").is_some_and(|key| weights.contains_key(key)));
        spec.pairs.extend(self.axes.iter().map(|axis| (format!("eval.{}", axis.name), weights[axis.name].to_string())));
        spec
    }

    /// What a point of the search is worth in the games of a seed; `None` if cancelled.
    fn fitness(&self, x: &[f64], seed: u64) -> Result<Option<f64>, TuneError> {
        let spec = self.agent(&self.weights(x));
        let Tuning { rule, starts, .. } = self.tuning;
        let setup = Setup { rule: *rule, starts: starts.clone(), ..Setup::new(spec.to_string(), seed) };
        let mut evaluation = Evaluation::new(setup, self.tuning.games);
        evaluation.threads = self.tuning.threads;
        evaluation.cancel = Arc::clone(&self.tuning.cancel);
        let context = Context { rule: self.tuning.rule };
        let results = evaluation.run::<P>(|| afterstate_agent::build(&spec, &context), |_, _| Ok(()))?;
        let complete = results.outcomes().len() as u64 == self.tuning.games;
        Ok(complete.then(|| self.tuning.fitness.of(results.outcomes())))
    }

    /// Plays one generation and keeps what came of it; `None` if cancelled before it was complete.
    fn step(&mut self) -> Result<Option<Generation>, TuneError> {
        let (began, generation) = (Instant::now(), self.search.generation());
        let candidates = self.search.ask(&mut Rng::stream(self.tuning.seed, generation, stream::CANDIDATES));
        let seed = Rng::stream(self.tuning.seed, generation, stream::GAMES).next_u64();
        let mut worth = Vec::with_capacity(candidates.len() + 1);
        for x in candidates.iter().map(Vec::as_slice).chain([self.search.mean()]) {
            if self.tuning.cancel.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let Some(fitness) = self.fitness(x, seed)? else { return Ok(None) };
            worth.push(fitness);
        }
        let centre = worth.pop().unwrap_or(f64::NAN);
        let costs: Vec<f64> = worth.iter().map(|fitness| -fitness).collect();
        self.search.tell(&candidates, &costs);
        self.centres.push(self.search.mean().to_vec());
        let line = Generation {
            generation: self.search.generation(),
            of: self.tuning.generations,
            best: worth.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            mean: worth.iter().sum::<f64>() / worth.len() as f64,
            centre,
            sigma: self.search.sigma(),
            weights: self.weights(self.search.mean()),
            seconds: began.elapsed().as_secs_f64(),
            remaining: Duration::ZERO,
        };
        self.keep(&line)?;
        Ok(Some(line))
    }

    /// The log first: a line too many is dropped on resuming, a line too few could not be made up.
    fn keep(&mut self, line: &Generation) -> Result<(), TuneError> {
        self.log.append_json(line)?;
        self.folder.write_json(STATE, &State { search: self.search.clone(), centres: self.centres.clone() })?;
        let weights = self.result();
        let agent = self.agent(&weights).to_string();
        Ok(self.folder.write_json(WEIGHTS, &Weights { agent, generation: line.generation, weights })?)
    }
}

/// Where a run stands, in `state.json`.
#[derive(Serialize, Deserialize)]
struct State {
    search: CmaEs,
    centres: Vec<Vec<f64>>,
}

impl State {
    fn new(config: &Config) -> Self {
        let origin = vec![0.0; config.parameters.len()];
        Self { search: CmaEs::new(origin, config.sigma, config.population), centres: Vec::new() }
    }
}

/// The result so far, in `weights.json`.
#[derive(Serialize)]
struct Weights {
    agent: String,
    generation: u64,
    weights: BTreeMap<String, f64>,
}

/// The numbers of the evaluator that the specification names: all, or those listed.
fn axes<P: Position>(spec: &Spec, listed: &[String]) -> Result<Vec<Axis>, TuneError> {
    let agents = afterstate_agent::rows::<P>();
    let default = agents.iter().find(|row| row.name == spec.name).and_then(|row| row.default_evaluator());
    let inner = spec.evaluator(default.unwrap_or("zero"));
    let (name, _) = inner.file();
    let evaluators = afterstate_evaluator::rows::<P>();
    let parameters = evaluators.iter().find(|row| row.name == name).map_or(&[][..], |row| row.parameters);
    for key in listed {
        if !parameters.iter().any(|p| p.name == key) {
            let hint = afterstate_evaluator::hint(key, parameters.iter().map(|p| p.name));
            return Err(SpecError::UnknownKey { owner: name.to_owned(), key: key.clone(), hint }.into());
        }
    }
    let settings = inner.settings(parameters)?;
    let wanted = |p: &&Parameter| listed.is_empty() || listed.iter().any(|key| key == p.name);
    let value = |p: &Parameter| settings.iter().find(|(name, _)| *name == p.name).map(|(_, value)| value.clone());
    let axes: Vec<Axis> = parameters.iter().filter(wanted).filter_map(|p| Axis::new(p, &value(p)?)).collect();
    if axes.is_empty() { Err(TuneError::NothingToTune(name.to_owned())) } else { Ok(axes) }
}

/// The run as it stood when the folder was last written.
fn resumed(folder: &Folder, config: &Config, tuning: &Tuning) -> Result<State, TuneError> {
    let kept: serde_json::Value = folder.read_json(CONFIG)?;
    let now = serde_json::to_value(config).map_err(|error| folder.damaged(CONFIG, error.to_string()))?;
    let mut fields = now.as_object().into_iter().flatten();
    if let Some((key, value)) = fields.find(|(key, value)| kept.get(key) != Some(value)) {
        let was = kept.get(key).map_or_else(|| "nothing".to_owned(), ToString::to_string);
        let difference = format!("{key} was {was}, not {value}");
        return Err(FolderError::OtherRun { path: tuning.out.clone(), difference }.into());
    }
    if !folder.has(STATE) {
        return Ok(State::new(config));
    }
    let state: State = folder.read_json(STATE)?;
    folder.keep_lines(LOG, state.centres.len())?;
    Ok(state)
}
