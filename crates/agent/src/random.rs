//! Uniformly random legal moves: the floor that every other agent stands on.

use afterstate_board::{Position, Rng};

use crate::{Agent, AgentRow, Budget, Decision};

struct Random;

impl<P: Position> Agent<P> for Random {
    fn decide(&mut self, position: &P, _: &Budget, rng: &mut Rng) -> Decision {
        let legal = position.legal();
        let pick = rng.below(legal.len() as u32) as usize;
        Decision { direction: (!legal.is_empty()).then(|| legal.nth(pick)), ..Decision::default() }
    }

    fn unit(&self) -> &'static str {
        "none: moves are drawn"
    }
}

pub(crate) const fn row<P: Position>() -> AgentRow<P> {
    AgentRow {
        name: "random",
        summary: "uniformly random legal moves",
        parameters: &[],
        build: |_, _, _| Ok(Box::new(Random)),
    }
}
