//! The two evaluators that need no knowledge: nothing at all, and the number of empty cells.

use afterstate_board::{Afterstate, Position};

use crate::{Evaluator, EvaluatorRow, Parameter, Settings, SpecError};

/// Worth nothing: an agent with this evaluator sees only the points of its moves.
struct Zero;

impl<P: Position> Evaluator<P> for Zero {
    fn evaluate(&self, _: &[Afterstate<P>], values: &mut [f32]) {
        values.fill(0.0);
    }
}

/// The number of empty cells, times a weight in points.
struct Empty {
    weight: f32,
}

impl<P: Position> Evaluator<P> for Empty {
    fn evaluate(&self, boards: &[Afterstate<P>], values: &mut [f32]) {
        for (board, value) in boards.iter().zip(values) {
            *value = self.weight * board.empty_count() as f32;
        }
    }
}

pub(crate) const fn zero_row<P: Position>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: "zero",
        summary: "worth nothing: only the points of the moves count",
        takes_file: false,
        parameters: &[],
        build: |_: &Settings, _| Ok(Box::new(Zero)),
    }
}

pub(crate) const fn empty_row<P: Position>() -> EvaluatorRow<P> {
    const PARAMETERS: &[Parameter] = &[Parameter::number("weight", "points for each empty cell", 32.0, -1e9, 1e9)];
    EvaluatorRow {
        name: "empty",
        summary: "the number of empty cells",
        takes_file: false,
        parameters: PARAMETERS,
        build: |settings: &Settings, _| -> Result<_, SpecError> {
            Ok(Box::new(Empty { weight: settings.number("weight") as f32 }))
        },
    }
}
