//! The agent `puct`: a search for each move, a leaf judged at a time.

use std::time::{Duration, Instant};

use afterstate_board::{Direction, Position, Rng};
use afterstate_evaluator::{Evaluator, Judgement, Kind, Parameter};

use super::{Prior, Puct, PuctOptions, evenly, masked_softmax};
use crate::clock::Clock;
use crate::{Agent, AgentRow, Budget, Decision};

/// Simulations for a move if nothing says otherwise, as document Z's player has.
const DEFAULT_SIMULATIONS: u64 = 50;

struct PuctAgent<P: Position> {
    evaluator: Box<dyn Evaluator<P>>,
    search: Puct,
    budget: Budget,
    simulations: Option<u64>,
}

/// What an evaluator knows of a position: its own judgement of moves, or that of the afterstates.
pub(super) fn prior_of<P: Position>(evaluator: &dyn Evaluator<P>, position: &P) -> Prior {
    let slides = position.slides();
    let best = |values: [f32; 4], rewards: f32| {
        let worth = |d: Direction| rewards * slides.reward[d.index()] as f32 + values[d.index()];
        slides.legal.iter().map(worth).reduce(f32::max).unwrap_or(0.0)
    };
    let of_afterstates = || best(evaluator.slide_values(&slides), evaluator.scale().rewards);
    let Some(judge) = evaluator.moves() else {
        return Prior { moves: evenly(slides.legal), value: of_afterstates() };
    };
    let mut judgement = [Judgement::default()];
    judge.judge(std::slice::from_ref(position), &mut judgement);
    let Judgement { moves, value } = judgement[0];
    if judge.are_logits() {
        Prior { moves: masked_softmax(&moves, slides.legal), value: value.unwrap_or_else(of_afterstates) }
    } else {
        Prior { moves: evenly(slides.legal), value: value.unwrap_or_else(|| best(moves, 0.0)) }
    }
}

impl<P: Position> Agent<P> for PuctAgent<P> {
    fn decide(&mut self, position: &P, budget: &Budget, rng: &mut Rng) -> Decision {
        let began = Instant::now();
        let legal = position.legal();
        if legal.is_empty() {
            return Decision::default();
        }
        let budget = budget.or(self.budget);
        let bounded = budget.time.is_some() || budget.nodes.is_some();
        let simulations = self.simulations.unwrap_or(if bounded { u64::MAX } else { DEFAULT_SIMULATIONS });
        let mut clock = Clock::until(budget.time.map(|time| began + time));
        let most = budget.nodes.unwrap_or(u64::MAX);
        let lost = f64::from(self.evaluator.scale().lost);
        let (mut nodes, mut deepest) = (0, 0);
        self.search.begin(position, &prior_of(&*self.evaluator, position), [0.0; 4]);
        for _ in 0..simulations {
            // A descent goes at most one move deeper than any before it.
            if nodes + u64::from(deepest) + 1 > most || clock.is_up() {
                break;
            }
            let leaf = self.search.descend(position, rng);
            deepest = deepest.max(self.search.depth());
            nodes += u64::from(self.search.depth());
            if leaf.is_over() {
                self.search.end(lost);
            } else {
                self.search.tell(&prior_of(&*self.evaluator, &leaf));
            }
        }
        let best = Some(self.search.best()).filter(|&d| legal.contains(d)).or_else(|| legal.iter().next());
        Decision {
            direction: best,
            values: self.search.values(),
            visits: self.search.visits().map(u64::from),
            nodes,
            depth: deepest,
            ..Decision::default()
        }
    }

    fn unit(&self) -> &'static str {
        self.evaluator.scale().unit
    }
}

pub(crate) const fn row<P: Position>() -> AgentRow<P> {
    const PARAMETERS: &[Parameter] = &[
        Parameter::optional("simulations", "descents for a move at most (50 without any budget)", 1, u64::MAX),
        Parameter::optional("ms", "milliseconds for a move at most", 1, 86_400_000),
        Parameter::number("c", "how much priors count beside values", 1.5, 0.0, 1e6),
        Parameter {
            name: "spawn",
            summary: "sampled: drawn on every descent; explicit: averaged by their probabilities",
            kind: Kind::Choice { default: "sampled", options: &["sampled", "explicit"] },
        },
        Parameter {
            name: "root",
            summary: "puct: as below it; gumbel: sequential halving of its moves, for few simulations",
            kind: Kind::Choice { default: "puct", options: &["puct", "gumbel"] },
        },
        Parameter {
            name: "eval",
            summary: "the network that judges moves and positions (of other evaluators, the best afterstate)",
            kind: Kind::Evaluator { default: "empty" },
        },
    ];
    AgentRow {
        name: "puct",
        summary: "tree search guided by a network's priors and values (AlphaZero)",
        parameters: PARAMETERS,
        build: |settings, evaluator, context| {
            let evaluator = evaluator()?;
            let simulations = settings.optional("simulations");
            let planned = u32::try_from(simulations.unwrap_or(DEFAULT_SIMULATIONS)).unwrap_or(u32::MAX);
            let options = PuctOptions {
                c: settings.number("c"),
                explicit: settings.word("spawn") == "explicit",
                gumbel: (settings.word("root") == "gumbel").then_some(planned),
                rewards: f64::from(evaluator.scale().rewards),
                rule: context.rule,
            };
            let budget = Budget { time: settings.optional("ms").map(Duration::from_millis), ..Budget::OWN };
            Ok(Box::new(PuctAgent { evaluator, search: Puct::new(options), budget, simulations }))
        },
    }
}
