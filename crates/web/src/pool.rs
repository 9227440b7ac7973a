//! Where the thinking is done: away from the threads that answer, so many at once, so many waiting, and none for nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use afterstate_agent::stoppable;
use tokio::sync::Semaphore;

use crate::error::{ApiError, ApiResult};

/// Raises a flag when dropped: whoever waited for a search has gone, so that it can end.
pub(crate) struct StopOnDrop(pub Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A bounded number of thinking threads.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    turns: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    most_waiting: usize,
}

/// Counts somebody who waits, for as long as they do.
struct Waiting<'p>(&'p AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pool {
    pub fn new(searches: usize, most_waiting: usize) -> Self {
        Self { turns: Arc::new(Semaphore::new(searches.max(1))), waiting: Arc::default(), most_waiting }
    }

    /// True if somebody waits for a turn: long work should be cut into shorter pieces.
    pub fn is_crowded(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Does some thinking on a thread of its own, in the order of asking.
    ///
    /// The work gets a flag to end early by; searches end by it on their own. It is raised when the caller stops waiting and when
    /// the time is up; in the latter case whatever the work returns then is returned.
    pub async fn run<T: Send + 'static>(
        &self,
        time: Duration,
        work: impl FnOnce(&Arc<AtomicBool>) -> T + Send + 'static,
    ) -> ApiResult<T> {
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= self.most_waiting {
            drop(Waiting(&self.waiting));
            return Err(ApiError::busy("too many searches are waiting: try again in a moment"));
        }
        let waiting = Waiting(&self.waiting);
        let turn = Arc::clone(&self.turns).acquire_owned().await;
        drop(waiting);
        let turn = turn.map_err(|_| ApiError::busy("the server is stopping"))?;
        let stop = StopOnDrop(Arc::default());
        let flag = Arc::clone(&stop.0);
        let mut thinking = tokio::task::spawn_blocking(move || {
            let found = stoppable(&flag, || work(&flag));
            drop(turn);
            found
        });
        let found = match tokio::time::timeout(time, &mut thinking).await {
            Ok(found) => found,
            Err(_) => {
                stop.0.store(true, Ordering::Relaxed);
                thinking.await
            }
        };
        found.map_err(|error| ApiError::internal(format!("the search failed: {error}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn wait_for(flag: &AtomicBool) {
        while !flag.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[tokio::test]
    async fn too_many_are_told_to_come_back_and_it_recovers() {
        let pool = Pool::new(1, 1);
        let busy = pool.clone();
        let first = tokio::spawn(async move { busy.run(10 * SECOND, |flag| wait_for(flag)).await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        let second = pool.clone();
        let second = tokio::spawn(async move { second.run(SECOND, |_| 2).await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(pool.is_crowded());
        assert_eq!(pool.run(SECOND, |_| 3).await.unwrap_err().status, 503);
        first.abort();
        assert_eq!(second.await.unwrap(), Ok(2));
        assert_eq!(pool.run(SECOND, |_| 4).await, Ok(4));
        assert!(!pool.is_crowded());
    }

    #[tokio::test]
    async fn time_is_limited_and_panics_are_told() {
        let pool = Pool::new(1, 1);
        let began = std::time::Instant::now();
        pool.run(Duration::from_millis(30), |flag| wait_for(flag)).await.unwrap();
        assert!(began.elapsed() < SECOND);
        let error = pool.run(SECOND, |_| -> u32 { panic!("on purpose") }).await.unwrap_err();
        assert_eq!(error.status, 500);
        assert_eq!(pool.run(SECOND, |_| 5).await, Ok(5));
    }
}
