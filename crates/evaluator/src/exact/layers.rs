//! Solving by layers of equal tile sum: a move keeps the sum and a spawn raises it, so a layer is listed from the layers below it and
//! valued from those above it.
//!
//! Everything is in order of the packed keys and independent of the number of threads.

use std::collections::BTreeMap;

use super::packed::{Shape, exponent, tile_sum};
use super::{Goal, Problem};

/// The rules of one problem on packed boards.
#[derive(Clone, Debug)]
pub struct Rules {
    problem: Problem,
    shape: Shape,
    threads: usize,
}

/// One way a game begins: the canonical board and its probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Start {
    pub key: u64,
    pub probability: f64,
    pub won: bool,
}

/// Joins lists into one without repetitions, in order.
fn union(lists: Vec<Vec<u64>>) -> Vec<u64> {
    let mut lists = lists.into_iter();
    let mut all = lists.next().unwrap_or_default();
    let mut joined = false;
    for list in lists {
        all.extend(list);
        joined = true;
    }
    if joined {
        // The stable sort finds and merges the parts, which are in order already.
        all.sort();
        all.dedup();
    }
    all
}

fn sorted(mut keys: Vec<u64>) -> Vec<u64> {
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Fewer boards than this are not worth a thread.
const FEW: usize = 2_000;

impl Rules {
    /// Works on so many threads.
    pub fn new(problem: Problem, threads: usize) -> Self {
        Self { shape: Shape::new(&problem), problem, threads: threads.max(1) }
    }

    /// What is solved.
    pub const fn problem(&self) -> &Problem {
        &self.problem
    }

    pub(super) const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Cuts a list into pieces, one for each thread, and gathers what becomes of them, in order.
    fn in_pieces<T: Send>(&self, keys: &[u64], work: impl Fn(&[u64]) -> T + Sync) -> Vec<T> {
        let pieces = self.threads.min(keys.len() / FEW).max(1);
        let mut pieces = keys.chunks(keys.len().div_ceil(pieces).max(1));
        let first = pieces.next().unwrap_or_default();
        std::thread::scope(|scope| {
            let work = &work;
            let others: Vec<_> = pieces.map(|piece| scope.spawn(move || work(piece))).collect();
            let mut done = vec![work(first)];
            done.extend(
                others.into_iter().map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
            );
            done
        })
    }

    /// Does the board hold the tile that the goal asks for?
    #[inline]
    pub(super) fn is_won(&self, key: u64) -> bool {
        let wanted = self.problem.winning_exponent();
        wanted < 16 && (0..self.shape.cells()).any(|cell| exponent(key, cell) >= wanted)
    }

    /// The afterstates of a layer's moves, canonical; those that reach the goal are left out.
    fn afterstates(&self, keys: &[u64]) -> Vec<u64> {
        let of_piece = |keys: &[u64]| {
            let mut found = Vec::with_capacity(4 * keys.len());
            for &key in keys {
                let slides = self.shape.slides(key).into_iter().map(|(after, _)| after);
                found.extend(
                    slides.filter(|&after| after != key && !self.is_won(after)).map(|a| self.shape.canonical(a)),
                );
            }
            sorted(found)
        };
        union(self.in_pieces(keys, of_piece))
    }

    /// The boards that a spawn of this exponent makes of afterstates, canonical.
    fn spawned(&self, afterstates: &[u64], spawn: u8) -> Vec<u64> {
        if spawn >= self.problem.winning_exponent() {
            return Vec::new();
        }
        let of_piece = |afterstates: &[u64]| {
            let mut found = Vec::with_capacity(4 * afterstates.len());
            for &after in afterstates {
                let empty = (0..self.shape.cells()).filter(|&cell| exponent(after, cell) == 0);
                found.extend(empty.map(|cell| self.shape.canonical(after | u64::from(spawn) << (4 * cell))));
            }
            sorted(found)
        };
        union(self.in_pieces(afterstates, of_piece))
    }

    /// How a game begins: every pair of tiles, equal ones together.
    pub(super) fn starts(&self) -> Vec<Start> {
        let mut starts: BTreeMap<u64, f64> = BTreeMap::new();
        let cells = self.shape.cells();
        let cell_pair = 1.0 / (cells * (cells - 1)) as f64;
        for (one, two) in (0..cells).flat_map(|one| (0..cells).map(move |two| (one, two))).filter(|(a, b)| a != b) {
            for (first, p) in self.problem.rule().kinds() {
                for (second, q) in self.problem.rule().kinds() {
                    let board = u64::from(first) << (4 * one) | u64::from(second) << (4 * two);
                    *starts.entry(self.shape.canonical(board)).or_default() += p * q * cell_pair;
                }
            }
        }
        let start = |(key, probability)| Start { key, probability, won: self.is_won(key) };
        starts.into_iter().map(start).collect()
    }
}

/// Lists the positions of a game, layer by layer upwards.
pub struct Climb<'r> {
    rules: &'r Rules,
    starts: BTreeMap<u32, Vec<u64>>,
    /// The afterstates of the layers that later ones are made of.
    after: BTreeMap<u32, Vec<u64>>,
    next: u32,
}

