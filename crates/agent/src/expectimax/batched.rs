//! The same search with its leaves judged in one call: gather the unique leaves, evaluate them, back the values up.
//!
//! Made for evaluators that are dear one by one and cheap by the thousand. Values equal the plain search's to the last bit. What
//! makes it nearly as cheap as the plain search: every position has four edges, illegal moves pointing at a value below all
//! others, so that nothing is counted, branched on or hashed a second time on the way back.

use std::time::Instant;

use afterstate_board::{Afterstate, Directions, Position, Slides, Spawn, SpawnRule};
use afterstate_evaluator::Evaluator;

use super::root::Found;
use super::search::{Kinds, Limits, Selection};
use super::table::{Horizon, rounded};
use super::values_of;
use crate::{BatchReport, stop};

/// What an edge leads to: an afterstate of a lower layer by its index, or one of these.
const ILLEGAL: u32 = 0;
const LOST: u32 = 1;
const FIRST: u32 = 2;

/// A slot without an index: no edge is looked up there.
const VACANT: u32 = 0;

/// The moves of one position, by direction index.
type Edges = [u32; 4];

/// The unique afterstates with as many spawns left to look ahead, and the moves of the positions that those spawns lead to, in the
/// order in which the backup meets them. Layer 0 holds the leaves.
struct Layer<P> {
    afters: Vec<Afterstate<P>>,
    /// Rare spawns left to each of them.
    rare: Vec<u8>,
    /// Finds afterstates met before; at most half full.
    slots: Vec<u32>,
    edges: Vec<Edges>,
    /// The points of those moves; left empty if points do not count.
    rewards: Vec<[u32; 4]>,
    /// By index, the two that are no afterstates included.
    values: Vec<f64>,
}

impl<P> Default for Layer<P> {
    fn default() -> Self {
        let (afters, rare, slots, edges, rewards, values) = Default::default();
        Self { afters, rare, slots, edges, rewards, values }
    }
}

impl<P: Position> Layer<P> {
    fn clear(&mut self) {
        self.afters.clear();
        self.rare.clear();
        self.slots.fill(VACANT);
        self.edges.clear();
        self.rewards.clear();
    }

    /// The index of an afterstate, which is added if it is new. Open addressing: a slot holds the index of an afterstate, 0 if it is
    /// vacant, and the afterstate itself tells whether it is the one.
    #[inline(always)]
    fn index(&mut self, after: &Afterstate<P>, rare: u8) -> u32 {
        if 2 * self.afters.len() >= self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = after.board().key() as usize & mask;
        loop {
            let index = self.slots[at];
            if index == VACANT {
                let fresh = self.afters.len() as u32 + FIRST;
                self.slots[at] = fresh;
                self.afters.push(*after);
                self.rare.push(rare);
                return fresh;
            }
            let known = (index - FIRST) as usize;
            if self.afters[known] == *after && self.rare[known] == rare {
                return index;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let length = (2 * self.slots.len()).max(64);
        self.slots.clear();
        self.slots.resize(length, VACANT);
        for (index, after) in (FIRST..).zip(&self.afters) {
            let mut at = after.board().key() as usize & (length - 1);
            while self.slots[at] != VACANT {
                at = (at + 1) & (length - 1);
            }
            self.slots[at] = index;
        }
    }
}

/// The layers of the last search, kept for their memory.
pub struct Workspace<P> {
    layers: Vec<Layer<P>>,
    worth: Vec<f32>,
}

impl<P> Default for Workspace<P> {
    fn default() -> Self {
        Self { layers: Vec::new(), worth: Vec::new() }
    }
}

/// What stays the same through a search.
pub struct Batched<'a, E> {
    pub evaluator: &'a E,
    pub rule: &'a SpawnRule,
    pub selection: Selection,
    pub limits: Limits,
}

/// Counts of a gathering.
#[derive(Default)]
struct Counts {
    nodes: u64,
    /// Leaves met, equal ones counted again.
    met: u64,
}

impl<E> Batched<'_, E> {
    /// Searches to a horizon of at least one spawn.
    pub fn search<P: Position>(
        &self,
        slides: &Slides<P>,
        horizon: Horizon,
        workspace: &mut Workspace<P>,
    ) -> (Found, BatchReport)
    where
        E: Evaluator<P>,
    {
        let Workspace { layers, worth } = workspace;
        layers.resize_with(layers.len().max(usize::from(horizon.depth) + 1), Layer::default);
        layers.iter_mut().for_each(Layer::clear);
        let (kinds, mut counts) = (Kinds::of(self.rule), Counts::default());
        let roots: Vec<u32> = slides
            .iter()
            .map(|(_, slide)| layers[usize::from(horizon.depth)].index(&slide.after, horizon.rare))
            .collect();
        for depth in (1..=horizon.depth).rev() {
            let (lower, upper) = layers.split_at_mut(usize::from(depth));
            if !self.expand(&kinds, &mut upper[0], depth, lower, &mut counts) {
                let unfinished = Found { values: [None; 4], is_complete: false, nodes: counts.nodes };
                return (unfinished, BatchReport::default());
            }
        }
        let leaves = &mut layers[0];
        worth.resize(leaves.afters.len(), 0.0);
        self.evaluator.evaluate(&leaves.afters, worth);
        let scale = self.evaluator.scale();
        let ends = [f64::NEG_INFINITY, f64::from(scale.lost)];
        leaves.values.clear();
        leaves.values.extend(ends.into_iter().chain(worth.iter().map(|&value| f64::from(value))));
        for depth in 1..=horizon.depth {
            let (lower, upper) = layers.split_at_mut(usize::from(depth));
            self.back_up(&kinds, &mut upper[0], depth, lower, ends);
        }
        let top = &layers[usize::from(horizon.depth)].values;
        let value = |reward: u32, index: u32| f64::from(scale.rewards * reward as f32) + top[index as usize];
        let values = slides.iter().zip(&roots).map(|((d, slide), &index)| (d, value(slide.reward, index)));
        let report = BatchReport { leaves: layers[0].afters.len() as u64, met: counts.met };
        (Found { values: values_of(values), is_complete: true, nodes: counts.nodes }, report)
    }

