//! The files of a run: replaced as a whole or not at all, appended in whole lines, locked while a process works on them.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Serialize, de::DeserializeOwned};

use super::FolderError;

/// Ends the name of a file that is being written; one that a killed process left is worthless.
pub(crate) const UNFINISHED: &str = ".tmp";
/// Held locked by the process that works in the folder.
const LOCK: &str = "run.lock";
/// Large enough that a system call costs nothing beside the bytes it moves.
const BUFFER: usize = 1 << 20;

/// What was written to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sum {
    pub bytes: u64,
    pub crc32: u32,
}

/// Counts and sums what passes through.
struct Summing<W> {
    inner: W,
    bytes: u64,
    crc: crc32fast::Hasher,
}

impl<W> Summing<W> {
    fn new(inner: W) -> Self {
        Self { inner, bytes: 0, crc: crc32fast::Hasher::new() }
    }

    fn sum(&self) -> Sum {
        Sum { bytes: self.bytes, crc32: self.crc.clone().finalize() }
    }
}

/// What writes the content of a file. Every learner has its own for every size of board: what takes one is not compiled for each of them.
pub(super) type Content<'c> = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + 'c>;

impl<W: Write> Write for Summing<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buffer)?;
        self.bytes += written as u64;
        self.crc.update(&buffer[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The folder is this process's own while this lives.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing would not do: a process that is being started elsewhere in this program holds a copy for a moment.
        let _ = self.0.unlock();
    }
}

/// The folder of one run.
#[derive(Clone, Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Makes the folder if need be.
    pub fn create(path: &Path) -> Result<Self, FolderError> {
        fs::create_dir_all(path).map_err(FolderError::io("make the folder", path))?;
        Ok(Self(path.to_owned()))
    }

    /// A folder that is there.
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub fn root(&self) -> &Path {
        &self.0
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Keeps other processes out for as long as the answer lives; the system lets go of it if this process dies.
    pub fn lock(&self) -> Result<Lock, FolderError> {
        let path = self.path(LOCK);
        let open = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
        let mut file = open.map_err(FolderError::io("open", &path))?;
        match file.try_lock() {
            Ok(()) => {
                // For people only: a full disk must not keep anyone from a folder.
                let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
                Ok(Lock(file))
            }
            Err(TryLockError::WouldBlock) => {
                let pid = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse::<u32>().ok());
                let holder = pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
                Err(FolderError::InUse { path: self.0.clone(), holder })
            }
            Err(TryLockError::Error(source)) => Err(FolderError::io("lock", &path)(source)),
        }
    }

    /// Replaces a file as a whole: a reader, a crash or a full disk leaves the old one or the new one, and once this returns
    /// the new one also survives a loss of power.
    pub fn replace(
        &self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Sum, FolderError> {
        self.replace_by(name, Box::new(write))
    }

    /// The same, compiled once.
    pub(super) fn replace_by(&self, name: &str, write: Content<'_>) -> Result<Sum, FolderError> {
        let (path, fresh) = (self.path(name), self.path(&format!("{name}{UNFINISHED}")));
        let written = write_synced(&fresh, write).and_then(|sum| fs::rename(&fresh, &path).map(|()| sum));
        if written.is_err() {
            // A half-written file of gigabytes must not keep the disk full.
            let _ = fs::remove_file(&fresh);
        }
        let sum = written.map_err(FolderError::io("write", &path))?;
        sync_folder(&path)?;
        Ok(sum)
    }

    /// A second name for the content of a file, replacing what had that name.
    pub fn link(&self, from: &str, to: &str) -> Result<(), FolderError> {
        let (source, path, fresh) = (self.path(from), self.path(to), self.path(&format!("{to}{UNFINISHED}")));
        let _ = fs::remove_file(&fresh);
        if fs::hard_link(&source, &fresh).is_err() {
            // Not every file system knows links.
            let copy = |out: &mut dyn Write| io::copy(&mut File::open(&source)?, out).map(|_| ());
            return self.replace(to, copy).map(|_| ());
        }
        fs::rename(&fresh, &path).map_err(FolderError::io("write", &path))?;
        // Renaming one name of a file over another name of the same file does nothing at all.
        let _ = fs::remove_file(&fresh);
        sync_folder(&path)
    }

    /// Whole as the record says, or what is wrong with it.
    pub fn verify(&self, name: &str, expected: Sum) -> Result<(), String> {
        let found = self.sum(name).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "it is missing".to_owned(),
            _ => format!("it cannot be read: {error}"),
        })?;
        match found {
            _ if found == expected => Ok(()),
            Sum { bytes, .. } if bytes != expected.bytes => Err(format!("it has {bytes} of {} bytes", expected.bytes)),
            Sum { crc32, .. } => Err(format!("its checksum is {crc32:08x}, not {:08x}", expected.crc32)),
        }
    }

    /// Reads a file through to count and sum it.
    pub fn sum(&self, name: &str) -> io::Result<Sum> {
        let mut summing = BufWriter::with_capacity(BUFFER, Summing::new(io::sink()));
        io::copy(&mut File::open(self.path(name))?, &mut summing)?;
        summing.flush()?;
        Ok(summing.get_ref().sum())
    }

    pub fn write_text(&self, name: &str, text: &str) -> Result<(), FolderError> {
        self.replace(name, |out| out.write_all(text.as_bytes())).map(|_| ())
    }

    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), FolderError> {
        let text = serde_json::to_string_pretty(value).map_err(|error| self.damaged(name, error.to_string()))?;
        self.write_text(name, &(text + "\n"))
    }

    pub fn read_text(&self, name: &str) -> Result<String, FolderError> {
        let path = self.path(name);
        fs::read_to_string(&path).map_err(FolderError::io("read", &path))
    }

    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, FolderError> {
        serde_json::from_str(&self.read_text(name)?).map_err(|error| self.damaged(name, error.to_string()))
    }

    pub fn damaged(&self, name: &str, reason: String) -> FolderError {
        FolderError::Damaged { path: self.path(name), reason }
    }

    /// Cuts a log to its first `count` lines: those that the saved state knows of.
    pub fn keep_lines(&self, name: &str, count: usize) -> Result<(), FolderError> {
        let text = if self.has(name) { self.read_text(name)? } else { String::new() };
        let kept: String = text.split_inclusive('\n').take(count).collect();
        if kept.lines().count() < count {
            return Err(self.damaged(name, format!("it has {} lines of {count}", kept.lines().count())));
        }
        self.write_text(name, &kept)
    }

    /// Removes what a killed process had begun to write, for the files that `ours` names. Tells which.
    pub fn sweep(&self, ours: &dyn Fn(&str) -> bool) -> Result<Vec<String>, FolderError> {
        let mut swept = Vec::new();
        for name in self.names()? {
            if name.strip_suffix(UNFINISHED).is_some_and(ours) {
                let path = self.path(&name);
                fs::remove_file(&path).map_err(FolderError::io("remove", &path))?;
                swept.push(name);
            }
        }
        Ok(swept)
    }

    /// What lies in the folder, in order; names that are not text are nobody's of ours.
    pub fn names(&self) -> Result<Vec<String>, FolderError> {
        let failed = || FolderError::io("list", &self.0);
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0).map_err(failed())? {
            names.extend(entry.map_err(failed())?.file_name().into_string());
        }
        names.sort();
        Ok(names)
    }

    pub fn remove(&self, name: &str) -> Result<(), FolderError> {
        let path = self.path(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FolderError::io("remove", &path)(error)),
            _ => Ok(()),
        }
    }

    /// A log to append to.
    pub fn appender(&self, name: &str) -> Result<Appender, FolderError> {
        let path = self.path(name);
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(FolderError::io("open", &path))?;
        let length = file.metadata().map_err(FolderError::io("open", &path))?.len();
        Ok(Appender { file, path, length })
    }
}

