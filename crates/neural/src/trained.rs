//! A published network under training, behind the learners' seam. The framework computes gradients; numbers, Adam and files are ours,
//! so that a checkpoint is what the compiled inference plays and a resumed run goes on exactly.

use std::any::Any;
use std::io::{self, Write};
use std::sync::{Arc, OnceLock};

use afterstate_board::{Position, Rng};
use afterstate_evaluator::Evaluator;
use afterstate_evaluator::file::{Array, Dtype, FileError, Format, Metadata, Saved};
use afterstate_evaluator::lookup::file::bytes_of;
use afterstate_evaluator::lookup::{Role, turn, unturn};
use afterstate_evaluator::networks::{Compiled, Model, Player};
use afterstate_learn::network::{Adam, Loss, Network, Rates};
use burn::tensor::{Device, Tensor, TensorData};

use crate::graph::{leaves, pass};

/// How much of the running means and variances of batch norms a batch replaces.
const MOMENTUM: f32 = 0.1;

/// A network under training.
pub struct Trained {
    model: Model,
    adam: Adam,
    /// Where gradients are computed.
    device: Device,
    seed: u64,
    /// The network as it is now, compiled when it is first asked to judge.
    compiled: OnceLock<Compiled>,
}

impl Trained {
    /// A network to be trained on a device that keeps track of gradients; what dropout forgets is named by the seed.
    pub fn new(model: Model, device: Device, seed: u64) -> Self {
        Self { adam: Adam::new(model.plan().parameters()), model, device, seed, compiled: OnceLock::new() }
    }

    /// The network as it is.
    pub const fn model(&self) -> &Model {
        &self.model
    }

    fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| Compiled::new(&self.model, true))
    }

    /// The outputs for boards, and the gradient of all arrays that are learned, one after another in the order of the plan.
    pub fn gradients<P: Position>(&mut self, boards: &[P], loss: Loss<'_>) -> Vec<Vec<f32>> {
        let (count, seen) = (self.model.role().outputs(), self.model.seen());
        let symmetries: Vec<_> = boards.iter().map(|board| seen.through(board)).collect();
        let turned: Vec<P> = boards.iter().zip(&symmetries).map(|(board, &s)| board.transformed(s)).collect();
        let leaves = leaves(&self.model, &self.device);
        let mut rng = Rng::stream(self.seed, self.adam.steps, 1);
        let made = pass(&self.model, &leaves, &turned, Some(&mut rng));
        let mut outputs: Vec<f32> = made.outputs.to_data().try_to_vec().unwrap_or_default();
        let mut gradient = vec![0.0; outputs.len()];
        outputs.chunks_exact_mut(count).zip(&symmetries).for_each(|(outputs, &s)| unturn(s, outputs));
        loss(&outputs, &mut gradient);
        gradient.chunks_exact_mut(count).zip(&symmetries).for_each(|(gradient, &s)| turn(s, gradient));
        // Its gradient with respect to the outputs is the one that the learner gave.
        let gradient = Tensor::<2>::from_data(TensorData::new(gradient, [boards.len(), count]), &self.device);
        let mut found = (made.outputs * gradient).sum().backward();
        for (first, mean, variance) in made.met {
            for (array, met) in [(first + 2, mean), (first + 3, variance)] {
                let running = self.model.array_mut(array).iter_mut().zip(met);
                running.for_each(|(running, met)| *running += MOMENTUM * (met - *running));
            }
        }
        let arrays = self.model.plan().arrays.iter().zip(&leaves).filter(|(array, _)| array.learned);
        arrays
            .map(|(array, leaf)| {
                let gradient = leaf.grad_remove(&mut found).and_then(|gradient| gradient.into_data().try_to_vec().ok());
                gradient.unwrap_or_else(|| vec![0.0; array.numbers()])
            })
            .collect()
    }
}

impl<P: Position> Network<P> for Trained {
    fn role(&self) -> Role {
        self.model.role()
    }

    fn judge(&self, boards: &[P], outputs: &mut [f32]) {
        self.compiled().judge_boards(boards.iter(), outputs);
    }

    fn learn(&mut self, boards: &[P], rates: Rates, loss: Loss<'_>) {
        let gradients = self.gradients(boards, loss);
        let learned: Vec<bool> = self.model.plan().arrays.iter().map(|array| array.learned).collect();
        let arrays = self.model.arrays_mut().iter_mut().zip(learned).filter(|(_, learned)| *learned);
        let mut parts: Vec<(&mut [f32], &[f32])> =
            arrays.zip(&gradients).map(|((array, _), gradient)| (array.as_mut_slice(), gradient.as_slice())).collect();
        self.adam.step(&mut parts, boards.len(), rates.dense, rates.clip);
        self.compiled = OnceLock::new();
    }

    fn player(&self) -> io::Result<Arc<dyn Evaluator<P>>> {
        Ok(Arc::new(Player::new(Arc::new(Compiled::new(&self.model, false)), 1)))
    }

    fn target(&self) -> io::Result<Box<dyn Network<P>>> {
        Ok(Box::new(Self::new(self.model.clone(), self.device.clone(), self.seed)))
    }

    fn format(&self) -> (Format, &'static str) {
        (self.model.row().format(), self.model.row().name)
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
        self.model.write(out, facts, &arrays)
    }

    fn load(&mut self, saved: &Saved) -> Result<(), FileError> {
        let model = Model::read(saved, self.model.row())?;
        if model.sizes() != self.model.sizes() || model.role() != self.model.role() {
            return Err(saved.refused("its network is not that of config.toml"));
        }
        let numbers = self.adam.first.len();
        self.adam = Adam {
            first: saved.floats("adam.first", &[numbers])?,
            second: saved.floats("adam.second", &[numbers])?,
            steps: saved.number("adam_steps")?,
        };
        (self.model, self.compiled) = (model, OnceLock::new());
        Ok(())
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
