//! A 3x3 convolution of the whole 4x4 board at once by Winograd's way: 36 products give all 16 outputs, where the
//! plain way takes 100. Its weights are four times the plain ones, so that it pays only where several boards share them; its
//! numbers are larger on the way (up to 8 times), which costs a digit of precision.

use super::kernel::{Panels, Segment};
use super::plan::SIDE;
use super::winograd::{Finish, LANES, Turned, read, store, write};
use crate::vectorised;

/// Numbers that a row or column of four is turned into.
const WIDE: usize = 6;

/// The convolution, turned.
#[derive(Clone, Debug)]
pub(super) struct Whole {
    inputs: usize,
    outputs: usize,
    panels: Vec<Panels>,
}

impl Whole {
    /// The convolution of 3x3 kernels, `weight(output, input, tap)`.
    pub fn new(inputs: usize, outputs: usize, weight: impl Fn(usize, usize, usize) -> f32) -> Self {
        // A row of the kernel as a polynomial: its values at 0, 1, -1, 2, -2 and infinity, divided by what the way back multiplies.
        let turn = |[a, b, c]: [f32; 3]| {
            let (even, twice) = ((a + c) / -6.0, a / 24.0 + c / 6.0);
            [a / 4.0, even - b / 6.0, even + b / 6.0, twice + b / 12.0, twice - b / 12.0, c]
        };
        let turned = |output: usize, input: usize| -> [f32; WIDE * WIDE] {
            let rows: [[f32; WIDE]; 3] =
                std::array::from_fn(|row| turn(std::array::from_fn(|column| weight(output, input, row * 3 + column))));
            let columns: [[f32; WIDE]; WIDE] =
                std::array::from_fn(|column| turn(std::array::from_fn(|row| rows[row][column])));
            std::array::from_fn(|place| columns[place % WIDE][place / WIDE])
        };
        let all: Vec<[f32; WIDE * WIDE]> = (0..outputs * inputs).map(|i| turned(i / inputs, i % inputs)).collect();
        let panels = (0..WIDE * WIDE)
            .map(|place| Panels::new(outputs, 1, inputs, |output, _, input| all[output * inputs + input][place]))
            .collect();
        Self { inputs, outputs, panels }
    }

    /// The convolution of so many boards' maps.
    pub fn run(&self, boards: usize, given: &[f32], work: &mut Turned, finish: &Finish<'_>, made: &mut [f32]) {
        work.squares.resize(WIDE * WIDE * boards * self.inputs, 0.0);
        work.products.resize(WIDE * WIDE * boards * self.outputs, 0.0);
        turn_boards(given, self.inputs, boards, &mut work.squares);
        let all = [vec![Segment { at: 0, part: 0 }]];
        let squares = work.squares.chunks_exact(boards * self.inputs);
        let products = work.products.chunks_exact_mut(boards * self.outputs);
        for ((panels, squares), products) in self.panels.iter().zip(squares).zip(products) {
            panels.times(squares, (boards, self.inputs), &all, |_, row, first, sums| {
                store(products, row * self.outputs + first, self.outputs - first, sums);
            });
        }
        turn_boards_back(&work.products, self.outputs, boards, finish, made);
    }
}

/// Four numbers with a 0 on both sides, turned.
#[inline(always)]
fn widen([a, b, c, d]: [[f32; LANES]; SIDE]) -> [[f32; LANES]; WIDE] {
    [
        std::array::from_fn(|i| d[i] - 5.0 * b[i]),
        std::array::from_fn(|i| (c[i] + d[i]) - 4.0 * (a[i] + b[i])),
        std::array::from_fn(|i| (d[i] - c[i]) + 4.0 * (a[i] - b[i])),
        std::array::from_fn(|i| (d[i] - b[i]) + 2.0 * (c[i] - a[i])),
        std::array::from_fn(|i| (d[i] - b[i]) - 2.0 * (c[i] - a[i])),
        std::array::from_fn(|i| 4.0 * a[i] - 5.0 * c[i]),
    ]
}

