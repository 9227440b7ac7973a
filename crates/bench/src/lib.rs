//! How fast, and still the same? What `afterstate bench` measures, compiled for speed apart from the program around it.

pub mod behaviour;
pub mod engine;
pub mod learn;
pub mod search;

use afterstate_agent::SpecError;
use afterstate_arena::PlayError;
use afterstate_board::SpawnRuleError;
use afterstate_learn::td::TdError;

/// Why something could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// An agent cannot be made.
    #[error(transparent)]
    Agent(#[from] SpecError),
    /// A game cannot be played.
    #[error(transparent)]
    Play(#[from] PlayError),
    /// A spawn rule makes no sense.
    #[error(transparent)]
    Rule(#[from] SpawnRuleError),
    /// A network cannot learn.
    #[error(transparent)]
    Learn(#[from] TdError),
}
