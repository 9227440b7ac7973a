//! The fast 4x4 board: sixteen nibbles in a word, a side word for the tiles above 32768, table look-ups to slide.

use std::fmt;
use std::str::FromStr;

use crate::grid::slide_line;
use crate::notation::{self, ParseError};
use crate::row::{OVERFLOW, POINTS, ROWS, legal_bits};
use crate::{Afterstate, Direction, Directions, Position, Rng, Slide, Slides, Spawn, SpawnRule, Symmetry};

/// The 4x4 game with every tile from 2 to 131072.
///
/// Cell `i` is nibble `i` of `tiles`, plus 16 if bit `4 i` of `high` is set. Nearly all boards have `high == 0`: they slide by two
/// times four table look-ups for all directions at once. The others, and the merge of two 32768s, take a path of their own.
///
/// ```
/// use afterstate_board::{Direction, Position, board};
/// let board = board!(32768 32768 2 2 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0);
/// let slide = board.slide(Direction::Left).unwrap();
/// assert_eq!(slide.after.board(), &board!(65536 4 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0));
/// assert_eq!(slide.reward, 65_540);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Board {
    high: u64,
    tiles: u64,
}

/// Bit 0 of each nibble.
const ONES: u64 = 0x1111_1111_1111_1111;

/// Bit `4 i` is set if nibble `i` is zero.
#[inline]
const fn zero_nibbles(x: u64) -> u64 {
    let y = x | x >> 2;
    !(y | y >> 1) & ONES
}

/// Rows become columns.
#[inline]
const fn transpose(x: u64) -> u64 {
    let swap = (x ^ x >> 12) & 0x0000_f0f0_0000_f0f0;
    let x = x ^ swap ^ swap << 12;
    let swap = (x ^ x >> 24) & 0x0000_0000_ff00_ff00;
    x ^ swap ^ swap << 24
}

/// Each bit `4 i` goes to bit `i`.
#[inline]
const fn gather(x: u64) -> u16 {
    let x = (x | x >> 3) & 0x0303_0303_0303_0303;
    let x = (x | x >> 6) & 0x000f_000f_000f_000f;
    let x = (x | x >> 12) & 0x0000_00ff_0000_00ff;
    (x | x >> 24) as u16
}

/// Mirrors each row.
#[inline]
const fn mirror_columns(x: u64) -> u64 {
    let x = (x & 0x00ff_00ff_00ff_00ff) << 8 | x >> 8 & 0x00ff_00ff_00ff_00ff;
    (x & 0x0f0f_0f0f_0f0f_0f0f) << 4 | x >> 4 & 0x0f0f_0f0f_0f0f_0f0f
}

/// Reverses the order of the rows.
#[inline]
const fn mirror_rows(x: u64) -> u64 {
    let x = x.rotate_left(32);
    (x & 0x0000_ffff_0000_ffff) << 16 | x >> 16 & 0x0000_ffff_0000_ffff
}

/// Slides sixteen nibbles in one direction: the result, void if a row overflowed, and points / 4.
#[inline]
fn slide_nibbles(tiles: u64, direction: Direction) -> (u64, u32) {
    let turned = if direction.is_horizontal() { tiles } else { transpose(tiles) };
    let shift = 16 * (direction.index() as u32 & 1);
    let (mut slid, mut tally) = (0, 0);
    for row in 0..4 {
        let entry = &ROWS[(turned >> (16 * row) & 0xffff) as usize];
        slid |= u64::from(entry.results >> shift & 0xffff) << (16 * row);
        tally += entry.tally;
    }
    (if direction.is_horizontal() { slid } else { transpose(slid) }, tally & POINTS)
}

/// All four slides of sixteen nibbles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NibbleSlides {
    /// The nibbles after each slide, by direction index. Void if a row overflowed.
    pub after: [u64; 4],
    /// The summed tallies of the rows and of the columns.
    pub tallies: [u32; 2],
}

