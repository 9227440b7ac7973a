//! The three-path network by tables: what a row, column or square of four cells adds to the layer that joins the paths is computed when
//! its tiles are first met and looked up from then on. A board then costs 17 additions of vectors and the small heads.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use afterstate_board::Position;

use super::kernel::{PANEL, Panels, Segment};
use super::model::Model;
use super::plan::SIDE;
use super::three_path::PATHS;
use crate::encode::index_of;
use crate::vectorised;

/// Rows, columns and squares of a board.
const PLACES: usize = 17;
/// The most numbers that are kept, 1 GiB of them; tiles met after that are computed each time.
const MOST_NUMBERS: usize = 1 << 28;
/// Boards whose heads are computed together.
const CHUNK: usize = 24;

/// Four cells and what their tiles add.
struct Place {
    path: usize,
    cells: [usize; 4],
    /// From the path's channels to the features.
    share: Panels,
    rows: Vec<OnceLock<Box<[f32]>>>,
}

/// What the tiles of a path become before the joining layer.
struct Path {
    /// Tap by tap the weights of all channels.
    taps: Vec<f32>,
    tap_bias: Vec<f32>,
    mix: Panels,
    mix_bias: Vec<f32>,
}

/// A dense layer.
struct Layer {
    panels: Panels,
    bias: Vec<f32>,
}

/// The network.
pub struct Tables {
    kinds: usize,
    channels: usize,
    features: usize,
    embedding: Vec<f32>,
    paths: Vec<Path>,
    places: Vec<Place>,
    bias: Vec<f32>,
    heads: Vec<Vec<Layer>>,
    /// Rows that are kept.
    kept: AtomicUsize,
}

impl Tables {
    /// The tables of a three-path network, empty yet; none for other architectures.
    pub fn new(model: &Model) -> Option<Self> {
        let (embedding, shape) = model.by_name("embedding.weight")?;
        let (kinds, channels) = (shape[0], shape[1]);
        let (joining, shape) = model.by_name("features.weight")?;
        let (features, inputs) = (shape[0], shape[1]);
        let array = |name: &str| model.by_name(name).map(|(numbers, _)| numbers);
        let (mut paths, mut places, mut first) = (Vec::new(), Vec::new(), 0);
        for (path, (name, kernel)) in PATHS.into_iter().enumerate() {
            let taps = array(&format!("{name}.depthwise.weight"))?;
            let mix = array(&format!("{name}.pointwise.weight"))?;
            paths.push(Path {
                taps: (0..4 * channels).map(|i| taps[i % channels * 4 + i / channels]).collect(),
                tap_bias: array(&format!("{name}.depthwise.bias"))?.to_vec(),
                mix: Panels::new(channels, 1, channels, |output, _, input| mix[output * channels + input]),
                mix_bias: array(&format!("{name}.pointwise.bias"))?.to_vec(),
            });
            let (rows, columns) = (SIDE + 1 - kernel.0, SIDE + 1 - kernel.1);
            let count = rows * columns;
            for at in 0..count {
                let (row, column) = (at / columns, at % columns);
                let cells = std::array::from_fn(|tap| (row + tap / kernel.1) * SIDE + column + tap % kernel.1);
                let weight =
                    |output: usize, _: usize, channel: usize| joining[output * inputs + first + channel * count + at];
                let share = Panels::new(features, 1, channels, weight);
                places.push(Place { path, cells, share, rows: (0..kinds.pow(4)).map(|_| OnceLock::new()).collect() });
            }
            first += count * channels;
        }
        let heads = ["policy", "value"].iter().filter_map(|name| {
            let layer = |i: usize| {
                let (weights, shape) = model.by_name(&format!("{name}.{i}.weight"))?;
                let panels = Panels::new(shape[0], 1, shape[1], |output, _, input| weights[output * shape[1] + input]);
                Some(Layer { panels, bias: array(&format!("{name}.{i}.bias"))?.to_vec() })
            };
            (0..3).map(layer).collect()
        });
        let (embedding, bias) = (embedding.to_vec(), array("features.bias")?.to_vec());
        let heads = heads.collect();
        Some(Self { kinds, channels, features, embedding, paths, places, bias, heads, kept: AtomicUsize::new(0) })
    }

    /// Heads, each with its outputs.
    pub fn heads(&self) -> usize {
        self.heads.len()
    }

    /// Rows that have been met and kept.
    pub fn kept(&self) -> usize {
        self.kept.load(Ordering::Relaxed)
    }

    /// The outputs of the heads from `first` on, for each board as it lies.
    pub fn run<P: Position>(&self, boards: &[P], first: usize, outputs: &mut [f32]) {
        let heads = &self.heads[first..];
        let count: usize = heads.iter().filter_map(|head| head.last()).map(|layer| layer.bias.len()).sum();
        let widest = heads.iter().flatten().map(|layer| layer.bias.len()).max().unwrap_or(0);
        let mut features = vec![0.0; CHUNK * self.features];
        let (mut a, mut b) = (vec![0.0; CHUNK * widest], vec![0.0; CHUNK * widest]);
        for (boards, outputs) in boards.chunks(CHUNK).zip(outputs.chunks_mut(CHUNK * count)) {
            for (board, features) in boards.iter().zip(features.chunks_exact_mut(self.features)) {
                self.features_of(board, features);
            }
            let mut at = 0;
            for head in heads {
                let [one, two, three] = head.as_slice() else { continue };
                one.run(boards.len(), &features, true, &mut a);
                two.run(boards.len(), &a, true, &mut b);
                three.run(boards.len(), &b, false, &mut a);
                let made = a.chunks_exact(three.bias.len());
                for (outputs, made) in outputs.chunks_exact_mut(count).zip(made) {
                    outputs[at..at + made.len()].copy_from_slice(made);
                }
                at += three.bias.len();
            }
        }
    }

