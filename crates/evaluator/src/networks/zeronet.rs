//! ZeroNet (row Z2): a residual tower on one-hot planes, a head for moves and a head for the value. The norms of the
//! heads are AlphaZero's; the document says nothing of them.

use super::plan::{LAST, Plan, RELU};
use super::{Row, SEEN, encoding, heads};
use crate::lookup::Role;
use crate::{Parameter, Settings};

pub(super) const ROW: Row = Row {
    name: "zeronet",
    mark: "afterstate-zeronet-1",
    summary: "ZeroNet (Z2), as zeronet@FILE: a residual tower of 3x3 convolutions, policy and value heads",
    parameters: &[
        Parameter::integer("blocks", "residual blocks", 8, 0, 64),
        Parameter::integer("channels", "numbers a cell", 128, 1, 512),
        Parameter::integer("planes", "kinds of tile told apart", 16, 16, 18),
        Parameter::number("dropout", "share forgotten in the value head while it is trained", 0.3, 0.0, 0.9),
        SEEN,
    ],
    draw,
};

fn draw(settings: &Settings, role: Role) -> Plan {
    let mut plan = Plan::default();
    let channels = settings.integer("channels") as usize;
    let dropout = settings.number("dropout") as f32;
    let input = plan.input(encoding(settings));
    let mut body = plan.conv("stem.conv", input, channels, 3, 1, false);
    body = plan.batch_norm("stem.norm", body);
    body = plan.relu(body);
    for block in 0..settings.integer("blocks") {
        let before = body;
        for half in [1, 2] {
            body = plan.conv(&format!("blocks.{block}.conv{half}"), body, channels, 3, 1, false);
            body = plan.batch_norm(&format!("blocks.{block}.norm{half}"), body);
            body = if half == 2 { plan.add(body, before) } else { body };
            body = plan.relu(body);
        }
    }
    let reduced = |plan: &mut Plan, name: &str, channels: usize| {
        let conv = plan.conv(&format!("{name}.conv"), body, channels, 1, 0, false);
        let norm = plan.batch_norm(&format!("{name}.norm"), conv);
        plan.relu(norm)
    };
    let policy = |plan: &mut Plan| {
        let small = reduced(plan, "policy", 2);
        plan.linear("policy.out", small, 4, LAST)
    };
    let value = |plan: &mut Plan| {
        let small = reduced(plan, "value", 1);
        let hidden = plan.linear("value.hidden", small, 128, RELU);
        let hidden = plan.relu(hidden);
        let hidden = plan.dropout(hidden, dropout);
        let out = plan.linear("value.out", hidden, 1, LAST);
        plan.tanh(out)
    };
    heads(&mut plan, role, policy, value);
    plan
}
