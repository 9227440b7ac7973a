//! Games that move in step. They go on from block to block, and a checkpoint holds them: if the last games of a block were left to end
//! alone, a network would learn from late positions only, and forget how games begin, just before it is saved.

use std::collections::VecDeque;
use std::io::{self, Write};

use afterstate_board::{Afterstate, Position, Rng, SpawnRule};
use afterstate_evaluator::file::{Array, Dtype, FileError, Saved};

use crate::course::Outcome;
use crate::network::Network;

/// What a random number is for: `Rng::stream(seed, game, ...)`. Each move has streams of its own, so that nothing about them needs
/// to be kept.
mod stream {
    pub const START: u64 = 0;
    pub const SPAWN: u64 = 1;
    pub const DICE: u64 = 2;
    /// Streams of a move.
    pub const EACH: u64 = 2;
}

/// A board that waits for its target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Waiting<P> {
    /// A position, or an afterstate.
    pub board: P,
    /// The direction taken.
    pub action: u8,
    /// What the move was rewarded with.
    pub reward: f32,
    /// What the position before the move was judged to be worth; 0 if nobody asks.
    pub worth: f32,
}

/// A game in progress.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lane<P> {
    pub board: P,
    pub outcome: Outcome,
    /// Illegal moves since the last legal one.
    pub stuck: u32,
    /// What waits for its target, the oldest first.
    pub waiting: VecDeque<Waiting<P>>,
}

impl<P: Position> Lane<P> {
    /// A new game.
    pub fn begin(game: u64, seed: u64, rule: &SpawnRule) -> Self {
        Self {
            board: P::start(rule, &mut Rng::stream(seed, game, stream::START)),
            outcome: Outcome { game, ..Outcome::default() },
            stuck: 0,
            waiting: VecDeque::new(),
        }
    }

    /// The random numbers with which this move is chosen.
    pub fn dice(&self, seed: u64) -> Rng {
        Rng::stream(seed, self.outcome.game, stream::DICE + stream::EACH * u64::from(self.outcome.moves))
    }

    /// Goes on after a legal move.
    pub fn go_on(&mut self, after: &Afterstate<P>, seed: u64, rule: &SpawnRule) {
        let purpose = stream::SPAWN + stream::EACH * u64::from(self.outcome.moves);
        self.board = after.sample(rule, &mut Rng::stream(seed, self.outcome.game, purpose));
        self.stuck = 0;
    }

    /// Begins the next game of this lane, one of `count`, whose games are numbered in turn: how they end elsewhere does not matter here.
    pub fn renew(&mut self, count: u64, seed: u64, rule: &SpawnRule) -> Outcome {
        let outcome = Outcome { largest: self.board.max_exponent(), ..self.outcome };
        *self = Self::begin(outcome.game + count, seed, rule);
        outcome
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        let outcome = &self.outcome;
        bytes.extend(outcome.game.to_le_bytes());
        bytes.extend(outcome.score.to_le_bytes());
        bytes.extend(outcome.reward.to_le_bytes());
        bytes.extend(outcome.moves.to_le_bytes());
        bytes.extend(self.stuck.to_le_bytes());
        write_board(&self.board, bytes);
        bytes.push(self.waiting.len() as u8);
        for waiting in &self.waiting {
            write_board(&waiting.board, bytes);
            bytes.push(waiting.action);
            bytes.extend(waiting.reward.to_le_bytes());
            bytes.extend(waiting.worth.to_le_bytes());
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (game, score) = (u64::from_le_bytes(take(bytes)?), u64::from_le_bytes(take(bytes)?));
        let (reward, moves) = (f64::from_le_bytes(take(bytes)?), u32::from_le_bytes(take(bytes)?));
        let (stuck, board) = (u32::from_le_bytes(take(bytes)?), read_board(bytes)?);
        let [count] = take(bytes)?;
        let waiting = (0..count).map(|_| {
            let (board, [action]) = (read_board(bytes)?, take(bytes)?);
            let (reward, worth) = (f32::from_le_bytes(take(bytes)?), f32::from_le_bytes(take(bytes)?));
            Some(Waiting { board, action: action & 3, reward, worth })
        });
        let waiting = waiting.collect::<Option<_>>()?;
        Some(Self { board, outcome: Outcome { game, score, moves, reward, largest: 0 }, stuck, waiting })
    }
}

pub(crate) fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

pub(crate) fn write_board<P: Position>(board: &P, bytes: &mut Vec<u8>) {
    bytes.extend((0..P::CELLS).map(|cell| board.exponent(cell)));
}

pub(crate) fn read_board<P: Position>(bytes: &mut &[u8]) -> Option<P> {
    let (cells, rest) = bytes.split_at_checked(P::CELLS)?;
    *bytes = rest;
    let sane = cells.iter().all(|&exponent| exponent < 32);
    sane.then(|| cells.iter().enumerate().fold(P::empty(), |board, (cell, &e)| board.with_exponent(cell, e)))
}

/// All games in progress.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lanes<P> {
    pub lanes: Vec<Lane<P>>,
    /// Games ended so far.
    pub ended: u64,
}

