//! Training of plain dense networks by hand: forward, backward and Adam. Nothing here knows what the outputs are for.

use std::any::Any;
use std::io::{self, Write};
use std::sync::Arc;

use afterstate_board::{Position, Symmetry};
use afterstate_evaluator::Evaluator;
use afterstate_evaluator::dense::{DenseGradient, layers_through};
use afterstate_evaluator::file::{Array, Dtype, FileError, Format, Metadata, Saved};
use afterstate_evaluator::lookup::file::bytes_of;
use afterstate_evaluator::lookup::{Role, turn, unturn};
use afterstate_evaluator::mlp::{self, FORMAT};
use afterstate_evaluator::vectorised;

use super::adam::Adam;
use super::pull::{Errors, pull_back};
use super::{Loss, Network, Rates};

/// A dense network under training.
pub struct Mlp {
    network: mlp::Mlp,
    adam: Adam,
    gradients: Vec<DenseGradient>,
}

/// What a batch computes on the way.
struct Batch {
    inputs: Vec<f32>,
    kept: Vec<f32>,
    symmetries: Vec<Symmetry>,
}

vectorised! {
    fn forward / portable_forward(network: &mlp::Mlp, batch: &mut Batch, sizes: (usize, usize)) {
        let (inputs, kept) = sizes;
        for (inputs, kept) in batch.inputs.chunks_exact(inputs).zip(batch.kept.chunks_exact_mut(kept)) {
            layers_through(&network.layers, inputs, kept);
        }
    }
}

vectorised! {
    fn backward / portable_backward(
        network: &mlp::Mlp, batch: &Batch, sizes: (usize, usize), gradient: &[f32], gradients: &mut [DenseGradient],
    ) {
        let (inputs, kept) = sizes;
        let mut errors = Errors::default();
        let boards = batch.inputs.chunks_exact(inputs).zip(batch.kept.chunks_exact(kept));
        for ((inputs, kept), gradient) in boards.zip(gradient.chunks_exact(network.role().outputs())) {
            pull_back(&network.layers, inputs, kept, gradient, gradients, &mut errors, false);
        }
    }
}

impl Mlp {
    /// A network to be trained.
    pub fn new(network: mlp::Mlp) -> Self {
        let gradients = network.layers.iter().map(DenseGradient::zero).collect();
        Self { adam: Adam::new(network.parameters()), network, gradients }
    }

    /// Inputs and kept numbers of a board.
    fn sizes(&self) -> (usize, usize) {
        (self.network.layers[0].inputs(), self.network.layers.iter().map(|layer| layer.outputs()).sum())
    }
}

impl<P: Position> Network<P> for Mlp {
    fn role(&self) -> Role {
        self.network.role()
    }

    fn judge(&self, boards: &[P], outputs: &mut [f32]) {
        self.network.judge_boards(boards.iter(), outputs);
    }

    fn learn(&mut self, boards: &[P], rates: Rates, loss: Loss<'_>) {
        let (count, sizes) = (self.network.role().outputs(), self.sizes());
        let mut batch = Batch {
            inputs: vec![0.0; boards.len() * sizes.0],
            kept: vec![0.0; boards.len() * sizes.1],
            symmetries: Vec::with_capacity(boards.len()),
        };
        for (board, inputs) in boards.iter().zip(batch.inputs.chunks_exact_mut(sizes.0)) {
            batch.symmetries.push(self.network.encode(board, inputs));
        }
        forward(&self.network, &mut batch, sizes);
        let mut outputs: Vec<f32> =
            batch.kept.chunks_exact(sizes.1).flat_map(|kept| &kept[sizes.1 - count..]).copied().collect();
        outputs.chunks_exact_mut(count).zip(&batch.symmetries).for_each(|(outputs, &s)| unturn(s, outputs));
        let mut gradient = vec![0.0; outputs.len()];
        loss(&outputs, &mut gradient);
        gradient.chunks_exact_mut(count).zip(&batch.symmetries).for_each(|(gradient, &s)| turn(s, gradient));
        for gradient in &mut self.gradients {
            gradient.weights.fill(0.0);
            gradient.bias.fill(0.0);
        }
        backward(&self.network, &batch, sizes, &gradient, &mut self.gradients);
        let rates = (rates.dense, rates.clip);
        self.adam.step_layers((&mut [], &[]), &mut self.network.layers, &self.gradients, boards.len(), rates);
    }

