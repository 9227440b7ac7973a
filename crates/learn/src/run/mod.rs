//! The run folder that every learner uses: settings, metrics, checkpoints, log and provenance in files that a kill at any moment
//! leaves whole, so that `--resume` goes on. `docs/run-folders.md` describes it for people.
//!
//! ```no_run
//! # use afterstate_learn::run::{self, Config, Origin, RunFolder, Stop};
//! # use std::path::Path;
//! # #[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
//! # struct Settings { games: u64, seed: u64 }
//! # impl Config for Settings {
//! #     const LEARNER: &'static str = "example";
//! #     const EXTENSION: &'static str = "bin";
//! #     const CHANGEABLE: &'static [&'static str] = &["games"];
//! # }
//! # fn train(preset: Settings, sets: &[String], out: &Path, stop: &Stop) -> Result<(), run::FolderError> {
//! let config = run::resolve(preset, None, sets)?;
//! let mut folder = RunFolder::create(out, &config, &Origin::here(config.seed))?;
//! for game in 1..=config.games {
//!     if game % 1000 == 0 || stop.requested() {
//!         folder.record("train", game, &[("score", 1234.0)])?;
//!         folder.checkpoint(game, Some(1234.0), |out| out.write_all(b"weights"))?;
//!     }
//!     if stop.requested() {
//!         break;
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod checkpoints;
mod config;
mod error;
pub(crate) mod files;
mod metrics;
mod notice;
mod provenance;
mod stop;
mod tensorboard;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

pub use checkpoints::Checkpoint;
pub(crate) use config::within;
pub use config::{Config, ConfigError, Preset, Start, resolve};
pub use error::FolderError;
pub use notice::Notice;
pub use provenance::{Machine, Origin, Provenance, Session};
pub use stop::Stop;

use checkpoints::Checkpoints;
use files::{Appender, Content, Folder, Lock};
use metrics::Metrics;

const CONFIG: &str = "config.toml";
const PROVENANCE: &str = "provenance.json";
const LOG: &str = "log.txt";
/// What shows that a folder is taken: by a learner's run, or by one of `tune`.
const TAKEN: [&str; 4] = [CONFIG, "config.json", "checkpoints.json", metrics::METRICS];

/// The folder of a run that this process works on.
#[derive(Debug)]
pub struct RunFolder {
    folder: Folder,
    checkpoints: Checkpoints,
    metrics: Metrics,
    log: Appender,
    /// Seconds trained before this process.
    seconds_before: f64,
    began: Instant,
    /// Keeps other processes out.
    _lock: Lock,
}

/// A run that goes on.
#[derive(Debug)]
pub struct Resumed<C> {
    /// Its folder.
    pub folder: RunFolder,
    /// Its settings.
    pub config: C,
    /// Where it stands; `None` if it ended before its first checkpoint.
    pub checkpoint: Option<Checkpoint>,
    /// What a person should hear; the log has it already.
    pub notices: Vec<Notice>,
}

/// Which learner a run folder belongs to.
pub fn learner_of(path: &Path) -> Result<String, FolderError> {
    let folder = Folder::at(path);
    if !folder.has(CONFIG) {
        return Err(FolderError::NoRun(path.to_owned()));
    }
    let found = config::learner_in(&folder.read_text(CONFIG)?, &folder.path(CONFIG))?;
    found.ok_or_else(|| folder.damaged(CONFIG, "it names no learner".to_owned()))
}

/// Makes the settings of a resumed run from those that were kept.
type Amend<'a, C> = Box<dyn FnOnce(C) -> Result<C, ConfigError> + 'a>;

/// What a run with some settings comes from.
type OriginOf<'a, C> = Box<dyn FnOnce(&C) -> Origin + 'a>;

impl RunFolder {
    /// A new run. The folder is made if need be; one that holds a run is refused.
    pub fn create<C: Config>(path: &Path, config: &C, origin: &Origin) -> Result<Self, FolderError> {
        let text = config::to_toml(config)?;
        let folder = Folder::create(path)?;
        let lock = folder.lock()?;
        if TAKEN.iter().any(|name| folder.has(name)) {
            return Err(FolderError::Occupied(path.to_owned()));
        }
        folder.write_text(CONFIG, &text)?;
        let checkpoints = Checkpoints::create(&folder, C::EXTENSION, config.keep())?;
        let sessions = vec![Session::new(origin, None)];
        folder.write_json(PROVENANCE, &Provenance { learner: C::LEARNER.to_owned(), seed: origin.seed, sessions })?;
        let (metrics, log) = (Metrics::open(&folder, None)?, folder.appender(LOG)?);
        Ok(Self { folder, checkpoints, metrics, log, seconds_before: 0.0, began: Instant::now(), _lock: lock })
    }

