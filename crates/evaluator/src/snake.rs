//! Tiles weighed by powers along a snake that starts in a corner: the best of the snakes from all corners, both ways.

use std::sync::Arc;

use afterstate_board::{Afterstate, Position, Symmetry};

use crate::{Evaluator, EvaluatorRow, Parameter, Scale, Settings, SpecError};

struct Snake {
    ratio: f32,
    /// For each line of four: its tiles weighed from the first cell, and from the last. Empty on boards of other sizes.
    table: Arc<[[f32; 2]]>,
    /// The weight of the first cell of each line of four.
    heads: [f32; 4],
}

/// `2^exponent`, 0 for an empty cell.
fn tile(exponent: u8) -> f32 {
    if exponent == 0 { 0.0 } else { f32::from_bits((127 + u32::from(exponent)) << 23) }
}

impl Snake {
    fn new<P: Position>(ratio: f32) -> Self {
        let powers = [1.0, ratio, ratio * ratio, ratio * ratio * ratio];
        let entry = |line: usize| {
            let tiles: [f32; 4] = std::array::from_fn(|cell| tile((line >> (4 * cell) & 15) as u8));
            let from_end = |end: usize| (0..4).map(|i| tiles[i] * powers[i ^ end]).sum();
            [from_end(0), from_end(3)]
        };
        let lines = if (P::ROWS, P::COLUMNS) == (4, 4) { 1 << 16 } else { 0 };
        let head = powers[3] * ratio;
        let heads = [1.0, head, head * head, head * head * head];
        Self { ratio, table: (0..lines).map(entry).collect(), heads }
    }

    fn board_value<P: Position>(&self, board: &P) -> f32 {
        match board.lines() {
            Some(lines) if !self.table.is_empty() => {
                let ends = lines.map(|line| self.table[usize::from(line)]);
                let (rows, columns) = ends.split_at(4);
                self.best_way(rows).max(self.best_way(columns))
            }
            _ => self.plain_value(board),
        }
    }

    /// The best of the four snakes along these lines: first line or last line first, from either end.
    fn best_way(&self, lines: &[[f32; 2]]) -> f32 {
        let way = |reverse: usize, end: usize| -> f32 {
            (0..4).map(|i| self.heads[i] * lines[i ^ reverse][(i & 1) ^ end]).sum()
        };
        way(0, 0).max(way(0, 1)).max(way(3, 0)).max(way(3, 1))
    }

    /// Any size: each image of the board along the snake from its first cell.
    fn plain_value<P: Position>(&self, board: &P) -> f32 {
        let mut best = 0.0f32;
        for &symmetry in Symmetry::of_shape(P::ROWS, P::COLUMNS) {
            best = best.max(self.along_rows(&board.transformed(symmetry)));
        }
        if P::ROWS != P::COLUMNS {
            best = best.max(self.along_columns(board));
        }
        best
    }

    fn along_rows<P: Position>(&self, board: &P) -> f32 {
        let (mut weight, mut sum) = (1.0, 0.0);
        for step in 0..P::CELLS {
            let (row, column) = (step / P::COLUMNS, step % P::COLUMNS);
            let column = if row % 2 == 0 { column } else { P::COLUMNS - 1 - column };
            sum += weight * tile(board.exponent(row * P::COLUMNS + column));
            weight *= self.ratio;
        }
        sum
    }

    /// Boards that cannot be transposed: the snakes along the columns, from all corners.
    fn along_columns<P: Position>(&self, board: &P) -> f32 {
        let snake = |last_column: bool, bottom: bool| {
            let (mut weight, mut sum) = (1.0, 0.0);
            for step in 0..P::CELLS {
                let (i, j) = (step / P::ROWS, step % P::ROWS);
                let column = if last_column { P::COLUMNS - 1 - i } else { i };
                let row = if (i % 2 == 1) != bottom { P::ROWS - 1 - j } else { j };
                sum += weight * tile(board.exponent(row * P::COLUMNS + column));
                weight *= self.ratio;
            }
            sum
        };
        [(false, false), (false, true), (true, false), (true, true)]
            .map(|(c, r)| snake(c, r))
            .into_iter()
            .fold(0.0, f32::max)
    }
}

impl<P: Position> Evaluator<P> for Snake {
    fn evaluate(&self, boards: &[Afterstate<P>], values: &mut [f32]) {
        for (board, value) in boards.iter().zip(values) {
            *value = self.board_value(board.board());
        }
    }

    fn scale(&self) -> Scale {
        Scale { rewards: 0.0, lost: 0.0, unit: "tiles weighed along the best snake" }
    }
}

pub(crate) const fn row<P: Position>() -> EvaluatorRow<P> {
    const PARAMETERS: &[Parameter] =
        &[Parameter::number("ratio", "weight of a cell over that of the cell before it", 0.5, 0.01, 1.0)];
    EvaluatorRow {
        name: "snake",
        summary: "tiles weighed by powers along a snake from a corner, the best of all corners and ways",
        takes_file: false,
        parameters: PARAMETERS,
        build: |settings: &Settings, _| -> Result<_, SpecError> {
            Ok(Box::new(Snake::new::<P>(settings.number("ratio") as f32)))
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{close, random_boards, twin};
    use afterstate_board::{Grid, board};

    #[test]
    fn tables_hold_what_the_plain_sum_gives() {
        for ratio in [0.1, 0.5, 1.0] {
            let snake = Snake::new::<Grid<4, 4>>(ratio);
            for board in random_boards(2_000) {
                let (fast, plain) = (snake.board_value(&board), snake.plain_value(&twin(&board)));
                assert!(close(fast, plain), "{board}: {fast}, {plain}");
            }
        }
    }

    #[test]
    fn a_snake_by_hand() {
        let snake = Snake::new::<Grid<4, 4>>(0.5);
        let board = board!(0 0 0 0 / 0 0 0 0 / 0 0 2 4 / 64 32 16 8);
        assert_eq!(snake.board_value(&board), 64.0 + 16.0 + 4.0 + 1.0 + 0.25 + 0.0625);
        let flat: Grid<2, 3> = "2 4 0 / 16 8 0".parse().unwrap();
        let snake = Snake::new::<Grid<2, 3>>(0.5);
        assert_eq!(snake.board_value(&flat), 16.0 + 8.0 / 2.0 + 4.0 / 16.0 + 2.0 / 32.0); // along the rows
        let flat: Grid<2, 3> = "4 8 0 / 16 0 0".parse().unwrap();
        assert_eq!(snake.board_value(&flat), 16.0 + 4.0 / 2.0 + 8.0 / 4.0); // along the columns
    }
}
