//! The same search with its leaves judged in one call: gather the unique leaves layer by layer, evaluate, back the values up.
//!
//! Made for evaluators that are dear one by one and cheap by the thousand. Values equal the plain search's to the last bit.

use afterstate_board::{Afterstate, Position, Slides, Spawn, SpawnRule};
use afterstate_evaluator::Evaluator;

use super::root::Found;
use super::search::{Kinds, Limits};
use super::table::{Horizon, rounded};
use super::values_of;
use crate::{BatchReport, stop};

/// A move out of some position: its points and the afterstate it leads to, by index in the next layer.
struct Edge {
    reward: u32,
    after: u32,
}

/// The unique afterstates at one distance from the root, and the moves to the next layer.
struct Layer<P> {
    horizon: u8,
    afters: Vec<(Afterstate<P>, u8)>,
    /// Legal moves of each position that a spawn leads to, in the order in which the backup meets them.
    moves: Vec<u8>,
    edges: Vec<Edge>,
}

/// Finds the index of an afterstate seen before: open addressing, at most half full.
struct Seen {
    slots: Vec<(u64, u32)>,
    count: usize,
}

const VACANT: u32 = u32::MAX;

impl Seen {
    fn with_capacity(capacity: usize) -> Self {
        Self { slots: vec![(0, VACANT); (2 * capacity).next_power_of_two().max(64)], count: 0 }
    }

    /// The index under this key, or `fresh` if the key is new.
    #[inline]
    fn index_or(&mut self, key: u64, fresh: u32) -> u32 {
        if 2 * self.count >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = key as usize & mask;
        loop {
            match self.slots[at] {
                (_, VACANT) => {
                    self.slots[at] = (key, fresh);
                    self.count += 1;
                    return fresh;
                }
                (other, index) if other == key => return index,
                _ => at = (at + 1) & mask,
            }
        }
    }

    #[cold]
    fn grow(&mut self) {
        let old = std::mem::replace(self, Self::with_capacity(self.slots.len()));
        for (key, index) in old.slots.into_iter().filter(|slot| slot.1 != VACANT) {
            self.index_or(key, index);
        }
    }
}

/// What stays the same through a gathering.
struct Gathering<'a> {
    kinds: &'a Kinds,
    limits: Limits,
    nodes: u64,
    /// Leaves met, equal ones counted again.
    met: u64,
}

impl Gathering<'_> {
    /// Expands every afterstate of a layer; `None` if a limit is reached.
    fn next<P: Position>(&mut self, layer: &mut Layer<P>) -> Option<Layer<P>> {
        let is_last = layer.horizon == 1;
        let mut next = Layer { horizon: layer.horizon - 1, afters: Vec::new(), moves: Vec::new(), edges: Vec::new() };
        let mut seen = Seen::with_capacity(8 * layer.afters.len());
        for (after, rare) in std::mem::take(&mut layer.afters) {
            let mut cells = after.board().empty_cells();
            layer.afters.push((after, rare));
            while cells != 0 {
                let cell = cells.trailing_zeros() as u8;
                cells &= cells - 1;
                self.kinds.average(rare, |exponent, left| {
                    let slides = after.place(Spawn { cell, exponent }).slides();
                    self.nodes += 4;
                    layer.moves.push(slides.legal.len() as u8);
                    for (_, slide) in slides.iter() {
                        self.met += u64::from(is_last);
                        // What a leaf is worth does not depend on how it was reached.
                        let left = if is_last { 0 } else { left };
                        let key = slide.after.board().key() ^ u64::from(left).wrapping_mul(0xa076_1d64_78bd_642f);
                        let index = seen.index_or(key, next.afters.len() as u32);
                        if index as usize == next.afters.len() {
                            next.afters.push((slide.after, left));
                        }
                        layer.edges.push(Edge { reward: slide.reward, after: index });
                    }
                    0.0
                });
            }
            let late = self.limits.deadline.is_some_and(|deadline| std::time::Instant::now() >= deadline);
            if late || stop::is_requested() || self.nodes > self.limits.nodes {
                return None;
            }
        }
        Some(next)
    }
}

/// Searches to a horizon of at least one spawn.
pub fn search<P: Position, E: Evaluator<P>>(
    evaluator: &E,
    rule: &SpawnRule,
    slides: &Slides<P>,
    horizon: Horizon,
    limits: Limits,
) -> (Found, BatchReport) {
    let kinds = Kinds::of(rule);
    let roots = slides.iter().map(|(_, slide)| (slide.after, horizon.rare)).collect();
    let mut layers = vec![Layer { horizon: horizon.depth, afters: roots, moves: Vec::new(), edges: Vec::new() }];
    let mut gathering = Gathering { kinds: &kinds, limits, nodes: 0, met: 0 };
    let mut leaves = Vec::new();
    while let Some(layer) = layers.last_mut() {
        let Some(next) = gathering.next(layer) else {
            return (Found { values: None, nodes: gathering.nodes }, BatchReport::default());
        };
        if next.horizon == 0 {
            leaves = next.afters.into_iter().map(|(after, _)| after).collect();
            break;
        }
        layers.push(next);
    }
    let mut worth = vec![0.0; leaves.len()];
    evaluator.evaluate(&leaves, &mut worth);
    let report = BatchReport { leaves: leaves.len() as u64, met: gathering.met };

    let scale = evaluator.scale();
    let mut below: Vec<f64> = worth.iter().map(|&value| f64::from(value)).collect();
    for layer in layers.iter().rev() {
        below = back_up(layer, &below, &kinds, scale.rewards, f64::from(scale.lost));
    }
    let values = slides
        .iter()
        .zip(&below)
        .map(|((direction, slide), value)| (direction, f64::from(scale.rewards * slide.reward as f32) + value));
    (Found { values: Some(values_of(values)), nodes: gathering.nodes }, report)
}

/// The values of a layer's afterstates from those of the next, added up in the order of the plain search.
fn back_up<P: Position>(layer: &Layer<P>, below: &[f64], kinds: &Kinds, rewards: f32, lost: f64) -> Vec<f64> {
    let (mut moves, mut edges) = (layer.moves.iter(), layer.edges.iter());
    let mut best = || {
        let count = usize::from(*moves.next().unwrap_or(&0));
        let values = edges.by_ref().take(count).map(|e| f64::from(rewards * e.reward as f32) + below[e.after as usize]);
        values.reduce(f64::max).unwrap_or(lost)
    };
    let value = |&(after, rare): &(Afterstate<P>, u8)| {
        let count = after.board().empty_count();
        let sum: f64 = (0..count).map(|_| kinds.average(rare, |_, _| best())).sum();
        rounded(sum / f64::from(count))
    };
    layer.afters.iter().map(value).collect()
}
