//! `network`: published networks to and from other programs.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use afterstate_arena::grouped;
use afterstate_evaluator::file::{MARK, Metadata, Saved};
use afterstate_evaluator::lookup::Role;
use afterstate_evaluator::networks::{self, Model, Row};
use anyhow::{Context, anyhow, bail};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::failure::{OrUsage, Outcome};

/// Bring networks in from PyTorch, or take them out as ONNX.
#[derive(Args, Debug)]
pub struct NetworkArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand, Debug)]
enum What {
    /// Read safetensors that PyTorch wrote and write a file that plays
    #[command(after_help = "Examples:
  afterstate network import theirs.safetensors ours.safetensors --as zeronet:blocks=8,channels=128
  afterstate network import theirs.safetensors ours.safetensors --as dual-path --rename actor.=policy. --rename critic.=value.
  afterstate eval --agent policy:eval=zeronet@ours.safetensors --games 100")]
    Import(ImportArgs),
    /// Write a network as ONNX
    #[command(after_help = "Example:
  afterstate network export runs/zero/checkpoints/best.safetensors zero.onnx")]
    Export {
        /// A file of a published network: a checkpoint of `train`, or one that was imported
        from: PathBuf,
        /// The file to write
        to: PathBuf,
    },
}

#[derive(Args, Debug)]
struct ImportArgs {
    /// Their file
    from: PathBuf,
    /// The file to write
    to: PathBuf,
    /// The architecture with its sizes
    #[arg(long = "as", value_name = "NAME[:KEY=VALUE,...]")]
    architecture: String,
    /// What its outputs are: value, moves or policy (moves and value)
    #[arg(long, value_name = "ROLE", default_value = "policy")]
    outputs: String,
    /// Points that a value of 1 stands for
    #[arg(long, value_name = "POINTS", default_value_t = 1.0)]
    unit: f32,
    /// What a beginning of their names is called here
    #[arg(long = "rename", value_name = "THEIRS=OURS")]
    renames: Vec<String>,
}

pub fn run(args: &NetworkArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let (model, to) = match &args.what {
        What::Import(args) => {
            let model = import(args)?;
            let facts = [("imported", args.from.display().to_string())].map(|(key, value)| (key.to_owned(), value));
            let mut bytes = Vec::new();
            model.write(&mut bytes, Metadata::from(facts), &[])?;
            write(&args.to, &bytes)?;
            (model, &args.to)
        }
        What::Export { from, to } => {
            let model = read(from)?;
            write(to, &networks::export_onnx(&model))?;
            (model, to)
        }
    };
    let (name, parameters) = (model.row().name, model.plan().parameters());
    if json {
        let architecture = format!("{name}:{}", model.sizes());
        writeln!(out, "{}", json!({"architecture": architecture, "parameters": parameters, "file": to}))?;
    } else {
        writeln!(out, "{name} with {} parameters: {}", grouped(parameters as f64), to.display())?;
    }
    Ok(Outcome::Done)
}

fn import(args: &ImportArgs) -> anyhow::Result<Model> {
    let (name, sizes) = args.architecture.split_once(':').unwrap_or((&args.architecture, ""));
    let known = networks::ROWS.iter().map(|row| row.name);
    let unknown = || anyhow!("there is no network '{name}'{}", afterstate_evaluator::hint(name, known));
    let row = Row::named(name).ok_or_else(unknown).or_usage()?;
    let role = Role::named(&args.outputs);
    let role = role.ok_or_else(|| anyhow!("outputs are value, moves or policy, not '{}'", args.outputs)).or_usage()?;
    let pair = |text: &String| {
        let (theirs, ours) = text.split_once('=').ok_or_else(|| anyhow!("'{text}' is not THEIRS=OURS"))?;
        Ok((theirs.to_owned(), ours.to_owned()))
    };
    let renamed: BTreeMap<String, String> = args.renames.iter().map(pair).collect::<anyhow::Result<_>>().or_usage()?;
    // They saw boards as they lie, unless whoever asks knows better.
    let sizes = if sizes.contains("seen=") { sizes.to_owned() } else { format!("{sizes},seen=as-it-lies") };
    Ok(networks::import(&args.from, row, &sizes, (role, args.unit), &renamed)?)
}

/// The network in one of our files, whatever its architecture.
fn read(path: &Path) -> anyhow::Result<Model> {
    let metadata = Saved::metadata_of(path)?;
    let mark = metadata.get(MARK).map_or("", String::as_str);
    let Some(row) = networks::ROWS.iter().find(|row| row.mark == mark) else {
        bail!("{}: this is no file of a published network", path.display());
    };
    Ok(Model::read(&Saved::open(path, &row.format())?, row)?)
}

/// Writes a file whole: under another name first.
fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let partial = path.with_extension("partial");
    let mut file = BufWriter::new(File::create(&partial).with_context(|| partial.display().to_string())?);
    file.write_all(bytes)?;
    file.flush()?;
    fs::rename(&partial, path).with_context(|| path.display().to_string())
}
