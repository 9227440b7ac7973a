//! The networks that learners can train here, by name: one row each. `NAME[:key=value,...]` in a learner's settings.

use afterstate_board::Position;
use afterstate_evaluator::encode::Encoding;
use afterstate_evaluator::lookup::{LINES_SQUARES, Role, SHARED_LINES_SQUARES, Shape};
use afterstate_evaluator::mlp;
use afterstate_evaluator::{Kind, Parameter, Settings, Spec, SpecError, hint};

use super::{Lookup, Mlp, Network};

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
type Make<P> = fn(&Settings, Wanted) -> Result<Box<dyn Network<P>>, String>;

/// One kind of network.
pub struct NetworkRow<P: Position> {
    /// The name in `network=NAME[:key=value,...]`.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    make: Make<P>,
}

impl<P: Position> NetworkRow<P> {
    const ALL: &'static [Self] = &[lookup_row(), mlp_row()];
}

/// All kinds of networks.
pub fn rows<P: Position>() -> &'static [NetworkRow<P>] {
    NetworkRow::ALL
}

/// Makes the network that a specification names.
pub fn build<P: Position>(text: &str, wanted: Wanted) -> Result<Box<dyn Network<P>>, String> {
    let make = |spec: Spec| -> Result<Box<dyn Network<P>>, SpecError> {
        let row = rows::<P>().iter().find(|row| row.name == spec.name).ok_or_else(|| SpecError::UnknownName {
            what: "network",
            name: spec.name.clone(),
            hint: hint(&spec.name, rows::<P>().iter().map(|row| row.name)),
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
            kind: Kind::Choice { default: LINES_SQUARES, options: &[LINES_SQUARES, SHARED_LINES_SQUARES] },
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
                role: wanted.role,
                unit: wanted.unit,
                rewards: wanted.rewards,
            };
            let network = Lookup::new::<P>(shape, settings.number("spread") as f32, wanted.seed);
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
            let network = mlp::Mlp::random::<P>(encoding, &hidden, wanted.role, wanted.unit, wanted.seed)?;
            Ok(Box::new(Mlp::new(network)))
        },
    }
}
