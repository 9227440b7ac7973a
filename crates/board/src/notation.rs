//! Boards as text: one base-36 digit per exponent, or a table of decimal tiles.

use std::fmt;

use crate::Position;

/// Why a text is not a board.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A character that is no base-36 digit.
    #[error("cell {cell}: '{found}' is not a digit (0 is empty, 1 is 2, ... {largest} is {tile})")]
    Digit {
        /// Number of the cell, from 1.
        cell: usize,
        /// The character found.
        found: char,
        /// The digit of the largest tile.
        largest: char,
        /// The largest tile.
        tile: u64,
    },
    /// A number that is no tile.
    #[error("cell {cell}: {found} is not a tile (a tile is 0 or a power of two from 2 to {largest})")]
    Tile {
        /// Number of the cell, from 1.
        cell: usize,
        /// The word found.
        found: String,
        /// The largest tile.
        largest: u64,
    },
    /// Not as many cells as the board has.
    #[error("{found} cells given, a {rows}x{columns} board has {needed}")]
    Count {
        /// How many cells the text has.
        found: usize,
        /// Rows of the board.
        rows: usize,
        /// Columns of the board.
        columns: usize,
        /// Cells of the board.
        needed: usize,
    },
    /// A `/` in the middle of a row.
    #[error("row {row}: {found} cells before the '/', a row has {needed}")]
    Row {
        /// Number of the row, from 1.
        row: usize,
        /// How many cells it has.
        found: usize,
        /// How many it should have.
        needed: usize,
    },
}

fn digit(exponent: u8) -> char {
    char::from_digit(u32::from(exponent), 36).unwrap_or('?')
}

/// Reads either notation.
///
/// As many words as the board has cells make a table of decimal tiles; anything else is read as digits. Words are separated by
/// white space, commas or `/`; a `/` may only stand between rows.
pub fn parse<P: Position>(text: &str) -> Result<P, ParseError> {
    let is_gap = |c: char| c.is_whitespace() || c == ',' || c == '/';
    let words = text.split(is_gap).filter(|word| !word.is_empty());
    // Several many-figured numbers are a table too, if one of the wrong length.
    let table = words.clone().count() == P::CELLS || words.clone().count() > P::ROWS;
    if table { parse_cells(text, split_words, tile_exponent) } else { parse_cells(text, split_digits, digit_exponent) }
}

fn split_words(row: &str) -> Vec<&str> {
    row.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()).collect()
}

fn split_digits(row: &str) -> Vec<&str> {
    let digits = row.char_indices().filter(|(_, c)| !c.is_whitespace() && *c != ',');
    digits.map(|(at, c)| &row[at..at + c.len_utf8()]).collect()
}

fn parse_cells<P: Position>(
    text: &str,
    split: fn(&str) -> Vec<&str>,
    exponent: fn(&str, usize, u8) -> Result<u8, ParseError>,
) -> Result<P, ParseError> {
    let rows: Vec<Vec<&str>> = text.trim().trim_end_matches('/').split('/').map(split).collect();
    let found: usize = rows.iter().map(Vec::len).sum();
    let mut board = P::empty();
    for (cell, word) in rows.iter().flatten().enumerate() {
        let exponent = exponent(word, cell + 1, P::MAX_EXPONENT)?;
        if cell < P::CELLS {
            board = board.with_exponent(cell, exponent);
        }
    }
    if found != P::CELLS {
        return Err(ParseError::Count { found, rows: P::ROWS, columns: P::COLUMNS, needed: P::CELLS });
    }
    if let Some(row) = rows.iter().position(|row| row.is_empty() || row.len() % P::COLUMNS != 0) {
        return Err(ParseError::Row { row: row + 1, found: rows[row].len(), needed: P::COLUMNS });
    }
    Ok(board)
}

fn digit_exponent(word: &str, cell: usize, max: u8) -> Result<u8, ParseError> {
    let found = word.chars().next().unwrap_or(' ');
    let exponent = if found == '.' { Some(0) } else { found.to_digit(36).map(|e| e as u8) };
    exponent.filter(|&e| e <= max).ok_or(ParseError::Digit { cell, found, largest: digit(max), tile: 1 << max })
}

fn tile_exponent(word: &str, cell: usize, max: u8) -> Result<u8, ParseError> {
    if word == "0" || word == "." {
        return Ok(0);
    }
    let is_plain = word.bytes().all(|b| b.is_ascii_digit()) && !word.starts_with('0');
    let tile: Option<u64> = word.parse().ok().filter(|_| is_plain);
    let exponent = tile.filter(|t| t.is_power_of_two()).map(|t| t.trailing_zeros() as u8);
    exponent.filter(|e| (1..=max).contains(e)).ok_or_else(|| {
        let found: String = word.chars().take(20).collect();
        ParseError::Tile { cell, found, largest: 1 << max }
    })
}

/// Writes the digit notation with a `/` between rows: what `Display` shows.
pub(crate) fn write_digits<P: Position>(board: &P, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.pad(&digits(board, "/"))
}

