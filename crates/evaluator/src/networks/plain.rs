//! The plain interpreter: every operation as it is defined, one board at a time, channel by channel. Slow and easy to check: what the
//! compiled inference is tested against and measured beside.

use afterstate_board::Position;

use super::model::Model;
use super::plan::{NORM_EPSILON, Op, SIDE, Shape};
use crate::encode::index_of;

/// The outputs for a board as it lies.
pub fn outputs<P: Position>(model: &Model, board: &P) -> Vec<f32> {
    let plan = model.plan();
    let mut made: Vec<Vec<f32>> = Vec::with_capacity(plan.nodes.len());
    for node in &plan.nodes {
        let numbers = apply(model, board, &node.op, node.shape, &made);
        made.push(numbers);
    }
    plan.outputs.iter().flat_map(|&node| made[node].iter().copied()).collect()
}

fn apply<P: Position>(model: &Model, board: &P, op: &Op, shape: Shape, made: &[Vec<f32>]) -> Vec<f32> {
    let array = |array: usize| model.array(array);
    let given = |from: usize| (&made[from], model.plan().nodes[from].shape);
    match op {
        Op::Input(encoding) => {
            let mut by_cell = vec![0.0; shape.numbers()];
            encoding.write(board, &mut by_cell);
            (0..shape.numbers()).map(|i| by_cell[i % shape.cells() * shape.channels + i / shape.cells()]).collect()
        }
        Op::Embed { kinds, weight } => {
            let vector = |cell: usize| &array(*weight)[index_of(board, cell, *kinds) * shape.channels..];
            (0..shape.channels).flat_map(|c| (0..SIDE * SIDE).map(move |cell| vector(cell)[c])).collect()
        }
        Op::Conv { from, weight, bias, kernel, padding } => {
            let ((x, of), w) = (given(*from), array(*weight));
            let taps = kernel.0 * kernel.1;
            each(shape, |channel, row, column| {
                let weights = &w[channel * of.channels * taps..][..of.channels * taps];
                let mut sum = bias.map_or(0.0, |bias| array(bias)[channel]);
                for (i, weight) in weights.iter().enumerate() {
                    let (input, dy, dx) = (i / taps, i % taps / kernel.1, i % kernel.1);
                    let (y, x_at) = ((row + dy).wrapping_sub(*padding), (column + dx).wrapping_sub(*padding));
                    if y < of.rows && x_at < of.columns {
                        sum += weight * x[(input * of.rows + y) * of.columns + x_at];
                    }
                }
                sum
            })
        }
        Op::Depthwise { from, weight, bias, kernel } => {
            let ((x, of), w) = (given(*from), array(*weight));
            each(shape, |channel, row, column| {
                let weights = &w[channel * kernel.0 * kernel.1..];
                let taps = (0..kernel.0).flat_map(|dy| (0..kernel.1).map(move |dx| (dy, dx)));
                let at = |dy: usize, dx: usize| x[(channel * of.rows + row + dy) * of.columns + column + dx];
                array(*bias)[channel] + taps.map(|(dy, dx)| weights[dy * kernel.1 + dx] * at(dy, dx)).sum::<f32>()
            })
        }
        Op::BatchNorm { from, first } => {
            let [weight, bias, mean, variance] = [0, 1, 2, 3].map(|i| array(first + i));
            let normal = |(i, x): (usize, &f32)| {
                let c = i / shape.cells();
                (x - mean[c]) / (variance[c] + NORM_EPSILON).sqrt() * weight[c] + bias[c]
            };
            given(*from).0.iter().enumerate().map(normal).collect()
        }
        Op::LayerNorm { from, first } => {
            let (x, _) = given(*from);
            let mean = x.iter().sum::<f32>() / x.len() as f32;
            let variance = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / x.len() as f32;
            let scale = 1.0 / (variance + NORM_EPSILON).sqrt();
            let parts = array(*first).iter().zip(array(first + 1));
            x.iter().zip(parts).map(|(x, (weight, bias))| (x - mean) * scale * weight + bias).collect()
        }
        Op::Relu { from } => made[*from].iter().map(|x| x.max(0.0)).collect(),
        Op::Tanh { from } => made[*from].iter().map(|x| x.tanh()).collect(),
        Op::MaxPool { from } => {
            let (x, of) = given(*from);
            each(shape, |channel, row, column| {
                let at = |dy: usize, dx: usize| x[(channel * of.rows + row + dy) * of.columns + column + dx];
                at(0, 0).max(at(0, 1)).max(at(1, 0).max(at(1, 1)))
            })
        }
        Op::Linear { from, weight, bias } => {
            let (x, _) = given(*from);
            let rows = array(*weight).chunks_exact(x.len()).zip(array(*bias));
            rows.map(|(row, bias)| bias + row.iter().zip(x).map(|(w, x)| w * x).sum::<f32>()).collect()
        }
        Op::Join { from } => from.iter().flat_map(|&node| made[node].iter().copied()).collect(),
        Op::Add { from: [a, b] } => made[*a].iter().zip(&made[*b]).map(|(a, b)| a + b).collect(),
        Op::Dropout { from, .. } => made[*from].clone(),
    }
}

/// The numbers of a map, channel by channel.
fn each(shape: Shape, number: impl Fn(usize, usize, usize) -> f32) -> Vec<f32> {
    let place = |i: usize| (i / shape.cells(), i % shape.cells() / shape.columns, i % shape.columns);
    (0..shape.numbers()).map(place).map(|(channel, row, column)| number(channel, row, column)).collect()
}
