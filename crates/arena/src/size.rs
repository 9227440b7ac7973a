//! The board sizes that can be played, and the bridge from a size given at run time to a position type.

use std::fmt;
use std::str::FromStr;

use crate::Header;

/// A board size, `ROWSxCOLUMNS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
}

/// A size that no position type has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no board size '{0}' (known: {known})", known = Size::ALL.map(|s| s.to_string()).join(", "))]
pub struct UnknownSize(pub String);

impl Size {
    /// The size of the original game.
    pub const CLASSIC: Self = Self { rows: 4, columns: 4 };
    /// Every size that [`for_size!`](crate::for_size) knows.
    pub const ALL: [Self; 7] = [
        Self { rows: 2, columns: 2 },
        Self { rows: 2, columns: 3 },
        Self { rows: 2, columns: 4 },
        Self { rows: 3, columns: 3 },
        Self { rows: 3, columns: 4 },
        Self::CLASSIC,
        Self { rows: 5, columns: 5 },
    ];

    /// The size of a record's boards, if it can be played here.
    pub fn of_record(header: &Header) -> Result<Self, UnknownSize> {
        header.size().parse()
    }

    /// Number of cells.
    pub const fn cells(self) -> usize {
        self.rows * self.columns
    }
}

impl Default for Size {
    fn default() -> Self {
        Self::CLASSIC
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.rows, self.columns)
    }
}

impl FromStr for Size {
    type Err = UnknownSize;

    fn from_str(text: &str) -> Result<Self, UnknownSize> {
        let found = Self::ALL.into_iter().find(|size| size.to_string() == text.to_ascii_lowercase());
        found.ok_or_else(|| UnknownSize(text.chars().take(20).collect()))
    }
}

/// Runs an expression with `$P` as the position type of a size: the fast board for 4x4, the plain grid for the others.
///
/// ```
/// use afterstate_arena::{Size, for_size};
/// use afterstate_board::Position;
/// let size: Size = "3x4".parse().unwrap();
/// assert_eq!(for_size!(size, P => P::CELLS), 12);
/// ```
#[macro_export]
macro_rules! for_size {
    ($size:expr, $P:ident => $body:expr) => {{
        use $crate::board::{Board, Grid};
        macro_rules! with {
            ($type:ty) => {{
                type $P = $type;
                $body
            }};
        }
        match ($size.rows, $size.columns) {
            (2, 2) => with!(Grid<2, 2>),
            (2, 3) => with!(Grid<2, 3>),
            (2, 4) => with!(Grid<2, 4>),
            (3, 3) => with!(Grid<3, 3>),
            (3, 4) => with!(Grid<3, 4>),
            (5, 5) => with!(Grid<5, 5>),
            _ => with!(Board),
        }
    }};
}
