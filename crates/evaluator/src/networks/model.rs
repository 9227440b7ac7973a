//! A network's numbers, whatever its architecture: how they begin, and how they are kept in files.

use std::io::{self, Write};

use afterstate_board::{Position, Rng, Symmetry};

use super::Row;
use super::plan::{Plan, SIDE, Start};
use crate::encode::frame_of;
use crate::file::{Array, Dtype, FileError, MARK, Metadata, Saved, write_arrays};
use crate::lookup::Role;
use crate::lookup::file::bytes_of;
use crate::{Settings, Spec, SpecError};

/// How a network sees a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// As it lies, as in the documents.
    AsItLies,
    /// Turned into its frame, so that all its images are judged alike.
    Framed,
}

impl Seen {
    /// The names of both, in files and settings.
    pub const NAMES: &'static [&'static str] = &["framed", "as-it-lies"];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Framed => Self::NAMES[0],
            Self::AsItLies => Self::NAMES[1],
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Framed, Self::AsItLies].into_iter().find(|seen| seen.name() == name)
    }

    /// The symmetry that a board is seen through.
    #[inline]
    pub fn through<P: Position>(self, board: &P) -> Symmetry {
        match self {
            Self::AsItLies => Symmetry::IDENTITY,
            Self::Framed => frame_of(board),
        }
    }
}

/// A network.
#[derive(Clone, Debug)]
pub struct Model {
    row: &'static Row,
    /// The sizes, as `key=value,...`.
    sizes: String,
    role: Role,
    unit: f32,
    /// What the points of a move count for beside its values.
    pub rewards: f32,
    seen: Seen,
    plan: Plan,
    arrays: Vec<Vec<f32>>,
}

impl Model {
    /// A network that knows nothing: random numbers named by the seed.
    pub fn random(
        row: &'static Row,
        settings: &Settings,
        (role, unit): (Role, f32),
        seed: u64,
    ) -> Result<Self, String> {
        if role == Role::Actor {
            return Err(
                "no values of afterstates: a learner that wants them has a setting (--set afterstates=false)".into()
            );
        }
        if !(unit > 0.0 && unit.is_finite()) {
            return Err(format!("a unit of {unit} points makes no sense"));
        }
        let mut rng = Rng::stream(seed, 0, 0);
        let mut model = Self::outline(row, settings, (role, unit));
        for array in &model.plan.arrays {
            let mut number = || match array.start {
                Start::Constant(value) => value,
                Start::Random(size) => (2.0 * rng.unit() as f32 - 1.0) * size,
            };
            model.arrays.push((0..array.numbers()).map(|_| number()).collect());
        }
        Ok(model)
    }

    /// The network of those sizes, as `key=value,...`, that knows nothing.
    pub fn named(row: &'static Row, sizes: &str, form: (Role, f32), seed: u64) -> Result<Self, String> {
        let settings = settings_of(row, sizes).map_err(|error| error.to_string())?;
        Self::random(row, &settings, form, seed)
    }

    /// Everything but its numbers.
    fn outline(row: &'static Row, settings: &Settings, (role, unit): (Role, f32)) -> Self {
        let seen = Seen::named(settings.word("seen")).unwrap_or(Seen::Framed);
        let plan = (row.draw)(settings, role);
        let own = settings.iter().filter(|(key, _)| row.parameters.iter().any(|parameter| parameter.name == *key));
        let sizes: Vec<String> = own.map(|(key, value)| format!("{key}={value}")).collect();
        Self { row, sizes: sizes.join(","), role, unit, rewards: 1.0, seen, plan, arrays: Vec::new() }
    }

