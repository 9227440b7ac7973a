//! Boards and games as plain text, for pipes, logs and screen readers.
//! What is printed here can be pasted back: a board table is the decimal notation.

use std::io::Write;

use afterstate_board::{Direction, Position, Spawn};
use serde::Serialize;

use super::panel::grouped;

/// The tiles in columns, `.` for an empty cell, without a final line break.
pub fn table<P: Position>(position: &P) -> String {
    let label = |cell| match position.exponent(cell) {
        0 => ".".to_owned(),
        e => (1u64 << e).to_string(),
    };
    let labels: Vec<String> = (0..P::CELLS).map(label).collect();
    let width = labels.iter().map(String::len).max().unwrap_or(0).max(4) + 2;
    let row = |row: &[String]| row.iter().map(|label| format!("{label:>width$}")).collect::<String>();
    labels.chunks(P::COLUMNS).map(row).collect::<Vec<_>>().join("\n")
}

/// The largest tile, 0 on an empty board.
pub fn max_tile<P: Position>(position: &P) -> u64 {
    match position.max_exponent() {
        0 => 0,
        e => 1 << e,
    }
}

/// `3x4`: rows by columns.
pub fn size<P: Position>() -> String {
    P::SIZE.to_string()
}

/// `2 at row 1, column 3`.
pub fn spawn<P: Position>(spawn: Spawn) -> String {
    let cell = usize::from(spawn.cell);
    format!("{} at row {}, column {}", 1u64 << spawn.exponent.min(63), cell / P::COLUMNS + 1, cell % P::COLUMNS + 1)
}

/// `1 move`, `1,234 moves`.
pub fn moves(count: u64) -> String {
    format!("{} move{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Values by the names of the moves, as JSON. What is not a number there is missing here.
#[derive(Clone, Debug, Serialize)]
pub struct MoveValues {
    left: Option<f64>,
    right: Option<f64>,
    up: Option<f64>,
    down: Option<f64>,
}

impl From<[Option<f64>; 4]> for MoveValues {
    fn from(values: [Option<f64>; 4]) -> Self {
        let value = |direction: Direction| values[direction.index()].filter(|value| value.is_finite());
        Self {
            left: value(Direction::Left),
            right: value(Direction::Right),
            up: value(Direction::Up),
            down: value(Direction::Down),
        }
    }
}

/// One JSON object on a line of its own, sent at once: whoever reads may wait for it.
pub fn json_line(out: &mut dyn Write, value: &impl Serialize) -> anyhow::Result<()> {
    // Not written by the serialiser itself: its errors hide that the reader has gone.
    writeln!(out, "{}", serde_json::to_string(value)?)?;
    Ok(out.flush()?)
}

#[cfg(test)]
mod tests {
    use afterstate_board::{Board, Grid, board};

    use super::*;

    #[test]
    fn a_table_reads_back_as_the_board() {
        let board: Board = board!(2 0 0 131072 / 0 4 0 0 / 0 0 0 0 / 0 0 0 2048);
        assert_eq!(table(&board).parse(), Ok(board));
        let small = board!(Grid<2, 2>: 2 0 / 16 2);
        assert_eq!(table(&small), "     2     .\n    16     2");
        assert_eq!(table(&small).parse(), Ok(small));
    }

    #[test]
    fn values_have_names_and_infinities_are_left_out() {
        let values = MoveValues::from([Some(1.5), None, Some(f64::INFINITY), Some(-2.0)]);
        let text = serde_json::to_string(&values).unwrap();
        assert_eq!(text, r#"{"left":1.5,"right":null,"up":null,"down":-2.0}"#);
    }

    #[test]
    fn one_move_is_no_moves() {
        assert_eq!([0, 1, 1234].map(moves), ["0 moves", "1 move", "1,234 moves"]);
    }

    #[test]
    fn spawns_are_named_by_row_and_column() {
        assert_eq!(spawn::<Grid<2, 3>>(Spawn { cell: 4, exponent: 2 }), "4 at row 2, column 2");
    }
}
