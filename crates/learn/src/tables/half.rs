//! The cells of a pattern in two halves, the last row and the two above it: what each half adds to the index of a state and of the
//! states its moves lead to, so that a pair of halves costs a few additions.

use std::ops::Range;

use afterstate_evaluator::tables::Pattern;

/// Added to an index when a move would take the large tiles apart, or build the goal away from them.
pub const BROKEN: u64 = 1 << 48;
/// Added to an index when a move builds the goal beside a large tile.
pub const GOAL: u64 = 1 << 56;
/// A large tile; each is unlike any other, so that none merge.
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

/// What a tile on a free cell adds to an index, in a mirror or not.
fn contribution(pattern: Pattern, slot: usize, mirror: bool, cell: usize, tile: u8) -> u64 {
    let seen = if mirror { cell ^ 3 } else { cell };
    match tile {
        LARGE.. => BROKEN,
        tile if tile == pattern.goal() => {
            if Pattern::is_goal_cell(seen, pattern.arrangements()[slot]) {
                GOAL
            } else {
                BROKEN
            }
        }
        tile => u64::from(tile) * pattern.place(slot, seen),
    }
}

/// Every way to fill the free ones of some cells: calls back with the exponents, large tiles among them. The last cell counts
/// fastest.
fn fillings(pattern: Pattern, slot: usize, cells: &[usize], mut each: impl FnMut(&[u8])) {
    let free: Vec<usize> = (0..cells.len()).filter(|&i| !pattern.is_large(slot, cells[i])).collect();
    let mut tiles: Vec<u8> = cells.iter().map(|&cell| LARGE + cell as u8).collect();
    for code in 0..usize::from(pattern.goal()).pow(free.len() as u32) {
        let mut rest = code;
        for &i in free.iter().rev() {
            tiles[i] = (rest % usize::from(pattern.goal())) as u8;
            rest /= usize::from(pattern.goal());
        }
        each(&tiles);
    }
}

/// What each filling of each column adds to the index when it is pushed up or down.
pub struct Columns {
    pub up: [Vec<u64>; 4],
    pub down: [Vec<u64>; 4],
}

impl Columns {
    pub fn new(pattern: Pattern, slot: usize) -> Self {
        let results = |column: usize, to_last: bool| {
            let cells = [column, column + 4, column + 8, column + 12];
            let mut results = Vec::new();
            fillings(pattern, slot, &cells, |tiles| {
                let line = pushed(std::array::from_fn(|i| tiles[i]), to_last);
                let cell = |(&cell, tile): (&usize, u8)| match tile {
                    _ if !pattern.is_large(slot, cell) => contribution(pattern, slot, false, cell, tile),
                    tile if tile == LARGE + cell as u8 => 0,
                    _ => BROKEN,
                };
                // The sum over the columns must know the arrangement once.
                let offset = if column == 0 { pattern.offset(slot) } else { 0 };
                results.push(offset + cells.iter().zip(line).map(cell).sum::<u64>());
            });
            results
        };
        Self { up: std::array::from_fn(|c| results(c, false)), down: std::array::from_fn(|c| results(c, true)) }
    }

    /// What an exponent on a cell adds to the number of its column's filling. No large tile lies below a free cell.
    fn digit(pattern: Pattern, cell: usize) -> u16 {
        u16::from(pattern.goal()).pow(3 - cell as u32 / 4)
    }
}

/// A row move's share in an index, seen directly and in a mirror.
pub type Shares = [u64; 2];

/// One filling of a half.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// What it adds to the state's index.
    pub index: u64,
    /// What its rows add to the index after a move to the left and to the right.
    pub rows: [Shares; 2],
    /// Whether the move takes the large tiles to an arrangement that is listed in its mirror.
    pub mirrors: [bool; 2],
    /// What it adds to the numbers of the columns' fillings.
    pub columns: [u16; 4],
    /// Half the sum of its tiles: the layer.
    pub layer: u32,
    /// Its empty cells.
    pub empty: u16,
    /// The arrangement, for the half that has the second row.
    pub slot: u8,
}

/// All fillings of some rows, in the order of their layers.
pub struct Half {
    states: Vec<State>,
    /// Where each layer begins, and at last the end.
    starts: Vec<u32>,
}

impl Half {
    /// The second and third row, in every arrangement.
    pub fn upper(pattern: Pattern) -> Self {
        Self::new(pattern, 0..pattern.arrangements().len(), 4..12)
    }

    /// The last row.
    pub fn lower(pattern: Pattern) -> Self {
        Self::new(pattern, 0..1, 12..16)
    }

    fn new(pattern: Pattern, slots: Range<usize>, cells: Range<usize>) -> Self {
        let cells: Vec<usize> = cells.collect();
        let mut states = Vec::new();
        for slot in slots {
            fillings(pattern, slot, &cells, |tiles| states.push(state(pattern, slot, &cells, tiles)));
        }
        states.sort_by_key(|state| state.layer);
        let last = states.last().map_or(0, |state| state.layer);
        let start = |layer: u32| states.partition_point(|state| state.layer < layer) as u32;
        let starts = (0..=last + 1).map(start).collect();
        Self { states, starts }
    }

    /// The number of layers.
    pub fn layers(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// The fillings of some layers.
    pub fn of(&self, layers: Range<u32>) -> &[State] {
        let at = |layer: u32| self.starts[layer.min(self.layers()) as usize] as usize;
        &self.states[at(layers.start)..at(layers.end)]
    }
}

fn state(pattern: Pattern, slot: usize, cells: &[usize], tiles: &[u8]) -> State {
    let has_second = cells[0] == 4;
    let offset = if has_second { pattern.offset(slot) } else { 0 };
    let slot_byte = slot as u8;
    let mut state = State {
        index: offset,
        rows: [[0; 2]; 2],
        mirrors: [false; 2],
        columns: [0; 4],
        layer: 0,
        empty: 0,
        slot: slot_byte,
    };
    for (&cell, &tile) in cells.iter().zip(tiles).filter(|&(&cell, _)| !pattern.is_large(slot, cell)) {
        state.index += u64::from(tile) * pattern.place(slot, cell);
        state.columns[cell % 4] += u16::from(tile) * Columns::digit(pattern, cell);
        state.layer += (1 << tile) >> 1;
        state.empty |= u16::from(tile == 0) << cell;
    }
    for to_last in [false, true] {
        let rows: Vec<u8> = tiles.chunks(4).flat_map(|row| pushed(std::array::from_fn(|i| row[i]), to_last)).collect();
        let columns = (0..4).filter(|&i| has_second && rows[i] >= LARGE).fold(0, |set, i| set | 1u8 << i);
        let (slot, mirror) =
            if has_second { pattern.arrangement(columns).expect("rows keep their large tiles") } else { (0, false) };
        let offset = if has_second { pattern.offset(slot) } else { 0 };
        let share = |mirror: bool| {
            let free = (0..rows.len()).filter(|&i| !(has_second && i < 4 && rows[i] >= LARGE));
            offset + free.map(|i| contribution(pattern, slot, mirror, cells[i], rows[i])).sum::<u64>()
        };
        state.mirrors[usize::from(to_last)] = mirror;
        state.rows[usize::from(to_last)] = if has_second { [share(mirror); 2] } else { [share(false), share(true)] };
    }
    state
}
