//! Many 4x4 boards in step: one byte lane a board, plain loops that the compiler turns into vector code.
//!
//! The same source is compiled twice, for any processor and for those with AVX2; the scalar [`Board`] is its twin.

#![expect(
    clippy::needless_range_loop,
    reason = "one index runs through several arrays: the form the vectoriser knows best"
)]

use std::ops::Range;

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro128PlusPlus;

use crate::spawn::{DRAW_BITS, fraction};
use crate::{Board, Direction, Directions, Position, Rng, SpawnRule, playout_from, potential};

/// Boards in a [`Batch`]: the bytes of one AVX2 register.
pub const LANES: usize = 32;

/// One number for each board.
type Lanes<T = u8> = [T; LANES];

/// [`LANES`] boards that move together. Exponents are whole bytes: no tile is too large.
///
/// ```
/// use afterstate_board::{Batch, Direction, LANES, SpawnRule, board};
/// let mut batch = Batch::new(&[board!(2 2 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0); LANES]);
/// let rewards = batch.step(&[Direction::Left; LANES], &[0; LANES], &SpawnRule::CLASSIC);
/// assert_eq!(rewards, [4; LANES]);
/// assert_eq!(batch.board(7), board!(4 2 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub struct Batch {
    cells: [Lanes; 16],
}

/// Compiles a function body for the processor at hand: with AVX2 where there is, else for the least of its kind.
macro_rules! vectorised {
    ($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)? $body:block) => {
        $(#[$doc])*
        #[inline]
        fn $name($($arg: $type),*) $(-> $out)? {
            #[inline(always)]
            fn body($($arg: $type),*) $(-> $out)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn avx2($($arg: $type),*) $(-> $out)? {
                    body($($arg),*)
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2; it is the same safe body.
                    return unsafe { avx2($($arg),*) };
                }
            }
            body($($arg),*)
        }
    };
}

/// All ones if true.
#[inline(always)]
const fn mask(condition: bool) -> u8 {
    if condition { 255 } else { 0 }
}

/// `a` where the mask is set, else `b`.
#[inline(always)]
const fn select(mask: u8, a: u8, b: u8) -> u8 {
    if mask != 0 { a } else { b }
}

/// Slides one row of one lane left; returns the exponents of up to two merged tiles.
#[inline(always)]
fn slide_row([mut a, mut b, mut c, mut d]: [u8; 4]) -> ([u8; 4], [u8; 2]) {
    macro_rules! close_gap {
        ($left:ident, $right:ident) => {
            let gap = mask($left == 0);
            $left |= $right & gap;
            $right &= !gap;
        };
    }
    close_gap!(a, b);
    close_gap!(b, c);
    close_gap!(c, d);
    close_gap!(a, b);
    close_gap!(b, c);
    close_gap!(a, b);

    let first = mask(a == b) & mask(a != 0);
    a = a.wrapping_sub(first); // a mask is -1
    b = select(first, c, b);
    c = select(first, d, c);
    d &= !first;
    let second = mask(b == c) & mask(b != 0);
    b = b.wrapping_sub(second);
    c = select(second, d, c);
    d &= !second;
    let third = mask(c == d) & mask(c != 0);
    c = c.wrapping_sub(third);
    d &= !third;
    // The second pair and the third never merge together.
    ([a, b, c, d], [a & first, (b & second) | (c & third)])
}

/// Swaps two cells of a lane where the mask is set.
#[inline(always)]
fn swap_where(mask: u8, cells: &mut [u8; 16], i: usize, j: usize) {
    let (a, b) = (cells[i], cells[j]);
    cells[i] = select(mask, b, a);
    cells[j] = select(mask, a, b);
}

/// Reverses the rows of a lane where the mask is set.
#[inline(always)]
fn mirror_where(mask: u8, cells: &mut [u8; 16]) {
    for row in 0..4 {
        swap_where(mask, cells, 4 * row, 4 * row + 3);
        swap_where(mask, cells, 4 * row + 1, 4 * row + 2);
    }
}

/// Swaps the rows and columns of a lane where the mask is set.
#[inline(always)]
fn transpose_where(mask: u8, cells: &mut [u8; 16]) {
    for (i, j) in [(1, 4), (2, 8), (3, 12), (6, 9), (7, 13), (11, 14)] {
        swap_where(mask, cells, i, j);
    }
}

