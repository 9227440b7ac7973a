//! Training of the two-core network, sparse: a board touches the rows it looks up and the head, nothing else. Rows go by Adagrad with one
//! rate a row, the head by Adam.

use std::any::Any;
use std::io::{self, Write};
use std::sync::Arc;

use afterstate_board::{Position, Symmetry};
use afterstate_evaluator::dense::{DenseGradient, axpy, dot};
use afterstate_evaluator::file::{Array, Dtype, FileError, Format, Metadata, Saved};
use afterstate_evaluator::lookup::file::{FORMAT, Precision, bytes_of, describe, read, rows, write};
use afterstate_evaluator::lookup::{self, Role, Shape, ShapeError, turn, unturn};
use afterstate_evaluator::{Evaluator, vectorised};

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
    layers: Vec<DenseGradient>,
    bias: Vec<f32>,
    errors: Errors,
}

/// Boards whose rows are asked for before the first of them is needed.
const AHEAD: usize = 16;

vectorised! {
    fn forward / portable_forward(network: &lookup::Network, work: &mut Work) {
        let (places, width, kept) = (network.places().count(), network.shape().width, network.kept());
        let boards = work.rows.len() / places;
        for board in 0..boards.min(AHEAD) {
            network.ask_for(&work.rows[board * places..][..places]);
        }
        for board in 0..boards {
            if board + AHEAD < boards {
                network.ask_for(&work.rows[(board + AHEAD) * places..][..places]);
            }
            let rows = &work.rows[board * places..][..places];
            network.forward(rows, &mut work.sums[board * width..][..width], &mut work.kept[board * kept..][..kept]);
        }
    }
}

