//! A network whose values are the chance of a tile, as a judge of boards.

use afterstate_board::{Afterstate, Position};

use super::{Downgrade, Goal, Network};
use crate::tables::{Advice, ROW};
use crate::{Care, Evaluator, Scale};

/// How likely a network's goal is to be reached. It knows the boards from a half of the goal on; and boards that hold the goal or larger tiles as if
/// those above the largest missing tile were half of what they are: what must be built next, and beside what, is the same, and to fill the gap there is
/// to reach the goal here.
#[derive(Clone)]
pub struct Chance {
    network: Network,
    goal: u8,
    /// Boards whose tiles add up to less were not learned.
    from: u64,
    /// It was learned up to the goal itself.
    is_whole: bool,
    /// How boards beyond the goal are seen, as the position is that the search begins at.
    beyond: Downgrade,
}

impl Chance {
    /// That of a network; `None` if its values are points.
    pub fn new(network: Network) -> Option<Self> {
        let Goal { exponent: goal, from, is_whole } = network.goal()?;
        Some(Self { network, goal, from, is_whole, beyond: Downgrade::from_tile(1 << goal) })
    }

    /// Does it know how to go on from here? Else what it says means nothing.
    pub fn knows<P: Position>(&self, board: &P) -> bool {
        let beyond = self.beyond.looking_from(board);
        let seen = beyond.view(board);
        let is_large = |gap: u8| gap + ROW >= self.goal;
        seen.max_exponent() + 1 == self.goal && seen.tile_sum() >= self.from && beyond.gaps().all(is_large)
    }

    /// Has it learned nothing from here on? One that was learned only to where endgame tables play the rest knows nothing of boards with all large
    /// tiles, where at most the second of the smallest of them is missing; what its tiles merge to then it has not seen either.
    pub fn ends<P: Position>(&self, board: &P) -> bool {
        if self.is_whole {
            return false;
        }
        let row = ((1 << ROW) - 1) << self.goal.saturating_sub(ROW);
        let seen = self.beyond.looking_from(board).view(board);
        let present = seen.exponents_present();
        present >> self.goal == 0 && (present & row == row || seen.tile_sum() >= 1 << self.goal)
    }

    /// How likely tables make it that the goal is reached, where what they build is all that is missing and it has learned what else there is to do.
    pub fn promised<P: Position>(&self, board: &P, advice: &Advice<'_>) -> Option<f32> {
        let is_last = || advice.is_last(&self.beyond.looking_from(board).view(board), self.goal);
        (self.is_whole && is_last()).then(|| 1.0 - advice.failure())
    }

    fn chance<P: Position>(&self, board: &P) -> f32 {
        if self.beyond.is_filled(board) {
            return 1.0;
        }
        self.network.board_value(&self.beyond.view(board)) / (1u32 << self.goal) as f32
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
        let before = self.beyond;
        self.beyond = before.looking_from(root);
        self.beyond != before
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
        let of = |from: u64, is_whole: bool| {
            Chance::new(exponents().for_goal(Some(Goal { exponent: 8, from, is_whole }))).unwrap()
        };
        let mut chance = of(0, false);
        let half = board!(128 32 0 0 / 2 0 0 0 / 0 0 0 0 / 0 0 0 0);
        let goal = board!(256 32 0 0 / 2 0 0 0 / 0 0 0 0 / 0 0 0 0);
        let both = board!(256 128 0 0 / 2 0 0 0 / 0 0 0 0 / 0 0 0 0);
        let early = board!(64 32 0 0 / 2 0 0 0 / 0 0 0 0 / 0 0 0 0);
        let full = board!(256 128 64 32 / 16 8 4 2 / 0 0 0 0 / 0 0 0 0);
        assert!([half, goal, both].iter().all(|board| chance.knows(board)));
        let small = board!(256 128 64 32 / 16 8 4 0 / 0 0 0 0 / 0 0 0 0);
        assert!(
            ![early, full, small].iter().any(|board| chance.knows(board)),
            "too early, nothing or next to nothing missing"
        );
        let value = |chance: &Chance, board: Board| chance.value(&Afterstate::new(board));
        // Every corner is seen twice, every other cell of the edge once.
        let points = (2.0 * 7.0 + 5.0 + 1.0) / 256.0;
        assert_eq!(value(&chance, half), points);
        assert_eq!((value(&chance, goal), value(&chance, both)), (1.0, 1.0), "it is there");
        assert!(chance.look_from(&goal));
        assert_eq!((value(&chance, goal), value(&chance, both)), (points, 1.0), "a half of it is to be built");
        assert!(chance.look_from(&both));
        let filled = board!(256 128 64 0 / 2 0 0 0 / 0 0 0 0 / 0 0 0 0);
        let beyond = (2.0 * 7.0 + 6.0 + 1.0) / 256.0;
        assert_eq!((value(&chance, both), value(&chance, filled)), (beyond, 1.0), "a quarter of it is to be built");
        let last = board!(128 64 32 16 / 2 2 4 8 / 0 0 0 0 / 0 0 0 0);
        assert!(chance.ends(&last) && chance.ends(&board!(256 64 32 16 / 2 2 4 8 / 0 0 0 0 / 0 0 0 0)));
        let merging = board!(128 64 32 16 / 16 2 4 8 / 0 0 0 0 / 0 0 0 0);
        assert!(chance.ends(&merging) && chance.ends(&board!(256 64 32 32 / 2 0 4 0 / 0 0 0 0 / 0 0 0 0)));
        assert!(!chance.ends(&half) && !chance.ends(&full), "one is missing, or one that is larger");
        assert!(!of(0, true).ends(&last) && !of(0, true).ends(&merging), "it learned what they play");
        let (two, merged) =
            (board!(256 256 0 0 / 2 0 0 0 / 0 0 0 0 / 0 0 0 0), board!(512 0 0 0 / 2 0 0 0 / 0 0 0 0 / 0 0 0 0));
        assert!(chance.look_from(&two) && value(&chance, two) < 1.0);
        assert_eq!(value(&chance, merged), 1.0, "two of them make a larger one");
        assert!(chance.look_from(&half) && !chance.look_from(&half));
        // Of what was not learned it knows nothing.
        let from = |from: u64| of(from, false);
        assert!(from(162).knows(&half) && !from(163).knows(&half));
        assert!(from(162).knows(&goal) && !from(163).knows(&goal), "as if the goal were the half");
    }
}
