//! Replay: the latest transitions, from which batches are drawn with equal chances.

use afterstate_board::{Position, Rng};

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

/// The latest transitions, the oldest overwritten first.
#[derive(Clone, Debug)]
pub struct Replay<P> {
    capacity: usize,
    held: Vec<Transition<P>>,
    /// Where the next one goes once the buffer is full.
    next: usize,
}

impl<P: Position> Replay<P> {
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

    /// Keeps a transition, in place of the oldest if there is no room.
    pub fn push(&mut self, transition: Transition<P>) {
        if self.held.len() < self.capacity {
            self.held.push(transition);
        } else if self.capacity > 0 {
            self.held[self.next] = transition;
            self.next = (self.next + 1) % self.capacity;
        }
    }

    /// Draws some, each with equal chances, the same one perhaps twice.
    pub fn draw(&self, count: usize, rng: &mut Rng, batch: &mut Vec<Transition<P>>) {
        batch.clear();
        if !self.is_empty() {
            batch.extend((0..count).map(|_| self.held[rng.below(self.held.len() as u32) as usize]));
        }
    }

    /// Bytes of one transition.
    const fn size() -> usize {
        2 * P::CELLS + 9
    }

    /// Everything, for a checkpoint.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 + self.held.len() * Self::size());
        bytes.extend((self.next as u64).to_le_bytes());
        for transition in &self.held {
            for board in [&transition.board, &transition.next] {
                bytes.extend((0..P::CELLS).map(|cell| board.exponent(cell)));
            }
            bytes.push(transition.action);
            bytes.extend(transition.reward.to_le_bytes());
            bytes.extend(transition.weight.to_le_bytes());
        }
        bytes
    }

    /// What [`Replay::to_bytes`] wrote; `None` if it cannot have.
    pub fn from_bytes(capacity: usize, bytes: &[u8]) -> Option<Self> {
        let (next, rest) = bytes.split_first_chunk::<8>()?;
        let next = usize::try_from(u64::from_le_bytes(*next)).ok()?;
        let board = |bytes: &[u8]| bytes.iter().enumerate().fold(P::empty(), |b, (cell, &e)| b.with_exponent(cell, e));
        let float = |bytes: &[u8]| bytes.first_chunk::<4>().map(|bytes| f32::from_le_bytes(*bytes));
        let read = |bytes: &[u8]| {
            let (boards, numbers) = bytes.split_at(2 * P::CELLS);
            let sane = boards.iter().all(|&e| e < 32);
            sane.then_some(())?;
            Some(Transition {
                board: board(&boards[..P::CELLS]),
                next: board(&boards[P::CELLS..]),
                action: numbers[0] & 3,
                reward: float(&numbers[1..])?,
                weight: float(&numbers[5..])?,
            })
        };
        let held: Vec<_> = rest.chunks_exact(Self::size()).map(read).collect::<Option<_>>()?;
        let fits =
            rest.len() == held.len() * Self::size() && held.len() <= capacity && (next == 0 || next < held.len());
        fits.then_some(Self { capacity, held, next })
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
    fn buffers_come_back() {
        let mut replay = Replay::new(12);
        (0..30).for_each(|i| replay.push(transition(i)));
        let bytes = replay.to_bytes();
        let back = Replay::<Board>::from_bytes(12, &bytes).unwrap();
        assert_eq!((&back.held, back.next), (&replay.held, replay.next));
        assert!(Replay::<Board>::from_bytes(11, &bytes).is_none());
        assert!(Replay::<Board>::from_bytes(12, &bytes[..bytes.len() - 1]).is_none());
        assert!(Replay::<Board>::from_bytes(12, &[1]).is_none());
    }
}
