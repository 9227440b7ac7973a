//! `train`: learning, in a run folder that survives whatever happens to the process.

use std::io::Write;
use std::path::PathBuf;

use afterstate_arena::grouped;
use afterstate_learn::run::{Config, Stop, resolve};
use afterstate_learn::td::{self, Event, Start, TdConfig, TdError};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::failure::{OrUsage, Outcome, complain};
use crate::interrupt;
use crate::size::{Size, for_size};

/// Train a network by self-play; resumable, safe to interrupt.
#[derive(Args, Debug)]
pub struct TrainArgs {
    #[command(subcommand)]
    learner: Learner,
}

#[derive(Subcommand, Debug)]
enum Learner {
    Td(TdArgs),
}

/// Temporal-difference learning of an n-tuple network.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  afterstate train td --preset minute --out runs/minute
  afterstate train td --preset hour --set patterns=8x6 --set seed=2 --out runs/mine
  afterstate train td --resume --out runs/mine          (Ctrl-C saves and ends; this goes on)
  afterstate train td --list                            (the presets and all settings)
  afterstate eval --agent greedy:eval=ntuple@runs/minute/checkpoints/best.safetensors --games 1000")]
struct TdArgs {
    /// The run folder
    #[arg(long, value_name = "DIR", required_unless_present = "list")]
    out: Option<PathBuf>,
    /// Settings to begin with
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    preset: Option<String>,
    /// A TOML file of settings that differ from the preset's
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// One setting that differs
    #[arg(long = "set", value_name = "KEY=VALUE")]
    sets: Vec<String>,
    /// Board size
    #[arg(long, value_name = "RxC", default_value_t = Size::CLASSIC)]
    size: Size,
    /// Go on with the run in the folder
    #[arg(long)]
    resume: bool,
    /// Show the presets and all settings
    #[arg(long)]
    list: bool,
}

pub fn run(args: &TrainArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    match &args.learner {
        Learner::Td(args) if args.list => list(json, out),
        Learner::Td(args) => train_td(args, json, out),
    }
}

/// The settings that the arguments ask for.
fn settings(args: &TdArgs) -> anyhow::Result<TdConfig> {
    let base = match &args.preset {
        None => TdConfig::new(),
        Some(name) => {
            let known = td::PRESETS.iter().map(|preset| preset.name);
            let found = td::PRESETS.iter().find(|preset| preset.name == name);
            let hint = || afterstate_evaluator::hint(name, known);
            let preset = found.ok_or_else(|| anyhow::anyhow!("there is no preset '{name}'{}", hint())).or_usage()?;
            (preset.settings)(TdConfig::new())
        }
    };
    resolve(base, args.config.as_deref(), &args.sets).or_usage()
}

fn train_td(args: &TdArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let stop = Stop::from(interrupt::flag()?);
    let folder = args.out.clone().unwrap_or_default();
    let config = if args.resume { TdConfig::new() } else { settings(args)? };
    let start = if args.resume {
        Start::Resume { file: args.config.as_deref(), sets: &args.sets }
    } else {
        Start::New(&config)
    };
    let hear = |event: Event<'_>| match event {
        Event::Notice(notice) => complain!("{notice}"),
        Event::Progress(progress) => complain!("{progress}"),
    };
    let trained = for_size!(args.size, P => td::train::<P>(&folder, start, &stop, hear));
    let trained = match trained {
        Err(error @ (TdError::Layout(_) | TdError::Config(_))) => Err(error).or_usage(),
        other => Ok(other?),
    }?;
    let checkpoint = trained.checkpoint.display();
    if json {
        let answer = json!({"games": trained.games, "seconds": trained.seconds, "finished": trained.finished,
            "checkpoint": checkpoint.to_string()});
        writeln!(out, "{answer}")?;
    } else {
        let games = grouped(trained.games as f64);
        writeln!(
            out,
            "{games} games in {:.0} s; play it with --agent greedy:eval=ntuple@{checkpoint}",
            trained.seconds
        )?;
    }
    Ok(if trained.finished { Outcome::Done } else { Outcome::Interrupted })
}

fn list(json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    if json {
        let presets: Vec<_> = td::PRESETS
            .iter()
            .map(|p| json!({"name": p.name, "summary": p.summary, "settings": (p.settings)(TdConfig::new())}))
            .collect();
        writeln!(out, "{}", json!({"learner": TdConfig::LEARNER, "presets": presets}))?;
        return Ok(Outcome::Done);
    }
    for preset in td::PRESETS {
        writeln!(out, "{:12} {}", preset.name, preset.summary)?;
    }
    writeln!(out, "\nsettings, with their values when no preset is named:")?;
    if let serde_json::Value::Object(settings) = serde_json::to_value(TdConfig::new())? {
        for (key, value) in settings {
            writeln!(out, "  {key} = {value}")?;
        }
    }
    Ok(Outcome::Done)
}