    /// Goes on with a run. `amend` makes the settings to use from those that were kept, `|kept| resolve(kept, file, sets)` or
    /// simply `Ok`; if it changes one that is not in [`Config::CHANGEABLE`], the run is refused and nothing is touched.
    pub fn open_to_resume<C: Config>(
        path: &Path,
        amend: impl FnOnce(C) -> Result<C, ConfigError>,
        origin: impl FnOnce(&C) -> Origin,
    ) -> Result<Resumed<C>, FolderError> {
        Self::open_by(path, Box::new(amend), Box::new(origin))
    }

    /// The same, compiled once for all boards that a learner learns on.
    fn open_by<C: Config>(
        path: &Path,
        amend: Amend<'_, C>,
        origin: OriginOf<'_, C>,
    ) -> Result<Resumed<C>, FolderError> {
        let folder = Folder::at(path);
        if !folder.has(CONFIG) {
            return Err(FolderError::NoRun(path.to_owned()));
        }
        let lock = folder.lock()?;
        let kept: C = config::from_toml(&folder.read_text(CONFIG)?, &folder.path(CONFIG))?;
        let config = amend(kept.clone())?;
        let changes = changes(path, &kept, &config)?;
        let mut notices = Vec::new();
        let mut swept = folder.sweep(&|name| TAKEN.contains(&name) || name == PROVENANCE)?;
        swept.extend(Checkpoints::sweep(&folder)?);
        if !swept.is_empty() {
            notices.push(Notice::Swept { files: swept });
        }
        let mut checkpoints = Checkpoints::open(&folder, C::EXTENSION, config.keep(), &mut notices)?;
        let checkpoint = checkpoints.choose(None, &mut notices)?;
        if checkpoint.is_none() {
            notices.push(Notice::FromTheStart);
        }
        if !changes.is_empty() {
            folder.write_text(CONFIG, &config::to_toml(&config)?)?;
            notices.extend(changes);
        }
        let seconds_before = go_back(&folder, checkpoint.as_ref(), &mut notices)?;
        enter_session::<C>(&folder, &origin(&config), checkpoint.as_ref().map(|c| c.step), &mut notices)?;
        let metrics = Metrics::open(&folder, Some(checkpoint.as_ref().map_or(0, |c| c.step + 1)))?;
        let log = folder.appender(LOG)?;
        let mut folder = Self { folder, checkpoints, metrics, log, seconds_before, began: Instant::now(), _lock: lock };
        for notice in &notices {
            folder.log(&notice.to_string())?;
        }
        Ok(Resumed { folder, config, checkpoint, notices })
    }

    /// Goes back to the checkpoint before `from`, in which the learner itself found a fault that no checksum shows.
    pub fn fall_back(&mut self, from: &Checkpoint, reason: &str) -> Result<(Checkpoint, Vec<Notice>), FolderError> {
        let mut notices = Vec::new();
        let Some(checkpoint) = self.checkpoints.choose(Some((from, reason)), &mut notices)? else {
            let (path, reasons) = (self.folder.root().to_owned(), format!("{}: {reason}", from.file));
            return Err(FolderError::NoGoodCheckpoint { path, reasons });
        };
        self.seconds_before = go_back(&self.folder, Some(&checkpoint), &mut notices)?;
        self.began = Instant::now();
        self.metrics = Metrics::open(&self.folder, Some(checkpoint.step + 1))?;
        for notice in &notices {
            self.log(&notice.to_string())?;
        }
        Ok((checkpoint, notices))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.root()
    }

    /// Adds named numbers of a step to `metrics.jsonl` and, as `kind/name`, to the TensorBoard files. Steps never decrease. The
    /// names `kind`, `step`, `seconds` and `time` are taken.
    pub fn record(&mut self, kind: &str, step: u64, numbers: &[(&str, f64)]) -> Result<(), FolderError> {
        self.metrics.record(kind, step, self.seconds(), numbers)
    }

    /// Adds a line, or several, to `log.txt`, with the time.
    pub fn log(&mut self, text: &str) -> Result<(), FolderError> {
        let now = provenance::timestamp(SystemTime::now());
        let stamped: String = text.lines().map(|line| format!("{now} {line}\n")).collect();
        self.log.append(stamped.as_bytes())
    }

