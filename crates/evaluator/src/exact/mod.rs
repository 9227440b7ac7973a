//! Solved games: what perfect play is worth on boards small enough to list all their positions.
//!
//! A move keeps the sum of the tiles and a spawn raises it. So positions fall into layers of equal sum: [`Climb`] lists them from the
//! least layer up, [`Descent`] values them from the highest layer down, [`Writer`] stores what was found, and [`Solution`] looks it up.
//!
//! ```
//! use afterstate_board::{Grid, Position, SpawnRule};
//! use afterstate_evaluator::exact::{Goal, Problem, Solution};
//! let problem = Problem::of::<Grid<2, 2>>(SpawnRule::CLASSIC, Goal::Score).unwrap();
//! let solution = Solution::in_memory(&problem, 1_000).unwrap();
//! assert_eq!(solution.brief().states, 110);
//! assert!((solution.brief().start_value - 66.96414945710126).abs() < 1e-10);
//! ```

mod coding;
mod file;
mod layers;
mod library;
mod packed;
mod problem;
mod solution;

pub use coding::{decode, encode};
pub use file::{Brief, Writer};
pub use layers::{Climb, Descent, Rules};
pub use library::{FOLDER, at_once, find, folder, known};
pub use problem::{Goal, NoGoal, Problem, ProblemError};
pub use solution::{Solution, SolutionError};
