//! Solutions by problem: the small ones are found on the spot, the others in the folder of tables.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::{Brief, Problem, Solution, SolutionError};
use crate::data_folder;

/// Boards of so few cells are solved on the spot, in less time than anyone notices.
const CELLS_AT_ONCE: usize = 6;
/// Spawn rules with large tiles have more positions; so many are still no trouble.
const STATES_AT_ONCE: usize = 300_000;

/// Solutions in use: every thread of an evaluation asks for its own, and all share one.
static OPENED: Mutex<Vec<Weak<Solution>>> = Mutex::new(Vec::new());
/// Solutions found on the spot, kept for good: there are few, and they are small.
static SOLVED: Mutex<Vec<Arc<Solution>>> = Mutex::new(Vec::new());

/// The folder of solutions in the folder of tables.
pub const FOLDER: &str = "solved";

/// Where solutions are kept unless another folder is named.
pub fn folder() -> PathBuf {
    data_folder().join(FOLDER)
}

/// The solution of a problem: found on the spot if the board is small, else from its file in `folder`.
pub fn find(problem: &Problem, folder: &Path) -> Result<Arc<Solution>, SolutionError> {
    if let Some(solution) = at_once(problem) {
        return Ok(solution);
    }
    let path = folder.join(problem.file_name());
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    opened.retain(|solution| solution.strong_count() > 0);
    let mut known = opened.iter().filter_map(Weak::upgrade);
    if let Some(solution) = known.find(|solution| solution.is_at(&path) && solution.brief().problem == *problem) {
        return Ok(solution);
    }
    let solution = Arc::new(Solution::open(&path, problem)?);
    opened.push(Arc::downgrade(&solution));
    Ok(solution)
}

/// The solution of a board so small that solving it takes less time than anyone notices.
pub fn at_once(problem: &Problem) -> Option<Arc<Solution>> {
    if problem.cells() > CELLS_AT_ONCE {
        return None;
    }
    let mut solved = SOLVED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(solution) = solved.iter().find(|solution| solution.brief().problem == *problem) {
        return Some(Arc::clone(solution));
    }
    let solution = Arc::new(Solution::in_memory(problem, STATES_AT_ONCE).ok()?);
    solved.push(Arc::clone(&solution));
    Some(solution)
}

/// What a solution says in brief, if it is there or can be found on the spot.
pub fn known(problem: &Problem, folder: &Path) -> Option<Brief> {
    let stored = || Solution::peek(&folder.join(problem.file_name()), problem).ok();
    at_once(problem).map(|solution| *solution.brief()).or_else(stored)
}
