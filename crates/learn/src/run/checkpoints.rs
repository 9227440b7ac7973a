//! The checkpoints of a run: the last few and the best, listed with checksums in `checkpoints.json`.
//!
//! The order of writing makes a kill at any moment harmless: the new file is whole and on the disk before the list names it, the
//! list names it before an old file goes. What a kill can leave is a file that the list lacks, or a `best` newer than its
//! record; both are recognised when the run is resumed.

use std::io;

use serde::{Deserialize, Serialize};

use super::files::{Content, Folder, Sum, UNFINISHED};
use super::metrics;
use super::{FolderError, Notice};

const INDEX: &str = "checkpoints.json";
const FOLDER: &str = "checkpoints";
/// The lines of the metrics that say what was saved: the list can be made again from them.
pub(crate) const KIND: &str = "checkpoint";

/// One saved state of a learner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The learner's step.
    pub step: u64,
    /// Where, seen from the run folder.
    pub file: String,
    /// How good it is, if that was measured: more is better.
    pub figure: Option<f64>,
    /// Its length.
    pub bytes: u64,
    /// CRC-32 of its content.
    #[serde(with = "hexadecimal")]
    pub crc32: u32,
    /// Seconds trained until then, those before a resumption included.
    pub seconds: f64,
}

impl Checkpoint {
    fn sum(&self) -> Sum {
        Sum { bytes: self.bytes, crc32: self.crc32 }
    }
}

/// The content of `checkpoints.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Index {
    /// From the oldest to the newest.
    checkpoints: Vec<Checkpoint>,
    best: Option<Checkpoint>,
}

/// The checkpoints of one run.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    folder: Folder,
    extension: &'static str,
    keep: usize,
    index: Index,
}

impl Checkpoints {
    /// For a run without any.
    pub fn create(folder: &Folder, extension: &'static str, keep: usize) -> Result<Self, FolderError> {
        Folder::create(&folder.path(FOLDER))?;
        Ok(Self { folder: folder.clone(), extension, keep: keep.max(1), index: Index::default() })
    }

    /// The checkpoints of a run that is resumed, as they are listed; files are not looked into yet, unless they must be.
    pub fn open(
        folder: &Folder,
        extension: &'static str,
        keep: usize,
        notices: &mut Vec<Notice>,
    ) -> Result<Self, FolderError> {
        let mut all = Self::create(folder, extension, keep)?;
        let damage = match folder.has(INDEX).then(|| folder.read_json::<Index>(INDEX)) {
            None => None,
            Some(Ok(index)) => {
                all.index = index;
                None
            }
            Some(Err(FolderError::Damaged { reason, .. })) => Some(reason),
            Some(Err(other)) => return Err(other),
        };
        let adopted = all.adopt()?;
        if let Some(reason) = damage {
            notices.push(Notice::IndexRebuilt { reason, found: adopted.len() });
        } else {
            notices.extend(adopted.into_iter().map(|file| Notice::Adopted { file }));
        }
        Ok(all)
    }

    /// Removes what a killed run had begun to write.
    pub fn sweep(folder: &Folder) -> Result<Vec<String>, FolderError> {
        if !folder.has(FOLDER) {
            return Ok(Vec::new());
        }
        let ours = |name: &str| name.starts_with("step-") || name.starts_with("best.");
        let swept = Folder::at(&folder.path(FOLDER)).sweep(&ours)?;
        Ok(swept.into_iter().map(|name| format!("{FOLDER}/{name}")).collect())
    }

    pub fn all(&self) -> &[Checkpoint] {
        &self.index.checkpoints
    }

    pub fn best(&self) -> Option<&Checkpoint> {
        self.index.best.as_ref()
    }

    /// Takes up whole files later than all that are listed. A name without [`UNFINISHED`] is given only to what is whole, so they
    /// are good unless the metrics remember another sum.
    fn adopt(&mut self) -> Result<Vec<String>, FolderError> {
        let newest = self.index.checkpoints.last().map(|checkpoint| checkpoint.step);
        let names = Folder::at(&self.folder.path(FOLDER)).names()?;
        let mut found: Vec<(u64, String)> = names.iter().filter_map(|name| self.unlisted(name, newest)).collect();
        found.sort();
        if found.is_empty() && newest.is_some() {
            return Ok(Vec::new());
        }
        let remembered = self.remembered()?;
        for (step, file) in &found {
            let sum = self.folder.sum(file).map_err(FolderError::io("read", &self.folder.path(file)))?;
            let known = remembered.iter().rev().find(|known| known.step == *step);
            let (figure, seconds) = known.map_or((None, 0.0), |known| (known.figure, known.seconds));
            let Sum { bytes, crc32 } = known.map_or(sum, Checkpoint::sum);
            let file = file.clone();
            self.index.checkpoints.push(Checkpoint { step: *step, file, figure, bytes, crc32, seconds });
        }
        let best = self.best_name();
        if self.index.best.is_none() && self.folder.has(&best) {
            let sum = self.folder.sum(&best).map_err(FolderError::io("read", &self.folder.path(&best)))?;
            let known = remembered.into_iter().rev().find(|known| known.sum() == sum);
            self.index.best = known.map(|known| Checkpoint { file: best, ..known });
        }
        Ok(found.into_iter().map(|(_, file)| file).collect())
    }

    fn unlisted(&self, name: &str, newest: Option<u64>) -> Option<(u64, String)> {
        let step = name.strip_prefix("step-")?.strip_suffix(self.extension)?.strip_suffix('.')?.parse::<u64>().ok()?;
        newest.is_none_or(|newest| step > newest).then(|| (step, format!("{FOLDER}/{name}")))
    }

