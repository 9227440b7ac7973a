//! Small networks on disk: of a trained network only the weights that games meet often, rounded, and compressed.
//!
//! A weight is expected to be about what the weights are whose tiles differ by one step in one cell, and the same weight of the stage
//! before; what is written is the difference, by a code that depends on how well those agree. Each pattern is a stream of its own, so
//! that several threads can read a file.

use std::io::{self, Write};
use std::sync::atomic::Ordering::Relaxed;

use afterstate_board::Size;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use safetensors::SafeTensors;

use super::coding::{Coder, Counter, Lengths, Meanings, Reader, SYMBOLS, Writer};
use super::file::{self, FileError, Metadata, Saved};
use super::{Layout, Network, UNIT, Words};

/// How well the lengths of the codes are compressed, 0 to 10.
const EFFORT: u8 = 9;

/// How the streams are written: files of another packing are refused.
const PACKING: &str = "2";

/// Weights that are known to be all zero by one bit.
const BLOCK: usize = 256;

/// Weights whose presence is one symbol.
const GROUP: usize = 4;

/// Where a symbol may stand.
mod contexts {
    /// Which of a group are there: by the groups one and two cells away; for later stages by that of the stage before and the nearest.
    pub const PRESENT: [usize; 2] = [0, 1 << 10];
    /// The size of a difference: by how many neighbours there are and how far they are apart.
    pub const VALUE: usize = 2 << 10;
    /// The same where the stage before has the weight: by how far its neighbours have moved since.
    pub const MOVED: usize = VALUE + (8 << 4);
    pub const ALL: usize = MOVED + (1 << 4);
}

/// The bits of a number.
const fn size_of(number: u64) -> u32 {
    64 - number.leading_zeros()
}

/// Which of a group of weights are there.
#[inline]
fn present(table: &[i32], at: usize) -> usize {
    let group = &table[at..at + GROUP];
    (0..GROUP).fold(0, |mask, i| mask | usize::from(group[i] != 0) << i)
}

/// The weights around those of a block: those whose tile in one cell is the one below. Which there are is the same for a whole block, but for
/// the first two cells.
struct Around {
    /// How far back they are, in the third cell and those after it.
    distances: [usize; MOST_CELLS],
    count: usize,
    /// The distances in the third, fourth and fifth cell; 0 if there is no tile below.
    apart: [usize; 3],
}

impl Around {
    fn new(from: usize, cells: u32) -> Self {
        let mut around = Self { distances: [0; MOST_CELLS], count: 0, apart: [0; 3] };
        for cell in (2..cells as usize).filter(|cell| from >> (4 * cell) & 15 > 0) {
            around.distances[around.count] = 1 << (4 * cell);
            around.count += 1;
            if let Some(apart) = around.apart.get_mut(cell - 2) {
                *apart = 1 << (4 * cell);
            }
        }
        around
    }

    /// Which of the group in the third, fourth or fifth cell are there.
    #[inline]
    fn present(&self, table: &[i32], at: usize, which: usize) -> usize {
        if self.apart[which] > 0 { present(table, at - self.apart[which]) } else { 0 }
    }

    /// What a weight is expected to be, and the context of its difference from that.
    #[inline]
    fn expected(&self, table: &[i32], before: Option<&[i32]>, at: usize) -> (i32, usize) {
        let (mut count, mut sum, mut most, mut least, mut moved) = (0usize, 0i64, i64::MIN, i64::MAX, 0);
        let mut meet = |below: usize| {
            let value = i64::from(table[below]);
            if value != 0 {
                (count, sum, most, least) = (count + 1, sum + value, most.max(value), least.min(value));
                moved += before.map_or(0, |before| (value - i64::from(before[below])).unsigned_abs());
            }
        };
        if at & 15 > 0 {
            meet(at - 1);
        }
        if at >> 4 & 15 > 0 {
            meet(at - 16);
        }
        self.distances[..self.count].iter().for_each(|distance| meet(at - distance));
        match before.map_or(0, |before| before[at]) {
            0 => {}
            same => {
                let each = if count == 0 { 0 } else { 1 + moved / count as u64 };
                return (same, contexts::MOVED + size_of(each).min(15) as usize);
            }
        }
        let apart = match count {
            0 => return (0, contexts::VALUE),
            1 => sum.unsigned_abs(),
            _ => most.abs_diff(least),
        };
        // About the mean: a division would take longer than everything else.
        let mean = (sum * SHARES[count]) >> 32;
        (mean as i32, contexts::VALUE + (count.min(7) << 4 | size_of(apart).min(15) as usize))
    }
}