vectorised! {
    /// Moves the rows of every board and gathers the gradient of the head.
    fn backward / portable_backward(network: &mut lookup::Network, sizes: &mut [f32], work: &mut Work, rate: f32) {
        let (places, width, kept) = (network.places().count(), network.shape().width, network.kept());
        let count = network.shape().role.outputs();
        let boards = work.rows.len() / places;
        for board in 0..boards {
            let gradient = &work.gradient[board * count..][..count];
            if gradient.iter().all(|&g| g == 0.0) {
                continue;
            }
            let (sum, kept) = (&work.sums[board * width..][..width], &work.kept[board * kept..][..kept]);
            pull_back(&network.layers, sum, kept, gradient, &mut work.layers, &mut work.errors, true);
            let errors = &work.errors.at;
            axpy(1.0, errors, &mut work.bias);
            let size = dot(errors, errors) / width as f32;
            for &row in &work.rows[board * places..][..places] {
                let row = row as usize;
                sizes[row] += size;
                axpy(-rate / (sizes[row] + EPSILON).sqrt(), errors, &mut network.table[row * width..][..width]);
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
        let work = Work { layers: network.layers.iter().map(DenseGradient::zero).collect(), ..Work::default() };
        Self { sizes: vec![0.0; network.places().rows()], adam: Adam::new(network.bias.len() + dense), network, work }
    }

    /// The network as it is.
    pub const fn network(&self) -> &lookup::Network {
        &self.network
    }

    /// The rows that were ever moved.
    pub fn moved(&self) -> Vec<u32> {
        (0..self.sizes.len() as u32).filter(|&row| self.sizes[row as usize] > 0.0).collect()
    }

    fn prepare<P: Position>(&mut self, boards: &[P]) {
        let (network, work) = (&self.network, &mut self.work);
        let (places, width) = (network.places().count(), network.shape().width);
        work.rows.resize(boards.len() * places, 0);
        work.sums.resize(boards.len() * width, 0.0);
        work.kept.resize(boards.len() * network.kept(), 0.0);
        work.symmetries.clear();
        for (board, rows) in boards.iter().zip(work.rows.chunks_exact_mut(places)) {
            work.symmetries.push(network.places().encode(board, rows));
        }
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
        self.prepare(boards);
        let work = &mut self.work;
        forward(&self.network, work);
        let (count, kept) = (self.network.shape().role.outputs(), self.network.kept());
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
        for gradient in &mut work.layers {
            gradient.weights.fill(0.0);
            gradient.bias.fill(0.0);
        }
        work.bias.clear();
        work.bias.resize(self.network.shape().width, 0.0);
        backward(&mut self.network, &mut self.sizes, work, rates.table);
        let network = &mut self.network;
        let bias = (network.bias.as_mut_slice(), work.bias.as_slice());
        self.adam.step_layers(bias, &mut network.layers, &work.layers, boards.len(), (rates.dense, rates.clip));
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

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::{Board, Rng, SpawnRule};

    fn boards(count: usize) -> Vec<Board> {
        let (mut rng, rule) = (Rng::new(4), SpawnRule::CLASSIC);
        let mut board = Board::start(&rule, &mut rng);
        let next = |_| {
            let legal = board.legal();
            board = match legal.len() {
                0 => Board::start(&rule, &mut rng),
                n => board.slide(legal.nth(rng.below(n as u32) as usize)).unwrap().after.sample(&rule, &mut rng),
            };
            board
        };
        (0..count).map(next).collect()
    }

    fn small(role: Role) -> Lookup {
        let shape = Shape { places: "0123 4567 cdef 37bf".into(), width: 16, hidden: vec![12], role, unit: 1.0 };
        Lookup::new::<Board>(shape, 0.3, 2).unwrap()
    }

    /// A weighted sum of all outputs: its gradient is known.
    fn total(network: &lookup::Network, boards: &[Board], weights: &[f32]) -> f64 {
        let mut outputs = vec![0.0; weights.len()];
        network.judge_boards(boards.iter(), &mut outputs);
        outputs.iter().zip(weights).map(|(y, w)| f64::from(y * w)).sum()
    }

    /// What one plain step of the learner would change, found by looking at how it changes things: Adagrad's first step of a row is the
    /// rate along the gradient over its length, so that gradients are compared by direction, and the head by Adam's running mean.
    #[test]
    fn gradients_equal_finite_differences() {
        for role in [Role::Value, Role::Moves, Role::Policy] {
            let mut lookup = small(role);
            let board = boards(60)[50];
            let mut rng = Rng::new(9);
            let weights: Vec<f32> = (0..role.outputs()).map(|_| rng.unit() as f32 - 0.5).collect();
            let before = lookup.network.copied().unwrap();
            let rates = Rates { table: 1e-3, dense: 0.0, clip: f32::INFINITY };
            Network::<Board>::learn(&mut lookup, &[board], rates, &mut |_, gradient| {
                gradient.copy_from_slice(&weights)
            });
            let slope = |change: &dyn Fn(&mut lookup::Network, f32)| {
                let at = |step: f32| {
                    let mut moved = before.copied().unwrap();
                    change(&mut moved, step);
                    total(&moved, &[board], &weights)
                };
                (at(1e-3) - at(-1e-3)) / 2e-3
            };
            let mut rows = [0; 4];
            before.places().encode(&board, &mut rows);
            let expected: Vec<f64> = (0..16)
                .map(|lane| slope(&|network, step| network.table[rows[0] as usize * 16 + lane] += step))
                .collect();
            let size = (expected.iter().map(|x| x * x).sum::<f64>() / 16.0).sqrt();
            for (lane, expected) in expected.iter().enumerate() {
                let at = rows[0] as usize * 16 + lane;
                let moved = f64::from(lookup.network.table[at] - before.table[at]);
                assert!((moved + 1e-3 * expected / size).abs() < 2e-5, "{role:?} {lane}: {moved}");
            }
            // Adam's first mean is a tenth of the gradient: bias, then each layer's weights and biases.
            let mut at = 16;
            for layer in 0..2 {
                let many = before.layers[layer].weights().len();
                for i in (0..many).step_by(7) {
                    let expected =
                        slope(&|network, step| network.layers[layer].update(|weights, _| weights[i] += step));
                    assert!(
                        (f64::from(lookup.adam.first[at + i]) - 0.1 * expected).abs() < 1e-4,
                        "{role:?} {layer} {i}"
                    );
                }
                at += many + before.layers[layer].outputs();
            }
            for lane in 0..16 {
                let expected = slope(&|network, step| network.bias[lane] += step);
                assert!((f64::from(lookup.adam.first[lane]) - 0.1 * expected).abs() < 1e-4);
            }
        }
    }

    #[test]
    fn one_batch_is_learned_by_heart() {
        for role in [Role::Value, Role::Moves] {
            let mut lookup = small(role);
            let boards: Vec<Board> = boards(3_000).into_iter().step_by(97).collect();
            let mut rng = Rng::new(1);
            let wanted: Vec<f32> = (0..boards.len() * role.outputs()).map(|_| 2.0 * rng.unit() as f32 - 1.0).collect();
            let (mut first, mut last) = (None, 0.0);
            let rates = Rates { table: 0.03, dense: 1e-3, clip: f32::INFINITY };
            for _ in 0..600 {
                Network::<Board>::learn(&mut lookup, &boards, rates, &mut |outputs, gradient| {
                    last = 0.0;
                    for ((g, y), w) in gradient.iter_mut().zip(outputs).zip(&wanted) {
                        *g = y - w;
                        last += (y - w) * (y - w);
                    }
                    first.get_or_insert(last);
                });
            }
            assert!(last < 0.01 * first.unwrap(), "{role:?}: from {first:?} to {last}");
        }
    }

    #[test]
    fn both_compilations_learn_the_same() {
        let (mut fast, mut slow) = (small(Role::Policy), small(Role::Policy));
        let boards = boards(100);
        let gradient: Vec<f32> = (0..500).map(|i| (i as f32).sin()).collect();
        for lookup in [&mut fast, &mut slow] {
            lookup.prepare(&boards);
            lookup.work.gradient = gradient.clone();
            lookup.work.bias = vec![0.0; 16];
        }
        forward(&fast.network, &mut fast.work);
        portable_forward(&slow.network, &mut slow.work);
        assert_eq!(fast.work.kept, slow.work.kept);
        backward(&mut fast.network, &mut fast.sizes, &mut fast.work, 0.1);
        portable_backward(&mut slow.network, &mut slow.sizes, &mut slow.work, 0.1);
        assert!(fast.network.table[..] == slow.network.table[..] && fast.work.layers == slow.work.layers);
    }
}
