//! What every search, arena and learner needs of a game position, whatever the size of its board.

use std::fmt::{Debug, Display};
use std::hash::Hash;

use crate::{Direction, Directions, Rng, Size, Spawn, SpawnRule, Symmetry};

/// A position with the player to move.
///
/// [`crate::Board`] is the fast 4x4 implementation, [`crate::Grid`] the plain one for any size. A cell is numbered row by
/// row from the top left; a tile is given by its exponent, 0 for an empty cell.
pub trait Position: Copy + Eq + Ord + Hash + Debug + Display + Send + Sync + 'static {
    /// Number of rows.
    const ROWS: usize;
    /// Number of columns.
    const COLUMNS: usize;
    /// Number of cells.
    const CELLS: usize = Self::ROWS * Self::COLUMNS;
    /// Rows and columns as a value: what needs no more of a board is not compiled again for each type of it.
    const SIZE: Size = Size { rows: Self::ROWS, columns: Self::COLUMNS };
    /// The largest exponent that notation accepts.
    const MAX_EXPONENT: u8;

    /// The board without tiles.
    fn empty() -> Self;

    /// The exponent in a cell, 0 if it is empty. Panics if `cell >= CELLS`.
    fn exponent(&self, cell: usize) -> u8;

    /// The same board with another exponent in one cell. Panics if `cell >= CELLS`.
    #[must_use]
    fn with_exponent(self, cell: usize, exponent: u8) -> Self;

    /// The empty cells as a bit set: bit `i` for cell `i`.
    fn empty_cells(&self) -> u32;

    /// Number of empty cells.
    #[inline]
    fn empty_count(&self) -> u32 {
        self.empty_cells().count_ones()
    }

    /// The `n`-th empty cell, `n < empty_count()`; some cell for a larger `n`.
    #[inline]
    fn nth_empty(&self, n: u32) -> usize {
        bits(self.empty_cells()).nth(n as usize).unwrap_or(0)
    }

    /// Puts a tile in a cell that the caller knows to be empty.
    #[inline]
    #[must_use]
    fn place(self, spawn: Spawn) -> Self {
        self.with_exponent(usize::from(spawn.cell), spawn.exponent)
    }

    /// Puts the tile that `random` draws in one of the empty cells, if there is any.
    #[inline]
    #[must_use]
    fn with_random_tile(self, rule: &SpawnRule, random: u32) -> Self {
        let empty = self.empty_count();
        let (index, exponent) = rule.draw(empty, random);
        if empty == 0 { self } else { self.place(Spawn { cell: self.nth_empty(index) as u8, exponent }) }
    }

    /// The directions that change the board.
    fn legal(&self) -> Directions;

    /// Slides all tiles; `None` if that changes nothing.
    fn slide(&self, direction: Direction) -> Option<Slide<Self>>;

    /// All legal slides at once.
    #[inline]
    fn slides(&self) -> Slides<Self> {
        let mut slides = Slides { after: [Afterstate(*self); 4], reward: [0; 4], legal: Directions::NONE };
        for direction in Direction::ALL {
            if let Some(slide) = self.slide(direction) {
                slides.after[direction.index()] = slide.after;
                slides.reward[direction.index()] = slide.reward;
                slides.legal.insert(direction);
            }
        }
        slides
    }

    /// The four rows, then the four columns, as 16-bit indices of one nibble a cell (the first cell lowest); `None` if the board
    /// is not 4x4 or holds a tile above 32768. What tables of lines are looked up with.
    #[inline]
    fn lines(&self) -> Option<[u16; 8]> {
        None
    }

    /// The images of a 4x4 board in the order of [`Symmetry::ALL`], cell `i` at bits `4 i` and up, tiles above 32768 as if they
    /// were 32768; `None` for other sizes. What tables of patterns are looked up with.
    #[inline]
    fn images(&self) -> Option<[u64; 8]> {
        None
    }

    /// A cheap hash of the position, good in all its bits; not a checksum.
    fn key(&self) -> u64;

    /// True if no direction is legal.
    #[inline]
    fn is_over(&self) -> bool {
        self.legal().is_empty()
    }

    /// The board seen through a symmetry. Panics if the symmetry transposes and the board is not square.
    #[must_use]
    fn transformed(&self, symmetry: Symmetry) -> Self {
        assert!(!symmetry.transposes() || Self::ROWS == Self::COLUMNS, "only a square board can be transposed");
        (0..Self::CELLS).fold(Self::empty(), |board, cell| {
            board.with_exponent(symmetry.cell(cell, Self::ROWS, Self::COLUMNS), self.exponent(cell))
        })
    }

    /// The least of its images under the symmetries of its shape.
    #[must_use]
    fn canonical(&self) -> Self {
        let images = Symmetry::of_shape(Self::ROWS, Self::COLUMNS).iter().map(|&s| self.transformed(s));
        images.min().unwrap_or(*self)
    }

    /// The largest exponent on the board.
    fn max_exponent(&self) -> u8 {
        (0..Self::CELLS).map(|cell| self.exponent(cell)).max().unwrap_or(0)
    }

    /// The exponents on the board as a bit set: bit `e` if some cell holds exponent `e`, bit 0 for empty cells.
    fn exponents_present(&self) -> u32 {
        (0..Self::CELLS).fold(0, |set, cell| set | 1 << self.exponent(cell))
    }

    /// The board with every tile above this exponent (from 1 on) halved.
    #[must_use]
    fn halved_above(self, least: u8) -> Self {
        (0..Self::CELLS).fold(self, |board, cell| match board.exponent(cell) {
            exponent if exponent > least => board.with_exponent(cell, exponent - 1),
            _ => board,
        })
    }

    /// The sum of all tiles.
    fn tile_sum(&self) -> u64 {
        (0..Self::CELLS).map(|cell| self.exponent(cell)).filter(|&e| e > 0).map(|e| 1u64 << e).sum()
    }

    /// Plays a uniformly random game from each start, `limit` moves at most; writes the points of each and returns the moves of all.
    ///
    /// `scores` is as long as `starts`. One number is drawn from `rng` for each game, in order.
    fn random_games(starts: &[Self], limit: u32, rule: &SpawnRule, rng: &mut Rng, scores: &mut [u64]) -> u64 {
        crate::random_games_singly(starts, limit, rule, rng, scores)
    }

    /// Two random tiles on an empty board: how a game begins.
    fn start(rule: &SpawnRule, rng: &mut Rng) -> Self {
        let one = Afterstate::new(Self::empty()).sample(rule, rng);
        Afterstate::new(one).sample(rule, rng)
    }
}

