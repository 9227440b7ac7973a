//! Evaluators that are a sum over rows and columns, compiled into tables: a value costs eight loads.

use std::sync::{Arc, OnceLock};

use afterstate_board::{Afterstate, Position, Slides};

use crate::{Care, Evaluator, Scale};

/// The worth of one line: what [`LineTables`] are compiled from, and their slow twin on boards that tables do not cover.
pub trait LineValue: Send + Sync {
    /// The worth of a line given its exponents: a row from the left or a column from the top.
    fn line(&self, exponents: &[u8]) -> f32;

    /// How the values are to be used.
    fn scale(&self) -> Scale;

    /// As [`Evaluator::care`].
    fn care(&self) -> Care {
        Care::USUAL
    }

    /// As [`Evaluator::is_one_sided`].
    fn is_one_sided(&self) -> bool {
        false
    }
}

/// A [`LineValue`] as a table of 65,536 lines, the same for rows and columns. Cheap to clone.
#[derive(Clone)]
pub struct LineTables {
    table: Arc<[f32; TABLE]>,
    /// The same for lines of a 4x4 board with any tile, made when a tile of 65536 is first met.
    wide: Arc<OnceLock<Box<[f32]>>>,
    plain: Arc<dyn LineValue>,
    scale: Scale,
}

const TABLE: usize = 1 << 16;
/// Exponents of the tiles that a 4x4 board can hold, 0 to 17.
const TILES: usize = 18;

impl LineTables {
    /// Works out every entry.
    pub fn new(value: impl LineValue + 'static) -> Self {
        let entry = |i: usize| {
            let cells: [u8; 4] = std::array::from_fn(|cell| (i >> (4 * cell) & 15) as u8);
            value.line(&cells)
        };
        let table: Arc<[f32]> = (0..TABLE).map(entry).collect();
        let table = table.try_into().unwrap_or_else(|_| unreachable!("it was made with that length"));
        Self { table, wide: Arc::default(), scale: value.scale(), plain: Arc::new(value) }
    }

    /// The value of any board.
    #[inline(always)]
    pub fn board_value<P: Position>(&self, board: &P) -> f32 {
        match board.lines() {
            Some(lines) => self.sum(lines),
            None => self.wide_value(board),
        }
    }

    /// The sum of eight lines, added in pairs so that the additions overlap.
    #[inline(always)]
    fn sum(&self, lines: [u16; 8]) -> f32 {
        let of = |i: usize| self.table[usize::from(lines[i])];
        ((of(0) + of(1)) + (of(2) + of(3))) + ((of(4) + of(5)) + (of(6) + of(7)))
    }

    /// The value of a board that has no [`Position::lines`]: a tile of 65536 or more, or another size.
    #[cold]
    fn wide_value<P: Position>(&self, board: &P) -> f32 {
        if (P::ROWS, P::COLUMNS) != (4, 4) {
            return self.plain_value(board);
        }
        let wide = self.wide.get_or_init(|| {
            let digits = |i: usize| [1, TILES, TILES.pow(2), TILES.pow(3)].map(|place| (i / place % TILES) as u8);
            (0..TILES.pow(4)).map(|i| self.plain.line(&digits(i))).collect()
        });
        sum_of_lines(board, |cells| {
            let index = cells.iter().rev().fold(0, |index, &cell| index * TILES + usize::from(cell));
            // Tiles beyond those are not met in games, but a board can hold them.
            if cells.iter().all(|&cell| usize::from(cell) < TILES) { wide[index] } else { self.plain.line(cells) }
        })
    }

    /// The value without tables: any size, any tile.
    #[cold]
    pub fn plain_value<P: Position>(&self, board: &P) -> f32 {
        sum_of_lines(board, |cells| self.plain.line(cells))
    }
}

/// What the rows and columns of a board are worth, one after another.
fn sum_of_lines<P: Position>(board: &P, worth: impl Fn(&[u8]) -> f32) -> f32 {
    let lines = P::ROWS + P::COLUMNS;
    let mut values = [0.0; 10];
    for (line, value) in values.iter_mut().enumerate().take(lines) {
        let mut cells = [0; 5];
        let length = if line < P::ROWS { P::COLUMNS } else { P::ROWS };
        for (step, cell) in cells.iter_mut().enumerate().take(length) {
            let at = if line < P::ROWS { line * P::COLUMNS + step } else { step * P::COLUMNS + (line - P::ROWS) };
            *cell = board.exponent(at);
        }
        *value = worth(&cells[..length]);
    }
    values[..lines].iter().sum()
}

impl<P: Position> Evaluator<P> for LineTables {
    fn evaluate(&self, boards: &[Afterstate<P>], values: &mut [f32]) {
        for (board, value) in boards.iter().zip(values) {
            *value = self.board_value(board.board());
        }
    }

    #[inline(always)]
    fn value(&self, board: &Afterstate<P>) -> f32 {
        self.board_value(board.board())
    }

    #[inline(always)]
    fn slide_values(&self, slides: &Slides<P>) -> [f32; 4] {
        // All four without a branch: telling the legal ones apart would cost more than looking the others up.
        match slides.after.map(|after| after.board().lines()) {
            [Some(left), Some(right), Some(up), Some(down)] => [left, right, up, down].map(|lines| self.sum(lines)),
            _ => slides.after.map(|after| self.board_value(after.board())),
        }
    }

    fn scale(&self) -> Scale {
        self.scale
    }

    fn care(&self) -> Care {
        self.plain.care()
    }

    fn is_one_sided(&self) -> bool {
        self.plain.is_one_sided()
    }

    fn line_tables(&self) -> Option<&LineTables> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_boards;
    use afterstate_board::{Board, Direction, board};

    /// Depends on every cell of a line and on its place.
    struct Weighted;

    impl LineValue for Weighted {
        fn line(&self, exponents: &[u8]) -> f32 {
            exponents
                .iter()
                .zip([1.0, 2.5, 7.0, 0.3])
                .map(|(&exponent, weight)| f32::from(exponent).sqrt() * weight)
                .sum()
        }

        fn scale(&self) -> Scale {
            Scale::of_network(1.0)
        }
    }

    #[test]
    fn boards_with_the_largest_tiles_are_looked_up_to_the_last_bit() {
        let tables = LineTables::new(Weighted);
        let mut wide = 0;
        for large in [
            board!(65536 2 4 8 / 16 0 0 2 / 32 0 0 0 / 64 0 0 0),
            board!(131072 65536 32768 16384 / 2 4 8 16 / 0 0 0 0 / 0 2 0 131072),
            board!(131072 131072 4 8 / 2 4 8 16 / 0 0 0 0 / 0 2 0 0),
        ] {
            for direction in Direction::ALL {
                let Some(slide) = large.slide(direction) else { continue };
                let after: &Board = slide.after.board();
                wide += usize::from(after.lines().is_none());
                assert_eq!(tables.board_value(after), tables.plain_value(after), "{after}");
            }
        }
        assert!(wide > 3);
        for board in random_boards(200) {
            let (value, plain) = (tables.board_value(&board), tables.plain_value(&board));
            assert!((value - plain).abs() <= 1e-4 * plain.abs(), "{board}");
        }
    }
}
