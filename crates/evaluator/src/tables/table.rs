//! One table: the probability of failure of those afterstates of a pattern that are the best move somewhere, mapped from its file.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use miniz_oxide::{deflate, inflate};

use super::code::decode_coarse;
use super::pattern::{Goals, Pattern};
use crate::ntuple::file::{FileError, Format, Metadata, Saved, write_bytes};

const FORMAT: Format = Format { mark: "afterstate-table-3", what: "endgame table" };
const TENSOR: &str = "failure";

/// Where a table's numbers are.
enum Numbers {
    /// Those of all states that are worth it, in the system's page cache.
    Whole { saved: Saved, blocks: Range<usize>, codes: Range<usize> },
    /// Those of some states, in the order of their indices.
    Some { states: Vec<u32>, codes: Vec<u8> },
}

/// A table, ready to be asked.
pub struct Table {
    pattern: Pattern,
    goals: Goals,
    numbers: Numbers,
}

/// The array that says which states have a number: for each block of [`BLOCK`] states how many there are before it, in 32 bits, and a bit for
/// each of its own.
const BLOCKS: &str = "blocks";
const BLOCK: usize = 512;
/// Bytes of a block.
const BLOCK_BYTES: usize = 4 + BLOCK / 8;

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
        let numbers = match saved.metadata.get(PACKED.0).map(String::as_str) {
            None => {
                let (blocks, codes) = (saved.range(BLOCKS)?, saved.range(TENSOR)?);
                let wanted = (pattern.states() as usize).div_ceil(BLOCK) * BLOCK_BYTES;
                let numbers = counted(&saved.bytes()[blocks.clone()]);
                if (blocks.len(), Some(codes.len())) != (wanted, numbers) {
                    return Err(saved.refused(format!("its numbers are not those of {pattern}")));
                }
                Numbers::Whole { saved, blocks, codes }
            }
            Some(packing) if packing == PACKED.1 => {
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
        Ok(Self { pattern, goals: pattern.goals(), numbers })
    }

    fn metadata(pattern: Pattern) -> Metadata {
        let pairs = [
            ("format", FORMAT.mark.to_owned()),
            ("pattern", pattern.to_string()),
            ("spawns", "2:0.9,4:0.1".to_owned()),
        ];
        pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    /// Writes the file of a table, given the 8-bit codes of all states, 0 for those that it need not know.
    pub fn write(out: &mut dyn Write, pattern: Pattern, codes: &[u8]) -> io::Result<()> {
        let mut blocks = Vec::with_capacity(codes.len().div_ceil(BLOCK) * BLOCK_BYTES);
        let mut known = Vec::new();
        for block in codes.chunks(BLOCK) {
            blocks.extend((known.len() as u32).to_le_bytes());
            let mut bits = [0u8; BLOCK / 8];
            for (i, &code) in block.iter().enumerate().filter(|&(_, &code)| code != 0) {
                bits[i / 8] |= 1 << (i % 8);
                known.push(code);
            }
            blocks.extend(bits);
        }
        write_bytes(out, &Self::metadata(pattern), &[(BLOCKS, &blocks), (TENSOR, &known)])
    }

    /// About as many bytes are in a file that [`write`](Self::write) makes: a tenth of all states are the best move somewhere.
    pub fn expected_bytes(pattern: Pattern) -> u64 {
        pattern.states().div_ceil(BLOCK as u64) * BLOCK_BYTES as u64 + pattern.states() / 10
    }

    /// Writes the file of a table that knows some states alone, each with its 8-bit code.
    pub fn write_some(out: &mut dyn Write, pattern: Pattern, known: &BTreeMap<u32, u8>) -> io::Result<()> {
        let mut metadata = Self::metadata(pattern);
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

    /// The states that it knows.
    pub fn known(&self) -> u64 {
        match &self.numbers {
            Numbers::Whole { codes, .. } => codes.len() as u64,
            Numbers::Some { states, .. } => states.len() as u64,
        }
    }

    /// The states that a table of some states knows, with their codes; none for a whole table.
    pub fn some(&self) -> impl Iterator<Item = (u32, u8)> {
        let (states, codes) = match &self.numbers {
            Numbers::Whole { .. } => (&[][..], &[][..]),
            Numbers::Some { states, codes } => (&states[..], &codes[..]),
        };
        states.iter().copied().zip(codes.iter().copied())
    }

    /// The probability of failure of the afterstate with this index; certain if it does not know the state.
    #[inline]
    pub fn failure(&self, index: u64) -> f32 {
        match &self.numbers {
            Numbers::Whole { saved, blocks, codes } => {
                let (blocks, codes) = (&saved.bytes()[blocks.clone()], &saved.bytes()[codes.clone()]);
                place(blocks, index as usize).map_or(1.0, |at| decode_coarse(codes[at]))
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
        if (position ^ after) & self.pattern.block_nibbles() != 0 {
            return 1.0;
        }
        self.pattern.index(after).map_or(1.0, |index| self.failure(index))
    }
}

/// The 32-bit number of a block, and its bits as eight words.
#[inline]
fn block(bytes: &[u8]) -> (u32, impl Fn(usize) -> u64) {
    let four = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    (four(0), move |word: usize| u64::from(four(4 + 8 * word)) | u64::from(four(8 + 8 * word)) << 32)
}

/// Where the number of a state is; `None` if it has none.
#[inline]
fn place(blocks: &[u8], index: usize) -> Option<usize> {
    let (before, word) = block(&blocks[index / BLOCK * BLOCK_BYTES..][..BLOCK_BYTES]);
    let (last, bit) = (index % BLOCK / 64, 1u64 << (index % 64));
    let earlier = || (0..last).map(|i| word(i).count_ones()).sum::<u32>() + (word(last) & (bit - 1)).count_ones();
    (word(last) & bit != 0).then(|| (before + earlier()) as usize)
}

/// The numbers that the blocks count; `None` if they contradict each other.
fn counted(blocks: &[u8]) -> Option<usize> {
    blocks.chunks_exact(BLOCK_BYTES).try_fold(0, |known, bytes| {
        let (before, word) = block(bytes);
        let own: u32 = (0..BLOCK / 64).map(|i| word(i).count_ones()).sum();
        (before as usize == known).then_some(known + own as usize)
    })
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
    fn numbers_are_found_where_they_were_written() {
        let pattern: Pattern = "6-64".parse().unwrap();
        let mut state = 7u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize
        };
        // Some blocks full, some empty, most in between.
        let codes: Vec<u8> = (0..pattern.states())
            .map(|i| match i / 512 % 7 {
                0 => 0,
                1 => 1 + (draw() % 255) as u8,
                _ => [0, (draw() % 256) as u8][draw() % 2],
            })
            .collect();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        Table::write(&mut file, pattern, &codes).unwrap();
        let table = Table::open(file.path()).unwrap();
        assert_eq!(table.known(), codes.iter().filter(|&&code| code != 0).count() as u64);
        for (index, &code) in codes.iter().enumerate() {
            assert_eq!(table.failure(index as u64), decode_coarse(code), "{index}");
        }
        // Blocks that count other numbers than there are, in a file whose checksum is right.
        let mut blocks = vec![0u8; codes.len().div_ceil(BLOCK) * BLOCK_BYTES];
        blocks[BLOCK_BYTES] = 1;
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let arrays: [(&str, &[u8]); 2] = [(BLOCKS, &blocks), (TENSOR, &[])];
        write_bytes(&mut file, &Table::metadata(pattern), &arrays).unwrap();
        let error = Table::open(file.path()).err().expect("it contradicts itself").to_string();
        assert!(error.contains("not those of 6-64"), "{error}");
    }

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
