//! N-tuple networks: the value of a board is a sum of weights, each looked up by the tiles on a few cells.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod catalogue;
mod chance;
mod coding;
mod downgrade;
pub mod file;
mod layout;
mod network;
pub mod packed;
mod prefetch;
mod words;

pub use catalogue::{champion, late, load};
pub(crate) use catalogue::{champion_row, row};
pub use chance::Chance;
pub use downgrade::Downgrade;
pub(crate) use layout::Run;
pub use layout::{CAP, Layout, LayoutError, MOST_FEATURES, NAMED, Pattern, Stages};
pub use network::{Goal, Network, UNIT, sum, sum_unchecked};
pub use prefetch::prefetch;
pub use words::Words;