/// The most cells of a pattern.
const MOST_CELLS: usize = 16;

/// 2^32 over the index.
const SHARES: [i64; MOST_CELLS + 1] = {
    let mut shares = [0; MOST_CELLS + 1];
    let mut i = 1;
    while i < shares.len() {
        shares[i] = (1 << 32) / i as i64;
        i += 1;
    }
    shares
};

/// Goes through a table of steps, its weights in turn: what is there, and what that is. `before` is the same table of the stage before. Where the
/// blocks begin that are not all zero.
fn walk(coder: &mut impl Coder, table: &mut [i32], before: Option<&[i32]>) -> Vec<usize> {
    let mut blocks = Vec::new();
    let cells = table.len().ilog2() / 4;
    let block = BLOCK.min(table.len());
    for from in (0..table.len()).step_by(block) {
        if !coder.flag(|| table[from..from + block].iter().any(|step| *step != 0)) {
            continue;
        }
        blocks.push(from);
        let around = Around::new(from, cells);
        for at in (from..from + block).step_by(GROUP) {
            let near = if at >> 4 & 15 > 0 { present(table, at - 16) } else { 0 };
            let [third, fourth, fifth] = [0, 1, 2].map(|which| around.present(table, at, which));
            let apart = usize::from(fourth != 0) << 8 | usize::from(fifth != 0) << 9;
            let context = match before {
                None => contexts::PRESENT[0] + (near | third << 4 | apart),
                Some(before) => contexts::PRESENT[1] + (near | present(before, at) << 4 | apart),
            };
            let mask = coder.symbol(context, present(table, at) as u8);
            for i in (0..GROUP).filter(|i| mask >> i & 1 != 0) {
                let (expected, context) = around.expected(table, before, at + i);
                let difference = table[at + i].wrapping_sub(expected);
                let size = coder.symbol(context, size_of(u64::from(difference.unsigned_abs())) as u8);
                // The highest bit is known; the sign goes with the others.
                let others = difference.unsigned_abs() << 1 | u32::from(difference < 0);
                let others = if size == 0 { 0 } else { coder.bits(others, u32::from(size)) };
                let absolute = if size == 0 { 0 } else { others >> 1 | 1 << (size - 1) };
                let difference = (absolute as i32).wrapping_mul(if others & 1 == 0 { 1 } else { -1 });
                table[at + i] = expected.wrapping_add(difference);
            }
        }
    }
    blocks
}

/// The weights kept by [`pack`], not yet written.
#[derive(PartialEq)]
pub struct Packed {
    lengths: Lengths,
    /// One for each pattern.
    streams: Vec<Vec<u8>>,
    /// How many weights were kept.
    pub kept: usize,
    /// What a step of a value is worth, in points.
    pub step: u32,
}

/// Packs the weights for which `keep` says so, rounded to whole steps of `step` points.
pub fn pack(network: &Network, step: u32, keep: impl Fn(usize) -> bool) -> Packed {
    let (layout, unit) = (network.layout(), f64::from(step) / f64::from(UNIT));
    let stages = layout.stages().len() + 1;
    // The tables of a pattern, in steps; 0 for what is left out.
    let tables = |pattern: usize| -> Vec<Vec<i32>> {
        let of_stage = |stage: usize| {
            let weights = layout.table(pattern).map(|index| {
                let index = stage * layout.stage_len() + index;
                let weight = network.weights().atomics()[index].load(Relaxed).cast_signed();
                let steps = (f64::from(weight) / unit).round() as i32;
                if steps != 0 && keep(index) { steps } else { 0 }
            });
            weights.collect()
        };
        (0..stages).map(of_stage).collect()
    };
    let patterns = layout.patterns().len();
    let (mut counter, mut kept) = (Counter::new(contexts::ALL), 0);
    for pattern in 0..patterns {
        let mut tables = tables(pattern);
        kept += tables.iter().flatten().filter(|step| **step != 0).count();
        walk_stages(&mut counter, tables.iter_mut().map(Vec::as_mut_slice));
    }
    let lengths = counter.lengths();
    let stream = |pattern: usize| {
        let mut writer = Writer::new(&lengths);
        walk_stages(&mut writer, tables(pattern).iter_mut().map(Vec::as_mut_slice));
        writer.finish()
    };
    let streams = (0..patterns).map(stream).collect();
    Packed { lengths, streams, kept, step }
}