/// The digit notation with any separator between rows.
///
/// ```
/// use afterstate_board::{board, notation::digits};
/// assert_eq!(digits(&board!(2 4 8 0 / 0 0 0 0 / 0 0 0 0 / 0 0 2048 131072), ""), "12300000000000bh");
/// ```
pub fn digits<P: Position>(board: &P, separator: &str) -> String {
    let row = |row| (0..P::COLUMNS).map(|column| digit(board.exponent(row * P::COLUMNS + column))).collect::<String>();
    (0..P::ROWS).map(row).collect::<Vec<_>>().join(separator)
}

/// The table of decimal tiles on one line: `2 4 8 0 / ...`.
pub fn tiles<P: Position>(board: &P) -> String {
    let tile = |cell| match board.exponent(cell) {
        0 => "0".to_owned(),
        e => (1u64 << e).to_string(),
    };
    let row = |row| (0..P::COLUMNS).map(|column| tile(row * P::COLUMNS + column)).collect::<Vec<_>>().join(" ");
    (0..P::ROWS).map(row).collect::<Vec<_>>().join(" / ")
}

/// A board literal: `board!(2 4 8 0 / 0 0 0 0 / 0 0 0 0 / 0 0 2 2)`, or digits in quotes: `board!("1230/0000/0000/0011")`.
///
/// Panics with the parser's message if the literal is not a board; the type is [`crate::Board`] unless one is named first:
/// `board!(Grid<2, 2>: 2 4 / 0 2)`.
#[macro_export]
macro_rules! board {
    ($text:literal) => { $crate::notation::literal::<$crate::Board>(concat!("", $text)) };
    ($kind:ty : $($tiles:tt)+) => { $crate::notation::literal::<$kind>(stringify!($($tiles)+)) };
    ($($tiles:tt)+) => { $crate::notation::literal::<$crate::Board>(stringify!($($tiles)+)) };
}

/// What [`board!`] expands to.
#[doc(hidden)]
#[track_caller]
pub fn literal<P: Position>(text: &str) -> P {
    match parse(text) {
        Ok(board) => board,
        Err(error) => panic!("board literal '{text}': {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grid;

    type G = Grid<4, 4>;

    #[test]
    fn both_notations_and_their_separators() {
        let board: G = "2 4 8 0 / 0 0 0 0 / 0 0 0 0 / 0 0 2048 131072".parse().unwrap();
        for text in [
            "12300000000000bh",
            "1230/0000/0000/00BH",
            "1230 0000 0000 00bh",
            "1230\n0000\n0000\n00bh\n",
            "123.0000000000bh",
        ] {
            assert_eq!(text.parse::<G>(), Ok(board), "{text}");
        }
        for text in ["2 4 8 0 0 0 0 0 0 0 0 0 0 0 2048 131072", "2,4,8,0\n0,0,0,0\n0,0,0,0\n0,0,2048,131072"] {
            assert_eq!(text.parse::<G>(), Ok(board), "{text}");
        }
        assert_eq!(board.to_string().parse(), Ok(board));
        assert_eq!(tiles(&board).parse(), Ok(board));
    }

    #[test]
    fn errors_name_the_place_and_the_reason() {
        let error = |text: &str| text.parse::<G>().unwrap_err().to_string();
        assert_eq!(
            error("2 4 8 0 / 0 0 3 0 / 0 0 0 0 / 0 0 0 0"),
            "cell 7: 3 is not a tile (a tile is 0 or a power of two from 2 to 131072)"
        );
        assert!(error("2 4 8 0 / 0 0 1 0 / 0 0 0 0 / 0 0 0 0").starts_with("cell 7: 1 is not a tile"));
        assert!(error("2 4 8 0 / 0 0 262144 0 / 0 0 0 0 / 0 0 0 0").starts_with("cell 7: 262144 is not a tile"));
        assert!(error("2 4 8 0 / 0 0 -2 0 / 0 0 0 0 / 0 0 0 0").starts_with("cell 7: -2 is not a tile"));
        assert_eq!(error("123"), "3 cells given, a 4x4 board has 16");
        assert_eq!(error(""), "0 cells given, a 4x4 board has 16");
        assert_eq!(error("00000000000000000"), "17 cells given, a 4x4 board has 16");
        assert_eq!(error("0000000#00000000"), "cell 8: '#' is not a digit (0 is empty, 1 is 2, ... h is 131072)");
        assert!(error("000000i000000000").starts_with("cell 7: 'i' is not a digit"));
        assert!(error("0000000é00000000").starts_with("cell 8: 'é' is not a digit"));
        assert_eq!(error("000/00000/0000/0000"), "row 1: 3 cells before the '/', a row has 4");
        assert_eq!(error("2 4 8 / 0 0 0 0 0 / 0 0 0 0 / 0 0 0 0"), "row 1: 3 cells before the '/', a row has 4");
        assert_eq!(error("1000//000000000000"), "row 2: 0 cells before the '/', a row has 4");
        assert!(error("2 4 8 0 / 0 0 +2 0 / 0 0 0 0 / 0 0 0 0").starts_with("cell 7: +2 is not a tile"));
        assert!(error("2 4 8 0 / 0 0 02 0 / 0 0 0 0 / 0 0 0 0").starts_with("cell 7: 02 is not a tile"));
        assert_eq!(error("2 4 8 0 2"), "5 cells given, a 4x4 board has 16");
    }
}
