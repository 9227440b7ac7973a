//! Dynamic programming over tile sums. A spawn adds 2 or 4, a move adds nothing: the afterstates of a layer depend on the positions of
//! the next two, the positions of a layer on its afterstates.

use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering::Relaxed};
use std::thread;

use afterstate_evaluator::tables::code::{decode, encode};
use afterstate_evaluator::tables::{Goals, Pattern};

use super::half::{BROKEN, Columns, Half, State};
use crate::run::Stop;

/// Left halves that a thread takes at a time.
const CHUNK: usize = 64;

/// The failure of every position and every afterstate, as far as it is known; unknown ones fail.
struct Solver<'a> {
    /// What a cell's exponent is multiplied with in an index.
    places: [u64; 16],
    goals: Goals,
    upper: &'a Half,
    lower: &'a Half,
    columns: Columns,
    positions: Vec<AtomicU16>,
    afterstates: Vec<AtomicU16>,
}

fn zeroed(states: u64) -> Vec<AtomicU16> {
    // Fresh memory is zero, and zero means certain failure; a vector of atomics made otherwise would be written twice.
    let zeros = vec![0u16; states as usize];
    zeros.into_iter().map(AtomicU16::new).collect()
}

/// The failure of every afterstate of the pattern, in 16 bits; `None` if someone asked to stop. `progress` is told the share done.
pub fn solve(pattern: Pattern, threads: usize, stop: &Stop, progress: &mut dyn FnMut(f64)) -> Option<Vec<u16>> {
    let (upper, lower) = (Half::upper(pattern), Half::lower(pattern));
    let columns = Columns::new(pattern);
    let (places, goals) = (std::array::from_fn(|cell| pattern.place(cell)), pattern.goals());
    let (positions, afterstates) = (zeroed(pattern.states()), zeroed(pattern.states()));
    let solver = Solver { places, goals, upper: &upper, lower: &lower, columns, positions, afterstates };
    let layers = upper.layers() + lower.layers() - 1;
    let mut done = 0;
    for layer in (0..layers).rev() {
        if stop.requested() {
            return None;
        }
        done += solver.each_pair(layer, threads, |a, b| solver.afterstate(a, b));
        solver.each_pair(layer, threads, |a, b| solver.position(a, b));
        progress(done as f64 / pattern.states() as f64);
    }
    Some(solver.afterstates.into_iter().map(AtomicU16::into_inner).collect())
}

impl Solver<'_> {
    /// Calls back with every pair of halves that makes a state of the layer; the number of them.
    fn each_pair(&self, layer: u32, threads: usize, each: impl Fn(&State, &State) + Sync) -> u64 {
        let least = (layer + 1).saturating_sub(self.lower.layers());
        let upper = self.upper.of(least..layer + 1);
        let next = AtomicUsize::new(0);
        let work = || {
            let mut count = 0;
            while let Some(chunk) = upper.chunks(CHUNK).nth(next.fetch_add(1, Relaxed)) {
                for a in chunk {
                    let wanted = layer - a.layer;
                    let pairs = self.lower.of(wanted..wanted + 1);
                    pairs.iter().for_each(|b| each(a, b));
                    count += pairs.len() as u64;
                }
            }
            count
        };
        // Small layers are over before a thread has started.
        if threads < 2 || upper.len() < 16 * CHUNK {
            return work();
        }
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mine = work();
            others
                .into_iter()
                .fold(mine, |sum, other| sum + other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    /// An afterstate with the goal lined up never fails, any other as often as the positions that spawns make of it.
    #[inline]
    fn afterstate(&self, a: &State, b: &State) {
        let index = a.index + b.index;
        let mut empty = a.empty | b.empty;
        if a.may_be_goal && self.goals.iter().any(|goal| goal.is_met(a.nibbles | b.nibbles)) {
            self.afterstates[index as usize].store(encode(0.0), Relaxed);
            return;
        }
        if empty == 0 {
            return;
        }
        let share = 1.0 / empty.count_ones() as f32;
        let (mut twos, mut fours) = (0.0, 0.0);
        while empty != 0 {
            let place = self.places[empty.trailing_zeros() as usize];
            twos += decode(self.positions[(index + place) as usize].load(Relaxed));
            fours += decode(self.positions[(index + 2 * place) as usize].load(Relaxed));
            empty &= empty - 1;
        }
        self.afterstates[index as usize].store(encode(share * (0.9 * twos + 0.1 * fours)), Relaxed);
    }

    /// A position fails as often as its best move.
    #[inline]
    fn position(&self, a: &State, b: &State) {
        let index = a.index + b.index;
        let vertical = |pushed: &[Vec<u64>; 4]| -> u64 {
            (0..4).map(|c| pushed[c][usize::from(a.columns[c] + b.columns[c])]).sum()
        };
        let horizontal = |way: usize| a.rows[way] + b.rows[way];
        let columns = &self.columns;
        let mut best = 0;
        for after in [horizontal(0), horizontal(1), vertical(&columns.up), vertical(&columns.down)] {
            if after < BROKEN && after != index {
                // A higher code is a lower failure.
                best = best.max(self.afterstates[after as usize].load(Relaxed));
            }
        }
        if best > 0 {
            self.positions[index as usize].store(best, Relaxed);
        }
    }
}
