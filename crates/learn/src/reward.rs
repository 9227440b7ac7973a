//! What a move is rewarded with: its points, and terms of the source documents beside them, each with a weight (rows T3, P1, P4).

use afterstate_board::Position;
use serde::{Deserialize, Serialize};

/// The reward of a move. With everything as in [`Reward::POINTS`] a learner learns the game's own score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reward {
    /// Weight of the points of a move.
    pub points: f64,
    /// Weight of the logarithm (base 2) of one more than the points.
    pub log_points: f64,
    /// For making a 512 or a 1024 for the first time.
    pub milestone: f64,
    /// For making a tile larger than any before.
    pub highest: f64,
    /// For each move with a tile of 512 or more on the board, once for every doubling from 512 on.
    pub holding: f64,
    /// For each move after which a largest tile is in a corner.
    pub corner: f64,
    /// The same, for each power of two of that tile.
    pub log_corner: f64,
    /// For each empty cell after a move.
    pub empty: f64,
    /// For each power of two by which a tile is smaller than its left or upper neighbour (a penalty if below 0).
    pub drops: f64,
}

impl Reward {
    /// The game's own score.
    pub const POINTS: Self = Self {
        points: 1.0,
        log_points: 0.0,
        milestone: 0.0,
        highest: 0.0,
        holding: 0.0,
        corner: 0.0,
        log_corner: 0.0,
        empty: 0.0,
        drops: 0.0,
    };

    /// Is it the game's own score, or a multiple of it?
    pub fn is_score(&self) -> bool {
        *self == Self { points: self.points, ..Self::POINTS }
    }

    /// The reward of a move worth `points` from one board to the next.
    #[inline]
    pub fn of<P: Position>(&self, before: &P, after: &P, points: u32) -> f32 {
        let plain = self.points * f64::from(points);
        if self.is_score() { plain as f32 } else { (plain + self.extra(before, after, points)) as f32 }
    }

    fn extra<P: Position>(&self, before: &P, after: &P, points: u32) -> f64 {
        let (was, is) = (before.max_exponent(), after.max_exponent());
        let last = P::CELLS - 1;
        let corners = [0, P::COLUMNS - 1, last + 1 - P::COLUMNS, last];
        let held = corners.iter().any(|&cell| after.exponent(cell) == is);
        let when = |condition: bool| f64::from(u8::from(condition));
        self.log_points * f64::from(points + 1).log2()
            + self.milestone * when(is > was && (is == 9 || is == 10))
            + self.highest * when(is > was)
            + self.holding * f64::from(is.saturating_sub(8))
            + (self.corner + self.log_corner * f64::from(is)) * when(held)
            + self.empty * f64::from(after.empty_count())
            + if self.drops == 0.0 { 0.0 } else { self.drops * drops(after) }
    }
}

/// Powers of two lost from one tile to the next, along rows and columns.
fn drops<P: Position>(board: &P) -> f64 {
    let drop = |a: usize, b: usize| f64::from(board.exponent(a).saturating_sub(board.exponent(b)));
    let right = (0..P::CELLS).filter(|cell| cell % P::COLUMNS + 1 < P::COLUMNS).map(|cell| drop(cell, cell + 1));
    let down = (0..P::CELLS - P::COLUMNS).map(|cell| drop(cell, cell + P::COLUMNS));
    right.chain(down).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::{Board, board};

    #[test]
    fn terms_by_hand() {
        let before: Board = board!(256 256 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 2);
        let after = board!(512 0 0 0 / 0 0 0 0 / 0 0 0 0 / 2 0 0 0);
        let none = Reward { points: 0.0, ..Reward::POINTS };
        let of = |reward: Reward| reward.of(&before, &after, 512);
        assert_eq!(of(Reward::POINTS), 512.0);
        assert_eq!(of(none), 0.0);
        assert_eq!(of(Reward { log_points: 1.0, ..none }), 513f64.log2() as f32);
        assert_eq!(of(Reward { milestone: 7.0, ..none }), 7.0);
        assert_eq!(of(Reward { highest: 3.0, ..none }), 3.0);
        assert_eq!(of(Reward { holding: 2.0, ..none }), 2.0);
        assert_eq!(of(Reward { corner: 5.0, ..none }), 5.0);
        assert_eq!(of(Reward { log_corner: 1.0, ..none }), 9.0);
        assert_eq!(of(Reward { empty: 1.0, ..none }), 14.0);
        assert_eq!(of(Reward { drops: -1.0, ..none }), -19.0);
        assert_eq!(
            Reward { corner: 5.0, ..none }.of(&before, &board!(0 512 0 0 / 0 0 0 0 / 0 0 0 0 / 2 0 0 0), 0),
            0.0
        );
    }
}