impl NibbleSlides {
    #[inline(always)]
    pub fn of(tiles: u64) -> Self {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 has SSE2; the function needs nothing else. `plain` is its twin.
        return unsafe { Self::interleaved(tiles) };
        #[cfg(not(target_arch = "x86_64"))]
        return Self::plain(tiles);
    }

    /// Word arithmetic only: for machines without SSE2, and the twin of [`NibbleSlides::interleaved`] in the tests.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    fn plain(tiles: u64) -> Self {
        let axis = |tiles: u64| {
            let (mut low, mut high, mut tally) = (0, 0, 0);
            for row in 0..4 {
                let entry = ROWS[(tiles >> (16 * row) & 0xffff) as usize];
                low |= u64::from(entry.results & 0xffff) << (16 * row);
                high |= u64::from(entry.results >> 16) << (16 * row);
                tally += entry.tally;
            }
            (low, high, tally)
        };
        let (left, right, rows) = axis(tiles);
        let (up, down, columns) = axis(transpose(tiles));
        Self { after: [left, right, transpose(up), transpose(down)], tallies: [rows, columns] }
    }

    /// A row's two results share a word, so interleaving four such words makes two boards at once.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "sse2")]
    #[inline]
    fn interleaved(tiles: u64) -> Self {
        use std::arch::x86_64::*;

        #[target_feature(enable = "sse2")]
        #[inline]
        fn axis(tiles: u64) -> (__m128i, u32) {
            let [e0, e1, e2, e3] = [0, 1, 2, 3].map(|row| &ROWS[(tiles >> (16 * row) & 0xffff) as usize]);
            let lanes = |results: u32| _mm_cvtsi32_si128(results.cast_signed());
            let top = _mm_unpacklo_epi16(lanes(e0.results), lanes(e1.results));
            let bottom = _mm_unpacklo_epi16(lanes(e2.results), lanes(e3.results));
            (_mm_unpacklo_epi32(top, bottom), e0.tally + e1.tally + e2.tally + e3.tally)
        }

        /// [`transpose`] of two boards.
        #[target_feature(enable = "sse2")]
        #[inline]
        fn transpose_pair(x: __m128i) -> __m128i {
            let swap = _mm_and_si128(_mm_xor_si128(x, _mm_srli_epi64::<12>(x)), _mm_set1_epi64x(0x0000_f0f0_0000_f0f0));
            let x = _mm_xor_si128(x, _mm_xor_si128(swap, _mm_slli_epi64::<12>(swap)));
            let swap = _mm_and_si128(_mm_xor_si128(x, _mm_srli_epi64::<24>(x)), _mm_set1_epi64x(0x0000_0000_ff00_ff00));
            _mm_xor_si128(x, _mm_xor_si128(swap, _mm_slli_epi64::<24>(swap)))
        }

        let words = |x: __m128i| {
            let high = _mm_unpackhi_epi64(x, x);
            [_mm_cvtsi128_si64(x).cast_unsigned(), _mm_cvtsi128_si64(high).cast_unsigned()]
        };
        let (horizontal, rows) = axis(tiles);
        let (vertical, columns) = axis(transpose(tiles));
        let ([left, right], [up, down]) = (words(horizontal), words(transpose_pair(vertical)));
        Self { after: [left, right, up, down], tallies: [rows, columns] }
    }

    /// Points / 4 along the rows and along the columns.
    #[inline(always)]
    pub fn points(&self) -> [u32; 2] {
        self.tallies.map(|tally| tally & POINTS)
    }

    #[inline(always)]
    pub fn legal(&self) -> Directions {
        Directions::from_bits(legal_bits(self.tallies[0]) | legal_bits(self.tallies[1]) << 2)
    }

    /// True if some nibble may not have held its merged tile.
    #[inline(always)]
    pub fn overflows(&self) -> bool {
        let [rows, columns] = self.points();
        rows | columns >= OVERFLOW // a power of two
    }
}

