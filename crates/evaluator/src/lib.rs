//! What is a position worth? Inference only: batches of afterstates in, values out.

mod catalogue;
mod empty;
mod parameter;
mod spec;

pub use catalogue::{BoxedEvaluator, EvaluatorRow, build, rows};
pub use parameter::{Kind, Parameter, Value};
pub use spec::{Settings, Spec, SpecError, hint};

use afterstate_board::{Afterstate, Position};

/// Judges afterstates. Values are in points still to come unless the evaluator's row says otherwise.
pub trait Evaluator<P: Position>: Send + Sync {
    /// Writes the value of each afterstate; both slices have the same length.
    fn evaluate(&self, boards: &[Afterstate<P>], values: &mut [f32]);

    /// The value of one afterstate.
    fn value(&self, board: &Afterstate<P>) -> f32 {
        let mut value = [0.0];
        self.evaluate(std::slice::from_ref(board), &mut value);
        value[0]
    }
}
