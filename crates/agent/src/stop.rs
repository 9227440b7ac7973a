//! Ending a search from outside: whoever asked may have left (a closed tab) before the answer is found.
//!
//! The flag belongs to the thread that searches, not to the budget: a budget is data that records keep, and every search looks at
//! its limits in one place. A decision that was stopped means nothing and may hold no move.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static FLAG: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Does some work in which searches on this thread end soon after the flag is raised.
///
/// ```
/// use std::sync::{Arc, atomic::AtomicBool};
/// use afterstate_agent::{Budget, Context, build_from_text, stoppable};
/// use afterstate_board::{Rng, board};
///
/// let mut agent = build_from_text("expectimax:depth=9", &Context::default()).unwrap();
/// let raised = Arc::new(AtomicBool::new(true));
/// let position = board!(2 4 8 0 / 0 2 0 0 / 0 0 4 0 / 2 0 0 0);
/// let decision = stoppable(&raised, || agent.decide(&position, &Budget::OWN, &mut Rng::new(1)));
/// assert_eq!(decision.direction, None);
/// ```
pub fn stoppable<R>(flag: &Arc<AtomicBool>, work: impl FnOnce() -> R) -> R {
    /// Puts the earlier flag back, however the work ends.
    struct Restore(Option<Arc<AtomicBool>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            FLAG.set(self.0.take());
        }
    }
    let _restore = Restore(FLAG.replace(Some(Arc::clone(flag))));
    work()
}

/// Does some work on another thread that ends when this one's would.
pub(crate) fn inherited<R>(work: impl FnOnce() -> R) -> impl FnOnce() -> R {
    let flag = FLAG.with_borrow(Clone::clone);
    move || match flag {
        Some(flag) => stoppable(&flag, work),
        None => work(),
    }
}

/// Must searches on this thread look at a flag?
pub(crate) fn is_watched() -> bool {
    FLAG.with_borrow(Option::is_some)
}

/// Has the flag of this thread been raised?
pub(crate) fn is_requested() -> bool {
    FLAG.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)))
}
