//! Networks that play: `eval=zeronet@FILE` and its kin. Values in points, or a judgement of moves, as the file's outputs are.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use afterstate_board::{Afterstate, Position};

use super::compiled::Program;
use super::model::Model;
use super::plan::SIDE;
use super::steps::Work;
use super::tables::Tables;
use super::{ROWS, Row};
use crate::file::Saved;
use crate::lookup::{Role, unturn};
use crate::shelf::Shelf;
use crate::{Evaluator, EvaluatorRow, Judgement, MoveJudge, Parameter, Scale, SpecError};

/// How outputs are computed.
enum Engine {
    Program(Program),
    /// Tables, and the first head that is wanted.
    Tables(Arc<Tables>, usize),
}

/// A network compiled for play.
pub struct Compiled {
    role: Role,
    unit: f32,
    rewards: f32,
    seen: super::Seen,
    all: Engine,
    /// The value alone, of a network that judges moves too.
    value: Option<Engine>,
    spare: Mutex<Vec<Work>>,
}

impl Compiled {
    /// The network compiled; the three paths by tables, unless `fleeting`: tables take a while to fill.
    pub fn new(model: &Model, fleeting: bool) -> Self {
        let outputs = &model.plan().outputs;
        let tables = Tables::new(model).filter(|_| !fleeting).map(Arc::new);
        let engine = |first: usize| match &tables {
            Some(tables) => Engine::Tables(tables.clone(), first),
            None => Engine::Program(Program::new(model, &outputs[first..])),
        };
        // Of a network whose heads are apart; the value's comes last.
        let value = (model.role() == Role::Policy && outputs.len() == 2).then(|| engine(1));
        let (role, unit, rewards, seen) = (model.role(), model.unit(), model.rewards, model.seen());
        Self { role, unit, rewards, seen, all: engine(0), value, spare: Mutex::default() }
    }

    /// The outputs for each board, one after another, moves in the order of the board's own directions.
    pub fn judge_boards<'b, P: Position>(&self, boards: impl Iterator<Item = &'b P>, outputs: &mut [f32]) {
        self.run(&self.all, boards, self.role.outputs(), outputs);
    }

    fn run<'b, P: Position>(
        &self,
        engine: &Engine,
        boards: impl Iterator<Item = &'b P>,
        count: usize,
        outputs: &mut [f32],
    ) {
        let (mut symmetries, mut turned) = (Vec::new(), Vec::new());
        for board in boards {
            let symmetry = self.seen.through(board);
            turned.push(board.transformed(symmetry));
            symmetries.push(symmetry);
        }
        match engine {
            Engine::Program(program) => {
                let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
                let mut work = spare().pop().unwrap_or_default();
                program.run(&turned, &mut work, outputs);
                spare().push(work);
            }
            Engine::Tables(tables, first) => tables.run(&turned, *first, outputs),
        }
        if count > 1 {
            symmetries.iter().zip(outputs.chunks_exact_mut(count)).for_each(|(s, outputs)| unturn(*s, outputs));
        }
    }
}

/// A network that plays, on as many threads as it is told to use.
pub struct Player {
    compiled: Arc<Compiled>,
    threads: usize,
}

/// Boards of a thread are about so many at least: starting one takes as long as a few boards.
const SHARE: usize = 16;

impl Player {
    /// Plays on so many threads.
    pub fn new(compiled: Arc<Compiled>, threads: usize) -> Self {
        Self { compiled, threads: threads.max(1) }
    }

    /// Lets threads do a part each.
    fn split<T: Sync, U: Send>(&self, boards: &[T], made: &mut [U], part: impl Fn(&Compiled, &[T], &mut [U]) + Sync) {
        let parts = self.threads.min(boards.len() / SHARE);
        if parts < 2 {
            return part(&self.compiled, boards, made);
        }
        let share = boards.len().div_ceil(parts);
        std::thread::scope(|scope| {
            let mut parts = boards.chunks(share).zip(made.chunks_mut(share));
            let own = parts.next();
            for (boards, made) in parts {
                let (part, compiled) = (&part, &self.compiled);
                scope.spawn(move || part(compiled, boards, made));
            }
            if let Some((boards, made)) = own {
                part(&self.compiled, boards, made);
            }
        });
    }
}

impl<P: Position> Evaluator<P> for Player {
    /// Points still to come. A network that judges moves says what the board would be worth to a player to move.
    fn evaluate(&self, boards: &[Afterstate<P>], values: &mut [f32]) {
        self.split(boards, values, |network, boards, values| {
            let positions = boards.iter().map(Afterstate::board);
            let count = network.role.outputs();
            if count == 1 || network.value.is_some() {
                network.run(network.value.as_ref().unwrap_or(&network.all), positions, 1, values);
                return values.iter_mut().for_each(|value| *value *= network.unit);
            }
            let mut outputs = vec![0.0; count * boards.len()];
            network.judge_boards(positions, &mut outputs);
            for ((outputs, board), value) in outputs.chunks_exact(count).zip(boards).zip(values) {
                *value = network.unit * network.role.worth(outputs, board.board().legal());
            }
        });
    }

    fn scale(&self) -> Scale {
        Scale::of_network(self.compiled.rewards)
    }

    fn moves(&self) -> Option<&dyn MoveJudge<P>> {
        (self.compiled.role != Role::Value).then_some(self as &dyn MoveJudge<P>)
    }
}

impl<P: Position> MoveJudge<P> for Player {
    fn judge(&self, positions: &[P], judgements: &mut [Judgement]) {
        self.split(positions, judgements, |network, positions, judgements| {
            let count = network.role.outputs();
            let mut outputs = vec![0.0; count * positions.len()];
            network.judge_boards(positions.iter(), &mut outputs);
            for (judgement, outputs) in judgements.iter_mut().zip(outputs.chunks_exact(count)) {
                *judgement = network.role.judgement(outputs, network.unit);
            }
        });
    }

    fn are_logits(&self) -> bool {
        self.compiled.role.has_logits()
    }
}

/// Networks in use.
static LOADED: Shelf<Compiled> = Shelf::new();

const THREADS: &[Parameter] = &[Parameter::integer("threads", "threads that share a batch", 1, 1, 64)];

/// The row of the `N`-th architecture.
pub(crate) const fn row<P: Position, const N: usize>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: ROWS[N].name,
        summary: ROWS[N].summary,
        takes_file: true,
        parameters: THREADS,
        build: |settings, file| {
            let compiled = load::<P>(&ROWS[N], file)?;
            Ok(Box::new(Player::new(compiled, settings.integer("threads") as usize)))
        },
    }
}

/// Loads a network, or shares the one that is loaded already.
fn load<P: Position>(row: &'static Row, file: Option<&Path>) -> Result<Arc<Compiled>, SpecError> {
    let refuse = |file: &Path, reason: String| SpecError::File { owner: row.name.into(), file: file.into(), reason };
    let Some(file) = file else {
        return Err(refuse(Path::new(""), format!("name the file of a network: eval={}@FILE", row.name)));
    };
    if (P::ROWS, P::COLUMNS) != (SIDE, SIDE) {
        return Err(SpecError::WrongSize { owner: row.name.into(), rows: P::ROWS, columns: P::COLUMNS });
    }
    let read = || {
        let saved = Saved::open(file, &row.format())?;
        Ok(Compiled::new(&Model::read(&saved, row)?, false))
    };
    LOADED.get(P::SIZE, file, read).map_err(|error| refuse(file, error.reason()))
}
