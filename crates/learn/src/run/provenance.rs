//! Where a result comes from: version, command, machine and seed, one entry for each time the run was begun or resumed.

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// What the folder cannot know by itself about the process that uses it.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The project's version.
    pub version: String,
    /// The command line.
    pub command: Vec<String>,
    /// What all random numbers of the run come from.
    pub seed: u64,
}

impl Origin {
    /// This program, as it was called.
    pub fn here(seed: u64) -> Self {
        let command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        Self { version: env!("CARGO_PKG_VERSION").to_owned(), command, seed }
    }
}

/// The content of `provenance.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Who learned.
    pub learner: String,
    /// What all random numbers come from.
    pub seed: u64,
    /// Each time that the run was begun or resumed.
    pub sessions: Vec<Session>,
}

/// One process that worked on the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// When, in UTC.
    pub started: String,
    /// The checkpoint it went on from.
    pub resumed_from: Option<u64>,
    /// The project's version.
    pub version: String,
    /// The command line.
    pub command: Vec<String>,
    /// Where.
    pub machine: Machine,
}

impl Session {
    pub(crate) fn new(origin: &Origin, resumed_from: Option<u64>) -> Self {
        let started = timestamp(SystemTime::now());
        let (version, command) = (origin.version.clone(), origin.command.clone());
        Self { started, resumed_from, version, command, machine: Machine::here() }
    }
}

/// What matters about a machine for the speed of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's name, where the system tells.
    pub cpu: Option<String>,
    /// Threads that can run at once.
    pub cores: usize,
    /// Main memory in bytes, where the system tells.
    pub memory: Option<u64>,
    /// The operating system.
    pub os: String,
    /// The kind of processor.
    pub arch: String,
}

impl Machine {
    /// This one.
    pub fn here() -> Self {
        let kilobytes = field("/proc/meminfo", "MemTotal", ':').and_then(|text| {
            let number = text.split_whitespace().next()?;
            number.parse::<u64>().ok()
        });
        Self {
            cpu: field("/proc/cpuinfo", "model name", ':'),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory: kilobytes.map(|kilobytes| kilobytes * 1024),
            os: field("/etc/os-release", "PRETTY_NAME", '=').unwrap_or_else(|| std::env::consts::OS.to_owned()),
            arch: std::env::consts::ARCH.to_owned(),
        }
    }
}

/// The first value of a name in one of the system's lists.
fn field(file: &str, name: &str, separator: char) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let mut rows = text.lines().filter_map(|line| line.split_once(separator));
    let (_, value) = rows.find(|(key, _)| key.trim() == name)?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// Seconds since 1970.
pub(crate) fn unix_seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}

/// `2026-01-31T23:59:59Z`.
pub(crate) fn timestamp(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

/// The date that lies so many days after 1970-01-01. Years are counted from March, so that the leap day comes last.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_IN_400_YEARS: u64 = 146_097;
    let since_year_0 = days + 719_468;
    let (era, day) = (since_year_0 / DAYS_IN_400_YEARS, since_year_0 % DAYS_IN_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Five months of 31, 30, 31, 30, 31 days are 153.
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let (month, next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next_year, month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps() {
        let text = |seconds| timestamp(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(text(0), "1970-01-01T00:00:00Z");
        assert_eq!(text(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(text(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(text(951_868_800), "2000-03-01T00:00:00Z");
        assert_eq!(text(1_709_210_096), "2024-02-29T12:34:56Z");
        assert_eq!(text(4_107_542_400), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn the_machine_has_a_core_and_a_name() {
        let machine = Machine::here();
        assert!(machine.cores >= 1 && !machine.os.is_empty() && !machine.arch.is_empty());
    }
}
