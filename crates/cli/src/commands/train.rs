//! `train`: learning, in a run folder that survives whatever happens to the process.

use std::io::Write;
use std::path::PathBuf;

use afterstate_arena::grouped;
use afterstate_learn::course::{self, AnySize, CourseError};
use afterstate_learn::distill::{self, DistillConfig};
use afterstate_learn::dqn::{self, DqnConfig};
use afterstate_learn::ppo::{self, PpoConfig};
use afterstate_learn::run::{Config, Preset, Start, Stop, resolve};
use afterstate_learn::td::{self, TdConfig, TdError};
use afterstate_learn::value::{self, ValueConfig};
use afterstate_learn::zero::{self, ZeroConfig};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::failure::{OrUsage, Outcome, complain};
use crate::interrupt;
use crate::size::Size;

/// Train a network by self-play; resumable, safe to interrupt.
#[derive(Args, Debug)]
pub struct TrainArgs {
    #[command(subcommand)]
    learner: Learner,
}

#[derive(Subcommand, Debug)]
enum Learner {
    /// Temporal-difference learning of an n-tuple network
    #[command(after_help = "Examples:
  afterstate train td --preset minute --out runs/minute
  afterstate train td --preset hour --set patterns=8x6 --set seed=2 --out runs/mine
  afterstate train td --resume --out runs/mine          (Ctrl-C saves and ends; this goes on)
  afterstate train td --list                            (the presets and all settings)
  afterstate eval --agent greedy:eval=ntuple@runs/minute/checkpoints/best.safetensors --games 1000")]
    Td(LearnerArgs),
    /// Value learning of a neural network: temporal differences, or replay with a target network
    #[command(after_help = "Examples:
  afterstate train value --preset minute --out runs/value
  afterstate train value --set network=lookup:width=64 --set moves=4e8 --out runs/wide
  afterstate train value --resume --out runs/value      (Ctrl-C saves and ends; this goes on)
  afterstate train value --list                         (the presets and all settings)
  afterstate eval --agent greedy:eval=lookup@runs/value/checkpoints/best.safetensors --games 1000")]
    Value(LearnerArgs),
    /// Q-learning of a neural network that judges moves
    #[command(after_help = "Examples:
  afterstate train dqn --preset lookup --out runs/dqn
  afterstate train dqn --preset published --out runs/published    (document P's settings)
  afterstate train dqn --resume --out runs/dqn          (Ctrl-C saves and ends; this goes on)
  afterstate train dqn --list                           (the presets and all settings)
  afterstate eval --agent policy:eval=lookup@runs/dqn/checkpoints/best.safetensors --games 1000")]
    Dqn(LearnerArgs),
    /// Proximal policy optimisation: a policy learns from many games at once, illegal moves masked
    #[command(after_help = "Examples:
  afterstate train ppo --preset ten-minutes --out runs/ppo
  afterstate train ppo --set network=lookup:width=64 --set seed=2 --out runs/mine
  afterstate train ppo --resume --out runs/ppo          (Ctrl-C saves and ends; this goes on)
  afterstate train ppo --list                           (the presets and all settings)
  afterstate eval --agent policy:eval=lookup@runs/ppo/checkpoints/best.safetensors --games 1000
  afterstate eval --agent expectimax:depth=2,eval=lookup@runs/ppo/checkpoints/best.safetensors")]
    Ppo(LearnerArgs),
    /// Self-play with tree search, from nothing (AlphaZero)
    #[command(after_help = "Examples:
  afterstate train zero --preset ten-minutes --out runs/zero
  afterstate train zero --set spawn=explicit --set gumbel=true --out runs/mine
  afterstate train zero --resume --out runs/zero        (Ctrl-C saves and ends; this goes on)
  afterstate train zero --list                          (the presets and all settings)
  afterstate eval --agent puct:simulations=50,eval=lookup@runs/zero/checkpoints/best.safetensors")]
    Zero(LearnerArgs),
    /// Imitation of a stronger agent: asked about every position, or from records of its games
    #[command(after_help = "Examples:
  afterstate train distill --preset champion --out runs/pupil
  afterstate train distill --set teacher=expectimax:depth=1,eval=champion --out runs/pupil
  afterstate eval --agent expectimax:depth=2,eval=champion --games 50 --records teacher.rec
  afterstate train distill --set records=teacher.rec --out runs/reader
  afterstate eval --agent policy:eval=lookup@runs/pupil/checkpoints/best.safetensors --games 1000")]
    Distill(LearnerArgs),
}

#[derive(Args, Debug)]
struct LearnerArgs {
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

impl LearnerArgs {
    fn folder(&self) -> PathBuf {
        self.out.clone().unwrap_or_default()
    }

