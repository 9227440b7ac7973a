//! A network whose values are the chance of a tile, as a judge of boards.

use afterstate_board::{Afterstate, Position};

use super::{Goal, Network};
use crate::{Care, Evaluator, Scale};

/// How likely a network's goal is to be reached. It knows the boards from a half of the goal on; and boards that hold the goal but no half of it, as if
/// the goal were the half: what must be built next is the same.
#[derive(Clone)]
pub struct Chance {
    network: Network,
    goal: u8,
    /// Boards whose tiles add up to less were not learned.
    from: u64,
    /// The search began at a board that holds the goal already, and looks for a half of it.
    is_beyond: bool,
}

impl Chance {
    /// That of a network; `None` if its values are points.
    pub fn new(network: Network) -> Option<Self> {
        let Goal { exponent: goal, from } = network.goal()?;
        Some(Self { network, goal, from, is_beyond: false })
    }

    /// Does it know how to go on from here? Else what it says means nothing.
    pub fn knows<P: Position>(&self, board: &P) -> bool {
        let halved = || board.halved_above(self.goal - 1).tile_sum();
        let sum = if self.is_beyond(board) { halved() } else { board.tile_sum() };
        let is_far_enough = sum >= self.from;
        is_far_enough && (board.max_exponent() + 1 == self.goal || self.is_beyond(board))
    }

    fn is_beyond<P: Position>(&self, board: &P) -> bool {
        board.max_exponent() == self.goal && board.exponents_present() >> (self.goal - 1) & 1 == 0
    }

    fn chance<P: Position>(&self, board: &P) -> f32 {
        let value = if !self.is_beyond {
            if board.max_exponent() >= self.goal {
                return 1.0;
            }
            self.network.board_value(board)
        } else if self.is_beyond(board) {
            self.network.board_value(&board.halved_above(self.goal - 1))
        } else {
            return 1.0;
        };
        value / (1u32 << self.goal) as f32
    }
}

/// Values are a chance, learned from games that look no further than their next move: a search considers all moves.
const CARE: Care = Care { margin: f32::INFINITY, rare: 2, room: 6 };

impl<P: Position> Evaluator<P> for Chance {
    fn evaluate(&self, boards: &[Afterstate<P>], values: &mut [f32]) {
        for (board, value) in boards.iter().zip(values) {
            *value = self.chance(board.board());
        }
    }

    fn value(&self, board: &Afterstate<P>) -> f32 {
        self.chance(board.board())
    }

    fn scale(&self) -> Scale {
        Scale { rewards: 0.0, lost: 0.0, unit: "chance of the goal" }
    }

    fn care(&self) -> Care {
        CARE
    }

    fn look_from(&mut self, root: &P) -> bool {
        let before = self.is_beyond;
        self.is_beyond = self.is_beyond(root);
        self.is_beyond != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ntuple::{Layout, UNIT, Words};
    use afterstate_board::{Board, board};

    /// A network of single cells: each counts as many points as its exponent.
    fn exponents() -> Network {
        let layout = Layout::new::<Board>("0 1 5", &[]).unwrap();
        let mut words = Words::zeroed(layout.weights()).unwrap();
        let weight = |i: usize| (i as u32 % 16) * (1.0 / UNIT) as u32;
        words.exclusive().iter_mut().enumerate().for_each(|(i, word)| *word = weight(i));
        Network::new(layout, words)
    }

    #[test]
    fn a_chance_is_known_from_a_half_of_the_goal_on() {
        assert!(Chance::new(exponents()).is_none(), "points");
        let mut chance = Chance::new(exponents().for_goal(Some(Goal { exponent: 8, from: 0 }))).unwrap();
        let half = board!(128 32 0 0 / 2 0 0 0 / 0 0 0 0 / 0 0 0 0);
        let goal = board!(256 32 0 0 / 2 0 0 0 / 0 0 0 0 / 0 0 0 0);
        let both = board!(256 128 0 0 / 2 0 0 0 / 0 0 0 0 / 0 0 0 0);
        let early = board!(64 32 0 0 / 2 0 0 0 / 0 0 0 0 / 0 0 0 0);
        assert!(chance.knows(&half) && chance.knows(&goal) && !chance.knows(&both) && !chance.knows(&early));
        let value = |chance: &Chance, board: Board| chance.value(&Afterstate::new(board));
        // Every corner is seen twice, every other cell of the edge once.
        let points = (2.0 * 7.0 + 5.0 + 1.0) / 256.0;
        assert_eq!(value(&chance, half), points);
        assert_eq!((value(&chance, goal), value(&chance, both)), (1.0, 1.0), "it is there");
        assert!(chance.look_from(&goal));
        assert_eq!((value(&chance, goal), value(&chance, both)), (points, 1.0), "a half of it is to be built");
        assert!(chance.look_from(&half) && !chance.look_from(&half));
        // Of what was not learned it knows nothing.
        let from = |from: u64| Chance::new(exponents().for_goal(Some(Goal { exponent: 8, from }))).unwrap();
        assert!(from(162).knows(&half) && !from(163).knows(&half));
        assert!(from(162).knows(&goal) && !from(163).knows(&goal), "as if the goal were the half");
    }
}
