//! Networks on disk, whatever their kind: safetensors with marks and provenance in its metadata, and a checksum over all its numbers.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use afterstate_board::Size;
use memmap2::Mmap;
pub use safetensors::Dtype;
use safetensors::{SafeTensors, tensor::TensorView};
use serde_json::json;

/// The metadata key that marks our files.
pub const MARK: &str = "format";

/// A kind of network, as its files are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The value of `format` in the metadata.
    pub mark: &'static str,
    /// What is in the file, for people.
    pub what: &'static str,
}

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

impl FileError {
    /// The message without the path, for a caller who names that.
    pub fn reason(self) -> String {
        match self {
            Self::Io { source, .. } => source.to_string(),
            Self::Refused { reason, .. } => reason,
        }
    }
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
    Owned(Vec<u8>),
}

/// One array to be written, as bytes.
#[derive(Clone, Copy, Debug)]
pub struct Array<'a> {
    /// Its name in the file.
    pub name: &'a str,
    /// What its elements are.
    pub kind: Dtype,
    /// Its shape.
    pub shape: &'a [usize],
    /// Its elements, little-endian.
    pub bytes: &'a [u8],
}

/// Writes arrays with a header.
pub fn write_arrays(out: &mut dyn Write, metadata: &Metadata, arrays: &[Array<'_>]) -> io::Result<()> {
    let mut hasher = crc32fast::Hasher::new();
    arrays.iter().for_each(|array| hasher.update(array.bytes));
    let entries = arrays.iter().map(|array| (array.name, array.kind, array.shape.to_vec(), array.bytes.len()));
    write_header(out, metadata, hasher.finalize(), entries)?;
    arrays.iter().try_for_each(|array| out.write_all(array.bytes))
}

/// The header of a safetensors file: metadata, then name, type, shape and bytes of each array.
pub(crate) fn write_header<'a>(
    out: &mut dyn Write,
    metadata: &Metadata,
    crc32: u32,
    entries: impl Iterator<Item = (&'a str, Dtype, Vec<usize>, usize)>,
) -> io::Result<()> {
    let mut metadata = metadata.clone();
    metadata.insert("checksum".into(), format!("crc32 {crc32:08x}"));
    let mut header = serde_json::Map::new();
    header.insert("__metadata__".into(), json!(metadata));
    let mut offset = 0;
    for (name, kind, shape, bytes) in entries {
        let end = offset + bytes;
        header.insert(name.to_owned(), json!({"dtype": kind, "shape": shape, "data_offsets": [offset, end]}));
        offset = end;
    }
    let mut header = serde_json::to_vec(&header)?;
    header.resize(header.len().next_multiple_of(8), b' ');
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)
}

impl Saved {
    /// Opens a file and checks it whole: its marks, its shape and the checksum of its numbers.
    pub fn open(path: &Path, format: &Format) -> Result<Self, FileError> {
        let io = |source| FileError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        // SAFETY: the map is only read. Whoever cuts the file short meanwhile ends this process (as for any program that maps a
        // file); our own writers never touch a file once it has its name.
        let map = unsafe { Mmap::map(&file) }.map_err(io)?;
        Self::check(path, Content::Mapped(map), format)
    }

    /// What is written beside the numbers of a file, whatever its kind and without looking at the rest; nothing if it is no such file.
    pub fn metadata_of(path: &Path) -> Result<Metadata, FileError> {
        let io = |source| FileError::Io { path: path.to_owned(), source };
        let file = File::open(path).map_err(io)?;
        // SAFETY: as in `open`.
        let map = unsafe { Mmap::map(&file) }.map_err(io)?;
        let metadata = SafeTensors::read_metadata(&map).ok().and_then(|(_, header)| header.metadata().clone());
        Ok(metadata.unwrap_or_default().into_iter().collect())
    }

    /// Are its numbers for boards of that size?
    pub fn check_size(&self, wanted: Size) -> Result<(), FileError> {
        let size = self.text("size")?;
        if size == wanted.to_string() {
            return Ok(());
        }
        Err(self.refused(format!("the network is for {size} boards, not for {wanted}")))
    }

    /// A file that is part of the program.
    pub(crate) fn embedded(name: &str, bytes: &'static [u8], format: &Format) -> Result<Self, FileError> {
        Self::check(Path::new(name), Content::Embedded(bytes), format)
    }

