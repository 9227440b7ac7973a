//! The catalogue's row: `eval=ntuple@FILE`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, Weak};
use std::time::SystemTime;

use afterstate_board::{Position, Size};

use super::file::{Dtype, FORMAT, FileError, Saved};
use super::{Chance, Goal, Layout, Network, Words};
use crate::{EvaluatorRow, Parameter, Settings, SpecError};

const fn downgrade(default: u64) -> Parameter {
    let summary = "on boards with this tile or more, show the largest ones as smaller where a gap allows it; 0: never";
    Parameter::integer("downgrade", summary, default, 0, 131_072)
}

const PARAMETERS: &[Parameter] = &[downgrade(0)];
const CHAMPIONS_PARAMETERS: &[Parameter] = &[downgrade(16_384)];

pub(crate) const fn row<P: Position>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: "ntuple",
        summary: "a trained n-tuple network, as ntuple@FILE (a checkpoint of `afterstate train td`)",
        takes_file: true,
        parameters: PARAMETERS,
        build: |settings: &Settings, file| {
            let refuse =
                |file: &Path, reason: String| SpecError::File { owner: "ntuple".into(), file: file.into(), reason };
            let Some(file) = file else {
                return Err(refuse(Path::new(""), "name the file of a network: eval=ntuple@FILE".into()));
            };
            let network = load::<P>(file).map_err(|error| refuse(file, error.reason()))?;
            match Chance::new(network.clone()) {
                Some(chance) => Ok(Box::new(chance)),
                None => Ok(Box::new(network.downgrading(settings.integer("downgrade")))),
            }
        },
    }
}

/// A network that comes with the program, unpacked when it is first asked for.
struct Shipped {
    name: &'static str,
    packed: &'static [u8],
    unpacked: Mutex<Option<Network>>,
}

/// `benchmarks/2026-11-17-ntuple` says how it was made and how well it plays.
static CHAMPION: Shipped = Shipped::new("champion", include_bytes!("../../champion.safetensors"));

/// What agent `tables` plays by between the tables if it is asked to; `benchmarks/2026-11-18-late` says how it was made.
static LATE: Shipped = Shipped::new("late", include_bytes!("../../late.safetensors"));

impl Shipped {
    const fn new(name: &'static str, packed: &'static [u8]) -> Self {
        Self { name, packed, unpacked: Mutex::new(None) }
    }

    fn load(&self, size: Size) -> Result<Network, FileError> {
        let mut unpacked = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        let network = match &*unpacked {
            Some(network) if size == Size::CLASSIC => network.clone(),
            _ => read(size, &Saved::embedded(self.name, self.packed, &FORMAT)?)?,
        };
        *unpacked = Some(network.clone());
        Ok(network)
    }
}

pub(crate) const fn champion_row<P: Position>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: "champion",
        summary: "the n-tuple network that comes with the program: points still to come on the 4x4 board",
        takes_file: false,
        parameters: CHAMPIONS_PARAMETERS,
        build: |settings: &Settings, _| {
            let refuse = |error: FileError| SpecError::File {
                owner: "champion".into(),
                file: "champion".into(),
                reason: error.reason(),
            };
            Ok(Box::new(champion::<P>().map_err(refuse)?.downgrading(settings.integer("downgrade"))))
        },
    }
}

/// The network that comes with the program: points still to come.
pub fn champion<P: Position>() -> Result<Network, FileError> {
    CHAMPION.load(P::SIZE)
}

/// The other network that comes with the program: the chance of 32768 from a 16384 on, learned beside endgame tables. Unpacked it takes 3.5 GB.
pub fn late<P: Position>() -> Result<Network, FileError> {
    LATE.load(P::SIZE)
}

/// What tells whether a file is still the one that was loaded.
#[derive(Clone, PartialEq)]
struct Identity {
    path: PathBuf,
    bytes: u64,
    changed: Option<SystemTime>,
    board: Size,
}

/// A network in use.
struct Loaded {
    identity: Identity,
    layout: Layout,
    goal: Option<Goal>,
    weights: Weak<Words>,
}

/// Networks in use: every thread of an evaluation asks for its own, and all share one copy.
static LOADED: Mutex<Vec<Loaded>> = Mutex::new(Vec::new());

/// Loads a network, packed or whole, or shares the one that is loaded already.
pub fn load<P: Position>(path: &Path) -> Result<Network, FileError> {
    load_of(P::SIZE, path)
}

fn load_of(size: Size, path: &Path) -> Result<Network, FileError> {
    let io = |source| FileError::Io { path: path.to_owned(), source };
    let facts = fs::metadata(path).map_err(io)?;
    let identity = Identity {
        path: path.canonicalize().map_err(io)?,
        bytes: facts.len(),
        changed: facts.modified().ok(),
        board: size,
    };
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    loaded.retain(|known| known.weights.strong_count() > 0);
    if let Some(known) = loaded.iter().find(|known| known.identity == identity)
        && let Some(weights) = known.weights.upgrade()
    {
        return Ok(Network::sharing(known.layout.clone(), weights).for_goal(known.goal));
    }
    let network = read(size, &Saved::open(path, &FORMAT)?)?;
    let (layout, goal, weights) = (network.layout().clone(), network.goal(), network.weak());
    loaded.push(Loaded { identity, layout, goal, weights });
    Ok(network)
}

/// The network in a file, packed or whole.
pub(super) fn read(size: Size, saved: &Saved) -> Result<Network, FileError> {
    let goal = saved.goal()?;
    if saved.is_packed() {
        return Ok(Network::unpacked(size, saved)?.for_goal(goal));
    }
    let layout = saved.layout(size)?;
    let weights = saved.words("weights", Dtype::I32, layout.weights())?;
    Ok(Network::new(layout, weights.ok_or_else(|| saved.refused("it holds no weights"))?).for_goal(goal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ntuple::Stages;

    /// Not unpacked here: that takes 3.5 GB.
    #[test]
    fn what_comes_with_the_program_says_what_it_is() {
        let saved = |shipped: &'static Shipped| Saved::embedded(shipped.name, shipped.packed, &FORMAT).unwrap();
        let (champion, late) = (saved(&CHAMPION), saved(&LATE));
        assert_eq!((champion.goal().unwrap(), champion.is_packed()), (None, true));
        assert_eq!(
            (late.goal().unwrap(), late.is_packed()),
            (Some(Goal { exponent: 15, from: 16_410, is_whole: false }), true)
        );
        let stages = Stages::Sums(vec![20_480, 24_576, 28_672, 30_720, 31_744, 32_256]);
        assert_eq!(late.layout(Size::CLASSIC).unwrap().stages(), &stages);
        assert!([&CHAMPION, &LATE].iter().all(|shipped| shipped.packed.len() <= 24 << 20));
    }
}
