//! Convolutions on the 4x4 board by Winograd's way (Lavin and Gray 2016): maps are turned into sums of which each meets one number of
//! the kernel, turned likewise, so that fewer products are needed and the sums over channels become products of matrices. Here a 2x2
//! kernel, whose 3x3 outputs take 16 products instead of 36; [`super::whole`] does 3x3 kernels, unless boards are few.

use super::direct::Direct;
use super::kernel::{PANEL, Panels, Segment};
use super::plan::{SIDE, Shape};
use super::whole::Whole;
use crate::vectorised;

/// Channels turned side by side.
pub(super) const LANES: usize = 8;

/// A convolution on the 4x4 board.
#[derive(Clone, Debug)]
pub(super) enum Winograd {
    Two(Two),
    Three { few: Direct, many: Whole },
}

/// What a convolution needs on the way.
#[derive(Clone, Debug, Default)]
pub(super) struct Turned {
    /// Are boards few, [`super::direct::MOST`] at most? Said of a whole batch, so that a board's outputs do not depend on its place in it.
    pub few: bool,
    pub squares: Vec<f32>,
    pub products: Vec<f32>,
}

/// What is done with the sums: a bias for each channel, numbers to be added, ReLU.
pub(super) struct Finish<'f> {
    pub bias: &'f [f32],
    pub add: Option<&'f [f32]>,
    pub relu: bool,
}

impl Finish<'_> {
    /// Writes what the sums of a place become.
    #[inline(always)]
    pub fn store(&self, made: &mut [f32], at: usize, many: usize, sums: [f32; LANES], bias: [f32; LANES]) {
        let add = self.add.map_or([0.0; LANES], |add| read(add, at, many));
        let sums: [f32; LANES] = std::array::from_fn(|lane| sums[lane] + bias[lane] + add[lane]);
        write(made, at, many, if self.relu { sums.map(|x| x.max(0.0)) } else { sums });
    }
}

impl Winograd {
    /// The convolution of these kernels, `weight(output, input, tap)`, if it is one that is done here.
    pub fn new(
        given: Shape,
        outputs: usize,
        (kernel, padding): ((usize, usize), usize),
        weight: impl Fn(usize, usize, usize) -> f32,
    ) -> Option<Self> {
        if (given.rows, given.columns) != (SIDE, SIDE) {
            return None;
        }
        let inputs = given.channels;
        match (kernel, padding) {
            ((3, 3), 1) => Some(Self::Three {
                few: Direct::new(inputs, outputs, &weight),
                many: Whole::new(inputs, outputs, &weight),
            }),
            ((2, 2), 0) => Some(Self::Two(Two::new(inputs, outputs, weight))),
            _ => None,
        }
    }

    /// The convolution of so many boards' maps, cell by cell, all channels of a cell side by side.
    pub fn run(&self, boards: usize, given: &[f32], work: &mut Turned, finish: &Finish<'_>, made: &mut [f32]) {
        match self {
            Self::Two(two) => two.run(boards, given, work, finish, made),
            Self::Three { few, .. } if work.few => few.run(boards, given, work, finish, made),
            Self::Three { many, .. } => many.run(boards, given, work, finish, made),
        }
    }
}

/// A 2x2 kernel, turned.
#[derive(Clone, Debug)]
pub(super) struct Two {
    inputs: usize,
    outputs: usize,
    panels: Vec<Panels>,
}

/// Numbers of a map, and products.
const SQUARE: usize = SIDE * SIDE;
/// Rows and columns of the outputs.
const MADE: usize = 3;

impl Two {
    fn new(inputs: usize, outputs: usize, weight: impl Fn(usize, usize, usize) -> f32) -> Self {
        // Each row of the kernel as a polynomial: its values at 0, 1, -1 and infinity.
        let turn = |[a, b]: [f32; 2]| [a, (a + b) / 2.0, (a - b) / 2.0, b];
        let turned = |output: usize, input: usize| -> [f32; SQUARE] {
            let rows: [[f32; 4]; 2] =
                std::array::from_fn(|row| turn(std::array::from_fn(|column| weight(output, input, row * 2 + column))));
            let columns: [[f32; 4]; 4] = std::array::from_fn(|column| turn([rows[0][column], rows[1][column]]));
            std::array::from_fn(|place| columns[place % 4][place / 4])
        };
        let all: Vec<[f32; SQUARE]> = (0..outputs * inputs).map(|i| turned(i / inputs, i % inputs)).collect();
        let panels = (0..SQUARE)
            .map(|place| Panels::new(outputs, 1, inputs, |output, _, input| all[output * inputs + input][place]))
            .collect();
        Self { inputs, outputs, panels }
    }

    fn run(&self, boards: usize, given: &[f32], work: &mut Turned, finish: &Finish<'_>, made: &mut [f32]) {
        work.squares.resize(SQUARE * boards * self.inputs, 0.0);
        work.products.resize(SQUARE * boards * self.outputs, 0.0);
        turn_maps(given, self.inputs, boards, &mut work.squares);
        let whole = [vec![Segment { at: 0, part: 0 }]];
        let squares = work.squares.chunks_exact(boards * self.inputs);
        let products = work.products.chunks_exact_mut(boards * self.outputs);
        for ((panels, squares), products) in self.panels.iter().zip(squares).zip(products) {
            panels.times(squares, (boards, self.inputs), &whole, |_, row, first, sums| {
                store(products, row * self.outputs + first, self.outputs - first, sums);
            });
        }
        turn_back(&work.products, self.outputs, boards, finish, made);
    }
}

