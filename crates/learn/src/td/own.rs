//! What each thread learns by itself: the weights of small tiles. Every game looks them up and corrects them all the time, and a cache line
//! that another core has just written to takes far longer to fetch than one of one's own. They are a ninth of a table of six cells, so that
//! bringing them together now and then costs little. All other weights are shared: two games hardly ever meet there.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use afterstate_evaluator::ntuple::Layout;

use super::lane::Tables;

/// Where the threads' own weights lie: behind those that all share there is room for as many again for each thread, of which the system gives
/// what is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Own {
    /// See [`Layout::large_bits`].
    pub large_bits: u32,
    /// Weights that all share.
    shared: u32,
    threads: u32,
}

/// Bytes of a weight and its sums of coherence.
const BYTES: u64 = 12;

/// True for the index of a weight that a thread has to itself: of the tiles that it stands for at most one is from 256 on.
#[inline(always)]
pub(super) const fn is_own(index: u32, large_bits: u32) -> bool {
    let large = index & large_bits;
    large & large.wrapping_sub(1) == 0
}

/// Whether it is faster to have weights of one's own depends on what it takes a core to fetch what another has written, which differs by machine
/// and, where machines are shared, by the hour. So both ways are tried in turn, the faster one is kept for a while, and then they are tried again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Trial {
    blocks: u64,
    /// Moves and seconds of the latest trial, of sharing all and of learning apart.
    tried: [(u64, f64); 2],
}

impl Trial {
    /// Blocks that each way is tried for.
    const TRIED: u64 = 2;
    /// Blocks from one trial to the next.
    const EVERY: u64 = 100;

    /// Is the next block to be learned apart?
    pub fn is_apart(&self) -> bool {
        let rate = |(moves, seconds): (u64, f64)| moves as f64 / seconds;
        match self.blocks % Self::EVERY {
            block if block < Self::TRIED => false,
            block if block < 2 * Self::TRIED => true,
            _ => rate(self.tried[1]) > rate(self.tried[0]),
        }
    }

    /// Takes note of a block that was learned as [`Trial::is_apart`] says.
    pub fn note(&mut self, moves: u64, seconds: f64) {
        let (block, way) = (self.blocks % Self::EVERY, usize::from(self.is_apart()));
        if block == 0 {
            self.tried = Default::default();
        }
        if block < 2 * Self::TRIED {
            let (all, time) = self.tried[way];
            self.tried[way] = (all + moves, time + seconds);
        }
        self.blocks += 1;
    }
}

/// All weights, and the sums of coherence of each.
type Numbers<'w> = (&'w [AtomicU32], &'w [[AtomicU32; 2]]);

/// A weight with its sums of coherence.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Learned {
    weight: i32,
    sum: f32,
    size: f32,
}

impl Learned {
    #[inline]
    fn load((weights, coherence): Numbers<'_>, at: usize) -> Self {
        let [sum, size] = &coherence[at];
        let float = |word: &AtomicU32| f32::from_bits(word.load(Relaxed));
        Self { weight: weights[at].load(Relaxed).cast_signed(), sum: float(sum), size: float(size) }
    }

    #[inline]
    fn store(self, (weights, coherence): Numbers<'_>, at: usize) {
        weights[at].store(self.weight.cast_unsigned(), Relaxed);
        coherence[at][0].store(self.sum.to_bits(), Relaxed);
        coherence[at][1].store(self.size.to_bits(), Relaxed);
    }

    /// What becomes of it when others began with it and have come to these: sums add up; the weight goes to the mean of those that have moved,
    /// each counted by the errors it has seen. To add the steps up would be too much where all have made the same error good.
    #[inline]
    fn joined(self, others: impl Iterator<Item = Self>) -> Self {
        let (mut sum, mut size, mut way, mut counted) = (self.sum, self.size, 0.0, 0.0);
        for other in others.filter(|&other| other != self) {
            let errors = other.size - self.size;
            (sum, size) = (sum + (other.sum - self.sum), size + errors);
            // Plain corrections keep no sums: then all count alike.
            let share = if errors > 0.0 { f64::from(errors) } else { 1.0 };
            way += share * f64::from(other.weight.wrapping_sub(self.weight));
            counted += share;
        }
        let step = if counted > 0.0 { way / counted } else { 0.0 };
        Self { weight: self.weight.wrapping_add(step.round() as i32), sum, size }
    }
}