/// [`walk`] for the tables of one pattern, stage by stage.
fn walk_stages<'t>(coder: &mut impl Coder, tables: impl Iterator<Item = &'t mut [i32]>) -> Vec<Vec<usize>> {
    let (mut before, mut blocks): (Option<&[i32]>, _) = (None, Vec::new());
    for table in tables {
        blocks.push(walk(coder, table, before));
        before = Some(table);
    }
    blocks
}

impl Packed {
    /// Bytes on disk, but for the header.
    pub fn bytes(&self) -> usize {
        self.codes().len() + self.streams.iter().map(Vec::len).sum::<usize>()
    }

    fn codes(&self) -> Vec<u8> {
        compress_to_vec(&self.lengths.concat(), EFFORT)
    }

    /// Writes the file: what [`super::load`] reads. `facts` go into its metadata.
    pub fn write(&self, size: Size, out: &mut dyn Write, layout: &Layout, facts: &Metadata) -> io::Result<()> {
        let mut metadata = file::describe(size, layout);
        metadata.extend(facts.iter().map(|(key, value)| (key.clone(), value.clone())));
        metadata.insert("packing".into(), PACKING.into());
        metadata.insert("kept".into(), self.kept.to_string());
        metadata.insert("step".into(), self.step.to_string());
        let (codes, names) = (self.codes(), (0..self.streams.len()).map(stream_name).collect::<Vec<_>>());
        let mut arrays = vec![("codes", codes.as_slice())];
        arrays.extend(names.iter().zip(&self.streams).map(|(name, stream)| (name.as_str(), stream.as_slice())));
        file::write_bytes(out, &metadata, &arrays)
    }
}

fn stream_name(pattern: usize) -> String {
    format!("pattern-{pattern}")
}

impl Network {
    /// Reads a packed network.
    pub(super) fn unpacked(size: Size, saved: &Saved) -> Result<Self, FileError> {
        let layout = saved.layout(size)?;
        let fact = |key: &str| saved.metadata.get(key).and_then(|text| text.parse::<usize>().ok());
        let (Some(kept), Some(step)) = (fact("kept"), fact("step")) else {
            return Err(saved.refused("its metadata lacks the number of weights kept, or their step"));
        };
        if saved.metadata.get("packing").is_none_or(|packing| packing != PACKING) {
            return Err(saved.refused("it was packed by another version: shrink the network that it was made of again"));
        }
        if kept > layout.weights() || step == 0 || step > 1 << 16 {
            return Err(saved.refused(format!("{kept} weights in steps of {step} make no sense")));
        }
        let tensors = SafeTensors::deserialize(saved.bytes()).map_err(|error| saved.refused(error.to_string()))?;
        let array = |name: &str| {
            let tensor = tensors.tensor(name).map_err(|_| saved.refused(format!("it lacks '{name}'")))?;
            Ok(tensor.data())
        };
        let lengths = decompress_to_vec_with_limit(array("codes")?, contexts::ALL * SYMBOLS)
            .map_err(|error| saved.refused(format!("'codes' cannot be decompressed: {error}")))?;
        let (lengths, _) = lengths.as_chunks::<SYMBOLS>();
        let meanings = Some(lengths.to_vec()).filter(|l| l.len() == contexts::ALL).and_then(|l| Meanings::new(&l));
        let meanings = meanings.ok_or_else(|| saved.refused("its codes make no sense"))?;
        let streams: Vec<&[u8]> =
            (0..layout.patterns().len()).map(|i| array(&stream_name(i))).collect::<Result<_, FileError>>()?;
        let mut words = Words::zeroed(layout.weights())
            .map_err(|error| saved.refused(format!("no memory for {} weights: {error}", layout.weights())))?;
        let unit = (step as f64 / f64::from(UNIT)) as i32;
        let found = read_patterns(&layout, &meanings, &streams, unit, words.exclusive());
        if found != Some(kept) {
            return Err(saved.refused("its weights are not what they should be"));
        }
        Ok(Self::new(layout, words))
    }
}

/// A stream, and the tables of its pattern for all stages.
type Stream<'s> = (&'s [u8], Vec<&'s mut [i32]>);

