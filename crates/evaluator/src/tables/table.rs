//! One table: the probability of failure of every afterstate of a pattern, mapped from its file.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use super::code::{decode, decode_coarse};
use super::pattern::{Pattern, at_least, can_merge};
use crate::ntuple::file::{FileError, Format, Metadata, Saved, write_bytes};

const FORMAT: Format = Format { mark: "afterstate-table-1", what: "endgame table" };
const TENSOR: &str = "failure";

/// How a table's numbers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 8 bits: relative error 1 / 16.
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

/// A table in the system's page cache.
pub struct Table {
    pattern: Pattern,
    width: Width,
    saved: Saved,
    range: Range<usize>,
}

impl Table {
    /// Opens a file and checks it whole.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let saved = Saved::open(path, &FORMAT)?;
        let pattern: Pattern = saved.text("pattern")?.parse().map_err(|error| saved.refused(format!("{error}")))?;
        let width = match saved.text("bits")? {
            "8" => Width::Coarse,
            "16" => Width::Fine,
            other => return Err(saved.refused(format!("its numbers have {other} bits, not 8 or 16"))),
        };
        let range = saved.range(TENSOR)?;
        let (found, wanted) = (range.len() as u64, pattern.states() * width.bytes());
        if found != wanted {
            return Err(
                saved.refused(format!("it has {found} bytes of numbers, not the {wanted} of pattern {pattern}"))
            );
        }
        Ok(Self { pattern, width, saved, range })
    }

    /// Writes the file of a table whose numbers are given, little-endian.
    pub fn write(out: &mut dyn Write, pattern: Pattern, width: Width, numbers: &[u8]) -> io::Result<()> {
        let pairs = [
            ("format", FORMAT.mark.to_owned()),
            ("pattern", pattern.to_string()),
            ("bits", (8 * width.bytes()).to_string()),
            ("spawns", "2:0.9,4:0.1".to_owned()),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ];
        let metadata: Metadata = pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        write_bytes(out, &metadata, &[(TENSOR, numbers)])
    }

    /// What it is about.
    pub const fn pattern(&self) -> Pattern {
        self.pattern
    }

    /// How its numbers are kept.
    pub const fn width(&self) -> Width {
        self.width
    }

    /// The bytes of its numbers.
    pub const fn bytes(&self) -> u64 {
        (self.range.end - self.range.start) as u64
    }

    /// The probability of failure of the afterstate with this index.
    #[inline]
    pub fn failure(&self, index: u64) -> f32 {
        let numbers = &self.saved.bytes()[self.range.clone()];
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
