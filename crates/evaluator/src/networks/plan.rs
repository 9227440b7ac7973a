//! A network as a list of operations, each on what earlier ones made: the one description that the plain interpreter, the compiled
//! inference, the training graph and the ONNX export all read.

use crate::encode::Encoding;

/// Rows and columns of the boards that these networks are for.
pub const SIDE: usize = 4;

/// What an operation makes for a board: so many numbers for each cell of a map. A plain vector has one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Numbers a cell.
    pub channels: usize,
    /// Rows of the map.
    pub rows: usize,
    /// Columns of the map.
    pub columns: usize,
}

impl Shape {
    const fn vector(channels: usize) -> Self {
        Self { channels, rows: 1, columns: 1 }
    }

    /// Cells of the map.
    pub const fn cells(self) -> usize {
        self.rows * self.columns
    }

    /// Numbers in all.
    pub const fn numbers(self) -> usize {
        self.channels * self.cells()
    }
}

/// How an array begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// Uniform at random, up to this size.
    Random(f32),
    /// All the same.
    Constant(f32),
}

/// One array of numbers that a network is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Its name in files, as in a PyTorch module of the same structure.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// How it begins.
    pub start: Start,
    /// Is it learned by gradients? The running means and variances of batch norms are not.
    pub learned: bool,
}

impl Array {
    /// Numbers in it.
    pub fn numbers(&self) -> usize {
        self.shape.iter().product()
    }
}

/// What a node does. `from` are nodes; `weight`, `bias` and `first` are arrays.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the line above names the fields that all variants share")]
pub enum Op {
    /// The board as numbers.
    Input(Encoding),
    /// A vector looked up for each cell by its tile, of so many kinds.
    Embed { kinds: usize, weight: usize },
    /// A convolution; weights are `[outputs, inputs, rows, columns]`, `padding` zeros on all sides.
    Conv { from: usize, weight: usize, bias: Option<usize>, kernel: (usize, usize), padding: usize },
    /// A convolution of each channel with a kernel of its own, without padding; weights are `[channels, 1, rows, columns]`.
    Depthwise { from: usize, weight: usize, bias: usize, kernel: (usize, usize) },
    /// Batch norm: weight, bias, running mean and running variance are four arrays from `first`.
    BatchNorm { from: usize, first: usize },
    /// Layer norm over all numbers of a board: weight and bias are two arrays from `first`.
    LayerNorm { from: usize, first: usize },
    /// Negative numbers become 0.
    Relu { from: usize },
    /// The hyperbolic tangent.
    Tanh { from: usize },
    /// The largest of each 2x2 square, channel by channel.
    MaxPool { from: usize },
    /// A dense layer on all numbers, channel by channel; weights are `[outputs, inputs]`.
    Linear { from: usize, weight: usize, bias: usize },
    /// All numbers of several nodes, one node after another, each channel by channel.
    Join { from: Vec<usize> },
    /// The sum of two nodes of one shape.
    Add { from: [usize; 2] },
    /// Forgets a share of the numbers while it is trained; does nothing else.
    Dropout { from: usize, share: f32 },
}

impl Op {
    /// The nodes it needs.
    pub fn needs(&self) -> Vec<usize> {
        match self {
            Self::Input(_) | Self::Embed { .. } => Vec::new(),
            Self::Join { from } => from.clone(),
            Self::Add { from } => from.to_vec(),
            Self::Conv { from, .. }
            | Self::Depthwise { from, .. }
            | Self::BatchNorm { from, .. }
            | Self::LayerNorm { from, .. }
            | Self::Relu { from }
            | Self::Tanh { from }
            | Self::MaxPool { from }
            | Self::Linear { from, .. }
            | Self::Dropout { from, .. } => vec![*from],
        }
    }
}

/// An operation and the shape of what it makes.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it does.
    pub op: Op,
    /// What it makes.
    pub shape: Shape,
}

/// Added to variances, as PyTorch does.
pub const NORM_EPSILON: f32 = 1e-5;

/// How weights begin that ReLU follows (He's initialisation for uniform numbers).
pub const RELU: f32 = 2.449_489_7;
/// How weights of the last layers begin: outputs are small at first.
pub const LAST: f32 = 0.3;

/// The operations of a network, in an order in which they can be done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The operations.
    pub nodes: Vec<Node>,
    /// The arrays that they use.
    pub arrays: Vec<Array>,
    /// The nodes whose numbers, one node after another, are the outputs.
    pub outputs: Vec<usize>,
}

impl Plan {
    fn push(&mut self, op: Op, shape: Shape) -> usize {
        self.nodes.push(Node { op, shape });
        self.nodes.len() - 1
    }

    fn array(&mut self, name: &str, shape: &[usize], start: Start, learned: bool) -> usize {
        self.arrays.push(Array { name: name.to_owned(), shape: shape.to_vec(), start, learned });
        self.arrays.len() - 1
    }

    fn shape(&self, node: usize) -> Shape {
        self.nodes[node].shape
    }

