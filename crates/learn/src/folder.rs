//! A run folder: files that are either whole or absent, and a log that ends where the state does.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Serialize, de::DeserializeOwned};

/// Why a run folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The system refused.
    #[error("{}", path.display())]
    Io {
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
}

/// The folder of one run.
#[derive(Clone, Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Makes the folder if need be.
    pub fn create(path: &Path) -> Result<Self, FolderError> {
        let folder = Self(path.to_owned());
        fs::create_dir_all(path).map_err(|source| FolderError::Io { path: path.to_owned(), source })?;
        Ok(folder)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    fn io<T>(&self, name: &str, result: io::Result<T>) -> Result<T, FolderError> {
        result.map_err(|source| FolderError::Io { path: self.path(name), source })
    }

    /// Replaces a file as a whole: a reader, or a crash, sees the old one or the new one.
    pub fn write_text(&self, name: &str, text: &str) -> Result<(), FolderError> {
        let (path, fresh) = (self.path(name), self.path(&format!("{name}.tmp")));
        self.io(name, fs::write(&fresh, text).and_then(|()| fs::rename(&fresh, &path)))
    }

    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), FolderError> {
        let text = serde_json::to_string_pretty(value).map_err(|error| self.damaged(name, error.to_string()))?;
        self.write_text(name, &(text + "\n"))
    }

    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, FolderError> {
        let text = self.io(name, fs::read_to_string(self.path(name)))?;
        serde_json::from_str(&text).map_err(|error| self.damaged(name, error.to_string()))
    }

    pub fn damaged(&self, name: &str, reason: String) -> FolderError {
        FolderError::Damaged { path: self.path(name), reason }
    }

    /// Adds a line to a log.
    pub fn append_line(&self, name: &str, value: &impl Serialize) -> Result<(), FolderError> {
        let text = serde_json::to_string(value).map_err(|error| self.damaged(name, error.to_string()))? + "\n";
        let file = fs::OpenOptions::new().create(true).append(true).open(self.path(name));
        self.io(name, file.and_then(|mut file| file.write_all(text.as_bytes())))
    }

    /// Cuts a log to its first `count` lines: those that the saved state knows of.
    pub fn keep_lines(&self, name: &str, count: usize) -> Result<(), FolderError> {
        let text = match fs::read_to_string(self.path(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => self.io(name, read)?,
        };
        let kept: String = text.split_inclusive('\n').take(count).collect();
        if kept.lines().count() < count {
            return Err(self.damaged(name, format!("it has {} lines of {count}", kept.lines().count())));
        }
        self.write_text(name, &kept)
    }
}
