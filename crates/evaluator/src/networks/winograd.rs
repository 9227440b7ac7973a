//! Convolutions on the 4x4 board by Winograd's way (Lavin and Gray 2016): squares of 4x4 numbers are turned into sums of which each
//! meets one number of the kernel, turned likewise, so that 16 products give 2x2 outputs of a 3x3 kernel (36 plainly) or 3x3 outputs of
//! a 2x2 kernel (36 plainly). The sums over channels become 16 products of matrices.

use super::kernel::{PANEL, Panels, Segment};
use super::plan::{SIDE, Shape};
use crate::vectorised;

/// Numbers of a turned square.
const SQUARE: usize = 16;
/// Channels turned side by side.
const LANES: usize = 8;

/// A convolution, turned.
#[derive(Clone, Debug)]
pub(super) struct Winograd {
    inputs: usize,
    outputs: usize,
    /// Outputs of a square are `side x side`.
    side: usize,
    panels: Vec<Panels>,
}

/// What a convolution needs on the way.
#[derive(Clone, Debug, Default)]
pub(super) struct Turned {
    squares: Vec<f32>,
    products: Vec<f32>,
}

/// What is done with the sums: a bias for each channel, numbers to be added, ReLU.
pub(super) struct Finish<'f> {
    pub bias: &'f [f32],
    pub add: Option<&'f [f32]>,
    pub relu: bool,
}

impl Winograd {
    /// Is it of use for this convolution?
    pub fn suits(from: Shape, kernel: (usize, usize), padding: usize) -> bool {
        (from.rows, from.columns) == (SIDE, SIDE) && matches!((kernel, padding), ((3, 3), 1) | ((2, 2), 0))
    }

    /// The convolution of `side x side` kernels, `weight(output, input, tap)`.
    pub fn new(inputs: usize, outputs: usize, side: usize, weight: impl Fn(usize, usize, usize) -> f32) -> Self {
        // Each row of the kernel is worth its value at 0, 1, -1 and infinity, as a polynomial.
        let turn = |k: [f32; 3]| {
            [k[0], (k[0] + k[1] + k[2]) / 2.0, (k[0] - k[1] + k[2]) / 2.0, if side == 3 { k[2] } else { k[1] }]
        };
        let turned = |output: usize, input: usize| -> [f32; SQUARE] {
            let at = |row: usize, column: usize| {
                if row < side && column < side { weight(output, input, row * side + column) } else { 0.0 }
            };
            let rows: [[f32; 4]; 3] = std::array::from_fn(|row| turn(std::array::from_fn(|column| at(row, column))));
            let columns: [[f32; 4]; 4] =
                std::array::from_fn(|column| turn(std::array::from_fn(|row| rows[row][column])));
            std::array::from_fn(|place| columns[place % 4][place / 4])
        };
        let all: Vec<[f32; SQUARE]> = (0..outputs * inputs).map(|i| turned(i / inputs, i % inputs)).collect();
        let panels = (0..SQUARE)
            .map(|place| Panels::new(outputs, 1, inputs, |output, _, input| all[output * inputs + input][place]))
            .collect();
        Self { inputs, outputs, side: if side == 3 { 2 } else { 3 }, panels }
    }

    /// Squares of a board.
    const fn squares(&self) -> usize {
        if self.side == 2 { 4 } else { 1 }
    }

    /// The convolution of so many boards' maps, cell by cell, all channels of a cell side by side.
    pub fn run(&self, boards: usize, given: &[f32], work: &mut Turned, finish: &Finish<'_>, made: &mut [f32]) {
        let rows = boards * self.squares();
        work.squares.resize(SQUARE * rows * self.inputs, 0.0);
        work.products.resize(SQUARE * rows * self.outputs, 0.0);
        turn_maps(given, self.inputs, self.side, rows, &mut work.squares);
        let whole = [vec![Segment { at: 0, part: 0 }]];
        let squares = work.squares.chunks_exact(rows * self.inputs);
        let products = work.products.chunks_exact_mut(rows * self.outputs);
        for ((panels, squares), products) in self.panels.iter().zip(squares).zip(products) {
            panels.times(squares, (rows, self.inputs), &whole, |_, row, first, sums| {
                let at = row * self.outputs + first;
                match products[at..].first_chunk_mut::<PANEL>() {
                    Some(whole) if first + PANEL <= self.outputs => *whole = *sums,
                    _ => products[at..].iter_mut().zip(&sums[..self.outputs - first]).for_each(|(to, sum)| *to = *sum),
                }
            });
        }
        match self.side {
            2 => turn_back_2(&work.products, self.outputs, rows, finish, made),
            _ => turn_back_3(&work.products, self.outputs, rows, finish, made),
        }
    }
}

/// So many channels from a place on. Whole blocks are read at once: a copy of unknown length would be a call.
#[inline(always)]
fn read(numbers: &[f32], at: usize, many: usize) -> [f32; LANES] {
    match numbers[at..].first_chunk::<LANES>() {
        Some(whole) if many == LANES => *whole,
        _ => std::array::from_fn(|lane| if lane < many { numbers[at + lane] } else { 0.0 }),
    }
}

