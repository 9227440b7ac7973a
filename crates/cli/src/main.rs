//! The command line: arguments become a typed request, the request becomes one library call.

mod commands;
mod failure;
mod interrupt;
mod progress;
mod size;
mod starts;
mod table;
mod tui;

use std::io::{BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use commands::{
    analyze, bench as bench_command, compare, completions, eval, list, merge, network, perft, play, replay, report,
    serve, shrink, slide, solve, tables, train, tune, watch, welcome,
};
use failure::Outcome;
use tui::TerminalStyle;

/// The laboratory for the game 2048: play it, watch agents play it, measure them.
#[derive(Parser, Debug)]
#[command(name = "afterstate", version, max_term_width = 120, after_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Option<Command>,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 wrong request (nothing was begun), 130 interrupted by Ctrl-C.
Results go to standard output, progress and complaints to standard error.";

/// Options of every command.
#[derive(clap::Args, Clone, Copy, Debug)]
struct Global {
    /// Write JSON, for programs
    #[arg(long, global = true)]
    json: bool,
    /// Use colours (auto: on a terminal, unless NO_COLOR is set)
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    color: ColorChoice,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ColorChoice {
    Auto,
    Always,
    Never,
}

#[derive(Subcommand, Debug)]
enum Command {
    Serve(serve::ServeArgs),
    Watch(watch::WatchArgs),
    Play(play::PlayArgs),
    Eval(eval::EvalArgs),
    Compare(compare::CompareArgs),
    Merge(merge::MergeArgs),
    Replay(replay::ReplayArgs),
    Report(report::ReportArgs),
    Analyze(analyze::AnalyzeArgs),
    List(list::ListArgs),
    Move(slide::MoveArgs),
    Perft(perft::PerftArgs),
    Train(train::TrainArgs),
    Shrink(shrink::ShrinkArgs),
    Network(network::NetworkArgs),
    Tables(tables::TablesArgs),
    Solve(solve::SolveArgs),
    Tune(tune::TuneArgs),
    Bench(bench_command::BenchArgs),
    Completions(completions::CompletionsArgs),
}

fn main() -> ExitCode {
    failure::exit_code(run(&Cli::parse()))
}

fn run(cli: &Cli) -> anyhow::Result<Outcome> {
    let json = cli.global.json;
    let style = terminal_style(cli.global);
    let mut out = BufWriter::new(std::io::stdout().lock());
    let out: &mut dyn Write = &mut out;
    let outcome = match &cli.command {
        None if json => welcome::run(json, out),
        None => welcome::run(json, out).and_then(|_| serve::run(&serve::ServeArgs::default(), json, out)),
        Some(Command::Serve(args)) => serve::run(args, json, out),
        Some(Command::Watch(args)) => watch::run(args, style, out),
        Some(Command::Play(args)) => play::run(args, style, out),
        Some(Command::Eval(args)) => eval::run(args, json, out),
        Some(Command::Compare(args)) => compare::run(args, json, out),
        Some(Command::Merge(args)) => merge::run(args, json, out),
        Some(Command::Replay(args)) => replay::run(args, style, out),
        Some(Command::Report(args)) => report::run(args, json, out),
        Some(Command::Analyze(args)) => analyze::run(args, json, out),
        Some(Command::Train(args)) => train::run(args, json, out),
        Some(Command::Shrink(args)) => shrink::run(args, json, out),
        Some(Command::Network(args)) => network::run(args, json, out),
        Some(Command::Tables(args)) => tables::run(args, json, out),
        Some(Command::Solve(args)) => solve::run(args, json, out),
        Some(Command::Tune(args)) => tune::run(args, json, out),
        Some(Command::List(args)) => list::run(args, json, out),
        Some(Command::Move(args)) => slide::run(args, json, out),
        Some(Command::Perft(args)) => perft::run(args, json, out),
        Some(Command::Bench(args)) => bench_command::run(args, json, out),
        Some(Command::Completions(args)) => completions::run(args, json, out),
    }?;
    out.flush()?;
    Ok(outcome)
}

fn terminal_style(global: Global) -> TerminalStyle {
    let terminal = std::io::stdout().is_terminal();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    TerminalStyle {
        color: match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && !no_color,
        },
        interactive: terminal && std::io::stdin().is_terminal(),
        json: global.json,
    }
}
