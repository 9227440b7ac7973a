//! From a plan and its numbers to steps that run fast: norms are folded into the convolutions before them, additions and ReLU done while
//! the sums are at hand, dropout is gone, and only what the wanted outputs need is computed.

use afterstate_board::Position;

use super::direct;
use super::kernel::{Panels, Segment};
use super::model::Model;
use super::plan::{NORM_EPSILON, Node, Op, Shape};
use super::steps::{Stage, Step, Work};
use super::winograd::Winograd;

/// Boards that go through the steps together: enough to use the weights well while they are at hand, few enough for the caches.
const CHUNK: usize = 48;

/// A network compiled for play.
#[derive(Clone, Debug)]
pub struct Program {
    stages: Vec<Stage>,
    places: usize,
    /// Where the outputs are, and how many there.
    outputs: Vec<(usize, usize)>,
}

impl Program {
    /// Compiles what the outputs of these nodes need.
    pub fn new(model: &Model, wanted: &[usize]) -> Self {
        let compiler = Compiler::new(model, wanted);
        let mut stages = Vec::new();
        let mut held_by: Vec<usize> = (0..model.plan().nodes.len()).collect();
        let mut done = vec![false; held_by.len()];
        for node in 0..held_by.len() {
            if compiler.users[node] == 0 || done[node] {
                continue;
            }
            if let Op::Dropout { from, .. } = model.plan().nodes[node].op {
                held_by[node] = held_by[from];
                continue;
            }
            let (mut stage, ends) = compiler.stage(node);
            for &end in &ends {
                done[end] = true;
                held_by[end] = *ends.last().unwrap_or(&node);
            }
            stage.from.iter_mut().for_each(|from| *from = held_by[*from]);
            stage.add = stage.add.map(|add| held_by[add]);
            stages.push(stage);
        }
        let outputs: Vec<(usize, usize)> =
            wanted.iter().map(|&node| (held_by[node], model.plan().nodes[node].shape.numbers())).collect();
        let mut program = Self { stages, places: 0, outputs };
        program.share_places();
        program
    }

    /// Lets steps use places that are no longer needed.
    fn share_places(&mut self) {
        let last = |node: usize, stages: &[Stage]| {
            let uses = |stage: &Stage| stage.from.contains(&node) || stage.add == Some(node);
            stages.iter().rposition(uses)
        };
        let ends: Vec<Option<usize>> = self.stages.iter().map(|stage| last(stage.to, &self.stages)).collect();
        let kept: Vec<usize> = self.outputs.iter().map(|(node, _)| *node).collect();
        let (mut free, mut place_of): (Vec<usize>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
        let nodes: Vec<usize> = self.stages.iter().map(|stage| stage.to).collect();
        let find = |place_of: &[(usize, usize)], node: usize| {
            place_of.iter().find(|(known, _)| *known == node).map_or(0, |(_, place)| *place)
        };
        for at in 0..self.stages.len() {
            let place = free.pop().unwrap_or_else(|| {
                self.places += 1;
                self.places - 1
            });
            place_of.push((self.stages[at].to, place));
            let stage = &mut self.stages[at];
            stage.to = place;
            stage.from.iter_mut().for_each(|from| *from = find(&place_of, *from));
            stage.add = stage.add.map(|add| find(&place_of, add));
            for (node, end) in nodes.iter().zip(&ends) {
                if *end == Some(at) && !kept.contains(node) {
                    free.push(find(&place_of, *node));
                }
            }
        }
        self.outputs.iter_mut().for_each(|(node, _)| *node = find(&place_of, *node));
    }

    /// Numbers for each board.
    pub fn outputs(&self) -> usize {
        self.outputs.iter().map(|(_, numbers)| numbers).sum()
    }

    /// The outputs for each board as it lies, one board after another. They may differ in the last digits between batches of up to
    /// eight boards and larger ones; nothing else of a batch matters to a board in it.
    pub fn run<P: Position>(&self, boards: &[P], work: &mut Work, outputs: &mut [f32]) {
        let count = self.outputs();
        work.places.resize(self.places.max(work.places.len()), Vec::new());
        work.turned.few = boards.len() <= direct::MOST;
        for (boards, outputs) in boards.chunks(CHUNK).zip(outputs.chunks_mut(CHUNK * count)) {
            self.stages.iter().for_each(|stage| stage.run(boards, work));
            let mut first = 0;
            for &(place, numbers) in &self.outputs {
                let made = work.places[place].chunks_exact(numbers);
                for (outputs, made) in outputs.chunks_exact_mut(count).zip(made) {
                    outputs[first..first + numbers].copy_from_slice(made);
                }
                first += numbers;
            }
        }
    }
}

struct Compiler<'m> {
    model: &'m Model,
    nodes: &'m [Node],
    /// How many others need a node; 0 for nodes of no use.
    users: Vec<usize>,
}