    /// Saves the learner's state: `write` gets a buffered stream, nothing is kept in memory. Once this returns the checkpoint is
    /// safe; if it fails, all earlier ones are as they were, and the run can be resumed from the last. The best by `figure`
    /// (more is better) is kept too, beside the last few.
    pub fn checkpoint(
        &mut self,
        step: u64,
        figure: Option<f64>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Checkpoint, FolderError> {
        self.checkpoint_by(step, figure, Box::new(write))
    }

    /// The same, compiled once.
    fn checkpoint_by(&mut self, step: u64, figure: Option<f64>, write: Content<'_>) -> Result<Checkpoint, FolderError> {
        // Whoever resumes from it must find the metrics until then.
        self.metrics.sync()?;
        let saved = self.checkpoints.save(step, figure, self.seconds(), write)?;
        let mut numbers = vec![("bytes", saved.bytes as f64), ("crc32", f64::from(saved.crc32))];
        numbers.extend(saved.figure.map(|figure| ("figure", figure)));
        self.metrics.line(checkpoints::KIND, step, saved.seconds, &numbers)?;
        Ok(saved)
    }

    /// The last checkpoints, from the oldest to the newest.
    pub fn checkpoints(&self) -> &[Checkpoint] {
        self.checkpoints.all()
    }

    /// The best checkpoint so far.
    pub fn best(&self) -> Option<&Checkpoint> {
        self.checkpoints.best()
    }

    /// Where a checkpoint lies.
    pub fn path_of(&self, checkpoint: &Checkpoint) -> PathBuf {
        self.folder.path(&checkpoint.file)
    }

    /// A checkpoint, to be read.
    pub fn open(&self, checkpoint: &Checkpoint) -> Result<File, FolderError> {
        let path = self.path_of(checkpoint);
        File::open(&path).map_err(FolderError::io("open", &path))
    }

    /// Seconds trained in all, those before a resumption included; what was lost with a kill does not count.
    pub fn seconds(&self) -> f64 {
        self.seconds_before + self.began.elapsed().as_secs_f64()
    }
}

/// The settings that changed, or an error if one must not.
fn changes<C: Config>(path: &Path, kept: &C, wanted: &C) -> Result<Vec<Notice>, FolderError> {
    if kept == wanted {
        return Ok(Vec::new());
    }
    let changeable = |key: &str| {
        let within =
            |allowed: &&str| key.strip_prefix(*allowed).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        C::CHANGEABLE.iter().any(within)
    };
    let (allowed, refused): (Vec<_>, Vec<_>) =
        config::differences(kept, wanted)?.into_iter().partition(|(key, ..)| changeable(key));
    if !refused.is_empty() {
        let told: Vec<String> = refused.iter().map(|(key, was, now)| format!("{key} was {was}, not {now}")).collect();
        return Err(FolderError::OtherRun { path: path.to_owned(), difference: told.join("; ") });
    }
    Ok(allowed.into_iter().map(|(key, was, now)| Notice::Changed { key, was, now }).collect())
}

/// Cuts what was recorded after the checkpoint. How many seconds had been trained by then.
fn go_back(folder: &Folder, checkpoint: Option<&Checkpoint>, notices: &mut Vec<Notice>) -> Result<f64, FolderError> {
    let cut = metrics::cut(folder, checkpoint.map(|checkpoint| checkpoint.step))?;
    if cut.dropped > 0 {
        notices
            .push(Notice::MetricsCut { lines: cut.dropped, step: checkpoint.map_or(0, |checkpoint| checkpoint.step) });
    }
    // A checkpoint without a record has no time of its own.
    Ok(checkpoint.map(|checkpoint| checkpoint.seconds).filter(|seconds| *seconds > 0.0).unwrap_or(cut.seconds))
}

fn enter_session<C: Config>(
    folder: &Folder,
    origin: &Origin,
    step: Option<u64>,
    notices: &mut Vec<Notice>,
) -> Result<(), FolderError> {
    let fresh = || Provenance { learner: C::LEARNER.to_owned(), seed: origin.seed, sessions: Vec::new() };
    let mut provenance = match folder.has(PROVENANCE).then(|| folder.read_json::<Provenance>(PROVENANCE)) {
        None => fresh(),
        Some(Ok(provenance)) => provenance,
        Some(Err(FolderError::Damaged { reason, .. })) => {
            notices.push(Notice::ProvenanceLost { reason });
            fresh()
        }
        Some(Err(other)) => return Err(other),
    };
    provenance.sessions.push(Session::new(origin, step));
    folder.write_json(PROVENANCE, &provenance)
}
