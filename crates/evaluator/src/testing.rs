//! Boards for the tests of evaluators.

use afterstate_board::{Board, Grid, Position, Rng};

/// Boards of all densities and of tiles up to 131072, one tile at least.
pub fn random_boards(count: usize) -> impl Iterator<Item = Board> {
    let mut rng = Rng::new(2048);
    (0..count).map(move |_| {
        let (tiles, high) = (1 + rng.below(16), 2 + rng.below(16));
        let board = (0..16).fold(Board::empty(), |board, cell| {
            let filled = rng.below(16) < tiles;
            board.with_exponent(cell, if filled { 1 + rng.below(high) as u8 } else { 0 })
        });
        if board.empty_count() == 16 { board.with_exponent(5, 1) } else { board }
    })
}

/// The same tiles on the plain grid.
pub fn twin(board: &Board) -> Grid<4, 4> {
    (0..16).fold(Grid::empty(), |grid, cell| grid.with_exponent(cell, board.exponent(cell)))
}

/// Equal but for rounding.
pub fn close(a: f32, b: f32) -> bool {
    (a - b).abs() <= 1e-5 * a.abs().max(b.abs()).max(1.0)
}
