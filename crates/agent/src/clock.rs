//! Keeping to a time budget without paying for the time: the clock is read seldom when steps are cheap, often when they are dear.

use std::time::{Duration, Instant};

use crate::stop;

/// Readings of the clock should lie about this far apart.
const FINE: Duration = Duration::from_micros(20);
const COARSE: Duration = Duration::from_micros(100);
/// Longer than any search.
const FOREVER: Duration = Duration::from_secs(365 * 86_400);

/// Tells when a deadline has passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    deadline: Option<Instant>,
    /// The last reading.
    read: Instant,
    /// Steps from one reading to the next, and how many of them are left.
    every: u32,
    left: u32,
}

impl Clock {
    /// A clock that is never up without a deadline, unless the search is stopped from outside.
    pub fn until(deadline: Option<Instant>) -> Self {
        // Who may be stopped must look at the clock even with all the time in the world.
        let deadline = deadline.or_else(|| stop::is_watched().then(|| Instant::now() + FOREVER));
        Self { deadline, read: Instant::now(), every: 1, left: 1 }
    }

    /// Counts a step; true once a reading has found the deadline passed.
    #[inline]
    pub fn is_up(&mut self) -> bool {
        let Some(deadline) = self.deadline else { return false };
        self.left -= 1;
        self.left == 0 && self.look(deadline)
    }

    #[cold]
    fn look(&mut self, deadline: Instant) -> bool {
        let now = Instant::now();
        let since = now.duration_since(self.read);
        self.read = now;
        if now >= deadline || stop::is_requested() {
            self.left = 1;
            return true;
        }
        if since < FINE {
            self.every = (2 * self.every).min(1 << 20);
        } else if since > COARSE {
            self.every = (self.every / 2).max(1);
        }
        self.left = self.every;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_up_on_time_and_stays_so() {
        let began = Instant::now();
        let mut clock = Clock::until(Some(began + Duration::from_millis(3)));
        while !clock.is_up() {}
        assert!(began.elapsed() >= Duration::from_millis(3));
        assert!(clock.is_up());
        assert!(!Clock::until(None).is_up());
    }
}
