//! The eight symmetries of the square, and what they do to cells and directions.

use crate::Direction;

/// A symmetry: an optional transposition first, then optional mirrorings.
///
/// ```
/// use afterstate_board::{Direction, Symmetry};
/// for s in Symmetry::ALL {
///     for d in Direction::ALL {
///         assert_eq!(s.inverse().direction(s.direction(d)), d);
///     }
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Symmetry(u8);

const MIRROR_COLUMNS: u8 = 1;
const MIRROR_ROWS: u8 = 2;
const TRANSPOSE: u8 = 4;

impl Symmetry {
    /// Leaves everything where it is.
    pub const IDENTITY: Self = Self(0);
    /// All eight; the first four do not transpose and so suit boards that are not square.
    pub const ALL: [Self; 8] = [Self(0), Self(1), Self(2), Self(3), Self(4), Self(5), Self(6), Self(7)];

    /// Those that map a board of that shape to the same shape.
    pub const fn of_shape(rows: usize, columns: usize) -> &'static [Self] {
        if rows == columns { &Self::ALL } else { Self::ALL.split_at(4).0 }
    }

    /// The position of this symmetry in [`Symmetry::ALL`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Does it swap rows with columns (before it mirrors)?
    pub const fn transposes(self) -> bool {
        self.0 & TRANSPOSE != 0
    }

    /// Does it reverse each row?
    pub const fn mirrors_columns(self) -> bool {
        self.0 & MIRROR_COLUMNS != 0
    }

    /// Does it reverse the order of the rows?
    pub const fn mirrors_rows(self) -> bool {
        self.0 & MIRROR_ROWS != 0
    }

    /// The symmetry that undoes this one.
    pub const fn inverse(self) -> Self {
        if self.transposes() { Self(TRANSPOSE | (self.0 & 1) << 1 | (self.0 >> 1 & 1)) } else { self }
    }

    /// Where a cell of a `rows x columns` board goes. A transposing symmetry needs `rows == columns`.
    pub const fn cell(self, cell: usize, rows: usize, columns: usize) -> usize {
        let (mut row, mut column) = (cell / columns, cell % columns);
        if self.transposes() {
            (row, column) = (column, row);
        }
        if self.mirrors_columns() {
            column = columns - 1 - column;
        }
        if self.mirrors_rows() {
            row = rows - 1 - row;
        }
        row * columns + column
    }

    /// The direction that has the same effect on the transformed board as `direction` has on the original.
    pub const fn direction(self, direction: Direction) -> Direction {
        let d = if self.transposes() { direction.transposed() } else { direction };
        let reversed = if d.is_horizontal() { self.mirrors_columns() } else { self.mirrors_rows() };
        if reversed { d.opposite() } else { d }
    }
}
