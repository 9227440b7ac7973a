//! Records: a compact file of moves and spawns that replays exactly and survives being cut off.
//!
//! All numbers are little-endian.
//!
//! | part | bytes |
//! |---|---|
//! | magic | 8, the same in every record |
//! | format | 2, [`FORMAT`] |
//! | header | 4 for its length, the [`Header`] as JSON, 4 for the CRC-32 of everything before |
//! | each game | 4 for the payload's length, 4 for the same inverted, the payload, 4 for the CRC-32 of all these |
//!
//! A payload is index (8), score (8), seconds (8, a float), the exponents of the start position (1 per cell), and one code
//! per ply, `(direction * cells + cell) * kinds + kind`: 1 byte if every code of that board and rule fits, else 2.
//!
//! A game is appended with a single write, so a killed run loses at most the game it was writing; a file that ends where a
//! game ends is whole. The length is there twice because a wrong one would make damage in the middle look like a cut-off
//! end, which [`Writer::resume`] drops.

mod codec;
mod error;
mod reader;
mod writer;

use std::fmt;

use afterstate_board::Position;
use serde::{Deserialize, Serialize};

pub use error::{Damage, Fault, RecordError};
pub use reader::{Games, Reader, Salvaged, read_header, salvage};
pub use writer::{Resumed, Writer};

use crate::Setup;

/// The version of the record format that is written and read.
pub const FORMAT: u16 = 1;

/// A high bit, both kinds of line end and an end-of-file mark: a copy that mangles any of them shows at once.
const MAGIC: [u8; 8] = *b"\xa5Aft\r\n\x1a\n";

/// Longer than any header or game: a length beyond it is damage.
const MAX_HEADER: u32 = 1 << 20;
const MAX_PAYLOAD: u32 = 1 << 28;

/// What all games of a record have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Who played, by which rule, from which seed.
    #[serde(flatten)]
    pub setup: Setup,
    /// Rows of the board.
    pub rows: usize,
    /// Columns of the board.
    pub columns: usize,
    /// The version of the program that played: another may play other games from the same seed.
    pub version: String,
}

impl Header {
    /// The header of games that this program plays on boards `P`.
    pub fn new<P: Position>(setup: Setup) -> Self {
        Self { setup, rows: P::ROWS, columns: P::COLUMNS, version: env!("CARGO_PKG_VERSION").to_owned() }
    }

    /// The size as people write it: `4x4`.
    pub fn size(&self) -> String {
        format!("{}x{}", self.rows, self.columns)
    }

    /// True if the games are on boards `P`.
    pub fn is_for<P: Position>(&self) -> bool {
        (self.rows, self.columns) == (P::ROWS, P::COLUMNS)
    }

    /// The first thing in which the two differ, if any.
    pub fn difference(&self, other: &Self) -> Option<Difference> {
        let entries = |header: &Self| match serde_json::to_value(header) {
            Ok(serde_json::Value::Object(map)) => map,
            _ => serde_json::Map::new(),
        };
        let (ours, theirs) = (entries(self), entries(other));
        let show = |value: Option<&serde_json::Value>| value.map_or("unset".to_owned(), ToString::to_string);
        let differs = |field: &&String| ours.get(*field) != theirs.get(*field);
        let field = ours.keys().chain(theirs.keys()).find(differs)?;
        let (ours, theirs) = (show(ours.get(field)), show(theirs.get(field)));
        Some(Difference { field: field.clone(), ours, theirs })
    }
}

/// One thing in which two headers differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its name in the header.
    pub field: String,
    /// What the first header says.
    pub ours: String,
    /// What the second header says.
    pub theirs: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, not {}", self.field, self.theirs, self.ours)
    }
}
