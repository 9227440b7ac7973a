//! Endgame tables: how likely the next large tile is to be built while a block of larger ones stays in its corner, computed once and
//! looked up for ever.

pub mod code;
mod pattern;
mod table;

pub use pattern::{Pattern, PatternError};
pub use table::{Table, Width};
