//! Files of positions that games begin at, one a line; empty lines and those that begin with `#` are passed over.

use std::path::{Path, PathBuf};

use afterstate_board::{Position, notation};

/// Why a file of positions cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StartsError {
    /// It cannot be read.
    #[error("{}: cannot read it", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line is no position.
    #[error("{}, line {line}: {reason}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: notation::ParseError,
    },
    /// There is nothing in it.
    #[error("{}: no positions in it (write one a line)", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// The positions of a file, at least one.
pub fn read_starts<P: Position>(path: &Path) -> Result<Vec<P>, StartsError> {
    let text = std::fs::read_to_string(path).map_err(|source| StartsError::Read { path: path.into(), source })?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let read = |(at, line)| {
        notation::parse(line).map_err(|reason| StartsError::Line { path: path.into(), line: at + 1, reason })
    };
    let starts: Vec<P> = lines.map(read).collect::<Result<_, _>>()?;
    if starts.is_empty() { Err(StartsError::Empty { path: path.into() }) } else { Ok(starts) }
}