/// A convolution or dense layer as weights for each output and number, before they are laid out.
struct Layer {
    weights: Vec<f32>,
    bias: Vec<f32>,
}

impl<'m> Compiler<'m> {
    fn new(model: &'m Model, wanted: &[usize]) -> Self {
        let nodes = &model.plan().nodes;
        let mut users = vec![0; nodes.len()];
        wanted.iter().for_each(|&node| users[node] += 1);
        for node in (0..nodes.len()).rev() {
            if users[node] > 0 {
                nodes[node].op.needs().iter().for_each(|&from| users[from] += 1);
            }
        }
        Self { model, nodes, users }
    }

    /// The node that alone uses this one, if it is of a kind.
    fn sole_user(&self, node: usize, kind: impl Fn(&Op) -> bool) -> Option<usize> {
        let next =
            (node + 1..self.nodes.len()).find(|&n| self.users[n] > 0 && self.nodes[n].op.needs().contains(&node));
        next.filter(|&next| self.users[node] == 1 && kind(&self.nodes[next].op))
    }

    /// The step of a node, with all that can be done along with it; and the nodes that are done then.
    fn stage(&self, node: usize) -> (Stage, Vec<usize>) {
        let (op, made) = (&self.nodes[node].op, self.nodes[node].shape);
        let from = op.needs();
        let given = from.first().map_or(made, |&from| self.nodes[from].shape);
        let mut ends = vec![node];
        let mut stage = Stage {
            step: Step::Copy,
            from,
            to: node,
            given,
            made,
            bias: vec![0.0; made.channels],
            add: None,
            relu: false,
        };
        match op {
            Op::Conv { weight, bias, .. } => {
                let bias = bias.map_or(vec![0.0; made.channels], |bias| self.model.array(bias).to_vec());
                let mut layer = Layer { weights: self.model.array(*weight).to_vec(), bias };
                if let Some(norm) = self.sole_user(node, |op| matches!(op, Op::BatchNorm { .. })) {
                    self.fold(norm, &mut layer);
                    ends.push(norm);
                }
                stage.step = self.convolution(op, given, made, &layer.weights);
                stage.bias = layer.bias;
                let end = *ends.last().unwrap_or(&node);
                if let Some(add) = self.sole_user(end, |op| matches!(op, Op::Add { .. }))
                    && let Op::Add { from } = self.nodes[add].op
                    && let Some(&other) = from.iter().find(|&&other| other < node)
                {
                    stage.add = Some(other);
                    ends.push(add);
                }
            }
            Op::Linear { from, weight, bias } => {
                stage.step = self.dense(*from, self.model.array(*weight), made.channels);
                stage.bias = self.model.array(*bias).to_vec();
            }
            _ => stage.step = self.plain_step(op, &mut stage),
        }
        let end = *ends.last().unwrap_or(&node);
        if !matches!(op, Op::Relu { .. })
            && let Some(relu) = self.sole_user(end, |op| matches!(op, Op::Relu { .. }))
        {
            stage.relu = true;
            ends.push(relu);
        }
        stage.to = *ends.last().unwrap_or(&node);
        (stage, ends)
    }