/// The legal directions of each board as bits by direction index.
#[inline(always)]
fn legal(cells: &[Lanes; 16]) -> Lanes {
    let mut legal = [0; LANES];
    for lane in 0..LANES {
        let mut open = [0; 4];
        let mut pair = |axis: usize, near: u8, far: u8| {
            let merge = mask(near == far);
            open[axis] |= (merge | mask(near == 0)) & mask(far != 0);
            open[axis + 1] |= (merge | mask(far == 0)) & mask(near != 0);
        };
        for line in 0..4 {
            for step in 0..3 {
                pair(0, cells[4 * line + step][lane], cells[4 * line + step + 1][lane]);
                pair(2, cells[4 * step + line][lane], cells[4 * step + 4 + line][lane]);
            }
        }
        legal[lane] = (open[0] & 1) | (open[1] & 2) | (open[2] & 4) | (open[3] & 8);
    }
    legal
}

/// Slides each board in its direction (an index); returns the exponents of the merged tiles, two a line.
#[inline(always)]
fn slide(cells: &mut [Lanes; 16], directions: &Lanes) -> [Lanes; 8] {
    let mut merged = [[0; LANES]; 8];
    for lane in 0..LANES {
        let backwards = mask(directions[lane] & 1 != 0);
        let vertical = mask(directions[lane] & 2 != 0);
        let mut board: [u8; 16] = std::array::from_fn(|cell| cells[cell][lane]);
        transpose_where(vertical, &mut board);
        mirror_where(backwards, &mut board);
        for row in 0..4 {
            let at = 4 * row;
            let (slid, made) = slide_row([board[at], board[at + 1], board[at + 2], board[at + 3]]);
            board[at..at + 4].copy_from_slice(&slid);
            merged[2 * row][lane] = made[0];
            merged[2 * row + 1][lane] = made[1];
        }
        mirror_where(backwards, &mut board);
        transpose_where(vertical, &mut board);
        for cell in 0..16 {
            cells[cell][lane] = board[cell];
        }
    }
    merged
}

/// The sum of the tiles with these exponents, lane by lane; exponent 0 is no tile.
#[inline(always)]
fn points(merged: &[Lanes; 8]) -> Lanes<u32> {
    let mut points = [0; LANES];
    for exponents in merged {
        for lane in 0..LANES {
            points[lane] += (1u32 << (exponents[lane] & 31)) & !1;
        }
    }
    points
}

/// Spawns a tile on each board whose lane is `open` (all ones), drawn as [`SpawnRule::draw`] draws; returns the exponents.
#[inline(always)]
fn spawn(cells: &mut [Lanes; 16], open: &Lanes, fractions: &Lanes<u32>, rule: &SpawnRule) -> Lanes {
    let mut empty = [0u8; LANES];
    for lane in 0..LANES {
        empty[lane] = cells.iter().fold(0, |n: u8, row| n.wrapping_sub(mask(row[lane] == 0)));
    }
    let (mut index, mut rest) = ([0u8; LANES], [0u32; LANES]);
    for lane in 0..LANES {
        let product = fractions[lane].wrapping_mul(u32::from(empty[lane]));
        index[lane] = (product >> DRAW_BITS) as u8;
        rest[lane] = product & ((1 << DRAW_BITS) - 1);
    }
    let mut exponents = [0u8; LANES];
    let mut from = 0;
    for (exponent, bound) in rule.bounds() {
        for lane in 0..LANES {
            exponents[lane] = if rest[lane] >= from { exponent } else { exponents[lane] };
        }
        from = bound;
    }
    for lane in 0..LANES {
        exponents[lane] &= open[lane];
        let mut ahead = index[lane];
        for row in cells.iter_mut() {
            let vacant = mask(row[lane] == 0);
            row[lane] |= exponents[lane] & vacant & mask(ahead == 0);
            ahead = ahead.wrapping_add(vacant); // counts down; once below zero it stays there
        }
    }
    exponents
}

/// Picks each board's direction from its legal ones; what is left of the fraction is for the spawn.
#[inline(always)]
fn pick(legal: &Lanes, fractions: &mut Lanes<u32>) -> Lanes {
    let mut nth = [0u8; LANES];
    let mut counts = [0u8; LANES];
    for lane in 0..LANES {
        let bits = legal[lane];
        counts[lane] = (bits & 1) + (bits >> 1 & 1) + (bits >> 2 & 1) + (bits >> 3 & 1);
    }
    for lane in 0..LANES {
        let product = fractions[lane] * u32::from(counts[lane]);
        nth[lane] = (product >> DRAW_BITS) as u8;
        fractions[lane] = product & ((1 << DRAW_BITS) - 1);
    }
    let mut directions = [0; LANES];
    for lane in 0..LANES {
        let bits = legal[lane];
        let one = bits & 1;
        let two = one + (bits >> 1 & 1);
        let three = two + (bits >> 2 & 1);
        let n = nth[lane];
        directions[lane] = u8::from(n >= one) + u8::from(n >= two) + u8::from(n >= three);
    }
    directions
}