/// What a legal move yields: the board between move and spawn, and the points it earned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slide<P> {
    /// The board after the tiles have moved.
    pub after: Afterstate<P>,
    /// The sum of the tiles that merging made.
    pub reward: u32,
}

/// The slides in all four directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slides<P> {
    /// The board after each slide, by direction index; the board itself where the slide is illegal.
    pub after: [Afterstate<P>; 4],
    /// The points of each slide, by direction index.
    pub reward: [u32; 4],
    /// The directions that change the board.
    pub legal: Directions,
}

impl<P: Copy> Slides<P> {
    /// The slide in one direction; the board itself, without points, if that is illegal.
    #[inline]
    pub fn of(&self, direction: Direction) -> Slide<P> {
        Slide { after: self.after[direction.index()], reward: self.reward[direction.index()] }
    }

    /// The legal slides in index order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (Direction, Slide<P>)> + '_ {
        self.legal.iter().map(|d| (d, self.of(d)))
    }
}

/// A board between move and spawn. A type of its own, so that it cannot be mistaken for a position to move in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Afterstate<P>(P);

impl<P: Position> Afterstate<P> {
    /// Regards a board as one that waits for a spawn.
    #[inline]
    pub const fn new(board: P) -> Self {
        Self(board)
    }

    /// The tiles as they lie.
    #[inline]
    pub const fn board(&self) -> &P {
        &self.0
    }

    /// Number of empty cells.
    #[inline]
    pub fn empty_count(&self) -> u32 {
        self.0.empty_count()
    }

    /// Places a new tile, if the cell exists and is empty.
    pub fn try_place(&self, spawn: Spawn) -> Option<P> {
        let free = usize::from(spawn.cell) < P::CELLS && self.0.empty_cells() >> spawn.cell & 1 == 1;
        (free && spawn.exponent > 0).then(|| self.place(spawn))
    }

    /// Places a new tile in a cell that the caller knows to be empty.
    #[inline]
    pub fn place(&self, spawn: Spawn) -> P {
        self.0.place(spawn)
    }

    /// Every possible spawn with its probability, cell by cell. Empty on a full board.
    #[inline]
    pub fn spawns<'r>(&self, rule: &'r SpawnRule) -> impl Iterator<Item = (Spawn, f64)> + use<'r, P> {
        let cells = self.0.empty_cells();
        let share = 1.0 / f64::from(cells.count_ones());
        bits(cells).flat_map(move |cell| {
            rule.kinds().map(move |(exponent, p)| (Spawn { cell: cell as u8, exponent }, p * share))
        })
    }

    /// Draws a spawn; `None` on a full board.
    #[inline]
    pub fn sample_spawn(&self, rule: &SpawnRule, rng: &mut Rng) -> Option<Spawn> {
        let empty = self.0.empty_count();
        let (index, exponent) = rule.sample(empty, rng);
        (empty > 0).then(|| Spawn { cell: self.0.nth_empty(index) as u8, exponent })
    }

    /// Draws a spawn and places it. A full board stays as it is: no legal move leads to one.
    #[inline]
    pub fn sample(&self, rule: &SpawnRule, rng: &mut Rng) -> P {
        self.draw(rule, rng.next_u32())
    }

    /// [`Afterstate::sample`] with the random number given.
    #[inline]
    pub fn draw(&self, rule: &SpawnRule, random: u32) -> P {
        self.0.with_random_tile(rule, random)
    }
}

/// The indices of the set bits, ascending.
fn bits(mut set: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (set != 0).then(|| {
            let lowest = set.trailing_zeros() as usize;
            set &= set - 1;
            lowest
        })
    })
}

/// Points scored in reaching a board: each tile of exponent `e` took `(e - 1) 2^e` points if it grew from 2s alone, and 4
/// points fewer for every 4 that spawned (in general `(s - 1) 2^s` for a spawned exponent `s`).
///
/// ```
/// use afterstate_board::{board, potential};
/// assert_eq!(potential(&board!(4 8 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 2)), 4 + 16);
/// ```
pub fn potential<P: Position>(board: &P) -> u64 {
    (0..P::CELLS).map(|cell| u64::from(board.exponent(cell))).map(|e| e.saturating_sub(1) << e).sum()
}