/// Reads all streams, on all cores, into the weights; how many there were, `None` if a stream is not what it should be.
fn read_patterns(
    layout: &Layout,
    meanings: &Meanings,
    streams: &[&[u8]],
    unit: i32,
    words: &mut [u32],
) -> Option<usize> {
    // For each pattern its tables of all stages.
    let mut patterns: Vec<Vec<&mut [i32]>> = streams.iter().map(|_| Vec::new()).collect();
    for mut stage in bytemuck::cast_slice_mut::<u32, i32>(words).chunks_exact_mut(layout.stage_len()) {
        for (pattern, tables) in patterns.iter_mut().enumerate() {
            let (table, rest) = stage.split_at_mut(layout.table(pattern).len());
            tables.push(table);
            stage = rest;
        }
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, streams.len().max(1));
    let mut jobs: Vec<Vec<Stream<'_>>> = (0..threads).map(|_| Vec::new()).collect();
    streams.iter().zip(patterns).enumerate().for_each(|(i, (stream, tables))| jobs[i % threads].push((stream, tables)));
    std::thread::scope(|scope| {
        let read = |job: Vec<Stream<'_>>| {
            job.into_iter().map(|(stream, tables)| read_pattern(meanings, stream, unit, tables)).sum::<Option<usize>>()
        };
        let running: Vec<_> = jobs.into_iter().map(|job| scope.spawn(move || read(job))).collect();
        running.into_iter().map(|thread| thread.join().ok().flatten()).sum()
    })
}

/// Reads one stream into the tables of a pattern.
fn read_pattern(meanings: &Meanings, stream: &[u8], unit: i32, mut tables: Vec<&mut [i32]>) -> Option<usize> {
    let mut reader = Reader::new(meanings, stream);
    let blocks = walk_stages(&mut reader, tables.iter_mut().map(|table| &mut **table));
    if !reader.is_done() {
        return None;
    }
    let mut kept = 0;
    // Nothing else is looked at: memory that holds no weight need not be there.
    for (table, blocks) in tables.into_iter().zip(blocks) {
        let block = BLOCK.min(table.len());
        for from in blocks {
            for weight in table[from..from + block].iter_mut().filter(|weight| **weight != 0) {
                *weight = weight.checked_mul(unit)?;
                kept += 1;
            }
        }
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::super::file::FORMAT;
    use super::*;
    use crate::testing::random_boards;
    use afterstate_board::{Board, Rng};

    fn sample() -> Network {
        let layout = Layout::new::<Board>("0123 014 5", &[11]).unwrap();
        let mut words = Words::zeroed(layout.weights()).unwrap();
        let mut rng = Rng::new(5);
        for word in words.exclusive() {
            let size = 1 << rng.below(27);
            *word = if rng.below(3) == 0 { (rng.below(size) as i32 - (size / 2) as i32).cast_unsigned() } else { 0 };
        }
        Network::new(layout, words)
    }

    fn written(packed: &Packed, network: &Network) -> Vec<u8> {
        let mut bytes = Vec::new();
        packed.write(Size::CLASSIC, &mut bytes, network.layout(), &Metadata::new()).unwrap();
        bytes
    }

    #[test]
    fn what_is_packed_comes_back_rounded() {
        let network = sample();
        let packed = pack(&network, 2, |_| true);
        let bytes = written(&packed, &network);
        let back = Network::unpacked(Size::CLASSIC, &Saved::of_bytes(bytes, &FORMAT).unwrap()).unwrap();
        for board in random_boards(500) {
            let (was, is) = (network.board_value(&board), back.board_value(&board));
            assert!((was - is).abs() <= network.layout().features() as f32, "{board}: {was}, {is}");
        }
        // Packed again, nothing more is lost.
        let again = pack(&back, 2, |_| true);
        assert!(again == packed);
    }

    #[test]
    fn damage_is_refused() {
        let network = sample();
        let bytes = written(&pack(&network, 4, |index| index % 5 != 0), &network);
        assert!(Network::unpacked(Size::CLASSIC, &Saved::of_bytes(bytes.clone(), &FORMAT).unwrap()).is_ok());
        for at in (0..bytes.len()).step_by(97) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 16;
            let read = Saved::of_bytes(damaged, &FORMAT)
                .and_then(|saved| Network::unpacked(Size::CLASSIC, &saved).map(|_| ()));
            assert!(read.is_err(), "a flipped bit at {at} was not noticed");
        }
        for length in [0, 7, 8, 100, bytes.len() - 1] {
            assert!(
                Saved::of_bytes(bytes[..length].to_vec(), &FORMAT).is_err(),
                "{length} bytes were taken for a file"
            );
        }
        let longer = [bytes.as_slice(), &[0; 8]].concat();
        assert!(Saved::of_bytes(longer, &FORMAT).is_err());
    }
}
