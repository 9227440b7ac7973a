//! A network's plan as operations of the framework: the graph that is trained. Numbers lie channel by channel here, as the framework
//! wants them.

use afterstate_board::{Position, Rng};
use afterstate_evaluator::encode::index_of;
use afterstate_evaluator::networks::Model;
use afterstate_evaluator::networks::plan::{NORM_EPSILON, Op, SIDE, Shape};
use burn::tensor::module::{batch_norm, batch_norm_train, conv2d, embedding, layer_norm, linear, max_pool2d};
use burn::tensor::ops::{ConvOptions, MaxPoolOptions};
use burn::tensor::{Device, Int, Tensor, TensorData, activation};

/// The mean and the variance that a batch norm met: its first array, and both for each channel.
pub type Met = (usize, Vec<f32>, Vec<f32>);

/// What a pass through the graph makes.
pub struct Pass {
    /// For each board its outputs.
    pub outputs: Tensor<2>,
    /// What the batch norms met, if the pass is one of learning.
    pub met: Vec<Met>,
}

/// The arrays of a network on a device, each as one row of numbers; those that are learned ask for gradients.
pub fn leaves(model: &Model, device: &Device) -> Vec<Tensor<1>> {
    let arrays = model.plan().arrays.iter().enumerate();
    let leaf = |(i, array): (usize, &afterstate_evaluator::networks::plan::Array)| {
        let leaf = Tensor::from_data(TensorData::new(model.array(i).to_vec(), [array.numbers()]), device);
        if array.learned && device.is_autodiff() { leaf.require_grad() } else { leaf }
    };
    arrays.map(leaf).collect()
}

/// A pass through the graph: with `rng`, one of learning, in which batch norms go by the batch and dropout forgets.
pub fn pass<P: Position>(model: &Model, leaves: &[Tensor<1>], boards: &[P], rng: Option<&mut Rng>) -> Pass {
    let plan = model.plan();
    let mut graph = Graph { model, leaves, made: Vec::with_capacity(plan.nodes.len()), met: Vec::new(), rng };
    for node in &plan.nodes {
        let tensor = graph.apply(&node.op, node.shape, boards);
        graph.made.push(tensor);
    }
    let parts = plan.outputs.iter().map(|&node| flat(&graph.made[node])).collect();
    Pass { outputs: Tensor::cat(parts, 1), met: graph.met }
}

struct Graph<'g> {
    model: &'g Model,
    leaves: &'g [Tensor<1>],
    made: Vec<Tensor<4>>,
    met: Vec<Met>,
    rng: Option<&'g mut Rng>,
}

/// All numbers of a board in a row.
fn flat(tensor: &Tensor<4>) -> Tensor<2> {
    let [boards, channels, rows, columns] = tensor.dims();
    tensor.clone().reshape([boards, channels * rows * columns])
}

fn numbers(tensor: Tensor<1>) -> Vec<f32> {
    tensor.into_data().try_to_vec().unwrap_or_default()
}

