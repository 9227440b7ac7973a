//! Flat Monte-Carlo: random games from every legal move in turn; the move whose games earn most on average.

use std::time::{Duration, Instant};

use afterstate_board::{Position, Rng, SpawnRule, playout};
use afterstate_evaluator::Parameter;

use crate::clock::Clock;
use crate::{Agent, AgentRow, Budget, Decision};

/// Random games for a move if nothing says otherwise.
const DEFAULT_SIMULATIONS: u64 = 100;

struct FlatMonteCarlo {
    rule: SpawnRule,
    /// Used where the caller leaves the budget open.
    budget: Budget,
    simulations: Option<u64>,
    /// Moves of a random game at most.
    rollout_depth: u32,
}

impl<P: Position> Agent<P> for FlatMonteCarlo {
    fn decide(&mut self, position: &P, budget: &Budget, rng: &mut Rng) -> Decision {
        let began = Instant::now();
        let slides = position.slides();
        if slides.legal.is_empty() {
            return Decision::default();
        }
        let budget = budget.or(self.budget);
        let bounded = budget.time.is_some() || budget.nodes.is_some();
        let simulations = self.simulations.unwrap_or(if bounded { u64::MAX } else { DEFAULT_SIMULATIONS });
        let mut clock = Clock::until(budget.time.map(|time| began + time));
        let (mut nodes, mut deepest) = (0, 0);
        let (mut visits, mut totals) = ([0; 4], [0; 4]);
        for simulation in 0..simulations {
            let left = budget.nodes.map_or(u64::MAX, |limit| limit.saturating_sub(nodes));
            if left == 0 || clock.is_up() {
                break;
            }
            let direction = slides.legal.nth((simulation % slides.legal.len() as u64) as usize).index();
            let start = slides.after[direction].sample(&self.rule, rng);
            let limit = self.rollout_depth.min(u32::try_from(left - 1).unwrap_or(u32::MAX));
            let game = playout(start, limit, &self.rule, rng);
            visits[direction] += 1;
            totals[direction] += u64::from(slides.reward[direction]) + game.score;
            nodes += 1 + u64::from(game.moves);
            deepest = deepest.max(1 + game.moves);
        }
        let mean = |i: usize| (visits[i] > 0).then(|| totals[i] as f64 / visits[i] as f64);
        let decision = Decision::best_of(std::array::from_fn(mean), slides.legal, nodes, deepest);
        Decision { visits, ..decision }
    }

    fn unit(&self) -> &'static str {
        "points to come in random games, on average"
    }
}

pub(crate) const fn row<P: Position>() -> AgentRow<P> {
    const PARAMETERS: &[Parameter] = &[
        Parameter::optional("simulations", "random games for a move at most (100 without any budget)", 1, u64::MAX),
        Parameter::optional("ms", "milliseconds for a move at most", 1, 86_400_000),
        Parameter::optional("rollout_depth", "moves of a random game at most; unset to play to the end", 0, 1 << 31),
    ];
    AgentRow {
        name: "flat-mc",
        summary: "random games from every legal move; the one whose games earn most",
        parameters: PARAMETERS,
        build: |settings, _, context| {
            Ok(Box::new(FlatMonteCarlo {
                rule: context.rule,
                budget: Budget { time: settings.optional("ms").map(Duration::from_millis), ..Budget::OWN },
                simulations: settings.optional("simulations"),
                rollout_depth: settings.optional("rollout_depth").map_or(u32::MAX, |depth| depth as u32),
            }))
        },
    }
}
