//! The cells of a pattern in two halves, the last row and those above it. A state is a pair of their fillings, written as two codes in one
//! word, the upper one in its upper 32 bits; what each half adds to the codes of the states that moves lead to is known beforehand,
//! so that a move costs a few additions.

use std::ops::Range;

use afterstate_evaluator::tables::{CUT, Pattern, Ranks};

/// Added to a code when a move would take the block apart, or leave a tile where it is too large.
/// Sixteen of them fit a word, and no code reaches it.
const BROKEN: u64 = 1 << 57;
/// A tile of the block; each is unlike any other, so that none merge.
const LARGE: u8 = 100;

/// A line pushed towards its first cell, or its last.
fn pushed(line: [u8; 4], to_last: bool) -> [u8; 4] {
    let order: [usize; 4] = if to_last { [3, 2, 1, 0] } else { [0, 1, 2, 3] };
    let (mut result, mut filled, mut mergeable) = ([0; 4], 0, false);
    for tile in order.map(|i| line[i]).into_iter().filter(|&tile| tile != 0) {
        if mergeable && result[order[filled - 1]] == tile {
            result[order[filled - 1]] += 1;
            mergeable = false;
        } else {
            result[order[filled]] = tile;
            (filled, mergeable) = (filled + 1, true);
        }
    }
    result
}

/// What the exponent on a cell is multiplied with in the code of its half.
pub fn place(pattern: Pattern, cell: usize) -> u32 {
    let place = pattern.place(cell);
    (if cell < CUT { place / fillings_below(pattern) } else { place }) as u32
}

/// The number of fillings of the last row: an index is the upper code times this, and the lower code.
pub fn fillings_below(pattern: Pattern) -> u64 {
    pattern.place(CUT - 1)
}

/// What a tile on a cell adds to the codes.
fn contribution(pattern: Pattern, cell: usize, tile: u8) -> u64 {
    let shift = if cell < CUT { 32 } else { 0 };
    match u64::from(tile) {
        _ if pattern.is_large(cell) => u64::from(tile != LARGE + cell as u8) * BROKEN,
        exponent if exponent < pattern.exponents(cell) => (exponent * u64::from(place(pattern, cell))) << shift,
        _ => BROKEN,
    }
}

/// The codes after a move, from what its parts add; `None` if one of them breaks the pattern.
#[inline(always)]
pub fn joined(parts: impl IntoIterator<Item = u64>) -> Option<(u32, u32)> {
    let codes: u64 = parts.into_iter().sum();
    (codes < BROKEN).then_some(((codes >> 32) as u32, codes as u32))
}

/// Every way to fill the free ones of some cells: calls back with the exponents, large tiles among them. The last cell counts
/// fastest.
fn fillings(pattern: Pattern, cells: &[usize], mut each: impl FnMut(&[u8])) {
    let mut tiles: Vec<u8> = cells.iter().map(|&cell| LARGE + cell as u8).collect();
    for code in 0..cells.iter().map(|&cell| pattern.exponents(cell)).product() {
        let mut rest: u64 = code;
        for (i, &cell) in cells.iter().enumerate().rev().filter(|&(_, &cell)| !pattern.is_large(cell)) {
            tiles[i] = (rest % pattern.exponents(cell)) as u8;
            rest /= pattern.exponents(cell);
        }
        each(&tiles);
    }
}

/// What each filling of each column adds to the codes when it is pushed up or down.
pub struct Columns {
    pub up: [Vec<u64>; 4],
    pub down: [Vec<u64>; 4],
}

impl Columns {
    pub fn new(pattern: Pattern) -> Self {
        let results = |column: usize, to_last: bool| {
            let cells = Self::cells(column);
            let mut results = Vec::new();
            fillings(pattern, &cells, |tiles| {
                let line = pushed(std::array::from_fn(|i| tiles[i]), to_last);
                results.push(cells.iter().zip(line).map(|(&cell, tile)| contribution(pattern, cell, tile)).sum());
            });
            results
        };
        Self { up: std::array::from_fn(|c| results(c, false)), down: std::array::from_fn(|c| results(c, true)) }
    }

    fn cells(column: usize) -> [usize; 4] {
        [column, column + 4, column + 8, column + 12]
    }

    /// What an exponent on a cell adds to the number of its column's filling.
    fn digit(pattern: Pattern, cell: usize) -> u16 {
        let below = Self::cells(cell % 4).into_iter().filter(|&other| other > cell);
        below.map(|other| pattern.exponents(other) as u16).product()
    }
}

/// One filling of a half.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Its number among all fillings.
    pub code: u32,
    /// Its free tiles.
    pub nibbles: u64,
    /// What its rows add to the codes after a move to the left and to the right.
    pub rows: [u64; 2],
    /// What it adds to the numbers of the columns' fillings.
    pub columns: [u16; 4],
    /// Half the sum of its tiles: the layer.
    pub layer: u32,
    /// Its empty cells.
    pub empty: u16,
    /// True if it holds its share of what lines up to the goal.
    pub may_be_goal: bool,
}

/// All fillings of some rows, in the order of their layers.
pub struct Half<'a> {
    states: Vec<State>,
    ranks: &'a Ranks,
}

impl<'a> Half<'a> {
    /// The rows of the block and the one below it.
    pub fn upper(pattern: Pattern, ranks: &'a Ranks) -> Self {
        Self::new(pattern, 0..CUT, ranks)
    }

    /// The last row.
    pub fn lower(pattern: Pattern, ranks: &'a Ranks) -> Self {
        Self::new(pattern, CUT..16, ranks)
    }

    fn new(pattern: Pattern, cells: Range<usize>, ranks: &'a Ranks) -> Self {
        let cells: Vec<usize> = cells.collect();
        let mut states = Vec::new();
        fillings(pattern, &cells, |tiles| states.push(state(pattern, &cells, tiles)));
        states.sort_by_key(|state| state.layer);
        Self { states, ranks }
    }

    /// The layer of a filling, and its rank in it.
    #[inline]
    pub fn rank(&self, code: u32) -> (u32, u32) {
        self.ranks.rank(code)
    }

    /// The number of layers.
    pub fn layers(&self) -> u32 {
        self.ranks.layers()
    }

    /// The fillings of some layers.
    pub fn of(&self, layers: Range<u32>) -> &[State] {
        &self.states[self.ranks.range(layers)]
    }
}

fn state(pattern: Pattern, cells: &[usize], tiles: &[u8]) -> State {
    let row = |to_last: bool| {
        let rows = tiles.chunks(4).flat_map(|row| pushed(std::array::from_fn(|i| row[i]), to_last));
        cells.iter().zip(rows).map(|(&cell, tile)| contribution(pattern, cell, tile)).sum()
    };
    let rows = [row(false), row(true)];
    let mut state = State { code: 0, nibbles: 0, rows, columns: [0; 4], layer: 0, empty: 0, may_be_goal: false };
    let mut mine = 0;
    for (&cell, &tile) in cells.iter().zip(tiles).filter(|&(&cell, _)| !pattern.is_large(cell)) {
        state.code += u32::from(tile) * place(pattern, cell);
        state.nibbles |= u64::from(tile) << (4 * cell);
        state.columns[cell % 4] += u16::from(tile) * Columns::digit(pattern, cell);
        state.layer += (1 << tile) >> 1;
        state.empty |= u16::from(tile == 0) << cell;
        mine |= 15 << (4 * cell);
    }
    state.may_be_goal = pattern.goals().iter().any(|goal| goal.within(mine).is_met(state.nibbles));
    state
}
