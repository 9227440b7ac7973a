//! The same search with its leaves judged in one call: gather the unique leaves, evaluate them, back the values up.
//!
//! Made for evaluators that are dear one by one and cheap by the thousand. Values equal the plain search's to the last bit. What
//! makes it nearly as cheap as the plain search: every position has four edges, illegal moves pointing at a value below all
//! others, and an afterstate is looked up and entered without a branch that depends on whether it was met before.

use std::ops::Range;
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
const FIRST: usize = 2;

/// The moves of one position, by direction index.
type Edges = [u32; 4];

/// The afterstates with as many spawns left to look ahead, and the moves of the positions that those spawns lead to, in the order
/// in which the backup meets them. Layer 0 holds the leaves.
struct Layer<P> {
    /// By index; what lies at and beyond `len` is left from earlier searches.
    afters: Vec<Afterstate<P>>,
    /// Rare spawns left to each of them; of no matter to leaves.
    rare: Vec<u8>,
    len: usize,
    /// The index of the afterstate last met with a hash. It may be out of date: the afterstate itself tells. Where two afterstates
    /// share a slot, one may get a second index, which costs its work but changes no value; slots are at least twice as many.
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
        Self { afters, rare, len: FIRST, slots, edges, rewards, values }
    }
}

impl<P: Position> Layer<P> {
    fn clear(&mut self) {
        self.len = FIRST;
        self.edges.clear();
        self.rewards.clear();
    }

    /// The indices of the afterstates.
    fn indices(&self) -> Range<usize> {
        FIRST..self.len
    }

    /// Makes room for so many more.
    #[inline(always)]
    fn reserve(&mut self, more: usize, filler: Afterstate<P>) {
        if self.len + more >= self.afters.len() {
            self.grow(more, filler);
        }
    }

    #[cold]
    fn grow(&mut self, more: usize, filler: Afterstate<P>) {
        let length = (self.len + more + 1).next_power_of_two().max(256);
        self.afters.resize(length, filler);
        self.rare.resize(length, 0);
        self.slots.clear();
        self.slots.resize(2 * length, 0);
        for index in self.indices() {
            let slot = self.slot(&self.afters[index]);
            self.slots[slot] = index as u32;
        }
    }

    #[inline(always)]
    fn slot(&self, after: &Afterstate<P>) -> usize {
        after.board().key() as usize & (self.slots.len() - 1)
    }

    /// The indices of a position's afterstates, which are added if they are new; [`ILLEGAL`] for those that are not wanted. There
    /// must be room for four. Leaves are all alike in their rare spawns.
    #[inline(always)]
    fn edges<const LEAVES: bool>(&mut self, position: &[Afterstate<P>; 4], rare: u8, wanted: Directions) -> Edges {
        let Self { afters, rare: rares, slots, len, .. } = self;
        let (afters, slots, mut fresh) = (&mut afters[..], &mut slots[..], *len);
        let mask = slots.len() - 1;
        let mut edges = [ILLEGAL; 4];
        for (i, (edge, after)) in edges.iter_mut().zip(position).enumerate() {
            let slot = &mut slots[after.board().key() as usize & mask];
            let met = *slot as usize;
            let is_met = (met < fresh) & (afters[met] == *after) & (LEAVES || rares[met] == rare);
            afters[fresh] = *after;
            if !LEAVES {
                rares[fresh] = rare;
            }
            let is_wanted = wanted.bits() >> i & 1 == 1;
            let index = if is_met { met } else { fresh } as u32;
            *slot = index;
            fresh += usize::from(is_wanted & !is_met);
            *edge = if is_wanted { index } else { ILLEGAL };
        }
        *len = fresh;
        edges
    }
}