/// A file that grows by whole pieces: one that does not fit on the disk is taken back.
#[derive(Debug)]
pub(crate) struct Appender {
    file: File,
    path: PathBuf,
    length: u64,
}

impl Appender {
    /// In the hands of the system when this returns: a killed process does not lose it.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), FolderError> {
        if let Err(source) = self.file.write_all(bytes) {
            let _ = self.file.set_len(self.length);
            return Err(FolderError::io("write", &self.path)(source));
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    pub fn append_json(&mut self, value: &impl Serialize) -> Result<(), FolderError> {
        let damaged = |error: serde_json::Error| FolderError::Damaged {
            path: self.path.clone(),
            reason: format!("cannot write a line: {error}"),
        };
        let line = serde_json::to_string(value).map_err(damaged)? + "\n";
        self.append(line.as_bytes())
    }

    /// On the disk when this returns.
    pub fn sync(&self) -> Result<(), FolderError> {
        self.file.sync_data().map_err(FolderError::io("write", &self.path))
    }
}

fn write_synced(path: &Path, write: Content<'_>) -> io::Result<Sum> {
    let mut out = BufWriter::with_capacity(BUFFER, Summing::new(File::create(path)?));
    let written = write(&mut out).and_then(|()| out.flush());
    // Taken apart so that a failed write is not tried again when the buffer is dropped.
    let (summing, _) = out.into_parts();
    written?;
    summing.inner.sync_all()?;
    Ok(summing.sum())
}

/// A rename is on the disk only when its folder is.
fn sync_folder(path: &Path) -> Result<(), FolderError> {
    let Some(folder) = path.parent().filter(|_| cfg!(unix)) else { return Ok(()) };
    File::open(folder).and_then(|file| file.sync_all()).map_err(FolderError::io("write", folder))
}
