//! Monte-Carlo tree search in two settings of one machine: `uct` as in document S (row S3), `mcts` as in document P (row P2).

use std::time::{Duration, Instant};

use afterstate_board::{Position, Rng, SpawnRule};
use afterstate_evaluator::{BoxedEvaluator, Evaluator, Kind, LineTables, Parameter, Settings};

use crate::clock::Clock;
use crate::rollout::{Guide, Returns, Rollout};
use crate::tree::{Rules, Select, Spawns, Tree, Ucb1};
use crate::{Agent, AgentRow, BoxedAgent, Budget, Context, Decision};

/// Simulations for a move if nothing says otherwise.
const DEFAULT_SIMULATIONS: u64 = 100;

struct TreeSearch<E, S> {
    rollout: Rollout<E>,
    rules: Rules,
    select: S,
    /// Used where the caller leaves the budget open.
    budget: Budget,
    simulations: Option<u64>,
    tree: Tree,
    unit: &'static str,
}

impl<P: Position, E: Evaluator<P>, S: Select + Send> Agent<P> for TreeSearch<E, S> {
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
        let (mut nodes, mut deepest) = (0, 0);
        let most = budget.nodes.unwrap_or(u64::MAX);
        self.tree.clear();
        for _ in 0..simulations {
            // A descent goes at most one move deeper than any before it.
            if nodes + u64::from(deepest) + 1 > most || clock.is_up() {
                break;
            }
            let leaf = self.tree.descend(position, &self.rules, &self.select, rng);
            deepest = deepest.max(self.tree.depth());
            nodes += u64::from(self.tree.depth());
            // Counted from the root, or longer descents would seem to earn more.
            let depth = self.rollout.depth.saturating_sub(self.tree.depth());
            let limit = u32::try_from(most - nodes).unwrap_or(u32::MAX).min(depth);
            let outcome = self.rollout.run(&leaf, limit, rng);
            nodes += u64::from(outcome.moves);
            self.tree.backup(outcome.value);
        }
        let moves = &self.tree.root().moves;
        let mut decision = Decision::best_of(moves.map(|chance| chance.values.mean()), legal, nodes, deepest);
        decision.visits = moves.map(|chance| u64::from(chance.values.visits));
        decision
    }

    fn unit(&self) -> &'static str {
        self.unit
    }
}

const SIMULATIONS: Parameter =
    Parameter::optional("simulations", "descents for a move at most (100 without any budget)", 1, u64::MAX);
const MS: Parameter = Parameter::optional("ms", "milliseconds for a move at most", 1, 86_400_000);

/// How the two agents differ.
struct Manner {
    guide: Guide,
    returns: Returns,
    judge_lost: bool,
}

fn build<P: Position>(
    settings: &Settings,
    evaluator: BoxedEvaluator<P>,
    context: &Context,
    manner: Manner,
) -> BoxedAgent<P> {
    fn boxed<P: Position, E: Evaluator<P> + 'static>(
        evaluator: E,
        rule: SpawnRule,
        manner: Manner,
        settings: &Settings,
    ) -> BoxedAgent<P> {
        let Manner { guide, returns, judge_lost } = manner;
        let depth = settings.optional("rollout_depth").map_or(u32::MAX, |depth| depth as u32);
        let rollout = Rollout { evaluator, rule, depth, guide, returns, judge_lost };
        Box::new(TreeSearch {
            rules: Rules {
                rule,
                spawns: Spawns::named(settings.word("spawns")),
                rewards: rollout.rewards(),
                horizon: if returns == Returns::Points { depth.max(1) } else { u32::MAX },
            },
            unit: rollout.unit(),
            rollout,
            select: Ucb1 { c: settings.number("c") },
            budget: Budget { time: settings.optional("ms").map(Duration::from_millis), ..Budget::OWN },
            simulations: settings.optional("simulations"),
            tree: Tree::default(),
        })
    }
    // Sums over lines are looked up in place; anything else through the trait object.
    match evaluator.line_tables().cloned() {
        Some(tables) => boxed::<P, LineTables>(tables, context.rule, manner, settings),
        None => boxed::<P, BoxedEvaluator<P>>(evaluator, context.rule, manner, settings),
    }
}

