//! Counting the game tree: the exact number that any change to the rules would alter.

use crate::{Position, SpawnRule};

/// The number of sequences of `depth` times (legal move, spawn cell, spawn value).
///
/// ```
/// use afterstate_board::{SpawnRule, board, perft};
/// let start = board!(2 0 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 2);
/// assert_eq!(perft(&start, 0, &SpawnRule::CLASSIC), 1);
/// assert_eq!(perft(&start, 1, &SpawnRule::CLASSIC), 4 * 14 * 2);
/// ```
pub fn perft<P: Position>(position: &P, depth: u32, rule: &SpawnRule) -> u64 {
    if depth == 0 {
        return 1;
    }
    position.slides().iter().fold(0, |nodes, (_, slide)| {
        nodes
            + if depth == 1 {
                u64::from(slide.after.empty_count()) * rule.len() as u64
            } else {
                slide.after.spawns(rule).map(|(spawn, _)| perft(&slide.after.place(spawn), depth - 1, rule)).sum()
            }
    })
}
