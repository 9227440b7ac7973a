//! How fast, and still the same? What `afterstate bench` measures, compiled for speed apart from the program around it.

pub mod behaviour;
pub mod engine;
pub mod learn;
pub mod search;