    /// What the metrics say of checkpoints; the file is theirs to name who asks.
    fn remembered(&self) -> Result<Vec<Checkpoint>, FolderError> {
        let checkpoint = |line: &serde_json::Value| {
            Some(Checkpoint {
                step: line["step"].as_u64()?,
                file: String::new(),
                figure: line["figure"].as_f64(),
                bytes: line["bytes"].as_f64()? as u64,
                crc32: line["crc32"].as_f64()? as u32,
                seconds: line["seconds"].as_f64()?,
            })
        };
        Ok(metrics::lines_of(&self.folder, KIND)?.iter().filter_map(checkpoint).collect())
    }

    fn best_name(&self) -> String {
        format!("{FOLDER}/best.{}", self.extension)
    }

    /// The newest checkpoint that is whole; `None` if there never was one. What has the content of `rejected` (with the reason)
    /// is not. What cannot be used is put aside, but only if there is something to go back to.
    pub fn choose(
        &mut self,
        rejected: Option<(&Checkpoint, &str)>,
        notices: &mut Vec<Notice>,
    ) -> Result<Option<Checkpoint>, FolderError> {
        let listed = self.index.clone();
        self.recognise_best();
        let judge = |candidate: &Checkpoint| match rejected {
            Some((bad, reason)) if bad.sum() == candidate.sum() => Err(reason.to_owned()),
            _ => self.folder.verify(&candidate.file, candidate.sum()),
        };
        let mut bad: Vec<(String, String)> = Vec::new();
        let candidates = self.index.checkpoints.iter().rev().chain(&self.index.best);
        let good = candidates.clone().find(|candidate| match judge(candidate) {
            Ok(()) => true,
            Err(reason) => {
                bad.push((candidate.file.clone(), reason));
                false
            }
        });
        let Some(good) = good.cloned() else {
            let reasons: Vec<String> = bad.into_iter().map(|(file, reason)| format!("{file}: {reason}")).collect();
            let (path, reasons) = (self.folder.root().to_owned(), reasons.join("; "));
            return if reasons.is_empty() { Ok(None) } else { Err(FolderError::NoGoodCheckpoint { path, reasons }) };
        };
        let lost = self.index.best.clone().and_then(|best| Some((judge(&best).err()?, best.file)));
        for (file, reason) in bad {
            self.put_aside(&file)?;
            self.index.checkpoints.retain(|checkpoint| checkpoint.file != file);
            notices.push(Notice::PassedOver { file, reason, used: good.file.clone() });
        }
        if let Some((reason, file)) = lost {
            self.put_aside(&file)?;
            self.index.best = None;
            notices.push(Notice::BestLost { file, reason });
        }
        if self.index != listed {
            self.folder.write_json(INDEX, &self.index)?;
        }
        Ok(Some(good))
    }

    /// A best that was replaced just before a kill is not what its record says: it is one of the checkpoints.
    fn recognise_best(&mut self) {
        let Some(best) = &self.index.best else { return };
        let found = self.folder.sum(&best.file).ok().filter(|sum| *sum != best.sum());
        let known = self.index.checkpoints.iter().find(|checkpoint| Some(checkpoint.sum()) == found);
        if let Some(known) = known {
            self.index.best = Some(Checkpoint { file: best.file.clone(), ..known.clone() });
        }
    }

    fn put_aside(&self, file: &str) -> Result<(), FolderError> {
        let path = self.folder.path(file);
        match std::fs::rename(&path, self.folder.path(&format!("{file}.damaged"))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FolderError::io("rename", &path)(error)),
            _ => Ok(()),
        }
    }

    /// Writes a checkpoint; once this returns it is safe. If it fails, all earlier ones are as they were.
    pub fn save(
        &mut self,
        step: u64,
        figure: Option<f64>,
        seconds: f64,
        write: Content<'_>,
    ) -> Result<Checkpoint, FolderError> {
        let figure = figure.filter(|figure| figure.is_finite());
        let file = format!("{FOLDER}/step-{step}.{}", self.extension);
        debug_assert!(!file.ends_with(UNFINISHED));
        let Sum { bytes, crc32 } = self.folder.replace_by(&file, write)?;
        let checkpoint = Checkpoint { step, file, figure, bytes, crc32, seconds };
        self.index.checkpoints.retain(|old| old.step != step);
        self.index.checkpoints.push(checkpoint.clone());
        self.index.checkpoints.sort_by_key(|checkpoint| checkpoint.step);
        self.folder.write_json(INDEX, &self.index)?;
        let record = self.index.best.as_ref().and_then(|best| best.figure);
        let better = figure.is_some_and(|figure| record.is_none_or(|record| figure > record));
        if better {
            let file = self.best_name();
            self.folder.link(&checkpoint.file, &file)?;
            self.index.best = Some(Checkpoint { file, ..checkpoint.clone() });
        }
        let surplus = self.index.checkpoints.len().saturating_sub(self.keep);
        for old in self.index.checkpoints.drain(..surplus) {
            self.folder.remove(&old.file)?;
        }
        if better || surplus > 0 {
            self.folder.write_json(INDEX, &self.index)?;
        }
        Ok(checkpoint)
    }
}

/// Checksums are read by people as eight digits.
mod hexadecimal {
    use serde::de::{Deserialize as _, Deserializer, Error as _};
    use serde::ser::Serializer;

    pub fn serialize<S: Serializer>(sum: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{sum:08x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        let text = String::deserialize(deserializer)?;
        u32::from_str_radix(&text, 16).map_err(|_| D::Error::custom(format!("'{text}' is no checksum")))
    }
}
