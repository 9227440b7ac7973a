//! Endgame tables: how likely the next large tile is to be built while a block of larger ones stays in its corner, computed once and
//! looked up for ever.

pub mod code;
mod corrected;
mod order;
mod pattern;
mod set;
mod shift;
mod table;

pub(crate) use corrected::row;
pub use corrected::{Corrected, NONE, SET, tables};
pub use order::{CUT, Order, Ranks};
pub use pattern::{Demand, Goals, Pattern, PatternError};
pub use set::{Advice, ROW, SET_NAMES, SETS, Set, SetError, Tables, file_name, some_file_name};
pub use shift::{SHIFTS, failure_of_shift};
pub use table::{Table, Writer};
