//! `eval`: how strong is an agent, and how sure is that?

use std::io::Write;
use std::path::{Path, PathBuf};

use afterstate_agent::{BoxedAgent, Context, Spec, build};
use afterstate_arena::record::Writer;
use afterstate_arena::{Evaluation, Game, Header, Progress, Results, Setup, Shard};
use afterstate_board::{Position, SpawnRule};
use anyhow::bail;
use clap::Args;
use serde_json::json;

use crate::failure::{OrUsage, Outcome};
use crate::interrupt;
use crate::progress::Meter;
use crate::size::{Size, for_size};
use crate::starts::StartArgs;
use crate::table;

/// Play many games and report score, tiles and speed with 95% intervals.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  afterstate eval --agent greedy --games 1000
  afterstate eval --agent random --agent greedy:eval=empty,eval.weight=100 --games 500 --seed 7 --json
  afterstate eval --agent greedy --games 100000 --records greedy.rec      (stop it, add --resume, and it goes on)
  afterstate eval --agent expectimax:depth=2 --board EDCB000000000000     (every game begins there)
  afterstate eval --agent tables --starts late.txt --until 32768          (how often it gets from there to that sum of tiles)
  afterstate eval --agent greedy --games 1000 --shard 0/2 --records a.rec (then --shard 1/2, then `afterstate merge`)

Game i of seed S is the same game on every machine and for every number of threads, unless the agent's budget is a time.")]
pub struct EvalArgs {
    /// Who plays: NAME[:key=value,...] or @PRESET; may be given several times (see `afterstate list`)
    #[arg(long = "agent", value_name = "SPEC", required = true)]
    agents: Vec<String>,
    #[command(flatten)]
    games: GamesArgs,
    /// Keep the games in this file while running
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Go on with the games of an existing --records file
    #[arg(long, requires = "records")]
    resume: bool,
    /// Play only the games with index I modulo N
    #[arg(long, value_name = "I/N", default_value_t = Shard::WHOLE)]
    shard: Shard,
}

/// Which games: shared by the commands that play many.
#[derive(Args, Debug)]
pub struct GamesArgs {
    /// Number of games
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    games: u64,
    /// Names all random numbers: the same seed, the same games
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Threads; 0 is one for each core
    #[arg(long, value_name = "T", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=1024))]
    threads: u16,
    /// Board size
    #[arg(long, default_value_t = Size::CLASSIC, value_name = "RxC")]
    pub size: Size,
    /// Which tiles spawn, as TILE:PROBABILITY pairs
    #[arg(long, default_value_t = SpawnRule::CLASSIC, value_name = "RULE")]
    spawn: SpawnRule,
    #[command(flatten)]
    starts: StartArgs,
    /// End games when their tiles add up to this, and tell how many came so far
    #[arg(long, value_name = "SUM", value_parser = clap::value_parser!(u64).range(1..))]
    until: Option<u64>,
}

impl GamesArgs {
    /// The evaluation of one agent over these games. Fails before anything is begun if there is no such agent.
    fn evaluation<P: Position>(&self, agent: &str) -> anyhow::Result<(Evaluation, Spec)> {
        let spec: Spec = agent.parse().or_usage()?;
        build::<P>(&spec, &self.context()).or_usage()?;
        let starts = self.starts.read::<P>()?;
        let setup = Setup { rule: self.spawn, starts, until: self.until, ..Setup::new(spec.to_string(), self.seed) };
        let (threads, cancel) = (usize::from(self.threads), interrupt::flag()?);
        Ok((Evaluation { threads, cancel, ..Evaluation::new(setup, self.games) }, spec))
    }

    /// Fails if there is no such agent.
    pub fn check<P: Position>(&self, agent: &str) -> anyhow::Result<()> {
        self.evaluation::<P>(agent).map(drop)
    }

    fn context(&self) -> Context {
        Context { rule: self.spawn }
    }

    /// Plays all games of one agent, without records.
    pub fn play<P: Position>(&self, agent: &str) -> anyhow::Result<Results> {
        let (evaluation, spec) = self.evaluation::<P>(agent)?;
        self.run::<P>(&evaluation, &spec, |_| Ok(()))
    }

    fn run<P: Position>(
        &self,
        evaluation: &Evaluation,
        spec: &Spec,
        mut keep: impl FnMut(&Game<P>) -> anyhow::Result<()>,
    ) -> anyhow::Result<Results> {
        let mut meter = Meter::new(&evaluation.setup.agent);
        let make = || -> Result<BoxedAgent<P>, _> { build(spec, &self.context()) };
        let results = evaluation.run(make, |game: Game<P>, progress: &Progress| {
            keep(&game)?;
            meter.show(progress);
            Ok(())
        });
        meter.finish();
        Ok(results?)
    }
}

pub fn run(args: &EvalArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    for_size!(args.games.size, P => evaluate::<P>(args, json, out))
}

fn evaluate<P: Position>(args: &EvalArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    if args.records.is_some() && args.agents.len() > 1 {
        bail!(crate::failure::Usage(anyhow::anyhow!(
            "--records keeps the games of one agent; {} are given",
            args.agents.len()
        )));
    }
    let prepared: Vec<_> =
        args.agents.iter().map(|agent| args.games.evaluation::<P>(agent)).collect::<anyhow::Result<_>>()?;
    let mut summaries = Vec::new();
    for (mut evaluation, spec) in prepared {
        evaluation.shard = args.shard;
        let results = match &args.records {
            None => args.games.run::<P>(&evaluation, &spec, |_| Ok(()))?,
            Some(path) => {
                let mut writer = open_records::<P>(path, args.resume, &mut evaluation)?;
                let results = args.games.run::<P>(&evaluation, &spec, |game| Ok(writer.write(game)?))?;
                writer.sync()?;
                results
            }
        };
        summaries.extend(results.summary());
        if interrupt::requested() {
            break;
        }
    }
    if summaries.is_empty() && !interrupt::requested() {
        let (shard, games) = (args.shard, args.games.games);
        return Err(anyhow::anyhow!("shard {shard} has none of the {games} games")).or_usage();
    }
    if json {
        writeln!(out, "{}", json!({"results": summaries, "interrupted": interrupt::requested()}))?;
    } else if summaries.is_empty() {
        writeln!(out, "interrupted before the first game ended")?;
    } else {
        table::show(out, &summaries)?;
    }
    Ok(if interrupt::requested() { Outcome::Interrupted } else { Outcome::Done })
}

/// Opens a new record file, or goes on with an old one.
fn open_records<P: Position>(path: &Path, resume: bool, evaluation: &mut Evaluation) -> anyhow::Result<Writer<P>> {
    let header = Header::new::<P>(evaluation.setup.clone());
    if !resume || !path.exists() {
        return Ok(Writer::create_new(path, &header)?);
    }
    let resumed = Writer::resume(path, &header)?;
    if resumed.dropped_bytes > 0 {
        crate::failure::complain!(
            "{}: dropped a game that was cut off ({} bytes)",
            path.display(),
            resumed.dropped_bytes
        );
    }
    evaluation.played = resumed.outcomes;
    Ok(resumed.writer)
}
