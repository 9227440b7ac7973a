//! Training of the two-core network, sparse: a board touches the rows it looks up and the head, nothing else. Rows go by Adagrad with one
//! rate a row, the head by Adam.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use afterstate_board::{Position, Symmetry};
use afterstate_evaluator::dense::{DenseGradient, axpy, dot};
use afterstate_evaluator::file::{Array, Dtype, FileError, Format, Metadata, Saved};
use afterstate_evaluator::lookup::file::{FORMAT, Precision, bytes_of, describe, read, rows, write};
use afterstate_evaluator::lookup::{self, Role, Shape, ShapeError, turn, unturn};
use afterstate_evaluator::ntuple::prefetch;
use afterstate_evaluator::{Evaluator, vectorised};

use crate::side_by_side;

use super::adam::Adam;
use super::pull::{Errors, pull_back};
use super::{Loss, Network, Rates};

/// Keeps the first steps of a row finite.
const EPSILON: f32 = 1e-12;

/// A two-core network under training.
pub struct Lookup {
    network: lookup::Network,
    /// For each row the sum of its squared gradients, averaged over the row; 0 for a row that never changed.
    sizes: Vec<f32>,
    adam: Adam,
    work: Work,
    threads: usize,
}

/// What a step needs on the way, kept from step to step.
#[derive(Default)]
struct Work {
    /// For each board of the batch the rows it looks up, their sum after ReLU, what the dense layers computed, and its orientation.
    rows: Vec<u32>,
    sums: Vec<f32>,
    kept: Vec<f32>,
    symmetries: Vec<Symmetry>,
    outputs: Vec<f32>,
    gradient: Vec<f32>,
    /// For each board what its rows should have been less of.
    errors: Vec<f32>,
    /// The gradient of the head from each group of boards.
    heads: Vec<Head>,
}

/// What some boards say about the head.
struct Head {
    layers: Vec<DenseGradient>,
    bias: Vec<f32>,
    errors: Errors,
}

impl Head {
    fn zero(network: &lookup::Network) -> Self {
        let layers = network.layers.iter().map(DenseGradient::zero).collect();
        Self { layers, bias: vec![0.0; network.shape().width], errors: Errors::default() }
    }

    fn clear(&mut self) {
        for gradient in &mut self.layers {
            gradient.weights.fill(0.0);
            gradient.bias.fill(0.0);
        }
        self.bias.fill(0.0);
    }

    fn add(&mut self, other: &Self) {
        for (sum, gradient) in self.layers.iter_mut().zip(&other.layers) {
            axpy(1.0, &gradient.weights, &mut sum.weights);
            axpy(1.0, &gradient.bias, &mut sum.bias);
        }
        axpy(1.0, &other.bias, &mut self.bias);
    }
}

/// Boards whose part of the head's gradient is added up before it meets that of others: sums do not depend on the number of threads.
const GROUP: usize = 256;

/// Boards for which starting threads pays.
const MANY: usize = 1_024;

/// Boards whose rows are asked for before the first of them is needed.
const AHEAD: usize = 16;

/// The part of a batch that some boards make up.
struct Part<'a> {
    rows: &'a [u32],
    sums: &'a mut [f32],
    kept: &'a mut [f32],
}

vectorised! {
    fn forward / portable_forward(network: &lookup::Network, part: &mut Part<'_>) {
        let (places, width, kept) = (network.places().count(), network.shape().width, network.kept());
        let boards = part.rows.len() / places;
        for board in 0..boards.min(AHEAD) {
            network.ask_for(&part.rows[board * places..][..places]);
        }
        for board in 0..boards {
            if board + AHEAD < boards {
                network.ask_for(&part.rows[(board + AHEAD) * places..][..places]);
            }
            let rows = &part.rows[board * places..][..places];
            network.forward(rows, &mut part.sums[board * width..][..width], &mut part.kept[board * kept..][..kept]);
        }
    }
}

/// What a group of boards needs on the way back.
struct Back<'a> {
    sums: &'a [f32],
    kept: &'a [f32],
    gradient: &'a [f32],
    errors: &'a mut [f32],
}

vectorised! {
    /// From the gradients of some boards to the errors of their rows, and to their part of the head's gradient.
    fn backward / portable_backward(network: &lookup::Network, head: &mut Head, back: &mut Back<'_>) {
        let (width, kept, count) = (network.shape().width, network.kept(), network.shape().role.outputs());
        let boards = back.sums.chunks_exact(width).zip(back.kept.chunks_exact(kept)).zip(back.gradient.chunks_exact(count));
        for (((sum, kept), gradient), errors) in boards.zip(back.errors.chunks_exact_mut(width)) {
            if gradient.iter().all(|&g| g == 0.0) {
                errors.fill(0.0);
                continue;
            }
            pull_back(&network.layers, sum, kept, gradient, &mut head.layers, &mut head.errors, true);
            axpy(1.0, &head.errors.at, &mut head.bias);
            errors.copy_from_slice(&head.errors.at);
        }
    }
}

