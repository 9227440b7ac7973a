//! The published networks: each a small file that draws its [`Plan`], one [`Model`] for their numbers and files, a plain interpreter and
//! compiled inference. No training framework is needed to play them.

mod compiled;
mod direct;
mod dual_path;
mod import;
mod kernel;
mod model;
mod onnx;
pub mod plain;
pub mod plan;
mod player;
mod protobuf;
mod steps;
pub mod tables;
#[cfg(test)]
mod tests;
mod three_path;
mod value_cnn;
mod whole;
mod winograd;
mod zeronet;

pub use compiled::Program;
pub use import::import;
pub use model::{Model, Seen};
pub use onnx::export as export_onnx;
pub(crate) use player::row;
pub use player::{Compiled, Player};
pub use steps::Work;

use crate::encode::Encoding;
use crate::file::Format;
use crate::lookup::Role;
use crate::{Kind, Parameter, Settings};
use plan::Plan;

/// One architecture.
#[derive(Debug)]
pub struct Row {
    /// Its name, in `eval=NAME@FILE` and in `network=NAME`.
    pub name: &'static str,
    /// The mark of its files.
    pub mark: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Its sizes.
    pub parameters: &'static [Parameter],
    /// Its operations at these sizes, for outputs of that role.
    draw: fn(&Settings, Role) -> Plan,
}

impl Row {
    /// How its files are marked.
    pub const fn format(&self) -> Format {
        Format { mark: self.mark, what: self.name }
    }

    /// The architecture of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        ROWS.iter().find(|row| row.name == name)
    }
}

/// All architectures.
pub static ROWS: [Row; 4] = [value_cnn::ROW, dual_path::ROW, zeronet::ROW, three_path::ROW];

/// How boards are seen: the parameter that all architectures share.
const SEEN: Parameter = Parameter {
    name: "seen",
    summary: "boards turned into their frame, so that all images are judged alike, or as they lie",
    kind: Kind::Choice { default: Seen::NAMES[0], options: Seen::NAMES },
};

/// The planes that an architecture's settings ask for.
fn encoding(settings: &Settings) -> Encoding {
    if settings.integer("planes") == 16 { Encoding::OneHot16 } else { Encoding::OneHot }
}

/// The heads that a role needs; a head for moves judges them by value where the role wants that.
fn heads(plan: &mut Plan, role: Role, policy: impl FnOnce(&mut Plan) -> usize, value: impl FnOnce(&mut Plan) -> usize) {
    plan.outputs = match role {
        Role::Value => vec![value(plan)],
        Role::Moves => vec![policy(plan)],
        Role::Policy | Role::Actor => vec![policy(plan), value(plan)],
    };
}
