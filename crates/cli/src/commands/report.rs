//! `report`: finished evaluations side by side, as a file for people or a table for programs.

use std::io::Write;
use std::path::PathBuf;

use afterstate_arena::report::{MOST_RESULTS, Report};
use afterstate_arena::{Results, read_results};
use anyhow::{Context as _, anyhow};
use clap::Args;
use serde_json::json;

use crate::failure::{OrUsage, Outcome};

/// Compare the games of records: six figures in one HTML file, a Markdown table, or one CSV line a game.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  afterstate eval --agent greedy --games 100 --records greedy.rec
  afterstate eval --agent expectimax:depth=1 --games 100 --records expectimax.rec
  afterstate report greedy.rec expectimax.rec --out report.html
  afterstate report greedy.rec expectimax.rec --markdown")]
pub struct ReportArgs {
    /// Record files written by `eval --records`, one an agent
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where to write; without it, to standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// A Markdown table instead of HTML
    #[arg(long, conflicts_with = "csv")]
    markdown: bool,
    /// One CSV line a game instead of HTML
    #[arg(long)]
    csv: bool,
}

pub fn run(args: &ReportArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    if args.files.len() > MOST_RESULTS {
        return Err(anyhow!("{} records: a report compares at most {MOST_RESULTS}", args.files.len())).or_usage();
    }
    let results: Vec<Results> = args.files.iter().map(|file| read_results(file)).collect::<Result<_, _>>()?;
    let report = Report::new(&results);
    if json {
        let (summaries, comparison) = (report.summaries(), report.comparison());
        writeln!(out, "{}", json!({"labels": report.labels(), "results": summaries, "comparison": comparison}))?;
        return Ok(Outcome::Done);
    }
    let text = if args.markdown {
        report.markdown()
    } else if args.csv {
        report.csv()
    } else {
        report.html()
    };
    match &args.out {
        None => out.write_all(text.as_bytes())?,
        Some(path) => {
            std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
            writeln!(out, "{}", path.display())?;
        }
    }
    Ok(Outcome::Done)
}