impl Own {
    /// Room for the weights of so many threads, in half of the machine's memory where the system tells how much that is, and with indices of 32 bits;
    /// for fewer that some then share if it does not suffice; `None` if that leaves one, or if small tiles cannot be told by an index.
    pub fn new(layout: &Layout, threads: usize, memory: Option<u64>) -> Option<Self> {
        let shared = u32::try_from(layout.weights()).ok()?;
        let in_memory = memory.map_or(u64::MAX, |memory| memory / 2 / (BYTES * u64::from(shared)));
        let room = in_memory.min(u64::from(u32::MAX / shared)).saturating_sub(1);
        let threads = u32::try_from(room.min(threads as u64)).ok().filter(|&threads| threads > 1)?;
        let large_bits = layout.large_bits()?;
        Some(Self { large_bits, shared, threads })
    }

    /// Is it room for the own weights of a layout?
    pub const fn suits(&self, layout: &Layout) -> bool {
        layout.weights() <= self.shared as usize
    }

    /// Weights in all.
    pub const fn weights(&self) -> usize {
        self.shared as usize * (self.threads as usize + 1)
    }

    /// How far behind the shared weights those of a thread are.
    pub const fn offset(&self, thread: usize) -> u32 {
        self.shared * (thread as u32 % self.threads + 1)
    }

    /// Where the threads have the weight of an index.
    fn places(&self, at: usize) -> impl Iterator<Item = usize> + use<> {
        let own = *self;
        (0..own.threads as usize).map(move |thread| at + own.offset(thread) as usize)
    }

    /// Calls back with every index of which the threads have their own weights, on all threads.
    fn each(&self, call: impl Fn(usize) + Sync) {
        // The lowest cell counts through sixteen tiles: all of them, those that are small, or none may go with the others.
        let with = |first: u32| [16, 8, 0][(first & self.large_bits).count_ones().min(2) as usize];
        let part = |i: u32| (u64::from(self.shared) * u64::from(i) / u64::from(self.threads)) as u32 & !15;
        thread::scope(|scope| {
            for i in 0..self.threads {
                let (call, end) = (&call, if i + 1 == self.threads { self.shared } else { part(i + 1) });
                let indices = (part(i)..end).step_by(16).flat_map(move |first| first..first + with(first));
                scope.spawn(move || indices.for_each(|at| call(at as usize)));
            }
        });
    }

    /// Gives every thread what all have learned.
    pub fn spread(&self, tables: &Tables<'_>) {
        let numbers = tables.numbers();
        self.each(|at| {
            let learned = Learned::load(numbers, at);
            self.places(at).for_each(|place| learned.store(numbers, place));
        });
    }

