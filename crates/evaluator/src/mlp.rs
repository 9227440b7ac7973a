//! Plain dense networks (row P1): the board as numbers, layers with ReLU between them, outputs of any role. The board is turned into its
//! frame first, so that all its images are judged alike.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use afterstate_board::{Afterstate, Position, Rng, Size, Symmetry};

use crate::dense::{Dense, MOST, run_layers};
use crate::embedded::Embedded;
use crate::encode::{Encoding, frame_of};
use crate::file::{Array, Dtype, FileError, Format, MARK, Metadata, Saved, write_arrays};
use crate::lookup::file::bytes_of;
use crate::lookup::{Role, unturn};
use crate::shelf::Shelf;
use crate::{Evaluator, EvaluatorRow, Judgement, MoveJudge, Scale, SpecError};

/// How files of dense networks are marked.
pub const FORMAT: Format = Format { mark: "afterstate-mlp-1", what: "dense network" };

/// A dense network.
#[derive(Clone, Debug, PartialEq)]
pub struct Mlp {
    encoding: Encoding,
    role: Role,
    /// Points that an output of 1 stands for, where it is a value.
    unit: f32,
    /// What the points of a move count for beside its values.
    pub rewards: f32,
    /// The layers.
    pub layers: Vec<Dense>,
}

impl Mlp {
    /// A network that knows nothing: small random numbers named by the seed, `hidden` outputs in each layer but the last.
    pub fn random(
        size: Size,
        encoding: Encoding,
        hidden: &[usize],
        role: Role,
        unit: f32,
        seed: u64,
    ) -> Result<Self, String> {
        if hidden.iter().any(|size| !(1..=MOST).contains(size)) || encoding.inputs(size) > MOST {
            return Err(format!("layers of 1 to {MOST} numbers"));
        }
        let mut rng = Rng::stream(seed, 0, 0);
        let sizes: Vec<usize> =
            [encoding.inputs(size)].into_iter().chain(hidden.iter().copied()).chain([role.outputs()]).collect();
        let layer = |pair: &[usize]| {
            let size = (6.0 / pair[0] as f32).sqrt();
            let weights = (0..pair[0] * pair[1]).map(|_| (2.0 * rng.unit() as f32 - 1.0) * size).collect();
            Dense::new(pair[0], pair[1], weights, vec![0.0; pair[1]])
        };
        Ok(Self { encoding, role, unit, rewards: 1.0, layers: sizes.windows(2).map(layer).collect() })
    }

    /// What its outputs are.
    pub const fn role(&self) -> Role {
        self.role
    }

    /// Number of numbers that can be learned.
    pub fn parameters(&self) -> usize {
        self.layers.iter().map(Dense::parameters).sum()
    }

    /// Writes the inputs for a board; the symmetry it is seen through.
    pub fn encode<P: Position>(&self, board: &P, inputs: &mut [f32]) -> Symmetry {
        let symmetry = frame_of(board);
        self.encoding.write(&board.transformed(symmetry), inputs);
        symmetry
    }

