//! One table: the probability of failure of those afterstates of a pattern that are the best move somewhere, mapped from its file.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use miniz_oxide::{deflate, inflate};

use super::code::{decode, decode_coarse, encode_coarse};
use super::order::Order;
use super::pattern::{Goals, Pattern};
use crate::ntuple::file::{FileError, Format, Metadata, Saved, write_bytes};

const FORMAT: Format = Format { mark: "afterstate-table-3", what: "endgame table" };
const TENSOR: &str = "failure";

/// Where a table's numbers are.
enum Numbers {
    /// Those of all states that are worth it, in the system's page cache.
    Whole { saved: Saved, order: Box<Order>, blocks: Range<usize>, codes: Range<usize>, width: usize },
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

/// The metadata that says in which order the states of a whole table are.
const ORDERED: (&str, &str) = ("order", "falling sums");
/// The metadata that says how many bits a number of a whole table has.
const BITS: &str = "bits";
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
                if saved.metadata.get(ORDERED.0).map(String::as_str) != Some(ORDERED.1) {
                    return Err(saved.refused("its states are in the order of an earlier version (build it again)"));
                }
                let (blocks, codes) = (saved.range(BLOCKS)?, saved.range(TENSOR)?);
                let width = match saved.text(BITS)? {
                    "8" => 1,
                    "16" => 2,
                    other => return Err(saved.refused(format!("its numbers have {other} bits, not 8 or 16"))),
                };
                let wanted = (pattern.listed() as usize).div_ceil(BLOCK) * BLOCK_BYTES;
                let numbers = counted(&saved.bytes()[blocks.clone()]);
                if (blocks.len(), Some(codes.len())) != (wanted, numbers.map(|numbers| numbers * width)) {
                    return Err(saved.refused(format!("its numbers are not those of {pattern}")));
                }
                Numbers::Whole { saved, order: Box::new(Order::new(pattern)), blocks, codes, width }
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

    /// About as many bytes are in a file that a [`Writer`] makes: a tenth of all states are the best move somewhere.
    pub fn expected_bytes(pattern: Pattern) -> u64 {
        pattern.listed().div_ceil(BLOCK as u64) * BLOCK_BYTES as u64 + pattern.listed() / 10 * width(pattern) as u64
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
            Numbers::Whole { codes, width, .. } => (codes.len() / width) as u64,
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
            Numbers::Whole { saved, order, blocks, codes, width } => {
                let (blocks, codes) = (&saved.bytes()[blocks.clone()], &saved.bytes()[codes.clone()]);
                let number = |at: usize| match width {
                    1 => decode_coarse(codes[at]),
                    _ => decode(u16::from_le_bytes([codes[2 * at], codes[2 * at + 1]])),
                };
                order.place(index).and_then(|at| place(blocks, at)).map_or(1.0, number)
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

/// Bytes of a number. Where failure is likely, moves must be told apart by what little they succeed.
const fn width(pattern: Pattern) -> usize {
    if pattern.is_wide() && pattern.goal() > 8 { 2 } else { 1 }
}

/// Collects the numbers of a whole table.
pub struct Writer {
    pattern: Pattern,
    blocks: Vec<u8>,
    codes: Vec<u8>,
    /// States so far.
    states: u64,
    /// Bytes of a number.
    width: usize,
    /// By 16-bit code, that of 8 bits.
    coarse: Vec<u8>,
}

impl Writer {
    /// Nothing yet.
    pub fn new(pattern: Pattern) -> Self {
        Self::of_width(pattern, width(pattern))
    }

    fn of_width(pattern: Pattern, width: usize) -> Self {
        let coarse = (0..=u16::MAX).map(|code| encode_coarse(decode(code))).collect();
        Self { pattern, blocks: Vec::new(), codes: Vec::new(), states: 0, width, coarse }
    }

    /// Takes the 16-bit code of the next state in [`Order`], 0 if the table need not know it.
    #[inline]
    pub fn push(&mut self, code: u16) {
        let at = (self.states % BLOCK as u64) as usize;
        if at == 0 {
            let before = self.codes.len() / self.width;
            self.blocks.extend((before as u32).to_le_bytes());
            self.blocks.extend([0; BLOCK / 8]);
        }
        self.states += 1;
        let coarse = if code == 0 { 0 } else { self.coarse[usize::from(code)] };
        match self.width {
            1 if coarse != 0 => self.codes.push(coarse),
            2 if code != 0 => self.codes.extend(code.to_le_bytes()),
            _ => return,
        }
        let bits = self.blocks.len() - BLOCK / 8;
        self.blocks[bits + at / 8] |= 1 << (at % 8);
    }

    /// Writes the file.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut metadata = Table::metadata(self.pattern);
        metadata.insert(ORDERED.0.into(), ORDERED.1.into());
        metadata.insert(BITS.into(), (8 * self.width).to_string());
        write_bytes(out, &metadata, &[(BLOCKS, &self.blocks), (TENSOR, &self.codes)])
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
        let mut state = 7u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize
        };
        for (name, width) in [("6-64", 1), ("6w-64", 2)] {
            let pattern: Pattern = name.parse().unwrap();
            // Some blocks full, some empty, most in between.
            let codes: Vec<u16> = (0..pattern.listed())
                .map(|i| match i / 512 % 7 {
                    0 => 0,
                    1 => 1 + (draw() % 60_000) as u16,
                    _ => [0, (draw() % 60_000) as u16][draw() % 2],
                })
                .collect();
            let mut writer = Writer::of_width(pattern, width);
            codes.iter().for_each(|&code| writer.push(code));
            let mut file = tempfile::NamedTempFile::new().unwrap();
            writer.write(&mut file).unwrap();
            let table = Table::open(file.path()).unwrap();
            let kept = |code: u16| match width {
                2 => decode(code),
                _ => decode_coarse(encode_coarse(decode(code))),
            };
            assert_eq!(table.known(), codes.iter().filter(|&&code| kept(code) < 1.0).count() as u64);
            let order = Order::new(pattern);
            for index in 0..pattern.states() {
                let wanted = order.place(index).map_or(1.0, |place| kept(codes[place]));
                assert_eq!(table.failure(index), wanted, "{pattern} {index}");
            }
        }
    }

    #[test]
    fn tables_that_contradict_themselves_are_refused() {
        let pattern: Pattern = "6-64".parse().unwrap();
        // Blocks that count other numbers than there are, in a file whose checksum is right.
        let mut blocks = vec![0u8; (pattern.listed() as usize).div_ceil(BLOCK) * BLOCK_BYTES];
        blocks[BLOCK_BYTES] = 1;
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let arrays: [(&str, &[u8]); 2] = [(BLOCKS, &blocks), (TENSOR, &[])];
        let mut metadata = Table::metadata(pattern);
        write_bytes(&mut file, &metadata, &arrays).unwrap();
        let refused = |file: &tempfile::NamedTempFile| Table::open(file.path()).err().expect("it is wrong").to_string();
        assert!(refused(&file).contains("an earlier version"), "{}", refused(&file));
        metadata.insert(ORDERED.0.into(), ORDERED.1.into());
        metadata.insert(BITS.into(), "12".into());
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write_bytes(&mut file, &metadata, &arrays).unwrap();
        assert!(refused(&file).contains("12 bits"), "{}", refused(&file));
        metadata.insert(BITS.into(), "8".into());
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write_bytes(&mut file, &metadata, &arrays).unwrap();
        assert!(refused(&file).contains("not those of 6-64"), "{}", refused(&file));
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
