//! Moves of a game whose value is not known yet.

use std::collections::VecDeque;

use afterstate_board::Position;

use crate::lanes::take;
use crate::replay::{Kept, Lesson};

/// The moves of one game, the oldest first: each with what its search preferred, its reward, and what the search thought of the position.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pending<P> {
    moves: VecDeque<(Lesson<P>, f32)>,
}

impl<P> Default for Pending<P> {
    fn default() -> Self {
        Self { moves: VecDeque::new() }
    }
}

impl<P: Position> Pending<P> {
    /// One more move; `value` is what the search thought of the position.
    pub fn push(&mut self, board: P, moves: [f32; 4], reward: f32, value: f32) {
        self.moves.push_back((Lesson { board, moves, value }, reward));
    }

    /// Moves with `n` after them learn their rewards, and what the search thinks of the position then.
    pub fn settle_old(&mut self, n: usize, discount: f32, lessons: &mut Vec<Lesson<P>>) {
        while self.moves.len() > n {
            let later = self.moves[n].0.value;
            let value = self.moves.iter().take(n).rev().fold(later, |sum, (_, reward)| reward + discount * sum);
            if let Some((lesson, _)) = self.moves.pop_front() {
                lessons.push(Lesson { value, ..lesson });
            }
        }
    }

    /// The game has ended, and its end is worth `end`.
    pub fn settle_all(&mut self, end: f32, discount: f32, lessons: &mut Vec<Lesson<P>>) {
        let (mut value, from) = (end, lessons.len());
        for (lesson, reward) in self.moves.drain(..).rev() {
            value = reward + discount * value;
            lessons.push(Lesson { value, ..lesson });
        }
        lessons[from..].reverse();
    }

    /// All games, for a checkpoint.
    pub fn write_all(games: &[Self]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for game in games {
            bytes.extend((game.moves.len() as u64).to_le_bytes());
            for (lesson, reward) in &game.moves {
                lesson.write(&mut bytes);
                bytes.extend(reward.to_le_bytes());
            }
        }
        bytes
    }

    /// What [`Pending::write_all`] wrote for so many games.
    pub fn read_all(count: usize, mut bytes: &[u8]) -> Option<Vec<Self>> {
        let mut games = Vec::with_capacity(count);
        for _ in 0..count {
            let many = u64::from_le_bytes(take(&mut bytes)?);
            let mut moves = VecDeque::new();
            for _ in 0..many {
                moves.push_back((Lesson::read(&mut bytes)?, f32::from_le_bytes(take(&mut bytes)?)));
            }
            games.push(Self { moves });
        }
        bytes.is_empty().then_some(games)
    }
}
