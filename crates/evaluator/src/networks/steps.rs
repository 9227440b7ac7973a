//! The steps of a compiled network. Numbers lie cell by cell, all channels of a cell side by side; boards one after another.

use afterstate_board::Position;

use super::kernel::{PANEL, Panels, Segment};
use super::plan::{NORM_EPSILON, SIDE, Shape};
use super::winograd::{Finish, Turned, Winograd};
use crate::encode::{Encoding, index_of};
use crate::vectorised;

/// What a step does.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Input(Encoding),
    Embed {
        kinds: usize,
        vectors: Vec<f32>,
    },
    Winograd(Winograd),
    /// A product for each cell of what is made; `merged` if every cell of what is given is a row of its own.
    Product {
        panels: Panels,
        cells: Vec<Vec<Segment>>,
        merged: bool,
    },
    /// Tap by tap the weights of all channels.
    Depthwise {
        kernel: (usize, usize),
        weights: Vec<f32>,
    },
    LayerNorm {
        weight: Vec<f32>,
        bias: Vec<f32>,
    },
    MaxPool,
    Tanh,
    Copy,
}

/// A step, what it needs and what it makes, as places in the workspace.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub step: Step,
    pub from: Vec<usize>,
    pub to: usize,
    /// What it is given, if it needs to know.
    pub given: Shape,
    pub made: Shape,
    /// Added to every channel.
    pub bias: Vec<f32>,
    /// Added number by number.
    pub add: Option<usize>,
    pub relu: bool,
}

/// What a network needs on the way, kept from call to call.
#[derive(Clone, Debug, Default)]
pub struct Work {
    pub(super) places: Vec<Vec<f32>>,
    pub(super) turned: Turned,
}

impl Stage {
    /// Does the step for some boards.
    pub fn run<P: Position>(&self, boards: &[P], work: &mut Work) {
        let mut made = std::mem::take(&mut work.places[self.to]);
        made.resize(boards.len() * self.made.numbers(), 0.0);
        let given = self.from.first().map_or(&[] as &[f32], |&from| &work.places[from]);
        let add = self.add.map(|add| work.places[add].as_slice());
        let finish = Finish { bias: &self.bias, add, relu: self.relu };
        match &self.step {
            Step::Input(encoding) => {
                let each = boards.iter().zip(made.chunks_exact_mut(self.made.numbers()));
                each.for_each(|(board, made)| encoding.write(board, made));
            }
            Step::Embed { kinds, vectors } => embed(boards, *kinds, vectors, self.made, &mut made),
            Step::Winograd(winograd) => winograd.run(boards.len(), given, &mut work.turned, &finish, &mut made),
            Step::Product { panels, cells, merged } => {
                let (count, stride) = match merged {
                    true => (boards.len() * self.given.cells(), self.given.channels),
                    false => (boards.len(), self.given.numbers()),
                };
                multiply(panels, given, (count, stride), cells, &finish, &mut made);
            }
            Step::Depthwise { kernel, weights } => {
                for (given, made) in self.each_board(given, &mut made) {
                    depthwise(given, self.given, (*kernel, weights, &self.bias), made, self.made);
                }
            }
            Step::LayerNorm { weight, bias } => {
                for (given, made) in self.each_board(given, &mut made) {
                    layer_norm(given, weight, bias, made);
                }
            }
            Step::MaxPool => {
                self.each_board(given, &mut made).for_each(|(given, made)| max_pool(given, self.given, made))
            }
            Step::Tanh => made.iter_mut().zip(given).for_each(|(made, x)| *made = x.tanh()),
            Step::Copy => {
                for (board, made) in made.chunks_exact_mut(self.made.numbers()).enumerate() {
                    let mut at = 0;
                    for &from in &self.from {
                        let size = work.places[from].len() / boards.len();
                        made[at..at + size].copy_from_slice(&work.places[from][board * size..][..size]);
                        at += size;
                    }
                }
            }
        }
        if !matches!(self.step, Step::Winograd(_) | Step::Product { .. }) {
            if let Some(add) = add {
                made.iter_mut().zip(add).for_each(|(made, add)| *made += add);
            }
            if self.relu {
                made.iter_mut().for_each(|x| *x = x.max(0.0));
            }
        }
        work.places[self.to] = made;
    }

