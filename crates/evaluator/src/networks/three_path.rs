//! The three paths (row A1): a vector for each tile, depthwise-separable convolutions over rows, columns and squares, joined into one
//! dense layer, and a small head each for the moves and for the value. Every number before that layer depends on four cells only,
//! which [`super::tables`] makes use of. The heads' widths are those of the library that the document used; ReLU is ours.

use super::plan::{LAST, Plan, RELU};
use super::{Row, SEEN, heads};
use crate::lookup::Role;
use crate::{Parameter, Settings};

pub(super) const ROW: Row = Row {
    name: "three-path",
    mark: "afterstate-three-path-1",
    summary: "the three paths (A1), as three-path@FILE: embedded tiles, rows, columns and squares apart, policy and value heads",
    parameters: &[
        Parameter::integer("channels", "numbers a tile", 128, 1, 512),
        Parameter::integer("features", "numbers of the layer that joins the paths", 256, 1, 1_024),
        Parameter::integer("head", "numbers of each of the heads' two hidden layers", 64, 1, 512),
        Parameter::integer("tiles", "kinds of tile told apart", 18, 17, 18),
        SEEN,
    ],
    draw,
};

/// The paths: name and kernel.
pub(super) const PATHS: [(&str, (usize, usize)); 3] = [("row", (1, 4)), ("column", (4, 1)), ("square", (2, 2))];

fn draw(settings: &Settings, role: Role) -> Plan {
    let mut plan = Plan::default();
    let [channels, features, head, tiles] =
        ["channels", "features", "head", "tiles"].map(|name| settings.integer(name) as usize);
    let tiles = plan.embed("embedding", tiles, channels);
    let paths = PATHS.map(|(name, kernel)| {
        let own = plan.depthwise(&format!("{name}.depthwise"), tiles, kernel);
        let mixed = plan.conv(&format!("{name}.pointwise"), own, channels, 1, 0, true);
        plan.relu(mixed)
    });
    let joined = plan.join(&paths);
    let joined = plan.linear("features", joined, features, RELU);
    let joined = plan.relu(joined);
    let head_of = |plan: &mut Plan, name: &str, outputs: usize| {
        let mut at = joined;
        for i in 0..2 {
            at = plan.linear(&format!("{name}.{i}"), at, head, RELU);
            at = plan.relu(at);
        }
        plan.linear(&format!("{name}.2"), at, outputs, LAST)
    };
    heads(&mut plan, role, |plan| head_of(plan, "policy", 4), |plan| head_of(plan, "value", 1));
    plan
}
