//! How does it improve? Learners over the arena's game loop, each in a file of its own.

mod cmaes;
pub mod course;
mod crew;
pub mod distill;
pub mod dqn;
mod imitation;
mod lanes;
pub mod network;
pub mod ppo;
pub mod replay;
pub mod reward;
pub mod run;
mod shrink;
pub mod solve;
pub mod tables;
pub mod td;
mod tune;
pub mod value;
pub mod zero;

pub use cmaes::CmaEs;
pub(crate) use crew::{among_them, side_by_side, threads_of};
pub use run::FolderError;
pub use shrink::{ShrinkError, Shrunk, shrink};
pub use tune::{Fitness, Generation, TuneError, Tuned, Tuning};
