//! `tables`: building, listing and checking endgame tables.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use afterstate_agent::TABLES_LEAST as LEAST;
use afterstate_arena::grouped;
use afterstate_arena::record::Reader;
use afterstate_board::Board;
use afterstate_evaluator::tables::{Pattern, SETS, Set, Tables, file_name, some_file_name};
use afterstate_evaluator::{data_folder, hint};
use afterstate_learn::run::Stop;
use afterstate_learn::tables::{Building, Met, build};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::failure::{OrUsage, Outcome, complain};
use crate::interrupt;

/// Endgame tables: build, list, verify or distil them.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  afterstate tables list
  afterstate tables build --preset small         (Ctrl-C is safe: finished tables stay, the same command goes on)
  afterstate tables verify --preset small
  afterstate eval --agent tables:depth=3,set=small --games 100
  afterstate tables distill games.rec --out met  (of the set small, the states that recorded games meet)

Tables live in $AFTERSTATE_DATA/tables, else in the user's data folder; --data names another folder.")]
pub struct TablesArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Build the tables of a set that are not there yet
    Build {
        #[command(flatten)]
        which: Which,
        /// Threads; 0 is one for each core
        #[arg(long, value_name = "T", default_value_t = 0)]
        threads: usize,
    },
    /// Show the sets, their sizes, and which tables are there
    List {
        #[command(flatten)]
        place: Place,
    },
    /// Read every table of a set through and check it
    Verify {
        #[command(flatten)]
        which: Which,
    },
    /// Write small tables that know only the states that recorded games meet
    Distill {
        /// Record files written by `eval --records`
        #[arg(value_name = "FILE", required = true)]
        records: Vec<PathBuf>,
        /// The folder to write to
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Keep the states of the tables that come with the program too
        #[arg(long)]
        shipped: bool,
        #[command(flatten)]
        which: Which,
    },
}

#[derive(Args, Debug)]
struct Place {
    /// The folder of the tables
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

#[derive(Args, Debug)]
struct Which {
    /// The set of tables (see `afterstate tables list`)
    #[arg(long, value_name = "NAME", default_value = "small")]
    preset: String,
    #[command(flatten)]
    place: Place,
}

impl Place {
    fn folder(&self) -> PathBuf {
        self.data.clone().unwrap_or_else(|| data_folder().join("tables"))
    }
}

impl Which {
    fn set(&self) -> anyhow::Result<&'static Set> {
        let name = &self.preset;
        let error = || anyhow::anyhow!("there is no set '{name}'{}", hint(name, SETS.iter().map(|set| set.name)));
        Set::named(name).ok_or_else(error).or_usage()
    }
}

pub fn run(args: &TablesArgs, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    match &args.action {
        Action::Build { which, threads } => build_set(which, *threads, json, out),
        Action::List { place } => list(&place.folder(), json, out),
        Action::Verify { which } => verify(which, json, out),
        Action::Distill { records, out: to, shipped, which } => distill(records, to, *shipped, which, json, out),
    }
}

/// How often progress is told.
const EVERY: Duration = Duration::from_secs(5);

fn build_set(which: &Which, threads: usize, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let (set, folder, stop) = (which.set()?, which.place.folder(), Stop::from(interrupt::flag()?));
    let threads = if threads == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { threads };
    let began = Instant::now();
    let (mut table_began, mut told, mut current) = (began, began, None);
    let mut report = |pattern: Pattern, event: Building| {
        if current != Some(pattern) {
            (current, table_began) = (Some(pattern), Instant::now());
        }
        match event {
            Building::Kept => complain!("{pattern}: there already"),
            Building::Share(share) if share > 0.0 && told.elapsed() > EVERY => {
                let elapsed = table_began.elapsed().as_secs_f64();
                let rate = share * pattern.listed() as f64 / elapsed / 1e6;
                let left = elapsed * (1.0 - share) / share;
                complain!("{pattern}: {:.0}%, {rate:.1}M states/s, {left:.0} s left", 100.0 * share);
                told = Instant::now();
            }
            Building::Share(_) => {}
            Building::Written { seconds } => {
                complain!("{pattern}: {} states in {seconds:.1} s", grouped(pattern.listed() as f64));
            }
        }
    };
    let finished = build(&folder, set, threads, &stop, &mut report)?;
    let seconds = began.elapsed().as_secs_f64();
    if json {
        let answer = json!({"set": set.name, "folder": folder, "finished": finished, "seconds": seconds,
            "bytes": on_disk(&folder, set)});
        writeln!(out, "{answer}")?;
    } else if finished {
        let megabytes = on_disk(&folder, set) as f64 / 1e6;
        writeln!(out, "set {}: {megabytes:.0} MB in {} ({seconds:.0} s)", set.name, folder.display())?;
    }
    Ok(if finished { Outcome::Done } else { Outcome::Interrupted })
}

