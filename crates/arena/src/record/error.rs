//! What can be wrong with a record, said so that a person knows which file, where in it, and what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::{Difference, FORMAT};
use crate::{ReplayError, UnknownSize};

/// Why a record cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The system refused.
    #[error("{}: cannot {action}: {reason}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The system's reason. Part of the message, so not a source as well: reports would say it twice.
        reason: io::Error,
    },
    /// A new record would replace an old one.
    #[error("{}: this file exists already (resume it, remove it or name another)", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else is writing it.
    #[error("{}: another run is writing this file (wait for it or name another)", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Another kind of file.
    #[error("{}: not a game record (name a file written by --records)", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A record of another age.
    #[error("{}: record format {found}, but this program reads format {FORMAT} (use the version that wrote it)", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The format it says it has.
        found: u16,
    },
    /// Some part of the file is not what was written.
    #[error("{0}")]
    Damaged(Damage),
    /// A record of games on boards that cannot be played here.
    #[error("{}: {reason}", path.display())]
    UnknownSize {
        /// The file.
        path: PathBuf,
        /// Which sizes can be played.
        reason: UnknownSize,
    },
    /// A record of games on another board.
    #[error("{}: games on a {found} board, not {wanted}", path.display())]
    Size {
        /// The file.
        path: PathBuf,
        /// Its size of board.
        found: String,
        /// The size asked for.
        wanted: String,
    },
    /// A record of other games than the ones it is to be joined with.
    #[error("{}: not of the same run: {difference}", path.display())]
    Different {
        /// The file.
        path: PathBuf,
        /// What sets it apart.
        difference: Difference,
    },
    /// Nothing to read.
    #[error("no record is named (name at least one file)")]
    NoFile,
    /// The same game with two courses.
    #[error("{}: game {index} differs from the game {index} read before (they are not of the same run)", path.display())]
    Conflict {
        /// The file of the second one.
        path: PathBuf,
        /// Which game.
        index: u64,
    },
    /// A game that the format cannot hold.
    #[error("{}: game {index} cannot be written: {reason}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Which game.
        index: u64,
        /// What does not fit.
        reason: String,
    },
}

impl RecordError {
    /// For `map_err`: names the file and what was tried.
    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |reason| Self::Io { path: path.to_owned(), action, reason }
    }
}

/// Where a record is not what was written. All before it can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub path: PathBuf,
    /// Where the damaged part begins.
    pub offset: u64,
    /// Which game of the file, from 1; `None` if it is the header.
    pub game: Option<u64>,
    /// What is wrong.
    pub fault: Fault,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, offset, game, fault } = self;
        write!(f, "{}: ", path.display())?;
        match game {
            None => write!(f, "header at byte {offset}: {fault} (nothing in it can be read; restore or remove it)"),
            Some(1) => write!(f, "first game, at byte {offset}: {fault} (no whole game comes before it)"),
            Some(game) => {
                let before = game - 1;
                write!(f, "game {game} of the file, at byte {offset}: {fault} (the {before} before it can be salvaged)")
            }
        }
    }
}

/// What can be wrong with a part of a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The file ends too early.
    #[error("cut off: {left} bytes where {needed} should be")]
    CutOff {
        /// How many bytes there should be.
        needed: u64,
        /// How many there are.
        left: u64,
    },
    /// Not what was written.
    #[error("the checksum does not match, some bytes have changed")]
    Checksum,
    /// A length that no part of a record has.
    #[error("a length of {0} is impossible")]
    Length(u32),
    /// A length that its copy contradicts.
    #[error("the length is garbled, some bytes have changed or do not belong to the record")]
    GarbledLength,
    /// A header that says nothing sensible.
    #[error("the header makes no sense: {0}")]
    Header(String),
    /// A start position with a tile that cannot be.
    #[error("cell {cell} of the start position holds exponent {exponent}")]
    Tile {
        /// Number of the cell, from 1.
        cell: usize,
        /// The exponent found.
        exponent: u8,
    },
    /// A code that stands for no step.
    #[error("ply {ply}: code {code} stands for no step")]
    Code {
        /// Number of the ply, from 1.
        ply: usize,
        /// The code found.
        code: u16,
    },
    /// The time is not a number of seconds.
    #[error("the playing time is not a number of seconds")]
    Seconds,
    /// The game breaks the rules.
    #[error("the game does not replay: {0}")]
    Replay(#[from] ReplayError),
}
