//! The two-core network: vectors looked up by the tiles on a few places, summed, and judged by a small dense head. An n-tuple network
//! is the case of width 1 without a head; this one lets places speak together, and learns as fast as two cores can look things up.

mod catalogue;
pub mod file;
mod network;
mod places;

pub use catalogue::load;
pub(crate) use catalogue::row;
pub use network::{MOST_KEPT, MOST_WIDTH, Network, Role, Shape, ShapeError, turn, unturn};
pub use places::{LINES_SQUARES, MOST_PLACES, Places};
