//! The catalogue's rows: `eval=lookup@FILE`, and the networks that come with the program.

use std::path::Path;
use std::sync::Arc;

use afterstate_board::{Afterstate, Position};

use super::Network;
use super::file::{FORMAT, FileError, Saved, read};
use crate::embedded::Embedded;
use crate::shelf::Shelf;
use crate::{Evaluator, EvaluatorRow, MoveJudge, SpecError};

/// Networks in use: every thread of an evaluation asks for its own, and all share one copy.
static LOADED: Shelf<Network> = Shelf::new();

/// Loads a network, or shares the one that is loaded already.
pub fn load<P: Position>(path: &Path) -> Result<Arc<Network>, FileError> {
    LOADED.get(P::SIZE, path, || read(P::SIZE, &Saved::open(path, &FORMAT)?))
}

pub(crate) const fn row<P: Position>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: "lookup",
        summary: "a trained two-core network, as lookup@FILE (a checkpoint of `train value`, `dqn`, `ppo`, `zero` or `distill`)",
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

/// A network that comes with the program.
const fn embedded(name: &'static str, bytes: &'static [u8]) -> Embedded<Network> {
    Embedded::new(name, bytes, FORMAT, read)
}

/// `benchmarks/2026-11-16-lookup` says how it was made and how well it plays.
static TWOCORE: Embedded<Network> = embedded("twocore", include_bytes!("../../lookup-value.safetensors"));
/// These three: `benchmarks/2026-11-16-policy`.
static PPO: Embedded<Network> = embedded("ppo", include_bytes!("../../lookup-ppo.safetensors"));
static SELFPLAY: Embedded<Network> = embedded("selfplay", include_bytes!("../../lookup-selfplay.safetensors"));
static PUPIL: Embedded<Network> = embedded("pupil", include_bytes!("../../lookup-pupil.safetensors"));
/// `benchmarks/2026-11-17-lookup`.
static DQN: Embedded<Network> = embedded("dqn", include_bytes!("../../lookup-dqn.safetensors"));

pub(crate) const fn twocore_row<P: Position>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: "twocore",
        summary: "the two-core network that comes with the program: points still to come on the 4x4 board",
        takes_file: false,
        parameters: &[],
        build: |_, _| TWOCORE.get(),
    }
}

pub(crate) const fn dqn_row<P: Position>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: "dqn",
        summary: "a two-core network taught by Q-learning (`train dqn`): what each move is worth, at one look",
        takes_file: false,
        parameters: &[],
        build: |_, _| DQN.get(),
    }
}

pub(crate) const fn ppo_row<P: Position>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: "ppo",
        summary: "a two-core network taught by its own games (`train ppo`): moves, and points still to come",
        takes_file: false,
        parameters: &[],
        build: |_, _| PPO.get(),
    }
}

pub(crate) const fn selfplay_row<P: Position>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: "selfplay",
        summary: "a two-core network taught by its own searches (`train zero`): moves and positions, for puct",
        takes_file: false,
        parameters: &[],
        build: |_, _| SELFPLAY.get(),
    }
}

pub(crate) const fn pupil_row<P: Position>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: "pupil",
        summary: "a two-core network that imitates the champion (`train distill`): moves at one look",
        takes_file: false,
        parameters: &[],
        build: |_, _| PUPIL.get(),
    }
}

impl<P: Position, E: Evaluator<P> + ?Sized> Evaluator<P> for Arc<E> {
    fn evaluate(&self, boards: &[Afterstate<P>], values: &mut [f32]) {
        (**self).evaluate(boards, values);
    }

    fn scale(&self) -> crate::Scale {
        (**self).scale()
    }

    fn care(&self) -> crate::Care {
        (**self).care()
    }

    fn is_one_sided(&self) -> bool {
        (**self).is_one_sided()
    }

    fn moves(&self) -> Option<&dyn MoveJudge<P>> {
        (**self).moves()
    }
}
