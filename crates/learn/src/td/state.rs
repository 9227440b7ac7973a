//! What a temporal-difference run has learned, in memory and on disk.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use afterstate_board::Position;
use afterstate_evaluator::ntuple::file::{self, Dtype, FORMAT, FileError, Saved, Tensor};
use afterstate_evaluator::ntuple::{self, Layout, Network, UNIT, Words};

use super::lane::Tables;
use super::{TdConfig, TdError};

/// Late positions that are kept for restarts.
const LATE: usize = 2_048;

pub(super) struct State<P: Position> {
    network: Network,
    /// The layout while the stages are still one.
    shared: Layout,
    parted: bool,
    /// For each weight the sum of its errors and the sum of their sizes.
    coherence: Words,
    pub games: u64,
    pub moves: u64,
    /// Positions from which games may restart, the oldest first.
    pub late: Vec<P>,
    patterns: String,
}

fn exponents(stages: &[u32]) -> Vec<u8> {
    stages.iter().map(|tile| tile.ilog2() as u8).collect()
}

impl<P: Position> State<P> {
    /// What a run begins with.
    pub fn new(config: &TdConfig) -> Result<Self, TdError> {
        let state = Self::blank(config)?;
        if !config.from.is_empty() {
            begin_with::<P>(&config.from, &state.network)?;
        }
        Ok(state)
    }

    /// The same, without the weights of another network.
    fn blank(config: &TdConfig) -> Result<Self, TdError> {
        let layout = Layout::new::<P>(&config.patterns, &exponents(&config.stages))?;
        let shared = Layout::new::<P>(&config.patterns, &[])?;
        let weights = layout.weights();
        let memory = |source| TdError::Memory { weights, source };
        let mut words = Words::zeroed(weights).map_err(memory)?;
        if config.initial != 0.0 {
            let share = config.initial / (layout.features() as f64 * f64::from(UNIT));
            words.exclusive().fill((share.round() as i32).cast_unsigned());
        }
        let coherence = Words::zeroed(2 * weights).map_err(memory)?;
        let network = Network::new(layout, words).downgrading(config.downgrade.into());
        let (patterns, parted) = (config.patterns.clone(), config.stages.is_empty());
        Ok(Self { network, shared, parted, coherence, games: 0, moves: 0, late: Vec::new(), patterns })
    }

    /// What the boards of the games to come look up.
    pub fn layout(&self) -> &Layout {
        if self.parted { self.network.layout() } else { &self.shared }
    }

    pub fn network(&self) -> Network {
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

    /// Lets every stage begin with what the first has learned, once enough games are played.
    pub fn part_stages(&mut self, after: u64) {
        if self.parted || self.games < after {
            return;
        }
        let stage = self.shared.weights();
        for (words, len) in [(self.network.weights(), stage), (&self.coherence, 2 * stage)] {
            let words = words.atomics();
            for (i, word) in words.iter().enumerate().skip(len) {
                word.store(words[i % len].load(Relaxed), Relaxed);
            }
        }
        self.parted = true;
    }

    /// Keeps the latest of the late positions.
    pub fn remember(&mut self, late: impl Iterator<Item = P>) {
        self.late.extend(late);
        self.late.drain(..self.late.len().saturating_sub(LATE));
    }

    /// Are the values of ordinary boards still numbers? Errors spread to every board, so that a look at one is enough.
    pub fn is_finite(&self) -> bool {
        self.network().board_value(&P::empty().with_exponent(0, 1)).is_finite()
    }

    /// Writes a checkpoint. As long as the stages are one it holds one: whoever plays it must not look for another.
    pub fn save(&self, out: &mut dyn Write) -> io::Result<()> {
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
        if state.parted {
            let network = Network::new(layout, weights).downgrading(config.downgrade.into());
            (state.network, state.coherence) = (network, coherence);
        } else {
            for (all, first) in [(state.network.weights(), weights), (&state.coherence, coherence)] {
                let pairs = all.atomics().iter().zip(first.atomics());
                pairs.for_each(|(word, first)| word.store(first.load(Relaxed), Relaxed));
            }
        }
        (state.games, state.moves) = (number("games")?, number("moves")?);
        let late = fact("late").split_whitespace().map(read);
        state.late = late.collect::<Option<_>>().ok_or_else(|| saved.refused("its late positions cannot be read"))?;
        Ok(state)
    }
}

/// Sets the weights of every stage to those of another network of the same patterns and one stage.
fn begin_with<P: Position>(name: &str, network: &Network) -> Result<(), TdError> {
    let other = if name == "champion" { ntuple::champion::<P>()? } else { ntuple::load::<P>(Path::new(name))? };
    if other.layout().to_string() != network.layout().to_string() || !other.layout().stages().is_empty() {
        return Err(TdError::From { name: name.into(), patterns: other.layout().to_string() });
    }
    let weights = other.weights().atomics();
    let pairs = network.weights().atomics().iter().zip(weights.iter().cycle());
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
