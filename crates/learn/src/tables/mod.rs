//! Building endgame tables.

mod dynamic;
mod half;

pub use dynamic::solve;
