//! Which weights a board looks up: patterns of cells, seen through every symmetry of the board, in the stage it is in.

use std::fmt;
use std::sync::atomic::AtomicU32;

use afterstate_board::{Directions, Position, Size, Symmetry};

use super::network::{points, sum_unchecked};
use super::prefetch;

/// Tiles above this exponent are looked up as this one: a cell takes four bits.
pub const CAP: u8 = 15;

/// The most look-ups a layout may make for one board.
pub const MOST_FEATURES: usize = 256;

/// A set of cells, in rising order, that together index one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Vec<u8>);

/// Lists of patterns that have a name.
///
/// `4x6` is the four 6-tuples of Yeh et al. 2016, `8x6` the eight of Matsuzaki 2016, `17x4` the lines and squares of Szubert and
/// Jaskowski 2014 (17 places; symmetry leaves five tables).
///
/// A pattern may be written in any of its eight orientations; the first cell is the one whose sixteen tiles share a cache line. The
/// orientations here are those in which games miss the cache least: a fifth less often than from the top left.
pub const NAMED: &[(&str, &str)] = &[
    ("17x4", "0123 4567 0145 1256 569a"),
    ("4x6", "abcdef 6789ab 9abdef 5679ab"),
    ("8x6", "9abdef 6789ab abcdef 69abcd 56adef 789abc 89abdf 567bef"),
];

/// Why a list of patterns, or of stages, cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// A pattern that makes no sense on this board.
    #[error("pattern {pattern:?}: {reason}")]
    Pattern {
        /// As written.
        pattern: String,
        /// What is wrong.
        reason: String,
    },
    /// Too large.
    #[error("{0}")]
    TooLarge(String),
    /// Stages out of order.
    #[error("stages must rise: each is the smallest largest tile, or the least sum, that enters it, such as 16384")]
    Stages,
}

/// What begins the second stage of weights, the third, ...
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stages {
    /// The exponents of tiles: a board is as far as its largest.
    Tiles(Vec<u8>),
    /// Sums of all tiles.
    Sums(Vec<u32>),
}

impl Stages {
    /// All boards are in one stage.
    pub const NONE: Self = Self::Tiles(Vec::new());

    /// How many begin after the first.
    pub const fn len(&self) -> usize {
        match self {
            Self::Tiles(tiles) => tiles.len(),
            Self::Sums(sums) => sums.len(),
        }
    }

    /// True if there is but one.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn is_rising(&self) -> bool {
        match self {
            Self::Tiles(tiles) => tiles.first() != Some(&0) && tiles.is_sorted_by(|a, b| a < b),
            Self::Sums(sums) => sums.is_sorted_by(|a, b| a < b),
        }
    }

    /// The stage of a board, cell by cell: the twin of `of_nibbles`.
    pub fn of<P: Position>(&self, board: &P) -> usize {
        let exponents = (0..P::CELLS).map(|cell| board.exponent(cell).min(CAP));
        match self {
            Self::Tiles(tiles) => {
                let largest = exponents.max().unwrap_or(0);
                tiles.iter().filter(|&&least| largest >= least).count()
            }
            Self::Sums(sums) => {
                let sum = exponents.filter(|&exponent| exponent > 0).map(|exponent| 1u32 << exponent).sum();
                sums.iter().filter(|&&least| least <= sum).count()
            }
        }
    }

    /// The stage of a 4x4 board.
    #[inline(always)]
    fn of_nibbles(&self, nibbles: u64) -> usize {
        match self {
            Self::Tiles(tiles) => tiles.iter().filter(|&&least| any_nibble_from(nibbles, least)).count(),
            Self::Sums(sums) => {
                let sum = nibbles.to_le_bytes().iter().map(|&byte| PAIR_SUMS[usize::from(byte)]).sum::<u32>();
                sums.iter().filter(|&&least| least <= sum).count()
            }
        }
    }
}

/// The sums of two tiles, by their exponents as nibbles.
static PAIR_SUMS: [u32; 256] = {
    const fn tile(exponent: usize) -> u32 {
        if exponent == 0 { 0 } else { 1 << exponent }
    }
    let mut sums = [0; 256];
    let mut pair = 0;
    while pair < 256 {
        sums[pair] = tile(pair & 15) + tile(pair >> 4);
        pair += 1;
    }
    sums
};

