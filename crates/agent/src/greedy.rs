//! One ply: the move whose points plus the worth of its afterstate are highest.

use afterstate_board::{Direction, Position, Rng};
use afterstate_evaluator::{Evaluator, Kind, Parameter};

use crate::{Agent, AgentRow, Budget, Decision};

struct Greedy<P: Position> {
    evaluator: Box<dyn Evaluator<P>>,
}

impl<P: Position> Agent<P> for Greedy<P> {
    fn decide(&mut self, position: &P, _: &Budget, _: &mut Rng) -> Decision {
        let slides = position.slides();
        self.evaluator.look_from(position);
        let worth = self.evaluator.slide_values(&slides);
        let rewards = self.evaluator.scale().rewards;
        let value = |d: Direction| f64::from(rewards * slides.reward[d.index()] as f32 + worth[d.index()]);
        let values = Direction::ALL.map(|d| slides.legal.contains(d).then(|| value(d)));
        Decision::best_of(values, slides.legal, 4, 0)
    }

    fn unit(&self) -> &'static str {
        self.evaluator.scale().unit
    }
}

pub(crate) const fn row<P: Position>() -> AgentRow<P> {
    const PARAMETERS: &[Parameter] = &[Parameter {
        name: "eval",
        summary: "what judges the afterstates",
        kind: Kind::Evaluator { default: "empty" },
    }];
    AgentRow {
        name: "greedy",
        summary: "one ply: points plus the worth of the afterstate",
        parameters: PARAMETERS,
        build: |_, evaluator, _| Ok(Box::new(Greedy { evaluator: evaluator()? })),
    }
}
