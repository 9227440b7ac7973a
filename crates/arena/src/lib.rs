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

mod analysis;
mod catalogue;
mod compare;
mod game;
pub mod interval;
mod live;
mod merge;
mod play;
mod playing;
mod queue;
pub mod record;
pub mod report;
mod results;
mod run;
mod size;
mod starts;
mod stats;

#[doc(hidden)]
pub use afterstate_board as board;
pub use afterstate_board::{Size, UnknownSize};
pub use analysis::{Analysis, Expected, MoveReport};
pub use catalogue::{agent_entries, evaluator_entries, preset_entries};
pub use compare::{CompareError, Comparison, compare, grouped};
pub use game::{Game, Plies, Ply, ReplayError, Step};
pub use live::Live;
pub use merge::{Merged, Trust, merge, read_results};
pub use play::{PlayError, Setup, play_game, stream};
pub use playing::Playing;
pub use record::{Header, RecordError};
pub use results::{ConflictingGames, Outcome, Results};
pub use run::{Evaluation, Progress, RunError, Shard, ShardError, SinkError};
pub use starts::{StartsError, read_starts};
pub use stats::{Distance, Rate, Spread, Summary, Timing, Until};
