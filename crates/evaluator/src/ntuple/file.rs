//! Networks on disk: safetensors with the patterns, the training state and the provenance in its metadata, and a checksum over all
//! its numbers.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use afterstate_board::Position;
use memmap2::Mmap;
pub use safetensors::Dtype;
use safetensors::SafeTensors;
use serde_json::json;

use super::{Layout, LayoutError, UNIT, Words};

/// The metadata key that marks our files.
const FORMAT: &str = "format";

/// A kind of file: what its metadata says under `format`, and what people call it.
pub(crate) struct Kind {
    pub mark: &'static str,
    pub name: &'static str,
}

/// Networks.
const NETWORK: Kind = Kind { mark: "afterstate-ntuple-1", name: "n-tuple network" };

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
    content: Content,
    /// What was written beside the numbers.
    pub metadata: Metadata,
}

/// Where the bytes of a file are.
enum Content {
    Mapped(Mmap),
    Embedded(&'static [u8]),
    #[cfg(test)]
    Owned(Vec<u8>),
}

/// One array to be written.
pub struct Tensor<'a> {
    /// Its name in the file.
    pub name: &'a str,
    /// What its words are.
    pub kind: Dtype,
    /// Its words.
    pub words: &'a [AtomicU32],
}

/// The metadata that says what the weights belong to.
pub fn describe<P: Position>(layout: &Layout) -> Metadata {
    let stages: Vec<String> = layout.stages().iter().map(|&e| (1u64 << e).to_string()).collect();
    let pairs = [
        (FORMAT, NETWORK.mark.to_owned()),
        ("size", format!("{}x{}", P::ROWS, P::COLUMNS)),
        ("patterns", layout.to_string()),
        ("stages", stages.join(" ")),
        ("unit", format!("{UNIT} points")),
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
    let entries = tensors.iter().map(|tensor| (tensor.name, tensor.kind, tensor.words.len(), 4));
    write_header(out, metadata, hasher.finalize(), entries)?;
    tensors.iter().try_for_each(|tensor| in_chunks(tensor.words, |bytes| out.write_all(bytes)))
}

/// Writes named arrays of bytes with the same header.
pub(crate) fn write_bytes(out: &mut dyn Write, metadata: &Metadata, arrays: &[(&str, &[u8])]) -> io::Result<()> {
    let mut hasher = crc32fast::Hasher::new();
    arrays.iter().for_each(|(_, bytes)| hasher.update(bytes));
    let entries = arrays.iter().map(|(name, bytes)| (*name, Dtype::U8, bytes.len(), 1));
    write_header(out, metadata, hasher.finalize(), entries)?;
    arrays.iter().try_for_each(|(_, bytes)| out.write_all(bytes))
}

/// The header of a safetensors file: metadata, then name, type, length and size of an element for each array.
fn write_header<'a>(
    out: &mut dyn Write,
    metadata: &Metadata,
    crc32: u32,
    entries: impl Iterator<Item = (&'a str, Dtype, usize, usize)>,
) -> io::Result<()> {
    let mut metadata = metadata.clone();
    metadata.insert("checksum".into(), format!("crc32 {crc32:08x}"));
    let mut header = serde_json::Map::new();
    header.insert("__metadata__".into(), json!(metadata));
    let mut offset = 0;
    for (name, kind, len, size) in entries {
        let end = offset + size * len;
        header.insert(name.to_owned(), json!({"dtype": kind, "shape": [len], "data_offsets": [offset, end]}));
        offset = end;
    }
    let mut header = serde_json::to_vec(&header)?;
    header.resize(header.len().next_multiple_of(8), b' ');
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)
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
        Self::open_kind(path, &NETWORK)
    }

    /// Opens a file of some kind.
    pub(crate) fn open_kind(path: &Path, kind: &Kind) -> Result<Self, FileError> {
        let io = |source| FileError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        // SAFETY: the map is only read. Whoever cuts the file short meanwhile ends this process (as for any program that maps a
        // file); our own writers never touch a file once it has its name.
        let map = unsafe { Mmap::map(&file) }.map_err(io)?;
        Self::check(path, Content::Mapped(map), kind)
    }

    /// A file that is part of the program.
    pub(super) fn embedded(name: &str, bytes: &'static [u8]) -> Result<Self, FileError> {
        Self::embedded_kind(name, bytes, &NETWORK)
    }

    /// A file of some kind that is part of the program.
    pub(crate) fn embedded_kind(name: &str, bytes: &'static [u8], kind: &Kind) -> Result<Self, FileError> {
        Self::check(Path::new(name), Content::Embedded(bytes), kind)
    }

    #[cfg(test)]
    pub(super) fn of_bytes(bytes: Vec<u8>) -> Result<Self, FileError> {
        Self::check(Path::new("test"), Content::Owned(bytes), &NETWORK)
    }

    fn check(path: &Path, content: Content, kind: &Kind) -> Result<Self, FileError> {
        let mut saved = Self { path: path.to_owned(), content, metadata: Metadata::new() };
        let (header, header_metadata) = SafeTensors::read_metadata(saved.bytes())
            .map_err(|error| saved.refused(format!("this is no safetensors file, or it is damaged ({error})")))?;
        let found: HashMap<String, String> = header_metadata.metadata().clone().unwrap_or_default();
        saved.metadata = found.into_iter().collect();
        if saved.metadata.get(FORMAT).map(String::as_str) != Some(kind.mark) {
            return Err(saved.refused(format!("this is no {} of ours (no {FORMAT} = {})", kind.name, kind.mark)));
        }
        let data = saved.bytes().get(8 + header..).unwrap_or_default();
        let sum = format!("crc32 {:08x}", crc32fast::hash(data));
        if saved.metadata.get("checksum") != Some(&sum) {
            return Err(saved.refused("the checksum is wrong: the file is damaged (fetch or train it again)"));
        }
        SafeTensors::deserialize(saved.bytes()).map_err(|error| saved.refused(error.to_string()))?;
        Ok(saved)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.content {
            Content::Mapped(map) => map,
            Content::Embedded(bytes) => bytes,
            #[cfg(test)]
            Content::Owned(bytes) => bytes,
        }
    }

    /// Is it packed?
    pub(super) fn is_packed(&self) -> bool {
        self.metadata.contains_key("kept")
    }

    /// The error that says what is wrong with this file.
    pub fn refused(&self, reason: impl Into<String>) -> FileError {
        FileError::Refused { path: self.path.clone(), reason: reason.into() }
    }

    /// What the metadata says under a name.
    pub(crate) fn text(&self, key: &str) -> Result<&str, FileError> {
        self.metadata.get(key).map(String::as_str).ok_or_else(|| self.refused(format!("its metadata lacks '{key}'")))
    }

    /// What its weights belong to, if that is a board of type `P`.
    pub fn layout<P: Position>(&self) -> Result<Layout, FileError> {
        let (size, wanted) = (self.text("size")?, format!("{}x{}", P::ROWS, P::COLUMNS));
        if size != wanted {
            return Err(self.refused(format!("the network is for {size} boards, not for {wanted}")));
        }
        let unit = format!("{UNIT} points");
        if self.text("unit")? != unit {
            return Err(self.refused(format!("its weights are not in units of {unit}")));
        }
        let stages = stages(self.text("stages")?).ok_or_else(|| self.refused("its stages are no tiles"))?;
        let layout = Layout::new::<P>(self.text("patterns")?, &stages);
        layout.map_err(|error: LayoutError| self.refused(error.to_string()))
    }

    /// Where an array of bytes lies in the file's content; an error if the file has none of that name.
    pub(crate) fn range(&self, name: &str) -> Result<std::ops::Range<usize>, FileError> {
        let tensors = SafeTensors::deserialize(self.bytes()).map_err(|error| self.refused(error.to_string()))?;
        let tensor = tensors.tensor(name).map_err(|error| self.refused(error.to_string()))?;
        let start = tensor.data().as_ptr() as usize - self.bytes().as_ptr() as usize;
        Ok(start..start + tensor.data().len())
    }

    /// Copies an array of `len` words out, onto huge pages; `None` if the file has none of that name.
    pub fn words(&self, name: &str, kind: Dtype, len: usize) -> Result<Option<Words>, FileError> {
        let tensors = SafeTensors::deserialize(self.bytes()).map_err(|error| self.refused(error.to_string()))?;
        let Ok(tensor) = tensors.tensor(name) else { return Ok(None) };
        if tensor.dtype() != kind || tensor.data().len() != 4 * len {
            let found = tensor.data().len() / 4;
            return Err(self.refused(format!(
                "'{name}' has {found} numbers of type {}, not {len} of type {kind}",
                tensor.dtype()
            )));
        }
        let mut words = Words::zeroed(len).map_err(|source| FileError::Io { path: self.path.clone(), source })?;
        for (word, bytes) in words.exclusive().iter_mut().zip(tensor.data().as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
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
