//! Every evaluator by name: one row each.

use std::any::TypeId;
use std::path::Path;

use afterstate_board::Position;

use crate::{
    Evaluator, Parameter, Settings, Spec, SpecError, corner, empty, heuristic, hint, lookup, matrix, mlp, networks,
    ntuple, snake, tables,
};

/// An evaluator of whatever kind.
pub type BoxedEvaluator<P> = Box<dyn Evaluator<P>>;

/// One evaluator of the catalogue.
pub struct EvaluatorRow<P: Position> {
    /// The name in `eval=NAME`.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Does it load weights, as `NAME@FILE`?
    pub takes_file: bool,
    /// Its parameters, given as `eval.KEY=VALUE`.
    pub parameters: &'static [Parameter],
    /// Makes one from checked settings and the file named, if any.
    pub build: fn(&Settings, Option<&Path>) -> Result<BoxedEvaluator<P>, SpecError>,
}

impl<P: Position> EvaluatorRow<P> {
    const ALL: &'static [Self] = &[
        empty::zero_row(),
        empty::empty_row(),
        heuristic::row(),
        corner::row(),
        snake::row(),
        matrix::product_row(),
        matrix::elementwise_row(),
        ntuple::row(),
        ntuple::champion_row(),
        tables::row(),
        lookup::row(),
        lookup::twocore_row(),
        lookup::dqn_row(),
        lookup::ppo_row(),
        lookup::selfplay_row(),
        lookup::pupil_row(),
        mlp::row(),
        mlp::dqn_row(),
        networks::row::<P, 0>(),
        networks::row::<P, 1>(),
        networks::row::<P, 2>(),
        networks::row::<P, 3>(),
    ];
}

/// Makes `made(TypeId) -> Option<&dyn Any>`: the catalogue `$row::ALL` of every position type that can be played, compiled in the crate
/// that says this. Without it every crate that asks for a catalogue would compile all searches for all sizes again.
#[doc(hidden)]
#[macro_export]
macro_rules! made_once {
    ($row:ident) => {
        $crate::made_once!($row: afterstate_board::Board, afterstate_board::Grid<2, 2>, afterstate_board::Grid<2, 3>,
            afterstate_board::Grid<2, 4>, afterstate_board::Grid<3, 3>,
            afterstate_board::Grid<3, 4>, afterstate_board::Grid<4, 4>, afterstate_board::Grid<5, 5>);
    };
    ($row:ident: $($position:ty),*) => {
        #[inline(never)]
        fn made(position: std::any::TypeId) -> Option<&'static dyn std::any::Any> {
            $(if position == std::any::TypeId::of::<$position>() {
                static ROWS: &[$row<$position>] = $row::<$position>::ALL;
                return Some(&ROWS);
            })*
            None
        }
    };
}

made_once!(EvaluatorRow);

/// The whole catalogue; empty for a position type that is not among those of [`made_once!`].
pub fn rows<P: Position>() -> &'static [EvaluatorRow<P>] {
    made(TypeId::of::<P>()).and_then(|rows| rows.downcast_ref::<&[EvaluatorRow<P>]>()).copied().unwrap_or_default()
}

/// Makes the evaluator a specification names.
pub fn build<P: Position>(spec: &Spec) -> Result<BoxedEvaluator<P>, SpecError> {
    let (name, file) = spec.file();
    let row = rows::<P>().iter().find(|row| row.name == name).ok_or_else(|| SpecError::UnknownName {
        what: "evaluator",
        name: name.to_owned(),
        hint: hint(name, rows::<P>().iter().map(|row| row.name)),
    })?;
    if let Some(file) = file.as_deref() {
        let refuse = |reason: String| SpecError::File { owner: name.to_owned(), file: file.to_owned(), reason };
        if !row.takes_file {
            return Err(refuse(format!("{name} loads no file; write eval={name}")));
        }
        std::fs::File::open(file).map_err(|error| refuse(error.to_string()))?;
    }
    (row.build)(&spec.settings(row.parameters)?, file.as_deref())
}
