//! Work on several threads whose outcome does not depend on them.

use std::thread;

/// Does all jobs, each on a thread of its own but the last, which is done here; a single one costs nothing extra.
pub(crate) fn side_by_side<J: FnOnce() + Send>(jobs: impl Iterator<Item = J>) {
    let mut jobs: Vec<J> = jobs.collect();
    let last = jobs.pop();
    thread::scope(|scope| {
        for job in jobs {
            scope.spawn(job);
        }
        if let Some(last) = last {
            last();
        }
    });
}

/// The number of threads that a setting asks for; 0 is one for each core.
pub(crate) fn threads_of(setting: usize) -> usize {
    match setting {
        0 => thread::available_parallelism().map_or(1, usize::from),
        count => count,
    }
}
