//! What `afterstate bench` measures.

pub mod behaviour;
pub mod engine;
pub mod learn;
pub mod search;
