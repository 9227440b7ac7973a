//! Files in use: whoever asks for one that is loaded gets the same copy.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::SystemTime;

use afterstate_board::Size;

use crate::file::FileError;

/// What tells whether a file is still the one that was loaded.
#[derive(Clone, PartialEq)]
struct Identity {
    path: PathBuf,
    bytes: u64,
    changed: Option<SystemTime>,
    board: Size,
}

/// What was loaded and is still in use.
pub(crate) struct Shelf<T>(Mutex<Vec<(Identity, Weak<T>)>>);

impl<T> Shelf<T> {
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// What a file holds for boards of a size: read now, or shared with whoever uses it already.
    pub fn get(
        &self,
        size: Size,
        path: &Path,
        read: impl FnOnce() -> Result<T, FileError>,
    ) -> Result<Arc<T>, FileError> {
        let io = |source| FileError::Io { path: path.to_owned(), source };
        let facts = fs::metadata(path).map_err(io)?;
        let identity = Identity {
            path: path.canonicalize().map_err(io)?,
            bytes: facts.len(),
            changed: facts.modified().ok(),
            board: size,
        };
        let mut loaded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.retain(|(_, held)| held.strong_count() > 0);
        if let Some(held) = loaded.iter().find(|(known, _)| *known == identity).and_then(|(_, held)| held.upgrade()) {
            return Ok(held);
        }
        let fresh = Arc::new(read()?);
        loaded.push((identity, Arc::downgrade(&fresh)));
        Ok(fresh)
    }
}