impl Pattern {
    /// Reads cells as hexadecimal digits (a letter beyond `f` on boards of more than 16 cells), `0` at the top left.
    pub(crate) fn parse(text: &str, cells: usize) -> Result<Self, LayoutError> {
        let refuse = |reason: &str| LayoutError::Pattern { pattern: text.to_owned(), reason: reason.to_owned() };
        let mut found = Vec::new();
        for digit in text.chars() {
            let cell = digit.to_digit(36).ok_or_else(|| refuse("cells are digits or letters, as in 01245a"))?;
            if cell as usize >= cells {
                return Err(refuse(&format!("there is no cell {digit} on a board of {cells} cells")));
            }
            found.push(cell as u8);
        }
        found.sort_unstable();
        let distinct = found.windows(2).all(|pair| pair[0] != pair[1]);
        match found.len() {
            0 => Err(refuse("it names no cell")),
            1..=7 if distinct => Ok(Self(found)),
            1..=7 => Err(refuse("it names a cell twice")),
            _ => Err(refuse("more than 7 cells need more than 4 GiB of weights")),
        }
    }

    /// The cells, rising.
    pub fn cells(&self) -> &[u8] {
        &self.0
    }

    /// Entries of its table.
    pub const fn entries(&self) -> usize {
        1 << (4 * self.0.len())
    }

    /// Cells that keep their distance move together: the index is the sum of a few shifted and masked copies of the board.
    pub(crate) fn runs(&self) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (place, &cell) in self.0.iter().enumerate() {
            let (shift, mask) = (4 * (u32::from(cell) - place as u32), 15 << (4 * place));
            match runs.last_mut() {
                Some(run) if run.shift == shift => run.mask |= mask,
                _ => runs.push(Run { shift, mask }),
            }
        }
        runs
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|&cell| write!(f, "{}", char::from_digit(u32::from(cell), 36).unwrap_or('?')))
    }
}

/// `(board >> shift) & mask` is a part of an index.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Run {
    pub shift: u32,
    pub mask: u64,
}

/// What a pattern is looked up with.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pattern: Pattern,
    /// Most patterns have two runs at most: no loop for them. A run that is not there picks nothing.
    pub first: [Run; 2],
    pub others: Vec<Run>,
    pub offset: u32,
}

/// Patterns and stages for a board of one shape.
#[derive(Clone, Debug)]
pub struct Layout {
    tables: Vec<Table>,
    /// Weights of one stage.
    stage_len: usize,
    stages: Stages,
    symmetries: usize,
    #[cfg(target_arch = "x86_64")]
    avx2: bool,
    #[cfg(target_arch = "x86_64")]
    avx512: bool,
    /// Are weights looked up by eights?
    #[cfg(target_arch = "x86_64")]
    gathers: bool,
}

impl Layout {
    /// Reads a list of patterns (or the name of one) for boards of type `P`. `stages` holds the exponents that begin a new stage.
    pub fn new<P: Position>(patterns: &str, stages: &[u8]) -> Result<Self, LayoutError> {
        Self::of_size(P::SIZE, patterns, Stages::Tiles(stages.to_vec()))
    }

    /// The same with stages of whatever kind.
    pub fn staged<P: Position>(patterns: &str, stages: Stages) -> Result<Self, LayoutError> {
        Self::of_size(P::SIZE, patterns, stages)
    }

    /// The same, for all types of boards of a size.
    pub(crate) fn of_size(size: Size, patterns: &str, stages: Stages) -> Result<Self, LayoutError> {
        let list = NAMED.iter().find(|(name, _)| *name == patterns).map_or(patterns, |(_, list)| list);
        let mut tables = Vec::new();
        let mut offset = 0;
        for word in list.split([' ', '+']).filter(|word| !word.is_empty()) {
            let pattern = Pattern::parse(word, size.cells())?;
            let entries = pattern.entries();
            let start = u32::try_from(offset).map_err(|_| LayoutError::TooLarge("more than 2^32 weights".into()))?;
            let runs = pattern.runs();
            let first = [0, 1].map(|i| runs.get(i).copied().unwrap_or_default());
            let others = runs.into_iter().skip(2).collect();
            tables.push(Table { pattern, first, others, offset: start });
            offset += entries;
        }
        if tables.is_empty() {
            let reason = "a network needs at least one pattern, such as 012345".to_owned();
            return Err(LayoutError::Pattern { pattern: patterns.to_owned(), reason });
        }
        if !stages.is_rising() {
            return Err(LayoutError::Stages);
        }
        let symmetries = Symmetry::of_shape(size.rows, size.columns).len();
        let layout = Self {
            tables,
            stage_len: offset,
            stages,
            symmetries,
            #[cfg(target_arch = "x86_64")]
            avx2: is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            avx512: super::avx512::is_there(),
            #[cfg(target_arch = "x86_64")]
            gathers: super::avx512::gathers_well(),
        };
        if layout.features() > MOST_FEATURES {
            let count = layout.features();
            return Err(LayoutError::TooLarge(format!("{count} look-ups a board; {MOST_FEATURES} are the most")));
        }
        if u32::try_from(layout.weights()).is_err() {
            return Err(LayoutError::TooLarge("more than 2^32 weights".into()));
        }
        Ok(layout)
    }

