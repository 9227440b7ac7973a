//! The page and its HTTP interface: play, watch, analyse and compare in a browser.
//!
//! Assets are part of the binary and the rules stay in Rust: the page asks what each move would do and only draws it. What a
//! request may cost is written down in [`Limits`], who may ask in the `guard` module. The interface is described in
//! `docs/api.md`.

mod agents;
mod analyze;
mod assets;
mod engine;
mod error;
mod evaluations;
mod game;
mod guard;
mod import;
mod limits;
mod listener;
mod pool;
mod records;
mod review;
mod routes;
mod runs;
mod server;
mod state;
mod watch;

pub use limits::Limits;
pub use server::{Access, Config, Log, Server, ServerError, Stop};