/// The empty cells of sixteen nibbles, ready for counting and picking.
#[derive(Clone, Copy)]
pub(crate) struct Vacancies {
    /// Bit `4 i` for each empty cell `i`.
    pub ones: u64,
    /// Nibble `i`: how many of the cells up to `i` are empty (of 16, only the count 16 itself does not fit).
    running: u64,
}

impl Vacancies {
    #[inline(always)]
    pub const fn of_ones(ones: u64) -> Self {
        Self { ones, running: ones.wrapping_mul(ONES) }
    }

    #[inline(always)]
    pub const fn count(self) -> u32 {
        if self.ones == ONES { 16 } else { (self.running >> 60) as u32 }
    }

    /// The bit `4 i` of the `n`-th empty cell `i`: the first whose running count exceeds `n`.
    #[inline(always)]
    pub const fn nth(self, n: u32) -> u64 {
        const LOW: u64 = 0x0f0f_0f0f_0f0f_0f0f;
        const TOP: u64 = 0x8080_8080_8080_8080;
        let least = (n as u64 + 1) * 0x0101_0101_0101_0101;
        let even = ((self.running & LOW | TOP) - least) & TOP;
        let odd = ((self.running >> 4 & LOW | TOP) - least) & TOP;
        let reached = even >> 4 | odd;
        // No count reaches 16, so the last cell of an empty board is found by default.
        ((reached & reached.wrapping_neg()) | (((reached == 0) as u64) << 63)) >> 3
    }
}

impl Board {
    /// The board with these exponents, row by row. Panics on an exponent above 31.
    pub fn from_exponents(cells: [u8; 16]) -> Self {
        cells.into_iter().enumerate().fold(Self::empty(), |board, (cell, e)| board.with_exponent(cell, e))
    }

    /// The exponents, row by row.
    pub fn exponents(&self) -> [u8; 16] {
        std::array::from_fn(|cell| self.exponent(cell))
    }

    /// The low four bits of each exponent, cell `i` at bit `4 i`; the whole board if [`Board::is_narrow`].
    #[inline]
    pub const fn nibbles(&self) -> u64 {
        self.tiles
    }

    /// True if no tile is above 32768, so that [`Board::nibbles`] says it all.
    #[inline]
    pub const fn is_narrow(&self) -> bool {
        self.high == 0
    }

    /// The board with these nibbles: cell `i` at bit `4 i`.
    #[inline]
    pub const fn from_nibbles(tiles: u64) -> Self {
        Self { tiles, high: 0 }
    }

    #[inline(always)]
    fn vacancies(&self) -> Vacancies {
        let ones = zero_nibbles(self.tiles);
        Vacancies::of_ones(ones & !self.high)
    }

    /// The path for boards that nibbles cannot hold, before or after the move.
    #[cold]
    #[inline(never)]
    fn wide_slides(&self) -> Slides<Self> {
        let mut slides = Slides { after: [Afterstate::new(*self); 4], reward: [0; 4], legal: Directions::NONE };
        for direction in Direction::ALL {
            let mut moved = [0; 16];
            let mut reward = 0;
            for line in 0..4 {
                let place = |step: usize| {
                    let along = if direction.index() & 1 == 1 { 3 - step } else { step };
                    if direction.is_horizontal() { 4 * line + along } else { 4 * along + line }
                };
                let mut tiles: [u8; 4] = std::array::from_fn(|step| self.exponent(place(step)));
                reward += slide_line(&mut tiles);
                (0..4).for_each(|step| moved[place(step)] = tiles[step]);
            }
            let after = Self::from_exponents(moved);
            if after != *self {
                slides.after[direction.index()] = Afterstate::new(after);
                slides.reward[direction.index()] = reward;
                slides.legal.insert(direction);
            }
        }
        slides
    }
}

/// What words of nibbles do not hold: cell by cell.
impl Board {
    #[cold]
    fn wide_exponents_present(&self) -> u32 {
        self.exponents().into_iter().fold(0, |set, exponent| set | 1 << exponent)
    }

