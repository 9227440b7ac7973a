//! A solution on disk: a header that names the problem, the layers from the least tile sum up, an index of the layers, and a footer
//! with two checksums, one over the layers and one over everything else. All numbers are little-endian.
//!
//! | part | holds |
//! |---|---|
//! | header | magic, version, rows, columns, goal's exponent (0: score), kinds of spawns, their exponents, their probabilities |
//! | layer | its coded keys (see [`encode`]), then a value of 64 bits for each |
//! | index | for each layer: tile sum, number of positions, offset, bytes of its keys |
//! | footer | offset of the index, layers, positions, value of a new game, the checksums, magic |

use std::io::{self, Write};

use afterstate_board::SpawnRule;

use super::coding::encode;
use super::layers::{Rules, Start};
use super::packed::tile_sum;
use super::{Goal, Problem};

const MAGIC: [u8; 8] = *b"aftrsolv";
const END: [u8; 8] = *b"vlosrtfa";
const VERSION: u32 = 1;
pub(super) const HEADER: usize = 56;
const ENTRY: usize = 24;
const FOOTER: usize = 48;
/// No board that can be solved needs as much.
const MOST_BYTES: u64 = 1 << 40;

/// Where a layer lies in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub sum: u32,
    pub count: u32,
    pub offset: u64,
    pub coded: u64,
}

/// What a solution says in brief.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Brief {
    /// What is solved.
    pub problem: Problem,
    /// Positions, symmetric ones counted once.
    pub states: u64,
    /// Layers of equal tile sum.
    pub layers: u32,
    /// What a new game is worth: from two random tiles.
    pub start_value: f64,
}

fn header(problem: &Problem) -> Vec<u8> {
    let mut bytes = [MAGIC.as_slice(), &VERSION.to_le_bytes()].concat();
    let goal = match problem.goal() {
        Goal::Score => 0,
        Goal::Tile(exponent) => exponent,
    };
    bytes.extend([problem.rows() as u8, problem.columns() as u8, goal, problem.rule().len() as u8]);
    let kind = |k| if k < problem.rule().len() { problem.rule().kind(k) } else { (0, 0.0) };
    bytes.extend((0..8).map(|k| kind(k).0));
    (0..4).for_each(|k| bytes.extend(kind(k).1.to_le_bytes()));
    bytes
}

/// Writes a solution from the least layer up.
pub struct Writer<'w> {
    out: &'w mut dyn Write,
    problem: Problem,
    starts: Vec<Start>,
    crc: crc32fast::Hasher,
    offset: u64,
    entries: Vec<Entry>,
    start_value: f64,
}

impl<'w> Writer<'w> {
    /// Begins a solution.
    pub fn new(out: &'w mut dyn Write, rules: &Rules) -> io::Result<Self> {
        let problem = *rules.problem();
        out.write_all(&header(&problem))?;
        let starts = rules.starts();
        let start_value = starts.iter().filter(|start| start.won).map(|start| start.probability).sum();
        let crc = crc32fast::Hasher::new();
        Ok(Self { out, problem, starts, crc, offset: HEADER as u64, entries: Vec::new(), start_value })
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc.update(bytes);
        self.offset += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Adds a layer: its positions in order, and a value for each.
    pub fn layer(&mut self, sum: u32, keys: &[u64], values: &[f64]) -> io::Result<()> {
        for start in self.starts.iter().filter(|start| !start.won && tile_sum(start.key) == sum) {
            let at = keys.binary_search(&start.key).map_err(|_| io::Error::other("a layer lacks a start"))?;
            self.start_value += start.probability * values[at];
        }
        let coded = encode(keys);
        let (offset, count) = (self.offset, keys.len() as u32);
        self.entries.push(Entry { sum, count, offset, coded: coded.len() as u64 });
        self.put(&coded)?;
        for some in values.chunks(4096) {
            let bytes: Vec<u8> = some.iter().flat_map(|value| value.to_le_bytes()).collect();
            self.put(&bytes)?;
        }
        Ok(())
    }

    /// Ends the solution; the caller sees to it that the bytes reach the disk.
    pub fn finish(self) -> io::Result<Brief> {
        let states: u64 = self.entries.iter().map(|entry| u64::from(entry.count)).sum();
        let layers = self.entries.len() as u32;
        let mut tail = Vec::with_capacity(ENTRY * self.entries.len() + FOOTER);
        for entry in &self.entries {
            tail.extend(entry.sum.to_le_bytes());
            tail.extend(entry.count.to_le_bytes());
            tail.extend(entry.offset.to_le_bytes());
            tail.extend(entry.coded.to_le_bytes());
        }
        tail.extend(self.offset.to_le_bytes());
        tail.extend(u64::from(layers).to_le_bytes());
        tail.extend(states.to_le_bytes());
        tail.extend(self.start_value.to_le_bytes());
        tail.extend(self.crc.finalize().to_le_bytes());
        tail.extend(frame_crc(&header(&self.problem), &tail).to_le_bytes());
        tail.extend(END);
        self.out.write_all(&tail)?;
        Ok(Brief { problem: self.problem, states, layers, start_value: self.start_value })
    }
}

/// The checksum over everything but the layers.
fn frame_crc(header: &[u8], tail: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(header);
    crc.update(tail);
    crc.finalize()
}

/// Takes numbers off the front of bytes whose length was checked before.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let (first, rest) = self.0.split_first_chunk().expect("lengths are checked before fields are read");
        self.0 = rest;
        *first
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.bytes())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    fn f64(&mut self) -> f64 {
        f64::from_le_bytes(self.bytes())
    }
}