    fn player(&self) -> io::Result<Arc<dyn Evaluator<P>>> {
        Ok(Arc::new(self.network.clone()))
    }

    fn target(&self) -> io::Result<Box<dyn Network<P>>> {
        Ok(Box::new(Self::new(self.network.clone())))
    }

    fn format(&self) -> (Format, &'static str) {
        (FORMAT, "mlp")
    }

    fn save(&self, out: &mut dyn Write, mut facts: Metadata, more: &[Array<'_>]) -> io::Result<()> {
        facts.insert("adam_steps".into(), self.adam.steps.to_string());
        let (first, second) = (bytes_of(&self.adam.first), bytes_of(&self.adam.second));
        let shape = [self.adam.first.len()];
        let mut arrays = vec![
            Array { name: "adam.first", kind: Dtype::F32, shape: &shape, bytes: &first },
            Array { name: "adam.second", kind: Dtype::F32, shape: &shape, bytes: &second },
        ];
        arrays.extend_from_slice(more);
        self.network.write(P::SIZE, out, facts, &arrays)
    }

    fn load(&mut self, saved: &Saved) -> Result<(), FileError> {
        let network = mlp::Mlp::read(P::SIZE, saved)?;
        let sizes = |network: &mlp::Mlp| network.layers.iter().map(|l| (l.inputs(), l.outputs())).collect::<Vec<_>>();
        if sizes(&network) != sizes(&self.network) || network.role() != self.network.role() {
            return Err(saved.refused("its network is not that of config.toml"));
        }
        let numbers = self.adam.first.len();
        self.adam = Adam {
            first: saved.floats("adam.first", &[numbers])?,
            second: saved.floats("adam.second", &[numbers])?,
            steps: saved.number("adam_steps")?,
        };
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
    use afterstate_board::{Board, Rng, board};
    use afterstate_evaluator::encode::Encoding;

    fn boards() -> Vec<Board> {
        let mut rng = Rng::new(3);
        (0..30).map(|_| Board::from_exponents(std::array::from_fn(|_| rng.below(8) as u8))).collect()
    }

    #[test]
    fn gradients_equal_finite_differences() {
        let network = mlp::Mlp::random(Board::SIZE, Encoding::Exponents, &[11, 9], Role::Policy, 1.0, 4).unwrap();
        let mut learner = Mlp::new(network.clone());
        let board = board!(2 4 8 16 / 0 2 4 8 / 0 0 2 4 / 0 0 0 2);
        let weights = [0.3, -0.4, 0.5, 0.2, -0.1];
        let rates = Rates { table: 0.0, dense: 0.0, clip: f32::INFINITY };
        Network::<Board>::learn(&mut learner, &[board], rates, &mut |_, gradient| gradient.copy_from_slice(&weights));
        let total = |network: &mlp::Mlp| {
            let mut outputs = [0.0; 5];
            network.judge_boards([&board].into_iter(), &mut outputs);
            outputs.iter().zip(weights).map(|(y, w)| f64::from(y * w)).sum::<f64>()
        };
        for (layer, gradient) in learner.gradients.iter().enumerate() {
            for (i, found) in gradient.weights.iter().enumerate() {
                let at = |step: f32| {
                    let mut moved = network.clone();
                    moved.layers[layer].update(|weights, _| weights[i] += step);
                    total(&moved)
                };
                let expected = (at(1e-3) - at(-1e-3)) / 2e-3;
                assert!((f64::from(*found) - expected).abs() < 1e-3, "{layer} {i}: {found} {expected}");
            }
        }
    }

    #[test]
    fn one_batch_is_learned_by_heart() {
        let network = mlp::Mlp::random(Board::SIZE, Encoding::OneHot, &[64, 32], Role::Moves, 1.0, 5).unwrap();
        let (mut learner, boards) = (Mlp::new(network), boards());
        let wanted: Vec<f32> = (0..120).map(|i| (i as f32).sin()).collect();
        let (mut first, mut last) = (None, 0.0);
        let rates = Rates { table: 0.0, dense: 3e-3, clip: f32::INFINITY };
        for _ in 0..500 {
            Network::<Board>::learn(&mut learner, &boards, rates, &mut |outputs, gradient| {
                last = 0.0;
                for ((g, y), w) in gradient.iter_mut().zip(outputs).zip(&wanted) {
                    *g = y - w;
                    last += (y - w) * (y - w);
                }
                first.get_or_insert(last);
            });
        }
        assert!(last < 0.01 * first.unwrap(), "from {first:?} to {last}");
    }
}
