//! How does it improve? Learners over the arena's game loop, each in a file of its own.

mod cmaes;
mod folder;
mod tune;

pub use cmaes::CmaEs;
pub use folder::FolderError;
pub use tune::{Fitness, Generation, TuneError, Tuned, Tuning};