    fn start<'a, C>(&'a self, config: &'a C) -> Start<'a, C> {
        if self.resume { Start::Resume { file: self.config.as_deref(), sets: &self.sets } } else { Start::New(config) }
    }
}

/// What a run ended with.
struct Trained {
    games: u64,
    seconds: f64,
    finished: bool,
    checkpoint: PathBuf,
    agent: String,
}

pub fn run(args: &TrainArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    #[cfg(feature = "neural")]
    afterstate_learn::network::add(afterstate_neural::more);
    match &args.learner {
        Learner::Td(args) if args.list => list(TdConfig::new(), td::PRESETS, json, out),
        Learner::Td(args) => tell(train_td(args)?, json, out),
        Learner::Value(args) => learn(args, ValueConfig::new(), value::PRESETS, json, out),
        Learner::Dqn(args) => learn(args, DqnConfig::new(), dqn::PRESETS, json, out),
        Learner::Ppo(args) => learn(args, PpoConfig::new(), ppo::PRESETS, json, out),
        Learner::Zero(args) => learn(args, ZeroConfig::new(), zero::PRESETS, json, out),
        Learner::Distill(args) => learn(args, DistillConfig::new(), distill::PRESETS, json, out),
    }
}

/// The settings that the arguments ask for.
fn settings<C: Config>(args: &LearnerArgs, base: C, presets: &[Preset<C>]) -> anyhow::Result<C> {
    let base = match &args.preset {
        None => base,
        Some(name) => {
            let known = presets.iter().map(|preset| preset.name);
            let found = presets.iter().find(|preset| preset.name == name);
            let hint = || afterstate_evaluator::hint(name, known);
            let preset = found.ok_or_else(|| anyhow::anyhow!("there is no preset '{name}'{}", hint())).or_usage()?;
            (preset.settings)(base)
        }
    };
    if args.resume { Ok(base) } else { resolve(base, args.config.as_deref(), &args.sets).or_usage() }
}

/// Lists the settings of a learner on networks, or runs it.
fn learn<C: AnySize>(
    args: &LearnerArgs,
    base: C,
    presets: &[Preset<C>],
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    if args.list {
        return list(base, presets, json, out);
    }
    let config = settings(args, base, presets)?;
    let stop = Stop::from(interrupt::flag()?);
    let mut hear = |event: course::Event<'_>| match event {
        course::Event::Notice(notice) => complain!("{notice}"),
        course::Event::Progress(progress) => complain!("{progress}"),
    };
    let trained = match C::train(args.size, &args.folder(), args.start(&config), &stop, &mut hear) {
        Err(error @ (CourseError::Network(_) | CourseError::Config(_))) => Err(error).or_usage(),
        other => Ok(other?),
    }?;
    let course::Trained { games, seconds, finished, checkpoint, agent } = trained;
    tell(Trained { games, seconds, finished, checkpoint, agent }, json, out)
}

fn train_td(args: &LearnerArgs) -> anyhow::Result<Trained> {
    let stop = Stop::from(interrupt::flag()?);
    let config = settings(args, TdConfig::new(), td::PRESETS)?;
    let mut hear = |event: td::Event<'_>| match event {
        td::Event::Notice(notice) => complain!("{notice}"),
        td::Event::Progress(progress) => complain!("{progress}"),
    };
    let trained = match td::train_at(args.size, &args.folder(), args.start(&config), &stop, &mut hear) {
        Err(error @ (TdError::Layout(_) | TdError::Config(_))) => Err(error).or_usage(),
        other => Ok(other?),
    }?;
    let td::Trained { games, seconds, finished, checkpoint, agent } = trained;
    Ok(Trained { games, seconds, finished, checkpoint, agent })
}

fn tell(trained: Trained, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let Trained { games, seconds, finished, checkpoint, agent } = trained;
    if json {
        let checkpoint = checkpoint.display().to_string();
        let answer = json!({"games": games, "seconds": seconds, "finished": finished, "checkpoint": checkpoint,
            "agent": agent});
        writeln!(out, "{answer}")?;
    } else {
        writeln!(out, "{} games in {seconds:.0} s; play it with --agent {agent}", grouped(games as f64))?;
    }
    Ok(if finished { Outcome::Done } else { Outcome::Interrupted })
}

fn list<C: Config>(base: C, presets: &[Preset<C>], json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    if json {
        let presets: Vec<_> = presets
            .iter()
            .map(|p| json!({"name": p.name, "summary": p.summary, "settings": (p.settings)(base.clone())}))
            .collect();
        writeln!(out, "{}", json!({"learner": C::LEARNER, "presets": presets}))?;
        return Ok(Outcome::Done);
    }
    for preset in presets {
        writeln!(out, "{:12} {}", preset.name, preset.summary)?;
    }
    writeln!(out, "\nsettings, with their values when no preset is named:")?;
    if let serde_json::Value::Object(settings) = serde_json::to_value(base)? {
        for (key, value) in settings {
            writeln!(out, "  {key} = {value}")?;
        }
    }
    Ok(Outcome::Done)
}
