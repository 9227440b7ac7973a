//! The published networks, trained with a deep-learning framework. The only crate that knows it: the rest of the program plays these
//! networks without. [`more`] is what a program hands to [`afterstate_learn::network::add`] so that learners find them by name.

pub mod graph;
#[cfg(test)]
mod tests;
mod trained;

pub use trained::Trained;

use std::any::{Any, TypeId};

use afterstate_board::{Board, Grid, Position};
use afterstate_evaluator::networks::{Model, ROWS};
use afterstate_learn::network::NetworkRow;

/// The rows of all published networks for boards of one type; they are for 4x4 boards only.
pub fn more(position: TypeId) -> Option<&'static dyn Any> {
    static BOARD: &[NetworkRow<Board>] = &[row::<Board, 0>(), row::<Board, 1>(), row::<Board, 2>(), row::<Board, 3>()];
    static GRID: &[NetworkRow<Grid<4, 4>>] =
        &[row::<Grid<4, 4>, 0>(), row::<Grid<4, 4>, 1>(), row::<Grid<4, 4>, 2>(), row::<Grid<4, 4>, 3>()];
    match position {
        p if p == TypeId::of::<Board>() => Some(&BOARD),
        p if p == TypeId::of::<Grid<4, 4>>() => Some(&GRID),
        _ => None,
    }
}

/// The row of the `N`-th architecture.
const fn row<P: Position, const N: usize>() -> NetworkRow<P> {
    NetworkRow {
        name: ROWS[N].name,
        summary: ROWS[N].summary,
        parameters: ROWS[N].parameters,
        make: |settings, wanted| {
            let mut model = Model::random(&ROWS[N], settings, (wanted.role, wanted.unit), wanted.seed)?;
            model.rewards = wanted.rewards;
            Ok(Box::new(Trained::new(model, wanted.seed)))
        },
    }
}
