//! Solves small boards exactly, on all cores and in little memory; goes on where it was stopped or killed.
//!
//! Layers of equal tile sum are listed upwards into one log and valued downwards into another, in a folder beside the solution's
//! place. When both are complete they become the solution, as a whole, and the folder goes.

mod log;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use afterstate_evaluator::exact::{
    Brief, Climb, Descent, Problem, Rules, Solution, SolutionError, Writer, decode, encode,
};

use crate::run::files::Folder;
use crate::run::{FolderError, Stop};
use log::{Log, Record};

/// Ends the name of the folder in which a solution is being made.
const UNFINISHED: &str = ".part";
/// The logs, with the version of what is in them.
const KEYS: &str = "keys.1";
const VALUES: &str = "values.1";

/// Why a board was not solved.
#[derive(Debug, thiserror::Error)]
pub enum SolveError {
    /// There is a solution, and it is not in order.
    #[error(transparent)]
    Solution(#[from] SolutionError),
    /// The disk is full.
    #[error("cannot {action} {}: the disk is full (free {} or so and give the same command again: it goes on from here)", path.display(), megabytes(*.needed))]
    DiskFull {
        /// What was tried: a verb.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// About how many bytes are still to come.
        needed: u64,
    },
    /// Something else with a file.
    #[error(transparent)]
    Folder(FolderError),
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes.div_ceil(1_000_000))
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Positions are listed, from the least tile sum up.
    Listing,
    /// Positions are valued, from the highest tile sum down.
    Valuing,
    /// All of it is put into one file.
    Storing,
}

/// How far it has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// The tile sum of the layer.
    pub sum: u32,
    /// Positions dealt with in this phase.
    pub states: u64,
    /// All positions, if that is known.
    pub total: Option<u64>,
    /// Positions a second in this phase, since it was begun or resumed.
    pub rate: f64,
    /// What this phase will still take.
    pub remaining: Option<Duration>,
}

/// A board that is solved.
#[derive(Clone, Debug)]
pub struct Solved {
    /// What was found.
    pub brief: Brief,
    /// Where it is.
    pub path: PathBuf,
    /// How large the file is.
    pub bytes: u64,
    /// How long it took this time.
    pub seconds: f64,
    /// Layers that were there from an earlier attempt, listed and valued counted apart.
    pub resumed: usize,
}

/// How it came to an end without a failure.
#[derive(Clone, Debug)]
pub enum Ended {
    /// There is a solution.
    Solved(Solved),
    /// Stopped; giving the same command again goes on.
    Stopped,
}

/// Positions up to symmetry under the classic rule with the score as the goal: only for the estimate of the time left.
const EXPECTED_STATES: [((usize, usize), u64); 4] =
    [((2, 2), 110), ((2, 3), 21_752), ((2, 4), 4_980_767), ((3, 3), 48_713_519)];

fn expected_states(problem: &Problem) -> Option<u64> {
    let known = Problem::new(problem.rows(), problem.columns(), Default::default(), Default::default()).ok()?;
    let found = EXPECTED_STATES.iter().find(|(shape, _)| *shape == (problem.rows(), problem.columns()))?;
    (known == *problem).then_some(found.1)
}

/// Tells how far it has come.
struct Meter<'h> {
    hear: &'h mut dyn FnMut(&Progress),
    phase: Phase,
    began: Instant,
    /// Positions dealt with, and how many of them before this attempt.
    states: u64,
    before: u64,
    total: Option<u64>,
}

impl<'h> Meter<'h> {
    fn new(phase: Phase, before: u64, total: Option<u64>, hear: &'h mut dyn FnMut(&Progress)) -> Self {
        Self { hear, phase, began: Instant::now(), states: before, before, total }
    }

    fn layer(&mut self, sum: u32, states: usize) {
        self.states += states as u64;
        let seconds = self.began.elapsed().as_secs_f64().max(1e-9);
        let rate = (self.states - self.before) as f64 / seconds;
        let left = self.total.and_then(|total| total.checked_sub(self.states));
        let remaining = left.filter(|_| rate > 0.0).map(|left| Duration::from_secs_f64(left as f64 / rate));
        let (phase, states, total) = (self.phase, self.states, self.total);
        (self.hear)(&Progress { phase, sum, states, total, rate, remaining });
    }
}

/// The work on one problem.
struct Work<'a> {
    rules: Rules,
    keys: Log,
    values: Log,
    stop: &'a Stop,
}

/// Solves a problem into `folder`, or finds that it is solved already.
pub fn solve(
    problem: &Problem,
    folder: &Path,
    threads: usize,
    stop: &Stop,
    hear: &mut dyn FnMut(&Progress),
) -> Result<Ended, SolveError> {
    let began = Instant::now();
    let name = problem.file_name();
    let solved = |resumed| -> Result<Ended, SolveError> {
        let path = folder.join(&name);
        let solution = Solution::open(&path, problem)?;
        let (brief, bytes) = (*solution.brief(), solution.bytes().len() as u64);
        Ok(Ended::Solved(Solved { brief, path, bytes, seconds: began.elapsed().as_secs_f64(), resumed }))
    };
    let part = folder.join(format!("{name}{UNFINISHED}"));
    match solved(0) {
        Err(SolveError::Solution(SolutionError::Missing { .. })) => {}
        Ok(found) => {
            // Left by a kill after the solution had its name.
            clear(&part);
            return Ok(found);
        }
        Err(error) => return Err(error),
    }
    let full = |error| explain(error, problem);
    let target = Folder::create(folder).map_err(full)?;
    let work_folder = Folder::create(&part).map_err(full)?;
    let lock = work_folder.lock().map_err(full)?;
    let (keys, values) = (Log::open(&work_folder, KEYS).map_err(full)?, Log::open(&work_folder, VALUES).map_err(full)?);
    let resumed = keys.records().len() + values.records().len();
    let mut work = Work { rules: Rules::new(*problem, threads), keys, values, stop };
    let done = work.list(hear).and_then(|done| if done { work.value(hear) } else { Ok(false) });
    if !done.map_err(full)? {
        return Ok(Ended::Stopped);
    }
    work.store(&target, &name, hear).map_err(full)?;
    let found = solved(resumed);
    drop(lock);
    clear(&part);
    found
}

