//! Positions met twice in one search. An entry holds its whole position, so that a hit is never a mistake.

use afterstate_board::{Direction, Position};

/// What the search learnt of a position's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    Exact,
    AtLeast,
    AtMost,
}

#[derive(Clone, Copy)]
struct Entry<P> {
    position: P,
    value: f64,
    /// Entries of earlier searches are void.
    search: u32,
    depth: u8,
    bound: Bound,
    best: Direction,
}

/// A bounded memory of one search.
pub struct Table<P> {
    entries: Vec<Entry<P>>,
    search: u32,
}

const ENTRIES: usize = 1 << 16;

impl<P: Position> Table<P> {
    pub fn new() -> Self {
        let void =
            Entry { position: P::empty(), value: 0.0, search: 0, depth: 0, bound: Bound::Exact, best: Direction::Left };
        Self { entries: vec![void; ENTRIES], search: 0 }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.search = self.search.wrapping_add(1);
        if self.search == 0 {
            *self = Self::new();
            self.search = 1;
        }
    }

    /// The value if what is known of it settles a window; the move that was best, to be tried first.
    #[inline]
    pub fn get(&self, position: &P, depth: u32, alpha: f64, beta: f64) -> (Option<f64>, Option<Direction>) {
        let entry = &self.entries[position.key() as usize % ENTRIES];
        if entry.search != self.search || entry.position != *position {
            return (None, None);
        }
        let settles = match entry.bound {
            Bound::Exact => true,
            Bound::AtLeast => entry.value >= beta,
            Bound::AtMost => entry.value <= alpha,
        };
        ((settles && u32::from(entry.depth) == depth).then_some(entry.value), Some(entry.best))
    }

    #[inline]
    pub fn put(&mut self, position: &P, depth: u32, value: f64, bound: Bound, best: Direction) {
        let (position, search, depth) = (*position, self.search, depth as u8);
        self.entries[position.key() as usize % ENTRIES] = Entry { position, value, search, depth, bound, best };
    }
}
