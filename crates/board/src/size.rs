//! Rows and columns, where they are known only when the program runs.

use std::fmt;
use std::str::FromStr;

/// A board size, `ROWSxCOLUMNS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// Every size that can be played.
    pub const ALL: [Self; 7] = [
        Self { rows: 2, columns: 2 },
        Self { rows: 2, columns: 3 },
        Self { rows: 2, columns: 4 },
        Self { rows: 3, columns: 3 },
        Self { rows: 3, columns: 4 },
        Self::CLASSIC,
        Self { rows: 5, columns: 5 },
    ];

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
