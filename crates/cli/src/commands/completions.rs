//! `completions`: for the shells that can complete commands and options.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use serde_json::json;

use crate::Cli;
use crate::failure::Outcome;

/// Print a completion script for a shell.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  afterstate completions bash > ~/.local/share/bash-completion/completions/afterstate")]
pub struct CompletionsArgs {
    /// Which shell
    shell: Shell,
}

pub fn run(args: &CompletionsArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    // clap_complete panics on a closed pipe, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "afterstate", &mut script);
    if json {
        let script = String::from_utf8_lossy(&script);
        writeln!(out, "{}", json!({"shell": args.shell.to_string(), "script": script}))?;
    } else {
        out.write_all(&script)?;
    }
    Ok(Outcome::Done)
}