    #[cold]
    fn wide_halved_above(self, least: u8) -> Self {
        Self::from_exponents(self.exponents().map(|exponent| exponent - u8::from(exponent > least)))
    }
}

impl Position for Board {
    const ROWS: usize = 4;
    const COLUMNS: usize = 4;
    const MAX_EXPONENT: u8 = 17;

    #[inline]
    fn empty() -> Self {
        Self { tiles: 0, high: 0 }
    }

    #[inline]
    fn exponent(&self, cell: usize) -> u8 {
        assert!(cell < 16, "a 4x4 board has no cell {cell}");
        (self.tiles >> (4 * cell) & 15) as u8 | ((self.high >> (4 * cell) & 1) << 4) as u8
    }

    #[inline]
    fn with_exponent(self, cell: usize, exponent: u8) -> Self {
        assert!(cell < 16 && exponent < 32, "cell {cell} cannot hold exponent {exponent}");
        let tiles = self.tiles & !(15 << (4 * cell)) | u64::from(exponent & 15) << (4 * cell);
        let high = self.high & !(1 << (4 * cell)) | u64::from(exponent >> 4) << (4 * cell);
        Self { tiles, high }
    }

    #[inline]
    fn empty_cells(&self) -> u32 {
        u32::from(gather(self.vacancies().ones))
    }

    #[inline]
    fn empty_count(&self) -> u32 {
        self.vacancies().count()
    }

    #[inline]
    fn nth_empty(&self, n: u32) -> usize {
        self.vacancies().nth(n & 15).trailing_zeros() as usize / 4
    }

    #[inline]
    fn place(self, spawn: Spawn) -> Self {
        if spawn.exponent > 15 {
            return self.with_exponent(usize::from(spawn.cell), spawn.exponent);
        }
        Self { tiles: self.tiles | u64::from(spawn.exponent) << (4 * (spawn.cell & 15)), high: self.high }
    }

    #[inline]
    fn with_random_tile(self, rule: &SpawnRule, random: u32) -> Self {
        let vacancies = self.vacancies();
        let empty = vacancies.count();
        let (index, exponent) = rule.draw(empty, random);
        let tile = vacancies.nth(index) * u64::from(exponent);
        Self { tiles: if empty == 0 { self.tiles } else { self.tiles | tile }, high: self.high }
    }

    #[inline]
    fn legal(&self) -> Directions {
        if self.high == 0 { NibbleSlides::of(self.tiles).legal() } else { self.wide_slides().legal }
    }

    #[inline]
    fn slide(&self, direction: Direction) -> Option<Slide<Self>> {
        let (tiles, points) = slide_nibbles(self.tiles, direction);
        if self.high != 0 || points >= OVERFLOW {
            let slides = self.wide_slides();
            let i = direction.index();
            return slides
                .legal
                .contains(direction)
                .then(|| Slide { after: slides.after[i], reward: slides.reward[i] });
        }
        let after = Afterstate::new(Self::from_nibbles(tiles));
        (tiles != self.tiles).then_some(Slide { after, reward: 4 * points })
    }

    #[inline(always)]
    fn slides(&self) -> Slides<Self> {
        if self.high != 0 {
            return self.wide_slides();
        }
        let slides = NibbleSlides::of(self.tiles);
        if slides.overflows() {
            return self.wide_slides();
        }
        let [rows, columns] = slides.points().map(|points| 4 * points);
        Slides {
            after: slides.after.map(|tiles| Afterstate::new(Self::from_nibbles(tiles))),
            reward: [rows, rows, columns, columns],
            legal: slides.legal(),
        }
    }

    #[inline]
    fn lines(&self) -> Option<[u16; 8]> {
        let columns = transpose(self.tiles);
        let line = |tiles: u64, i: usize| (tiles >> (16 * i)) as u16;
        let lines = std::array::from_fn(|i| if i < 4 { line(self.tiles, i) } else { line(columns, i - 4) });
        (self.high == 0).then_some(lines)
    }

