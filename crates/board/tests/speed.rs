//! A batch is only worth its name if the compiler makes vector code of it. That has hung on details of the build before, and nothing
//! but the time it takes shows it.

#![cfg(target_arch = "x86_64")]

use std::time::Instant;

use afterstate_board::{Playouts, SpawnRule, playouts, playouts_singly};

/// Seconds of the quickest of some runs, in turn with the other contender: noise only ever slows down.
fn quickest(contenders: [fn() -> Playouts; 2]) -> [f64; 2] {
    let mut best = [f64::INFINITY; 2];
    for _ in 0..5 {
        for (contender, best) in contenders.iter().zip(&mut best) {
            let began = Instant::now();
            std::hint::black_box(contender());
            *best = best.min(began.elapsed().as_secs_f64());
        }
    }
    best
}

#[test]
#[cfg_attr(debug_assertions, ignore = "checks for overflow stand in the way of vectors: cargo test --release")]
fn a_batch_is_far_faster_than_one_game_at_a_time() {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return;
    }
    let batch = || playouts(1, 0..20_000, &SpawnRule::CLASSIC);
    let singly = || playouts_singly(1, 0..20_000, &SpawnRule::CLASSIC);
    let [batch, singly] = quickest([batch, singly]);
    assert!(singly > 2.5 * batch, "{:.1} times as fast; six are usual", singly / batch);
}
