//! Small boards as one number each: four bits a cell, cell 0 lowest. What makes listing millions of them quick.

use afterstate_board::Position;

use super::Problem;

/// What becomes of one line of cells.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Slid towards its first cell, each cell where it lies on the board.
    first: u64,
    /// Slid towards its last cell.
    last: u64,
    /// The points of either.
    reward: u32,
}

/// A packed board after a slide, and the points of the slide.
pub(super) type Slid = (u64, u32);

/// The moves and symmetries of packed boards of one shape.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    rows: usize,
    columns: usize,
    across: Vec<Line>,
    down: Vec<Line>,
    /// A row with its cells in opposite order.
    reversed: Vec<u16>,
}

/// Slides a line of exponents towards its first cell.
fn slide(line: &[u8]) -> (Vec<u8>, u32) {
    let mut tiles = line.iter().copied().filter(|&tile| tile > 0).peekable();
    let (mut slid, mut reward) = (Vec::new(), 0);
    while let Some(tile) = tiles.next() {
        // Two tiles of the largest exponent meet on no board that can be reached.
        if tile < 15 && tiles.next_if_eq(&tile).is_some() {
            slid.push(tile + 1);
            reward += 1 << (tile + 1);
        } else {
            slid.push(tile);
        }
    }
    slid.resize(line.len(), 0);
    (slid, reward)
}

/// Every line of `length` cells that lie `stride` cells apart.
fn lines(length: usize, stride: usize) -> Vec<Line> {
    let at = |cells: &[u8]| cells.iter().rev().fold(0, |packed: u64, &cell| packed << (4 * stride) | u64::from(cell));
    let every = (0..1usize << (4 * length)).map(|index| {
        let mut cells: Vec<u8> = (0..length).map(|i| (index >> (4 * i) & 15) as u8).collect();
        let (first, reward) = slide(&cells);
        cells.reverse();
        let (mut last, _) = slide(&cells);
        last.reverse();
        Line { first: at(&first), last: at(&last), reward }
    });
    every.collect()
}

impl Shape {
    pub fn new(problem: &Problem) -> Self {
        let (rows, columns) = (problem.rows(), problem.columns());
        let reverse = |row: usize| (0..columns).fold(0, |out, i| out << 4 | (row >> (4 * i) & 15) as u16);
        Self {
            rows,
            columns,
            across: lines(columns, 1),
            down: lines(rows, columns),
            reversed: (0..1 << (4 * columns)).map(reverse).collect(),
        }
    }

    /// The packed board; `None` if a tile is too large for a cell.
    pub fn pack<P: Position>(position: &P) -> Option<u64> {
        (0..P::CELLS).try_fold(0, |key, cell| {
            let exponent = position.exponent(cell);
            (exponent < 16).then(|| key | u64::from(exponent) << (4 * cell))
        })
    }

    pub fn cells(&self) -> usize {
        self.rows * self.columns
    }

    #[inline]
    fn row(&self, key: u64, row: usize) -> usize {
        (key >> (4 * self.columns * row)) as usize & ((1 << (4 * self.columns)) - 1)
    }

    #[inline]
    fn column(&self, key: u64, column: usize) -> usize {
        let key = key >> (4 * column);
        (0..self.rows).fold(0, |line, row| line | ((key >> (4 * self.columns * row)) as usize & 15) << (4 * row))
    }

    /// The board slid in the order of [`Direction::ALL`](afterstate_board::Direction::ALL): left, right, up, down; one that a slide does not change comes back as it is.
    #[inline]
    pub fn slides(&self, key: u64) -> [Slid; 4] {
        let (mut left, mut right, mut up, mut down) = (0, 0, 0, 0);
        let (mut across, mut along) = (0, 0);
        for row in 0..self.rows {
            let line = self.across[self.row(key, row)];
            left |= line.first << (4 * self.columns * row);
            right |= line.last << (4 * self.columns * row);
            across += line.reward;
        }
        for column in 0..self.columns {
            let line = self.down[self.column(key, column)];
            up |= line.first << (4 * column);
            down |= line.last << (4 * column);
            along += line.reward;
        }
        [(left, across), (right, across), (up, along), (down, along)]
    }

