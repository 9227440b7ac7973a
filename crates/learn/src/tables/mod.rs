//! Building endgame tables: one file each, whole or absent, so that a build that was killed goes on with the first that is missing.

mod dynamic;
mod half;

pub use dynamic::solve;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering::Relaxed};
use std::time::Instant;

use afterstate_board::Position;
use afterstate_evaluator::tables::code::encode_coarse;
use afterstate_evaluator::tables::{Pattern, Set, Table, Tables, Writer, file_name, some_file_name};

use crate::run::files::Folder;
use crate::run::{FolderError, Stop};

/// What a build has to say while it works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Building {
    /// The file was there already, and is whole.
    Kept,
    /// The share of the states that are done.
    Share(f64),
    /// The file is written.
    Written {
        /// Seconds it took.
        seconds: f64,
    },
}

/// Builds the tables of a set that are not in the folder yet. `report` hears about each; the answer is false if someone asked to
/// stop.
pub fn build(
    folder: &Path,
    set: &Set,
    threads: usize,
    stop: &Stop,
    report: &mut dyn FnMut(Pattern, Building),
) -> Result<bool, FolderError> {
    let folder = Folder::create(folder)?;
    let _lock = folder.lock()?;
    for pattern in set.members() {
        let name = file_name(pattern);
        if set.is_shipped || folder.has(&name) && Table::open(&folder.path(&name)).is_ok() {
            report(pattern, Building::Kept);
            continue;
        }
        let began = Instant::now();
        let mut writer = Writer::new(pattern);
        let keep = |codes: &[AtomicU16], is_best: &[AtomicBool]| {
            for (code, is_best) in codes.iter().zip(is_best) {
                writer.push(if is_best.load(Relaxed) { code.load(Relaxed) } else { 0 });
            }
        };
        if !solve(pattern, threads, stop, &mut |share| report(pattern, Building::Share(share)), keep) {
            return Ok(false);
        }
        folder.replace(&name, |out| writer.write(out))?;
        report(pattern, Building::Written { seconds: began.elapsed().as_secs_f64() });
    }
    Ok(true)
}

/// Of the tables of a set, the states that games meet where a table decides: what the best moves of these positions lead to.
pub struct Met<'a> {
    tables: &'a Tables,
    least: [f32; 2],
    /// By pattern, the states and their codes.
    states: BTreeMap<Pattern, BTreeMap<u32, u8>>,
}

impl<'a> Met<'a> {
    /// None yet; `least` is how often a table's way must succeed to be taken.
    pub fn new(tables: &'a Tables, least: [f32; 2]) -> Self {
        Self { tables, least, states: BTreeMap::new() }
    }

    /// Takes note of a position.
    pub fn meet<P: Position>(&mut self, position: &P) {
        let slides = position.slides();
        let Some(advice) = self.tables.advice(position, &slides, self.least) else { return };
        let pattern = advice.table.pattern();
        for (direction, slide) in slides.iter() {
            let failure = advice.failures[direction.index()];
            let index = slide.after.board().images().and_then(|images| pattern.index(images[advice.image]));
            if let Some(index) = index.filter(|_| failure == advice.failure()) {
                let states = self.states.entry(pattern).or_default();
                states.insert(index as u32, encode_coarse(failure));
            }
        }
    }

    /// Takes note of all states of a table that knows some.
    pub fn keep(&mut self, table: &Table) {
        let pattern = table.pattern();
        self.states.entry(pattern).or_default().extend(table.some());
    }

    /// The number of states met so far.
    pub fn states(&self) -> usize {
        self.states.values().map(BTreeMap::len).sum()
    }

    /// Writes a file for each pattern of the set.
    pub fn write(&self, folder: &Path, set: &Set) -> Result<(), FolderError> {
        let folder = Folder::create(folder)?;
        for pattern in set.members() {
            let none = BTreeMap::new();
            let states = self.states.get(&pattern).unwrap_or(&none);
            folder.replace(&some_file_name(pattern), |out| Table::write_some(out, pattern, states))?;
        }
        Ok(())
    }
}
