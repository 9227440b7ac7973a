//! Training of the two-core network, sparse: a board touches the rows it looks up and the head, nothing else. Rows go at a [`Pace`] of
//! their own, the head by Adam.

mod pace;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::io::{self, Write};
use std::sync::Arc;

use afterstate_board::{Position, Size, Symmetry};
use afterstate_evaluator::dense::{DenseGradient, axpy};
use afterstate_evaluator::file::{Array, Dtype, FileError, Format, Metadata, Saved};
use afterstate_evaluator::lookup::file::{FORMAT, Precision, bytes_of, describe, read, rows, write};
use afterstate_evaluator::lookup::{self, Role, Shape, ShapeError, turn, unturn};
use afterstate_evaluator::ntuple::prefetch;
use afterstate_evaluator::{Evaluator, Floats, vectorised};

use crate::side_by_side;

use super::adam::Adam;
use super::pull::{Errors, pull_back};
use super::{Loss, Network, Rates};
use pace::{Lesson, MEMORY, Tables, advance};

pub use pace::Pace;

/// A two-core network under training.
pub struct Lookup {
    network: lookup::Network,
    pace: Pace,
    /// What each row remembers of its errors, [`MEMORY`] numbers.
    memories: Floats,
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
const GROUP: usize = 32;

/// Boards that are worth being shared out among threads.
const MANY: usize = 2 * GROUP;

/// How far the numbers of a row that go through the head move beside direct ones, which learn faster: the head is to learn what they leave.
const BESIDE: f32 = 0.1;

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
            let direct = network.shape().directly();
            head.errors.at[..direct].copy_from_slice(&gradient[..direct]);
            axpy(1.0, &head.errors.at, &mut head.bias);
            errors.copy_from_slice(&head.errors.at);
            if direct > 0 {
                errors[direct..].iter_mut().for_each(|error| *error *= BESIDE);
            }
        }
    }
}

impl Lookup {
    /// A network that knows nothing yet.
    pub fn new(size: Size, shape: Shape, spread: f32, pace: Pace, seed: u64) -> Result<Self, ShapeError> {
        if pace == Pace::Coherence && shape.role.has_logits() {
            return Err(ShapeError::Refused(
                "coherence is for outputs that are values: preferences have no errors".into(),
            ));
        }
        let network = lookup::Network::random(size, shape, spread, seed)?;
        let rows = network.places().rows();
        Self::of_network(network, pace).map_err(|source| ShapeError::Memory { rows, width: MEMORY, source })
    }

    fn of_network(network: lookup::Network, pace: Pace) -> io::Result<Self> {
        let dense: usize = network.layers.iter().map(|layer| layer.parameters()).sum();
        let memories = Floats::zeroed(network.places().rows() * MEMORY)?;
        let adam = Adam::new(network.bias.len() + dense);
        Ok(Self { pace, memories, adam, network, work: Work::default(), threads: 1 })
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
        let memories = self.memories.as_chunks::<MEMORY>().0;
        (0..memories.len() as u32).filter(|&row| memories[row as usize][0] > 0.0).collect()
    }

