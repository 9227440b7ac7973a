//! `merge`: the records of several shards as one run.

use std::io::Write;
use std::path::PathBuf;

use afterstate_arena::record::{Writer, read_header};
use afterstate_arena::{Trust, merge};
use afterstate_board::Position;
use clap::Args;
use serde_json::json;

use crate::failure::Outcome;
use crate::size::{Size, for_size};
use crate::table;

/// Join record files of one agent and seed, and report them as one run.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  afterstate merge a.rec b.rec --records both.rec")]
pub struct MergeArgs {
    /// Record files written by `eval --records`
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write the joined games to a new file
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Take the whole games of a damaged file instead of refusing it
    #[arg(long)]
    salvage: bool,
}

pub fn run(args: &MergeArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let header = read_header(&args.files[0])?;
    let size: Size = header.size().parse()?;
    for_size!(size, P => join::<P>(args, json, out))
}

fn join<P: Position>(args: &MergeArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let mut writer: Option<Writer<P>> = match &args.records {
        Some(path) => Some(Writer::create_new(path, &read_header(&args.files[0])?)?),
        None => None,
    };
    let trust = if args.salvage { Trust::Salvage } else { Trust::Strict };
    let merged = merge::<P, _>(&args.files, trust, |game| writer.as_mut().map_or(Ok(()), |writer| writer.write(game)));
    if let (Err(_), Some(path)) = (&merged, &args.records) {
        // Half of a merger is of no use, and would be in the way of the next try.
        let _ = std::fs::remove_file(path);
    }
    let merged = merged?;
    if let Some(writer) = &writer {
        writer.sync()?;
    }
    for damage in &merged.damages {
        crate::failure::complain!("{damage}");
    }
    let summaries: Vec<_> = merged.results.summary().into_iter().collect();
    if json {
        writeln!(out, "{}", json!({"results": summaries}))?;
    } else if summaries.is_empty() {
        writeln!(out, "no games in {} files", args.files.len())?;
    } else {
        table::show(out, &summaries)?;
    }
    Ok(Outcome::Done)
}
