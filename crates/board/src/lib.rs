//! The rules of 2048 and nothing else: no I/O, no hidden randomness.
//!
//! [`Board`] is the fast 4x4 game, [`Grid`] the plain one of any size that it is tested against; both are [`Position`]s.
//! A move gives an [`Afterstate`], a spawn turns that into the next position.
//!
//! ```
//! use afterstate_board::{Board, Position, Rng, SpawnRule};
//!
//! let (rule, mut rng) = (SpawnRule::CLASSIC, Rng::new(1));
//! let (mut board, mut score) = (Board::start(&rule, &mut rng), 0);
//! while !board.is_over() {
//!     let legal = board.legal();
//!     let slide = board.slide(legal.nth(rng.below(legal.len() as u32) as usize)).expect("it is legal");
//!     score += slide.reward;
//!     board = slide.after.sample(&rule, &mut rng);
//! }
//! assert!(score > 0);
//! ```

mod batch;
mod board;
mod direction;
mod grid;
mod motion;
pub mod notation;
mod perft;
mod playout;
mod position;
mod rng;
mod row;
mod size;
mod spawn;
mod symmetry;

pub use batch::{Batch, LANES, Playouts, playouts, playouts_singly};
pub use board::Board;
pub use direction::{Direction, Directions, UnknownDirection};
pub use grid::Grid;
pub use motion::{Shift, shifts};
pub use notation::ParseError;
pub use perft::perft;
pub use playout::{Playout, playout, playout_from, random_games_singly};
pub use position::{Afterstate, Position, Slide, Slides, potential};
pub use rng::Rng;
pub use size::{Size, UnknownSize};
pub use spawn::{MAX_SPAWN_KINDS, Spawn, SpawnRule, SpawnRuleError};
pub use symmetry::Symmetry;
