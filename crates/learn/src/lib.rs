//! How does it improve? Learners over the arena's game loop, each in a file of its own.

mod cmaes;
pub mod course;
pub mod dqn;
mod lanes;
pub mod network;
pub mod replay;
pub mod reward;
pub mod run;
mod shrink;
pub mod solve;
pub mod tables;
pub mod td;
mod tune;
pub mod value;

pub use cmaes::CmaEs;
pub use run::FolderError;
pub use shrink::{ShrinkError, Shrunk, shrink};
pub use tune::{Fitness, Generation, TuneError, Tuned, Tuning};