/// The layers of the last search, kept for their memory.
pub struct Workspace<P> {
    layers: Vec<Layer<P>>,
    /// What the leaves are worth, by index.
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
        let top = &mut layers[usize::from(horizon.depth)];
        top.reserve(4, slides.after[0]);
        let roots = top.edges::<false>(&slides.after, horizon.rare, slides.legal);
        for depth in (1..=horizon.depth).rev() {
            let (lower, upper) = layers.split_at_mut(usize::from(depth));
            if !self.expand(&kinds, &mut upper[0], depth, lower, &mut counts) {
                let unfinished = Found { values: [None; 4], is_complete: false, nodes: counts.nodes };
                return (unfinished, BatchReport::default());
            }
        }
        let (leaves, scale) = (&layers[0], self.evaluator.scale());
        worth.clear();
        worth.extend([f32::NEG_INFINITY, scale.lost]);
        worth.resize(leaves.len, 0.0);
        self.evaluator.evaluate(&leaves.afters[leaves.indices()], &mut worth[FIRST..]);
        for depth in 1..=horizon.depth {
            let (lower, upper) = layers.split_at_mut(usize::from(depth));
            self.back_up(&kinds, &mut upper[0], depth, lower, worth);
        }
        let top = &layers[usize::from(horizon.depth)].values;
        let value = |reward: u32, index: u32| f64::from(scale.rewards * reward as f32) + top[index as usize];
        let values = slides.iter().map(|(d, slide)| (d, value(slide.reward, roots[d.index()])));
        let report = BatchReport { leaves: (worth.len() - FIRST) as u64, met: counts.met };
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
        let indices = layer.indices();
        let Layer { afters, rare, edges, rewards, .. } = layer;
        for (after, &rare) in afters[indices.clone()].iter().zip(&rare[indices]) {
            let mut cells = after.board().empty_cells();
            let empty = cells.count_ones();
            let late = self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let most = 4 * u64::from(empty) * self.rule.len() as u64;
            if late || stop::is_requested() || counts.nodes + most > self.limits.nodes {
                return false;
            }
            lower.iter_mut().for_each(|layer| layer.reserve(most as usize, *after));
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
        let layer = &mut lower[usize::from(left.depth)];
        if left.depth == 0 {
            counts.met += slides.legal.len() as u64;
            return layer.edges::<true>(&slides.after, 0, slides.legal);
        }
        let followed = self.selection.moves(self.evaluator, slides, self.evaluator.scale().rewards);
        layer.edges::<false>(&slides.after, left.rare, followed)
    }

    /// The values of a layer's afterstates from those of the lower layers, added up in the order of the plain search.
    fn back_up<P: Position>(&self, kinds: &Kinds, layer: &mut Layer<P>, depth: u8, lower: &[Layer<P>], worth: &[f32])
    where
        E: Evaluator<P>,
    {
        let scale = self.evaluator.scale();
        let indices = layer.indices();
        let Layer { afters, rare, edges, rewards, values, .. } = layer;
        let mut position = 0;
        let mut best = |left: Horizon| {
            let (to, below) = (&edges[position], &lower[usize::from(left.depth)].values);
            let leaf = |i: usize| f64::from(worth[to[i] as usize]);
            let inner = |i: usize| below[to[i] as usize];
            let points = |i: usize| f64::from(scale.rewards * rewards[position][i] as f32);
            let best = match (left.depth, scale.rewards == 0.0) {
                (0, true) => best_of(leaf),
                (0, false) => best_of(|i| points(i) + leaf(i)),
                (_, true) => best_of(inner),
                (_, false) => best_of(|i| points(i) + inner(i)),
            };
            position += 1;
            best
        };
        values.clear();
        values.extend([f64::NEG_INFINITY, f64::from(scale.lost)]);
        for (after, &rare) in afters[indices.clone()].iter().zip(&rare[indices]) {
            let (empty, mut sum) = (after.empty_count(), 0.0);
            for _ in 0..empty {
                sum += kinds.average(&self.selection, Horizon { depth, rare }, empty, |_, left| best(left));
            }
            values.push(rounded(sum / f64::from(empty)));
        }
    }
}

/// The greatest of a position's four values.
#[inline(always)]
fn best_of(value: impl Fn(usize) -> f64) -> f64 {
    f64::max(f64::max(value(0), value(1)), f64::max(value(2), value(3)))
}
