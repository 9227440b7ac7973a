//! `tune`: better parameters for an agent's evaluator, by CMA-ES over its games.

use std::io::Write;
use std::path::PathBuf;

use afterstate_arena::grouped;
use afterstate_board::Board;
use afterstate_learn::{Fitness, TuneError, Tuning};
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::failure::{OrUsage, Outcome};
use crate::interrupt;
use crate::starts::StartArgs;

/// Tune the numeric parameters of an agent's evaluator; reproducible for a seed, resumable, safe to interrupt.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  afterstate tune --agent expectimax:depth=1,eval=heuristic --generations 60 --games 40 --out runs/tune
  afterstate tune --agent expectimax:depth=2 --starts late.txt --fitness score --out runs/late
  (Ctrl-C ends after saving; the same command with --resume goes on)")]
pub struct TuneArgs {
    /// Whose evaluator, from which start: the values given in SPEC, else the defaults
    #[arg(long, value_name = "SPEC")]
    agent: String,
    /// The run folder
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Only these parameters (all numeric ones unless given)
    #[arg(long = "parameter", value_name = "KEY")]
    parameters: Vec<String>,
    /// Generations in all
    #[arg(long, value_name = "N", default_value_t = 60)]
    generations: u64,
    /// Games for each candidate
    #[arg(long, value_name = "G", default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..))]
    games: u64,
    /// Candidates in a generation; 0 for what suits the number of parameters
    #[arg(long, value_name = "L", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=10_000))]
    population: u16,
    /// The first step, as a share of each parameter's scale
    #[arg(long, value_name = "X", default_value_t = 0.3)]
    sigma: f64,
    /// What a candidate's games are summed up to
    #[arg(long, value_enum, default_value_t = FitnessArg::LogScore)]
    fitness: FitnessArg,
    #[command(flatten)]
    starts: StartArgs,
    /// Names all random numbers
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Threads; 0 is one for each core
    #[arg(long, value_name = "T", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    threads: u16,
    /// Go on with the run in the folder
    #[arg(long)]
    resume: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FitnessArg {
    /// The mean score
    Score,
    /// The mean logarithm of the score: less moved by a few lucky games
    LogScore,
}

pub fn run(args: &TuneArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let base = Tuning::new(args.agent.clone(), args.out.clone());
    let tuning = Tuning {
        parameters: args.parameters.clone(),
        generations: args.generations,
        games: args.games,
        population: usize::from(args.population),
        sigma: args.sigma,
        fitness: match args.fitness {
            FitnessArg::Score => Fitness::Score,
            FitnessArg::LogScore => Fitness::LogScore,
        },
        starts: args.starts.read::<Board>()?,
        seed: args.seed,
        threads: usize::from(args.threads),
        resume: args.resume,
        cancel: interrupt::flag()?,
        ..base
    };
    let tuned = tuning.run::<Board>(|g| {
        let left = g.remaining.as_secs();
        crate::failure::complain!(
            "generation {}/{}: best {}, mean {}, centre {}, step {:.3}, {} min {:02} s left",
            g.generation,
            g.of,
            grouped(g.best),
            grouped(g.mean),
            grouped(g.centre),
            g.sigma,
            left / 60,
            left % 60
        );
    });
    let tuned = match tuned {
        Err(error @ (TuneError::Agent(_) | TuneError::NothingToTune(_) | TuneError::BadSetting(_))) => {
            Err(error).or_usage()
        }
        other => Ok(other?),
    }?;
    if json {
        writeln!(
            out,
            "{}",
            json!({"generations": tuned.generations, "finished": tuned.finished, "weights": tuned.weights, "agent": tuned.agent})
        )?;
    } else {
        writeln!(out, "after {} generations:\n{}", grouped(tuned.generations as f64), tuned.agent)?;
    }
    Ok(if tuned.finished { Outcome::Done } else { Outcome::Interrupted })
}