    /// What is given and made for each board.
    fn each_board<'b>(
        &self,
        given: &'b [f32],
        made: &'b mut [f32],
    ) -> impl Iterator<Item = (&'b [f32], &'b mut [f32])> {
        given.chunks_exact(self.given.numbers()).zip(made.chunks_exact_mut(self.made.numbers()))
    }
}

fn embed<P: Position>(boards: &[P], kinds: usize, vectors: &[f32], shape: Shape, made: &mut [f32]) {
    for (board, made) in boards.iter().zip(made.chunks_exact_mut(shape.numbers())) {
        for (cell, made) in made.chunks_exact_mut(shape.channels).enumerate().take(SIDE * SIDE) {
            made.copy_from_slice(&vectors[index_of(board, cell, kinds) * shape.channels..][..shape.channels]);
        }
    }
}

vectorised! {
    fn multiply / portable_multiply(
        panels: &Panels, given: &[f32], extent: (usize, usize), cells: &[Vec<Segment>], finish: &Finish<'_>, made: &mut [f32],
    ) {
        let outputs = panels.outputs();
        panels.times(given, extent, cells, |cell, row, first, sums| {
            let many = PANEL.min(outputs - first);
            let at = (row * cells.len() + cell) * outputs + first;
            let made = &mut made[at..at + many];
            let bias = &finish.bias[first..first + many];
            made.iter_mut().zip(sums.iter().zip(bias)).for_each(|(made, (sum, bias))| *made = sum + bias);
            if let Some(add) = finish.add {
                made.iter_mut().zip(&add[at..at + many]).for_each(|(made, add)| *made += add);
            }
            if finish.relu {
                made.iter_mut().for_each(|x| *x = x.max(0.0));
            }
        });
    }
}

vectorised! {
    fn depthwise / portable_depthwise(
        given: &[f32], from: Shape, layer: ((usize, usize), &[f32], &[f32]), made: &mut [f32], to: Shape,
    ) {
        let (kernel, weights, bias) = layer;
        for (cell, made) in made.chunks_exact_mut(to.channels).enumerate() {
            made.copy_from_slice(bias);
            let (row, column) = (cell / to.columns, cell % to.columns);
            for (tap, weights) in weights.chunks_exact(to.channels).enumerate() {
                let at = (row + tap / kernel.1) * from.columns + column + tap % kernel.1;
                let given = &given[at * from.channels..][..from.channels];
                made.iter_mut().zip(given.iter().zip(weights)).for_each(|(made, (x, weight))| *made += x * weight);
            }
        }
    }
}

fn layer_norm(given: &[f32], weight: &[f32], bias: &[f32], made: &mut [f32]) {
    let mean = given.iter().sum::<f32>() / given.len() as f32;
    let variance = given.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / given.len() as f32;
    let scale = 1.0 / (variance + NORM_EPSILON).sqrt();
    for ((made, x), (weight, bias)) in made.iter_mut().zip(given).zip(weight.iter().zip(bias)) {
        *made = (x - mean) * scale * weight + bias;
    }
}

fn max_pool(given: &[f32], from: Shape, made: &mut [f32]) {
    let columns = from.columns - 1;
    for (cell, made) in made.chunks_exact_mut(from.channels).enumerate() {
        let at = |tap: usize| {
            let place = (cell / columns + tap / 2) * from.columns + cell % columns + tap % 2;
            &given[place * from.channels..][..from.channels]
        };
        let (a, b, c, d) = (at(0), at(1), at(2), at(3));
        for (channel, made) in made.iter_mut().enumerate() {
            *made = a[channel].max(b[channel]).max(c[channel].max(d[channel]));
        }
    }
}
