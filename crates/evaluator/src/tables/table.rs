//! One table: the probability of failure of every afterstate of a pattern, mapped from its file.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use miniz_oxide::{deflate, inflate};

use super::code::{decode, decode_coarse};
use super::pattern::{Goals, Pattern};
use crate::ntuple::file::{FileError, Format, Metadata, Saved, write_bytes};

const FORMAT: Format = Format { mark: "afterstate-table-2", what: "endgame table" };
const TENSOR: &str = "failure";

/// How a table's numbers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 8 bits: relative error 1.5% where failure is likely, 19% below 1 / 256.
    Coarse,
    /// 16 bits: relative error 1 / 4096.
    Fine,
}

impl Width {
    /// Bytes of a number.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Coarse => 1,
            Self::Fine => 2,
        }
    }
}

/// Where a table's numbers are.
enum Numbers {
    /// All of them, in the system's page cache.
    All(Saved, Range<usize>),
    /// Those of some states, in the order of their indices, in 8 bits.
    Some { states: Vec<u32>, codes: Vec<u8> },
}

/// A table, ready to be asked.
pub struct Table {
    pattern: Pattern,
    /// The cells of the block, as nibbles.
    block: u64,
    goals: Goals,
    width: Width,
    numbers: Numbers,
}

/// The metadata that says that the table has numbers for some states alone.
const PACKED: (&str, &str) = ("packing", "some states");
/// The array of their indices: each as its distance from the one before in groups of seven bits, lowest first, compressed.
const STATES: &str = "states";
/// More states than this are no small table.
const MOST_STATES: usize = 1 << 24;

impl Table {
    /// Opens a file and checks it whole.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        Self::read(Saved::open(path, &FORMAT)?)
    }

    /// A table that is part of the program.
    pub(super) fn embedded(name: &str, bytes: &'static [u8]) -> Result<Self, FileError> {
        Self::read(Saved::embedded(name, bytes, &FORMAT)?)
    }

    fn read(saved: Saved) -> Result<Self, FileError> {
        let pattern: Pattern = saved.text("pattern")?.parse().map_err(|error| saved.refused(format!("{error}")))?;
        let width = match saved.text("bits")? {
            "8" => Width::Coarse,
            "16" => Width::Fine,
            other => return Err(saved.refused(format!("its numbers have {other} bits, not 8 or 16"))),
        };
        let numbers = match saved.metadata.get(PACKED.0).map(String::as_str) {
            None => {
                let (range, wanted) = (saved.range(TENSOR)?, pattern.states() * width.bytes());
                if range.len() as u64 != wanted {
                    let found = range.len();
                    let reason = format!("it has {found} bytes of numbers, not the {wanted} of {pattern}");
                    return Err(saved.refused(reason));
                }
                Numbers::All(saved, range)
            }
            Some(packing) if packing == PACKED.1 && width == Width::Coarse => {
                let unpacked = |name: &str, limit: usize| {
                    inflate::decompress_to_vec_with_limit(saved.byte_array(name)?, limit)
                        .map_err(|error| saved.refused(format!("'{name}' cannot be unpacked: {error}")))
                };
                let codes = unpacked(TENSOR, MOST_STATES)?;
                let states = from_distances(&unpacked(STATES, 5 * MOST_STATES)?);
                let fits = |states: &Vec<u32>| {
                    states.len() == codes.len() && states.last().is_none_or(|&last| u64::from(last) < pattern.states())
                };
                let states = states.filter(fits).ok_or_else(|| saved.refused("its states are in disorder"))?;
                Numbers::Some { states, codes }
            }
            Some(other) => return Err(saved.refused(format!("it is packed in an unknown way: {other}"))),
        };
        let nibble = |mask: u64, cell: usize| mask | if pattern.is_large(cell) { 15 << (4 * cell) } else { 0 };
        Ok(Self { pattern, block: (0..16).fold(0, nibble), goals: pattern.goals(), width, numbers })
    }

    fn metadata(pattern: Pattern, width: Width) -> Metadata {
        let pairs = [
            ("format", FORMAT.mark.to_owned()),
            ("pattern", pattern.to_string()),
            ("bits", (8 * width.bytes()).to_string()),
            ("spawns", "2:0.9,4:0.1".to_owned()),
        ];
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// Writes the file of a table whose numbers are given, little-endian.
    pub fn write(out: &mut dyn Write, pattern: Pattern, width: Width, numbers: &[u8]) -> io::Result<()> {
        write_bytes(out, &Self::metadata(pattern, width), &[(TENSOR, numbers)])
    }

    /// Writes the file of a table that knows some states alone, each with its 8-bit code.
    pub fn write_some(out: &mut dyn Write, pattern: Pattern, known: &BTreeMap<u32, u8>) -> io::Result<()> {
        let mut metadata = Self::metadata(pattern, Width::Coarse);
        metadata.insert(PACKED.0.into(), PACKED.1.into());
        let packed = |bytes: &[u8]| deflate::compress_to_vec(bytes, 9);
        let codes: Vec<u8> = known.values().copied().collect();
        let (states, codes) = (packed(&to_distances(known.keys().copied())), packed(&codes));
        write_bytes(out, &metadata, &[(TENSOR, &codes), (STATES, &states)])
    }

    /// What it is about.
    pub const fn pattern(&self) -> Pattern {
        self.pattern
    }

    /// How its numbers are kept.
    pub const fn width(&self) -> Width {
        self.width
    }

    /// The states that it knows.
    pub fn known(&self) -> u64 {
        match &self.numbers {
            Numbers::All(..) => self.pattern.states(),
            Numbers::Some { states, .. } => states.len() as u64,
        }
    }

    /// The probability of failure of the afterstate with this index; certain if it does not know the state.
    #[inline]
    pub fn failure(&self, index: u64) -> f32 {
        match &self.numbers {
            Numbers::All(saved, range) => {
                let (numbers, index) = (&saved.bytes()[range.clone()], index as usize);
                match self.width {
                    Width::Coarse => decode_coarse(numbers[index]),
                    Width::Fine => decode(u16::from_le_bytes([numbers[2 * index], numbers[2 * index + 1]])),
                }
            }
            Numbers::Some { states, codes } => {
                states.binary_search(&(index as u32)).map_or(1.0, |at| decode_coarse(codes[at]))
            }
        }
    }

    /// Which images of a board the table knows: the large tiles lie as the pattern says, the others are small enough for their cells,
    /// and the goal is not lined up yet.
    #[inline]
    pub fn matching(&self, images: &[u64; 8]) -> impl Iterator<Item = usize> {
        let fits = |&image: &u64| {
            self.pattern.is_block(image)
                && self.pattern.index(image).is_some()
                && !self.goals.iter().any(|goal| goal.is_met(image))
        };
        let known: [bool; 8] = std::array::from_fn(|i| fits(&images[i]));
        (0..8).filter(move |&i| known[i])
    }

    /// The probability that the goal is missed after an afterstate given as nibbles, if the large tiles lie as the pattern says.
    #[inline]
    pub fn failure_of(&self, image: u64) -> Option<f32> {
        if !self.pattern.is_block(image) {
            return None;
        }
        self.pattern.index(image).map(|index| self.failure(index))
    }

    /// The probability that the goal is missed after a move from a position that this image of it matched: that of the afterstate
    /// while the large tiles lie as they did, certain otherwise.
    #[inline]
    pub fn failure_after(&self, position: u64, after: u64) -> f32 {
        if (position ^ after) & self.block != 0 {
            return 1.0;
        }
        self.pattern.index(after).map_or(1.0, |index| self.failure(index))
    }
}

