//! Small networks on disk: of a trained network only the weights that games meet often, rounded, and compressed.
//!
//! Two streams, each deflated: how far each kept weight lies behind the one before it, and its value in steps, as the difference
//! from the kept weight before it if both lie in the same block of sixteen. Both are variable-length numbers of seven bits a byte.

use std::io::{self, Write};

use afterstate_board::Position;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use safetensors::SafeTensors;

use super::file::{self, FileError, Metadata, Saved};
use super::{Layout, Network, UNIT, Words};

/// How well the streams are compressed, 0 to 10.
const EFFORT: u8 = 9;

/// The weights kept by [`pack`], not yet written.
pub struct Packed {
    places: Vec<u8>,
    values: Vec<u8>,
    /// How many weights were kept.
    pub kept: usize,
    /// What a step of a value is worth, in points.
    pub step: u32,
}

/// Packs the weights for which `keep` says so, rounded to whole steps of `step` points.
pub fn pack(network: &Network, step: u32, keep: impl Fn(usize) -> bool) -> Packed {
    let (mut places, mut values, mut kept) = (Vec::new(), Vec::new(), 0);
    let (mut last, mut before) = (0, 0);
    let unit = f64::from(step) / f64::from(UNIT);
    for (index, weight) in network.weights().atomics().iter().enumerate() {
        let weight = weight.load(std::sync::atomic::Ordering::Relaxed).cast_signed();
        let value = (f64::from(weight) / unit).round() as i64;
        if value == 0 || !keep(index) {
            continue;
        }
        number(&mut places, (index - last) as u64);
        let from = if index / 16 == last / 16 { before } else { 0 };
        number(&mut values, zigzag(value - from));
        (last, before) = (index, value);
        kept += 1;
    }
    Packed { places: compress_to_vec(&places, EFFORT), values: compress_to_vec(&values, EFFORT), kept, step }
}

impl Packed {
    /// Bytes on disk, but for the header.
    pub fn bytes(&self) -> usize {
        self.places.len() + self.values.len()
    }

    /// Writes the file: what [`super::load`] reads. `facts` go into its metadata.
    pub fn write<P: Position>(&self, out: &mut dyn Write, layout: &Layout, facts: &Metadata) -> io::Result<()> {
        let mut metadata = file::describe::<P>(layout);
        metadata.extend(facts.iter().map(|(key, value)| (key.clone(), value.clone())));
        metadata.insert("kept".into(), self.kept.to_string());
        metadata.insert("step".into(), self.step.to_string());
        file::write_bytes(out, &metadata, &[("places", &self.places), ("values", &self.values)])
    }
}

impl Network {
    /// Reads a packed network.
    pub(super) fn unpacked<P: Position>(saved: &Saved) -> Result<Self, FileError> {
        let layout = saved.layout::<P>()?;
        let fact = |key: &str| saved.metadata.get(key).and_then(|text| text.parse::<usize>().ok());
        let (Some(kept), Some(step)) = (fact("kept"), fact("step")) else {
            return Err(saved.refused("its metadata lacks the number of weights kept, or their step"));
        };
        if kept > layout.weights() || step == 0 || step > 1 << 16 {
            return Err(saved.refused(format!("{kept} weights in steps of {step} make no sense")));
        }
        let tensors = SafeTensors::deserialize(saved.bytes()).map_err(|error| saved.refused(error.to_string()))?;
        let stream = |name: &str| -> Result<Vec<u8>, FileError> {
            let tensor = tensors.tensor(name).map_err(|_| saved.refused(format!("it lacks '{name}'")))?;
            // A number takes ten bytes at the most.
            decompress_to_vec_with_limit(tensor.data(), 10 * kept)
                .map_err(|error| saved.refused(format!("'{name}' cannot be decompressed: {error}")))
        };
        let (places, values) = (stream("places")?, stream("values")?);
        let mut words = Words::zeroed(layout.weights())
            .map_err(|error| saved.refused(format!("no memory for {} weights: {error}", layout.weights())))?;
        let unit = (step as f64 / f64::from(UNIT)) as i64;
        let broken = || saved.refused("its weights are not where they should be");
        let (mut places, mut values) = (places.as_slice(), values.as_slice());
        let (mut index, mut before) = (0usize, 0i64);
        for _ in 0..kept {
            let last = index;
            let gap = read(&mut places).and_then(|gap| usize::try_from(gap).ok());
            index = gap.and_then(|gap| index.checked_add(gap)).filter(|&i| i < layout.weights()).ok_or_else(broken)?;
            let from = if index / 16 == last / 16 { before } else { 0 };
            before = read(&mut values).map(unzigzag).and_then(|value| value.checked_add(from)).ok_or_else(broken)?;
            let weight = before.checked_mul(unit).and_then(|weight| i32::try_from(weight).ok()).ok_or_else(broken)?;
            words.exclusive()[index] = weight.cast_unsigned();
        }
        Ok(Self::new(layout, words))
    }
}

const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

/// Seven bits a byte, the lowest first; the eighth says that more follow.
fn number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 128 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

fn read(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Some(value);
        }
    }
    None
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
        packed.write::<Board>(&mut bytes, network.layout(), &Metadata::new()).unwrap();
        bytes
    }

    #[test]
    fn what_is_packed_comes_back_rounded() {
        let network = sample();
        let packed = pack(&network, 2, |_| true);
        let bytes = written(&packed, &network);
        let back = Network::unpacked::<Board>(&Saved::of_bytes(bytes, &FORMAT).unwrap()).unwrap();
        for board in random_boards(500) {
            let (was, is) = (network.board_value(&board), back.board_value(&board));
            assert!((was - is).abs() <= network.layout().features() as f32, "{board}: {was}, {is}");
        }
        // Packed again, nothing more is lost.
        let again = pack(&back, 2, |_| true);
        assert_eq!((again.kept, again.places, again.values), (packed.kept, packed.places, packed.values));
    }

    #[test]
    fn damage_is_refused() {
        let network = sample();
        let bytes = written(&pack(&network, 4, |index| index % 5 != 0), &network);
        assert!(Network::unpacked::<Board>(&Saved::of_bytes(bytes.clone(), &FORMAT).unwrap()).is_ok());
        for at in (0..bytes.len()).step_by(97) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 16;
            let read =
                Saved::of_bytes(damaged, &FORMAT).and_then(|saved| Network::unpacked::<Board>(&saved).map(|_| ()));
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

    #[test]
    fn numbers_round_trip() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            number(&mut bytes, value);
            assert_eq!(read(&mut bytes.as_slice()), Some(value));
            assert_eq!(zigzag(unzigzag(value)), value);
        }
        assert_eq!(read(&mut [128u8].as_slice()), None);
    }
}
