//! How good, and how sure? The project's only game loop, records that replay exactly, statistics and comparisons.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use afterstate_agent::{Context, build_from_text};
//! use afterstate_arena::{Setup, play_game};
//! use afterstate_board::Board;
//!
//! let setup = Setup::new("greedy", 1);
//! let mut agent = build_from_text::<Board>(&setup.agent, &Context { rule: setup.rule }).unwrap();
//! let game = play_game(&mut *agent, &setup, 0, |_, _| ControlFlow::Continue(())).unwrap();
//! assert!(game.is_over() && game.score > 0);
//! game.replay().unwrap();
//! ```

mod game;
mod live;
mod play;

pub use game::{Game, Plies, Ply, ReplayError, Step};
pub use live::Live;
pub use play::{PlayError, Setup, play_game, stream};
