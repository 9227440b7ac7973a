//! Flat Monte-Carlo: random games from every legal move in turn; the move whose games earn most on average.

use std::time::{Duration, Instant};

use afterstate_board::{Position, Rng, SpawnRule};
use afterstate_evaluator::Parameter;

use crate::{Agent, AgentRow, Budget, Decision};

/// Random games for a move if nothing says otherwise.
const DEFAULT_SIMULATIONS: u64 = 100;

/// Games played together.
const BATCH: usize = 512;

/// A batch that takes longer may miss a deadline.
const QUICK: Duration = Duration::from_micros(300);

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
        let deadline = budget.time.map(|time| began + time);
        // Games together take what they take: under a deadline few at first, with a node budget one at a time.
        let mut together = match (budget.nodes, deadline) {
            (Some(_), _) => 1,
            (None, Some(_)) => BATCH / 32,
            (None, None) => BATCH,
        };
        let (mut nodes, mut done) = (0, 0);
        let (mut visits, mut totals) = ([0; 4], [0; 4]);
        let mut scores = [0; BATCH];
        while done < simulations {
            let left = budget.nodes.map_or(u64::MAX, |limit| limit.saturating_sub(nodes));
            let now = Instant::now();
            if left == 0 || deadline.is_some_and(|deadline| now >= deadline) {
                break;
            }
            let count = (simulations - done).min(together as u64);
            let limit = self.rollout_depth.min(u32::try_from(left - 1).unwrap_or(u32::MAX));
            let direction = |i: u64| slides.legal.nth((i % slides.legal.len() as u64) as usize).index();
            let starts: Vec<P> =
                (done..done + count).map(|i| slides.after[direction(i)].sample(&self.rule, rng)).collect();
            nodes += count + P::random_games(&starts, limit, &self.rule, rng, &mut scores[..count as usize]);
            for (i, score) in (done..done + count).zip(&scores) {
                visits[direction(i)] += 1;
                totals[direction(i)] += u64::from(slides.reward[direction(i)]) + score;
            }
            done += count;
            if deadline.is_some() && budget.nodes.is_none() {
                together = if now.elapsed() < QUICK { (2 * together).min(BATCH) } else { (together / 2).max(1) };
            }
        }
        let mean = |i: usize| (visits[i] > 0).then(|| totals[i] as f64 / visits[i] as f64);
        let decision =
            Decision::best_of(std::array::from_fn(mean), slides.legal, nodes, nodes.div_ceil(done.max(1)) as u32);
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
