//! One table: the probability of failure of every afterstate of a pattern, mapped from its file.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use miniz_oxide::{deflate, inflate};

use super::code::{decode, decode_coarse};
use super::pattern::{Pattern, at_least, can_merge};
use crate::ntuple::file::{FileError, Format, Metadata, Saved, write_bytes};

const FORMAT: Format = Format { mark: "afterstate-table-1", what: "endgame table" };
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
    /// In the system's page cache.
    Mapped(Saved, Range<usize>),
    /// Unpacked.
    Owned(Vec<u8>),
}

impl Numbers {
    #[inline]
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(saved, range) => &saved.bytes()[range.clone()],
            Self::Owned(bytes) => bytes,
        }
    }
}

/// A table, ready to be asked.
pub struct Table {
    pattern: Pattern,
    width: Width,
    numbers: Numbers,
}

/// The metadata that says that the numbers are compressed.
const PACKED: (&str, &str) = ("packing", "deflate");

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
        let (range, wanted) = (saved.range(TENSOR)?, pattern.states() * width.bytes());
        let check = |found: usize| match found as u64 {
            found if found == wanted => Ok(()),
            found => Err(saved.refused(format!("it has {found} bytes of numbers, not the {wanted} of {pattern}"))),
        };
        let numbers = match saved.metadata.get(PACKED.0).map(String::as_str) {
            None => {
                check(range.len())?;
                Numbers::Mapped(saved, range)
            }
            Some(packing) if packing == PACKED.1 => {
                let unpacked = inflate::decompress_to_vec_with_limit(&saved.bytes()[range], wanted as usize)
                    .map_err(|error| saved.refused(format!("it cannot be unpacked: {error}")))?;
                check(unpacked.len())?;
                Numbers::Owned(unpacked)
            }
            Some(other) => return Err(saved.refused(format!("it is packed in an unknown way: {other}"))),
        };
        Ok(Self { pattern, width, numbers })
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

    /// Writes the file of a table compressed: small, but unpacked into memory whenever it is opened.
    pub fn write_packed(out: &mut dyn Write, pattern: Pattern, width: Width, numbers: &[u8]) -> io::Result<()> {
        let mut metadata = Self::metadata(pattern, width);
        metadata.insert(PACKED.0.into(), PACKED.1.into());
        write_bytes(out, &metadata, &[(TENSOR, &deflate::compress_to_vec(numbers, 9))])
    }

    /// What it is about.
    pub const fn pattern(&self) -> Pattern {
        self.pattern
    }

    /// How its numbers are kept.
    pub const fn width(&self) -> Width {
        self.width
    }

    /// True if states that play hardly ever meets were left out: they look like certain failure.
    pub const fn is_distilled(&self) -> bool {
        matches!(self.numbers, Numbers::Owned(_))
    }

    /// The bytes of its numbers.
    pub fn bytes(&self) -> u64 {
        self.numbers.bytes().len() as u64
    }

    /// The probability of failure of the afterstate with this index.
    #[inline]
    pub fn failure(&self, index: u64) -> f32 {
        let numbers = self.numbers.bytes();
        let index = index as usize;
        match self.width {
            Width::Coarse => decode_coarse(numbers[index]),
            Width::Fine => decode(u16::from_le_bytes([numbers[2 * index], numbers[2 * index + 1]])),
        }
    }

    /// Which image of a board the table knows, if any: its large tiles lie as the pattern says, and no two of them can merge.
    #[inline]
    pub fn matching(&self, images: &[u64; 8]) -> Option<usize> {
        let goal = self.pattern.goal();
        let large = at_least(images[0], goal);
        if large.count_ones() != u32::from(self.pattern.large()) || can_merge(images[0], large) {
            return None;
        }
        let fits = |large: u16| large & 0xff0f == 0x000f && self.pattern.arrangement((large >> 4) as u8).is_some();
        images.iter().position(|&image| fits(at_least(image, goal)))
    }

    /// The probability that the goal is missed after a move from a position that this image of it matched: that of the afterstate
    /// while the large tiles lie as the pattern says, none if the goal has just been built beside one, certain otherwise.
    #[inline]
    pub fn failure_after(&self, image: u64) -> f32 {
        let large = at_least(image, self.pattern.goal());
        let (first, second, below) = (large & 15, (large >> 4 & 15) as u8, large >> 8);
        let missing = self.pattern.large() - 4;
        match (first, second.count_ones() as u8, below) {
            (15, count, 0) if count == missing => match self.pattern.arrangement(second) {
                Some((slot, false)) => self.failure(self.pattern.index(slot, image)),
                Some((slot, true)) => self.failure(self.pattern.index(slot, mirror(image))),
                None => 1.0,
            },
            (15, count, 0) if count == missing + 1 => 0.0,
            (15, count, cell) if count == missing && cell.count_ones() == 1 && cell & u16::from(second) != 0 => 0.0,
            _ => 1.0,
        }
    }
}

/// Mirrors each row.
const fn mirror(x: u64) -> u64 {
    let x = (x & 0x00ff_00ff_00ff_00ff) << 8 | x >> 8 & 0x00ff_00ff_00ff_00ff;
    (x & 0x0f0f_0f0f_0f0f_0f0f) << 4 | x >> 4 & 0x0f0f_0f0f_0f0f_0f0f
}
