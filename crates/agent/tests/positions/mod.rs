//! Positions to compare searches on.

use afterstate_board::{Position, Rng, SpawnRule};

/// Boards as random play meets them, from nearly empty to nearly dead.
pub fn boards<P: Position>(count: usize, seed: u64) -> Vec<P> {
    let (rule, mut rng) = (SpawnRule::CLASSIC, Rng::new(seed));
    let mut found = Vec::new();
    while found.len() < count {
        let mut board = P::start(&rule, &mut rng);
        while !board.is_over() {
            if rng.below(8) == 0 {
                found.push(board);
            }
            let legal = board.legal();
            let direction = legal.nth(rng.below(legal.len() as u32) as usize);
            board = board.slide(direction).unwrap().after.sample(&rule, &mut rng);
        }
    }
    found.truncate(count);
    found
}