    /// Numbers that are learned.
    pub fn parameters(&self) -> usize {
        self.arrays.iter().filter(|array| array.learned).map(Array::numbers).sum()
    }

    /// The board as numbers.
    pub fn input(&mut self, encoding: Encoding) -> usize {
        self.push(Op::Input(encoding), Shape { channels: encoding.planes(), rows: SIDE, columns: SIDE })
    }

    /// A vector for each cell.
    pub fn embed(&mut self, name: &str, kinds: usize, channels: usize) -> usize {
        let weight = self.array(&format!("{name}.weight"), &[kinds, channels], Start::Random(1.0), true);
        self.push(Op::Embed { kinds, weight }, Shape { channels, rows: SIDE, columns: SIDE })
    }

    /// A convolution with or without biases.
    pub fn conv(
        &mut self,
        name: &str,
        from: usize,
        channels: usize,
        side: usize,
        padding: usize,
        biased: bool,
    ) -> usize {
        let shape = self.shape(from);
        let size = RELU / ((shape.channels * side * side) as f32).sqrt();
        let dimensions = [channels, shape.channels, side, side];
        let weight = self.array(&format!("{name}.weight"), &dimensions, Start::Random(size), true);
        let bias = biased.then(|| self.array(&format!("{name}.bias"), &[channels], Start::Constant(0.0), true));
        let (rows, columns) = (shape.rows + 2 * padding + 1 - side, shape.columns + 2 * padding + 1 - side);
        let op = Op::Conv { from, weight, bias, kernel: (side, side), padding };
        self.push(op, Shape { channels, rows, columns })
    }

    /// A convolution of each channel for itself.
    pub fn depthwise(&mut self, name: &str, from: usize, kernel: (usize, usize)) -> usize {
        let shape = self.shape(from);
        let size = RELU / ((kernel.0 * kernel.1) as f32).sqrt();
        let dimensions = [shape.channels, 1, kernel.0, kernel.1];
        let weight = self.array(&format!("{name}.weight"), &dimensions, Start::Random(size), true);
        let bias = self.array(&format!("{name}.bias"), &[shape.channels], Start::Constant(0.0), true);
        let made = Shape { rows: shape.rows + 1 - kernel.0, columns: shape.columns + 1 - kernel.1, ..shape };
        self.push(Op::Depthwise { from, weight, bias, kernel }, made)
    }

    /// Batch norm.
    pub fn batch_norm(&mut self, name: &str, from: usize) -> usize {
        let shape = self.shape(from);
        let arrays =
            [("weight", 1.0, true), ("bias", 0.0, true), ("running_mean", 0.0, false), ("running_var", 1.0, false)];
        let first = self.arrays.len();
        for (part, value, learned) in arrays {
            self.array(&format!("{name}.{part}"), &[shape.channels], Start::Constant(value), learned);
        }
        self.push(Op::BatchNorm { from, first }, shape)
    }

    /// Layer norm.
    pub fn layer_norm(&mut self, name: &str, from: usize) -> usize {
        let shape = self.shape(from);
        let dimensions = [shape.channels, shape.rows, shape.columns];
        let first = self.array(&format!("{name}.weight"), &dimensions, Start::Constant(1.0), true);
        self.array(&format!("{name}.bias"), &dimensions, Start::Constant(0.0), true);
        self.push(Op::LayerNorm { from, first }, shape)
    }

    /// A dense layer.
    pub fn linear(&mut self, name: &str, from: usize, outputs: usize, gain: f32) -> usize {
        let inputs = self.shape(from).numbers();
        let start = Start::Random(gain / (inputs as f32).sqrt());
        let weight = self.array(&format!("{name}.weight"), &[outputs, inputs], start, true);
        let bias = self.array(&format!("{name}.bias"), &[outputs], Start::Constant(0.0), true);
        self.push(Op::Linear { from, weight, bias }, Shape::vector(outputs))
    }

    /// ReLU.
    pub fn relu(&mut self, from: usize) -> usize {
        self.push(Op::Relu { from }, self.shape(from))
    }

    /// The hyperbolic tangent.
    pub fn tanh(&mut self, from: usize) -> usize {
        self.push(Op::Tanh { from }, self.shape(from))
    }

    /// The largest of each 2x2 square.
    pub fn max_pool(&mut self, from: usize) -> usize {
        let shape = self.shape(from);
        self.push(Op::MaxPool { from }, Shape { rows: shape.rows - 1, columns: shape.columns - 1, ..shape })
    }

    /// Forgets a share while it is trained.
    pub fn dropout(&mut self, from: usize, share: f32) -> usize {
        self.push(Op::Dropout { from, share }, self.shape(from))
    }

    /// The sum of two nodes.
    pub fn add(&mut self, a: usize, b: usize) -> usize {
        self.push(Op::Add { from: [a, b] }, self.shape(a))
    }

    /// Several nodes as one vector.
    pub fn join(&mut self, from: &[usize]) -> usize {
        let numbers = from.iter().map(|&node| self.shape(node).numbers()).sum();
        self.push(Op::Join { from: from.to_vec() }, Shape::vector(numbers))
    }
}
