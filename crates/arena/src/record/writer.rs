//! Writing records so that a killed run keeps the games it finished, and can go on.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use afterstate_board::Position;

use super::codec::Codec;
use super::{Damage, FORMAT, Fault, Header, MAGIC, Reader, RecordError};
use crate::{Game, Outcome};

/// Appends games to a record. The file is locked while the writer lives.
#[derive(Debug)]
pub struct Writer<P> {
    path: PathBuf,
    file: File,
    codec: Codec,
    /// Where the last whole part ends.
    end: u64,
    position: PhantomData<P>,
}

/// A record that goes on.
#[derive(Debug)]
pub struct Resumed<P> {
    /// Appends the games still to be played.
    pub writer: Writer<P>,
    /// The games that are there already.
    pub outcomes: Vec<Outcome>,
    /// How many bytes of a cut-off last game were dropped.
    pub dropped_bytes: u64,
}

fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    let crc = crc32fast::hash(&bytes);
    bytes.extend(crc.to_le_bytes());
    bytes
}

fn header_bytes(header: &Header) -> Result<Vec<u8>, serde_json::Error> {
    let json = serde_json::to_vec(header)?;
    let mut bytes = MAGIC.to_vec();
    bytes.extend(FORMAT.to_le_bytes());
    bytes.extend((json.len() as u32).to_le_bytes());
    bytes.extend(json);
    Ok(with_checksum(bytes))
}

/// Two writers would interleave their games. Where the file system knows no locks, nothing is checked.
fn lock(path: &Path, file: &File) -> Result<(), RecordError> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(RecordError::Busy { path: path.to_owned() }),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

impl<P: Position> Writer<P> {
    /// Begins a record in a file that does not exist yet.
    pub fn create_new(path: impl AsRef<Path>, header: &Header) -> Result<Self, RecordError> {
        let path = path.as_ref();
        Self::check_size(path, header)?;
        let file =
            OpenOptions::new().write(true).create_new(true).open(path).map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => RecordError::Exists { path: path.to_owned() },
                _ => RecordError::io(path, "create it")(source),
            })?;
        lock(path, &file)?;
        Self::begin(path, file, header)
    }

    /// Goes on with a record of the same run: drops a last game that was cut off and says which games are there.
    ///
    /// An empty file, all that is left of a run killed at birth, is begun anew. Damage other than a cut-off end is an error.
    pub fn resume(path: impl AsRef<Path>, header: &Header) -> Result<Resumed<P>, RecordError> {
        let path = path.as_ref();
        Self::check_size(path, header)?;
        let io = |action| RecordError::io(path, action);
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(io("open it for writing"))?;
        lock(path, &file)?;
        if file.metadata().map_err(io("measure it"))?.len() == 0 {
            let writer = Self::begin(path, file, header)?;
            return Ok(Resumed { writer, outcomes: Vec::new(), dropped_bytes: 0 });
        }
        let reader = Reader::from_file(path, file)?;
        if let Some(difference) = header.difference(reader.header()) {
            return Err(RecordError::Different { path: path.to_owned(), difference });
        }
        let mut games = reader.games::<P>()?;
        let mut outcomes = Vec::new();
        for game in &mut games {
            match game {
                Ok(game) => outcomes.push(game.outcome()),
                Err(RecordError::Damaged(Damage { fault: Fault::CutOff { .. }, .. })) => {}
                Err(other) => return Err(other),
            }
        }
        let (end, mut file) = (games.offset(), games.into_file());
        let size = file.metadata().map_err(io("measure it"))?.len();
        file.set_len(end).map_err(io("drop its cut-off end"))?;
        file.seek(SeekFrom::Start(end)).map_err(io("find its end"))?;
        let writer = Self::at(path, file, header, end);
        Ok(Resumed { writer, outcomes, dropped_bytes: size.saturating_sub(end) })
    }

    fn check_size(path: &Path, header: &Header) -> Result<(), RecordError> {
        let wanted = || P::SIZE.to_string();
        let size = || RecordError::Size { path: path.to_owned(), found: header.size(), wanted: wanted() };
        if header.is_for::<P>() { Ok(()) } else { Err(size()) }
    }

    fn begin(path: &Path, mut file: File, header: &Header) -> Result<Self, RecordError> {
        let bytes = header_bytes(header).map_err(|error| RecordError::io(path, "write its header")(error.into()))?;
        file.write_all(&bytes).map_err(RecordError::io(path, "write its header"))?;
        Ok(Self::at(path, file, header, bytes.len() as u64))
    }

    fn at(path: &Path, file: File, header: &Header, end: u64) -> Self {
        let codec = Codec::new::<P>(header.setup.rule);
        Self { path: path.to_owned(), file, codec, end, position: PhantomData }
    }

    /// Appends a game with a single write. If that fails, the file is left as it was before.
    pub fn write(&mut self, game: &Game<P>) -> Result<(), RecordError> {
        let unwritable = |reason| RecordError::Unwritable { path: self.path.clone(), index: game.index, reason };
        let payload = self.codec.encode(game).map_err(unwritable)?;
        let length = payload.len() as u32;
        let mut bytes = Vec::with_capacity(payload.len() + 12);
        bytes.extend(length.to_le_bytes());
        bytes.extend((!length).to_le_bytes());
        bytes.extend(payload);
        let bytes = with_checksum(bytes);
        if let Err(source) = self.file.write_all(&bytes) {
            // A half-written game (a full disk) must not stay in the way of later ones; resuming would drop it as well.
            let _ = self.file.set_len(self.end).and_then(|()| self.file.seek(SeekFrom::Start(self.end)));
            return Err(RecordError::io(&self.path, "write a game")(source));
        }
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Waits until all games have reached the disk: they survive the machine, not just the run.
    pub fn sync(&self) -> Result<(), RecordError> {
        self.file.sync_data().map_err(RecordError::io(&self.path, "write it to the disk"))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
