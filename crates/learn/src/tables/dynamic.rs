//! Dynamic programming over tile sums. A spawn adds 2 or 4, a move adds nothing: the afterstates of a layer depend on the positions of
//! the next two, the positions of a layer on its afterstates. Only the layers that others still depend on are in memory. Who plays by a
//! table needs the afterstates that are the best move of some position, one in ten: those alone are kept.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering::Relaxed};
use std::thread;

use afterstate_evaluator::tables::code::{decode, encode};
use afterstate_evaluator::tables::{Goals, Order, Pattern, SHIFTS, failure_of_shift};

use super::half::{Columns, Half, State, fillings_below, joined, place};
use crate::run::Stop;

/// Upper halves that a thread takes at a time.
const CHUNK: usize = 64;

/// A number for every state of a layer. States with the same upper half lie side by side, in the order of their lower ones.
struct Layer {
    /// Where the states begin whose upper half is of a layer, and how many there are for each upper half.
    starts: Vec<(usize, usize)>,
    codes: Vec<AtomicU16>,
}

impl Layer {
    /// All zero, which means certain failure.
    fn new(layer: u32, order: &Order) -> Self {
        let (upper, lower) = (&order.upper, &order.lower);
        let of = |above: u32| match layer.checked_sub(above).filter(|&below| below < lower.layers()) {
            Some(below) => (order.group(above, below), lower.count(below)),
            None => (u64::MAX, 0),
        };
        let groups = (0..upper.layers()).map(of);
        let first = groups.clone().map(|(start, _)| start).min().unwrap_or(0);
        let starts = groups.map(|(start, width)| ((start - first) as usize, width)).collect();
        // Fresh memory is zero; a vector of atomics made otherwise would be written twice.
        let codes = vec![0u16; order.count(layer)].into_iter().map(AtomicU16::new).collect();
        Self { starts, codes }
    }

    /// Where the states of an upper half begin.
    #[inline]
    fn row(&self, (layer, rank): (u32, u32)) -> usize {
        let (start, width) = self.starts[layer as usize];
        start + rank as usize * width
    }

    #[inline]
    fn code(&self, at: usize) -> u16 {
        self.codes[at].load(Relaxed)
    }

    #[inline]
    fn failure(&self, at: usize) -> f32 {
        decode(self.code(at))
    }
}

struct Solver<'a> {
    pattern: Pattern,
    goals: Goals,
    upper: &'a Half<'a>,
    lower: &'a Half<'a>,
    columns: Columns,
    /// What a cell's exponent is multiplied with in the code of its half.
    places: [u32; 16],
}

/// The layers that one depends on: the next, and the one after it.
struct Next {
    positions: [Layer; 2],
    afterstates: [Layer; 2],
}

/// Works out how often the afterstates of the pattern fail, layer by layer, and calls `keep` with the numbers of each: the failures in 16 bits and
/// whether they are the best move of some position, one after the other in the order of the pattern's states. False if someone asked to stop.
/// `progress` is told the share done.
pub fn solve(
    pattern: Pattern,
    threads: usize,
    stop: &Stop,
    progress: &mut dyn FnMut(f64),
    mut keep: impl FnMut(&[AtomicU16], &[AtomicBool]),
) -> bool {
    let order = Order::new(pattern);
    let (upper, lower) = (Half::upper(pattern, &order.upper), Half::lower(pattern, &order.lower));
    let (columns, goals) = (Columns::new(pattern), pattern.goals());
    let places = std::array::from_fn(|cell| place(pattern, cell));
    let solver = Solver { pattern, goals, upper: &upper, lower: &lower, columns, places };
    let layers = (upper.layers() + lower.layers() - 1).min(pattern.most_layer().saturating_add(1));
    let fresh = |layer: u32| Layer::new(layer, &order);
    let both = || [fresh(layers), fresh(layers + 1)];
    let mut next = Next { positions: both(), afterstates: both() };
    let mut done = 0;
    for layer in (0..layers).rev() {
        if stop.requested() {
            return false;
        }
        let (after, positions) = (fresh(layer), fresh(layer));
        let is_best: Vec<AtomicBool> = vec![false; after.codes.len()].into_iter().map(AtomicBool::new).collect();
        solver.each_row(layer, threads, |a, row| solver.afterstates(a, row, &next, &after));
        solver.each_row(layer, threads, |a, row| solver.positions(a, row, &after, &next, &positions, &is_best));
        keep(&after.codes, &is_best);
        done += after.codes.len();
        next.positions.swap(0, 1);
        next.positions[0] = positions;
        next.afterstates.swap(0, 1);
        next.afterstates[0] = after;
        progress(done as f64 / order.states() as f64);
    }
    true
}