vectorised! {
    /// One step of every board in its direction; boards that do not change get no spawn.
    fn step(cells: &mut [Lanes; 16], directions: &Lanes, randoms: &Lanes<u32>, rule: &SpawnRule) -> Lanes<u32> {
        let before = *cells;
        let merged = slide(cells, directions);
        let mut changed = [0; LANES];
        for (old, new) in before.iter().zip(cells.iter()) {
            for lane in 0..LANES {
                changed[lane] |= mask(old[lane] != new[lane]);
            }
        }
        spawn(cells, &changed, &randoms.map(fraction), rule);
        points(&merged)
    }
}

vectorised! {
    fn legal_now(cells: &[Lanes; 16]) -> Lanes {
        legal(cells)
    }
}

impl Batch {
    /// A batch of these boards.
    pub fn new(boards: &[Board; LANES]) -> Self {
        let mut batch = Self { cells: [[0; LANES]; 16] };
        for (lane, board) in boards.iter().enumerate() {
            batch.set(lane, board);
        }
        batch
    }

    /// The board of one lane. Panics if `lane >= LANES`.
    pub fn board(&self, lane: usize) -> Board {
        Board::from_exponents(std::array::from_fn(|cell| self.cells[cell][lane]))
    }

    /// Replaces the board of one lane. Panics if `lane >= LANES`.
    pub fn set(&mut self, lane: usize, board: &Board) {
        for (cell, exponent) in board.exponents().into_iter().enumerate() {
            self.cells[cell][lane] = exponent;
        }
    }

    /// The exponents: one array for each cell, one byte for each lane.
    pub fn cells(&self) -> &[[u8; LANES]; 16] {
        &self.cells
    }

    /// The legal directions of each board.
    pub fn legal(&self) -> [Directions; LANES] {
        legal_now(&self.cells).map(Directions::from_bits)
    }

    /// Slides each board in its direction and spawns a tile drawn by its random number; returns the points.
    ///
    /// A board that its direction does not change stays as it is: no points, no spawn.
    pub fn step(&mut self, directions: &[Direction; LANES], randoms: &[u32; LANES], rule: &SpawnRule) -> [u32; LANES] {
        step(&mut self.cells, &directions.map(|d| d as u8), randoms, rule)
    }
}

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
    run_playouts(seed, games, rule)
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

/// The lanes at play, and the games still to come.
struct Lineup<'a> {
    batch: Batch,
    rngs: LaneRngs,
    /// [`potential`] that each board was given by its spawns, not earned by merging.
    given: Lanes<u32>,
    playing: [bool; LANES],
    seed: u64,
    waiting: Range<u64>,
    rule: &'a SpawnRule,
    total: Playouts,
}

impl Lineup<'_> {
    /// Books the game that ended in a lane and starts the next one there; returns its legal moves, 0 if no game is left.
    #[cold]
    #[inline(never)]
    fn next_game(&mut self, lane: usize) -> u8 {
        if std::mem::take(&mut self.playing[lane]) {
            self.total.games += 1;
            self.total.score += potential(&self.batch.board(lane)) - u64::from(self.given[lane]);
        }
        let Some(game) = self.waiting.next() else { return 0 };
        let (rng, board) = begin(self.seed, game, self.rule);
        self.playing[lane] = true;
        self.rngs.set(lane, &rng);
        self.batch.set(lane, &board);
        self.given[lane] = potential(&board) as u32;
        board.legal().bits()
    }
}

vectorised! {
    fn run_playouts(seed: u64, games: Range<u64>, rule: &SpawnRule) -> Playouts {
        let mut lineup = Lineup {
            batch: Batch { cells: [[0; LANES]; 16] },
            rngs: LaneRngs([[0; LANES]; 4]),
            given: [0; LANES],
            playing: [false; LANES],
            seed,
            waiting: games,
            rule,
            total: Playouts::default(),
        };
        loop {
            let mut legal = legal(&lineup.batch.cells);
            if legal.contains(&0) {
                for lane in 0..LANES {
                    if legal[lane] == 0 {
                        legal[lane] = lineup.next_game(lane);
                    }
                }
                if legal == [0; LANES] {
                    return lineup.total;
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
            }
            lineup.total.moves += open.iter().map(|&o| u64::from(o & 1)).sum::<u64>();
        }
    }
}
