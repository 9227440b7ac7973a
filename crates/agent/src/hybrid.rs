//! A learned value with hand-made features beside it (row T6): empty cells, order, smoothness and the largest tile in a corner.

use afterstate_board::{Afterstate, Position};
use afterstate_evaluator::{BoxedEvaluator, Evaluator, LineTables, LineValue, Parameter, Scale, Settings};

/// The weights of the features, in the unit of the evaluator beside them.
pub(crate) const PARAMETERS: [Parameter; 5] = [
    Parameter::number("w_value", "hybrid: times the evaluator's value", 1.0, 0.0, 1e6),
    Parameter::number("w_empty", "hybrid: for each empty cell", 10.0, 0.0, 1e6),
    Parameter::number("w_mono", "hybrid: against each step of a line the wrong way, in powers of two", 2.0, 0.0, 1e6),
    Parameter::number("w_smooth", "hybrid: against each step between neighbours, in powers of two", 0.5, 0.0, 1e6),
    Parameter::number("w_corner", "hybrid: for the largest tile in a corner, times its power of two", 5.0, 0.0, 1e6),
];

/// The part of the features that is a sum over lines.
struct Lines {
    empty: f32,
    mono: f32,
    smooth: f32,
    /// A value that no line is below.
    floor: f32,
}

impl LineValue for Lines {
    fn line(&self, cells: &[u8]) -> f32 {
        let empty = cells.iter().filter(|&&e| e == 0).count() as f32;
        let (mut up, mut down, mut steps) = (0.0, 0.0, 0.0);
        for pair in cells.windows(2) {
            let step = f32::from(pair[1]) - f32::from(pair[0]);
            if step > 0.0 {
                up += step
            } else {
                down -= step
            }
            if pair[0] > 0 && pair[1] > 0 {
                steps += step.abs();
            }
        }
        // Every cell lies on two lines.
        0.5 * self.empty * empty - self.mono * f32::min(up, down) - self.smooth * steps
    }

    fn scale(&self) -> Scale {
        Scale { rewards: 0.0, lost: self.floor, unit: "weighted features" }
    }
}

/// An evaluator with features beside it.
pub(crate) struct Hybrid<P: Position> {
    inner: BoxedEvaluator<P>,
    weight: f32,
    lines: LineTables,
    corner: f32,
    scale: Scale,
}

impl<P: Position> Hybrid<P> {
    /// Weights as in [`PARAMETERS`].
    pub fn new(inner: BoxedEvaluator<P>, settings: &Settings) -> Self {
        let weight = |name| settings.number(name) as f32;
        // The steps of a line add up to at most this many powers of two.
        let steps = 31.0 * P::ROWS.max(P::COLUMNS) as f32;
        let (empty, mono, smooth) = (weight("w_empty"), weight("w_mono"), weight("w_smooth"));
        let floor = -(mono + smooth) * steps;
        let lost = weight("w_value") * inner.scale().lost + floor * (P::ROWS + P::COLUMNS) as f32;
        let scale = Scale {
            rewards: weight("w_value") * inner.scale().rewards,
            lost,
            unit: "weighted value and features of the board",
        };
        let lines = LineTables::new(Lines { empty, mono, smooth, floor });
        Self { inner, weight: weight("w_value"), lines, corner: weight("w_corner"), scale }
    }

    fn features(&self, board: &P) -> f32 {
        let largest = board.max_exponent();
        let last = P::CELLS - 1;
        let corners = [0, P::COLUMNS - 1, last + 1 - P::COLUMNS, last];
        let held = corners.iter().any(|&cell| board.exponent(cell) == largest);
        self.lines.board_value(board) + if held { self.corner * f32::from(largest) } else { 0.0 }
    }
}

impl<P: Position> Evaluator<P> for Hybrid<P> {
    fn evaluate(&self, boards: &[Afterstate<P>], values: &mut [f32]) {
        self.inner.evaluate(boards, values);
        for (board, value) in boards.iter().zip(values) {
            *value = self.weight * *value + self.features(board.board());
        }
    }

    fn scale(&self) -> Scale {
        self.scale
    }

    fn look_from(&mut self, root: &P) -> bool {
        self.inner.look_from(root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::{Board, board};
    use afterstate_evaluator::Spec;

    /// The value with one weight set to 1 and all others to 0.
    fn alone(weight: &str, board: &Board) -> f32 {
        let weights = PARAMETERS.map(|p| format!("{}={}", p.name, u8::from(p.name == weight)));
        let spec: Spec = format!("hybrid:{}", weights.join(",")).parse().unwrap();
        let inner = afterstate_evaluator::build(&"empty:weight=3".parse().unwrap()).unwrap();
        Hybrid::new(inner, &spec.settings(&PARAMETERS).unwrap()).value(&Afterstate::new(*board))
    }

    #[test]
    fn features_by_hand() {
        let board = board!(2 16 4 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 16);
        assert_eq!(alone("w_value", &board), 36.0);
        assert_eq!(alone("w_empty", &board), 12.0);
        assert_eq!(alone("w_mono", &board), -3.0);
        assert_eq!(alone("w_smooth", &board), -5.0);
        assert_eq!(alone("w_corner", &board), 4.0);
        assert_eq!(alone("w_corner", &board!(2 16 4 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 8)), 0.0);
    }
}
