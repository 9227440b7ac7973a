//! Two-core networks on disk: the vectors of the cells, the rows that differ from their sums, and the head. A row that was never learned
//! takes no space.

use std::collections::BTreeMap;
use std::io::{self, Write};

use afterstate_board::Size;

use super::{Network, Places, Role, Shape};
use crate::dense::Dense;
pub use crate::file::{Array, Dtype, FileError, Format, Metadata, Saved};
use crate::file::{MARK, write_arrays};
use crate::half::{from_half, to_half};

/// How files of two-core networks are marked.
pub const FORMAT: Format = Format { mark: "afterstate-lookup-1", what: "two-core network" };

/// How precisely rows are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Four bytes a number: nothing is lost.
    Single,
    /// Two bytes a number.
    Half,
    /// One byte a number and a scale for each row, for what it differs by from the sum of its cells' vectors.
    Byte,
}

/// Calls back with each of some rows (rising) and the sum of the vectors of its cells.
pub fn for_each_sum(places: &Places, width: usize, cells: &[f32], rows: &[u32], mut call: impl FnMut(u32, &[f32])) {
    let (mut from, mut sum, mut rows) = (0, vec![0.0; width], rows.iter().peekable());
    for (of_table, offset) in places.tables() {
        while let Some(&row) = rows.next_if(|row| (**row as usize) < offset + (1 << (4 * of_table.len()))) {
            sum.fill(0.0);
            for digit in 0..of_table.len() {
                let slot = (from + digit) * 16 + ((row as usize - offset) >> (4 * digit) & 15);
                sum.iter_mut().zip(&cells[slot * width..][..width]).for_each(|(sum, x)| *sum += x);
            }
            call(row, &sum);
        }
        from += of_table.len();
    }
}

/// The number that the byte 1 stands for in a row.
fn scale_of(row: &[f32]) -> f32 {
    row.iter().fold(0.0, |most: f32, x| most.max(x.abs())) / 127.0
}

