//! What a request may cost. Everything that a page can ask for in excess has its bound here.

use std::time::Duration;

/// The bounds of one server. A request beyond one is refused with a reason; the server goes on.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a JSON request.
    pub body_bytes: usize,
    /// Bytes of an uploaded record.
    pub record_bytes: usize,
    /// Bytes of one message on a socket.
    pub message_bytes: usize,
    /// Connections at once; further ones wait to be accepted.
    pub connections: usize,
    /// Searches that run at once.
    pub searches: usize,
    /// Searches that wait for a turn; further ones are told to come back.
    pub waiting: usize,
    /// Time for one decision.
    pub search_time: Duration,
    /// Games watched or reviewed at once.
    pub sockets: usize,
    /// Moves of a game that a request may hold.
    pub game_moves: usize,
    /// Evaluations that are running, waiting or kept.
    pub evaluations: usize,
    /// Games of one evaluation.
    pub evaluation_games: u64,
    /// Records kept beside those of the folder.
    pub records: usize,
    /// Bytes of a metrics file that are read, counted from its end.
    pub metrics_bytes: u64,
}

/// The largest values that a page may give an agent's parameters, by name: an agent's own range is for people who own the machine.
pub(crate) const PARAMETER_CAPS: &[(&str, u64)] = &[
    ("depth", 10),
    ("width", 2_000),
    ("simulations", 200_000),
    ("nodes", 50_000_000),
    ("ms", 10_000),
    ("threads", 4),
    ("table", 65_536),
    ("rollout_depth", 100_000),
    ("effort", 1_000_000),
    ("opening_depth", 4),
    ("opening_effort", 1_000_000),
    ("late_depth", 4),
    ("late_effort", 1_000_000),
];

/// Characters of an agent's specification.
pub(crate) const SPEC_LENGTH: usize = 600;

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 256 << 10,
            record_bytes: 16 << 20,
            message_bytes: 512 << 10,
            connections: 512,
            searches: std::thread::available_parallelism().map_or(1, usize::from),
            waiting: 128,
            search_time: Duration::from_secs(10),
            sockets: 96,
            game_moves: 100_000,
            evaluations: 32,
            evaluation_games: 10_000,
            records: 16,
            metrics_bytes: 32 << 20,
        }
    }
}
