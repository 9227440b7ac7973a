//! Many games on all cores. Who plays which game when does not matter: game `i` of a seed is always the same game.

use std::any::{Any, TypeId};
use std::collections::HashSet;
use std::error::Error;
use std::fmt;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use afterstate_agent::{BoxedAgent, SpecError};
use afterstate_board::{Position, Size};
use afterstate_evaluator::made_once;

use crate::queue::Queue;
use crate::{ConflictingGames, Game, Header, Outcome, PlayError, Results, Setup, play_game};

/// Part `index` of `count`: the games whose index is `index` modulo `count`.
///
/// ```
/// use afterstate_arena::Shard;
/// let shard: Shard = "1/3".parse().unwrap();
/// assert_eq!(shard.indices(8).collect::<Vec<_>>(), [1, 4, 7]);
/// assert!("3/3".parse::<Shard>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u64,
    count: u64,
}

/// Why a text is not a shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a shard (write I/N with I from 0 to N-1: 0/2 and 1/2 are the two halves)")]
pub struct ShardError(pub String);

impl Shard {
    /// All games.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Part `index` of `count`, if there is one.
    pub fn new(index: u64, count: u64) -> Result<Self, ShardError> {
        if index < count { Ok(Self { index, count }) } else { Err(ShardError(format!("{index}/{count}"))) }
    }

    /// The games of this part, of `games` in all.
    pub fn indices(self, games: u64) -> impl Iterator<Item = u64> {
        (0..self.len(games)).map(move |n| self.index + n * self.count)
    }

    /// How many games this part has, of `games` in all.
    pub const fn len(self, games: u64) -> u64 {
        if self.index < games { (games - self.index - 1) / self.count + 1 } else { 0 }
    }

    /// True if this part has game `index`.
    pub const fn contains(self, index: u64) -> bool {
        index % self.count == self.index
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let bad = || ShardError(text.to_owned());
        let (index, count) = text.split_once('/').ok_or_else(bad)?;
        let number = |text: &str| text.trim().parse().map_err(|_| bad());
        Self::new(number(index)?, number(count)?).map_err(|_| bad())
    }
}

/// Which games to play, and how.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Who plays, by which rule, from which seed.
    pub setup: Setup,
    /// Number of games, all shards together: the indices are 0 to `games - 1`.
    pub games: u64,
    /// The part of them to play here.
    pub shard: Shard,
    /// Number of threads; 0 for one per core.
    pub threads: usize,
    /// Games played in an earlier run: not played again, but part of the results.
    pub played: Vec<Outcome>,
    /// When it becomes true, games in progress are dropped and the run ends with those that are done.
    pub cancel: Arc<AtomicBool>,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Games done, those of earlier runs included.
    pub done: u64,
    /// Games to be done in all.
    pub total: u64,
    /// Games of earlier runs.
    pub resumed: u64,
    /// Mean score of the games done.
    pub mean_score: f64,
    /// Moves made in this run.
    pub moves: u64,
    /// Time since this run began.
    pub elapsed: Duration,
}

impl Progress {
    /// The time that the rest should take at the speed so far.
    pub fn remaining(&self) -> Option<Duration> {
        let fresh = self.done.checked_sub(self.resumed).filter(|&fresh| fresh > 0)?;
        let rest = (self.total - self.done) as f64 / fresh as f64;
        Duration::try_from_secs_f64(self.elapsed.as_secs_f64() * rest).ok()
    }
}

/// What a sink may fail with.
pub type SinkError = Box<dyn Error + Send + Sync>;

