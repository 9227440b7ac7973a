//! An evaluator that knows what the tables know: where one says how often the next tile is missed, that share of the value is lost.

use std::sync::Arc;

use afterstate_board::{Afterstate, Position, Slides};

use super::{SET_NAMES, SETS, Set, Tables};
use crate::{BoxedEvaluator, Care, Evaluator, EvaluatorRow, Kind, Parameter, Scale, Spec, SpecError, data_folder};

/// The most of a value that a missed goal takes away.
const MOST: f32 = 0.9;

/// Another evaluator's values, corrected by the tables.
pub struct Corrected<P: Position> {
    base: BoxedEvaluator<P>,
    tables: Arc<Tables>,
    lost: f32,
}

impl<P: Position> Corrected<P> {
    /// The values of `base`, corrected by `tables`.
    pub fn new(base: BoxedEvaluator<P>, tables: Arc<Tables>) -> Self {
        let lost = base.scale().lost;
        Self { base, tables, lost }
    }

    /// The mean of the value and that of a lost game, by the probability of missing the next tile.
    ///
    /// A goal that is certainly missed does not end the game, so the correction stops short of that.
    #[inline]
    fn correct(&self, after: &Afterstate<P>, value: f32) -> f32 {
        let failure = after.board().images().and_then(|images| self.tables.failure(&images));
        value + failure.map_or(0.0, |failure| failure.min(MOST)) * (self.lost - value)
    }
}

impl<P: Position> Evaluator<P> for Corrected<P> {
    fn evaluate(&self, boards: &[Afterstate<P>], values: &mut [f32]) {
        self.base.evaluate(boards, values);
        boards.iter().zip(values).for_each(|(after, value)| *value = self.correct(after, *value));
    }

    fn value(&self, board: &Afterstate<P>) -> f32 {
        self.correct(board, self.base.value(board))
    }

    fn slide_values(&self, slides: &Slides<P>) -> [f32; 4] {
        let mut values = self.base.slide_values(slides);
        for (direction, slide) in slides.iter() {
            let value = &mut values[direction.index()];
            *value = self.correct(&slide.after, *value);
        }
        values
    }

    fn scale(&self) -> Scale {
        self.base.scale()
    }

    fn care(&self) -> Care {
        self.base.care()
    }

    fn look_from(&mut self, root: &P) -> bool {
        self.base.look_from(root)
    }

    fn is_one_sided(&self) -> bool {
        self.base.is_one_sided()
    }
}

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "base",
        summary: "whose values are corrected",
        kind: Kind::Choice { default: "heuristic", options: &["heuristic", "corner", "snake", "champion"] },
    },
    SET,
];

/// What [`SET`] says where none is asked.
pub const NONE: &str = "none";

/// Which tables to ask.
pub const SET: Parameter = Parameter {
    name: "set",
    summary: "which tables: all but tiny must have been built by `afterstate tables build`; none: no tables",
    kind: Kind::Choice {
        default: SETS[0].name,
        options: &{
            let mut names = [NONE; SET_NAMES.len() + 1];
            names.split_at_mut(SET_NAMES.len()).0.copy_from_slice(&SET_NAMES);
            names
        },
    },
};

/// The tables of a set, from the program or from the user's data folder.
pub fn tables(name: &str) -> Result<Arc<Tables>, SpecError> {
    if name == NONE {
        return Ok(Arc::new(Tables::new([])));
    }
    let (set, folder) = (Set::named(name).unwrap_or(&SETS[0]), data_folder().join("tables"));
    let refuse = |error| SpecError::File { owner: "tables".into(), file: folder.clone(), reason: format!("{error}") };
    Tables::open(&folder, set).map_err(refuse)
}

pub(crate) const fn row<P: Position>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: "tables",
        summary: "another evaluator, corrected where an endgame table knows how often the next tile is missed",
        takes_file: false,
        parameters: PARAMETERS,
        build: |settings, _| {
            let base = crate::build(&Spec { name: settings.word("base").to_owned(), pairs: Vec::new() })?;
            Ok(Box::new(Corrected::new(base, tables(settings.word("set"))?)))
        },
    }
}
