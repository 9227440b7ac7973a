//! The catalogue's rows: `eval=lookup@FILE`, and `eval=twocore`, which comes with the program.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use afterstate_board::{Afterstate, Position};

use super::Network;
use super::file::{FORMAT, FileError, Saved, read};
use crate::shelf::Shelf;
use crate::{Evaluator, EvaluatorRow, MoveJudge, SpecError};

/// Networks in use: every thread of an evaluation asks for its own, and all share one copy.
static LOADED: Shelf<Network> = Shelf::new();

/// Loads a network, or shares the one that is loaded already.
pub fn load<P: Position>(path: &Path) -> Result<Arc<Network>, FileError> {
    LOADED.get::<P>(path, || read::<P>(&Saved::open(path, &FORMAT)?))
}

pub(crate) const fn row<P: Position>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: "lookup",
        summary: "a trained two-core network, as lookup@FILE (a checkpoint of `afterstate train value` or `dqn`)",
        takes_file: true,
        parameters: &[],
        build: |_, file| {
            let refuse =
                |file: &Path, reason: String| SpecError::File { owner: "lookup".into(), file: file.into(), reason };
            let Some(file) = file else {
                return Err(refuse(Path::new(""), "name the file of a network: eval=lookup@FILE".into()));
            };
            let network = load::<P>(file).map_err(|error| refuse(file, error.reason()))?;
            Ok(Box::new(network))
        },
    }
}

/// The network that comes with the program; `benchmarks/2026-11-16-lookup` says how it was made and how well it plays.
static TWOCORE: &[u8] = include_bytes!("../../lookup-value.safetensors");

/// The same, unpacked when it is first asked for.
static UNPACKED: Mutex<Weak<Network>> = Mutex::new(Weak::new());

pub(crate) const fn twocore_row<P: Position>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: "twocore",
        summary: "the two-core network that comes with the program: points still to come on the 4x4 board",
        takes_file: false,
        parameters: &[],
        build: |_, _| {
            let mut unpacked = UNPACKED.lock().unwrap_or_else(PoisonError::into_inner);
            if let (Some(network), (4, 4)) = (unpacked.upgrade(), (P::ROWS, P::COLUMNS)) {
                return Ok(Box::new(network));
            }
            let read = Saved::embedded("twocore", TWOCORE, &FORMAT).and_then(|saved| read::<P>(&saved));
            let network = Arc::new(read.map_err(|error| SpecError::File {
                owner: "twocore".into(),
                file: "twocore".into(),
                reason: error.reason(),
            })?);
            *unpacked = Arc::downgrade(&network);
            Ok(Box::new(network))
        },
    }
}

impl<P: Position, E: Evaluator<P> + ?Sized> Evaluator<P> for Arc<E> {
    fn evaluate(&self, boards: &[Afterstate<P>], values: &mut [f32]) {
        (**self).evaluate(boards, values);
    }

    fn scale(&self) -> crate::Scale {
        (**self).scale()
    }

    fn clear_margin(&self) -> f32 {
        (**self).clear_margin()
    }

    fn moves(&self) -> Option<&dyn MoveJudge<P>> {
        (**self).moves()
    }
}