/// Six products turned back into four outputs.
#[inline(always)]
fn narrow([a, b, c, d, e, f]: [[f32; LANES]; WIDE]) -> [[f32; LANES]; SIDE] {
    let (near, far): ([f32; LANES], [f32; LANES]) =
        (std::array::from_fn(|i| b[i] + c[i]), std::array::from_fn(|i| d[i] + e[i]));
    let (lean, tilt): ([f32; LANES], [f32; LANES]) =
        (std::array::from_fn(|i| b[i] - c[i]), std::array::from_fn(|i| d[i] - e[i]));
    [
        std::array::from_fn(|i| a[i] + near[i] + far[i]),
        std::array::from_fn(|i| lean[i] + 2.0 * tilt[i]),
        std::array::from_fn(|i| near[i] + 4.0 * far[i]),
        std::array::from_fn(|i| lean[i] + 8.0 * tilt[i] + f[i]),
    ]
}

vectorised! {
    /// All boards, turned: `[place][board][channel]`.
    fn turn_boards / portable_turn_boards(given: &[f32], channels: usize, boards: usize, squares: &mut [f32]) {
        for board in 0..boards {
            let map = &given[board * SIDE * SIDE * channels..][..SIDE * SIDE * channels];
            for from in (0..channels).step_by(LANES) {
                let many = LANES.min(channels - from);
                let at = |row: usize, column: usize| read(map, (row * SIDE + column) * channels + from, many);
                let rows: [[[f32; LANES]; WIDE]; SIDE] =
                    std::array::from_fn(|row| widen([at(row, 0), at(row, 1), at(row, 2), at(row, 3)]));
                #[expect(clippy::needless_range_loop, reason = "it goes through the second index")]
                for column in 0..WIDE {
                    let down = widen([rows[0][column], rows[1][column], rows[2][column], rows[3][column]]);
                    for (row, numbers) in down.into_iter().enumerate() {
                        write(squares, ((row * WIDE + column) * boards + board) * channels + from, many, numbers);
                    }
                }
            }
        }
    }
}

vectorised! {
    /// The outputs of all boards.
    fn turn_boards_back / portable_turn_boards_back(
        products: &[f32], channels: usize, boards: usize, finish: &Finish<'_>, made: &mut [f32],
    ) {
        for board in 0..boards {
            for from in (0..channels).step_by(LANES) {
                let many = LANES.min(channels - from);
                let at = |row: usize, column: usize| {
                    read(products, ((row * WIDE + column) * boards + board) * channels + from, many)
                };
                let down: [[[f32; LANES]; SIDE]; WIDE] =
                    std::array::from_fn(|c| narrow([at(0, c), at(1, c), at(2, c), at(3, c), at(4, c), at(5, c)]));
                let bias = read(finish.bias, from, many);
                #[expect(clippy::needless_range_loop, reason = "it goes through the second index")]
                for row in 0..SIDE {
                    let across = narrow(std::array::from_fn(|column| down[column][row]));
                    for (column, numbers) in across.into_iter().enumerate() {
                        let at = ((board * SIDE + row) * SIDE + column) * channels + from;
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
        let numbers: Vec<f32> = (0..3 * 16 * 21).map(|i| (i as f32 * 0.7).sin()).collect();
        let (mut fast, mut slow) = (vec![0.0; 3 * 36 * 21], vec![0.0; 3 * 36 * 21]);
        turn_boards(&numbers, 21, 3, &mut fast);
        portable_turn_boards(&numbers, 21, 3, &mut slow);
        assert_eq!(fast, slow);
        let finish = Finish { bias: &[0.5; 21], add: Some(&numbers), relu: true };
        let (mut back, mut slow_back) = (vec![0.0; numbers.len()], vec![0.0; numbers.len()]);
        turn_boards_back(&fast, 21, 3, &finish, &mut back);
        portable_turn_boards_back(&fast, 21, 3, &finish, &mut slow_back);
        assert_eq!(back, slow_back);
    }
}