    /// The outputs for each board, one after another, moves in the order of the board's own directions.
    pub fn judge_boards<'b, P: Position>(&self, boards: impl Iterator<Item = &'b P>, outputs: &mut [f32]) {
        let count = self.role.outputs();
        let mut inputs = vec![0.0; self.encoding.inputs(P::SIZE)];
        let mut kept = vec![0.0; self.layers.iter().map(Dense::outputs).sum()];
        for (board, outputs) in boards.zip(outputs.chunks_exact_mut(count)) {
            let symmetry = self.encode(board, &mut inputs);
            run_layers(&self.layers, &inputs, &mut kept);
            outputs.copy_from_slice(&kept[kept.len() - count..]);
            unturn(symmetry, outputs);
        }
    }

    /// Writes the network, and `more` beside it.
    pub fn write(&self, size: Size, out: &mut dyn Write, facts: Metadata, more: &[Array<'_>]) -> io::Result<()> {
        let hidden: Vec<String> =
            self.layers.iter().rev().skip(1).rev().map(|layer| layer.outputs().to_string()).collect();
        let pairs = [
            (MARK, FORMAT.mark.to_owned()),
            ("size", size.to_string()),
            ("inputs", self.encoding.name().to_owned()),
            ("hidden", hidden.join(" ")),
            ("outputs", self.role.name().to_owned()),
            ("unit", format!("{} points", self.unit)),
            ("rewards", self.rewards.to_string()),
        ];
        let mut metadata: Metadata = pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        metadata.extend(facts);
        let dense: Vec<(String, Vec<usize>, Vec<u8>)> = self
            .layers
            .iter()
            .enumerate()
            .flat_map(|(i, layer)| {
                let shape = vec![layer.outputs(), layer.inputs()];
                let weight = (format!("dense.{i}.weight"), shape, bytes_of(layer.weights()));
                [weight, (format!("dense.{i}.bias"), vec![layer.outputs()], bytes_of(layer.bias()))]
            })
            .collect();
        let mut arrays: Vec<Array<'_>> =
            dense.iter().map(|(name, shape, bytes)| Array { name, kind: Dtype::F32, shape, bytes }).collect();
        arrays.extend_from_slice(more);
        write_arrays(out, &metadata, &arrays)
    }

    /// The network in a file, if it is for boards of that size.
    pub fn read(size: Size, saved: &Saved) -> Result<Self, FileError> {
        saved.check_size(size)?;
        let unknown = |what: &str| saved.refused(format!("its {what} are of no known kind"));
        let encoding = Encoding::named(saved.text("inputs")?).ok_or_else(|| unknown("inputs"))?;
        let role = Role::named(saved.text("outputs")?).ok_or_else(|| unknown("outputs"))?;
        let unit: Option<f32> = saved.text("unit")?.strip_suffix(" points").and_then(|unit| unit.parse().ok());
        let unit = unit.filter(|unit| *unit > 0.0 && unit.is_finite());
        let hidden: Option<Vec<usize>> =
            saved.text("hidden")?.split_whitespace().map(|word| word.parse().ok()).collect();
        let hidden = hidden.filter(|sizes| sizes.iter().all(|size| (1..=MOST).contains(size)) && sizes.len() < 64);
        let sizes: Vec<usize> = [encoding.inputs(size)]
            .into_iter()
            .chain(hidden.ok_or_else(|| unknown("hidden layers"))?)
            .chain([role.outputs()])
            .collect();
        let mut layers = Vec::new();
        for (i, pair) in sizes.windows(2).enumerate() {
            let weights = saved.floats(&format!("dense.{i}.weight"), &[pair[1], pair[0]])?;
            layers.push(Dense::new(pair[0], pair[1], weights, saved.floats(&format!("dense.{i}.bias"), &[pair[1]])?));
        }
        let unit = unit.ok_or_else(|| saved.refused("its unit is no number of points"))?;
        Ok(Self { encoding, role, unit, rewards: saved.rewards(), layers })
    }
}

impl<P: Position> Evaluator<P> for Mlp {
    /// Points still to come. A network that judges moves says what the board would be worth to a player to move.
    fn evaluate(&self, boards: &[Afterstate<P>], values: &mut [f32]) {
        let count = self.role.outputs();
        let mut outputs = vec![0.0; count * boards.len()];
        self.judge_boards(boards.iter().map(Afterstate::board), &mut outputs);
        for ((outputs, board), value) in outputs.chunks_exact(count).zip(boards).zip(values) {
            *value = self.unit * self.role.worth(outputs, board.board().legal());
        }
    }

    fn scale(&self) -> Scale {
        Scale::of_network(self.rewards)
    }

    fn moves(&self) -> Option<&dyn MoveJudge<P>> {
        (self.role != Role::Value).then_some(self as &dyn MoveJudge<P>)
    }
}

