//! The two-core network: vectors looked up by the tiles on a few places, summed, and judged by a small dense head. An n-tuple network
//! is the case of width 1 without a head; this one lets places speak together, and learns as fast as two cores can look things up.

mod catalogue;
pub mod file;
mod network;
mod places;
mod shape;

pub use catalogue::load;
pub(crate) use catalogue::{dqn_row, ppo_row, pupil_row, row, selfplay_row, twocore_row};
pub use network::{Network, turn, unturn};
pub use places::{LINES_SQUARES, MOST_PLACES, Places, SHARED_LINES_SQUARES};
pub use shape::{MOST_KEPT, MOST_WIDTH, Role, Shape, ShapeError};