    /// A file within an array of another.
    pub fn within(&self, name: &str, format: &Format) -> Result<Self, FileError> {
        let path = format!("{} ({name})", self.path.display());
        Self::check(Path::new(&path), Content::Owned(self.byte_array(name)?.to_vec()), format)
    }

    #[cfg(test)]
    pub(crate) fn of_bytes(bytes: Vec<u8>, format: &Format) -> Result<Self, FileError> {
        Self::check(Path::new("test"), Content::Owned(bytes), format)
    }

    fn check(path: &Path, content: Content, format: &Format) -> Result<Self, FileError> {
        let mut saved = Self { path: path.to_owned(), content, metadata: Metadata::new() };
        let (header, header_metadata) = SafeTensors::read_metadata(saved.bytes())
            .map_err(|error| saved.refused(format!("this is no safetensors file, or it is damaged ({error})")))?;
        let found: HashMap<String, String> = header_metadata.metadata().clone().unwrap_or_default();
        saved.metadata = found.into_iter().collect();
        if saved.metadata.get(MARK).map(String::as_str) != Some(format.mark) {
            return Err(saved.refused(format!("this is no {} of ours (no {MARK} = {})", format.what, format.mark)));
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
            Content::Owned(bytes) => bytes,
        }
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The error that says what is wrong with this file.
    pub fn refused(&self, reason: impl Into<String>) -> FileError {
        FileError::Refused { path: self.path.clone(), reason: reason.into() }
    }

    /// A text of the metadata.
    pub fn text(&self, key: &str) -> Result<&str, FileError> {
        self.metadata.get(key).map(String::as_str).ok_or_else(|| self.refused(format!("its metadata lacks '{key}'")))
    }

    /// A whole number of the metadata.
    pub fn number(&self, key: &str) -> Result<u64, FileError> {
        self.text(key)?.parse().map_err(|_| self.refused(format!("its '{key}' is no whole number")))
    }

    /// What the points of a move count for beside the values of a network; files that do not say hold points still to come.
    pub(crate) fn rewards(&self) -> f32 {
        self.metadata.get("rewards").and_then(|text| text.parse().ok()).filter(|x: &f32| x.is_finite()).unwrap_or(1.0)
    }

    /// An array of the file; `None` if there is none of that name.
    pub(crate) fn array(&self, name: &str) -> Result<Option<TensorView<'_>>, FileError> {
        let tensors = SafeTensors::deserialize(self.bytes()).map_err(|error| self.refused(error.to_string()))?;
        Ok(tensors.tensor(name).ok())
    }

    /// The bytes of an array of that type and shape; `None` if there is none of that name.
    pub fn array_of(&self, name: &str, kind: Dtype, shape: &[usize]) -> Result<Option<&[u8]>, FileError> {
        let Some(found) = self.array(name)? else { return Ok(None) };
        if found.dtype() != kind || found.shape() != shape {
            return Err(self.refused(format!(
                "'{name}' is {:?} of type {}, not {shape:?} of type {kind}",
                found.shape(),
                found.dtype()
            )));
        }
        let bytes = found.data();
        Ok(Some(bytes))
    }

    /// Where an array of bytes lies in the file's content; an error if the file has none of that name.
    pub(crate) fn range(&self, name: &str) -> Result<std::ops::Range<usize>, FileError> {
        let found = self.array(name)?.ok_or_else(|| self.refused(format!("it lacks '{name}'")))?;
        let start = found.data().as_ptr() as usize - self.bytes().as_ptr() as usize;
        Ok(start..start + found.data().len())
    }

    /// The content of an array of bytes.
    pub fn byte_array(&self, name: &str) -> Result<&[u8], FileError> {
        let length = self.array(name)?.map_or(0, |found| found.data().len());
        self.array_of(name, Dtype::U8, &[length])?.ok_or_else(|| self.refused(format!("it lacks '{name}'")))
    }

    /// The numbers of an array of single precision.
    pub fn floats(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, FileError> {
        let bytes =
            self.array_of(name, Dtype::F32, shape)?.ok_or_else(|| self.refused(format!("it lacks '{name}'")))?;
        Ok(bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect())
    }
}
