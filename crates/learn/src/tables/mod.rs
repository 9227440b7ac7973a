//! Building endgame tables: one file each, whole or absent, so that a build that was killed goes on with the first that is missing.

mod dynamic;
mod half;

pub use dynamic::solve;

use std::path::Path;
use std::time::Instant;

use afterstate_evaluator::tables::code::{decode, encode_coarse};
use afterstate_evaluator::tables::{Pattern, Set, Table, Width, file_name};

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
    for (pattern, width) in set.members() {
        let name = file_name(pattern, width);
        if folder.has(&name) && Table::open(&folder.path(&name)).is_ok() {
            report(pattern, Building::Kept);
            continue;
        }
        let began = Instant::now();
        let Some(codes) = solve(pattern, threads, stop, &mut |share| report(pattern, Building::Share(share))) else {
            return Ok(false);
        };
        let numbers = match width {
            Width::Fine => codes.iter().flat_map(|code| code.to_le_bytes()).collect(),
            Width::Coarse if set.is_packed => {
                codes.iter().enumerate().map(|(i, &c)| distilled(pattern, i, c)).collect()
            }
            Width::Coarse => codes.iter().map(|&code| encode_coarse(decode(code))).collect::<Vec<u8>>(),
        };
        drop(codes);
        let write = if set.is_packed { Table::write_packed } else { Table::write };
        folder.replace(&name, |out| write(out, pattern, width, &numbers))?;
        report(pattern, Building::Written { seconds: began.elapsed().as_secs_f64() });
    }
    Ok(true)
}

/// The number that a packed table keeps: the failure in larger steps, and certain failure, as for any move that leaves the pattern, for
/// states that good play hardly ever meets: nearly lost ones, with many large tiles that are not merged, or in another arrangement
/// than the first.
fn distilled(pattern: Pattern, index: usize, code: u16) -> u8 {
    let goal = usize::from(pattern.goal());
    let (mut rest, mut counts, mut sum) = (index, [0u8; 16], 0);
    for _ in 0..16 - pattern.large() {
        let exponent = rest % goal;
        counts[exponent] += 1;
        sum += 1usize << exponent;
        rest /= goal;
    }
    let is_usual = rest == 0 && 4 * sum <= 7 << goal;
    let is_met = is_usual && counts[goal - 1] <= 2 && counts[goal - 2] <= 2 && counts[goal - 3] <= 2;
    let failure = decode(code);
    match encode_coarse(failure) {
        _ if !is_met || failure > 0.125 => 0,
        // Four steps in one, and an octave in one where failure is rare.
        code @ 0..192 => code.next_multiple_of(4),
        code => code | 1,
    }
}
