//! One file a command: its arguments and what it does with them.

pub mod analyze;
pub mod bench;
pub mod compare;
pub mod completions;
pub mod eval;
pub mod list;
pub mod merge;
pub mod network;
pub mod perft;
pub mod play;
pub mod replay;
pub mod report;
pub mod serve;
pub mod shrink;
pub mod slide;
pub mod solve;
pub mod tables;
pub mod train;
pub mod tune;
pub mod watch;
pub mod welcome;