/// The bytes of those files of a set that are there.
fn on_disk(folder: &Path, set: &Set) -> u64 {
    set.members().filter_map(|pattern| size(folder, pattern)).sum()
}

fn size(folder: &Path, pattern: Pattern) -> Option<u64> {
    std::fs::metadata(folder.join(file_name(pattern))).ok().map(|facts| facts.len())
}

fn list(folder: &Path, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    if json {
        let table = |pattern: Pattern| {
            json!({"pattern": pattern.to_string(), "states": pattern.listed(), "file": file_name(pattern),
                "bytes_on_disk": size(folder, pattern)})
        };
        let set = |set: &Set| {
            json!({"name": set.name, "summary": set.summary, "bytes": set.bytes(),
                "tables": set.members().map(table).collect::<Vec<_>>()})
        };
        let answer = json!({"folder": folder, "sets": SETS.iter().map(set).collect::<Vec<_>>()});
        writeln!(out, "{answer}")?;
        return Ok(Outcome::Done);
    }
    writeln!(out, "{}", folder.display())?;
    for set in SETS {
        writeln!(out, "\n{:8} {:>6.0} MB  {}", set.name, set.bytes() as f64 / 1e6, set.summary)?;
        for pattern in set.members() {
            let there = match size(folder, pattern) {
                _ if set.is_shipped => "comes with the program",
                Some(_) => "there",
                None => "not built",
            };
            let mut states = grouped(pattern.listed() as f64);
            if set.is_shipped {
                states = format!("{} of {states}", grouped(set.table(folder, pattern)?.known() as f64));
            }
            writeln!(out, "  {:8} {states:>26} states: {there}", pattern.to_string())?;
        }
    }
    writeln!(out, "\nA pattern such as 6-512: six large tiles stay in a corner, 512 is to be built beside them.")?;
    writeln!(out, "6w-512 is the same with more room for the other tiles.")?;
    Ok(Outcome::Done)
}

fn verify(which: &Which, json: bool, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let (set, folder) = (which.set()?, which.place.folder());
    let mut checked = Vec::new();
    for pattern in set.members() {
        let found = set.table(&folder, pattern)?.pattern();
        let path = folder.join(file_name(pattern));
        anyhow::ensure!(found == pattern, "{}: it is a table of {found}", path.display());
        checked.push(pattern.to_string());
    }
    if json {
        writeln!(out, "{}", json!({"set": set.name, "folder": folder, "whole": checked}))?;
    } else {
        writeln!(out, "set {}: {} tables, all whole", set.name, checked.len())?;
    }
    Ok(Outcome::Done)
}

fn distill(
    records: &[PathBuf],
    to: &Path,
    shipped: bool,
    which: &Which,
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let (set, folder) = (which.set()?, which.place.folder());
    if let Some(pattern) = set.members().find(|pattern| pattern.states() > u64::from(u32::MAX)) {
        let error =
            format!("{pattern} has too many states to pick some of them (ask for a set without it, such as small)");
        return Err(anyhow::anyhow!(error)).or_usage();
    }
    let tables = Tables::open(&folder, set)?;
    let mut met = Met::new(&tables, LEAST.map(|least| least as f32));
    let mut games = 0u64;
    for file in records {
        for game in Reader::open(file)?.games::<Board>()? {
            game?.plies().filter_map(Result::ok).for_each(|ply| met.meet(&ply.position));
            games += 1;
        }
    }
    for set in SETS.iter().filter(|set| shipped && set.is_shipped) {
        for pattern in set.members() {
            met.keep(&set.table(&folder, pattern)?);
        }
    }
    met.write(to, set)?;
    let bytes: u64 = set
        .members()
        .filter_map(|pattern| std::fs::metadata(to.join(some_file_name(pattern))).ok())
        .map(|facts| facts.len())
        .sum();
    if json {
        writeln!(out, "{}", json!({"set": set.name, "games": games, "states": met.states(), "bytes": bytes}))?;
    } else {
        let (states, games) = (grouped(met.states() as f64), grouped(games as f64));
        writeln!(out, "{states} states of {games} games, {:.1} MB in {}", bytes as f64 / 1e6, to.display())?;
    }
    Ok(Outcome::Done)
}