/// The metadata that says what the numbers are.
pub fn describe(size: Size, network: &Network) -> Metadata {
    let shape = network.shape();
    let hidden: Vec<String> = shape.hidden.iter().map(usize::to_string).collect();
    let pairs = [
        (MARK, FORMAT.mark.to_owned()),
        ("size", size.to_string()),
        ("places", network.places().to_string()),
        ("width", shape.width.to_string()),
        ("hidden", hidden.join(" ")),
        ("direct", shape.direct.to_string()),
        ("outputs", shape.role.name().to_owned()),
        ("unit", format!("{} points", shape.unit)),
        ("rewards", shape.rewards.to_string()),
    ];
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The bytes of numbers.
pub fn bytes_of(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Writes a network with the rows listed (rising); the others are to be the sums of the vectors of `cells`, the network's own or
/// fitted ones. `more` is written beside it.
pub fn write(
    out: &mut dyn Write,
    metadata: &Metadata,
    network: &Network,
    cells: &[f32],
    rows: &[u32],
    precision: Precision,
    more: &[Array<'_>],
) -> io::Result<()> {
    let width = network.shape().width;
    let of_row = |row: &u32| &network.table[*row as usize * width..][..width];
    let numbers = rows.iter().flat_map(of_row);
    let mut scales = Vec::new();
    let (kind, vectors): (_, Vec<u8>) = match precision {
        Precision::Single => (Dtype::F32, numbers.flat_map(|x| x.to_le_bytes()).collect()),
        Precision::Half => (Dtype::F16, numbers.flat_map(|x| to_half(*x).to_le_bytes()).collect()),
        Precision::Byte => {
            let mut packed = Vec::with_capacity(rows.len() * width);
            for_each_sum(network.places(), width, cells, rows, |row, sum| {
                let differences: Vec<f32> = of_row(&row).iter().zip(sum).map(|(x, sum)| x - sum).collect();
                let scale = scale_of(&differences);
                scales.push(scale);
                let scale = scale.max(f32::MIN_POSITIVE);
                packed.extend(differences.iter().map(|x| (x / scale).round() as i8 as u8));
            });
            (Dtype::I8, packed)
        }
    };
    let scales = bytes_of(&scales);
    let places: Vec<u8> = rows.iter().flat_map(|row| row.to_le_bytes()).collect();
    let (cells, bias) = (bytes_of(cells), bytes_of(&network.bias));
    let dense: Vec<(String, Vec<usize>, Vec<u8>)> = network
        .layers
        .iter()
        .enumerate()
        .flat_map(|(i, layer)| {
            let shape = vec![layer.outputs(), layer.inputs()];
            let weight = (format!("dense.{i}.weight"), shape, bytes_of(layer.weights()));
            [weight, (format!("dense.{i}.bias"), vec![layer.outputs()], bytes_of(layer.bias()))]
        })
        .collect();
    let (cells_shape, vectors_shape) = ([network.cells().len() / 16 / width, 16, width], [rows.len(), width]);
    let (rows_shape, bias_shape) = ([rows.len()], [width]);
    let mut arrays = vec![
        Array { name: "cells", kind: Dtype::F32, shape: &cells_shape, bytes: &cells },
        Array { name: "bias", kind: Dtype::F32, shape: &bias_shape, bytes: &bias },
        Array { name: "rows", kind: Dtype::U32, shape: &rows_shape, bytes: &places },
        Array { name: "vectors", kind, shape: &vectors_shape, bytes: &vectors },
    ];
    if precision == Precision::Byte {
        arrays.push(Array { name: "scales", kind: Dtype::F32, shape: &rows_shape, bytes: &scales });
    }
    arrays.extend(dense.iter().map(|(name, shape, bytes)| Array { name, kind: Dtype::F32, shape, bytes }));
    arrays.extend_from_slice(more);
    write_arrays(out, metadata, &arrays)
}

/// The shape of the network in a file, if it is for boards of that size.
pub fn shape(size: Size, saved: &Saved) -> Result<Shape, FileError> {
    saved.check_size(size)?;
    let role = saved.text("outputs")?;
    let role = Role::named(role).ok_or_else(|| saved.refused(format!("outputs '{role}' are of no known kind")))?;
    let unit = saved.text("unit")?.strip_suffix(" points").and_then(|unit| unit.parse().ok());
    let hidden: Option<Vec<usize>> = saved.text("hidden")?.split_whitespace().map(|word| word.parse().ok()).collect();
    let shape = Shape {
        places: saved.text("places")?.to_owned(),
        width: saved.number("width")? as usize,
        hidden: hidden.ok_or_else(|| saved.refused("its hidden layers are no numbers"))?,
        direct: saved.text("direct").is_ok_and(|direct| direct == "true"),
        role,
        unit: unit.ok_or_else(|| saved.refused("its unit is no number of points"))?,
        rewards: saved.rewards(),
    };
    shape.check().map_err(|reason| saved.refused(reason))?;
    Ok(shape)
}

/// The network in a file. Everything is looked at before anything large is allocated.
pub fn read(size: Size, saved: &Saved) -> Result<Network, FileError> {
    let shape = shape(size, saved)?;
    let places = Places::new(size, &shape.places).map_err(|error| saved.refused(error.to_string()))?;
    let width = shape.width;
    let count: usize = places.tables().map(|(cells, _)| cells.len()).sum();
    let cells = saved.floats("cells", &[count, 16, width])?;
    let bias = saved.floats("bias", &[width])?;
    let sizes: Vec<usize> = [width].into_iter().chain(shape.hidden.clone()).chain([shape.role.outputs()]).collect();
    let mut layers = Vec::new();
    for (i, pair) in sizes.windows(2).enumerate() {
        let weights = saved.floats(&format!("dense.{i}.weight"), &[pair[1], pair[0]])?;
        layers.push(Dense::new(pair[0], pair[1], weights, saved.floats(&format!("dense.{i}.bias"), &[pair[1]])?));
    }
    let rows = rows(saved)?;
    let rising = rows.is_sorted_by(|a, b| a < b) && rows.last().is_none_or(|&row| (row as usize) < places.rows());
    if !rising {
        return Err(saved.refused("its rows are not where they should be"));
    }
    let (kind, bytes) = match saved.array("vectors")?.map(|found| found.dtype()) {
        Some(Dtype::F32) => (Dtype::F32, 4),
        Some(Dtype::I8) => (Dtype::I8, 1),
        _ => (Dtype::F16, 2),
    };
    let scales = if bytes == 1 { saved.floats("scales", &[rows.len()])? } else { vec![1.0; rows.len()] };
    let vectors = saved.array_of("vectors", kind, &[rows.len(), width])?;
    let vectors = vectors.ok_or_else(|| saved.refused("it lacks 'vectors'"))?;
    let mut network =
        Network::of_parts(shape, places, cells, bias, layers).map_err(|error| saved.refused(error.to_string()))?;
    for ((row, vector), scale) in rows.iter().zip(vectors.chunks_exact(bytes * width)).zip(scales) {
        let target = &mut network.table[*row as usize * width..][..width];
        for (x, number) in target.iter_mut().zip(vector.chunks_exact(bytes)) {
            *x = match *number {
                [a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
                [a, b] => from_half(u16::from_le_bytes([a, b])),
                // Until now the row is the sum of its cells' vectors.
                [a] => *x + scale * f32::from(a as i8),
                _ => 0.0,
            };
        }
    }
    Ok(network)
}

/// The rows that a file lists.
pub fn rows(saved: &Saved) -> Result<Vec<u32>, FileError> {
    let count = saved.array("rows")?.map_or(0, |found| found.shape().first().copied().unwrap_or(0));
    let bytes = saved.array_of("rows", Dtype::U32, &[count])?.ok_or_else(|| saved.refused("it lacks 'rows'"))?;
    Ok(bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
}

/// For each cell and tile the vector that makes the sums come closest to the learned rows, `weight` saying how much a row counts: what
/// rows that are left out of a small file are best made of.
pub fn fit_cells(network: &Network, rows: &[u32], weight: impl Fn(u32) -> f32) -> Vec<f32> {
    let width = network.shape().width;
    let mut fitted = network.cells().to_vec();
    let mut from = 0;
    for (cells, offset) in network.places().tables() {
        let end = offset + (1 << (4 * cells.len()));
        let own: Vec<u32> = rows.iter().copied().filter(|&row| (offset..end).contains(&(row as usize))).collect();
        let vectors = &mut fitted[from * 16 * width..][..cells.len() * 16 * width];
        let slot = |row: u32, digit: usize| digit * 16 + ((row as usize - offset) >> (4 * digit) & 15);
        // Each cell in turn takes up what the others leave: a few rounds come close to the least squares.
        for digit in (0..cells.len()).cycle().take(5 * cells.len()) {
            let mut sums: BTreeMap<usize, (f32, Vec<f32>)> = BTreeMap::new();
            for &row in &own {
                let (total, left) = sums.entry(slot(row, digit)).or_insert_with(|| (0.0, vec![0.0; width]));
                let weight = weight(row);
                *total += weight;
                for lane in 0..width {
                    let others = (0..cells.len()).filter(|&d| d != digit).map(|d| vectors[slot(row, d) * width + lane]);
                    left[lane] += weight * (network.table[row as usize * width + lane] - others.sum::<f32>());
                }
            }
            for (slot, (total, left)) in sums.into_iter().filter(|(_, (total, _))| *total > 0.0) {
                left.iter().enumerate().for_each(|(lane, left)| vectors[slot * width + lane] = left / total);
            }
        }
        from += cells.len();
    }
    fitted
}

#[cfg(test)]
mod tests {
    use super::super::LINES_SQUARES;
    use super::*;
    use crate::testing::{close, random_boards};
    use afterstate_board::Rng;

    pub(super) fn shape(width: usize, role: Role) -> Shape {
        Shape {
            places: "0123 37bf 569a".into(),
            width,
            hidden: vec![16],
            direct: true,
            role,
            unit: 10_000.0,
            rewards: 1.0,
        }
    }

    fn sample(role: Role) -> (Network, Vec<u32>) {
        let mut network = Network::random(Size::CLASSIC, shape(24, role), 0.1, 3).unwrap();
        let mut rng = Rng::new(8);
        let rows: Vec<u32> = (0..network.places().rows() as u32).filter(|_| rng.below(100) == 0).collect();
        for &row in &rows {
            network.table[row as usize * 24..][..24].iter_mut().for_each(|x| *x += rng.unit() as f32 - 0.5);
        }
        (network, rows)
    }

    fn written(network: &Network, rows: &[u32], precision: Precision) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, &describe(Size::CLASSIC, network), network, network.cells(), rows, precision, &[]).unwrap();
        bytes
    }

    fn back(bytes: &[u8]) -> Result<Network, FileError> {
        Saved::of_bytes(bytes.to_vec(), &FORMAT).and_then(|saved| read(Size::CLASSIC, &saved))
    }

    #[test]
    fn networks_come_back() {
        for role in [Role::Value, Role::Moves, Role::Policy, Role::Actor] {
            let (network, rows) = sample(role);
            let [single, half, byte] = [Precision::Single, Precision::Half, Precision::Byte]
                .map(|precision| back(&written(&network, &rows, precision)).unwrap());
            assert_eq!((&network.table[..], &network.layers), (&single.table[..], &single.layers));
            assert_eq!(single.shape(), &Shape { places: network.places().to_string(), ..network.shape().clone() });
            for board in random_boards(100) {
                let judged = |network: &Network| {
                    let mut outputs = vec![0.0; role.outputs()];
                    network.judge_boards([&board].into_iter(), &mut outputs);
                    outputs
                };
                assert_eq!(judged(&network), judged(&single));
                for (packed, bound) in [(&half, 1e-2), (&byte, 5e-2)] {
                    assert!(judged(&network).iter().zip(judged(packed)).all(|(a, b)| (a - b).abs() < bound));
                }
            }
        }
    }

    #[test]
    fn damage_and_foreign_files_are_refused() {
        let (network, rows) = sample(Role::Value);
        let bytes = written(&network, &rows[..50], Precision::Half);
        assert!(back(&bytes).is_ok());
        for at in (0..bytes.len()).step_by(61) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 16;
            assert!(back(&damaged).is_err(), "a flipped bit at {at} was not noticed");
        }
        for length in [0, 7, 8, 100, bytes.len() - 1] {
            assert!(back(&bytes[..length]).is_err(), "{length} bytes were taken for a file");
        }
        assert!(back(&[bytes.as_slice(), &[0; 8]].concat()).is_err());
        let other = Saved::of_bytes(bytes.clone(), &FORMAT).unwrap();
        let error = read(Size { rows: 3, columns: 3 }, &other).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("4x4 boards"), "{error}");
        assert!(Saved::of_bytes(bytes, &crate::ntuple::file::FORMAT).is_err());
    }

    #[test]
    fn a_header_that_promises_too_much_is_refused_before_memory_is_asked_for() {
        let (network, rows) = sample(Role::Value);
        let mut metadata = describe(Size::CLASSIC, &network);
        for (key, value) in
            [("width", "1000000000"), ("places", "0123456 1234567"), ("hidden", "99999999"), ("size", "x")]
        {
            let mut metadata = metadata.clone();
            metadata.insert(key.into(), value.into());
            let mut bytes = Vec::new();
            write(&mut bytes, &metadata, &network, network.cells(), &rows, Precision::Half, &[]).unwrap();
            assert!(back(&bytes).is_err(), "{key}={value}");
        }
        metadata.insert("width".into(), "32".into());
        let mut bytes = Vec::new();
        write(&mut bytes, &metadata, &network, network.cells(), &rows, Precision::Half, &[]).unwrap();
        assert!(back(&bytes).is_err());
    }

    #[test]
    fn rows_left_out_are_made_of_cells() {
        // Rows that are sums of other vectors than the network's own: fitting finds those.
        let (mut network, _) = sample(Role::Value);
        let other = Network::random(Size::CLASSIC, shape(24, Role::Value), 0.3, 4).unwrap();
        let rows: Vec<u32> = (0..network.places().rows() as u32).filter(|row| row % 7 < 3).collect();
        for &row in &rows {
            let at = row as usize * 24;
            network.table[at..at + 24].copy_from_slice(&other.table[at..at + 24]);
        }
        let fitted = fit_cells(&network, &rows, |_| 1.0);
        let layers = network.layers.clone();
        let places = Places::new(Size::CLASSIC, &network.shape().places).unwrap();
        let again = Network::of_parts(network.shape().clone(), places, fitted, network.bias.clone(), layers).unwrap();
        for &row in rows.iter().step_by(100) {
            let at = row as usize * 24;
            assert!(again.table[at..at + 24].iter().zip(&other.table[at..]).all(|(a, b)| (a - b).abs() < 0.02));
        }
    }

    #[test]
    fn values_equal_the_definition() {
        let shape = Shape {
            places: LINES_SQUARES.into(),
            width: 40,
            hidden: vec![33],
            direct: false,
            role: Role::Value,
            unit: 1.0,
            rewards: 1.0,
        };
        let network = Network::random(Size::CLASSIC, shape, 0.1, 5).unwrap();
        for board in random_boards(200) {
            let mut rows = [0; 17];
            network.places().encode_plainly(&board, &mut rows);
            let sum: Vec<f32> = (0..40)
                .map(|lane| rows.iter().map(|&row| network.table[row as usize * 40 + lane]).sum::<f32>().max(0.0))
                .collect();
            let [first, last] = network.layers.as_slice() else { panic!("two layers") };
            let mut value = last.bias()[0];
            for output in 0..33 {
                let row = &first.weights()[output * 40..][..40];
                value += last.weights()[output] * row.iter().zip(&sum).map(|(w, x)| w * x).sum::<f32>().max(0.0);
            }
            let mut judged = [0.0];
            network.judge_boards([&board].into_iter(), &mut judged);
            assert!(close(judged[0], value), "{board}: {} {value}", judged[0]);
        }
    }
}