/// Writes them.
#[inline(always)]
fn write(numbers: &mut [f32], at: usize, many: usize, block: [f32; LANES]) {
    match numbers[at..].first_chunk_mut::<LANES>() {
        Some(whole) if many == LANES => *whole = block,
        _ => (0..many).for_each(|lane| numbers[at + lane] = block[lane]),
    }
}

/// The numbers of a map at a place that may lie outside, where they are 0; `row` and `column` count from 1.
#[inline(always)]
fn lanes(map: &[f32], channels: usize, from: usize, many: usize, (row, column): (usize, usize)) -> [f32; LANES] {
    if (1..=SIDE).contains(&row) && (1..=SIDE).contains(&column) {
        read(map, ((row - 1) * SIDE + column - 1) * channels + from, many)
    } else {
        [0.0; LANES]
    }
}

/// One row of a square, turned: what its numbers are worth at 0, 1, -1 and infinity.
#[inline(always)]
fn turn_row([a, b, c, d]: [[f32; LANES]; 4]) -> [[f32; LANES]; 4] {
    [
        std::array::from_fn(|i| a[i] - c[i]),
        std::array::from_fn(|i| b[i] + c[i]),
        std::array::from_fn(|i| c[i] - b[i]),
        std::array::from_fn(|i| d[i] - b[i]),
    ]
}

vectorised! {
    /// Squares of all boards, turned: `[place][square][channel]`. Of a 3x3 kernel they overlap, and begin outside the board.
    fn turn_maps / portable_turn_maps(given: &[f32], channels: usize, side: usize, rows: usize, squares: &mut [f32]) {
        let (per_board, step) = if side == 2 { (4, 2) } else { (1, 0) };
        for square in 0..rows {
            let map = &given[square / per_board * SIDE * SIDE * channels..][..SIDE * SIDE * channels];
            let origin = if side == 2 { (square % 4 / 2 * step, square % 2 * step) } else { (1, 1) };
            for from in (0..channels).step_by(LANES) {
                let many = LANES.min(channels - from);
                let mut turned = [[[0.0; LANES]; 4]; 4];
                for (row, turned) in turned.iter_mut().enumerate() {
                    let read = |column: usize| lanes(map, channels, from, many, (origin.0 + row, origin.1 + column));
                    *turned = turn_row([read(0), read(1), read(2), read(3)]);
                }
                for column in 0..4 {
                    let down = turn_row([turned[0][column], turned[1][column], turned[2][column], turned[3][column]]);
                    for (row, numbers) in down.iter().enumerate() {
                        let at = ((row * 4 + column) * rows + square) * channels + from;
                        write(squares, at, many, *numbers);
                    }
                }
            }
        }
    }
}

/// Four products turned back into `N` outputs.
#[inline(always)]
fn turn_back<const N: usize>([a, b, c, d]: [[f32; LANES]; 4]) -> [[f32; LANES]; N] {
    std::array::from_fn(|output| match (output, N) {
        (0, _) => std::array::from_fn(|i| a[i] + b[i] + c[i]),
        (1, 2) => std::array::from_fn(|i| b[i] - c[i] + d[i]),
        (1, _) => std::array::from_fn(|i| b[i] - c[i]),
        _ => std::array::from_fn(|i| b[i] + c[i] + d[i]),
    })
}

/// The outputs of all squares, `N x N` each.
#[inline(always)]
fn turn_all_back<const N: usize>(
    products: &[f32],
    channels: usize,
    rows: usize,
    finish: &Finish<'_>,
    made: &mut [f32],
) {
    let (per_board, columns) = if N == 2 { (4, SIDE) } else { (1, 3) };
    for square in 0..rows {
        let board = square / per_board * columns * columns;
        let (top, left) = if N == 2 { (square % 4 / 2 * 2, square % 2 * 2) } else { (0, 0) };
        for from in (0..channels).step_by(LANES) {
            let many = LANES.min(channels - from);
            let at = |place: usize| read(products, (place * rows + square) * channels + from, many);
            let bias = read(finish.bias, from, many);
            let down: [[[f32; LANES]; N]; 4] =
                std::array::from_fn(|column| turn_back([at(column), at(4 + column), at(8 + column), at(12 + column)]));
            for row in 0..N {
                let across: [[f32; LANES]; N] = turn_back([down[0][row], down[1][row], down[2][row], down[3][row]]);
                for (column, mut numbers) in across.into_iter().enumerate() {
                    let at = (board + (top + row) * columns + left + column) * channels + from;
                    let add = finish.add.map_or([0.0; LANES], |add| read(add, at, many));
                    for lane in 0..LANES {
                        let sum = numbers[lane] + bias[lane] + add[lane];
                        numbers[lane] = if finish.relu { sum.max(0.0) } else { sum };
                    }
                    write(made, at, many, numbers);
                }
            }
        }
    }
}

vectorised! {
    fn turn_back_2 / portable_turn_back_2(products: &[f32], channels: usize, rows: usize, finish: &Finish<'_>, made: &mut [f32]) {
        turn_all_back::<2>(products, channels, rows, finish, made);
    }
}

vectorised! {
    fn turn_back_3 / portable_turn_back_3(products: &[f32], channels: usize, rows: usize, finish: &Finish<'_>, made: &mut [f32]) {
        turn_all_back::<3>(products, channels, rows, finish, made);
    }
}
