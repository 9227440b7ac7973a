//! Uniformly random games: the yardstick of an engine, and the rollouts of Monte-Carlo searches.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro128PlusPlus;

use crate::spawn::{DRAW_BITS, fraction};
use crate::{Position, Rng, SpawnRule};

/// What came of a random game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Playout<P> {
    /// Points earned.
    pub score: u64,
    /// Moves made.
    pub moves: u32,
    /// The final position.
    pub last: P,
}

/// Plays uniformly random legal moves to the end, at most `limit` of them.
///
/// ```
/// use afterstate_board::{Board, Position, Rng, SpawnRule, playout};
/// let mut rng = Rng::new(1);
/// let start = Board::start(&SpawnRule::CLASSIC, &mut rng);
/// let game = playout(start, u32::MAX, &SpawnRule::CLASSIC, &mut rng);
/// assert!(game.last.is_over() && game.moves > 10);
/// ```
#[inline]
pub fn playout<P: Position>(start: P, limit: u32, rule: &SpawnRule, rng: &mut Rng) -> Playout<P> {
    playout_from(start, limit, rule, || rng.next_u32())
}

/// [`playout`] with the random numbers given: one a move.
///
/// Its product with the number of legal moves yields the move in the high part; the low part is a fresh fraction, which draws
/// the spawn in the same way. Probabilities are off by less than 64 / 2^28.
#[inline]
pub fn playout_from<P: Position>(
    start: P,
    limit: u32,
    rule: &SpawnRule,
    mut random: impl FnMut() -> u32,
) -> Playout<P> {
    let mut game = Playout { score: 0, moves: 0, last: start };
    while game.moves < limit {
        let slides = game.last.slides();
        if slides.legal.is_empty() {
            break;
        }
        let product = fraction(random()) * slides.legal.len() as u32;
        let direction = slides.legal.nth((product >> DRAW_BITS) as usize).index();
        game.score += u64::from(slides.reward[direction]);
        game.last = slides.after[direction].draw(rule, product << (32 - DRAW_BITS));
        game.moves += 1;
    }
    game
}

/// [`Position::random_games`] one game after the other: each has a generator of its own, seeded in order.
pub fn random_games_singly<P: Position>(
    starts: &[P],
    limit: u32,
    rule: &SpawnRule,
    rng: &mut Rng,
    scores: &mut [u64],
) -> u64 {
    let mut moves = 0;
    for (start, score) in starts.iter().zip(scores) {
        let mut own = Xoshiro128PlusPlus::seed_from_u64(rng.next_u64());
        let game = playout_from(*start, limit, rule, || own.next_u32());
        *score = game.score;
        moves += u64::from(game.moves);
    }
    moves
}
