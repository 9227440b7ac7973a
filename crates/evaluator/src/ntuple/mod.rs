//! N-tuple networks: the value of a board is a sum of weights, each looked up by the tiles on a few cells.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod catalogue;
mod downgrade;
pub mod file;
mod layout;
mod network;
mod prefetch;
mod words;

pub(crate) use catalogue::row;
pub use layout::{CAP, Layout, LayoutError, MOST_FEATURES, NAMED, Pattern};
pub use network::{Network, sum};
pub use prefetch::prefetch;
pub use words::Words;

use downgrade::downgrade;