impl Solver<'_> {
    /// Calls back with every upper half of the layer and the lower ones that go with it.
    fn each_row(&self, layer: u32, threads: usize, each: impl Fn(&State, &[State]) + Sync) {
        let least = (layer + 1).saturating_sub(self.lower.layers());
        let upper = self.upper.of(least..layer + 1);
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(chunk) = upper.chunks(CHUNK).nth(next.fetch_add(1, Relaxed)) {
                for a in chunk {
                    let wanted = layer - a.layer;
                    each(a, self.lower.of(wanted..wanted + 1));
                }
            }
        };
        // Small layers are over before a thread has started.
        if threads < 2 || upper.len() < 16 * CHUNK {
            return work();
        }
        thread::scope(|scope| {
            (1..threads).for_each(|_| {
                scope.spawn(work);
            });
            work();
        });
    }

    /// An afterstate with the goal lined up never fails, any other as often as the positions that spawns make of it.
    #[inline]
    fn afterstates(&self, a: &State, row: &[State], next: &Next, own: &Layer) {
        let rank = self.upper.rank(a.code);
        let start = own.row(rank);
        let [after_two, after_four] = &next.positions;
        // Where spawns above lead to: the same lower halves, in the same order.
        let (mut above, mut count) = ([(0, 0); 12], 0);
        for cell in (0..12).filter(|cell| a.empty >> cell & 1 == 1) {
            let rank = |exponent: u32| self.upper.rank(a.code + exponent * self.places[cell]);
            above[count] = (after_two.row(rank(1)), after_four.row(rank(2)));
            count += 1;
        }
        let below = (after_two.row(rank), after_four.row(rank));
        for (j, b) in row.iter().enumerate() {
            if a.may_be_goal && self.goals.iter().any(|goal| goal.is_met(a.nibbles | b.nibbles)) {
                own.codes[start + j].store(encode(0.0), Relaxed);
                continue;
            }
            let (mut twos, mut fours) = (0.0, 0.0);
            for (two, four) in &above[..count] {
                twos += after_two.failure(two + j);
                fours += after_four.failure(four + j);
            }
            let mut empty = b.empty;
            while empty != 0 {
                let place = self.places[empty.trailing_zeros() as usize];
                let rank = |exponent: u32| self.lower.rank(b.code + exponent * place).1 as usize;
                twos += after_two.failure(below.0 + rank(1));
                fours += after_four.failure(below.1 + rank(2));
                empty &= empty - 1;
            }
            let spawns = count as u32 + b.empty.count_ones();
            if spawns > 0 {
                own.codes[start + j].store(encode((0.9 * twos + 0.1 * fours) / spawns as f32), Relaxed);
            }
        }
    }

    /// A position fails as often as its best move, which is marked. Where no move stays within the pattern, shifting the block and moving back is
    /// one.
    #[inline]
    fn positions(&self, a: &State, row: &[State], after: &Layer, next: &Next, own: &Layer, is_best: &[AtomicBool]) {
        let start = own.row(self.upper.rank(a.code));
        // Moves to the sides leave every half its sum.
        let sides = a.rows.map(|part| joined([part]).map(|(code, _)| (code, after.row(self.upper.rank(code)))));
        for (j, b) in row.iter().enumerate() {
            let place = |row: usize, below: u32| row + self.lower.rank(below).1 as usize;
            let aside = |way: usize| {
                let ((above, row), (_, below)) = (sides[way]?, joined([b.rows[way]])?);
                ((above, below) != (a.code, b.code)).then(|| place(row, below))
            };
            let along = |pushed: &[Vec<u64>; 4]| {
                let part = |c: usize| pushed[c][usize::from(a.columns[c] + b.columns[c])];
                let (above, below) = joined([part(0), part(1), part(2), part(3)])?;
                ((above, below) != (a.code, b.code)).then(|| place(after.row(self.upper.rank(above)), below))
            };
            // A higher code is a lower failure.
            let moves = [aside(0), aside(1), along(&self.columns.up), along(&self.columns.down)];
            let code = match moves.into_iter().flatten().max_by_key(|&at| after.code(at)) {
                Some(best) => {
                    is_best[best].store(true, Relaxed);
                    after.code(best)
                }
                None => self.shifted(a, b, next),
            };
            own.codes[start + j].store(code, Relaxed);
        }
    }

    #[cold]
    fn shifted(&self, a: &State, b: &State, next: &Next) -> u16 {
        let count = fillings_below(self.pattern);
        let failure = |index: u64| {
            let (above, below) = (self.upper.rank((index / count) as u32), self.lower.rank((index % count) as u32));
            let spawned = above.0 + below.0 - (a.layer + b.layer);
            let layer = &next.afterstates[spawned as usize - 1];
            layer.failure(layer.row(above) + below.1 as usize)
        };
        let shift = |way| failure_of_shift(self.pattern, a.nibbles | b.nibbles, way, failure);
        encode(SHIFTS.into_iter().filter_map(shift).fold(1.0, f32::min))
    }
}
