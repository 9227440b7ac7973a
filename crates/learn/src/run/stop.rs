//! How a person ends a run: the first Ctrl-C raises the flag, the learner looks at it, saves and returns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to end with what there is. Copies share the request.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Not requested yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks whoever looks to save and end.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Has anyone asked? Cheap enough for every game.
    #[inline]
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for an evaluation that should end too.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl From<Arc<AtomicBool>> for Stop {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}
