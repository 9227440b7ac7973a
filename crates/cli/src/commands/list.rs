//! `list`: every agent, preset and evaluator with its parameters, straight from the catalogues.

use std::io::Write;

use afterstate_agent::{Kind, Parameter, Preset, presets};
use afterstate_board::Board;
use clap::Args;
use serde_json::{Value, json};

use crate::failure::Outcome;

/// List the agents, presets and evaluators, their parameters, defaults and ranges.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// Show only names that contain this word
    filter: Option<String>,
}

pub fn run(args: &ListArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let wanted = |name: &str| args.filter.as_deref().is_none_or(|word| name.contains(word));
    let agents = afterstate_agent::rows::<Board>().iter().filter(|row| wanted(row.name));
    let evaluators = afterstate_evaluator::rows::<Board>().iter().filter(|row| wanted(row.name));
    let presets = presets().iter().filter(|preset| wanted(preset.name));
    if json {
        let agents: Vec<Value> = agents.map(|r| entry(r.name, r.summary, &r.all_parameters())).collect();
        let preset = |p: &Preset| json!({"name": p.name, "spec": p.spec, "summary": p.summary});
        let presets: Vec<Value> = presets.map(preset).collect();
        let evaluators: Vec<Value> = evaluators.map(|r| entry(r.name, r.summary, r.parameters)).collect();
        writeln!(out, "{}", json!({"agents": agents, "evaluators": evaluators, "presets": presets}))?;
        return Ok(Outcome::Done);
    }
    writeln!(out, "Agents (--agent NAME:key=value,...)")?;
    for row in agents {
        describe(out, row.name, row.summary, &row.all_parameters(), "")?;
    }
    writeln!(out, "\nPresets (--agent @NAME or @NAME:key=value,...)")?;
    for preset in presets {
        writeln!(out, "  @{:<20} {}\n    {}", preset.name, preset.summary, preset.spec)?;
    }
    writeln!(out, "\nEvaluators (eval=NAME or eval=NAME@FILE, their parameters as eval.key=value)")?;
    for row in evaluators {
        describe(out, row.name, row.summary, row.parameters, "eval.")?;
    }
    Ok(Outcome::Done)
}

fn describe(
    out: &mut dyn Write,
    name: &str,
    summary: &str,
    parameters: &[Parameter],
    prefix: &str,
) -> std::io::Result<()> {
    writeln!(out, "  {name:<14} {summary}")?;
    for p in parameters {
        let key = format!("{prefix}{}", p.name);
        writeln!(out, "    {key:<16} {} ({}, default {})", p.summary, p.range(), p.default_value())?;
    }
    Ok(())
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
        Kind::Evaluator { default } => json!({"type": "evaluator", "default": default}),
    };
    value["name"] = p.name.into();
    value["summary"] = p.summary.into();
    value
}