    /// The joining layer's numbers for a board.
    fn features_of<P: Position>(&self, board: &P, features: &mut [f32]) {
        let tiles: [usize; SIDE * SIDE] = std::array::from_fn(|cell| index_of(board, cell, self.kinds));
        let mut fresh: Vec<Box<[f32]>> = Vec::new();
        let mut rows: [&[f32]; PLACES] = [&[]; PLACES];
        for (row, place) in rows.iter_mut().zip(&self.places) {
            let index = place.cells.iter().fold(0, |index, &cell| index * self.kinds + tiles[cell]);
            let slot = &place.rows[index];
            match slot.get() {
                Some(found) => *row = found,
                None if self.kept() < MOST_NUMBERS / self.features => {
                    *row = slot.get_or_init(|| {
                        self.kept.fetch_add(1, Ordering::Relaxed);
                        self.row_of(place, place.cells.map(|cell| tiles[cell]))
                    });
                }
                None => fresh.push(self.row_of(place, place.cells.map(|cell| tiles[cell]))),
            }
        }
        sum(&self.bias, &rows, features);
        for row in &fresh {
            features.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
        features.iter_mut().for_each(|x| *x = x.max(0.0));
    }

    /// What four tiles on a place add.
    fn row_of(&self, place: &Place, tiles: [usize; 4]) -> Box<[f32]> {
        let path = &self.paths[place.path];
        let mut own = path.tap_bias.clone();
        for (taps, tile) in path.taps.chunks_exact(self.channels).zip(tiles) {
            let vector = &self.embedding[tile * self.channels..][..self.channels];
            own.iter_mut().zip(taps.iter().zip(vector)).for_each(|(sum, (tap, x))| *sum += tap * x);
        }
        let mut mixed = vec![0.0; self.channels];
        multiply(&path.mix, &own, 1, &path.mix_bias, true, &mut mixed);
        let mut row = vec![0.0; self.features].into_boxed_slice();
        multiply(&place.share, &mixed, 1, &vec![0.0; self.features], false, &mut row);
        row
    }
}

impl Layer {
    fn run(&self, boards: usize, given: &[f32], relu: bool, made: &mut [f32]) {
        multiply(&self.panels, given, boards, &self.bias, relu, made);
    }
}

/// A dense layer on some rows of numbers.
fn multiply(panels: &Panels, given: &[f32], count: usize, bias: &[f32], relu: bool, made: &mut [f32]) {
    let outputs = panels.outputs();
    panels.times(given, (count, panels.inputs()), &[vec![Segment { at: 0, part: 0 }]], |_, row, first, sums| {
        let many = PANEL.min(outputs - first);
        let made = &mut made[row * outputs + first..][..many];
        for ((made, sum), bias) in made.iter_mut().zip(sums).zip(&bias[first..]) {
            *made = if relu { (sum + bias).max(0.0) } else { sum + bias };
        }
    });
}

/// Numbers summed side by side.
const BLOCK: usize = 32;

vectorised! {
    /// The sum of a bias and of rows, of which some may be empty.
    fn sum / portable_sum(bias: &[f32], rows: &[&[f32]; PLACES], sums: &mut [f32]) {
        let (whole, rest) = sums.as_chunks_mut::<BLOCK>();
        let done = whole.len() * BLOCK;
        for (i, sums) in whole.iter_mut().enumerate() {
            let mut block = [0.0f32; BLOCK];
            block.copy_from_slice(&bias[i * BLOCK..][..BLOCK]);
            for row in rows {
                if let Some(row) = row.get(i * BLOCK..).and_then(|row| row.first_chunk::<BLOCK>()) {
                    for lane in 0..BLOCK {
                        block[lane] += row[lane];
                    }
                }
            }
            *sums = block;
        }
        for (i, sum) in rest.iter_mut().enumerate() {
            *sum = bias[done + i] + rows.iter().filter_map(|row| row.get(done + i)).sum::<f32>();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_equal_the_portable_twin_and_the_definition() {
        for width in [1, 31, 32, 33, 256] {
            let numbers: Vec<f32> = (0..width * PLACES).map(|i| (i as f32).sin()).collect();
            let bias: Vec<f32> = (0..width).map(|i| i as f32).collect();
            let mut rows: [&[f32]; PLACES] = std::array::from_fn(|i| &numbers[i * width..][..width]);
            rows[3] = &[];
            let (mut fast, mut slow) = (vec![0.0; width], vec![0.0; width]);
            sum(&bias, &rows, &mut fast);
            portable_sum(&bias, &rows, &mut slow);
            assert_eq!(fast, slow);
            for i in 0..width {
                let plain = bias[i] + rows.iter().filter_map(|row| row.get(i)).sum::<f32>();
                assert!((fast[i] - plain).abs() < 1e-4);
            }
        }
    }
}
