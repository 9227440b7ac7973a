//! What is a position worth? Inference only: batches of afterstates in, values out.

mod catalogue;
mod corner;
mod data;
pub mod dense;
mod embedded;
mod empty;
pub mod encode;
pub mod exact;
pub mod file;
mod floats;
mod half;
mod heuristic;
mod lines;
pub mod lookup;
mod matrix;
pub mod mlp;
pub mod networks;
pub mod ntuple;
mod parameter;
mod shelf;
mod simd;
mod snake;
mod spec;
pub mod tables;
#[cfg(test)]
mod testing;

pub use catalogue::{BoxedEvaluator, EvaluatorRow, build, rows};
pub use data::{DATA_VARIABLE, data_folder};
pub use floats::Floats;
pub use lines::{LineTables, LineValue};
pub use parameter::{Kind, Parameter, Value};
pub use spec::{Settings, Spec, SpecError, hint};

use afterstate_board::{Afterstate, Position, Slides};

/// How an evaluator's values are to be used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// What the points of a move count for beside the value of the board it leads to: 1 if values are points still to come, 0 if
    /// a value judges the board alone.
    pub rewards: f32,
    /// The value of a position in which no move is legal.
    pub lost: f32,
    /// What a value means, for people.
    pub unit: &'static str,
}

impl Scale {
    /// Points still to come: rewards add up, and a finished game has nothing to come.
    pub const POINTS: Self = Self { rewards: 1.0, lost: 0.0, unit: "points still to come" };

    /// That of a network whose values points count so much beside.
    pub(crate) fn of_network(rewards: f32) -> Self {
        if rewards == 1.0 { Self::POINTS } else { Self { rewards, unit: "value of the board", ..Self::POINTS } }
    }
}

/// What a search on some values may leave out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Care {
    /// How far apart the values of two moves of one position must be for the lesser one to be hardly ever better on a closer look;
    /// infinite if nothing is known about that.
    pub margin: f32,
    /// How many spawns other than the likeliest kind a path should hold ...
    pub rare: u8,
    /// ... and in how many empty cells at most: where there is room, a 4 is as good as a 2.
    pub room: u8,
}

impl Care {
    /// That of an evaluator about which nothing is known.
    pub const USUAL: Self = Self { margin: f32::INFINITY, rare: 1, room: 3 };
}

/// Judges afterstates.
pub trait Evaluator<P: Position>: Send + Sync {
    /// Writes the value of each afterstate; both slices have the same length.
    fn evaluate(&self, boards: &[Afterstate<P>], values: &mut [f32]);

    /// The value of one afterstate.
    fn value(&self, board: &Afterstate<P>) -> f32 {
        let mut value = [0.0];
        self.evaluate(std::slice::from_ref(board), &mut value);
        value[0]
    }

    /// The values of the afterstates of a position's moves, by direction index; those of illegal moves mean nothing.
    fn slide_values(&self, slides: &Slides<P>) -> [f32; 4] {
        let (mut boards, mut worth, mut values) = (slides.after, [0.0; 4], [0.0; 4]);
        let count = slides.legal.len();
        slides.iter().zip(&mut boards).for_each(|((_, slide), board)| *board = slide.after);
        self.evaluate(&boards[..count], &mut worth[..count]);
        slides.iter().zip(worth).for_each(|((direction, _), worth)| values[direction.index()] = worth);
        values
    }

    /// How the values are to be used.
    fn scale(&self) -> Scale {
        Scale::POINTS
    }

    /// What a search on these values may leave out.
    fn care(&self) -> Care {
        Care::USUAL
    }

    /// Tells it where the next search begins: it may see all boards of one search in the same way. True if its values may have changed.
    fn look_from(&mut self, _root: &P) -> bool {
        false
    }

    /// Is one corner better to it than the others, so that it judges images of a board differently?
    fn is_one_sided(&self) -> bool {
        false
    }

    /// The tables behind an evaluator that is nothing but a sum over lines: a search may look them up without a detour.
    fn line_tables(&self) -> Option<&LineTables> {
        None
    }

    /// The same network as a judge of moves, if it is one.
    fn moves(&self) -> Option<&dyn MoveJudge<P>> {
        None
    }
}

/// What a network says about the moves of a position.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Judgement {
    /// By direction index: the value of each move in points, or a preference (see [`MoveJudge::are_logits`]). Those of illegal
    /// moves mean nothing.
    pub moves: [f32; 4],
    /// The value of the position in points, if the network has one.
    pub value: Option<f32>,
}

/// Judges all moves of a position at once.
pub trait MoveJudge<P: Position>: Send + Sync {
    /// Writes what it says about each position; both slices have the same length.
    fn judge(&self, positions: &[P], judgements: &mut [Judgement]);

    /// Are the numbers of moves logits, whose softmax is a probability, rather than points?
    fn are_logits(&self) -> bool;
}

impl<P: Position, E: Evaluator<P> + ?Sized> Evaluator<P> for Box<E> {
    fn evaluate(&self, boards: &[Afterstate<P>], values: &mut [f32]) {
        (**self).evaluate(boards, values);
    }

    fn value(&self, board: &Afterstate<P>) -> f32 {
        (**self).value(board)
    }

    fn slide_values(&self, slides: &Slides<P>) -> [f32; 4] {
        (**self).slide_values(slides)
    }

    fn scale(&self) -> Scale {
        (**self).scale()
    }

    fn care(&self) -> Care {
        (**self).care()
    }

    fn look_from(&mut self, root: &P) -> bool {
        (**self).look_from(root)
    }

    fn is_one_sided(&self) -> bool {
        (**self).is_one_sided()
    }

    fn line_tables(&self) -> Option<&LineTables> {
        (**self).line_tables()
    }

    fn moves(&self) -> Option<&dyn MoveJudge<P>> {
        (**self).moves()
    }
}
