//! How far rows go: by Adagrad, or as far as their errors agree.

use std::ops::Range;

use afterstate_evaluator::dense::{axpy, dot};
use afterstate_evaluator::ntuple::prefetch;
use afterstate_evaluator::vectorised;

use super::AHEAD;

/// Keeps the first steps of Adagrad finite.
const EPSILON: f32 = 1e-12;

/// The least slope that a step along it is made for: a board that hardly moves with its rows must not throw them far away.
const FLAT: f32 = 1e-3;

/// What decides how far the rows of a network go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// The rate over the root of the squared gradients so far, summed: Adagrad with one rate a row.
    Adagrad,
    /// Temporal coherence (Beal and Smith 1999), a rate a row. A rate of 1 mends what is wrong with a board, shared out among its rows,
    /// as long as all errors of a row had the same sign; the more they cancel out, the shorter its steps.
    Coherence,
}

impl Pace {
    /// The names of both; the first is what is taken if none is given.
    pub const NAMES: &'static [&'static str] = &["adagrad", "coherence"];

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Adagrad, Self::Coherence]
            .into_iter()
            .zip(Self::NAMES)
            .find(|(_, known)| **known == name)
            .map(|(pace, _)| pace)
    }
}

/// Numbers that a row remembers of its errors. The first is 0 for a row that never moved.
///
/// Adagrad: the sum of its squared gradients, averaged over the row. Coherence: the sum of the sizes of errors, and of the errors.
pub(super) const MEMORY: usize = 2;

/// What a batch says about rows.
pub(super) struct Lesson<'a> {
    /// For each board the rows it looked up, `places` of them.
    pub rows: &'a [u32],
    pub places: usize,
    /// For each board the gradient of its rows, `width` numbers.
    pub errors: &'a [f32],
    pub width: usize,
    /// For each board the gradient of its outputs, `outputs` numbers.
    pub gradient: &'a [f32],
    pub outputs: usize,
    pub rate: f32,
    pub pace: Pace,
}

/// Tables whose rows one thread moves: `rows` of every board from place `places.start` on, counted from row `start`.
pub(super) struct Tables<'a> {
    pub places: Range<usize>,
    pub start: usize,
    pub memories: &'a mut [f32],
    pub table: &'a mut [f32],
}

vectorised! {
    /// Moves the rows that every board looked up in some tables.
    pub(super) fn advance / portable_advance(tables: &mut Tables<'_>, lesson: &Lesson<'_>) {
        let width = lesson.width;
        let own = |board: usize| &lesson.rows[board * lesson.places..][tables.places.clone()];
        let boards = lesson.rows.len() / lesson.places;
        for (board, errors) in lesson.errors.chunks_exact(width).enumerate() {
            if board + AHEAD < boards {
                for &row in own(board + AHEAD) {
                    let row = row as usize - tables.start;
                    prefetch(tables.memories, row * MEMORY);
                    (0..width).step_by(16).for_each(|line| prefetch(tables.table, row * width + line));
                }
            }
            let square = dot(errors, errors);
            if square == 0.0 {
                continue;
            }
            let gradient = &lesson.gradient[board * lesson.outputs..][..lesson.outputs];
            let (error, slope) = (gradient.iter().sum::<f32>(), square / dot(gradient, gradient));
            let mend = lesson.rate / (lesson.places as f32 * slope.max(FLAT));
            for &row in own(board) {
                let row = row as usize - tables.start;
                let [first, second] = &mut tables.memories.as_chunks_mut::<MEMORY>().0[row];
                let step = match lesson.pace {
                    Pace::Adagrad => {
                        *first += square / width as f32;
                        lesson.rate / (*first + EPSILON).sqrt()
                    }
                    Pace::Coherence => {
                        let agreement = if *first > 0.0 { second.abs() / *first } else { 1.0 };
                        (*first, *second) = (*first + error.abs(), *second + error);
                        mend * agreement
                    }
                };
                axpy(-step, errors, &mut tables.table[row * width..][..width]);
            }
        }
    }
}
