//! Layers as they are found: a file that grows by whole records. What a kill cut off is dropped, what came before it is kept.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

use crate::run::FolderError;
use crate::run::files::{Appender, Folder};

/// What every record begins with: tile sum, number of positions, bytes, and a checksum over these and the bytes.
const HEAD: u64 = 20;

/// Where a record lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub sum: u32,
    pub count: u32,
    offset: u64,
    bytes: u64,
}

/// A growing file of layers.
pub(super) struct Log {
    path: PathBuf,
    out: Appender,
    file: File,
    records: Vec<Record>,
    end: u64,
}

fn head(sum: u32, count: u32, bytes: u64) -> [u8; 16] {
    let mut head = [0; 16];
    head[..4].copy_from_slice(&sum.to_le_bytes());
    head[4..8].copy_from_slice(&count.to_le_bytes());
    head[8..].copy_from_slice(&bytes.to_le_bytes());
    head
}

fn checksum(head: &[u8; 16], payload: &[u8]) -> [u8; 4] {
    let mut crc = crc32fast::Hasher::new();
    crc.update(head);
    crc.update(payload);
    crc.finalize().to_le_bytes()
}

/// The next record and its payload; `None` if what follows is not a whole one.
fn read_record(input: &mut impl Read, offset: u64, left: u64) -> io::Result<Option<(Record, Vec<u8>)>> {
    if left < HEAD {
        return Ok(None);
    }
    let (mut head, mut crc) = ([0; 16], [0; 4]);
    input.read_exact(&mut head)?;
    input.read_exact(&mut crc)?;
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |n: u64, &byte| n << 8 | u64::from(byte));
    let (sum, count, bytes) = (number(&head[..4]) as u32, number(&head[4..8]) as u32, number(&head[8..]));
    if bytes > left - HEAD {
        return Ok(None);
    }
    let mut payload = vec![0; bytes as usize];
    input.read_exact(&mut payload)?;
    let whole = crc == checksum(&head, &payload);
    Ok(whole.then_some((Record { sum, count, offset, bytes }, payload)))
}

impl Log {
    /// Opens a log, new or old, and drops what is not a whole record.
    pub fn open(folder: &Folder, name: &str) -> Result<Self, FolderError> {
        let path = folder.path(name);
        let open = || -> io::Result<(File, Vec<Record>, u64)> {
            let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path)?;
            let length = file.metadata()?.len();
            let (mut input, mut records, mut end) = (BufReader::with_capacity(1 << 20, &file), Vec::new(), 0);
            while let Some((record, _)) = read_record(&mut input, end, length - end)? {
                records.push(record);
                end += HEAD + record.bytes;
            }
            file.set_len(end)?;
            Ok((file, records, end))
        };
        let (file, records, end) = open().map_err(FolderError::io("open", &path))?;
        Ok(Self { out: folder.appender(name)?, path, file, records, end })
    }

    /// The records in the order in which they were added.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Adds a record; it is in the hands of the system when this returns.
    pub fn append(&mut self, sum: u32, count: usize, payload: &[u8]) -> Result<(), FolderError> {
        let (count, bytes) = (count as u32, payload.len() as u64);
        let head = head(sum, count, bytes);
        self.out.append(&[&head, checksum(&head, payload).as_slice(), payload].concat())?;
        self.records.push(Record { sum, count, offset: self.end, bytes });
        self.end += HEAD + bytes;
        Ok(())
    }

    /// The payload of a record, checked again.
    pub fn payload(&mut self, record: Record) -> Result<Vec<u8>, FolderError> {
        let mut read = || {
            self.file.seek(SeekFrom::Start(record.offset))?;
            read_record(&mut self.file, record.offset, HEAD + record.bytes)
        };
        match read().map_err(FolderError::io("read", &self.path))? {
            Some((found, payload)) if found == record => Ok(payload),
            _ => Err(self.damaged()),
        }
    }

    /// The error for a record that does not hold what it should.
    pub fn damaged(&self) -> FolderError {
        let reason = "it has changed while it was in use".to_owned();
        FolderError::Damaged { path: self.path.clone(), reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_records_survive_whatever_comes_after_them() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Folder::create(folder.path()).unwrap();
        let mut log = Log::open(&folder, "log").unwrap();
        log.append(4, 2, b"four").unwrap();
        log.append(6, 3, b"six").unwrap();
        let whole = std::fs::read(folder.path("log")).unwrap();
        for cut in 0..whole.len() {
            std::fs::write(folder.path("log"), &whole[..cut]).unwrap();
            let mut log = Log::open(&folder, "log").unwrap();
            assert_eq!(log.records().len(), usize::from(cut >= 24), "cut at {cut}");
            log.append(6, 3, b"six").unwrap();
            assert_eq!(log.payload(log.records()[log.records().len() - 1]).unwrap(), b"six");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            std::fs::write(folder.path("log"), &bytes).unwrap();
            assert_eq!(
                Log::open(&folder, "log").unwrap().records().len(),
                usize::from(at >= 24),
                "bit flipped at {at}"
            );
        }
    }
}