    /// Its architecture.
    pub const fn row(&self) -> &'static Row {
        self.row
    }

    /// Its sizes, as `key=value,...`.
    pub fn sizes(&self) -> &str {
        &self.sizes
    }

    /// What its outputs are.
    pub const fn role(&self) -> Role {
        self.role
    }

    /// Points that an output of 1 stands for, where it is a value.
    pub const fn unit(&self) -> f32 {
        self.unit
    }

    /// How it sees a board.
    pub const fn seen(&self) -> Seen {
        self.seen
    }

    /// Its operations.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The numbers of an array of the plan.
    pub fn array(&self, array: usize) -> &[f32] {
        &self.arrays[array]
    }

    /// The array of that name, with its shape.
    pub fn by_name(&self, name: &str) -> Option<(&[f32], &[usize])> {
        let array = self.plan.arrays.iter().position(|array| array.name == name)?;
        Some((&self.arrays[array], &self.plan.arrays[array].shape))
    }

    /// The numbers of an array of the plan, to be changed.
    pub fn array_mut(&mut self, array: usize) -> &mut [f32] {
        &mut self.arrays[array]
    }

    /// The numbers of all arrays, in the order of the plan's.
    pub fn arrays_mut(&mut self) -> &mut [Vec<f32>] {
        &mut self.arrays
    }

    /// Writes the network, and `more` beside it.
    pub fn write(&self, out: &mut dyn Write, facts: Metadata, more: &[Array<'_>]) -> io::Result<()> {
        let pairs = [
            (MARK, self.row.mark.to_owned()),
            ("size", format!("{SIDE}x{SIDE}")),
            ("architecture", format!("{}:{}", self.row.name, self.sizes)),
            ("outputs", self.role.name().to_owned()),
            ("unit", format!("{} points", self.unit)),
            ("rewards", self.rewards.to_string()),
        ];
        let mut metadata: Metadata = pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        metadata.extend(facts);
        let bytes: Vec<Vec<u8>> = self.arrays.iter().map(|array| bytes_of(array)).collect();
        let named = self.plan.arrays.iter().zip(&bytes);
        let mut arrays: Vec<Array<'_>> = named
            .map(|(array, bytes)| Array { name: &array.name, kind: Dtype::F32, shape: &array.shape, bytes })
            .collect();
        arrays.extend_from_slice(more);
        write_arrays(out, &metadata, &arrays)
    }

    /// The network in a file. Its sizes are checked, and every array against them, before any is copied.
    pub fn read(saved: &Saved, row: &'static Row) -> Result<Self, FileError> {
        if saved.text("size")? != format!("{SIDE}x{SIDE}") {
            return Err(saved.refused(format!("the network is not for {SIDE}x{SIDE} boards")));
        }
        let (name, sizes) = saved.text("architecture")?.split_once(':').unwrap_or_default();
        let settings = settings_of(row, sizes).map_err(|error| saved.refused(error.to_string()))?;
        if name != row.name {
            return Err(saved.refused(format!("its architecture is '{name}', not {}", row.name)));
        }
        let unknown = |what: &str| saved.refused(format!("its {what} cannot be read"));
        let role = Role::named(saved.text("outputs")?).filter(|role| *role != Role::Actor);
        let role = role.ok_or_else(|| unknown("outputs"))?;
        let unit: Option<f32> = saved.text("unit")?.strip_suffix(" points").and_then(|unit| unit.parse().ok());
        let unit = unit.filter(|unit| *unit > 0.0 && unit.is_finite()).ok_or_else(|| unknown("unit"))?;
        let mut model = Self::outline(row, &settings, (role, unit));
        model.rewards = saved.rewards();
        for array in &model.plan.arrays {
            if saved.array_of(&array.name, Dtype::F32, &array.shape)?.is_none() {
                return Err(saved.refused(format!("it lacks '{}'", array.name)));
            }
        }
        for array in &model.plan.arrays {
            model.arrays.push(saved.floats(&array.name, &array.shape)?);
        }
        if model.arrays.iter().flatten().any(|number| !number.is_finite()) {
            return Err(saved.refused("some of its numbers are none"));
        }
        Ok(model)
    }
}

/// The sizes in `key=value,...`, checked.
fn settings_of(row: &'static Row, sizes: &str) -> Result<Settings, SpecError> {
    format!("{}:{sizes}", row.name).parse().and_then(|spec: Spec| spec.settings(row.parameters))
}
