//! Tiles that fall along every row and column from one corner: the order in which a block of large tiles builds up there and stays. The
//! formula and its factors are those of the program `macroxue/2048-ai`.

use afterstate_board::Position;

use crate::lines::{LineTables, LineValue};
use crate::{Care, EvaluatorRow, Parameter, Scale, Settings, SpecError};

struct Corner {
    /// How much faster than the tile itself its weight grows.
    power: f32,
    /// What a step up counts against a step down.
    rise: f32,
    /// What a pair of equal tiles counts beside its tiles.
    pair: f32,
    /// For each empty cell.
    empty: f32,
    lost: f32,
}

/// A move that much below the best one displaces large tiles, and is hardly ever the right one. 4s count: they bring large tiles out of
/// their order, and a few tight positions decide a game.
const CARE: Care = Care { margin: 40_000.0, rare: 2, room: 6 };

impl Corner {
    /// What a tile weighs; with a power of 1 what it takes to build it, `e * 2^e` for the exponent `e`.
    fn mass(&self, exponent: u8) -> f32 {
        match exponent {
            0 => 0.0,
            _ => f32::from(exponent).powf(self.power) * (1u64 << exponent) as f32,
        }
    }
}

impl LineValue for Corner {
    fn line(&self, exponents: &[u8]) -> f32 {
        let step = |pair: &[u8]| match (self.mass(pair[0]), self.mass(pair[1])) {
            (first, next) if first < next => self.rise * (first - next),
            (first, next) if first == next => (2.0 + self.pair) * first,
            (first, next) => first + next,
        };
        let empty = exponents.iter().filter(|&&exponent| exponent == 0).count() as f32;
        self.mass(exponents[0]) + self.empty * empty + exponents.windows(2).map(step).sum::<f32>()
    }

    fn scale(&self) -> Scale {
        Scale { rewards: 0.0, lost: self.lost, unit: "order around the corner" }
    }

    fn care(&self) -> Care {
        CARE
    }

    fn is_one_sided(&self) -> bool {
        true
    }
}

pub(crate) const fn row<P: Position>() -> EvaluatorRow<P> {
    const PARAMETERS: &[Parameter] = &[
        Parameter::number("power", "a tile weighs itself times its exponent to this power", 1.0, -10.0, 10.0),
        Parameter::number("rise", "what a step up counts against a step down", 12.0, 0.0, 1000.0),
        Parameter::number("pair", "what two equal neighbours count beside their tiles", 1.0, -10.0, 100.0),
        Parameter::number("empty", "for each empty cell", 0.0, -1e6, 1e6),
        Parameter::number("lost", "a lost game", -250_000.0, -1e9, 0.0),
    ];
    EvaluatorRow {
        name: "corner",
        summary: "tiles that fall along every line from one corner, weighed by what it takes to build them",
        takes_file: false,
        parameters: PARAMETERS,
        build: |settings: &Settings, _| -> Result<_, SpecError> {
            let number = |name| settings.number(name) as f32;
            let (power, rise, pair) = (number("power"), number("rise"), number("pair"));
            let (empty, lost) = (number("empty"), number("lost"));
            Ok(Box::new(LineTables::new(Corner { power, rise, pair, empty, lost })))
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{close, random_boards, twin};

    const CORNER: Corner = Corner { power: 1.0, rise: 12.0, pair: 1.0, empty: 5.0, lost: -1.0 };

    #[test]
    fn lines_by_hand() {
        let mass = |exponent: u8| f32::from(exponent) * 2f32.powi(i32::from(exponent));
        // 8 4 4 0: falls, a pair, falls to an empty cell.
        let falling = mass(3) + (mass(3) + mass(2)) + 3.0 * mass(2) + mass(2) + 5.0;
        assert_eq!(CORNER.line(&[3, 2, 2, 0]), falling);
        // 2 8 0 0: rises by 22, then falls; two empty cells are a pair of nothing.
        assert_eq!(CORNER.line(&[1, 3, 0, 0]), mass(1) - 12.0 * (mass(3) - mass(1)) + mass(3) + 2.0 * 5.0);
    }

    #[test]
    fn tables_hold_what_the_plain_sum_gives() {
        let tables = LineTables::new(CORNER);
        for board in random_boards(2_000) {
            let (fast, plain) = (tables.board_value(&board), tables.plain_value(&twin(&board)));
            assert!(close(fast, plain), "{board}: {fast}, {plain}");
        }
    }

    #[test]
    fn one_corner_is_better_than_the_others() {
        let tables = LineTables::new(CORNER);
        let board: afterstate_board::Board = "64 32 8 2 / 16 8 2 0 / 4 2 0 0 / 2 0 0 0".parse().unwrap();
        let values =
            afterstate_board::Symmetry::of_shape(4, 4).iter().map(|&s| tables.board_value(&board.transformed(s)));
        let values: Vec<f32> = values.collect();
        let best = values.iter().filter(|&&value| value == tables.board_value(&board)).count();
        assert!(best <= 2 && values.iter().all(|&value| value <= tables.board_value(&board)), "{values:?}");
    }
}
