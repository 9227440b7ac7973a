//! Replay: the latest of what a learner learns from, from which batches are drawn with equal chances.

use afterstate_board::{Position, Rng};
use afterstate_evaluator::file::{FileError, Saved};

use crate::lanes::{read_board, take, write_board};

/// What can be kept for replay, and in a checkpoint.
pub trait Kept: Copy {
    /// Bytes of one.
    const SIZE: usize;
    /// Appends these bytes.
    fn write(&self, bytes: &mut Vec<u8>);
    /// What was written; `None` if it cannot have been.
    fn read(bytes: &mut &[u8]) -> Option<Self>;
}

/// What happened between two boards at which a learner looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transition<P> {
    /// The board that is judged: a position, or an afterstate.
    pub board: P,
    /// The direction taken from a position.
    pub action: u8,
    /// Rewards on the way, discounted.
    pub reward: f32,
    /// What the value at the end of the way counts for: the discount, once for each move; 0 if the game ended.
    pub weight: f32,
    /// The position at the end of the way.
    pub next: P,
}

impl<P: Position> Kept for Transition<P> {
    const SIZE: usize = 2 * P::CELLS + 9;

    fn write(&self, bytes: &mut Vec<u8>) {
        write_board(&self.board, bytes);
        write_board(&self.next, bytes);
        bytes.push(self.action);
        bytes.extend(self.reward.to_le_bytes());
        bytes.extend(self.weight.to_le_bytes());
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (board, next, [action]) = (read_board(bytes)?, read_board(bytes)?, take(bytes)?);
        let (reward, weight) = (f32::from_le_bytes(take(bytes)?), f32::from_le_bytes(take(bytes)?));
        Some(Self { board, next, action: action & 3, reward, weight })
    }
}

/// A position, which move is how likely to be the best there, and what it is worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lesson<P> {
    /// The position.
    pub board: P,
    /// By direction index; 0 for illegal moves.
    pub moves: [f32; 4],
    /// The value, in outputs of the network.
    pub value: f32,
}

impl<P: Position> Kept for Lesson<P> {
    const SIZE: usize = P::CELLS + 20;

    fn write(&self, bytes: &mut Vec<u8>) {
        write_board(&self.board, bytes);
        self.moves.iter().chain([&self.value]).for_each(|number| bytes.extend(number.to_le_bytes()));
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let board = read_board(bytes)?;
        let mut number = || take(bytes).map(f32::from_le_bytes);
        let moves = [number()?, number()?, number()?, number()?];
        Some(Self { board, moves, value: number()? })
    }
}

/// The latest of something, the oldest overwritten first.
#[derive(Clone, Debug)]
pub struct Replay<T> {
    capacity: usize,
    held: Vec<T>,
    /// Where the next one goes once the buffer is full.
    next: usize,
}

impl<T: Kept> Replay<T> {
    /// Room for so many.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, held: Vec::with_capacity(capacity.min(1 << 20)), next: 0 }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Keeps one more, in place of the oldest if there is no room.
    pub fn push(&mut self, one: T) {
        if self.held.len() < self.capacity {
            self.held.push(one);
        } else if self.capacity > 0 {
            self.held[self.next] = one;
            self.next = (self.next + 1) % self.capacity;
        }
    }

    /// Draws some, each with equal chances, the same one perhaps twice.
    pub fn draw(&self, count: usize, rng: &mut Rng, batch: &mut Vec<T>) {
        batch.clear();
        if !self.is_empty() {
            batch.extend((0..count).map(|_| self.held[rng.below(self.held.len() as u32) as usize]));
        }
    }

    /// Everything, for a checkpoint.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 + self.held.len() * T::SIZE);
        bytes.extend((self.next as u64).to_le_bytes());
        self.held.iter().for_each(|one| one.write(&mut bytes));
        bytes
    }

    /// What [`Replay::to_bytes`] wrote; `None` if it cannot have.
    pub fn from_bytes(capacity: usize, bytes: &[u8]) -> Option<Self> {
        let (next, rest) = bytes.split_first_chunk::<8>()?;
        let next = usize::try_from(u64::from_le_bytes(*next)).ok()?;
        let held: Vec<T> = rest.chunks_exact(T::SIZE).map(|mut bytes| T::read(&mut bytes)).collect::<Option<_>>()?;
        let fits = rest.len() == held.len() * T::SIZE && held.len() <= capacity && (next == 0 || next < held.len());
        fits.then_some(Self { capacity, held, next })
    }

    /// The buffer that a file holds.
    pub(crate) fn of_file(capacity: usize, saved: &Saved) -> Result<Self, FileError> {
        let replay = Self::from_bytes(capacity, saved.byte_array("replay")?);
        replay.ok_or_else(|| saved.refused("its replay buffer cannot be read"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::Board;

    fn transition(number: u8) -> Transition<Board> {
        let board = Board::empty().with_exponent(usize::from(number % 16), 1 + number / 16);
        Transition { board, action: number % 4, reward: f32::from(number), weight: 0.5, next: Board::empty() }
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut replay = Replay::new(10);
        (0..25).for_each(|i| replay.push(transition(i)));
        let mut held: Vec<f32> = replay.held.iter().map(|t| t.reward).collect();
        held.sort_by(f32::total_cmp);
        assert_eq!(held, (15..25).map(|i| i as f32).collect::<Vec<_>>());
    }

    #[test]
    fn draws_are_uniform() {
        let mut replay = Replay::new(20);
        (0..33).for_each(|i| replay.push(transition(i)));
        let (mut rng, mut batch, mut counts) = (Rng::new(3), Vec::new(), [0u32; 33]);
        for _ in 0..400 {
            replay.draw(100, &mut rng, &mut batch);
            assert_eq!(batch.len(), 100);
            batch.iter().for_each(|t| counts[t.reward as usize] += 1);
        }
        assert!(counts[..13].iter().all(|&count| count == 0));
        let chi2: f64 = counts[13..].iter().map(|&c| (f64::from(c) - 2_000.0).powi(2) / 2_000.0).sum();
        assert!(chi2 < 43.8, "chi-square {chi2} with 19 degrees of freedom"); // P < 0.001
    }

    #[test]
    fn lessons_come_back() {
        let mut replay = Replay::new(3);
        let board = Board::empty().with_exponent(3, 17);
        (0..5u8).for_each(|i| replay.push(Lesson { board, moves: [0.1, 0.2, 0.3, f32::from(i)], value: -1.5 }));
        let back = Replay::<Lesson<Board>>::from_bytes(3, &replay.to_bytes()).unwrap();
        assert_eq!((&back.held, back.next), (&replay.held, replay.next));
    }

    #[test]
    fn buffers_come_back() {
        let mut replay = Replay::new(12);
        (0..30).for_each(|i| replay.push(transition(i)));
        let bytes = replay.to_bytes();
        let back = Replay::<Transition<Board>>::from_bytes(12, &bytes).unwrap();
        assert_eq!((&back.held, back.next), (&replay.held, replay.next));
        assert!(Replay::<Transition<Board>>::from_bytes(11, &bytes).is_none());
        assert!(Replay::<Transition<Board>>::from_bytes(12, &bytes[..bytes.len() - 1]).is_none());
        assert!(Replay::<Transition<Board>>::from_bytes(12, &[1]).is_none());
    }
}
