//! The thesis's value network (row T1): four blocks of 3x3 convolutions that narrow from 1024 to 128 filters, two of them followed by
//! max pooling, then 1x1 convolutions with layer norm and dense layers. The document gives the filters and the order of the parts;
//! that pools are 2x2 with step 1 and the widths of the dense layers are ours.

use super::plan::{LAST, Plan, RELU};
use super::{Row, SEEN, encoding};
use crate::lookup::Role;
use crate::{Parameter, Settings};

pub(super) const ROW: Row = Row {
    name: "value-cnn",
    mark: "afterstate-value-cnn-1",
    summary: "the thesis's value network (T1), as value-cnn@FILE: narrowing 3x3 convolutions, pooling, layer norm, dense layers",
    parameters: &[
        Parameter::integer("filters", "filters of the first block; each next one has half of them", 1_024, 8, 1_024),
        Parameter::integer("dense", "numbers of the first dense layer, a quarter of it in the second", 256, 4, 1_024),
        Parameter::integer("planes", "kinds of tile told apart", 16, 16, 18),
        Parameter::number("dropout", "share forgotten while it is trained", 0.1, 0.0, 0.9),
        SEEN,
    ],
    draw,
};

fn draw(settings: &Settings, role: Role) -> Plan {
    let mut plan = Plan::default();
    let (filters, dense) = (settings.integer("filters") as usize, settings.integer("dense") as usize);
    let dropout = settings.number("dropout") as f32;
    let mut map = plan.input(encoding(settings));
    for block in 0..4 {
        map = plan.conv(&format!("blocks.{block}.conv"), map, filters >> block, 3, 1, false);
        map = plan.batch_norm(&format!("blocks.{block}.norm"), map);
        map = plan.relu(map);
        map = if block < 2 { plan.max_pool(map) } else { map };
    }
    for i in 0..2 {
        map = plan.conv(&format!("mix.{i}.conv"), map, filters / 8, 1, 0, true);
        map = plan.layer_norm(&format!("mix.{i}.norm"), map);
        map = plan.relu(map);
    }
    map = plan.dropout(map, dropout);
    for (i, width) in [dense, dense / 4].into_iter().enumerate() {
        map = plan.linear(&format!("dense.{i}"), map, width, RELU);
        map = plan.relu(map);
        map = plan.dropout(map, dropout);
    }
    let out = plan.linear("out", map, role.outputs(), LAST);
    plan.outputs = vec![out];
    plan
}
