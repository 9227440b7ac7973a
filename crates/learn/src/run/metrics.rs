//! The numbers of a run over its steps: lines of JSON for programs, the same as event files for TensorBoard.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::{Map, Value};

use super::files::{Appender, Folder};
use super::provenance::unix_seconds;
use super::{FolderError, tensorboard};

pub(crate) const METRICS: &str = "metrics.jsonl";
pub(crate) const EVENTS: &str = "tensorboard";
/// How the names of event files begin; TensorBoard knows them by it.
const EVENT_FILE: &str = "events.out.tfevents.";
/// What each line has beside the learner's numbers.
const RESERVED: [&str; 4] = ["kind", "step", "seconds", "time"];

/// Both files, open for more.
#[derive(Debug)]
pub(crate) struct Metrics {
    lines: Appender,
    events: Appender,
}

/// What a cut left.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Cut {
    /// Lines taken away.
    pub dropped: usize,
    /// Seconds trained, as of the last line that is left.
    pub seconds: f64,
}

impl Metrics {
    /// If the run is resumed, `again` is the first step that comes again: whoever watches live forgets from there on.
    pub fn open(folder: &Folder, again: Option<u64>) -> Result<Self, FolderError> {
        let lines = folder.appender(METRICS)?;
        let event_folder = Folder::create(&folder.path(EVENTS))?;
        let now = unix_seconds();
        let mut events = event_folder.appender(&event_file(&event_folder)?)?;
        events.append(&tensorboard::version(now))?;
        if let Some(step) = again {
            events.append(&tensorboard::restart(now, step))?;
        }
        Ok(Self { lines, events })
    }

    /// In both files. Numbers that are not finite become `null` in the lines.
    pub fn record(&mut self, kind: &str, step: u64, seconds: f64, numbers: &[(&str, f64)]) -> Result<(), FolderError> {
        let now = self.line(kind, step, seconds, numbers)?;
        let tags: Vec<(String, f32)> = numbers.iter().map(|&(name, n)| (format!("{kind}/{name}"), n as f32)).collect();
        self.events.append(&tensorboard::scalars(now, step, tags.iter().map(|(tag, number)| (tag.as_str(), *number))))
    }

    /// As a line alone. Tells the time it was given.
    pub fn line(&mut self, kind: &str, step: u64, seconds: f64, numbers: &[(&str, f64)]) -> Result<f64, FolderError> {
        debug_assert!(numbers.iter().all(|(name, _)| !RESERVED.contains(name)), "{RESERVED:?} are taken: {numbers:?}");
        let now = unix_seconds();
        let mut line = Map::new();
        line.insert("kind".to_owned(), kind.into());
        line.insert("step".to_owned(), step.into());
        line.insert("seconds".to_owned(), rounded(seconds).into());
        line.insert("time".to_owned(), rounded(now).into());
        line.extend(numbers.iter().map(|&(name, number)| (name.to_owned(), number.into())));
        self.lines.append_json(&Value::Object(line))?;
        Ok(now)
    }

    /// On the disk when this returns.
    pub fn sync(&self) -> Result<(), FolderError> {
        self.lines.sync()?;
        self.events.sync()
    }
}

/// Milliseconds are enough, and short.
fn rounded(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// TensorBoard reads the files of a folder in the order of their names, so a later session has a later one.
fn event_file(folder: &Folder) -> Result<String, FolderError> {
    let number = |name: &String| name.strip_prefix(EVENT_FILE)?.split('.').next()?.parse::<u64>().ok();
    let last = folder.names()?.iter().filter_map(number).max().unwrap_or(0);
    Ok(format!("{EVENT_FILE}{:06}.afterstate", last + 1))
}

/// Takes away what was recorded after `step` (all, if there is none), and what a killed process left half-written.
pub(crate) fn cut(folder: &Folder, step: Option<u64>) -> Result<Cut, FolderError> {
    if folder.has(EVENTS) {
        let events = Folder::at(&folder.path(EVENTS));
        for name in events.names()?.iter().filter(|name| name.starts_with(EVENT_FILE)) {
            let path = events.path(name);
            tensorboard::cut(&path, step).map_err(FolderError::io("cut", &path))?;
        }
    }
    if folder.has(METRICS) { cut_lines(folder, step) } else { Ok(Cut::default()) }
}

fn cut_lines(folder: &Folder, step: Option<u64>) -> Result<Cut, FolderError> {
    let path = folder.path(METRICS);
    let failed = || FolderError::io("cut", &path);
    let (mut cut, mut prefix, mut kept_later) = (Cut::default(), 0, false);
    let kept = |line: &[u8]| {
        let line: Value = serde_json::from_slice(line.strip_suffix(b"\n")?).ok()?;
        (line.get("step")?.as_u64() <= step).then(|| line.get("seconds").and_then(Value::as_f64).unwrap_or(0.0))
    };
    each_line(&path, |line| {
        match kept(line) {
            Some(seconds) => {
                cut.seconds = seconds;
                kept_later |= cut.dropped > 0;
                prefix += if kept_later { 0 } else { line.len() as u64 };
            }
            None => cut.dropped += 1,
        }
        Ok(())
    })
    .map_err(failed())?;
    if kept_later {
        folder.replace(METRICS, |out| {
            each_line(&path, |line| if kept(line).is_some() { out.write_all(line) } else { Ok(()) })
        })?;
    } else if cut.dropped > 0 {
        // Needs no space: a run that filled the disk can still be resumed.
        OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(prefix)).map_err(failed())?;
    }
    Ok(cut)
}

/// Every line with its end.
fn each_line(path: &Path, mut use_line: impl FnMut(&[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
    let mut input = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        use_line(&line)?;
        line.clear();
    }
    Ok(())
}

/// Every recorded line of a kind, as far as lines are whole.
pub(crate) fn lines_of(folder: &Folder, kind: &str) -> Result<Vec<Value>, FolderError> {
    let path = folder.path(METRICS);
    let mut found = Vec::new();
    if folder.has(METRICS) {
        each_line(&path, |line| {
            found.extend(serde_json::from_slice(line).ok().filter(|line: &Value| line["kind"] == kind));
            Ok(())
        })
        .map_err(FolderError::io("read", &path))?;
    }
    Ok(found)
}