/// What a file says about itself, checked: everything but the layers.
pub(super) struct Frame {
    pub brief: Brief,
    pub entries: Vec<Entry>,
    pub index: u64,
    pub crc: u32,
}

/// Reads the problem of a header whose magic and version are right.
fn problem(mut fields: Fields<'_>) -> Option<Problem> {
    let [rows, columns, goal, kinds] = fields.bytes();
    let exponents: [u8; 8] = fields.bytes();
    let probabilities = [(); 4].map(|()| fields.f64());
    let kinds: Vec<_> = exponents.into_iter().zip(probabilities).take(usize::from(kinds)).collect();
    let goal = if goal == 0 { Goal::Score } else { Goal::Tile(goal) };
    Problem::new(rows.into(), columns.into(), SpawnRule::new(&kinds).ok()?, goal).ok()
}

impl Frame {
    /// Checks everything but the layers; says what is wrong.
    pub fn read(file: &[u8]) -> Result<Self, String> {
        let bytes = file.len() as u64;
        if bytes > MOST_BYTES {
            return Err(format!("it has {bytes} bytes, more than any solution"));
        }
        if file.len() < MAGIC.len() || file[..8] != MAGIC {
            return Err("this is no solution of ours".into());
        }
        if file.len() < HEADER + FOOTER {
            return Err(format!("it is cut off: {bytes} bytes are left"));
        }
        let mut fields = Fields(&file[8..HEADER]);
        let version = fields.u32();
        if version != VERSION {
            return Err(format!("it has version {version} of the format, and this program reads {VERSION}"));
        }
        if !file.ends_with(&END) {
            return Err("it is cut off, or something was added to it: its end is missing".into());
        }
        let footer = file.len() - FOOTER;
        let mut end = Fields(&file[footer..]);
        let [index, layers, states] = [(); 3].map(|()| end.u64());
        let (start_value, crc, frame) = (end.f64(), end.u32(), end.u32());
        let tail = usize::try_from(index).ok().and_then(|index| file.get(index..file.len() - 12));
        let index_bytes = footer as u64 - index.min(footer as u64);
        let fits = index >= HEADER as u64 && layers.checked_mul(ENTRY as u64) == Some(index_bytes);
        let (Some(tail), true) = (tail, fits) else {
            return Err("its footer does not fit its length: it is damaged".into());
        };
        if frame_crc(&file[..HEADER], tail) != frame {
            return Err("the checksum of its frame is wrong: it is damaged".into());
        }
        let problem = problem(fields).ok_or("it names no game that can be solved")?;
        let mut entries = Fields(&tail[..index_bytes as usize]);
        let entry = |_| Entry { sum: entries.u32(), count: entries.u32(), offset: entries.u64(), coded: entries.u64() };
        let entries: Vec<Entry> = (0..layers).map(entry).collect();
        let brief = Brief { problem, states, layers: layers as u32, start_value };
        let frame = Self { brief, entries, index, crc };
        if frame.is_consistent() { Ok(frame) } else { Err("its index does not fit its layers: it is damaged".into()) }
    }

    /// Do the layers fill the space before the index, in order?
    fn is_consistent(&self) -> bool {
        let end = |entry: &Entry| entry.offset.checked_add(entry.coded)?.checked_add(8 * u64::from(entry.count));
        let follows = |at: Option<u64>, entry: &Entry| if at == Some(entry.offset) { end(entry) } else { None };
        let total: u64 = self.entries.iter().map(|entry| u64::from(entry.count)).sum();
        self.entries.iter().fold(Some(HEADER as u64), follows) == Some(self.index)
            && self.entries.is_sorted_by(|a, b| a.sum < b.sum)
            && total == self.brief.states
            && self.brief.start_value.is_finite()
    }
}
