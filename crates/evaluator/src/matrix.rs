//! The "score matrix" of document S, as written and as people read it.
//!
//! As written it is a matrix product, and the columns of the matrix sum to zero: so does the product over all its cells, and
//! only the crowding term remains. The element-wise sibling weighs each cell by its own entry.

use afterstate_board::{Afterstate, Position};

use crate::{BoxedEvaluator, Evaluator, EvaluatorRow, Scale, SpecError};

/// The matrix of row S1: a snake from the bottom left, repelled from the top.
const MATRIX: [[i32; 4]; 4] = [[-16, -12, -8, -5], [-1, -2, -3, -4], [1, 2, 3, 4], [16, 12, 8, 5]];

/// What a tile in cell `(row, column)` counts for in the sum over the matrix product: row `k` of the board meets only column `k`
/// of the matrix.
const fn product_weights() -> [f32; 16] {
    let mut weights = [0.0; 16];
    let mut cell = 0;
    while cell < 16 {
        let k = cell / 4;
        weights[cell] = (MATRIX[0][k] + MATRIX[1][k] + MATRIX[2][k] + MATRIX[3][k]) as f32;
        cell += 1;
    }
    weights
}

const fn own_weights() -> [f32; 16] {
    let mut weights = [0.0; 16];
    let mut cell = 0;
    while cell < 16 {
        weights[cell] = MATRIX[cell / 4][cell % 4] as f32;
        cell += 1;
    }
    weights
}

/// A weight for each cell, less the square of the number of tiles over their sum.
struct Weighted {
    weights: [f32; 16],
    lost: f32,
}

impl Weighted {
    fn board_value<P: Position>(&self, board: &P) -> f32 {
        let (mut weighted, mut sum) = (0.0, 0.0);
        for (cell, weight) in self.weights.iter().enumerate() {
            let exponent = board.exponent(cell);
            let tile = if exponent == 0 { 0.0 } else { f32::from_bits((127 + u32::from(exponent)) << 23) }; // 2^exponent
            weighted += weight * tile;
            sum += tile;
        }
        let occupied = (16 - board.empty_count()) as f32;
        if sum > 0.0 { weighted - occupied * occupied / sum } else { 0.0 }
    }
}

impl<P: Position> Evaluator<P> for Weighted {
    fn evaluate(&self, boards: &[Afterstate<P>], values: &mut [f32]) {
        for (board, value) in boards.iter().zip(values) {
            *value = self.board_value(board.board());
        }
    }

    fn scale(&self) -> Scale {
        Scale { rewards: 0.0, lost: self.lost, unit: "score-matrix value of the board" }
    }
}

fn build<P: Position>(owner: &str, weights: [f32; 16], lost: f32) -> Result<BoxedEvaluator<P>, SpecError> {
    match (P::ROWS, P::COLUMNS) {
        (4, 4) => Ok(Box::new(Weighted { weights, lost })),
        (rows, columns) => Err(SpecError::WrongSize { owner: owner.to_owned(), rows, columns }),
    }
}

pub(crate) const fn product_row<P: Position>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: "score-matrix",
        summary: "document S as written: the sum over a matrix product (which vanishes) less crowding; 4x4 only",
        takes_file: false,
        parameters: &[],
        // Crowding is at most 16^2 / 32.
        build: |_, _| build("score-matrix", const { product_weights() }, -16.0),
    }
}

pub(crate) const fn elementwise_row<P: Position>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: "score-matrix-elementwise",
        summary: "document S as people read it: each tile times its entry of the matrix, less crowding; 4x4 only",
        takes_file: false,
        parameters: &[],
        // The top two rows full of 131072 would be worth -6.7 million.
        build: |_, _| build("score-matrix-elementwise", const { own_weights() }, -1e7),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_boards;
    use afterstate_board::{Board, Grid};

    /// Row S1 word for word: multiply the matrices, add up all cells, subtract the crowding.
    fn literal(board: &Board) -> f64 {
        let tile = |row: usize, column: usize| match board.exponent(4 * row + column) {
            0 => 0i64,
            e => 1 << e,
        };
        let cell = |row: usize, column: usize| (0..4).map(|k| i64::from(MATRIX[row][k]) * tile(k, column)).sum::<i64>();
        let product: [[i64; 4]; 4] = std::array::from_fn(|row| std::array::from_fn(|column| cell(row, column)));
        let occupied = 16 - i64::from(board.empty_count());
        product.as_flattened().iter().sum::<i64>() as f64 - (occupied * occupied) as f64 / board.tile_sum() as f64
    }

    fn evaluator(name: &str) -> BoxedEvaluator<Board> {
        crate::build(&name.parse().unwrap()).unwrap()
    }

    #[test]
    fn the_product_is_the_one_written_and_its_sum_vanishes() {
        let product = evaluator("score-matrix");
        for board in random_boards(2_000) {
            let (value, expected) = (f64::from(product.value(&Afterstate::new(board))), literal(&board));
            assert!((value - expected).abs() < 1e-6, "{board}: {value}, {expected}");
            let occupied = 16.0 - f64::from(board.empty_count());
            assert!((expected + occupied * occupied / board.tile_sum() as f64).abs() < 1e-9, "{board}");
        }
    }

    #[test]
    fn the_sibling_weighs_each_cell_by_its_own_entry() {
        let own = evaluator("score-matrix-elementwise");
        for board in random_boards(2_000) {
            let tiles = (0..16).filter(|&cell| board.exponent(cell) > 0);
            let sum: i64 = tiles.map(|cell| i64::from(MATRIX[cell / 4][cell % 4]) << board.exponent(cell)).sum();
            let occupied = 16.0 - f64::from(board.empty_count());
            let expected = sum as f64 - occupied * occupied / board.tile_sum() as f64;
            let value = f64::from(own.value(&Afterstate::new(board)));
            assert!((value - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{board}: {value}, {expected}");
        }
    }

    #[test]
    fn other_sizes_are_refused() {
        let error = crate::build::<Grid<3, 4>>(&"score-matrix".parse().unwrap()).err().unwrap();
        assert_eq!(error.to_string(), "score-matrix cannot play a 3x4 board");
        assert!(crate::build::<Grid<5, 5>>(&"score-matrix-elementwise".parse().unwrap()).is_err());
        assert_eq!(evaluator("score-matrix").value(&Afterstate::new(Board::empty())), 0.0);
    }
}
