//! One look at the position: a network that judges moves says which one, without looking at what they lead to.
//!
//! An evaluator that judges afterstates is asked for those instead, so that every evaluator makes a policy.

use afterstate_board::{Direction, Position, Rng};
use afterstate_evaluator::{Evaluator, Judgement, Kind, Parameter};

use crate::{Agent, AgentRow, Budget, Decision};

struct Policy<P: Position> {
    evaluator: Box<dyn Evaluator<P>>,
    /// Draw moves instead of taking the best: how far apart, in units of the judgement, preferences must be to matter.
    temperature: Option<f64>,
}

impl<P: Position> Policy<P> {
    /// What speaks for each move, and how many afterstates were looked at.
    fn preferences(&self, position: &P) -> ([f64; 4], u64) {
        if let Some(judge) = self.evaluator.moves() {
            let mut judgement = [Judgement::default()];
            judge.judge(std::slice::from_ref(position), &mut judgement);
            return (judgement[0].moves.map(f64::from), 1);
        }
        let slides = position.slides();
        let mut worth = [0.0; 4];
        self.evaluator.evaluate(&slides.after, &mut worth);
        let rewards = self.evaluator.scale().rewards;
        (Direction::ALL.map(|d| f64::from(rewards * slides.reward[d.index()] as f32 + worth[d.index()])), 4)
    }

    fn are_logits(&self) -> bool {
        self.evaluator.moves().is_some_and(|judge| judge.are_logits())
    }
}

/// The probabilities of legal moves under a softmax.
fn softmax(preferences: [Option<f64>; 4], temperature: f64) -> [Option<f64>; 4] {
    let most = preferences.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights = preferences.map(|p| p.map(|p| ((p - most) / temperature).exp()));
    let total: f64 = weights.iter().flatten().sum();
    weights.map(|weight| weight.map(|weight| weight / total))
}

impl<P: Position> Agent<P> for Policy<P> {
    fn decide(&mut self, position: &P, _: &Budget, rng: &mut Rng) -> Decision {
        let legal = position.legal();
        let (preferences, nodes) = self.preferences(position);
        let preferences = Direction::ALL.map(|d| legal.contains(d).then_some(preferences[d.index()]));
        let chances = softmax(preferences, self.temperature.unwrap_or(1.0));
        let values = if self.are_logits() { chances } else { preferences };
        let decision = Decision::best_of(values, legal, nodes, 0);
        if self.temperature.is_none() || legal.is_empty() {
            return decision;
        }
        let mut left = rng.unit();
        let drawn = legal.iter().find(|d| {
            left -= chances[d.index()].unwrap_or(0.0);
            left < 0.0
        });
        Decision { direction: drawn.or(decision.direction), ..decision }
    }

    fn unit(&self) -> &'static str {
        if self.are_logits() { "probability" } else { self.evaluator.scale().unit }
    }
}

pub(crate) const fn row<P: Position>() -> AgentRow<P> {
    const PARAMETERS: &[Parameter] = &[
        Parameter {
            name: "eval",
            summary: "the network that judges moves (of other evaluators, their afterstates are judged)",
            kind: Kind::Evaluator { default: "empty" },
        },
        Parameter {
            name: "sample",
            summary: "draw moves with their probabilities instead of playing the best",
            kind: Kind::Switch { default: false },
        },
        Parameter::number(
            "temperature",
            "how much a preference matters when drawing: less, the higher",
            1.0,
            1e-6,
            1e6,
        ),
    ];
    AgentRow {
        name: "policy",
        summary: "one forward pass of a network that judges moves: the best legal one, or drawn",
        parameters: PARAMETERS,
        build: |settings, evaluator, _| {
            let temperature = settings.switch("sample").then(|| settings.number("temperature"));
            Ok(Box::new(Policy { evaluator: evaluator()?, temperature }))
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::{Afterstate, Board, board};
    use afterstate_evaluator::MoveJudge;

    /// Prefers down to up to right to left.
    struct Fixed;

    impl Evaluator<Board> for Fixed {
        fn evaluate(&self, _: &[Afterstate<Board>], values: &mut [f32]) {
            values.fill(0.0);
        }

        fn moves(&self) -> Option<&dyn MoveJudge<Board>> {
            Some(self)
        }
    }

    impl MoveJudge<Board> for Fixed {
        fn judge(&self, _: &[Board], judgements: &mut [Judgement]) {
            judgements.fill(Judgement { moves: [0.0, 1.0, 2.0, 3.0], value: None });
        }

        fn are_logits(&self) -> bool {
            true
        }
    }

    #[test]
    fn only_legal_moves_have_a_probability() {
        let board: Board = board!(2 0 0 0 / 4 0 0 0 / 2 0 0 0 / 4 0 0 0); // only right changes it
        for temperature in [None, Some(1.0)] {
            let mut policy = Policy { evaluator: Box::new(Fixed), temperature };
            let decision = policy.decide(&board, &Budget::OWN, &mut Rng::new(1));
            assert_eq!((decision.direction, decision.values), (Some(Direction::Right), [None, Some(1.0), None, None]));
        }
    }

    #[test]
    fn draws_follow_the_softmax() {
        let board: Board = board!(0 0 0 0 / 0 2 0 0 / 0 0 0 0 / 0 0 0 0);
        let mut policy = Policy { evaluator: Box::new(Fixed), temperature: Some(1.0) };
        let (mut rng, mut counts) = (Rng::new(2), [0u32; 4]);
        for _ in 0..20_000 {
            let direction = policy.decide(&board, &Budget::OWN, &mut rng).direction.unwrap();
            counts[direction.index()] += 1;
        }
        let total: f64 = (0..4).map(|i| f64::from(i).exp()).sum();
        for (i, count) in counts.into_iter().enumerate() {
            let expected = 20_000.0 * (i as f64).exp() / total;
            assert!((f64::from(count) - expected).abs() < 4.0 * expected.sqrt(), "{i}: {count}, {expected}");
        }
        let mut best = Policy { evaluator: Box::new(Fixed), temperature: None };
        assert_eq!(best.decide(&board, &Budget::OWN, &mut rng).direction, Some(Direction::Down));
    }
}