/// Removes the folder of an attempt that has succeeded; what cannot be removed is in nobody's way.
fn clear(part: &Path) {
    let folder = Folder::at(part);
    if part.is_dir() && folder.lock().is_ok() {
        let _ = std::fs::remove_dir_all(part);
    }
}

/// A full disk is the one failure that a person can mend and go on.
fn explain(error: FolderError, problem: &Problem) -> SolveError {
    match error {
        FolderError::Io { action, path, source }
            if matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) =>
        {
            // Keys of two bytes and values of eight, in the logs and in the solution.
            let needed = 20 * expected_states(problem).unwrap_or(1_000_000);
            SolveError::DiskFull { action, path, needed }
        }
        other => SolveError::Folder(other),
    }
}

impl Work<'_> {
    fn listed(&mut self, record: Record) -> Result<Vec<u64>, FolderError> {
        let bytes = self.keys.payload(record)?;
        decode(&bytes, record.count as usize).ok_or_else(|| self.keys.damaged())
    }

    fn valued(&mut self, record: Record) -> Result<Vec<f64>, FolderError> {
        let bytes = self.values.payload(record)?;
        let values: Vec<f64> = bytes.as_chunks().0.iter().map(|&value| f64::from_le_bytes(value)).collect();
        if values.len() == record.count as usize { Ok(values) } else { Err(self.values.damaged()) }
    }

    /// Lists all positions; false if it was stopped.
    fn list(&mut self, hear: &mut dyn FnMut(&Progress)) -> Result<bool, FolderError> {
        let rules = self.rules.clone();
        let mut climb = Climb::new(&rules);
        let known = self.keys.records().to_vec();
        if let Some(last) = known.last() {
            let least = climb.needs_from(last.sum);
            for &record in known.iter().filter(|record| record.sum >= least) {
                climb.skip(record.sum, &self.listed(record)?);
            }
        }
        let mut meter = Meter::new(Phase::Listing, states(&known), expected_states(rules.problem()), hear);
        while !self.stop.requested() {
            let Some((sum, keys)) = climb.climb() else { return Ok(true) };
            self.keys.append(sum, keys.len(), &encode(&keys))?;
            meter.layer(sum, keys.len());
        }
        Ok(false)
    }

    /// Values all positions; false if it was stopped.
    fn value(&mut self, hear: &mut dyn FnMut(&Progress)) -> Result<bool, FolderError> {
        let rules = self.rules.clone();
        let mut descent = Descent::new(&rules);
        let (listed, valued) = (self.keys.records().to_vec(), self.values.records().to_vec());
        let mut downwards = listed.iter().rev().copied();
        let last = valued.last().map_or(u32::MAX, |record| record.sum);
        for &record in &valued {
            let keys = downwards.next().filter(|keys| (keys.sum, keys.count) == (record.sum, record.count));
            let keys = keys.ok_or_else(|| self.values.damaged())?;
            if record.sum < last.saturating_add(descent.reach()) {
                descent.skip(record.sum, self.listed(keys)?, self.valued(record)?);
            }
        }
        let mut meter = Meter::new(Phase::Valuing, states(&valued), Some(states(&listed)), hear);
        for record in downwards {
            if self.stop.requested() {
                return Ok(false);
            }
            let keys = self.listed(record)?;
            let values = descent.descend(record.sum, keys);
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            self.values.append(record.sum, values.len(), &bytes)?;
            meter.layer(record.sum, values.len());
        }
        Ok(true)
    }

    /// Puts both logs into one file.
    fn store(&mut self, target: &Folder, name: &str, hear: &mut dyn FnMut(&Progress)) -> Result<(), FolderError> {
        let listed = self.keys.records().to_vec();
        let valued: Vec<Record> = self.values.records().iter().rev().copied().collect();
        let mut meter = Meter::new(Phase::Storing, 0, Some(states(&listed)), hear);
        let mut failed = None;
        let stored = target.replace(name, |out| {
            let rules = self.rules.clone();
            let mut writer = Writer::new(out, &rules)?;
            for (&keys, &values) in listed.iter().zip(&valued) {
                let layer = self.listed(keys).and_then(|listed| Ok((listed, self.valued(values)?)));
                let (positions, worth) = layer.map_err(|error| {
                    failed = Some(error);
                    io::Error::other("a layer cannot be read")
                })?;
                writer.layer(keys.sum, &positions, &worth)?;
                meter.layer(keys.sum, positions.len());
            }
            writer.finish().map(|_| ())
        });
        match failed {
            Some(error) => Err(error),
            None => stored.map(|_| ()),
        }
    }
}

fn states(records: &[Record]) -> u64 {
    records.iter().map(|record| u64::from(record.count)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_said_with_what_to_do() {
        let problem = Problem::new(3, 3, Default::default(), Default::default()).unwrap();
        let full = FolderError::io("write", Path::new("/data/keys"))(io::ErrorKind::StorageFull.into());
        let text = explain(full, &problem).to_string();
        let expected = "cannot write /data/keys: the disk is full (free 975 MB or so and give the same command again: it goes on from here)";
        assert_eq!(text, expected);
    }
}
