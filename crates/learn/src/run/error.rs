//! Why a run folder cannot be used: what was wrong, with which file, and what to do.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::ConfigError;

/// Why a run folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The system refused.
    #[error("cannot {action} {}{}", path.display(), advice(source))]
    Io {
        /// What was tried: a verb.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Not what was written there.
    #[error("{}: {reason} (not a file of such a run, or damaged)", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// There is a run already where a new one should begin.
    #[error("{} already holds a run (go on with --resume, or choose another folder)", .0.display())]
    Occupied(PathBuf),
    /// There is no run to resume.
    #[error("{} holds no run to resume: it has no config.toml (leave --resume out to begin one there)", .0.display())]
    NoRun(PathBuf),
    /// Another process works in the folder.
    #[error("{} is in use by another process{holder} (end that run first, or choose another folder)", path.display())]
    InUse {
        /// Which folder.
        path: PathBuf,
        /// Who has it, as far as is known: ` (process 123)`.
        holder: String,
    },
    /// The folder holds a run with other settings.
    #[error("{} holds another run: {difference} (give the same settings, or choose another folder)", path.display())]
    OtherRun {
        /// Which folder.
        path: PathBuf,
        /// The settings that differ.
        difference: String,
    },
    /// There are checkpoints, and not one of them can be used.
    #[error(
        "{}: no checkpoint is intact: {reasons} (put a good copy back, or remove checkpoints.json and the checkpoints \
         folder to begin again with --resume)",
        path.display()
    )]
    NoGoodCheckpoint {
        /// Which folder.
        path: PathBuf,
        /// What is wrong with each of them.
        reasons: String,
    },
    /// The settings cannot be read, or are wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl FolderError {
    /// For `map_err`: what was tried, on which file.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

/// What a person can do about it, where that is known.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            " (free some space and go on with --resume: what was saved before is intact)"
        }
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => " (choose a folder that you may write to)",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => " (a file is where a folder should be)",
        _ => "",
    }
}