    /// Follows every spawn and move from the afterstates of a layer into the lower ones; false if a limit is reached.
    fn expand<P: Position>(
        &self,
        kinds: &Kinds,
        layer: &mut Layer<P>,
        depth: u8,
        lower: &mut [Layer<P>],
        counts: &mut Counts,
    ) -> bool
    where
        E: Evaluator<P>,
    {
        let scale = self.evaluator.scale();
        let Layer { afters, rare, edges, rewards, .. } = layer;
        for (after, &rare) in afters.iter().zip(rare.iter()) {
            let mut cells = after.board().empty_cells();
            let empty = cells.count_ones();
            let late = self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let most = 4 * u64::from(empty) * self.rule.len() as u64;
            if late || stop::is_requested() || counts.nodes + most > self.limits.nodes {
                return false;
            }
            while cells != 0 {
                let cell = cells.trailing_zeros() as u8;
                cells &= cells - 1;
                kinds.average(&self.selection, Horizon { depth, rare }, empty, |exponent, left| {
                    let slides = after.place(Spawn { cell, exponent }).slides();
                    counts.nodes += 4;
                    edges.push(self.edges(&slides, left, lower, counts));
                    if scale.rewards != 0.0 {
                        rewards.push(slides.reward);
                    }
                    0.0
                });
            }
        }
        true
    }

    /// The edges of one position, into the layer with as many spawns left.
    #[inline(always)]
    fn edges<P: Position>(
        &self,
        slides: &Slides<P>,
        left: Horizon,
        lower: &mut [Layer<P>],
        counts: &mut Counts,
    ) -> Edges
    where
        E: Evaluator<P>,
    {
        if slides.legal.is_empty() {
            return [LOST, ILLEGAL, ILLEGAL, ILLEGAL];
        }
        let is_leaf = left.depth == 0;
        let followed: Directions = if is_leaf {
            counts.met += slides.legal.len() as u64;
            slides.legal
        } else {
            self.selection.moves(self.evaluator, slides, self.evaluator.scale().rewards)
        };
        // What a leaf is worth does not depend on how it was reached.
        let rare = if is_leaf { 0 } else { left.rare };
        let layer = &mut lower[usize::from(left.depth)];
        let mut edges = [ILLEGAL; 4];
        for direction in followed.iter() {
            edges[direction.index()] = layer.index(&slides.after[direction.index()], rare);
        }
        edges
    }

    /// The values of a layer's afterstates from those of the lower layers, added up in the order of the plain search.
    fn back_up<P: Position>(&self, kinds: &Kinds, layer: &mut Layer<P>, depth: u8, lower: &[Layer<P>], ends: [f64; 2])
    where
        E: Evaluator<P>,
    {
        let factor = self.evaluator.scale().rewards;
        let Layer { afters, rare, edges, rewards, values, .. } = layer;
        let mut position = 0;
        let mut best = |left: Horizon| {
            let (below, to) = (&lower[usize::from(left.depth)].values, &edges[position]);
            let value = |i: usize| below[to[i] as usize];
            let points = |i: usize| f64::from(factor * rewards[position][i] as f32) + value(i);
            let best = if factor == 0.0 {
                f64::max(f64::max(value(0), value(1)), f64::max(value(2), value(3)))
            } else {
                f64::max(f64::max(points(0), points(1)), f64::max(points(2), points(3)))
            };
            position += 1;
            best
        };
        values.clear();
        values.extend(ends);
        for (after, &rare) in afters.iter().zip(rare.iter()) {
            let (empty, mut sum) = (after.empty_count(), 0.0);
            for _ in 0..empty {
                sum += kinds.average(&self.selection, Horizon { depth, rare }, empty, |_, left| best(left));
            }
            values.push(rounded(sum / f64::from(empty)));
        }
    }
}
