//! Where each tile goes in a move: what an animation needs and a board before and after cannot tell.

use crate::{Direction, Position};

/// The way of one tile in a move. A tile that stays where it is has one too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shift {
    /// The cell it leaves.
    pub from: u8,
    /// The cell it ends in.
    pub to: u8,
    /// Its exponent before the move.
    pub exponent: u8,
    /// True for both tiles of a merge: they end in one cell as one tile of the next exponent.
    pub merges: bool,
}

/// The ways of all tiles when they slide in a direction, whether or not that changes anything.
///
/// ```
/// use afterstate_board::{Direction, board, shifts};
/// let shifts = shifts(&board!(2 0 2 4 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0), Direction::Left);
/// let ways: Vec<_> = shifts.iter().map(|s| (s.from, s.to, s.merges)).collect();
/// assert_eq!(ways, [(0, 0, true), (2, 0, true), (3, 1, false)]);
/// ```
pub fn shifts<P: Position>(board: &P, direction: Direction) -> Vec<Shift> {
    let (lines, length) = if direction.is_horizontal() { (P::ROWS, P::COLUMNS) } else { (P::COLUMNS, P::ROWS) };
    let backwards = matches!(direction, Direction::Right | Direction::Down);
    let mut all = Vec::with_capacity(P::CELLS);
    for line in 0..lines {
        let cell = |step: usize| {
            let along = if backwards { length - 1 - step } else { step };
            if direction.is_horizontal() { line * P::COLUMNS + along } else { along * P::COLUMNS + line }
        };
        // The index in `all` of the last tile, while it may still merge.
        let mut partner: Option<usize> = None;
        let mut filled = 0;
        for (from, exponent) in (0..length).map(cell).map(|from| (from, board.exponent(from))).filter(|(_, e)| *e > 0) {
            let merges =
                partner.is_some_and(|last: usize| all.get(last).is_some_and(|s: &Shift| s.exponent == exponent));
            if merges {
                filled -= 1;
            }
            all.push(Shift { from: from as u8, to: cell(filled) as u8, exponent, merges });
            filled += 1;
            let index = all.len() - 1;
            if merges {
                all[index - 1].merges = true;
            }
            partner = (!merges).then_some(index);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Board, Grid, Rng, SpawnRule};

    /// The board that the shifts lead to.
    fn shifted<P: Position>(board: &P, direction: Direction) -> P {
        let mut after = P::empty();
        for shift in shifts(board, direction) {
            after = after.with_exponent(usize::from(shift.to), shift.exponent + u8::from(shift.merges));
        }
        after
    }

    fn agrees_with_the_rules<P: Position>(seed: u64) {
        let (rule, mut rng) = (SpawnRule::CLASSIC, Rng::new(seed));
        let mut board = P::start(&rule, &mut rng);
        while !board.is_over() {
            for direction in Direction::ALL {
                let after = board.slide(direction).map_or(board, |slide| *slide.after.board());
                assert_eq!(shifted(&board, direction), after, "{board} {direction}");
                let merged: u32 = shifts(&board, direction)
                    .iter()
                    .filter(|shift| shift.merges)
                    .map(|shift| 1 << shift.exponent)
                    .sum();
                assert_eq!(merged, board.slide(direction).map_or(0, |slide| slide.reward), "{board} {direction}");
            }
            let legal = board.legal();
            let direction = legal.nth(rng.below(legal.len() as u32) as usize);
            board = board.slide(direction).unwrap().after.sample(&rule, &mut rng);
        }
    }

    #[test]
    fn shifts_lead_where_the_rules_lead() {
        for seed in 0..20 {
            agrees_with_the_rules::<Board>(seed);
            agrees_with_the_rules::<Grid<2, 3>>(seed);
            agrees_with_the_rules::<Grid<5, 5>>(seed);
        }
    }
}