    #[inline]
    fn upside_down(&self, key: u64) -> u64 {
        (0..self.rows).fold(0, |out, row| out << (4 * self.columns) | self.row(key, row) as u64)
    }

    #[inline]
    fn mirrored(&self, key: u64) -> u64 {
        let reversed = |row| u64::from(self.reversed[self.row(key, row)]) << (4 * self.columns * row);
        (0..self.rows).fold(0, |out, row| out | reversed(row))
    }

    #[inline]
    fn transposed(&self, key: u64) -> u64 {
        (0..self.columns).fold(0, |out, column| out | (self.column(key, column) as u64) << (4 * self.rows * column))
    }

    /// The least of the four images that keep rows rows.
    #[inline]
    fn least(&self, key: u64) -> u64 {
        let mirrored = self.mirrored(key);
        key.min(mirrored).min(self.upside_down(key)).min(self.upside_down(mirrored))
    }

    /// The least of a board's images under the symmetries of its shape.
    #[inline]
    pub fn canonical(&self, key: u64) -> u64 {
        let least = self.least(key);
        if self.rows == self.columns { least.min(self.least(self.transposed(key))) } else { least }
    }
}

/// The exponent in a cell.
#[inline]
pub(super) const fn exponent(key: u64, cell: usize) -> u8 {
    (key >> (4 * cell) & 15) as u8
}

/// The sum of all tiles.
pub(super) fn tile_sum(mut key: u64) -> u32 {
    let mut sum = 0;
    while key != 0 {
        sum += 1 << (key & 15) & !1;
        key >>= 4;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Goal;
    use afterstate_board::{Direction, Grid, Rng, SpawnRule};

    /// The packed board against the plain grid, on boards of every kind.
    fn agrees<P: Position>() {
        let shape = Shape::new(&Problem::of::<P>(SpawnRule::CLASSIC, Goal::Score).unwrap());
        let mut rng = Rng::new(7);
        for round in 0..20_000 {
            let kinds = 1 + round % 11;
            let random = |board: P, cell| board.with_exponent(cell, rng.below(kinds + 1) as u8);
            let board = (0..P::CELLS).fold(P::empty(), random);
            let key = Shape::pack(&board).unwrap();
            assert_eq!(u64::from(tile_sum(key)), board.tile_sum(), "{board}");
            assert_eq!(shape.canonical(key), shape.canonical(Shape::pack(&board.canonical()).unwrap()), "{board}");
            for (direction, (after, reward)) in Direction::ALL.into_iter().zip(shape.slides(key)) {
                match board.slide(direction) {
                    None => assert_eq!(after, key, "{board} {direction}"),
                    Some(slide) => {
                        let expected = (Shape::pack(slide.after.board()).unwrap(), slide.reward);
                        assert_eq!((after, reward), expected, "{board} {direction}");
                    }
                }
            }
        }
    }

    #[test]
    fn packed_boards_move_as_grids_do() {
        agrees::<Grid<2, 2>>();
        agrees::<Grid<2, 3>>();
        agrees::<Grid<3, 2>>();
        agrees::<Grid<2, 4>>();
        agrees::<Grid<3, 3>>();
    }

    /// Two boards have one canonical form exactly if they are images of each other.
    #[test]
    fn canonical_forms_tell_boards_apart() {
        let shape = Shape::new(&Problem::of::<Grid<2, 2>>(SpawnRule::CLASSIC, Goal::Score).unwrap());
        let forms: std::collections::HashSet<u64> = (0..256u64)
            .map(|i| (0..4).fold(0, |key, cell| key | (i >> (2 * cell) & 3) << (4 * cell)))
            .map(|key| shape.canonical(key))
            .collect();
        // Colourings of the corners of a square with four colours, by Burnside's lemma.
        assert_eq!(forms.len(), (256 + 2 * 4 + 16 + 2 * 16 + 2 * 64) / 8);
    }

    #[test]
    fn tiles_too_large_for_a_cell_are_not_packed() {
        assert_eq!(Shape::pack(&Grid::<2, 2>::empty().with_exponent(3, 16)), None);
        assert_eq!(Shape::pack(&Grid::<2, 2>::empty().with_exponent(3, 15)), Some(15 << 12));
    }
}