impl Graph<'_> {
    fn leaf<const D: usize>(&self, array: usize) -> Tensor<D> {
        let shape: [usize; D] = self.model.plan().arrays[array].shape.clone().try_into().unwrap_or([0; D]);
        self.leaves[array].clone().reshape(shape)
    }

    fn apply<P: Position>(&mut self, op: &Op, shape: Shape, boards: &[P]) -> Tensor<4> {
        let made = [boards.len(), shape.channels, shape.rows, shape.columns];
        match op {
            Op::Input(encoding) => {
                let mut by_cell = vec![0.0; boards.len() * shape.numbers()];
                for (board, inputs) in boards.iter().zip(by_cell.chunks_exact_mut(shape.numbers())) {
                    encoding.write(board, inputs);
                }
                let by_cell = TensorData::new(by_cell, [boards.len(), SIDE, SIDE, shape.channels]);
                Tensor::<4>::from_data(by_cell, &self.device()).permute([0, 3, 1, 2])
            }
            Op::Embed { kinds, weight } => {
                let cells = |board: &P| (0..SIDE * SIDE).map(|c| index_of(board, c, *kinds) as i64).collect::<Vec<_>>();
                let indices: Vec<i64> = boards.iter().flat_map(cells).collect();
                let indices = TensorData::new(indices, [boards.len(), SIDE * SIDE]);
                let indices = Tensor::<2, Int>::from_data(indices, &self.device());
                embedding(self.leaf(*weight), indices).swap_dims(1, 2).reshape(made)
            }
            Op::Conv { from, weight, bias, padding, .. } => {
                let options = ConvOptions::new([1, 1], [*padding; 2], [1, 1], 1);
                conv2d(self.made[*from].clone(), self.leaf(*weight), bias.map(|bias| self.leaf(bias)), options)
            }
            Op::Depthwise { from, weight, bias, .. } => {
                let options = ConvOptions::new([1, 1], [0, 0], [1, 1], shape.channels);
                conv2d(self.made[*from].clone(), self.leaf(*weight), Some(self.leaf(*bias)), options)
            }
            Op::BatchNorm { from, first } => self.batch_norm(*from, *first),
            Op::LayerNorm { from, first } => {
                let [weight, bias] = [0, 1].map(|i| self.leaves[first + i].clone());
                layer_norm(flat(&self.made[*from]), weight, Some(bias), f64::from(NORM_EPSILON)).reshape(made)
            }
            Op::Relu { from } => activation::relu(self.made[*from].clone()),
            Op::Tanh { from } => self.made[*from].clone().tanh(),
            Op::MaxPool { from } => {
                let options = MaxPoolOptions::new([2, 2]).with_stride([1, 1]);
                max_pool2d(self.made[*from].clone(), options)
            }
            Op::Linear { from, weight, bias } => {
                let weight = self.leaf::<2>(*weight).transpose();
                linear(flat(&self.made[*from]), weight, Some(self.leaf(*bias))).reshape(made)
            }
            Op::Join { from } => {
                let parts = from.iter().map(|&node| flat(&self.made[node])).collect();
                Tensor::cat(parts, 1).reshape(made)
            }
            Op::Add { from: [a, b] } => self.made[*a].clone() + self.made[*b].clone(),
            Op::Dropout { from, share } => self.dropout(*from, *share),
        }
    }

    fn device(&self) -> Device {
        self.leaves[0].device()
    }

    fn batch_norm(&mut self, from: usize, first: usize) -> Tensor<4> {
        let given = self.made[from].clone();
        let [weight, bias, mean, variance] = [0, 1, 2, 3].map(|i| self.leaves[first + i].clone());
        let epsilon = f64::from(NORM_EPSILON);
        if self.rng.is_none() {
            return batch_norm(given, weight, bias, mean, variance, epsilon);
        }
        let [boards, _, rows, columns] = given.dims();
        let met = batch_norm_train(given, weight, bias, epsilon);
        // The variance that is remembered is that of the boards at large, as PyTorch has it.
        let count = (boards * rows * columns) as f32;
        let unbiased = count / (count - 1.0).max(1.0);
        let variance = numbers(met.variance).iter().map(|variance| variance * unbiased).collect();
        self.met.push((first, numbers(met.mean), variance));
        met.output
    }

    fn dropout(&mut self, from: usize, share: f32) -> Tensor<4> {
        let given = self.made[from].clone();
        let device = self.device();
        let Some(rng) = self.rng.as_deref_mut().filter(|_| share > 0.0) else { return given };
        let dims = given.dims();
        let mut kept = || if rng.unit() < f64::from(share) { 0.0 } else { 1.0 / (1.0 - share) };
        let mask: Vec<f32> = (0..dims.iter().product()).map(|_| kept()).collect();
        given * Tensor::<4>::from_data(TensorData::new(mask, dims), &device)
    }
}