    #[inline]
    fn images(&self) -> Option<[u64; 8]> {
        let tiles = self.tiles | self.high.wrapping_mul(15);
        let across = transpose(tiles);
        let (mirrored, across_mirrored) = (mirror_columns(tiles), mirror_columns(across));
        let upright = [tiles, mirrored, mirror_rows(tiles), mirror_rows(mirrored)];
        let lying = [across, across_mirrored, mirror_rows(across), mirror_rows(across_mirrored)];
        Some([upright[0], upright[1], upright[2], upright[3], lying[0], lying[1], lying[2], lying[3]])
    }

    #[inline]
    fn max_exponent(&self) -> u8 {
        // Bit by bit from the highest: the cells that are still in the running are those that have it, if any has.
        let (mut running, mut largest) = (if self.high == 0 { ONES } else { self.high }, u8::from(self.high != 0));
        for bit in [3, 2, 1, 0] {
            let having = self.tiles >> bit & running;
            largest = largest << 1 | u8::from(having != 0);
            running = if having == 0 { running } else { having };
        }
        largest
    }

    #[inline]
    fn exponents_present(&self) -> u32 {
        let present = |cells: u64| (0..16).fold(0, |set, cell| set | 1 << (cells >> (4 * cell) & 15));
        if self.high == 0 { present(self.tiles) } else { self.wide_exponents_present() }
    }

    #[inline]
    fn halved_above(self, least: u8) -> Self {
        if self.high != 0 || least > 15 {
            return self.wide_halved_above(least);
        }
        // Seven bits beside each nibble: what is above `least` carries into the eighth.
        const LOW: u64 = 0x0f0f_0f0f_0f0f_0f0f;
        const TOP: u64 = 0x8080_8080_8080_8080;
        let lift = (127 - u64::from(least)) * 0x0101_0101_0101_0101;
        let even = (((self.tiles & LOW) + lift) & TOP) >> 7;
        let odd = (((self.tiles >> 4 & LOW) + lift) & TOP) >> 3;
        Self { tiles: self.tiles - (even | odd), high: 0 }
    }

    #[inline]
    fn key(&self) -> u64 {
        let x = self.tiles ^ self.high.wrapping_mul(0xd6e8_feb8_6659_fd93);
        let x = (x ^ x >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x ^ x >> 29
    }

    fn random_games(starts: &[Self], limit: u32, rule: &SpawnRule, rng: &mut Rng, scores: &mut [u64]) -> u64 {
        crate::batch::play(starts, limit, rule, rng, scores)
    }

    #[inline]
    fn transformed(&self, symmetry: Symmetry) -> Self {
        let image = |mut x: u64| {
            if symmetry.transposes() {
                x = transpose(x);
            }
            if symmetry.mirrors_columns() {
                x = mirror_columns(x);
            }
            if symmetry.mirrors_rows() {
                x = mirror_rows(x);
            }
            x
        };
        Self { tiles: image(self.tiles), high: if self.high == 0 { 0 } else { image(self.high) } }
    }
}

impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        notation::write_digits(self, f)
    }
}

impl fmt::Debug for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Board({self})")
    }
}

impl FromStr for Board {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        notation::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn interleaved_slides_agree_with_plain_ones() {
        let mut rng = Rng::new(9);
        for _ in 0..200_000 {
            // Thinned out, so that empty cells and equal neighbours are common.
            let tiles = rng.next_u64() & rng.next_u64() & !(ONES * u64::from(rng.below(16)));
            assert_eq!(NibbleSlides::of(tiles), NibbleSlides::plain(tiles), "{tiles:016x}");
        }
    }

    #[test]
    fn sixteen_bits_are_gathered() {
        for cell in 0..16 {
            assert_eq!(gather(1 << (4 * cell)), 1 << cell);
        }
        assert_eq!(gather(ONES), u16::MAX);
    }
}
