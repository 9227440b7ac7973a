//! Many threads hand finished games to one. A channel would wake the receiver for every game, which takes twice as long as
//! playing a short one; here the receiver comes and looks every few milliseconds.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a finished game waits at most while the receiver is idle.
const PATIENCE: Duration = Duration::from_millis(4);

/// Things that may wait per sender; then the sender waits.
const ROOM: usize = 256;

/// A queue with a fixed number of senders.
pub(crate) struct Queue<T> {
    state: Mutex<State<T>>,
    /// Full, or a sender has left.
    look: Condvar,
    /// No longer full.
    room: Condvar,
}

struct State<T> {
    waiting: Vec<T>,
    senders: usize,
    room: usize,
    closed: bool,
}

impl<T> Queue<T> {
    pub fn new(senders: usize) -> Self {
        let state = State { waiting: Vec::new(), senders, room: ROOM * senders.max(1), closed: false };
        Self { state: Mutex::new(state), look: Condvar::new(), room: Condvar::new() }
    }

    /// No code that can panic runs under the lock.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands something over, waiting for room if need be; false if nobody receives any more.
    pub fn send(&self, item: T) -> bool {
        let full = |state: &mut State<T>| state.waiting.len() >= state.room && !state.closed;
        let mut state = self.lock();
        if full(&mut state) {
            self.look.notify_one();
            state = self.room.wait_while(state, full).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.closed {
            state.waiting.push(item);
        }
        !state.closed
    }

    /// A sender has sent its last.
    pub fn leave(&self) {
        self.lock().senders -= 1;
        self.look.notify_one();
    }

    /// All that has come in, in order; empty when nothing more will come.
    pub fn receive(&self) -> Vec<T> {
        let mut state = self.lock();
        loop {
            if !state.waiting.is_empty() {
                self.room.notify_all();
                return std::mem::take(&mut state.waiting);
            }
            if state.senders == 0 {
                return Vec::new();
            }
            state = self.look.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Nothing will be received any more: lets waiting senders go.
    pub fn close(&self) {
        self.lock().closed = true;
        self.room.notify_all();
    }
}
