//! What `afterstate bench` measures.

pub mod behaviour;
pub mod engine;
pub mod search;
