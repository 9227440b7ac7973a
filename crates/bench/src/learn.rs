//! How fast n-tuple networks learn: moves a second from nothing, by algorithm, on one thread and on two.

use afterstate_learn::td::{TdConfig, measure};
use serde::Serialize;

use crate::BenchError;

/// One algorithm on the 4x6 network.
#[derive(Debug, Serialize)]
pub struct LearnReport {
    /// Its name.
    pub algorithm: &'static str,
    /// Games learned from.
    pub games: u64,
    /// Moves a second on one thread.
    pub one_thread: f64,
    /// Moves a second on two threads.
    pub two_threads: f64,
    /// Two over one.
    pub ratio: f64,
    /// Mean score of the last thousand training games on one thread: faster must not mean worse.
    pub mean_score: f64,
}

/// Measures all algorithms; `quick` with an eighth of the games.
pub fn run(quick: bool) -> Result<Vec<LearnReport>, BenchError> {
    let games = if quick { 1_250 } else { 10_000 };
    let base = TdConfig { games, lambda: 0.0, horizon: 1, ..TdConfig::new() };
    let algorithms = [
        ("TD", TdConfig { plain_games: games, ..base.clone() }),
        ("TC", base.clone()),
        ("TC, lambda 0.5", TdConfig { lambda: 0.5, horizon: 5, ..base }),
    ];
    let report = |(algorithm, config): (&'static str, TdConfig)| {
        let on = |threads: usize| measure(&TdConfig { threads, ..config.clone() });
        let (one, two) = (on(1)?, on(2)?);
        let [one_thread, two_threads] = [&one, &two].map(|measured| measured.moves as f64 / measured.seconds);
        let ratio = two_threads / one_thread;
        Ok(LearnReport { algorithm, games, one_thread, two_threads, ratio, mean_score: one.mean_score })
    };
    algorithms.into_iter().map(report).collect()
}
