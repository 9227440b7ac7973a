//! Which move? An evaluator, a search and a budget make an agent; a [`Decision`] says what it found.

mod beam;
mod catalogue;
mod clock;
mod default;
mod epsilon;
mod expectimax;
mod facing;
mod flat;
mod greedy;
mod hybrid;
mod mcts;
mod minimax;
mod optimal;
mod policy;
mod presets;
mod puct;
mod random;
mod rollout;
mod stop;
mod tables;
mod tree;

pub use afterstate_evaluator::{Kind, Parameter, Settings, Spec, SpecError, Value};
pub use catalogue::{
    AgentRow, BoxedAgent, COMMON, Context, MakeAgent, MakeEvaluator, build, build_from_text, build_with, rows,
};
pub use default::{default_agent, default_player};
pub use presets::{Preset, presets, resolve};
pub use puct::{Prior, Puct, PuctOptions, masked_softmax};
pub use stop::stoppable;
pub use tables::LEAST as TABLES_LEAST;

use std::time::Duration;

use afterstate_board::{Direction, Directions, Position, Rng, Spawn};
use afterstate_evaluator::tables::Pattern;

/// How much an agent may spend on one decision. What is unset is left to the agent's own settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Spawns to look ahead: 0 judges the afterstates of the root.
    pub depth: Option<u32>,
    /// Slides to examine.
    pub nodes: Option<u64>,
    /// Time to think.
    pub time: Option<Duration>,
}

impl Budget {
    /// Nothing set: the agent's own settings decide.
    pub const OWN: Self = Self { depth: None, nodes: None, time: None };

    /// This budget where it is set, else the other.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { depth: self.depth.or(other.depth), nodes: self.nodes.or(other.nodes), time: self.time.or(other.time) }
    }
}

/// What an agent found: what a page shows and a learner learns from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The move to play; `None` exactly if the game is over.
    pub direction: Option<Direction>,
    /// The value of each move by direction index, in the agent's unit; `None` for illegal moves and where the agent has no value.
    pub values: [Option<f64>; 4],
    /// How often a sampling search tried each move.
    pub visits: [u64; 4],
    /// Slides examined.
    pub nodes: u64,
    /// Spawns looked ahead.
    pub depth: u32,
    /// How the leaves were judged, if in batches.
    pub batch: Option<BatchReport>,
    /// What an endgame table said, if one decided.
    pub table: Option<TableReport>,
}

/// What an endgame table has to say about the moves of a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableReport {
    /// Which table it is: how many large tiles stay, and what is built beside them.
    pub pattern: Pattern,
    /// How often the goal is reached after each move, by direction index; `None` if the move leaves the table.
    pub success: [Option<f32>; 4],
}

/// What a search that judges its leaves in one call has to say about that call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchReport {
    /// Afterstates judged: the size of the batch.
    pub leaves: u64,
    /// Afterstates met at the horizon, equal ones counted again.
    pub met: u64,
}

impl BatchReport {
    /// The share of the leaves that had been met before.
    pub fn hit_rate(&self) -> f64 {
        if self.met == 0 { 0.0 } else { 1.0 - self.leaves as f64 / self.met as f64 }
    }
}

impl Decision {
    /// The legal move of the highest value; of equals the first in index order.
    pub fn best_of(values: [Option<f64>; 4], legal: Directions, nodes: u64, depth: u32) -> Self {
        let value = |d: Direction| values[d.index()].unwrap_or(f64::NEG_INFINITY);
        let better = |best: Option<Direction>, d| match best {
            Some(b) if value(b) >= value(d) => Some(b),
            _ => Some(d),
        };
        Self { direction: legal.iter().fold(None, better), values, nodes, depth, ..Self::default() }
    }
}

/// A player of games with positions `P`.
pub trait Agent<P: Position>: Send {
    /// Chooses a move. All randomness comes from `rng`; the same agent, position, generator and budget (time aside) give the same
    /// decision if the same decisions came before it since [`Agent::new_game`].
    fn decide(&mut self, position: &P, budget: &Budget, rng: &mut Rng) -> Decision;

    /// Forgets everything about earlier positions.
    fn new_game(&mut self) {}

    /// The line of play that the agent expects after its decision on `position`: its moves, each with a typical spawn after it.
    fn line(&mut self, _position: &P, decision: &Decision) -> Vec<(Direction, Option<Spawn>)> {
        decision.direction.map(|direction| (direction, None)).into_iter().collect()
    }

    /// What the values mean, for people.
    fn unit(&self) -> &'static str;
}