/// Why a run ended before its end. Games that reached the sink are not lost.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// Games on such boards are not compiled.
    #[error("games on {0} boards cannot be evaluated (made_once! lists the boards that can)")]
    Board(Size),
    /// Nothing was asked for.
    #[error("0 games are nothing to measure (ask for at least 1)")]
    NoGames,
    /// The agent cannot be made.
    #[error(transparent)]
    Agent(#[from] SpecError),
    /// The agent broke its contract, or a game cannot begin.
    #[error(transparent)]
    Play(#[from] PlayError),
    /// The agent, or what makes it, panicked.
    #[error("agent {agent}{}: it panicked: {message} (a bug in the agent)", game_name(*index))]
    Panic {
        /// The agent's specification.
        agent: String,
        /// Which game; `None` while it was made.
        index: Option<u64>,
        /// What the panic said.
        message: String,
    },
    /// The sink failed.
    #[error(transparent)]
    Sink(SinkError),
    /// A thread could not be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    /// The games of the earlier run contradict each other.
    #[error(transparent)]
    Conflict(#[from] ConflictingGames),
}

fn game_name(index: Option<u64>) -> String {
    index.map_or_else(String::new, |index| format!(", game {index}"))
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

impl Evaluation {
    /// Games 0 to `games - 1` on all cores.
    pub fn new(setup: Setup, games: u64) -> Self {
        let (played, cancel) = (Vec::new(), Arc::new(AtomicBool::new(false)));
        Self { setup, games, shard: Shard::WHOLE, threads: 0, played, cancel }
    }

    /// Plays the games: each thread with an agent of its own from `build`, each finished game handed to `sink` on the
    /// caller's thread, in the order in which they end. The first error ends the run. Boards must be of a type that
    /// [`made_once!`] lists; [`play_game`] plays games on any.
    pub fn run<P: Position>(
        &self,
        build: impl Fn() -> Result<BoxedAgent<P>, SpecError> + Sync,
        mut sink: impl FnMut(Game<P>, &Progress) -> Result<(), SinkError>,
    ) -> Result<Results, RunError> {
        match run_of::<P>() {
            Some(run) => run(self, &build, &mut sink),
            None => Err(RunError::Board(P::SIZE)),
        }
    }

    /// The same, by reference: no other is compiled for a type of board, whoever makes the agents and takes the games.
    fn run_by<P: Position>(&self, build: Build<'_, P>, sink: Sink<'_, P>) -> Result<Results, RunError> {
        if self.games == 0 {
            return Err(RunError::NoGames);
        }
        let header = Header::new::<P>(self.setup.clone());
        let mut outcomes = Results::new(header.clone(), self.played_here())?.outcomes().to_vec();
        let known: HashSet<u64> = outcomes.iter().map(|outcome| outcome.index).collect();
        let mut meter = Meter::new(&outcomes, self.total());
        let threads = self.thread_count(meter.total - meter.done);
        let queue = Queue::new(threads);
        let worker = Worker { run: self, known, queue, next: AtomicU64::new(0), stop: AtomicBool::new(false) };
        let mut receive = |(game, outcome): (Game<P>, Outcome)| {
            outcomes.push(outcome);
            sink(game, &meter.count(&outcome)).map_err(RunError::Sink)
        };
        thread::scope(|scope| {
            let _guard = StopOnDrop(&worker);
            for _ in 0..threads {
                thread::Builder::new().spawn_scoped(scope, || worker.work(build)).map_err(RunError::Thread)?;
            }
            loop {
                let finished = worker.queue.receive();
                if finished.is_empty() {
                    return Ok::<(), RunError>(());
                }
                finished.into_iter().try_for_each(|game| receive(game?))?;
            }
        })?;
        Ok(Results::new(header, outcomes)?)
    }

    /// How many games the results will have: those of the shard.
    pub const fn total(&self) -> u64 {
        self.shard.len(self.games)
    }

    /// Of the games played earlier, the ones that belong to this run.
    fn played_here(&self) -> impl Iterator<Item = Outcome> {
        let here = |index: u64| index < self.games && self.shard.contains(index);
        self.played.iter().filter(move |outcome| here(outcome.index)).copied()
    }

    /// No more threads than games.
    fn thread_count(&self, games: u64) -> usize {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        let wanted = if self.threads == 0 { cores() } else { self.threads };
        wanted.min(usize::try_from(games).unwrap_or(usize::MAX))
    }
}

/// [`Evaluation::run_by`] of one type of board.
type RunBy<P> = fn(&Evaluation, Build<'_, P>, Sink<'_, P>) -> Result<Results, RunError>;

/// What [`made_once!`] asks for: one function for each type of board.
struct Runs<P>(RunBy<P>);

impl<P: Position> Runs<P> {
    const ALL: &[Self] = &[Self(Evaluation::run_by::<P>)];
}

made_once!(Runs);

fn run_of<P: Position>() -> Option<RunBy<P>> {
    let runs = made(TypeId::of::<P>())?.downcast_ref::<&[Runs<P>]>()?;
    runs.first().map(|Runs(run)| *run)
}

/// Makes the agent of a thread.
type Build<'b, P> = &'b (dyn Fn() -> Result<BoxedAgent<P>, SpecError> + Sync);

/// Takes a finished game.
type Sink<'s, P> = &'s mut dyn FnMut(Game<P>, &Progress) -> Result<(), SinkError>;

/// What a thread sends: a game, with the outcome worked out there rather than on the one thread that receives.
type Finished<P> = Result<(Game<P>, Outcome), RunError>;

/// What the threads of a run share.
struct Worker<'r, P> {
    run: &'r Evaluation,
    queue: Queue<Finished<P>>,
    /// The games that need not be played.
    known: HashSet<u64>,
    /// Which game of the shard comes next.
    next: AtomicU64,
    /// Set when something has failed.
    stop: AtomicBool,
}

impl<P: Position> Worker<'_, P> {
    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.run.cancel.load(Ordering::Relaxed)
    }

    /// Takes the next game that nobody has played.
    fn claim(&self) -> Option<u64> {
        let Evaluation { shard, games, .. } = self.run;
        loop {
            let n = self.next.fetch_add(1, Ordering::Relaxed);
            if n >= shard.len(*games) {
                return None;
            }
            let index = shard.index + n * shard.count;
            if !self.known.contains(&index) {
                return Some(index);
            }
        }
    }

    /// Plays games until none is left.
    fn work(&self, build: Build<'_, P>) {
        let mut playing = None;
        // What a panic leaves half-changed, the agent, is not used again.
        let caught = catch_unwind(AssertUnwindSafe(|| self.play_all(build, &mut playing)));
        let error = match caught {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error),
            Err(panic) => {
                let (agent, message) = (self.run.setup.agent.clone(), panic_message(&*panic));
                Some(RunError::Panic { agent, index: playing, message })
            }
        };
        if let Some(error) = error {
            self.stop.store(true, Ordering::Relaxed);
            self.queue.send(Err(error));
        }
        self.queue.leave();
    }

    fn play_all(&self, build: Build<'_, P>, playing: &mut Option<u64>) -> Result<(), RunError> {
        let mut agent = build()?;
        while !self.is_stopped() {
            let Some(index) = self.claim() else { break };
            *playing = Some(index);
            let mut dropped = false;
            let game = play_game(&mut *agent, &self.run.setup, index, |_, _| {
                dropped = self.is_stopped();
                if dropped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            if dropped {
                break;
            }
            let outcome = game.outcome();
            if !self.queue.send(Ok((game, outcome))) {
                break;
            }
        }
        Ok(())
    }
}

/// However the receiver ends, by an error or a panic of the sink: the threads must end too, for the scope waits for them.
struct StopOnDrop<'w, 'r, P: Position>(&'w Worker<'r, P>);

impl<P: Position> Drop for StopOnDrop<'_, '_, P> {
    fn drop(&mut self) {
        self.0.stop.store(true, Ordering::Relaxed);
        self.0.queue.close();
    }
}

/// Counts games as they come in.
struct Meter {
    began: Instant,
    resumed: u64,
    done: u64,
    total: u64,
    score: u128,
    moves: u64,
}

impl Meter {
    fn new(played: &[Outcome], total: u64) -> Self {
        let resumed = played.len() as u64;
        let score = played.iter().map(|outcome| u128::from(outcome.score)).sum();
        Self { began: Instant::now(), resumed, done: resumed, total, score, moves: 0 }
    }

    fn count(&mut self, outcome: &Outcome) -> Progress {
        self.done += 1;
        self.score += u128::from(outcome.score);
        self.moves += outcome.moves;
        let Self { resumed, done, total, moves, .. } = *self;
        let mean_score = self.score as f64 / done as f64;
        Progress { done, total, resumed, mean_score, moves, elapsed: self.began.elapsed() }
    }
}
