//! The bridge from a size given at run time to a position type.

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
