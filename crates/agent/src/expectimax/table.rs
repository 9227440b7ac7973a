//! The transposition table: packed entries, bounded memory, replacement by effort, shared between threads without locks.
//!
//! A value is a pure function of (afterstate, depth, rare spawns left), so it never matters who stored it, or when.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a value is the value of, apart from the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// Spawns still to be looked ahead; at most [`Horizon::MAX_DEPTH`].
    pub depth: u8,
    /// Rare spawns still allowed on the path; [`Horizon::UNLIMITED`] for all.
    pub rare: u8,
}

impl Horizon {
    pub const MAX_DEPTH: u8 = 31;
    pub const UNLIMITED: u8 = 7;

    fn bits(self) -> u64 {
        u64::from(self.depth) << 3 | u64::from(self.rare)
    }
}

/// Two words: the key hidden behind the data, so that a torn pair never matches; and the data.
#[derive(Default)]
struct Entry {
    guard: AtomicU64,
    data: AtomicU64,
}

/// Entries of one cache line.
#[derive(Default)]
#[repr(align(64))]
struct Bucket([Entry; 4]);

/// Low bits of a value's 64 that make room for what else an entry holds: 8 of horizon, 7 of effort, 5 of generation.
const SPARE: u32 = 20;
const GENERATIONS: u64 = 1 << 5;

/// Rounds a value to what an entry can hold, about ten decimal digits. Values are rounded whether stored or not.
pub fn rounded(value: f64) -> f64 {
    f64::from_bits(value.to_bits() & !((1 << SPARE) - 1))
}

/// A table of a fixed size.
pub struct Table {
    buckets: Box<[Bucket]>,
    generation: u64,
}

impl Table {
    /// As many entries as fit in so many KiB, rounded down to a power of two; at least one cache line.
    pub fn new(kibibytes: u64) -> Self {
        let wanted = (kibibytes << 10) as usize / size_of::<Bucket>();
        let count = 1 << wanted.max(1).ilog2();
        Self { buckets: (0..count).map(|_| Bucket::default()).collect(), generation: 0 }
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.generation += 1;
        if self.generation == GENERATIONS {
            self.generation = 0;
            self.buckets.fill_with(Bucket::default);
        }
    }

    fn bucket(&self, key: u64) -> &Bucket {
        &self.buckets[(key as usize) & (self.buckets.len() - 1)]
    }

    /// The value stored for that board and horizon.
    #[inline]
    pub fn get(&self, key: u64, horizon: Horizon) -> Option<f64> {
        let wanted = horizon.bits() << 12 | self.generation;
        for entry in &self.bucket(key).0 {
            let data = entry.data.load(Ordering::Relaxed);
            let matches = entry.guard.load(Ordering::Relaxed) ^ data == key;
            if matches && data & (0xff << 12 | (GENERATIONS - 1)) == wanted && data != 0 {
                return Some(rounded(f64::from_bits(data)));
            }
        }
        None
    }

    /// Stores a rounded value that took `nodes` slides to find, in place of the entry that took fewest.
    #[inline]
    pub fn put(&self, key: u64, horizon: Horizon, value: f64, nodes: u64) {
        let effort = u64::from(4 * nodes.max(1).ilog2()).min(127);
        let data = value.to_bits() & !((1 << SPARE) - 1) | horizon.bits() << 12 | effort << 5 | self.generation;
        // An entry of an earlier generation is worth nothing.
        let worth = |entry: &Entry| match entry.data.load(Ordering::Relaxed) {
            old if old & (GENERATIONS - 1) == self.generation => old >> 5 & 127,
            _ => 0,
        };
        let bucket = &self.bucket(key).0;
        let entry = bucket.iter().min_by_key(|entry| worth(entry)).unwrap_or(&bucket[0]);
        entry.guard.store(key ^ data, Ordering::Relaxed);
        entry.data.store(data, Ordering::Relaxed);
    }
}

/// Entries with so few spawns left are kept by each thread for itself. They are by far the most, each is found again quickly, and a
/// cache line that another core has just written to takes longer to fetch than such a value to work out.
const NEAR: u8 = 1;

/// The tables of a search: one for everything on one thread; on several one for each and one in common.
pub struct Memory {
    own: Vec<Table>,
    common: Option<Table>,
}

impl Memory {
    /// Tables of so many KiB each.
    pub fn new(kibibytes: u64, threads: usize) -> Self {
        let own = (0..threads).map(|_| Table::new(kibibytes)).collect();
        Self { own, common: (threads > 1).then(|| Table::new(kibibytes)) }
    }

    /// Forgets all entries.
    pub fn clear(&mut self) {
        self.own.iter_mut().chain(&mut self.common).for_each(Table::clear);
    }

    /// What one of the threads sees.
    pub fn of_thread(&self, thread: usize) -> View<'_> {
        let near = &self.own[thread];
        View { near, far: self.common.as_ref().unwrap_or(near) }
    }
}

/// One thread's tables.
#[derive(Clone, Copy)]
pub struct View<'a> {
    near: &'a Table,
    far: &'a Table,
}

impl<'a> View<'a> {
    /// Where values with so many spawns left are kept.
    #[inline]
    pub fn table(&self, depth: u8) -> &'a Table {
        if depth <= NEAR { self.near } else { self.far }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Horizon = Horizon { depth: 3, rare: 1 };

    #[test]
    fn what_is_put_is_found_and_nothing_else() {
        let mut table = Table::new(1);
        table.put(77, HERE, rounded(-123.456), 1000);
        assert_eq!(table.get(77, HERE), Some(rounded(-123.456)));
        assert_eq!(table.get(78, HERE), None);
        assert_eq!(table.get(77, Horizon { depth: 2, ..HERE }), None);
        assert_eq!(table.get(77, Horizon { rare: 2, ..HERE }), None);
        table.clear();
        assert_eq!(table.get(77, HERE), None);
        assert_eq!(table.get(0, Horizon { depth: 0, rare: 0 }), None, "an unused entry is no entry");
    }

    #[test]
    fn entries_that_took_most_work_stay() {
        let table = Table::new(1);
        let buckets = table.buckets.len() as u64;
        for i in 0..10 {
            table.put(5 + i * buckets, HERE, i as f64, if i < 3 { 1 << 20 } else { 1 << i });
        }
        for i in 0..3 {
            assert_eq!(table.get(5 + i * buckets, HERE), Some(i as f64));
        }
    }

    #[test]
    fn rounding_keeps_nine_digits() {
        for value in [66.964_149_457_101_26, 1.0e-3, 387_222.25, -5.5e8] {
            assert!((rounded(value) - value).abs() <= value.abs() * 2.4e-10);
        }
        assert_eq!(rounded(0.0), 0.0);
    }

    #[test]
    fn generations_come_round() {
        let mut table = Table::new(1);
        table.put(9, HERE, 1.0, 10);
        for _ in 0..GENERATIONS {
            table.clear();
            assert_eq!(table.get(9, HERE), None);
        }
    }
}
