//! What a temporal-difference run has learned, in memory and on disk.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use afterstate_board::Position;
use afterstate_evaluator::ntuple::file::{self, Dtype, FORMAT, FileError, Saved, Tensor};
use afterstate_evaluator::ntuple::{self, Goal, Layout, Network, UNIT, Words};

use super::files::Reached;
use super::lane::Tables;
use super::own::Own;
use super::{NO_TABLES, TdConfig, TdError};
use crate::run::Machine;
use crate::threads_of;

/// The threads' own weights are brought together at the end of a block once so many moves were made since: every few seconds.
const GATHER_EVERY: u64 = if cfg!(test) { 20_000 } else { 16_000_000 };

/// Late positions that are kept for restarts.
const LATE: usize = 2_048;

pub(super) struct State<P: Position> {
    network: Network,
    /// The layout while the stages are still one.
    shared: Layout,
    parted: bool,
    /// For each weight the sum of its errors and the sum of their sizes.
    coherence: Words,
    /// The threads' own weights, behind those that all share.
    own: Option<Own>,
    /// Do the threads learn them by themselves?
    apart: bool,
    pub games: u64,
    pub moves: u64,
    /// Positions from which games may restart, the oldest first.
    pub late: Vec<P>,
    pub reached: Reached,
    patterns: String,
    tables: String,
}

impl<P: Position> State<P> {
    /// What a run begins with.
    pub fn new(config: &TdConfig) -> Result<Self, TdError> {
        let state = Self::blank(config)?;
        if !config.from.is_empty() {
            begin_with::<P>(config, &state.network)?;
        }
        Ok(state)
    }

    /// The same, without the weights of another network.
    fn blank(config: &TdConfig) -> Result<Self, TdError> {
        let layout = Layout::staged::<P>(&config.patterns, config.stages())?;
        let shared = Layout::new::<P>(&config.patterns, &[])?;
        let weights = layout.weights();
        let threads = if config.apart < config.games { threads_of(config.threads) } else { 1 };
        let own = Own::new(&layout, threads, Machine::here().memory);
        let numbers = |room: usize| Ok((Words::zeroed(room)?, Words::zeroed(2 * room)?));
        // Where there is no room for the threads' own, all share all.
        let apart = own.and_then(|own| numbers(own.weights()).ok().map(|numbers| (Some(own), numbers)));
        let memory = |source| TdError::Memory { weights, source };
        let (own, (mut words, coherence)) = match apart {
            Some(apart) => apart,
            None => (None, numbers(weights).map_err(memory)?),
        };
        if config.initial != 0.0 {
            let share = config.initial / (layout.features() as f64 * f64::from(UNIT));
            words.exclusive()[..weights].fill((share.round() as i32).cast_unsigned());
        }
        let network = Network::new(layout, words).downgrading(config.downgrade.into()).for_goal(goal_of(config));
        let (patterns, parted) = (config.patterns.clone(), config.stages.is_empty());
        Ok(Self {
            network,
            shared,
            parted,
            coherence,
            own,
            apart: false,
            games: 0,
            moves: 0,
            late: Vec::new(),
            reached: Reached::default(),
            patterns,
            tables: config.tables.clone(),
        })
    }

    /// What the boards of the games to come look up.
    pub fn layout(&self) -> &Layout {
        if self.parted { self.network.layout() } else { &self.shared }
    }

    /// What was learned so far.
    pub fn network(&self) -> Network {
        self.gather();
        if self.parted {
            return self.network.clone();
        }
        // Every stage is still the first.
        self.network.clone().with_layout(self.shared.clone())
    }

