//! The networks that learners can train here, by name: one row each. `NAME[:key=value,...]` in a learner's settings.

use std::any::{Any, TypeId};
use std::sync::OnceLock;

use afterstate_board::Position;
use afterstate_evaluator::encode::Encoding;
use afterstate_evaluator::lookup::{LINES_SQUARES, Role, Shape};
use afterstate_evaluator::mlp;
use afterstate_evaluator::networks;
use afterstate_evaluator::{Kind, Parameter, Settings, Spec, SpecError, hint};

use super::{Lookup, Mlp, Network, Pace};

/// What a learner wants of a network, beside its settings.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// What its outputs are to be.
    pub role: Role,
    /// Points that an output of 1 stands for.
    pub unit: f32,
    /// What the points of a move count for beside its values: 0 if values judge the board alone.
    pub rewards: f32,
    /// Names the numbers that it begins with.
    pub seed: u64,
}

/// Makes a network from checked settings; why not, if it cannot be.
pub type Make<P> = fn(&Settings, Wanted) -> Result<Box<dyn Network<P>>, String>;

/// One kind of network.
pub struct NetworkRow<P: Position> {
    /// The name in `network=NAME[:key=value,...]`.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// Makes one.
    pub make: Make<P>,
}

impl<P: Position> NetworkRow<P> {
    const ALL: &'static [Self] = &[lookup_row(), mlp_row()];
}

/// The rows of a crate to the right of this one: for the type of a position its `&'static [NetworkRow<P>]`, if there are any.
pub type More = fn(TypeId) -> Option<&'static dyn Any>;

static MORE: OnceLock<More> = OnceLock::new();

/// Adds the networks of a crate to the right of this one, for the whole program: to be called once, before anything is trained.
/// Further calls change nothing.
pub fn add(more: More) {
    MORE.get_or_init(|| more);
}

/// All kinds of networks that this program can train.
pub fn rows<P: Position>() -> impl Iterator<Item = &'static NetworkRow<P>> + Clone {
    let more = MORE.get().and_then(|more| more(TypeId::of::<P>())?.downcast_ref::<&[NetworkRow<P>]>().copied());
    NetworkRow::ALL.iter().chain(more.unwrap_or_default())
}

/// Why a network of that name cannot be trained here, though it exists.
fn missing<P: Position>(name: &str) -> Option<SpecError> {
    networks::Row::named(name)?;
    Some(match MORE.get() {
        Some(_) => SpecError::WrongSize { owner: name.to_owned(), rows: P::ROWS, columns: P::COLUMNS },
        None => SpecError::Unavailable {
            owner: name.to_owned(),
            reason: "this program was built without the training of published networks: \
                     cargo run --release --features neural"
                .to_owned(),
        },
    })
}

/// Makes the network that a specification names.
pub fn build<P: Position>(text: &str, wanted: Wanted) -> Result<Box<dyn Network<P>>, String> {
    let make = |spec: Spec| -> Result<Box<dyn Network<P>>, SpecError> {
        let row = rows::<P>().find(|row| row.name == spec.name).ok_or_else(|| {
            missing::<P>(&spec.name).unwrap_or_else(|| SpecError::UnknownName {
                what: "network",
                name: spec.name.clone(),
                hint: hint(&spec.name, rows::<P>().map(|row| row.name)),
            })
        })?;
        let settings = spec.settings(row.parameters)?;
        (row.make)(&settings, wanted).map_err(|expected| SpecError::BadValue {
            owner: "network".into(),
            key: row.name.into(),
            value: text.to_owned(),
            expected,
        })
    };
    text.parse().and_then(make).map_err(|error| format!("network: {error}"))
}

const fn lookup_row<P: Position>() -> NetworkRow<P> {
    const PARAMETERS: &[Parameter] = &[
        Parameter::integer("width", "numbers in a row, a multiple of 8", 32, 8, 256),
        Parameter::integer("hidden", "outputs of the dense layer before the last", 32, 1, 512),
        Parameter {
            name: "places",
            summary: "what rows are looked up by",
            kind: Kind::Text {
                default: LINES_SQUARES,
                form: "lines-squares, shared-lines-squares, or a list of places such as 0123 cdef 89abcd",
            },
        },
        Parameter {
            name: "direct",
            summary: "add the first numbers of the summed rows to the outputs, past the dense layers",
            kind: Kind::Switch { default: false },
        },
        Parameter {
            name: "pace",
            summary: "how far rows go",
            kind: Kind::Choice { default: Pace::NAMES[0], options: Pace::NAMES },
        },
        Parameter::number("spread", "size of the random numbers that rows begin with", 0.1, 0.0, 10.0),
    ];
    NetworkRow {
        name: "lookup",
        summary: "the two-core network: vectors looked up by the tiles on lines and squares, summed, a dense head",
        parameters: PARAMETERS,
        make: |settings, wanted| {
            let shape = Shape {
                places: settings.word("places").to_owned(),
                width: settings.integer("width") as usize,
                hidden: vec![settings.integer("hidden") as usize],
                direct: settings.switch("direct"),
                role: wanted.role,
                unit: wanted.unit,
                rewards: wanted.rewards,
            };
            let pace = Pace::named(settings.word("pace")).unwrap_or(Pace::Adagrad);
            let network = Lookup::new(P::SIZE, shape, settings.number("spread") as f32, pace, wanted.seed);
            Ok(Box::new(network.map_err(|error| error.to_string())?))
        },
    }
}

const fn mlp_row<P: Position>() -> NetworkRow<P> {
    const PARAMETERS: &[Parameter] = &[
        Parameter::integer("width", "outputs of each hidden layer", 256, 1, 1024),
        Parameter::integer("depth", "hidden layers", 2, 1, 8),
        Parameter {
            name: "inputs",
            summary: "how tiles become numbers",
            kind: Kind::Choice { default: Encoding::NAMES[0], options: Encoding::NAMES },
        },
    ];
    NetworkRow {
        name: "mlp",
        summary: "a plain dense network (P1): the board as numbers, hidden layers with ReLU",
        parameters: PARAMETERS,
        make: |settings, wanted| {
            let encoding = Encoding::named(settings.word("inputs")).unwrap_or(Encoding::Exponents);
            let hidden = vec![settings.integer("width") as usize; settings.integer("depth") as usize];
            let mut network = mlp::Mlp::random(P::SIZE, encoding, &hidden, wanted.role, wanted.unit, wanted.seed)?;
            network.rewards = wanted.rewards;
            Ok(Box::new(Mlp::new(network)))
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::Board;

    #[test]
    fn networks_of_another_crate_are_asked_for_in_words() {
        let wanted = Wanted { role: Role::Policy, unit: 1.0, rewards: 1.0, seed: 1 };
        let error = |text: &str| build::<Board>(text, wanted).map(|_| ()).unwrap_err();
        assert!(error("dual-path:channels=8").contains("cargo run --release --features neural"));
        assert!(error("no-such-thing").contains("there is no network"));
        assert!(build::<Board>("mlp:width=8", wanted).is_ok());
    }
}
