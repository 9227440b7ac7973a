//! What remains of games when their moves are forgotten: enough for all statistics, and small enough to keep millions.

use std::collections::BTreeMap;

use afterstate_board::Position;
use serde::{Deserialize, Serialize};

use crate::{Game, Header};

/// One game as a line of a result table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Which game of its seed.
    pub index: u64,
    /// Its points.
    pub score: u64,
    /// How many moves were made.
    pub moves: u64,
    /// The exponent of its largest tile.
    pub max_exponent: u8,
    /// True if no move was left; false if a limit ended it.
    pub over: bool,
    /// A hash of the whole course of the game: index, start, steps, score, last board.
    pub digest: u64,
    /// Time spent playing.
    pub seconds: f64,
}

impl Outcome {
    /// True if both are the same game, however long each took to play.
    pub fn is_same_play(&self, other: &Self) -> bool {
        (self.index, self.digest) == (other.index, other.digest)
    }
}

/// A hash of 64-bit words whose value never changes between versions: pinned fingerprints depend on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest(u64);

impl Digest {
    pub const NEW: Self = Self(0x0af7_e257_a7e0_2048);

    /// Each word passes a bijection, so two sequences that differ in one word never collide.
    #[must_use]
    pub const fn word(self, word: u64) -> Self {
        let mixed = (self.0 ^ word).wrapping_mul(0x9fb2_1c65_1e98_df25);
        Self(mixed ^ mixed >> 29)
    }

    #[must_use]
    pub fn board<P: Position>(self, board: &P) -> Self {
        (0..P::CELLS).fold(self, |digest, cell| digest.word(u64::from(board.exponent(cell))))
    }

    pub const fn finish(self) -> u64 {
        let mixed = (self.0 ^ self.0 >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ mixed >> 32
    }
}

impl<P: Position> Game<P> {
    /// The game without its moves.
    pub fn outcome(&self) -> Outcome {
        let (index, score, moves) = (self.index, self.score, self.moves());
        let begun = Digest::NEW.word(index).board(&self.start).word(moves);
        let played = self.steps.iter().fold(begun, |digest, step| {
            let [direction, cell, exponent] =
                [step.direction as u8, step.spawn.cell, step.spawn.exponent].map(u64::from);
            digest.word(direction << 16 | cell << 8 | exponent)
        });
        let digest = played.word(score).board(&self.last).finish();
        let (max_exponent, over) = (self.last.max_exponent(), self.is_over());
        Outcome { index, score, moves, max_exponent, over, digest, seconds: self.seconds }
    }
}

/// The same game twice, with two courses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there are two different games {index}")]
pub struct ConflictingGames {
    /// Which game.
    pub index: u64,
}

/// All games of one agent and seed that have been played, in the order of their indices.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    header: Header,
    outcomes: Vec<Outcome>,
}

impl Results {
    /// Sorts the games and drops repetitions of the same one.
    pub fn new(header: Header, outcomes: impl IntoIterator<Item = Outcome>) -> Result<Self, ConflictingGames> {
        let mut by_index = BTreeMap::new();
        for outcome in outcomes {
            let kept = by_index.entry(outcome.index).or_insert(outcome);
            if !kept.is_same_play(&outcome) {
                return Err(ConflictingGames { index: outcome.index });
            }
        }
        Ok(Self { header, outcomes: by_index.into_values().collect() })
    }

    /// Sorts games that are known to have different indices.
    pub(crate) fn sorted(header: Header, mut outcomes: Vec<Outcome>) -> Self {
        outcomes.sort_unstable_by_key(|outcome| outcome.index);
        Self { header, outcomes }
    }

    /// Who played, and how.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The games by index.
    pub fn outcomes(&self) -> &[Outcome] {
        &self.outcomes
    }

    /// A number that changes exactly when the course of some game changes; threads, shards and time do not matter.
    pub fn fingerprint(&self) -> u64 {
        self.outcomes.iter().fold(Digest::NEW, |digest, outcome| digest.word(outcome.digest)).finish()
    }
}
