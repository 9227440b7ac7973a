//! The plain board of any size: slow, obvious, and the judge of everything faster.

use std::fmt;
use std::str::FromStr;

use crate::notation::{self, ParseError};
use crate::{Afterstate, Direction, Directions, Position, Slide};

/// A board of `R` rows and `C` columns, at most 5x5, each cell holding an exponent.
///
/// ```
/// use afterstate_board::{Direction, Grid, Position};
/// let grid: Grid<2, 3> = "2 2 4 / 0 8 8".parse().unwrap();
/// let slide = grid.slide(Direction::Left).unwrap();
/// assert_eq!(slide.after.board().to_string(), "220/400");
/// assert_eq!(slide.reward, 20);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grid<const R: usize, const C: usize> {
    cells: [[u8; C]; R],
}

/// Slides one line towards its first cell and returns the points. Each tile merges at most once.
pub(crate) fn slide_line(line: &mut [u8]) -> u32 {
    let mut reward = 0;
    let mut filled = 0; // cells before this index hold the tiles moved so far
    let mut mergeable = false; // may the last of them still merge?
    for i in 0..line.len() {
        let tile = line[i];
        if tile == 0 {
            continue;
        }
        line[i] = 0;
        if mergeable && line[filled - 1] == tile {
            line[filled - 1] = tile + 1;
            reward += 1 << (tile + 1);
            mergeable = false;
        } else {
            line[filled] = tile;
            filled += 1;
            mergeable = true;
        }
    }
    reward
}

impl<const R: usize, const C: usize> Grid<R, C> {
    const SHAPE_IS_SUPPORTED: () = assert!(R >= 1 && C >= 1 && R <= 5 && C <= 5, "a Grid is at most 5x5");

    /// A grid with these exponents, row by row.
    pub const fn from_exponents(cells: [[u8; C]; R]) -> Self {
        let () = Self::SHAPE_IS_SUPPORTED;
        Self { cells }
    }

    /// Slides every line in `direction` in place and returns the points.
    fn slide_in_place(&mut self, direction: Direction) -> u32 {
        let (lines, length) = if direction.is_horizontal() { (R, C) } else { (C, R) };
        let backwards = matches!(direction, Direction::Right | Direction::Down);
        let mut reward = 0;
        for line in 0..lines {
            let place = |step: usize| {
                let along = if backwards { length - 1 - step } else { step };
                if direction.is_horizontal() { (line, along) } else { (along, line) }
            };
            let mut buffer = [0; 5];
            let buffer = &mut buffer[..length];
            for (step, tile) in buffer.iter_mut().enumerate() {
                let (row, column) = place(step);
                *tile = self.cells[row][column];
            }
            reward += slide_line(buffer);
            for (step, &tile) in buffer.iter().enumerate() {
                let (row, column) = place(step);
                self.cells[row][column] = tile;
            }
        }
        reward
    }
}

impl<const R: usize, const C: usize> Position for Grid<R, C> {
    const ROWS: usize = R;
    const COLUMNS: usize = C;
    const MAX_EXPONENT: u8 = if R * C == 16 { 17 } else { 26 };

    fn empty() -> Self {
        Self::from_exponents([[0; C]; R])
    }

    fn exponent(&self, cell: usize) -> u8 {
        self.cells[cell / C][cell % C]
    }

    fn with_exponent(mut self, cell: usize, exponent: u8) -> Self {
        self.cells[cell / C][cell % C] = exponent;
        self
    }

    fn empty_cells(&self) -> u32 {
        let empty = |cell: &usize| self.exponent(*cell) == 0;
        (0..R * C).filter(empty).fold(0, |set, cell| set | 1 << cell)
    }

    fn legal(&self) -> Directions {
        Direction::ALL.into_iter().filter(|&d| self.slide(d).is_some()).collect()
    }

    fn slide(&self, direction: Direction) -> Option<Slide<Self>> {
        let mut moved = *self;
        let reward = moved.slide_in_place(direction);
        (moved != *self).then(|| Slide { after: Afterstate::new(moved), reward })
    }

    fn key(&self) -> u64 {
        let cells = self.cells.as_flattened();
        cells.iter().fold(0, |key: u64, &e| (key.rotate_left(5) ^ u64::from(e)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }
}

impl<const R: usize, const C: usize> fmt::Display for Grid<R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        notation::write_digits(self, f)
    }
}

impl<const R: usize, const C: usize> fmt::Debug for Grid<R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Grid({self})")
    }
}

impl<const R: usize, const C: usize> FromStr for Grid<R, C> {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        notation::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows worked out by hand.
    #[test]
    fn lines_slide_as_the_rules_say() {
        for (before, after, points) in [
            ([0, 0, 0, 0], [0, 0, 0, 0], 0),
            ([0, 0, 0, 1], [1, 0, 0, 0], 0),
            ([1, 1, 1, 1], [2, 2, 0, 0], 8),
            ([1, 1, 1, 0], [2, 1, 0, 0], 4),
            ([0, 1, 1, 1], [2, 1, 0, 0], 4),
            ([2, 2, 3, 0], [3, 3, 0, 0], 8),
            ([1, 1, 2, 3], [2, 2, 3, 0], 4),
            ([3, 0, 3, 4], [4, 4, 0, 0], 16),
            ([1, 2, 1, 2], [1, 2, 1, 2], 0),
            ([15, 15, 0, 0], [16, 0, 0, 0], 65_536),
            ([16, 0, 0, 16], [17, 0, 0, 0], 131_072),
        ] {
            let mut line = before;
            assert_eq!(slide_line(&mut line), points, "{before:?}");
            assert_eq!(line, after, "{before:?}");
        }
    }

    #[test]
    fn directions_point_where_they_say() {
        let grid: Grid<3, 3> = "2 0 0 / 0 4 0 / 0 0 8".parse().unwrap();
        let after = |d| grid.slide(d).unwrap().after.board().to_string();
        assert_eq!(after(Direction::Up), "123/000/000");
        assert_eq!(after(Direction::Down), "000/000/123");
        assert_eq!(after(Direction::Left), "100/200/300");
        assert_eq!(after(Direction::Right), "001/002/003");
    }
}