    /// Brings together what the threads have learned since, and gives it to all of them.
    pub fn gather(&self, tables: &Tables<'_>) {
        let numbers = tables.numbers();
        self.each(|at| {
            let before = Learned::load(numbers, at);
            let others = || self.places(at).map(|place| Learned::load(numbers, place));
            if others().any(|other| other != before) {
                let joined = before.joined(others());
                self.places(at).chain([at]).for_each(|place| joined.store(numbers, place));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::Board;
    use afterstate_evaluator::ntuple::{Downgrade, Words};

    const LEARNED: Learned = Learned { weight: 100, sum: 5.0, size: 10.0 };

    #[test]
    fn what_one_thread_has_learned_is_kept_and_what_several_have_is_weighed() {
        let still = LEARNED;
        assert_eq!(LEARNED.joined([still, still].into_iter()), LEARNED);
        let moved = Learned { weight: 140, sum: 8.0, size: 16.0 };
        assert_eq!(LEARNED.joined([still, moved].into_iter()), moved, "nobody else has seen it");
        let other = Learned { weight: 70, sum: 3.0, size: 12.0 };
        // 40 up by errors of 6, 30 down by errors of 2: (240 - 60) / 8.
        assert_eq!(LEARNED.joined([moved, other].into_iter()), Learned { weight: 123, sum: 6.0, size: 18.0 });
        let plain = |weight: i32| Learned { weight, ..LEARNED };
        assert_eq!(LEARNED.joined([plain(140), plain(120), still].into_iter()), plain(130), "no sums: all alike");
    }

    #[test]
    fn the_faster_way_is_kept_until_the_next_trial() {
        let mut trial = Trial::default();
        // Learning apart is twice as fast in the first round, half as fast in the second.
        for round in 0..2 {
            for block in 0..Trial::EVERY {
                let is_apart = trial.is_apart();
                let wanted = if block < 4 { block >= 2 } else { round == 0 };
                assert_eq!(is_apart, wanted, "round {round}, block {block}");
                trial.note(1_000, if is_apart == (round == 0) { 0.5 } else { 1.0 });
            }
        }
    }

    #[test]
    fn indices_of_few_large_tiles_are_visited_once() {
        for patterns in ["0123 4567", "012 456 048", "01 4", "5"] {
            let layout = Layout::new::<Board>(patterns, &[14]).unwrap();
            let Some(own) = Own::new(&layout, 3, None) else {
                assert_eq!(patterns, "01 4", "patterns of one size");
                continue;
            };
            let visits: Vec<AtomicU32> = (0..layout.weights()).map(|_| AtomicU32::new(0)).collect();
            own.each(|at| {
                visits[at].fetch_add(1, Relaxed);
            });
            for (at, visits) in visits.iter().enumerate() {
                let cells = layout.patterns().next().unwrap().cells().len();
                let large = (0..cells).filter(|cell| at >> (4 * cell) & 15 >= 8).count();
                assert_eq!(is_own(at as u32, own.large_bits), large < 2, "{patterns} {at:x}");
                assert_eq!(visits.load(Relaxed), u32::from(large < 2), "{patterns} {at:x}");
            }
        }
        let layout = Layout::new::<Board>("0123", &[]).unwrap();
        assert_eq!(Own::new(&layout, 1, None), None, "one thread has all to itself");
        let in_memory = |times: u64| Own::new(&layout, 8, Some(2 * BYTES * times * layout.weights() as u64));
        assert_eq!(in_memory(9).map(|own| own.threads), Some(8));
        assert_eq!(in_memory(4).map(|own| (own.threads, own.offset(1) == own.offset(4))), Some((3, true)));
        assert_eq!(in_memory(2), None);
        let large = Layout::new::<Board>("0123456 1234567 2345678 3456789", &[]).unwrap();
        assert_eq!(Own::new(&large, 8, None).map(|own| own.threads), Some(2), "an index has 32 bits");
    }

    #[test]
    fn threads_have_their_own_until_it_is_gathered() {
        let layout = Layout::new::<Board>("0123 4567", &[]).unwrap();
        let own = Own::new(&layout, 2, None).unwrap();
        let (weights, coherence) = (Words::zeroed(own.weights()).unwrap(), Words::zeroed(2 * own.weights()).unwrap());
        let tables = Tables::new(&layout, weights.atomics(), coherence.atomics().as_chunks().0, Downgrade::NEVER);
        let (numbers, at) = (tables.numbers(), 0x1234);
        LEARNED.store(numbers, at);
        own.spread(&tables);
        let seen = |place: usize| Learned::load(numbers, place);
        assert!(own.places(at).all(|place| seen(place) == LEARNED));
        let moved = Learned { weight: 50, sum: 1.0, size: 14.0 };
        moved.store(numbers, at + own.offset(1) as usize);
        assert_eq!((seen(at), seen(at + own.offset(0) as usize)), (LEARNED, LEARNED));
        own.gather(&tables);
        assert!(own.places(at).chain([at]).all(|place| seen(place) == moved));
    }
}