    pub fn tables(&self) -> Tables<'_> {
        let (weights, coherence) = (self.network.weights().atomics(), self.coherence.atomics());
        Tables::new(self.layout(), weights, coherence.as_chunks().0, self.network.downgrade())
    }

    /// The same, as one of the threads sees it.
    pub fn tables_of(&self, thread: usize) -> Tables<'_> {
        self.own().map_or(self.tables(), |own| self.tables().with_own(own, thread))
    }

    /// What the threads learn by themselves, if they do.
    fn own(&self) -> Option<&Own> {
        self.own.as_ref().filter(|_| self.apart)
    }

    /// Is there room for the threads' own weights?
    pub const fn can_part(&self) -> bool {
        self.own.is_some()
    }

    /// Lets every thread learn the weights of small tiles by itself from now on, or all of them together.
    pub fn part_threads(&mut self, apart: bool) {
        if apart && !self.apart {
            self.apart = true;
            self.spread();
        } else if !apart {
            self.gather();
            self.apart = false;
        }
    }

    /// Gives the threads their own weights: what all share has changed.
    fn spread(&self) {
        self.own().iter().for_each(|own| own.spread(&self.tables()));
    }

    /// Brings together what the threads have learned by themselves.
    pub fn gather(&self) {
        self.own().iter().for_each(|own| own.gather(&self.tables()));
    }

    /// Takes note of moves that were played and learned from.
    pub fn count(&mut self, moves: u64) {
        let before = self.moves;
        self.moves += moves;
        if before / GATHER_EVERY != self.moves / GATHER_EVERY {
            self.gather();
        }
    }

    /// Lets every stage begin with what the first has learned, once enough games are played.
    pub fn part_stages(&mut self, after: u64) {
        if self.parted || self.games < after {
            return;
        }
        self.gather();
        let (stage, stages) = (self.shared.weights(), self.network.layout().stages().len() + 1);
        for (words, len) in [(self.network.weights(), stage), (&self.coherence, 2 * stage)] {
            let words = words.atomics();
            for (i, word) in words.iter().enumerate().take(len * stages).skip(len) {
                set(word, words[i % len].load(Relaxed));
            }
        }
        self.parted = true;
        self.spread();
    }

    /// In a run for a goal: the least sum of tiles from which games come to something.
    pub fn know_from(&mut self, from: u64) {
        let goal = self.network.goal().map(|goal| Goal { from, ..goal });
        self.network = self.network.clone().for_goal(goal);
    }

    /// Lets stages begin with the weights of another: each weight's own rate is found anew.
    pub fn promote(&self, from: usize, to: Range<usize>) {
        self.gather();
        let len = self.layout().stage_len();
        let (weights, coherence) = (self.network.weights().atomics(), self.coherence.atomics());
        for to in to {
            (0..len).for_each(|i| set(&weights[to * len + i], weights[from * len + i].load(Relaxed)));
            coherence[2 * to * len..2 * (to + 1) * len].iter().for_each(|sum| set(sum, 0));
        }
        self.spread();
    }

    /// Keeps the latest of the late positions.
    pub fn remember(&mut self, late: impl Iterator<Item = P>) {
        self.late.extend(late);
        self.late.drain(..self.late.len().saturating_sub(LATE));
    }

    /// Are the values of ordinary boards still numbers? Errors spread to every board, so that a look at one is enough.
    pub fn is_finite(&self) -> bool {
        self.network.board_value(&P::empty().with_exponent(0, 1)).is_finite()
    }

    /// Writes a checkpoint. As long as the stages are one it holds one: whoever plays it must not look for another.
    pub fn save(&self, out: &mut dyn Write) -> io::Result<()> {
        self.gather();
        let (layout, weights) = (self.layout(), self.layout().weights());
        let mut metadata = file::describe(P::SIZE, layout);
        let late: Vec<String> = self.late.iter().map(written).collect();
        let facts = [
            ("learner", "td".to_owned()),
            ("named", self.patterns.clone()),
            ("games", self.games.to_string()),
            ("moves", self.moves.to_string()),
            ("late", late.join(" ")),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ];
        let goal = self.network.goal().map(|goal| (file::GOAL, file::goal_text(goal)));
        let reached = goal.is_some().then(|| (Reached::KEY, self.reached.text()));
        let is_whole = self.network.goal().is_some_and(|goal| goal.is_whole);
        let whole = is_whole.then(|| (file::WHOLE, file::YES.to_owned()));
        let tables = (goal.is_some() || self.tables != NO_TABLES).then(|| (file::TABLES, self.tables.clone()));
        let facts = facts.into_iter().chain(goal).chain(reached).chain(whole).chain(tables);
        metadata.extend(facts.map(|(key, value)| (key.to_owned(), value)));
        let tensors = [
            Tensor { name: "weights", kind: Dtype::I32, words: &self.network.weights().atomics()[..weights] },
            Tensor { name: "coherence", kind: Dtype::F32, words: &self.coherence.atomics()[..2 * weights] },
        ];
        file::write(out, &metadata, &tensors)
    }

    pub fn load(config: &TdConfig, path: &Path) -> Result<Self, TdError> {
        let mut state = Self::blank(config)?;
        let saved = Saved::open(path, &FORMAT)?;
        let layout = saved.layout(P::SIZE)?;
        if saved.goal()?.map(|goal| goal.exponent) != config.goal() {
            return Err(saved.refused("its goal is not that of config.toml").into());
        }
        state.parted = layout.stages() == state.network.layout().stages();
        if layout.to_string() != state.shared.to_string() || !(state.parted || layout.stages().is_empty()) {
            return Err(saved.refused("its patterns or stages are not those of config.toml").into());
        }
        let fact = |key: &str| saved.metadata.get(key).map_or("", String::as_str);
        let number =
            |key: &str| fact(key).parse::<u64>().map_err(|_| saved.refused(format!("it lacks the number of {key}")));
        let words = |name: &str, kind: Dtype, len: usize| -> Result<Words, FileError> {
            saved.words(name, kind, len)?.ok_or_else(|| saved.refused(format!("it lacks '{name}'")))
        };
        let weights = words("weights", Dtype::I32, layout.weights())?;
        let coherence = words("coherence", Dtype::F32, 2 * layout.weights())?;
        if state.parted && state.own.is_none() {
            // No second copy in memory where none is needed.
            let network = Network::new(layout, weights).downgrading(config.downgrade.into()).for_goal(goal_of(config));
            (state.network, state.coherence) = (network, coherence);
        } else {
            for (all, saved) in [(state.network.weights(), weights), (&state.coherence, coherence)] {
                let pairs = all.atomics().iter().zip(saved.atomics());
                pairs.for_each(|(word, saved)| word.store(saved.load(Relaxed), Relaxed));
            }
        }
        (state.games, state.moves) = (number("games")?, number("moves")?);
        let late = fact("late").split_whitespace().map(read);
        state.late = late.collect::<Option<_>>().ok_or_else(|| saved.refused("its late positions cannot be read"))?;
        if config.goal != 0 {
            let reached = Reached::read(fact(Reached::KEY), config.files().count());
            state.reached = reached.ok_or_else(|| saved.refused("it lacks how far its games have come"))?;
        }
        Ok(state)
    }
}

