//! Many 4x4 boards in step: one byte lane a board, plain loops that the compiler turns into vector code.
//!
//! The same source is compiled twice, for any processor and for those with AVX2; the scalar [`Board`] is its twin.

#![expect(
    clippy::needless_range_loop,
    reason = "one index runs through several arrays: the form the vectoriser knows best"
)]

use crate::spawn::{DRAW_BITS, fraction};
use crate::{Board, Direction, Directions, SpawnRule};

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

mod games;

pub(crate) use games::play;
pub use games::{Playouts, playouts, playouts_singly};

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

/// Swaps two cells of the boards whose mask is set.
#[inline(always)]
fn swap_where(masks: &Lanes, cells: &mut [Lanes; 16], i: usize, j: usize) {
    let (a, b) = (cells[i], cells[j]);
    for lane in 0..LANES {
        let change = (a[lane] ^ b[lane]) & masks[lane];
        cells[i][lane] = a[lane] ^ change;
        cells[j][lane] = b[lane] ^ change;
    }
}

/// Reverses the rows of the boards whose mask is set.
#[inline(always)]
fn mirror_where(masks: &Lanes, cells: &mut [Lanes; 16]) {
    for row in 0..4 {
        swap_where(masks, cells, 4 * row, 4 * row + 3);
        swap_where(masks, cells, 4 * row + 1, 4 * row + 2);
    }
}

/// Swaps the rows and columns of the boards whose mask is set.
#[inline(always)]
fn transpose_where(masks: &Lanes, cells: &mut [Lanes; 16]) {
    for (i, j) in [(1, 4), (2, 8), (3, 12), (6, 9), (7, 13), (11, 14)] {
        swap_where(masks, cells, i, j);
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
    let backwards = directions.map(|direction| mask(direction & 1 != 0));
    let vertical = directions.map(|direction| mask(direction & 2 != 0));
    transpose_where(&vertical, cells);
    mirror_where(&backwards, cells);
    let mut merged = [[0; LANES]; 8];
    for row in 0..4 {
        let at = 4 * row;
        let [a, b, c, d] = [cells[at], cells[at + 1], cells[at + 2], cells[at + 3]];
        for lane in 0..LANES {
            let (slid, made) = slide_row([a[lane], b[lane], c[lane], d[lane]]);
            for (i, exponent) in slid.into_iter().enumerate() {
                cells[at + i][lane] = exponent;
            }
            merged[2 * row][lane] = made[0];
            merged[2 * row + 1][lane] = made[1];
        }
    }
    mirror_where(&backwards, cells);
    transpose_where(&vertical, cells);
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
