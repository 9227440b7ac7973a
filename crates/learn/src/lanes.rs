//! Games that move in step. They go on from block to block, and a checkpoint holds them: if the last games of a block were left to end
//! alone, a network would learn from late positions only, and forget how games begin, just before it is saved.

use std::collections::VecDeque;

use afterstate_board::{Afterstate, Position, Rng, SpawnRule};

use crate::course::Outcome;

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
        }
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (game, score) = (u64::from_le_bytes(take(bytes)?), u64::from_le_bytes(take(bytes)?));
        let (reward, moves) = (f64::from_le_bytes(take(bytes)?), u32::from_le_bytes(take(bytes)?));
        let (stuck, board) = (u32::from_le_bytes(take(bytes)?), read_board(bytes)?);
        let [count] = take(bytes)?;
        let waiting = (0..count).map(|_| {
            let (board, [action], reward) = (read_board(bytes)?, take(bytes)?, f32::from_le_bytes(take(bytes)?));
            Some(Waiting { board, action: action & 3, reward })
        });
        let waiting = waiting.collect::<Option<_>>()?;
        Some(Self { board, outcome: Outcome { game, score, moves, reward, largest: 0 }, stuck, waiting })
    }
}

fn take<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*first)
}

fn write_board<P: Position>(board: &P, bytes: &mut Vec<u8>) {
    bytes.extend((0..P::CELLS).map(|cell| board.exponent(cell)));
}

fn read_board<P: Position>(bytes: &mut &[u8]) -> Option<P> {
    let (cells, rest) = bytes.split_at_checked(P::CELLS)?;
    *bytes = rest;
    let sane = cells.iter().all(|&exponent| exponent < 32);
    sane.then(|| cells.iter().enumerate().fold(P::empty(), |board, (cell, &e)| board.with_exponent(cell, e)))
}

/// All games in progress.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lanes<P> {
    pub lanes: Vec<Lane<P>>,
    /// Games begun so far.
    begun: u64,
    /// Games ended so far.
    pub ended: u64,
}

impl<P: Position> Lanes<P> {
    pub fn new(count: usize, seed: u64, rule: &SpawnRule) -> Self {
        let begun = count as u64;
        Self { lanes: (0..begun).map(|game| Lane::begin(game, seed, rule)).collect(), begun, ended: 0 }
    }

    /// Begins a new game wherever one is over.
    pub fn renew(&mut self, over: &[bool], seed: u64, rule: &SpawnRule, outcomes: &mut Vec<Outcome>) {
        for (lane, _) in self.lanes.iter_mut().zip(over).filter(|(_, over)| **over) {
            outcomes.push(Outcome { largest: lane.board.max_exponent(), ..lane.outcome });
            *lane = Lane::begin(self.begun, seed, rule);
            self.begun += 1;
            self.ended += 1;
        }
    }

    /// Everything, for a checkpoint.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(self.begun.to_le_bytes());
        bytes.extend(self.ended.to_le_bytes());
        self.lanes.iter().for_each(|lane| lane.write(&mut bytes));
        bytes
    }

    /// What [`Lanes::to_bytes`] wrote; `None` if it cannot have been for so many lanes.
    pub fn from_bytes(count: usize, bytes: &[u8]) -> Option<Self> {
        let mut bytes = bytes;
        let (begun, ended) = (u64::from_le_bytes(take(&mut bytes)?), u64::from_le_bytes(take(&mut bytes)?));
        let lanes: Vec<Lane<P>> = (0..count).map(|_| Lane::read(&mut bytes)).collect::<Option<_>>()?;
        bytes.is_empty().then_some(Self { lanes, begun, ended })
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
            let waiting = Waiting { board: first, action: i as u8, reward: -0.5 };
            lane.waiting.extend(std::iter::repeat_n(waiting, i));
            lane.outcome.score = 1 << (20 + i);
            lane.go_on(&Afterstate::new(first), 7, &rule);
        }
        let mut outcomes = Vec::new();
        lanes.renew(&[false, true, false], 7, &rule, &mut outcomes);
        assert_eq!((outcomes.len(), outcomes[0].game, lanes.ended, lanes.lanes[1].outcome.game), (1, 1, 1, 3));
        let bytes = lanes.to_bytes();
        assert_eq!(Lanes::from_bytes(3, &bytes).as_ref(), Some(&lanes));
        assert!(Lanes::<Board>::from_bytes(2, &bytes).is_none());
        assert!(Lanes::<Board>::from_bytes(3, &bytes[..bytes.len() - 1]).is_none());
    }
}
