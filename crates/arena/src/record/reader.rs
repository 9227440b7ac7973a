//! Reading records: strictly, or whatever comes before the damage.

use std::fs::File;
use std::io::{BufReader, Read};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use afterstate_board::Position;

use super::codec::Codec;
use super::{Damage, FORMAT, Fault, Header, MAGIC, MAX_HEADER, MAX_PAYLOAD, RecordError};
use crate::Game;

/// An open record whose header has been read: enough to know which boards its games are on.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    source: BufReader<File>,
    header: Header,
    /// Where the next part begins.
    offset: u64,
}

/// Reads the header of a record alone.
pub fn read_header(path: impl AsRef<Path>) -> Result<Header, RecordError> {
    Ok(Reader::open(path)?.header)
}

/// Appends up to `count` bytes; memory grows with what is there, not with what a damaged length asks for.
fn fill(source: &mut impl Read, count: u64, bytes: &mut Vec<u8>, path: &Path) -> Result<(), RecordError> {
    source.by_ref().take(count).read_to_end(bytes).map_err(RecordError::io(path, "read it"))?;
    Ok(())
}

/// The number in four bytes from `at` on.
fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

/// True if the last four bytes are the checksum of the ones before.
fn is_intact(bytes: &[u8]) -> bool {
    bytes.split_last_chunk::<4>().is_some_and(|(body, crc)| crc32fast::hash(body) == u32::from_le_bytes(*crc))
}

impl Reader {
    /// Opens a record and reads its header.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RecordError> {
        let path = path.as_ref();
        let file = File::open(path).map_err(RecordError::io(path, "open it"))?;
        Self::from_file(path, file)
    }

    pub(super) fn from_file(path: &Path, file: File) -> Result<Self, RecordError> {
        let mut source = BufReader::new(file);
        let (header, offset) = Self::header_of(path, &mut source)?;
        Ok(Self { path: path.to_owned(), source, header, offset })
    }

    fn header_of(path: &Path, source: &mut impl Read) -> Result<(Header, u64), RecordError> {
        const PREFIX: usize = MAGIC.len() + 2 + 4;
        let damaged = |fault| RecordError::Damaged(Damage { path: path.to_owned(), offset: 0, game: None, fault });
        let mut bytes = Vec::new();
        fill(source, PREFIX as u64, &mut bytes, path)?;
        if !bytes.iter().zip(&MAGIC).all(|(byte, magic)| byte == magic) {
            return Err(RecordError::Foreign { path: path.to_owned() });
        }
        if bytes.len() < PREFIX {
            return Err(damaged(Fault::CutOff { needed: PREFIX as u64, left: bytes.len() as u64 }));
        }
        let found = u16::from_le_bytes([bytes[MAGIC.len()], bytes[MAGIC.len() + 1]]);
        if found != FORMAT {
            return Err(RecordError::Version { path: path.to_owned(), found });
        }
        let length = number(&bytes, MAGIC.len() + 2);
        if length > MAX_HEADER {
            return Err(damaged(Fault::Length(length)));
        }
        let needed = PREFIX as u64 + u64::from(length) + 4;
        fill(source, u64::from(length) + 4, &mut bytes, path)?;
        if (bytes.len() as u64) < needed {
            return Err(damaged(Fault::CutOff { needed, left: bytes.len() as u64 }));
        }
        if !is_intact(&bytes) {
            return Err(damaged(Fault::Checksum));
        }
        let json = &bytes[PREFIX..PREFIX + length as usize];
        let header = serde_json::from_slice(json).map_err(|error| damaged(Fault::Header(error.to_string())))?;
        Ok((header, needed))
    }

    /// What the record says about its games.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The games one by one, if they are on boards `P`.
    pub fn games<P: Position>(self) -> Result<Games<P>, RecordError> {
        if !self.header.is_for::<P>() {
            let wanted = P::SIZE.to_string();
            return Err(RecordError::Size { path: self.path, found: self.header.size(), wanted });
        }
        let codec = Codec::new::<P>(self.header.setup.rule);
        Ok(Games { reader: self, codec, read: 0, ended: false, frame: Vec::new(), position: PhantomData })
    }
}