/// So many channels from a place on. Whole blocks are read at once: a copy of unknown length would be a call.
#[inline(always)]
pub(super) fn read(numbers: &[f32], at: usize, many: usize) -> [f32; LANES] {
    match numbers[at..].first_chunk::<LANES>() {
        Some(whole) if many == LANES => *whole,
        _ => std::array::from_fn(|lane| if lane < many { numbers[at + lane] } else { 0.0 }),
    }
}

/// Writes them.
#[inline(always)]
pub(super) fn write(numbers: &mut [f32], at: usize, many: usize, block: [f32; LANES]) {
    match numbers[at..].first_chunk_mut::<LANES>() {
        Some(whole) if many == LANES => *whole = block,
        _ => (0..many).for_each(|lane| numbers[at + lane] = block[lane]),
    }
}

/// Writes the sums of a panel, of which so many are outputs at all.
#[inline(always)]
pub(super) fn store(numbers: &mut [f32], at: usize, many: usize, sums: &[f32; PANEL]) {
    match numbers[at..].first_chunk_mut::<PANEL>() {
        Some(whole) if many >= PANEL => *whole = *sums,
        _ => numbers[at..].iter_mut().zip(&sums[..many]).for_each(|(to, sum)| *to = *sum),
    }
}

/// Four numbers, turned: what they are worth at 0, 1, -1 and infinity.
#[inline(always)]
fn turn_four([a, b, c, d]: [[f32; LANES]; 4]) -> [[f32; LANES]; 4] {
    [
        std::array::from_fn(|i| a[i] - c[i]),
        std::array::from_fn(|i| b[i] + c[i]),
        std::array::from_fn(|i| c[i] - b[i]),
        std::array::from_fn(|i| d[i] - b[i]),
    ]
}

/// Four products turned back into three outputs.
#[inline(always)]
fn turn_four_back([a, b, c, d]: [[f32; LANES]; 4]) -> [[f32; LANES]; MADE] {
    [
        std::array::from_fn(|i| a[i] + b[i] + c[i]),
        std::array::from_fn(|i| b[i] - c[i]),
        std::array::from_fn(|i| b[i] + c[i] + d[i]),
    ]
}

vectorised! {
    /// All maps, turned: `[place][board][channel]`.
    fn turn_maps / portable_turn_maps(given: &[f32], channels: usize, boards: usize, squares: &mut [f32]) {
        for board in 0..boards {
            let map = &given[board * SQUARE * channels..][..SQUARE * channels];
            for from in (0..channels).step_by(LANES) {
                let many = LANES.min(channels - from);
                let at = |row: usize, column: usize| read(map, (row * SIDE + column) * channels + from, many);
                let rows: [[[f32; LANES]; 4]; 4] =
                    std::array::from_fn(|row| turn_four([at(row, 0), at(row, 1), at(row, 2), at(row, 3)]));
                #[expect(clippy::needless_range_loop, reason = "it goes through the second index")]
                for column in 0..4 {
                    let down = turn_four([rows[0][column], rows[1][column], rows[2][column], rows[3][column]]);
                    for (row, numbers) in down.into_iter().enumerate() {
                        write(squares, ((row * 4 + column) * boards + board) * channels + from, many, numbers);
                    }
                }
            }
        }
    }
}

vectorised! {
    /// The outputs of all maps.
    fn turn_back / portable_turn_back(
        products: &[f32], channels: usize, boards: usize, finish: &Finish<'_>, made: &mut [f32],
    ) {
        for board in 0..boards {
            for from in (0..channels).step_by(LANES) {
                let many = LANES.min(channels - from);
                let at = |row: usize, column: usize| {
                    read(products, ((row * 4 + column) * boards + board) * channels + from, many)
                };
                let down: [[[f32; LANES]; MADE]; 4] =
                    std::array::from_fn(|c| turn_four_back([at(0, c), at(1, c), at(2, c), at(3, c)]));
                let bias = read(finish.bias, from, many);
                #[expect(clippy::needless_range_loop, reason = "it goes through the second index")]
                for row in 0..MADE {
                    let across = turn_four_back([down[0][row], down[1][row], down[2][row], down[3][row]]);
                    for (column, numbers) in across.into_iter().enumerate() {
                        let at = ((board * MADE + row) * MADE + column) * channels + from;
                        finish.store(made, at, many, numbers, bias);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_compilations_agree() {
        let numbers: Vec<f32> = (0..3 * SQUARE * 21).map(|i| (i as f32 * 0.7).sin()).collect();
        let (mut fast, mut slow) = (vec![0.0; numbers.len()], vec![0.0; numbers.len()]);
        turn_maps(&numbers, 21, 3, &mut fast);
        portable_turn_maps(&numbers, 21, 3, &mut slow);
        assert_eq!(fast, slow);
        let finish = Finish { bias: &[0.5; 21], add: Some(&numbers), relu: true };
        let (mut back, mut slow_back) = (vec![0.0; 3 * 9 * 21], vec![0.0; 3 * 9 * 21]);
        turn_back(&fast, 21, 3, &finish, &mut back);
        portable_turn_back(&fast, 21, 3, &finish, &mut slow_back);
        assert_eq!(back, slow_back);
    }
}