impl<P: Position> Lanes<P> {
    pub fn new(count: usize, seed: u64, rule: &SpawnRule) -> Self {
        Self { lanes: (0..count as u64).map(|game| Lane::begin(game, seed, rule)).collect(), ended: 0 }
    }

    /// Begins a new game wherever one is over.
    pub fn renew(&mut self, over: &[bool], seed: u64, rule: &SpawnRule, outcomes: &mut Vec<Outcome>) {
        let count = self.lanes.len() as u64;
        for (lane, _) in self.lanes.iter_mut().zip(over).filter(|(_, over)| **over) {
            outcomes.push(lane.renew(count, seed, rule));
            self.ended += 1;
        }
    }

    /// Writes a checkpoint of a learner: its network, these games, and what else it knows.
    pub fn save_with(
        &self,
        (learner, named): (&str, &str),
        network: &dyn Network<P>,
        facts: &[(&str, String)],
        more: &[(&str, &[u8])],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let all = [
            ("learner", learner.to_owned()),
            ("named", named.to_owned()),
            ("games", self.ended.to_string()),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ];
        let facts = all.iter().chain(facts).map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let lanes = self.to_bytes();
        let parts: Vec<(&str, &[u8], [usize; 1])> = std::iter::once(("lanes", lanes.as_slice()))
            .chain(more.iter().copied())
            .map(|(name, bytes)| (name, bytes, [bytes.len()]))
            .collect();
        let arrays: Vec<Array<'_>> =
            parts.iter().map(|(name, bytes, shape)| Array { name, kind: Dtype::U8, shape, bytes }).collect();
        network.save(out, facts, &arrays)
    }

    /// The games of a checkpoint.
    pub fn of_file(count: usize, saved: &Saved) -> Result<Self, FileError> {
        let lanes = Self::from_bytes(count, saved.byte_array("lanes")?);
        lanes.ok_or_else(|| saved.refused("its games in progress cannot be read"))
    }

    /// Everything, for a checkpoint.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.ended.to_le_bytes());
        self.lanes.iter().for_each(|lane| lane.write(&mut bytes));
        bytes
    }

    /// What [`Lanes::to_bytes`] wrote; `None` if it cannot have been for so many lanes.
    pub fn from_bytes(count: usize, bytes: &[u8]) -> Option<Self> {
        let mut bytes = bytes;
        let ended = u64::from_le_bytes(take(&mut bytes)?);
        let lanes: Vec<Lane<P>> = (0..count).map(|_| Lane::read(&mut bytes)).collect::<Option<_>>()?;
        bytes.is_empty().then_some(Self { lanes, ended })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::Board;

    #[test]
    fn games_come_back() {
        let rule = SpawnRule::CLASSIC;
        let mut lanes = Lanes::<Board>::new(3, 7, &rule);
        let first = lanes.lanes[0].board;
        for (i, lane) in lanes.lanes.iter_mut().enumerate() {
            let waiting = Waiting { board: first, action: i as u8, reward: -0.5, worth: 0.25 };
            lane.waiting.extend(std::iter::repeat_n(waiting, i));
            lane.outcome.score = 1 << (20 + i);
            lane.go_on(&Afterstate::new(first), 7, &rule);
        }
        let mut outcomes = Vec::new();
        lanes.renew(&[false, true, false], 7, &rule, &mut outcomes);
        assert_eq!((outcomes.len(), outcomes[0].game, lanes.ended, lanes.lanes[1].outcome.game), (1, 1, 1, 4));
        let bytes = lanes.to_bytes();
        assert_eq!(Lanes::from_bytes(3, &bytes).as_ref(), Some(&lanes));
        assert!(Lanes::<Board>::from_bytes(2, &bytes).is_none());
        assert!(Lanes::<Board>::from_bytes(3, &bytes[..bytes.len() - 1]).is_none());
    }
}
