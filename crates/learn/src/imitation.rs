//! What self-play with a search and imitation of a teacher have in common: a policy moves towards the moves that someone who looked
//! further thinks best, and the value towards what came of it.

use afterstate_board::{Direction, Position, Rng, Symmetry};

use crate::network::{Network, Rates};
use crate::ppo::chances;
use crate::replay::Lesson;

/// What batches had to say: sums, until they are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Errors {
    /// Lessons.
    pub count: f64,
    /// Cross-entropy between the moves wanted and the policy.
    pub surprise: f64,
    /// The entropy of the moves wanted: surprise can be no lower.
    pub entropy: f64,
    /// Squared errors of values.
    pub value: f64,
    /// Lessons in which the policy's best move is the one wanted most.
    pub agreed: f64,
}

impl Errors {
    pub fn numbers(&self) -> Vec<(&'static str, f64)> {
        let n = self.count.max(1.0);
        vec![
            ("surprise", self.surprise / n),
            ("entropy", self.entropy / n),
            ("agreed", self.agreed / n),
            ("value_error", (self.value / n).sqrt()),
        ]
    }
}

/// The gradient of cross-entropy and half the squared error of the value with respect to the outputs of a board.
#[inline]
pub(crate) fn gradient<P: Position>(
    outputs: &[f32],
    lesson: &Lesson<P>,
    value_weight: f32,
    out: &mut [f32],
    sum: &mut Errors,
) {
    // Moves that are wanted or not are the legal ones; those that nobody would want may be unlikely but are not masked.
    let legal = lesson.board.legal();
    let chances = chances(outputs, legal);
    let log = |chance: f32| f64::from(chance.max(1e-12)).ln();
    let (mut best, mut wanted) = (legal.nth(0), legal.nth(0));
    for d in legal.iter() {
        let i = d.index();
        out[i] = chances[i] - lesson.moves[i];
        sum.surprise -= f64::from(lesson.moves[i]) * log(chances[i]);
        sum.entropy -= f64::from(lesson.moves[i]) * log(lesson.moves[i]);
        best = if chances[i] > chances[best.index()] { d } else { best };
        wanted = if lesson.moves[i] > lesson.moves[wanted.index()] { d } else { wanted };
    }
    let error = outputs[4] - lesson.value;
    out[4] = value_weight * error;
    sum.value += f64::from(error * error);
    sum.agreed += f64::from(u8::from(best == wanted));
    sum.count += 1.0;
}

/// One batch.
pub(crate) fn learn<P: Position>(
    network: &mut dyn Network<P>,
    lessons: &[Lesson<P>],
    rates: Rates,
    value_weight: f32,
    sum: &mut Errors,
) {
    let boards: Vec<P> = lessons.iter().map(|lesson| lesson.board).collect();
    let count = network.role().outputs();
    network.learn(&boards, rates, &mut |outputs, all| {
        for ((lesson, outputs), out) in lessons.iter().zip(outputs.chunks_exact(count)).zip(all.chunks_exact_mut(count))
        {
            gradient(outputs, lesson, value_weight, out, sum);
        }
    });
}

/// An image of a lesson, its moves turned with the board.
pub(crate) fn turned<P: Position>(lesson: &Lesson<P>, rng: &mut Rng) -> Lesson<P> {
    let all = Symmetry::of_shape(P::ROWS, P::COLUMNS);
    let symmetry = all[rng.below(all.len() as u32) as usize];
    let mut moves = lesson.moves;
    for d in Direction::ALL {
        moves[symmetry.direction(d).index()] = lesson.moves[d.index()];
    }
    Lesson { board: lesson.board.transformed(symmetry), moves, value: lesson.value }
}
