//! The published networks, trained with a deep-learning framework. The only crate that knows it: the rest of the program plays these
//! networks without. [`more`] is what a program hands to [`afterstate_learn::network::add`] so that learners find them by name.

pub mod device;
pub mod graph;
#[cfg(test)]
mod tests;
mod trained;

pub use trained::Trained;

use std::any::{Any, TypeId};

use afterstate_board::{Board, Grid, Position};
use afterstate_evaluator::Parameter;
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

/// The parameters of the `N`-th architecture, `K` with the one that only training has.
const fn with_device<const N: usize, const K: usize>() -> [Parameter; K] {
    let mut parameters = [device::PARAMETER; K];
    let mut i = 0;
    while i + 1 < K {
        parameters[i] = ROWS[N].parameters[i];
        i += 1;
    }
    parameters
}

const PARAMETERS: [&[Parameter]; 4] = [
    &with_device::<0, { ROWS[0].parameters.len() + 1 }>(),
    &with_device::<1, { ROWS[1].parameters.len() + 1 }>(),
    &with_device::<2, { ROWS[2].parameters.len() + 1 }>(),
    &with_device::<3, { ROWS[3].parameters.len() + 1 }>(),
];

/// The row of the `N`-th architecture.
const fn row<P: Position, const N: usize>() -> NetworkRow<P> {
    NetworkRow {
        name: ROWS[N].name,
        summary: ROWS[N].summary,
        parameters: PARAMETERS[N],
        make: |settings, wanted| {
            let mut model = Model::random(&ROWS[N], settings, (wanted.role, wanted.unit), wanted.seed)?;
            model.rewards = wanted.rewards;
            Ok(Box::new(Trained::new(model, device::named(settings.word("device"))?, wanted.seed)))
        },
    }
}
