//! Random games in the lanes of a batch: as soon as one ends, the next begins in its lane.

use std::ops::Range;

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro128PlusPlus;

use super::{Batch, LANES, Lanes, legal, mask, pick, slide, spawn};
use crate::spawn::fraction;
use crate::{Board, Position, Rng, SpawnRule, playout_from, potential};

/// What came of many random games.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Playouts {
    /// Games played.
    pub games: u64,
    /// Moves made in all of them.
    pub moves: u64,
    /// Points of all of them.
    pub score: u64,
}

/// The generators of all lanes, xoshiro128++, word by word.
struct LaneRngs([Lanes<u32>; 4]);

impl LaneRngs {
    fn set(&mut self, lane: usize, rng: &Xoshiro128PlusPlus) {
        for (words, bytes) in self.0.iter_mut().zip(rng.state().as_chunks().0) {
            words[lane] = u32::from_le_bytes(*bytes);
        }
    }

    #[inline(always)]
    fn next(&mut self) -> Lanes<u32> {
        let mut numbers = [0; LANES];
        let [s0, s1, s2, s3] = &mut self.0;
        for lane in 0..LANES {
            numbers[lane] = s0[lane].wrapping_add(s3[lane]).rotate_left(7).wrapping_add(s0[lane]);
            let shifted = s1[lane] << 9;
            s2[lane] ^= s0[lane];
            s3[lane] ^= s1[lane];
            s1[lane] ^= s2[lane];
            s0[lane] ^= s3[lane];
            s2[lane] ^= shifted;
            s3[lane] = s3[lane].rotate_left(11);
        }
        numbers
    }
}

/// How one game of [`playouts`] begins: its generator, advanced past the two starting tiles, and the board.
fn begin(seed: u64, game: u64, rule: &SpawnRule) -> (Xoshiro128PlusPlus, Board) {
    let mut rng = Xoshiro128PlusPlus::seed_from_u64(Rng::stream(seed, game, 0).next_u64());
    let one = Board::empty().with_random_tile(rule, rng.next_u32());
    let two = one.with_random_tile(rule, rng.next_u32());
    (rng, two)
}

/// Plays the random games with these numbers, many at once. The totals do not depend on how the range is cut up.
///
/// ```
/// use afterstate_board::{SpawnRule, playouts};
/// let all = playouts(1, 0..100, &SpawnRule::CLASSIC);
/// let (some, rest) = (playouts(1, 0..37, &SpawnRule::CLASSIC), playouts(1, 37..100, &SpawnRule::CLASSIC));
/// assert_eq!(all.score, some.score + rest.score);
/// ```
pub fn playouts(seed: u64, games: Range<u64>, rule: &SpawnRule) -> Playouts {
    let (mut waiting, mut total) = (games, Playouts::default());
    let mut next = || waiting.next().map(|game| begin(seed, game, rule));
    let mut book = |_, score| {
        total.games += 1;
        total.score += score;
    };
    let moves = run(&mut Schedule { next: &mut next, book: &mut book }, u32::MAX, rule);
    Playouts { moves, ..total }
}

/// [`playouts`] one game at a time on [`Board`]: its slow twin.
pub fn playouts_singly(seed: u64, games: Range<u64>, rule: &SpawnRule) -> Playouts {
    let mut total = Playouts::default();
    for game in games {
        let (mut rng, start) = begin(seed, game, rule);
        let playout = playout_from(start, u32::MAX, rule, || rng.next_u32());
        total.games += 1;
        total.moves += u64::from(playout.moves);
        total.score += playout.score;
    }
    total
}

/// What [`Position::random_games`] does, many games at once.
pub(crate) fn play(starts: &[Board], limit: u32, rule: &SpawnRule, rng: &mut Rng, scores: &mut [u64]) -> u64 {
    let mut waiting = starts.iter();
    let mut next = || waiting.next().map(|start| (Xoshiro128PlusPlus::seed_from_u64(rng.next_u64()), *start));
    let mut book = |game: usize, score| scores[game] = score;
    run(&mut Schedule { next: &mut next, book: &mut book }, limit, rule)
}

/// Where the games come from, and where their scores go: by number, in the order they began.
struct Schedule<'a> {
    next: &'a mut dyn FnMut() -> Option<(Xoshiro128PlusPlus, Board)>,
    book: &'a mut dyn FnMut(usize, u64),
}

/// The lanes at play.
struct Lineup {
    batch: Batch,
    rngs: LaneRngs,
    /// [`potential`] that each board was given by its spawns, not earned by merging.
    given: Lanes<u32>,
    /// Moves that each game may still make.
    left: Lanes<u32>,
    /// The game in each lane, if there is one.
    games: [Option<usize>; LANES],
    begun: usize,
}

impl Lineup {
    /// Books the game that ended in a lane and starts the next one there; returns its legal moves, 0 if no game is left.
    #[cold]
    #[inline(never)]
    fn next_game(&mut self, lane: usize, limit: u32, schedule: &mut Schedule<'_>) -> u8 {
        if let Some(game) = self.games[lane].take() {
            (schedule.book)(game, potential(&self.batch.board(lane)) - u64::from(self.given[lane]));
        }
        while let Some((rng, board)) = (schedule.next)() {
            let game = self.begun;
            self.begun += 1;
            let legal = board.legal();
            if legal.is_empty() || limit == 0 {
                (schedule.book)(game, 0);
                continue;
            }
            self.games[lane] = Some(game);
            self.rngs.set(lane, &rng);
            self.batch.set(lane, &board);
            self.given[lane] = potential(&board) as u32;
            self.left[lane] = limit;
            return legal.bits();
        }
        0
    }
}

vectorised! {
    /// Plays all games of a schedule, `limit` moves each at most; returns the moves of all.
    fn run(schedule: &mut Schedule<'_>, limit: u32, rule: &SpawnRule) -> u64 {
        let mut lineup = Lineup {
            batch: Batch { cells: [[0; LANES]; 16] },
            rngs: LaneRngs([[0; LANES]; 4]),
            given: [0; LANES],
            left: [0; LANES],
            games: [None; LANES],
            begun: 0,
        };
        let mut moves = 0;
        loop {
            let mut legal = legal(&lineup.batch.cells);
            if limit < u32::MAX {
                for lane in 0..LANES {
                    legal[lane] &= mask(lineup.left[lane] > 0);
                }
            }
            if legal.contains(&0) {
                for lane in 0..LANES {
                    if legal[lane] == 0 {
                        legal[lane] = lineup.next_game(lane, limit, schedule);
                    }
                }
                if legal == [0; LANES] {
                    return moves;
                }
            }
            let mut fractions = lineup.rngs.next().map(fraction);
            let directions = pick(&legal, &mut fractions);
            let open = legal.map(|bits| mask(bits != 0));
            slide(&mut lineup.batch.cells, &directions);
            let spawned = spawn(&mut lineup.batch.cells, &open, &fractions, rule);
            for lane in 0..LANES {
                let exponent = u32::from(spawned[lane]);
                lineup.given[lane] += exponent.saturating_sub(1) << exponent;
                lineup.left[lane] = lineup.left[lane].saturating_sub(1);
            }
            moves += open.iter().map(|&o| u64::from(o & 1)).sum::<u64>();
        }
    }
}