    /// Rows, sums and all outputs of the dense layers for each board.
    fn look<P: Position>(&mut self, boards: &[P]) {
        let threads = self.threads_for(boards.len());
        let (network, memories, work) = (&self.network, &self.memories[..], &mut self.work);
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
                // The first boards' memories come too late otherwise: rows that move ask for those of boards further on.
                for &row in rows.iter().take(AHEAD * places) {
                    prefetch(memories, row as usize * MEMORY);
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
        let shares = self.network.places().shares(self.threads_for(boards));
        let (shape, work) = (self.network.shape(), &self.work);
        let lesson = Lesson {
            rows: &work.rows,
            places: self.network.places().count(),
            errors: &work.errors,
            width: shape.width,
            gradient: &work.gradient,
            outputs: shape.role.outputs(),
            rate,
            pace: self.pace,
        };
        let (lesson, mut jobs) = (&lesson, Vec::with_capacity(shares.len()));
        let (mut table, mut memories, mut start) = (&mut self.network.table[..], &mut self.memories[..], 0);
        for (places, rows) in shares {
            let (own, rest) = table.split_at_mut(rows * lesson.width);
            let (own_memories, rest_memories) = memories.split_at_mut(rows * MEMORY);
            (table, memories) = (rest, rest_memories);
            let mut tables = Tables { places, start, memories: own_memories, table: own };
            start += rows;
            jobs.push(move || advance(&mut tables, lesson));
        }
        side_by_side(jobs.into_iter());
    }
}

/// What a checkpoint holds.
impl Lookup {
    fn write(&self, size: Size, out: &mut dyn Write, facts: Metadata, more: &[Array<'_>]) -> io::Result<()> {
        let mut metadata = describe(size, &self.network);
        metadata.extend(facts);
        metadata.insert("adam_steps".into(), self.adam.steps.to_string());
        let moved = self.moved();
        let [sizes, sums] =
            [0, 1].map(|i| moved.iter().map(|&row| self.memories[row as usize * MEMORY + i]).collect::<Vec<f32>>());
        let (sizes, sums) = (bytes_of(&sizes), bytes_of(&sums));
        let (first, second) = (bytes_of(&self.adam.first), bytes_of(&self.adam.second));
        let (rows, head) = ([moved.len()], [self.adam.first.len()]);
        let mut arrays = vec![
            Array { name: "sizes", kind: Dtype::F32, shape: &rows, bytes: &sizes },
            Array { name: "adam.first", kind: Dtype::F32, shape: &head, bytes: &first },
            Array { name: "adam.second", kind: Dtype::F32, shape: &head, bytes: &second },
        ];
        if self.pace == Pace::Coherence {
            arrays.push(Array { name: "sums", kind: Dtype::F32, shape: &rows, bytes: &sums });
        }
        arrays.extend_from_slice(more);
        write(out, &metadata, &self.network, self.network.cells(), &moved, Precision::Single, &arrays)
    }

    fn read(&mut self, size: Size, saved: &Saved) -> Result<(), FileError> {
        let network = read(size, saved)?;
        let same = network.places().to_string() == self.network.places().to_string();
        let (found, wanted) = (network.shape(), self.network.shape());
        if !same
            || (found.width, &found.hidden, found.direct, found.role)
                != (wanted.width, &wanted.hidden, wanted.direct, wanted.role)
        {
            return Err(saved.refused("its network is not that of config.toml"));
        }
        let moved = rows(saved)?;
        let sizes = saved.floats("sizes", &[moved.len()])?;
        let sums = match self.pace {
            Pace::Adagrad => vec![0.0; moved.len()],
            Pace::Coherence => saved.floats("sums", &[moved.len()])?,
        };
        let head = self.adam.first.len();
        self.adam = Adam {
            first: saved.floats("adam.first", &[head])?,
            second: saved.floats("adam.second", &[head])?,
            steps: saved.number("adam_steps")?,
        };
        self.memories.fill(0.0);
        for (&row, memory) in moved.iter().zip(sizes.into_iter().zip(sums)) {
            self.memories[row as usize * MEMORY..][..MEMORY].copy_from_slice(&<[f32; MEMORY]>::from(memory));
        }
        self.network = network;
        Ok(())
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

    fn threads(&self) -> usize {
        self.threads
    }

    fn player(&self) -> io::Result<Arc<dyn Evaluator<P>>> {
        Ok(Arc::new(self.network.copied()?))
    }

    fn target(&self) -> io::Result<Box<dyn Network<P>>> {
        Ok(Box::new(Self::of_network(self.network.copied()?, self.pace)?))
    }

    fn format(&self) -> (Format, &'static str) {
        (FORMAT, "lookup")
    }

    fn save(&self, out: &mut dyn Write, facts: Metadata, more: &[Array<'_>]) -> io::Result<()> {
        self.write(P::SIZE, out, facts, more)
    }

    fn load(&mut self, saved: &Saved) -> Result<(), FileError> {
        self.read(P::SIZE, saved)
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