/// The games of a record, each checked and replayed; ends after the first error.
#[derive(Debug)]
pub struct Games<P> {
    reader: Reader,
    codec: Codec,
    read: u64,
    ended: bool,
    frame: Vec<u8>,
    position: PhantomData<P>,
}

impl<P: Position> Games<P> {
    /// What the record says about its games.
    pub const fn header(&self) -> &Header {
        &self.reader.header
    }

    /// Where in the file the last whole game ends.
    pub const fn offset(&self) -> u64 {
        self.reader.offset
    }

    pub(super) fn into_file(self) -> File {
        self.reader.source.into_inner()
    }

    fn damaged(&self, fault: Fault) -> RecordError {
        let (path, offset) = (self.reader.path.clone(), self.reader.offset);
        RecordError::Damaged(Damage { path, offset, game: Some(self.read + 1), fault })
    }

    fn fill(&mut self, count: u64) -> Result<(), RecordError> {
        fill(&mut self.reader.source, count, &mut self.frame, &self.reader.path)
    }

    /// The next game; `None` at the end of the file.
    fn read_game(&mut self) -> Result<Option<Game<P>>, RecordError> {
        const PREFIX: usize = 8;
        self.frame.clear();
        self.fill(PREFIX as u64)?;
        if self.frame.is_empty() {
            return Ok(None);
        }
        let cut_off = |needed, frame: &[u8]| Fault::CutOff { needed, left: frame.len() as u64 };
        if self.frame.len() < PREFIX {
            return Err(self.damaged(cut_off(PREFIX as u64, &self.frame)));
        }
        let length = number(&self.frame, 0);
        if length != !number(&self.frame, 4) {
            return Err(self.damaged(Fault::GarbledLength));
        }
        if length > MAX_PAYLOAD {
            return Err(self.damaged(Fault::Length(length)));
        }
        let needed = PREFIX as u64 + u64::from(length) + 4;
        self.fill(u64::from(length) + 4)?;
        if (self.frame.len() as u64) < needed {
            return Err(self.damaged(cut_off(needed, &self.frame)));
        }
        if !is_intact(&self.frame) {
            return Err(self.damaged(Fault::Checksum));
        }
        let payload = &self.frame[PREFIX..PREFIX + length as usize];
        let game = self.codec.decode(payload).map_err(|fault| self.damaged(fault))?;
        self.reader.offset += needed;
        self.read += 1;
        Ok(Some(game))
    }
}

impl<P: Position> Iterator for Games<P> {
    type Item = Result<Game<P>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let game = self.read_game().transpose();
        self.ended = !matches!(game, Some(Ok(_)));
        game
    }
}

/// What could be read of a damaged record.
#[derive(Clone, Debug)]
pub struct Salvaged<P> {
    /// What the record says about its games.
    pub header: Header,
    /// The whole games before the damage.
    pub games: Vec<Game<P>>,
    /// What ended the reading; `None` if the record is whole.
    pub damage: Option<Damage>,
    /// How many bytes lie behind the last whole game.
    pub lost_bytes: u64,
}

/// Reads the whole games before the first damage. The header must be intact.
pub fn salvage<P: Position>(path: impl AsRef<Path>) -> Result<Salvaged<P>, RecordError> {
    let path = path.as_ref();
    let mut reading = Reader::open(path)?.games::<P>()?;
    let (mut games, mut damage) = (Vec::new(), None);
    for game in &mut reading {
        match game {
            Ok(game) => games.push(game),
            Err(RecordError::Damaged(found)) => damage = Some(found),
            Err(other) => return Err(other),
        }
    }
    let size = std::fs::metadata(path).map_err(RecordError::io(path, "measure it"))?.len();
    let lost_bytes = size.saturating_sub(reading.offset());
    Ok(Salvaged { header: reading.reader.header, games, damage, lost_bytes })
}
