//! Networks on disk: safetensors with the patterns, the training state and the provenance in its metadata, and a checksum over all
//! its numbers.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use afterstate_board::Position;
use memmap2::Mmap;
use safetensors::{Dtype, SafeTensors};
use serde_json::json;

use super::{Layout, LayoutError, Words};

/// The metadata key that marks our files, and its value.
const FORMAT: (&str, &str) = ("format", "afterstate-ntuple-1");

/// Why a file is not a network for this board.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// Not what it should be.
    #[error("{}: {reason}", path.display())]
    Refused {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// What is written beside the numbers, as text by name.
pub type Metadata = BTreeMap<String, String>;

/// A file's content, in the system's page cache: numbers are copied out where they are needed.
pub struct Saved {
    path: PathBuf,
    map: Mmap,
    /// What was written beside the numbers.
    pub metadata: Metadata,
}

/// One array to be written.
pub struct Tensor<'a> {
    /// Its name in the file.
    pub name: &'a str,
    /// Its numbers.
    pub words: &'a [AtomicU32],
}

/// The metadata that says what the weights belong to.
pub fn describe<P: Position>(layout: &Layout) -> Metadata {
    let stages: Vec<String> = layout.stages().iter().map(|&e| (1u64 << e).to_string()).collect();
    let pairs = [
        (FORMAT.0, FORMAT.1.to_owned()),
        ("size", format!("{}x{}", P::ROWS, P::COLUMNS)),
        ("patterns", layout.to_string()),
        ("stages", stages.join(" ")),
    ];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Writes a network: the tensor `weights`, and whatever else is to be kept.
pub fn write(out: &mut dyn Write, metadata: &Metadata, tensors: &[Tensor<'_>]) -> io::Result<()> {
    let mut hasher = crc32fast::Hasher::new();
    for tensor in tensors {
        in_chunks(tensor.words, |bytes| {
            hasher.update(bytes);
            Ok(())
        })?;
    }
    let mut metadata = metadata.clone();
    metadata.insert("checksum".into(), format!("crc32 {:08x}", hasher.finalize()));
    let mut header = serde_json::Map::new();
    header.insert("__metadata__".into(), json!(metadata));
    let mut offset = 0;
    for tensor in tensors {
        let end = offset + 4 * tensor.words.len();
        let entry = json!({"dtype": "F32", "shape": [tensor.words.len()], "data_offsets": [offset, end]});
        header.insert(tensor.name.to_owned(), entry);
        offset = end;
    }
    let mut header = serde_json::to_vec(&header)?;
    header.resize(header.len().next_multiple_of(8), b' ');
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    tensors.iter().try_for_each(|tensor| in_chunks(tensor.words, |bytes| out.write_all(bytes)))
}

/// The little-endian bytes of an array, 256 KiB at a time.
fn in_chunks(words: &[AtomicU32], mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(1 << 18);
    for chunk in words.chunks(1 << 16) {
        bytes.clear();
        chunk.iter().for_each(|word| bytes.extend_from_slice(&word.load(Relaxed).to_le_bytes()));
        each(&bytes)?;
    }
    Ok(())
}

impl Saved {
    /// Opens a file and checks it whole: its marks, its shape and the checksum of its numbers.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let io = |source| FileError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        // SAFETY: the map is only read. Whoever cuts the file short meanwhile ends this process (as for any program that maps a
        // file); our own writers never touch a file once it has its name.
        let map = unsafe { Mmap::map(&file) }.map_err(io)?;
        let refused = |reason: String| FileError::Refused { path: path.to_owned(), reason };
        let (header, header_metadata) = SafeTensors::read_metadata(&map)
            .map_err(|error| refused(format!("this is no safetensors file, or it is damaged ({error})")))?;
        let found: HashMap<String, String> = header_metadata.metadata().clone().unwrap_or_default();
        let metadata: Metadata = found.into_iter().collect();
        if metadata.get(FORMAT.0).map(String::as_str) != Some(FORMAT.1) {
            return Err(refused(format!("this is no n-tuple network of ours (no {} = {})", FORMAT.0, FORMAT.1)));
        }
        let data = map.get(8 + header..).unwrap_or_default();
        let sum = format!("crc32 {:08x}", crc32fast::hash(data));
        if metadata.get("checksum") != Some(&sum) {
            return Err(refused("the checksum is wrong: the file is damaged (fetch or train it again)".into()));
        }
        Ok(Self { path: path.to_owned(), map, metadata })
    }

    /// The error that says what is wrong with this file.
    pub fn refused(&self, reason: impl Into<String>) -> FileError {
        FileError::Refused { path: self.path.clone(), reason: reason.into() }
    }

    fn text(&self, key: &str) -> Result<&str, FileError> {
        self.metadata.get(key).map(String::as_str).ok_or_else(|| self.refused(format!("its metadata lacks '{key}'")))
    }

    /// What its weights belong to, if that is a board of type `P`.
    pub fn layout<P: Position>(&self) -> Result<Layout, FileError> {
        let (size, wanted) = (self.text("size")?, format!("{}x{}", P::ROWS, P::COLUMNS));
        if size != wanted {
            return Err(self.refused(format!("the network is for {size} boards, not for {wanted}")));
        }
        let stages = stages(self.text("stages")?).ok_or_else(|| self.refused("its stages are no tiles"))?;
        let layout = Layout::new::<P>(self.text("patterns")?, &stages);
        layout.map_err(|error: LayoutError| self.refused(error.to_string()))
    }

    /// Copies an array of `len` numbers out, onto huge pages; `None` if the file has none of that name.
    pub fn words(&self, name: &str, len: usize) -> Result<Option<Words>, FileError> {
        let tensors = SafeTensors::deserialize(&self.map).map_err(|error| self.refused(error.to_string()))?;
        let Ok(tensor) = tensors.tensor(name) else { return Ok(None) };
        if tensor.dtype() != Dtype::F32 || tensor.data().len() != 4 * len {
            let found = tensor.data().len() / 4;
            return Err(self.refused(format!("'{name}' has {found} numbers of type {:?}, not {len}", tensor.dtype())));
        }
        let mut words = Words::zeroed(len).map_err(|source| FileError::Io { path: self.path.clone(), source })?;
        for (number, bytes) in words.numbers_mut().iter_mut().zip(tensor.data().as_chunks::<4>().0) {
            *number = f32::from_le_bytes(*bytes);
        }
        Ok(Some(words))
    }
}

/// Reads tiles such as `16384 32768` as exponents.
fn stages(text: &str) -> Option<Vec<u8>> {
    let tile =
        |word: &str| word.parse::<u32>().ok().filter(|tile| tile.is_power_of_two()).map(|tile| tile.ilog2() as u8);
    text.split_whitespace().map(tile).collect()
}