/// Tables whose rows one thread moves: `rows` of every board from place `places.start` on, counted from row `start`.
struct Tables<'a> {
    places: Range<usize>,
    start: usize,
    sizes: &'a mut [f32],
    table: &'a mut [f32],
}

vectorised! {
    /// Moves the rows that every board looked up in some tables.
    fn advance / portable_advance(tables: &mut Tables<'_>, rows: &[u32], all: usize, errors: &[f32], width: usize, rate: f32) {
        let own = |board: usize| &rows[board * all..][tables.places.clone()];
        let boards = rows.len() / all;
        for (board, errors) in errors.chunks_exact(width).enumerate() {
            if board + AHEAD < boards {
                for &row in own(board + AHEAD) {
                    let row = row as usize - tables.start;
                    prefetch(tables.sizes, row);
                    (0..width).step_by(16).for_each(|line| prefetch(tables.table, row * width + line));
                }
            }
            let size = dot(errors, errors) / width as f32;
            if size == 0.0 {
                continue;
            }
            for &row in own(board) {
                let row = row as usize - tables.start;
                tables.sizes[row] += size;
                let step = -rate / (tables.sizes[row] + EPSILON).sqrt();
                axpy(step, errors, &mut tables.table[row * width..][..width]);
            }
        }
    }
}

impl Lookup {
    /// A network that knows nothing yet.
    pub fn new<P: Position>(shape: Shape, spread: f32, seed: u64) -> Result<Self, ShapeError> {
        Ok(Self::of_network(lookup::Network::random::<P>(shape, spread, seed)?))
    }

    fn of_network(network: lookup::Network) -> Self {
        let dense: usize = network.layers.iter().map(|layer| layer.parameters()).sum();
        let (sizes, adam) = (vec![0.0; network.places().rows()], Adam::new(network.bias.len() + dense));
        Self { sizes, adam, network, work: Work::default(), threads: 1 }
    }

    /// Threads for a batch of so many boards.
    fn threads_for(&self, boards: usize) -> usize {
        if boards < MANY { 1 } else { self.threads }
    }

    /// The network as it is.
    pub const fn network(&self) -> &lookup::Network {
        &self.network
    }

    /// The rows that were ever moved.
    pub fn moved(&self) -> Vec<u32> {
        (0..self.sizes.len() as u32).filter(|&row| self.sizes[row as usize] > 0.0).collect()
    }

    /// Rows, sums and all outputs of the dense layers for each board.
    fn look<P: Position>(&mut self, boards: &[P]) {
        let threads = self.threads_for(boards.len());
        let (network, work) = (&self.network, &mut self.work);
        let (places, width, kept) = (network.places().count(), network.shape().width, network.kept());
        work.rows.resize(boards.len() * places, 0);
        work.sums.resize(boards.len() * width, 0.0);
        work.kept.resize(boards.len() * kept, 0.0);
        work.symmetries.resize(boards.len(), Symmetry::IDENTITY);
        let each = boards.len().div_ceil(threads).max(1);
        let parts = work.rows.chunks_mut(each * places).zip(work.sums.chunks_mut(each * width));
        let parts = parts.zip(work.kept.chunks_mut(each * kept)).zip(work.symmetries.chunks_mut(each));
        let jobs = boards.chunks(each).zip(parts).map(|(boards, (((rows, sums), kept), symmetries))| {
            move || {
                for ((board, rows), symmetry) in boards.iter().zip(rows.chunks_exact_mut(places)).zip(symmetries) {
                    *symmetry = network.places().encode(board, rows);
                }
                forward(network, &mut Part { rows, sums, kept });
            }
        });
        side_by_side(jobs);
    }

    /// The errors of all rows, and the gradient of the head, which ends up in the first of `heads`.
    fn look_back(&mut self, boards: usize) {
        let threads = self.threads_for(boards);
        let (network, work) = (&self.network, &mut self.work);
        let (width, kept, count) = (network.shape().width, network.kept(), network.shape().role.outputs());
        work.errors.resize(boards * width, 0.0);
        let groups = boards.div_ceil(GROUP).max(1);
        work.heads.resize_with(groups.max(work.heads.len()), || Head::zero(network));
        let each = groups.div_ceil(threads);
        let (sums, kept_all, gradient) = (&work.sums, &work.kept, &work.gradient);
        let errors = work.errors.chunks_mut(each * GROUP * width);
        let jobs = work.heads[..groups].chunks_mut(each).zip(errors).enumerate().map(|(job, (heads, errors))| {
            move || {
                for (i, (head, errors)) in heads.iter_mut().zip(errors.chunks_mut(GROUP * width)).enumerate() {
                    let (from, many) = ((job * each + i) * GROUP, errors.len() / width);
                    head.clear();
                    let mut back = Back {
                        sums: &sums[from * width..][..many * width],
                        kept: &kept_all[from * kept..][..many * kept],
                        gradient: &gradient[from * count..][..many * count],
                        errors,
                    };
                    backward(network, head, &mut back);
                }
            }
        });
        side_by_side(jobs);
        let (first, others) = work.heads[..groups].split_at_mut(1);
        others.iter().for_each(|head| first[0].add(head));
    }