impl<P: Position> MoveJudge<P> for Mlp {
    fn judge(&self, positions: &[P], judgements: &mut [Judgement]) {
        let count = self.role.outputs();
        let mut outputs = vec![0.0; count * positions.len()];
        self.judge_boards(positions.iter(), &mut outputs);
        for (judgement, outputs) in judgements.iter_mut().zip(outputs.chunks_exact(count)) {
            *judgement = self.role.judgement(outputs, self.unit);
        }
    }

    fn are_logits(&self) -> bool {
        self.role.has_logits()
    }
}

/// Networks in use.
static LOADED: Shelf<Mlp> = Shelf::new();

/// `benchmarks/2026-11-17-lookup`.
static DENSE: Embedded<Mlp> = Embedded::new("dqn-dense", include_bytes!("../mlp-dqn.safetensors"), FORMAT, Mlp::read);

pub(crate) const fn dqn_row<P: Position>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: "dqn-dense",
        summary: "a dense network taught by Q-learning (`train dqn --preset dense`): what each move is worth, at one look",
        takes_file: false,
        parameters: &[],
        build: |_, _| DENSE.get(),
    }
}

pub(crate) const fn row<P: Position>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: "mlp",
        summary: "a trained dense network, as mlp@FILE (a checkpoint of `afterstate train dqn` or `value`)",
        takes_file: true,
        parameters: &[],
        build: |_, file| {
            let refuse =
                |file: &Path, reason: String| SpecError::File { owner: "mlp".into(), file: file.into(), reason };
            let Some(file) = file else {
                return Err(refuse(Path::new(""), "name the file of a network: eval=mlp@FILE".into()));
            };
            let read = || Saved::open(file, &FORMAT).and_then(|saved| Mlp::read(P::SIZE, &saved));
            let network: Arc<Mlp> = LOADED.get(P::SIZE, file, read).map_err(|error| refuse(file, error.reason()))?;
            Ok(Box::new(network))
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_boards;
    use afterstate_board::{Board, Grid};

    #[test]
    fn networks_come_back_and_damage_is_refused() {
        for (encoding, role) in [(Encoding::Exponents, Role::Moves), (Encoding::OneHot, Role::Value)] {
            let network = Mlp::random(Board::SIZE, encoding, &[24, 12], role, 100.0, 3).unwrap();
            let mut bytes = Vec::new();
            network.write(Board::SIZE, &mut bytes, Metadata::new(), &[]).unwrap();
            let back = |bytes: &[u8]| Saved::of_bytes(bytes.to_vec(), &FORMAT).and_then(|s| Mlp::read(Board::SIZE, &s));
            assert_eq!(back(&bytes).unwrap(), network);
            for at in (0..bytes.len()).step_by(53) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 16;
                assert!(back(&damaged).is_err(), "a flipped bit at {at} was not noticed");
            }
            assert!(back(&bytes[..bytes.len() - 1]).is_err());
            assert!(Mlp::read(<Grid<3, 3>>::SIZE, &Saved::of_bytes(bytes, &FORMAT).unwrap()).is_err());
        }
    }

    #[test]
    fn the_published_size_and_one_judgement_for_all_images() {
        let network = Mlp::random(Board::SIZE, Encoding::Exponents, &[256, 256], Role::Moves, 1.0, 1).unwrap();
        assert_eq!(network.parameters(), 16 * 256 + 256 + 256 * 256 + 256 + 256 * 4 + 4);
        for board in random_boards(50).filter(Board::is_narrow) {
            let best = |board: &Board| {
                let mut outputs = [0.0; 4];
                network.judge_boards([board].into_iter(), &mut outputs);
                outputs.into_iter().fold(f32::MIN, f32::max)
            };
            assert!(Symmetry::ALL.iter().all(|&s| best(&board.transformed(s)) == best(&board)));
        }
    }
}