    /// The patterns, one table each.
    pub fn patterns(&self) -> impl ExactSizeIterator<Item = &Pattern> {
        self.tables.iter().map(|table| &table.pattern)
    }

    /// What begins a new stage.
    pub const fn stages(&self) -> &Stages {
        &self.stages
    }

    /// Number of weights in one stage.
    pub const fn stage_len(&self) -> usize {
        self.stage_len
    }

    /// Number of weights in all stages.
    pub const fn weights(&self) -> usize {
        self.stage_len * (self.stages.len() + 1)
    }

    /// Number of weights that a board looks up.
    pub const fn features(&self) -> usize {
        self.tables.len() * self.symmetries
    }

    /// The bits of which an index has one for each tile from 256 on among those it stands for; `None` if patterns differ in size, so that there
    /// are no such bits.
    pub fn large_bits(&self) -> Option<u32> {
        let entries = self.tables[0].pattern.entries();
        let alike = self.patterns().all(|pattern| pattern.entries() == entries);
        alike.then_some(0x8888_8888 & (entries as u64 - 1) as u32)
    }

    /// Where in the weights of one stage a pattern's table lies.
    pub fn table(&self, pattern: usize) -> std::ops::Range<usize> {
        let table = &self.tables[pattern];
        let start = table.offset as usize;
        start..start + table.pattern.entries()
    }

    /// Are weights looked up by eights, which takes no indices from memory?
    #[inline(always)]
    const fn gathers(&self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.gathers;
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// The value of a board: the sum of the weights that it looks up, in points.
    ///
    /// # Safety
    ///
    /// There must be at least [`Layout::weights`] of them.
    #[inline(always)]
    pub unsafe fn value_unchecked<P: Position>(&self, board: &P, weights: &[AtomicU32]) -> f32 {
        #[cfg(target_arch = "x86_64")]
        if let (true, Some(images)) = (self.gathers, board.images()) {
            let base = self.stage_base(images[0]) as usize;
            // SAFETY: the processor was asked, and the caller promises the weights.
            return points(unsafe { super::avx512::sum(&self.tables, images[0], images[4], base, weights) });
        }
        let mut indices = [0; MOST_FEATURES];
        let indices = &mut indices[..self.features()];
        self.indices(board, indices);
        // SAFETY: a layout looks up only weights that it counts, and the caller promises as many.
        unsafe { sum_unchecked(weights, indices) }
    }

    /// The values of the boards that the moves lead to, 0 where there is none: all that they look up is asked for before the first is summed.
    ///
    /// # Safety
    ///
    /// As for [`Layout::value_unchecked`], whose twin this is.
    #[inline(always)]
    pub unsafe fn values_unchecked<P: Position>(
        &self,
        boards: &[P; 4],
        moves: Directions,
        weights: &[AtomicU32],
    ) -> [f32; 4] {
        let mut values = [0.0; 4];
        if self.gathers() {
            for direction in moves.iter().map(|direction| direction.index()) {
                // SAFETY: the caller promises as many weights as there must be.
                values[direction] = unsafe { self.value_unchecked(&boards[direction], weights) };
            }
            return values;
        }
        let (features, mut indices) = (self.features(), [0; 4 * MOST_FEATURES]);
        for (direction, indices) in moves.iter().zip(indices.chunks_exact_mut(features)) {
            self.indices(&boards[direction.index()], indices);
            indices.iter().for_each(|&index| prefetch(weights, index as usize));
        }
        for (direction, indices) in moves.iter().zip(indices.chunks_exact(features)) {
            // SAFETY: a layout looks up only weights that it counts, and the caller promises as many.
            values[direction.index()] = unsafe { sum_unchecked(weights, indices) };
        }
        values
    }

    /// The weights that a board looks up, [`Layout::features`] of them.
    #[inline(always)]
    pub fn indices<P: Position>(&self, board: &P, indices: &mut [u32]) {
        match board.images() {
            #[cfg(target_arch = "x86_64")]
            Some(images) if self.avx512 => {
                let base = self.stage_base(images[0]);
                // SAFETY: the processor was asked. `image_indices` is the twin.
                unsafe { super::avx512::indices(&self.tables, images[0], images[4], base, indices) }
            }
            #[cfg(target_arch = "x86_64")]
            Some(images) if self.avx2 => {
                let base = self.stage_base(images[0]);
                // SAFETY: the processor was asked. `image_indices` is the twin.
                unsafe { super::avx2::indices(&self.tables, images[0], images[4], base, indices) }
            }
            Some(images) => self.image_indices(&images, indices),
            None => self.plain_indices(board, indices),
        }
    }

    /// All symmetries of a 4x4 board in step: the shifts and masks of a pattern suit them all.
    #[inline(always)]
    fn image_indices(&self, images: &[u64; 8], indices: &mut [u32]) {
        let base = self.stage_base(images[0]);
        for (table, slots) in self.tables.iter().zip(indices.as_chunks_mut::<8>().0) {
            let index = |image: u64| {
                let part = |sum, run: &Run| sum | image >> run.shift & run.mask;
                table.first.iter().chain(&table.others).fold(0, part) as u32 + table.offset + base
            };
            *slots = images.map(index);
        }
    }

    /// Where the weights of the stage of a 4x4 board begin.
    #[inline(always)]
    fn stage_base(&self, nibbles: u64) -> u32 {
        if self.stages.is_empty() {
            return 0;
        }
        (self.stages.of_nibbles(nibbles) * self.stage_len) as u32
    }

    /// The same for any board, cell by cell: the definition, and the twin of the fast way.
    pub fn plain_indices<P: Position>(&self, board: &P, indices: &mut [u32]) {
        let base = self.stages.of(board) * self.stage_len;
        let symmetries = Symmetry::of_shape(P::ROWS, P::COLUMNS);
        let mut slots = indices.iter_mut();
        for table in &self.tables {
            for (symmetry, slot) in symmetries.iter().zip(&mut slots) {
                let image = symmetry.inverse();
                let digit = |cell: u8| board.exponent(image.cell(usize::from(cell), P::ROWS, P::COLUMNS)).min(CAP);
                let local = table.pattern.0.iter().rev().fold(0, |index, &cell| index << 4 | u32::from(digit(cell)));
                *slot = base as u32 + table.offset + local;
            }
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, table) in self.tables.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { " " }, table.pattern)?;
        }
        Ok(())
    }
}