    /// Moves the rows that the boards looked up, some tables on each thread.
    fn advance_rows(&mut self, boards: usize, rate: f32) {
        let threads = self.threads_for(boards);
        let (width, all) = (self.network.shape().width, self.network.places().count());
        let shares = self.network.places().shares(threads);
        let (work, mut jobs) = (&self.work, Vec::with_capacity(shares.len()));
        let (mut table, mut sizes, mut start) = (&mut self.network.table[..], &mut self.sizes[..], 0);
        for (places, rows) in shares {
            let (own, rest) = table.split_at_mut(rows * width);
            let (own_sizes, rest_sizes) = sizes.split_at_mut(rows);
            (table, sizes) = (rest, rest_sizes);
            let mut tables = Tables { places, start, sizes: own_sizes, table: own };
            start += rows;
            jobs.push(move || advance(&mut tables, &work.rows, all, &work.errors, width, rate));
        }
        side_by_side(jobs.into_iter());
    }
}

impl<P: Position> Network<P> for Lookup {
    fn role(&self) -> Role {
        self.network.shape().role
    }

    fn judge(&self, boards: &[P], outputs: &mut [f32]) {
        self.network.judge_boards(boards.iter(), outputs);
    }

    fn learn(&mut self, boards: &[P], rates: Rates, loss: Loss<'_>) {
        self.look(boards);
        let (count, kept, work) = (self.network.shape().role.outputs(), self.network.kept(), &mut self.work);
        work.outputs.clear();
        for (outputs, &symmetry) in work.kept.chunks_exact(kept).zip(&work.symmetries) {
            let from = work.outputs.len();
            work.outputs.extend_from_slice(&outputs[kept - count..]);
            unturn(symmetry, &mut work.outputs[from..]);
        }
        work.gradient.clear();
        work.gradient.resize(boards.len() * count, 0.0);
        loss(&work.outputs, &mut work.gradient);
        for (gradient, &symmetry) in work.gradient.chunks_exact_mut(count).zip(&work.symmetries) {
            turn(symmetry, gradient);
        }
        self.look_back(boards.len());
        self.advance_rows(boards.len(), rates.table);
        let (network, head) = (&mut self.network, &self.work.heads[0]);
        let bias = (network.bias.as_mut_slice(), head.bias.as_slice());
        self.adam.step_layers(bias, &mut network.layers, &head.layers, boards.len(), (rates.dense, rates.clip));
    }

    fn use_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    fn player(&self) -> io::Result<Arc<dyn Evaluator<P>>> {
        Ok(Arc::new(self.network.copied()?))
    }

    fn target(&self) -> io::Result<Box<dyn Network<P>>> {
        Ok(Box::new(Self::of_network(self.network.copied()?)))
    }

    fn format(&self) -> (Format, &'static str) {
        (FORMAT, "lookup")
    }

    fn save(&self, out: &mut dyn Write, facts: Metadata, more: &[Array<'_>]) -> io::Result<()> {
        let mut metadata = describe::<P>(&self.network);
        metadata.extend(facts);
        metadata.insert("adam_steps".into(), self.adam.steps.to_string());
        let moved = self.moved();
        let sizes: Vec<f32> = moved.iter().map(|&row| self.sizes[row as usize]).collect();
        let (sizes, first, second) = (bytes_of(&sizes), bytes_of(&self.adam.first), bytes_of(&self.adam.second));
        let (rows, head) = ([moved.len()], [self.adam.first.len()]);
        let mut arrays = vec![
            Array { name: "sizes", kind: Dtype::F32, shape: &rows, bytes: &sizes },
            Array { name: "adam.first", kind: Dtype::F32, shape: &head, bytes: &first },
            Array { name: "adam.second", kind: Dtype::F32, shape: &head, bytes: &second },
        ];
        arrays.extend_from_slice(more);
        write(out, &metadata, &self.network, self.network.cells(), &moved, Precision::Single, &arrays)
    }

    fn load(&mut self, saved: &Saved) -> Result<(), FileError> {
        let network = read::<P>(saved)?;
        let same = network.places().to_string() == self.network.places().to_string();
        let (found, wanted) = (network.shape(), self.network.shape());
        if !same || (found.width, &found.hidden, found.role) != (wanted.width, &wanted.hidden, wanted.role) {
            return Err(saved.refused("its network is not that of config.toml"));
        }
        let moved = rows(saved)?;
        let sizes = saved.floats("sizes", &[moved.len()])?;
        let head = self.adam.first.len();
        self.adam = Adam {
            first: saved.floats("adam.first", &[head])?,
            second: saved.floats("adam.second", &[head])?,
            steps: saved.number("adam_steps")?,
        };
        self.sizes.fill(0.0);
        moved.iter().zip(sizes).for_each(|(&row, size)| self.sizes[row as usize] = size);
        self.network = network;
        Ok(())
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
