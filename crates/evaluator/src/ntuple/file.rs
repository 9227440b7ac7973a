//! N-tuple networks on disk: the patterns, the training state and the provenance in the metadata of the file.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use afterstate_board::Size;

use super::{Goal, Layout, LayoutError, Stages, UNIT, Words};
use crate::file::{Array, MARK, write_arrays, write_header};
pub use crate::file::{Dtype, FileError, Format, Metadata, Saved};

/// How files of n-tuple networks are marked.
pub const FORMAT: Format = Format { mark: "afterstate-ntuple-1", what: "n-tuple network" };

/// The metadata that names the tile whose chance the values are.
pub const GOAL: &str = "goal";

/// The metadata that names the endgame tables beside which the values were learned.
pub const TABLES: &str = "tables";

/// The metadata that says `yes` where the values were learned up to the goal itself, and not only to where tables play the rest.
pub const WHOLE: &str = "whole";

/// What [`WHOLE`] says then.
pub const YES: &str = "yes";

/// What stands between the tile and the sum that boards must have.
const FROM: &str = " from ";

/// A goal as it is kept, such as `32768 from 16384`.
pub fn goal_text(goal: Goal) -> String {
    format!("{}{FROM}{}", 1u32 << goal.exponent, goal.from)
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
pub fn describe(size: Size, layout: &Layout) -> Metadata {
    let pairs = [
        (MARK, FORMAT.mark.to_owned()),
        ("size", size.to_string()),
        ("patterns", layout.to_string()),
        ("stages", stages_text(layout.stages())),
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
    let entries =
        tensors.iter().map(|tensor| (tensor.name, tensor.kind, vec![tensor.words.len()], 4 * tensor.words.len()));
    write_header(out, metadata, hasher.finalize(), entries)?;
    tensors.iter().try_for_each(|tensor| in_chunks(tensor.words, |bytes| out.write_all(bytes)))
}

/// Writes named arrays of bytes with the same header.
pub(crate) fn write_bytes(out: &mut dyn Write, metadata: &Metadata, arrays: &[(&str, &[u8])]) -> io::Result<()> {
    let shapes: Vec<[usize; 1]> = arrays.iter().map(|(_, bytes)| [bytes.len()]).collect();
    let array = |((name, bytes), shape)| Array { name, kind: Dtype::U8, shape, bytes };
    let arrays: Vec<Array<'_>> =
        arrays.iter().copied().zip(shapes.iter().map(|shape| shape.as_slice())).map(array).collect();
    write_arrays(out, metadata, &arrays)
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
    /// Is it packed?
    pub(super) fn is_packed(&self) -> bool {
        self.metadata.contains_key("kept")
    }

    /// What its weights belong to, if that is a board of that size.
    pub fn layout(&self, size: Size) -> Result<Layout, FileError> {
        self.check_size(size)?;
        let unit = format!("{UNIT} points");
        if self.text("unit")? != unit {
            return Err(self.refused(format!("its weights are not in units of {unit}")));
        }
        let stages = stages(self.text("stages")?).ok_or_else(|| self.refused("its stages are no tiles and no sums"))?;
        let layout = Layout::of_size(size, self.text("patterns")?, stages);
        layout.map_err(|error: LayoutError| self.refused(error.to_string()))
    }

    /// The tile whose chance its values are; `None` if they are points.
    pub fn goal(&self) -> Result<Option<Goal>, FileError> {
        let Some(text) = self.metadata.get(GOAL) else { return Ok(None) };
        let (tile, from) = text.split_once(FROM).unwrap_or((text, "0"));
        let exponent = exponent(tile).filter(|goal| (2..=17).contains(goal));
        let is_whole = self.metadata.get(WHOLE).is_some_and(|whole| whole == YES);
        let goal = exponent.zip(from.parse().ok()).map(|(exponent, from)| Goal { exponent, from, is_whole });
        goal.map(Some).ok_or_else(|| self.refused("its goal is no tile"))
    }

    /// Copies an array of `len` words out, onto huge pages; `None` if the file has none of that name.
    pub fn words(&self, name: &str, kind: Dtype, len: usize) -> Result<Option<Words>, FileError> {
        let Some(tensor) = self.array(name)? else { return Ok(None) };
        if tensor.dtype() != kind || tensor.data().len() != 4 * len {
            let found = tensor.data().len() / 4;
            return Err(self.refused(format!(
                "'{name}' has {found} numbers of type {}, not {len} of type {kind}",
                tensor.dtype()
            )));
        }
        let mut words = Words::zeroed(len).map_err(|source| FileError::Io { path: self.path().to_owned(), source })?;
        for (word, bytes) in words.exclusive().iter_mut().zip(tensor.data().as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Ok(Some(words))
    }
}

/// What says that stages are sums, not tiles.
const SUMS: &str = "sums";

/// Stages as they are kept: tiles such as `16384 32768`, or `sums 24576 28672`.
fn stages_text(stages: &Stages) -> String {
    let words: Vec<String> = match stages {
        Stages::Tiles(tiles) => tiles.iter().map(|&exponent| (1u64 << exponent).to_string()).collect(),
        Stages::Sums(sums) => [SUMS.to_owned()].into_iter().chain(sums.iter().map(u32::to_string)).collect(),
    };
    words.join(" ")
}

/// What [`stages_text`] wrote.
fn stages(text: &str) -> Option<Stages> {
    match text.strip_prefix(SUMS) {
        Some(sums) => sums.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>().map(Stages::Sums),
        None => text.split_whitespace().map(exponent).collect::<Option<_>>().map(Stages::Tiles),
    }
}

/// Reads a tile as its exponent.
fn exponent(word: &str) -> Option<u8> {
    word.parse::<u32>().ok().filter(|tile| tile.is_power_of_two()).map(|tile| tile.ilog2() as u8)
}
