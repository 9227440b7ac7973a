//! The dual path (row P3): exponents seen by convolutions and by dense layers side by side, joined, and a head of two hidden layers
//! for the moves and for the value. The document gives the channels and that 1408 numbers are joined: 128 x 3 x 3 and 256, hence a
//! last kernel of 2x2.

use super::plan::{LAST, Plan, RELU};
use super::{Row, SEEN, heads};
use crate::encode::Encoding;
use crate::lookup::Role;
use crate::{Parameter, Settings};

pub(super) const ROW: Row = Row {
    name: "dual-path",
    mark: "afterstate-dual-path-1",
    summary: "the dual path (P3), as dual-path@FILE: convolutions and dense layers side by side, policy and value heads",
    parameters: &[
        Parameter::integer("channels", "numbers a cell of the last convolution, half of it in the first", 128, 2, 512),
        Parameter::integer("width", "numbers of the dense path", 256, 1, 1_024),
        Parameter::integer("head", "numbers of a head's first layer, half of it in its second", 512, 2, 2_048),
        SEEN,
    ],
    draw,
};

fn draw(settings: &Settings, role: Role) -> Plan {
    let mut plan = Plan::default();
    let [channels, width, head] = ["channels", "width", "head"].map(|name| settings.integer(name) as usize);
    let input = plan.input(Encoding::Exponents);
    let mut map = input;
    for (i, (channels, side, padding)) in
        [(channels / 2, 3, 1), (channels, 3, 1), (channels, 2, 0)].into_iter().enumerate()
    {
        map = plan.conv(&format!("conv.{i}"), map, channels, side, padding, true);
        map = plan.relu(map);
    }
    let mut flat = input;
    for i in 0..2 {
        flat = plan.linear(&format!("flat.{i}"), flat, width, RELU);
        flat = plan.relu(flat);
    }
    let joined = plan.join(&[map, flat]);
    let head_of = |plan: &mut Plan, name: &str, outputs: usize| {
        let first = plan.linear(&format!("{name}.0"), joined, head, RELU);
        let first = plan.relu(first);
        let second = plan.linear(&format!("{name}.1"), first, head / 2, RELU);
        let second = plan.relu(second);
        plan.linear(&format!("{name}.2"), second, outputs, LAST)
    };
    heads(&mut plan, role, |plan| head_of(plan, "policy", 4), |plan| head_of(plan, "value", 1));
    plan
}
