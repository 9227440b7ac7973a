//! `list`: every agent, preset and evaluator with its parameters, straight from the catalogues.

use std::io::Write;

use afterstate_agent::{Parameter, presets};
use afterstate_arena::{agent_entries, evaluator_entries, preset_entries};
use afterstate_board::Board;
use clap::Args;
use serde_json::json;

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
        let (agents, evaluators) = (agent_entries(wanted), evaluator_entries(wanted));
        let presets = preset_entries(wanted);
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
