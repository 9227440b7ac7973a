//! An option of every agent (row S2): now and then a uniformly random legal move instead of a considered one.

use afterstate_board::{Position, Rng};
use afterstate_evaluator::Parameter;

use crate::{Agent, BoxedAgent, Budget, Decision};

/// The probability of a random move.
pub(crate) const PARAMETER: Parameter =
    Parameter::number("epsilon", "probability of a uniformly random legal move", 0.0, 0.0, 1.0);

struct Epsilon<P: Position> {
    inner: BoxedAgent<P>,
    probability: f64,
}

/// The agent with random moves mixed in; the agent itself if there are none, so that its random numbers stay the same.
pub(crate) fn mixed<P: Position>(inner: BoxedAgent<P>, probability: f64) -> BoxedAgent<P> {
    if probability == 0.0 { inner } else { Box::new(Epsilon { inner, probability }) }
}

impl<P: Position> Agent<P> for Epsilon<P> {
    fn decide(&mut self, position: &P, budget: &Budget, rng: &mut Rng) -> Decision {
        if rng.unit() >= self.probability {
            return self.inner.decide(position, budget, rng);
        }
        let legal = position.legal();
        let pick = rng.below(legal.len() as u32) as usize;
        Decision { direction: (!legal.is_empty()).then(|| legal.nth(pick)), ..Decision::default() }
    }

    fn new_game(&mut self) {
        self.inner.new_game();
    }

    fn unit(&self) -> &'static str {
        self.inner.unit()
    }
}
