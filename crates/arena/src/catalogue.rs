//! The catalogues as data: what `list --json` prints and the page builds its forms from.

use afterstate_agent::{Kind, Parameter, presets, rows};
use afterstate_board::Board;
use serde_json::{Value, json};

/// The agents whose name is wanted, with all their parameters.
pub fn agent_entries(wanted: impl Fn(&str) -> bool) -> Vec<Value> {
    let rows = rows::<Board>().iter().filter(|row| wanted(row.name));
    rows.map(|row| entry(row.name, row.summary, &row.all_parameters())).collect()
}

/// The evaluators whose name is wanted.
pub fn evaluator_entries(wanted: impl Fn(&str) -> bool) -> Vec<Value> {
    let rows = afterstate_evaluator::rows::<Board>().iter().filter(|row| wanted(row.name));
    rows.map(|row| {
        let mut value = entry(row.name, row.summary, row.parameters);
        value["takes_file"] = row.takes_file.into();
        value
    })
    .collect()
}

/// The presets whose name is wanted.
pub fn preset_entries(wanted: impl Fn(&str) -> bool) -> Vec<Value> {
    let presets = presets().iter().filter(|preset| wanted(preset.name));
    presets.map(|p| json!({"name": p.name, "spec": p.spec, "summary": p.summary})).collect()
}

fn entry(name: &str, summary: &str, parameters: &[Parameter]) -> Value {
    let parameters: Vec<Value> = parameters.iter().map(parameter).collect();
    json!({"name": name, "summary": summary, "parameters": parameters})
}

fn parameter(p: &Parameter) -> Value {
    let mut value = match p.kind {
        Kind::Integer { default, min, max } => json!({"type": "integer", "default": default, "min": min, "max": max}),
        Kind::Number { default, min, max } => json!({"type": "number", "default": default, "min": min, "max": max}),
        Kind::Switch { default } => json!({"type": "switch", "default": default}),
        Kind::Choice { default, options } => json!({"type": "choice", "default": default, "options": options}),
        Kind::Text { default, form } => json!({"type": "text", "default": default, "form": form}),
        Kind::Evaluator { default } => json!({"type": "evaluator", "default": default}),
    };
    value["name"] = p.name.into();
    value["summary"] = p.summary.into();
    value
}
