//! The board sizes that can be played, and the bridge from a size given at run time to a position type.

use std::fmt;
use std::str::FromStr;

use afterstate_arena::Header;

/// A board size, `ROWSxCOLUMNS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub rows: usize,
    pub columns: usize,
}

impl Size {
    pub const CLASSIC: Self = Self { rows: 4, columns: 4 };
    /// Every size that [`for_size!`] knows.
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
    pub fn of_record(header: &Header) -> anyhow::Result<Self> {
        header.size().parse().map_err(anyhow::Error::msg)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.rows, self.columns)
    }
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|size| size.to_string() == text.to_ascii_lowercase());
        found.ok_or_else(|| {
            format!("there is no board size '{text}' (known: {})", Self::ALL.map(|s| s.to_string()).join(", "))
        })
    }
}

/// Runs an expression with `$P` as the position type of a size: the fast board for 4x4, the plain grid for the others.
macro_rules! for_size {
    ($size:expr, $P:ident => $body:expr) => {{
        use afterstate_board::{Board, Grid};
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
pub(crate) use for_size;