    /// The step of an operation that is no sum of products over channels.
    fn plain_step(&self, op: &Op, stage: &mut Stage) -> Step {
        match op {
            Op::Input(encoding) => Step::Input(*encoding),
            Op::Embed { kinds, weight } => Step::Embed { kinds: *kinds, vectors: self.model.array(*weight).to_vec() },
            Op::Depthwise { weight, bias, kernel, .. } => {
                let (weights, taps) = (self.model.array(*weight), kernel.0 * kernel.1);
                let channels = stage.made.channels;
                stage.bias = self.model.array(*bias).to_vec();
                let weights = (0..taps * channels).map(|i| weights[i % channels * taps + i / channels]).collect();
                Step::Depthwise { kernel: *kernel, weights }
            }
            Op::LayerNorm { from, first } => {
                let order = self.order(*from);
                let [weight, bias] = [0, 1].map(|i| {
                    let mut turned = vec![0.0; order.len()];
                    order.iter().zip(self.model.array(first + i)).for_each(|(&at, &number)| turned[at] = number);
                    turned
                });
                Step::LayerNorm { weight, bias }
            }
            Op::Tanh { .. } => Step::Tanh,
            Op::MaxPool { .. } => Step::MaxPool,
            Op::Relu { .. } => {
                stage.relu = true;
                Step::Copy
            }
            Op::Add { from: [a, b] } => {
                (stage.from, stage.add) = (vec![*a], Some(*b));
                Step::Copy
            }
            // A norm that no convolution stands before is a convolution of its own: one number for each channel.
            Op::BatchNorm { first, .. } => {
                let mut layer = Layer { weights: vec![1.0; stage.made.channels], bias: vec![0.0; stage.made.channels] };
                self.fold_arrays(*first, &mut layer);
                stage.bias = layer.bias;
                Step::Depthwise { kernel: (1, 1), weights: layer.weights }
            }
            _ => Step::Copy,
        }
    }

    /// Where each number of a node, counted channel by channel, lies in its place.
    fn order(&self, node: usize) -> Vec<usize> {
        if let Op::Join { from } = &self.nodes[node].op {
            let mut all = Vec::new();
            for &part in from {
                let first = all.len();
                all.extend(self.order(part).iter().map(|at| first + at));
            }
            return all;
        }
        let Shape { channels, .. } = self.nodes[node].shape;
        let cells = self.nodes[node].shape.cells();
        (0..channels * cells).map(|i| i % cells * channels + i / cells).collect()
    }

    fn dense(&self, from: usize, weights: &[f32], outputs: usize) -> Step {
        let order = self.order(from);
        let mut by_place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(i, &at)| by_place[at] = i);
        let inputs = order.len();
        let panels = Panels::new(outputs, 1, inputs, |output, _, number| weights[output * inputs + by_place[number]]);
        Step::Product { panels, cells: vec![vec![Segment { at: 0, part: 0 }]], merged: false }
    }

    fn convolution(&self, op: &Op, given: Shape, made: Shape, weights: &[f32]) -> Step {
        let Op::Conv { kernel, padding, .. } = *op else { return Step::Copy };
        let taps = kernel.0 * kernel.1;
        let weight = |output: usize, input: usize, tap: usize| weights[(output * given.channels + input) * taps + tap];
        if let Some(winograd) = Winograd::new(given, made.channels, (kernel, padding), weight) {
            return Step::Winograd(winograd);
        }
        let panels = Panels::new(made.channels, taps, given.channels, |output, tap, input| weight(output, input, tap));
        if taps == 1 {
            return Step::Product { panels, cells: vec![vec![Segment { at: 0, part: 0 }]], merged: true };
        }
        let segments = |cell: usize| {
            let (row, column) = (cell / made.columns, cell % made.columns);
            let place = |tap: usize| {
                let y = (row + tap / kernel.1).checked_sub(padding).filter(|&y| y < given.rows)?;
                let x = (column + tap % kernel.1).checked_sub(padding).filter(|&x| x < given.columns)?;
                Some(Segment { at: (y * given.columns + x) * given.channels, part: tap })
            };
            (0..taps).filter_map(place).collect()
        };
        Step::Product { panels, cells: (0..made.cells()).map(segments).collect(), merged: false }
    }

    /// Makes a batch norm part of the layer before it.
    fn fold(&self, norm: usize, layer: &mut Layer) {
        if let Op::BatchNorm { first, .. } = self.nodes[norm].op {
            self.fold_arrays(first, layer);
        }
    }

    fn fold_arrays(&self, first: usize, layer: &mut Layer) {
        let [weight, bias, mean, variance] = [0, 1, 2, 3].map(|i| self.model.array(first + i));
        let each = layer.weights.len() / layer.bias.len();
        for (output, weights) in layer.weights.chunks_exact_mut(each).enumerate() {
            let scale = weight[output] / (variance[output] + NORM_EPSILON).sqrt();
            weights.iter_mut().for_each(|weight| *weight *= scale);
            layer.bias[output] = (layer.bias[output] - mean[output]) * scale + bias[output];
        }
    }
}
