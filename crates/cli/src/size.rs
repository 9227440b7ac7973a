//! The board sizes that can be played: the arena's, under the name that the commands use.

pub use afterstate_arena::{Size, for_size};
