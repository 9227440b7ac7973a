//! Work on several threads whose outcome does not depend on them.

use std::thread;

/// Does all jobs, the last of them here, the others on threads that wait for such work; a single one costs nothing extra.
pub(crate) fn side_by_side<J: FnOnce() + Send>(jobs: impl Iterator<Item = J>) {
    let mut jobs: Vec<J> = jobs.collect();
    let Some(last) = jobs.pop() else { return };
    if jobs.is_empty() {
        return last();
    }
    rayon::in_place_scope(|scope| {
        jobs.into_iter().for_each(|job| scope.spawn(|_| job()));
        last();
    });
}

/// Does what calls [`side_by_side`] again and again, on one of the threads that wait for it: while there is work, it is then handed over
/// without waking anybody up.
pub(crate) fn among_them<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    if threads < 2 { work() } else { rayon::scope(|_| work()) }
}

/// The number of threads that a setting asks for; 0 is one for each core.
pub(crate) fn threads_of(setting: usize) -> usize {
    match setting {
        0 => thread::available_parallelism().map_or(1, usize::from),
        count => count,
    }
}
