//! How fast n-tuple networks learn: moves a second from nothing, by algorithm, on one thread and on two.

use afterstate_learn::td::{TdConfig, measure};
use serde::Serialize;

use crate::BenchError;

/// One algorithm on the 4x6 network.
#[derive(Debug, Serialize)]
pub struct LearnReport {
    /// Its name.
    pub algorithm: &'static str,
    /// Games that were learned from before it was measured.
    pub first: u64,
    /// Games that it was measured over.
    pub games: u64,
    /// Moves a second on one thread.
    pub one_thread: f64,
    /// Moves a second on two threads.
    pub two_threads: f64,
    /// Two over one.
    pub ratio: f64,
    /// Mean score of the last block of training games, a tenth of those measured, on one thread and on two: faster must not mean worse.
    pub mean_scores: [f64; 2],
}

/// Measures all algorithms; `quick` with an eighth of the games.
pub fn run(quick: bool) -> Result<Vec<LearnReport>, BenchError> {
    let games = if quick { 1_250 } else { 10_000 };
    let block = games / 10;
    let base = TdConfig { games, block, lambda: 0.0, horizon: 1, ..TdConfig::new() };
    let eligible = TdConfig { lambda: 0.5, horizon: 5, ..base.clone() };
    // Later on, threads may have their own weights of small tiles; whether that is faster is tried before.
    let later = 3 * games;
    let algorithms = [
        ("TD", 0, TdConfig { plain_games: games, ..base.clone() }),
        ("TC", 0, base),
        ("TC, lambda 0.5", 0, eligible.clone()),
        ("the same, later", later, TdConfig { games: later + games, apart: later - 5 * block, ..eligible }),
    ];
    let report = |(algorithm, first, config): (&'static str, u64, TdConfig)| {
        let on = |threads: usize| measure(&TdConfig { threads, ..config.clone() }, first);
        let (one, two) = (on(1)?, on(2)?);
        let [one_thread, two_threads] = [&one, &two].map(|measured| measured.moves as f64 / measured.seconds);
        let ratio = two_threads / one_thread;
        let mean_scores = [one.mean_score, two.mean_score];
        Ok(LearnReport { algorithm, first, games, one_thread, two_threads, ratio, mean_scores })
    };
    algorithms.into_iter().map(report).collect()
}