/// The goal of a run. Games beside tables end where tables alone play the rest: what comes then is not learned.
fn goal_of(config: &TdConfig) -> Option<Goal> {
    config.goal().map(|exponent| Goal { exponent, from: 0, is_whole: config.tables == NO_TABLES })
}

/// Writes a word unless it is as it should be: memory that is not written to is not taken.
fn set(word: &AtomicU32, value: u32) {
    if word.load(Relaxed) != value {
        word.store(value, Relaxed);
    }
}

/// Sets the weights of every stage to those of another network of the same patterns and one stage.
fn begin_with<P: Position>(config: &TdConfig, network: &Network) -> Result<(), TdError> {
    let name = config.from.as_str();
    let other = if name == "champion" { ntuple::champion::<P>()? } else { ntuple::load::<P>(Path::new(name))? };
    if other.layout().to_string() != network.layout().to_string() || !other.layout().stages().is_empty() {
        return Err(TdError::From { name: name.into(), patterns: other.layout().to_string() });
    }
    if other.goal().map(|goal| goal.exponent) != config.goal() {
        return Err(TdError::FromOther { name: name.into() });
    }
    let weights = &other.weights().atomics()[..other.layout().weights()];
    let begun = &network.weights().atomics()[..network.layout().weights()];
    let pairs = begun.iter().zip(weights.iter().cycle());
    pairs.for_each(|(word, weight)| word.store(weight.load(Relaxed), Relaxed));
    Ok(())
}

/// A board as one letter a cell.
fn written<P: Position>(board: &P) -> String {
    (0..P::CELLS).filter_map(|cell| char::from_digit(u32::from(board.exponent(cell)), 36)).collect()
}

fn read<P: Position>(text: &str) -> Option<P> {
    let exponents: Vec<u8> = text.chars().map(|c| c.to_digit(36).map(|e| e as u8)).collect::<Option<_>>()?;
    let fits = exponents.len() == P::CELLS && exponents.iter().all(|&e| e < 32);
    fits.then(|| exponents.iter().enumerate().fold(P::empty(), |board, (cell, &e)| board.with_exponent(cell, e)))
}