/// Is some nibble at least `least` (1 to 15)?
#[inline(always)]
const fn any_nibble_from(nibbles: u64, least: u8) -> bool {
    const LOW: u64 = 0x0f0f_0f0f_0f0f_0f0f;
    let lift = (128 - least as u64) * 0x0101_0101_0101_0101;
    let reached = ((nibbles & LOW) + lift) | ((nibbles >> 4 & LOW) + lift);
    reached & 0x8080_8080_8080_8080 != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ntuple::UNIT;
    use crate::testing::{random_boards, twin};
    use afterstate_board::{Board, Direction, Grid, board};
    use std::sync::atomic::Ordering::Relaxed;

    fn all_ways(layout: &Layout, board: &Board) -> [Vec<u32>; 4] {
        let blank = || vec![u32::MAX; layout.features()];
        let (mut fast, mut portable, mut plain, mut grid) = (blank(), blank(), blank(), blank());
        layout.indices(board, &mut fast);
        layout.image_indices(&board.images().unwrap(), &mut portable);
        layout.plain_indices(board, &mut plain);
        layout.indices(&twin(board), &mut grid);
        [fast, portable, plain, grid]
    }

    #[test]
    fn every_way_finds_the_same_weights() {
        let huge = board!(131072 65536 32768 16384 / 2 4 8 131072 / 0 0 0 2 / 65536 0 0 0);
        for (name, _) in NAMED {
            let tiles = [vec![], vec![11], vec![9, 14]].map(Stages::Tiles);
            for stages in tiles.into_iter().chain([Stages::Sums(vec![600, 5_000, 40_000])]) {
                let layout = Layout::staged::<Board>(name, stages).unwrap();
                for board in random_boards(500).chain([huge]) {
                    let [fast, portable, plain, grid] = all_ways(&layout, &board);
                    assert_eq!(fast, plain, "{name} {board}");
                    assert_eq!(portable, plain, "{name} {board}");
                    assert_eq!(grid, plain, "{name} {board}");
                    #[cfg(target_arch = "x86_64")]
                    if layout.avx2 {
                        let older = Layout { avx512: false, ..layout.clone() };
                        let mut indices = vec![u32::MAX; layout.features()];
                        older.indices(&board, &mut indices);
                        assert_eq!(indices, plain, "{name} {board}");
                    }
                    assert!(plain.iter().all(|&index| (index as usize) < layout.weights()));
                }
            }
        }
    }

    /// One by one or by eights, whatever this processor does by itself: what the moves lead to is worth the sum of what the definition looks up.
    #[test]
    fn both_ways_to_look_up_give_the_values_of_all_moves() {
        let layout = Layout::new::<Board>("0123 4567 01245 569a", &[6]).unwrap();
        let mut words = crate::ntuple::Words::zeroed(layout.weights()).unwrap();
        let mut rng = afterstate_board::Rng::new(4);
        words.exclusive().iter_mut().for_each(|word| *word = rng.next_u32() >> 12);
        let mut ways = vec![layout.clone()];
        #[cfg(target_arch = "x86_64")]
        ways.extend([false, true].map(|gathers| Layout { gathers: gathers && layout.avx512, ..layout.clone() }));
        let mut missing = 0;
        for board in random_boards(500) {
            let slides = board.slides();
            let boards = slides.after.map(|after| *after.board());
            let plain = |direction: Direction| {
                let mut indices = vec![0; layout.features()];
                layout.plain_indices(&boards[direction.index()], &mut indices);
                let sum: u64 = indices.iter().map(|&i| u64::from(words.atomics()[i as usize].load(Relaxed))).sum();
                if slides.legal.contains(direction) { sum as f32 * UNIT } else { 0.0 }
            };
            let wanted = Direction::ALL.map(plain);
            missing += wanted.iter().filter(|&&value| value == 0.0).count();
            for layout in &ways {
                // SAFETY: there are as many weights as the layout counts.
                let values = unsafe { layout.values_unchecked(&boards, slides.legal, words.atomics()) };
                assert_eq!(Direction::ALL.map(|direction| values[direction.index()]), wanted, "{board}");
            }
        }
        assert!(missing > 10, "{missing}");
    }

    #[test]
    fn images_of_a_board_look_up_the_same_weights() {
        let layout = Layout::new::<Board>("8x6", &[12]).unwrap();
        for board in random_boards(200) {
            let sorted = |board: &Board| {
                let mut indices = vec![0; layout.features()];
                layout.indices(board, &mut indices);
                indices.sort_unstable();
                indices
            };
            let own = sorted(&board);
            for symmetry in Symmetry::ALL {
                assert_eq!(sorted(&board.transformed(symmetry)), own);
            }
        }
    }

    #[test]
    fn an_index_by_hand() {
        let layout = Layout::new::<Board>("0 04", &[2]).unwrap();
        let mut indices = [0; 16];
        layout.indices(&board!(2 0 0 0 / 4 0 0 0 / 0 0 0 0 / 0 0 0 0), &mut indices);
        let base = 16 + 256;
        assert_eq!(layout.weights(), 2 * base as usize);
        assert_eq!((indices[0], indices[8]), (base + 1, base + 16 + (2 << 4) + 1));
    }

    #[test]
    fn a_stage_by_its_sum() {
        let stages = Stages::Sums(vec![6, 20]);
        let stage = |board: Board| stages.of(&board);
        assert_eq!(stage(board!(2 0 0 0 / 2 0 0 0 / 0 0 0 0 / 0 0 0 0)), 0);
        assert_eq!(stage(board!(2 0 0 0 / 4 0 0 0 / 0 0 0 0 / 0 0 0 0)), 1);
        assert_eq!(stage(board!(2 0 0 0 / 16 0 0 0 / 0 0 0 0 / 0 0 0 2)), 2);
        assert_eq!(stage(board!(131072 0 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 2)), 2);
    }

    #[test]
    fn nonsense_is_refused() {
        let reason = |text: &str, stages: &[u8]| Layout::new::<Grid<2, 3>>(text, stages).unwrap_err().to_string();
        assert!(reason("0126", &[]).contains("no cell 6"));
        assert!(reason("011", &[]).contains("twice"));
        assert!(reason("0-1", &[]).contains("digits"));
        assert!(reason(" ", &[]).contains("at least one"));
        assert!(reason("01", &[5, 5]).contains("rise"));
        let sums = Layout::staged::<Board>("01", Stages::Sums(vec![512, 512]));
        assert!(sums.unwrap_err().to_string().contains("rise"));
        assert!(reason(&"01 ".repeat(100), &[]).contains("look-ups"));
        assert!(Layout::new::<Board>("01234567", &[]).is_err());
    }
}