/// Rising numbers as their distances, in groups of seven bits.
fn to_distances(numbers: impl Iterator<Item = u32>) -> Vec<u8> {
    let (mut bytes, mut last) = (Vec::new(), 0);
    for number in numbers {
        let mut distance = number - std::mem::replace(&mut last, number);
        while distance >= 1 << 7 {
            bytes.push(distance as u8 | 1 << 7);
            distance >>= 7;
        }
        bytes.push(distance as u8);
    }
    bytes
}

/// What [`to_distances`] kept; `None` if it cannot have written that.
fn from_distances(bytes: &[u8]) -> Option<Vec<u32>> {
    let (mut numbers, mut last, mut distance, mut shift) = (Vec::new(), 0u32, 0u32, 0);
    for &byte in bytes {
        let group = u32::from(byte & 0x7f);
        distance |= group.checked_shl(shift).filter(|moved| moved >> shift == group)?;
        shift += 7;
        if byte < 1 << 7 {
            if distance == 0 && !numbers.is_empty() {
                return None;
            }
            last = last.checked_add(distance)?;
            numbers.push(last);
            (distance, shift) = (0, 0);
        }
    }
    (shift == 0).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rising_numbers_come_back() {
        for numbers in [vec![], vec![0], vec![0, 1, 127, 128, 300, 70_000, u32::MAX], vec![u32::MAX]] {
            assert_eq!(from_distances(&to_distances(numbers.iter().copied())), Some(numbers));
        }
        for wrong in [&[0x80][..], &[1, 0], &[0xff, 0xff, 0xff, 0xff, 0xff, 1], &[0xff, 0xff, 0xff, 0xff, 0x0f, 1]] {
            assert_eq!(from_distances(wrong), None, "{wrong:x?}");
        }
    }
}
