//! Evaluators that are a sum over rows and columns, compiled into tables: a value costs eight loads.

use std::sync::Arc;

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
    plain: Arc<dyn LineValue>,
    scale: Scale,
}

const TABLE: usize = 1 << 16;

impl LineTables {
    /// Works out every entry.
    pub fn new(value: impl LineValue + 'static) -> Self {
        let entry = |i: usize| {
            let cells: [u8; 4] = std::array::from_fn(|cell| (i >> (4 * cell) & 15) as u8);
            value.line(&cells)
        };
        let table: Arc<[f32]> = (0..TABLE).map(entry).collect();
        let table = table.try_into().unwrap_or_else(|_| unreachable!("it was made with that length"));
        Self { table, scale: value.scale(), plain: Arc::new(value) }
    }

    /// The value of any board.
    #[inline(always)]
    pub fn board_value<P: Position>(&self, board: &P) -> f32 {
        match board.lines() {
            Some(lines) => self.sum(lines),
            None => self.plain_value(board),
        }
    }

    /// The sum of eight lines, added in pairs so that the additions overlap.
    #[inline(always)]
    fn sum(&self, lines: [u16; 8]) -> f32 {
        let of = |i: usize| self.table[usize::from(lines[i])];
        ((of(0) + of(1)) + (of(2) + of(3))) + ((of(4) + of(5)) + (of(6) + of(7)))
    }

    /// The value without tables: any size, any tile.
    #[cold]
    pub fn plain_value<P: Position>(&self, board: &P) -> f32 {
        let lines = P::ROWS + P::COLUMNS;
        let mut values = [0.0; 10];
        for (line, value) in values.iter_mut().enumerate().take(lines) {
            let mut cells = [0; 5];
            let length = if line < P::ROWS { P::COLUMNS } else { P::ROWS };
            for (step, cell) in cells.iter_mut().enumerate().take(length) {
                let at = if line < P::ROWS { line * P::COLUMNS + step } else { step * P::COLUMNS + (line - P::ROWS) };
                *cell = board.exponent(at);
            }
            *value = self.plain.line(&cells[..length]);
        }
        values[..lines].iter().sum()
    }
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
