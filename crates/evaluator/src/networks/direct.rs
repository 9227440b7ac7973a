//! A 3x3 convolution of the 4x4 board as it is defined, a row of outputs at a time: for few boards, where reading the weights takes longer
//! than the sums and they should be as few as can be. Rows get a cell of zeros on both sides; taps above and below are left out.

use super::kernel::{PANEL, Panels, Segment};
use super::plan::SIDE;
use super::winograd::{Finish, LANES, Turned, read};

/// Boards that may be convolved at once.
pub(super) const MOST: usize = 8;
/// Cells of a row with a zero on both sides.
const WIDE: usize = SIDE + 2;

/// The convolution.
#[derive(Clone, Debug)]
pub(super) struct Direct {
    inputs: usize,
    panels: Panels,
    /// For each row of each board where its numbers are.
    rows: Vec<Vec<Segment>>,
}

impl Direct {
    /// The convolution of 3x3 kernels, `weight(output, input, tap)`.
    pub fn new(inputs: usize, outputs: usize, weight: impl Fn(usize, usize, usize) -> f32) -> Self {
        let panels = Panels::new(outputs, 9, inputs, |output, tap, input| weight(output, input, tap));
        let segments = |board: usize, row: usize| {
            let inside = (0..9).filter(move |tap| (1..=SIDE).contains(&(row + tap / 3)));
            let at = move |tap: usize| ((board * SIDE + row + tap / 3 - 1) * WIDE + tap % 3) * inputs;
            inside.map(|tap| Segment { at: at(tap), part: tap }).collect()
        };
        let rows = (0..MOST * SIDE).map(|i| segments(i / SIDE, i % SIDE)).collect();
        Self { inputs, panels, rows }
    }

    /// The convolution of up to [`MOST`] boards' maps.
    pub fn run(&self, boards: usize, given: &[f32], work: &mut Turned, finish: &Finish<'_>, made: &mut [f32]) {
        let (inputs, outputs) = (self.inputs, self.panels.outputs());
        work.squares.clear();
        work.squares.resize(boards * SIDE * WIDE * inputs, 0.0);
        let padded = work.squares.chunks_exact_mut(WIDE * inputs);
        for (padded, given) in padded.zip(given.chunks_exact(SIDE * inputs)) {
            padded[inputs..][..SIDE * inputs].copy_from_slice(given);
        }
        let rows = &self.rows[..boards * SIDE];
        self.panels.times(&work.squares, (SIDE, inputs), rows, |row, column, first, sums| {
            for from in (0..PANEL.min(outputs - first)).step_by(LANES) {
                let many = LANES.min(outputs - first - from);
                let at = (row * SIDE + column) * outputs + first + from;
                let bias = read(finish.bias, first + from, many);
                finish.store(made, at, many, read(sums, from, LANES), bias);
            }
        });
    }
}