impl<'r> Climb<'r> {
    /// From the first layer.
    pub fn new(rules: &'r Rules) -> Self {
        let mut starts: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for start in rules.starts().into_iter().filter(|start| !start.won) {
            starts.entry(tile_sum(start.key)).or_default().push(start.key);
        }
        Self { rules, starts, after: BTreeMap::new(), next: 2 }
    }

    /// How far below a layer the layers lie that it is made of.
    fn reach(&self) -> u32 {
        1 << self.rules.problem.largest_spawn()
    }

    /// The layers that must be given to [`Climb::skip`] again to go on above a layer: those of this sum and above.
    pub fn needs_from(&self, last: u32) -> u32 {
        (last + 2).saturating_sub(self.reach())
    }

    /// Goes on above a layer that is known already.
    pub fn skip(&mut self, sum: u32, keys: &[u64]) {
        self.after.insert(sum, self.rules.afterstates(keys));
        self.next = sum + 2;
    }

    /// The next layer that is not empty: its tile sum and its positions, in order. None if there are no more.
    pub fn climb(&mut self) -> Option<(u32, Vec<u64>)> {
        loop {
            let sum = self.next;
            self.after = self.after.split_off(&sum.saturating_sub(self.reach()));
            if self.after.is_empty() && self.starts.range(sum..).next().is_none() {
                return None;
            }
            let kinds = self.rules.problem.rule().kinds();
            let below = kinds.filter_map(|(spawn, _)| Some((self.after.get(&sum.checked_sub(1 << spawn)?)?, spawn)));
            let mut parts: Vec<_> = below.map(|(after, spawn)| self.rules.spawned(after, spawn)).collect();
            parts.extend(self.starts.get(&sum).cloned());
            let keys = union(parts);
            self.next = sum + 2;
            if !keys.is_empty() {
                self.skip(sum, &keys);
                return Some((sum, keys));
            }
        }
    }
}

/// Positions or afterstates of one layer with their values.
struct Valued {
    keys: Vec<u64>,
    values: Vec<f64>,
}

impl Valued {
    /// Panics if the board is not in the layer: a layer below was not listed from the same rules.
    fn value(&self, key: u64) -> f64 {
        let at = self.keys.binary_search(&key);
        self.values[at.unwrap_or_else(|_| panic!("board {key:x} is missing in its layer"))]
    }
}

/// Values the positions of a game, layer by layer downwards.
pub struct Descent<'r> {
    rules: &'r Rules,
    above: BTreeMap<u32, Valued>,
}

impl<'r> Descent<'r> {
    /// From the last layer.
    pub const fn new(rules: &'r Rules) -> Self {
        Self { rules, above: BTreeMap::new() }
    }

    /// How far above a layer the layers lie whose values it needs.
    pub fn reach(&self) -> u32 {
        1 << self.rules.problem.largest_spawn()
    }

    /// Goes on below a layer that is valued already.
    pub fn skip(&mut self, sum: u32, keys: Vec<u64>, values: Vec<f64>) {
        self.above.insert(sum, Valued { keys, values });
        let _out_of_reach = self.above.split_off(&(sum + self.reach()));
    }

    /// The values of a layer's positions, in order. The layers above must have been valued or skipped before.
    pub fn descend(&mut self, sum: u32, keys: Vec<u64>) -> &[f64] {
        let after = self.rules.afterstates(&keys);
        let values = self.rules.in_pieces(&after, |piece| self.afterstate_values(sum, piece)).concat();
        let after = Valued { keys: after, values };
        let values = self.rules.in_pieces(&keys, |piece| self.position_values(piece, &after)).concat();
        self.skip(sum, keys, values);
        &self.above[&sum].values
    }

    fn afterstate_values(&self, sum: u32, afterstates: &[u64]) -> Vec<f64> {
        let won = self.rules.problem.winning_exponent();
        let kinds: Vec<_> = self.rules.problem.rule().kinds().collect();
        let layers: Vec<_> = kinds.iter().map(|(spawn, _)| self.above.get(&(sum + (1 << spawn)))).collect();
        let value = |&after: &u64| {
            let (mut total, mut empty) = (0.0, 0);
            for cell in (0..self.rules.shape.cells()).filter(|&cell| exponent(after, cell) == 0) {
                empty += 1;
                for (&(spawn, p), layer) in kinds.iter().zip(&layers) {
                    let place = || self.rules.shape.canonical(after | u64::from(spawn) << (4 * cell));
                    total += p * if spawn >= won { 1.0 } else { layer.map_or(0.0, |layer| layer.value(place())) };
                }
            }
            total / f64::from(empty)
        };
        afterstates.iter().map(value).collect()
    }

    fn position_values(&self, keys: &[u64], after: &Valued) -> Vec<f64> {
        let points = if self.rules.problem.goal() == Goal::Score { 1.0 } else { 0.0 };
        let value = |&key: &u64| {
            let moves = self.rules.shape.slides(key).into_iter().filter(|&(slid, _)| slid != key);
            let worth = moves.map(|(slid, reward)| match self.rules.is_won(slid) {
                true => 1.0,
                false => points * f64::from(reward) + after.value(self.rules.shape.canonical(slid)),
            });
            worth.fold(0.0, f64::max)
        };
        keys.iter().map(value).collect()
    }
}