/// Row S3.
pub(crate) const fn uct_row<P: Position>() -> AgentRow<P> {
    const PARAMETERS: &[Parameter] = &[
        SIMULATIONS,
        MS,
        Parameter::number("c", "exploration, in standard deviations of the values", 3.0, 0.0, 1e6),
        Parameter::optional(
            "rollout_depth",
            "moves from the root to the end of a random rollout at most; unset to play to the end",
            0,
            1 << 31,
        ),
        Parameter {
            name: "spawns",
            summary: "sampled: drawn, a node each; pooled: drawn, one node for all; selected: by UCB1, with the move",
            kind: Kind::Choice { default: "sampled", options: Spawns::NAMES },
        },
        Parameter {
            name: "judge_lost",
            summary: "judge a finished game by its board, as document S does",
            kind: Kind::Switch { default: false },
        },
        Parameter {
            name: "eval",
            summary: "what judges the last position of a rollout",
            kind: Kind::Evaluator { default: "zero" },
        },
    ];
    AgentRow {
        name: "uct",
        summary: "UCB1 tree search over (move, spawn), leaves judged by an evaluator or random rollouts",
        parameters: PARAMETERS,
        build: |settings, evaluator, context| {
            let judge_lost = settings.switch("judge_lost");
            let manner = Manner { guide: Guide::Chance, returns: Returns::Value, judge_lost };
            Ok(build(settings, evaluator()?, context, manner))
        },
    }
}

/// Row P2.
pub(crate) const fn mcts_row<P: Position>() -> AgentRow<P> {
    const PARAMETERS: &[Parameter] = &[
        SIMULATIONS,
        MS,
        Parameter::number("c", "exploration, in standard deviations of the values", 2.0, 0.0, 1e6),
        Parameter::integer("rollout_depth", "moves from the root to the end of a rollout at most", 40, 0, 1 << 31),
        Parameter::number("noise", "probability of a random move in a rollout", 0.05, 0.0, 1.0),
        Parameter {
            name: "returns",
            summary: "points: those of the rollout; value: the evaluator's judgement of its last position",
            kind: Kind::Choice { default: "points", options: &["points", "value"] },
        },
        Parameter {
            name: "spawns",
            summary: "sampled: drawn, a node each; pooled: drawn, one node for all; selected: by UCB1, with the move",
            kind: Kind::Choice { default: "pooled", options: Spawns::NAMES },
        },
        Parameter { name: "eval", summary: "what guides the rollouts", kind: Kind::Evaluator { default: "heuristic" } },
    ];
    AgentRow {
        name: "mcts",
        summary: "UCB1 tree search with rollouts that an evaluator guides",
        parameters: PARAMETERS,
        build: |settings, evaluator, context| {
            let returns = if settings.word("returns") == "value" { Returns::Value } else { Returns::Points };
            let guide = Guide::Evaluator { noise: settings.number("noise") };
            Ok(build(settings, evaluator()?, context, Manner { guide, returns, judge_lost: false }))
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build_from_text;
    use afterstate_board::{Board, Direction, board};

    #[test]
    fn a_budget_of_nothing_still_yields_a_move() {
        let board: Board = board!(2 0 0 4 / 0 2 0 0 / 8 0 16 0 / 0 0 0 2);
        for name in ["uct", "mcts"] {
            let mut agent = build_from_text::<Board>(name, &Context::default()).unwrap();
            let budget = Budget { nodes: Some(0), ..Budget::OWN };
            let decision = agent.decide(&board, &budget, &mut Rng::new(1));
            assert_eq!((decision.direction, decision.values), (Some(Direction::Left), [None; 4]));
        }
    }
}
