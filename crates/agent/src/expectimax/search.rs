//! The recursion: players maximise, spawns average. One pure function of (afterstate, depth, rare spawns left).

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use afterstate_board::{Afterstate, Direction, Directions, MAX_SPAWN_KINDS, Position, Slide, Slides, Spawn, SpawnRule};
use afterstate_evaluator::{Evaluator, Scale};

use super::table::{Horizon, View, rounded};
use crate::stop;

/// How many slides pass between two looks at the clock.
const CLOCK_EVERY: u64 = 4096;

/// Bits of a set of cells.
const MOST_CELLS: usize = 32;

/// When a search must end.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Slides that may be examined.
    pub nodes: u64,
    /// When to stop.
    pub deadline: Option<Instant>,
}

/// What a search leaves out. As much a part of a value as the evaluator, so it never changes while a table lives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Selection {
    /// A move is followed only if the evaluator puts its afterstate less than this below that of the best move.
    pub margin: f32,
    /// Rare spawns count only where at most so many cells are empty: where there is room, a 4 is as good as a 2.
    pub room: u32,
    /// A rare spawn shortens what is left of its path by so much: its value weighs little, so it need not be known as well.
    pub rare_cost: u8,
}

impl Selection {
    /// Nothing is left out.
    pub const EVERYTHING: Self = Self { margin: f32::INFINITY, room: u32::MAX, rare_cost: 0 };

    /// The spawns left to look ahead once this one has appeared, out of those before it.
    #[inline(always)]
    pub fn below(&self, depth: u8, is_rare: bool) -> u8 {
        if is_rare { (depth - 1).saturating_sub(self.rare_cost) } else { depth - 1 }
    }

    /// The moves of an inner position that are worth following, as a set of direction indices.
    #[inline(always)]
    pub fn moves<P: Position, E: Evaluator<P>>(&self, evaluator: &E, slides: &Slides<P>, rewards: f32) -> Directions {
        if self.margin == f32::INFINITY || slides.legal.len() < 2 {
            return slides.legal;
        }
        let worth = evaluator.slide_values(slides);
        let value = |i: usize| rewards * slides.reward[i] as f32 + worth[i];
        let legal = |i: usize| if slides.legal.bits() >> i & 1 == 1 { value(i) } else { f32::NEG_INFINITY };
        let values = [legal(0), legal(1), legal(2), legal(3)];
        let least = f32::max(f32::max(values[0], values[1]), f32::max(values[2], values[3])) - self.margin;
        let bits = (0..4).fold(0, |set, i| set | u8::from(values[i] >= least) << i);
        Directions::from_bits(bits & slides.legal.bits())
    }
}

/// The kinds of spawn, the most likely one apart: the others are rare.
#[derive(Clone, Copy, Debug)]
pub struct Kinds {
    common: (u8, f64),
    rare: [(u8, f64); MAX_SPAWN_KINDS - 1],
    rare_count: usize,
}

impl Kinds {
    pub fn of(rule: &SpawnRule) -> Self {
        let most = (0..rule.len()).rev().max_by(|&a, &b| rule.kind(a).1.total_cmp(&rule.kind(b).1)).unwrap_or(0);
        let mut kinds = Self { common: rule.kind(most), rare: [(0, 0.0); MAX_SPAWN_KINDS - 1], rare_count: 0 };
        for k in (0..rule.len()).filter(|&k| k != most) {
            kinds.rare[kinds.rare_count] = rule.kind(k);
            kinds.rare_count += 1;
        }
        kinds
    }

    /// The mean of `value(exponent, what is left to look ahead)` over the kinds of spawn in one of `empty` cells. Rare kinds that
    /// the path may no longer hold, or that make no difference here, count as the common one.
    #[inline(always)]
    pub fn average(
        &self,
        selection: &Selection,
        horizon: Horizon,
        empty: u32,
        mut value: impl FnMut(u8, Horizon) -> f64,
    ) -> f64 {
        let usual = value(self.common.0, Horizon { depth: selection.below(horizon.depth, false), rare: horizon.rare });
        if horizon.rare == 0 || empty > selection.room {
            return usual;
        }
        let rare = if horizon.rare == Horizon::UNLIMITED { horizon.rare } else { horizon.rare - 1 };
        let left = Horizon { depth: selection.below(horizon.depth, true), rare };
        let others = self.rare[..self.rare_count].iter();
        others.fold(self.common.1 * usual, |sum, &(exponent, probability)| sum + probability * value(exponent, left))
    }
}

/// One thread's search.
pub struct Search<'a, P: Position, E: Evaluator<P>> {
    evaluator: &'a E,
    kinds: Kinds,
    selection: Selection,
    scale: Scale,
    /// `None`: every position is worked out anew.
    tables: Option<View<'a>>,
    limits: Limits,
    /// Slides examined, the illegal ones included.
    pub nodes: u64,
    /// Set when a limit is reached: what the search returns from then on means nothing.
    pub stopped: bool,
    /// Slides at which to look at the clock again.
    look_at: u64,
    order: Order,
    /// Raised when somebody else has found what this search looks for.
    found: Option<&'a AtomicBool>,
    position: PhantomData<P>,
}

/// Which of the spawns and moves of a position come first. It changes no value: two searches of the same positions that share a table and
/// go opposite ways meet in the middle, at every level of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Forward,
    Backward,
}

impl<'a, P: Position, E: Evaluator<P>> Search<'a, P, E> {
    pub fn new(
        evaluator: &'a E,
        rule: &SpawnRule,
        selection: Selection,
        tables: Option<View<'a>>,
        limits: Limits,
    ) -> Self {
        let (scale, kinds) = (evaluator.scale(), Kinds::of(rule));
        Self {
            evaluator,
            kinds,
            selection,
            scale,
            tables,
            limits,
            nodes: 0,
            stopped: false,
            look_at: 0,
            order: Order::Forward,
            found: None,
            position: PhantomData,
        }
    }

    /// The same search, going through spawns and moves in the given order.
    pub fn in_order(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// What `look_for` finds, unless the flag is raised first.
    pub fn unless<R>(&mut self, found: &'a AtomicBool, look_for: impl FnOnce(&mut Self) -> R) -> Option<R> {
        self.found = Some(found);
        self.look_at = self.nodes;
        let result = look_for(self);
        self.found = None;
        let given_up = self.stopped;
        // A limit that was reached is reached again at the next look.
        (self.stopped, self.look_at) = (false, self.nodes);
        (!given_up).then_some(result)
    }

    /// What a move is worth: its points, as far as they count, and the expected value of its afterstate.
    #[inline]
    pub fn slide(&mut self, slide: &Slide<P>, horizon: Horizon) -> f64 {
        f64::from(self.scale.rewards * slide.reward as f32) + self.after(&slide.after, horizon)
    }

    /// The expected value of an afterstate.
    #[inline]
    fn after(&mut self, after: &Afterstate<P>, horizon: Horizon) -> f64 {
        if horizon.depth == 0 { f64::from(self.evaluator.value(after)) } else { self.inner(after, horizon) }
    }

    fn inner(&mut self, after: &Afterstate<P>, horizon: Horizon) -> f64 {
        let Some(tables) = &self.tables else { return rounded(self.average(after, horizon)) };
        let table = tables.table(horizon.depth);
        let key = after.board().key();
        if let Some(value) = table.get(key, horizon) {
            return value;
        }
        let before = self.nodes;
        let value = rounded(self.average(after, horizon));
        if !self.stopped {
            table.put(key, horizon, value, self.nodes - before);
        }
        value
    }

    /// The mean over all spawns.
    fn average(&mut self, after: &Afterstate<P>, horizon: Horizon) -> f64 {
        if self.order == Order::Backward {
            return self.average_backward(after, horizon);
        }
        let mut cells = after.board().empty_cells();
        let count = cells.count_ones();
        let mut sum = 0.0;
        while cells != 0 {
            sum += self.cell(after, cells.trailing_zeros() as u8, count, horizon);
            cells &= cells - 1;
        }
        sum / f64::from(count)
    }

    /// The same, the last cell first; added up from the first on, so that not even the last digit differs.
    #[inline(never)]
    fn average_backward(&mut self, after: &Afterstate<P>, horizon: Horizon) -> f64 {
        let cells = after.board().empty_cells();
        let (count, mut values, mut left) = (cells.count_ones(), [0.0; MOST_CELLS], cells);
        while left != 0 {
            let cell = left.ilog2();
            values[left.count_ones() as usize - 1] = self.cell(after, cell as u8, count, horizon);
            left ^= 1 << cell;
        }
        values[..count as usize].iter().fold(0.0, |sum, value| sum + value) / f64::from(count)
    }

    /// The mean over the kinds of spawn in one of the `empty` cells.
    #[inline]
    pub fn cell(&mut self, after: &Afterstate<P>, cell: u8, empty: u32, horizon: Horizon) -> f64 {
        let (kinds, selection) = (self.kinds, self.selection);
        kinds.average(&selection, horizon, empty, |exponent, left| {
            self.best(&after.place(Spawn { cell, exponent }), left)
        })
    }

    /// The value of a position: of its best move.
    #[inline]
    fn best(&mut self, position: &P, horizon: Horizon) -> f64 {
        if self.is_stopped() {
            return 0.0;
        }
        self.nodes += 4;
        let slides = position.slides();
        if slides.legal.is_empty() {
            return f64::from(self.scale.lost);
        }
        if horizon.depth == 0 {
            return self.best_leaf(&slides);
        }
        let followed = self.selection.moves(self.evaluator, &slides, self.scale.rewards);
        let flip = if self.order == Order::Backward { 3 } else { 0 };
        let mut best = f64::NEG_INFINITY;
        for direction in (0..4).map(|i| Direction::from_index(i ^ flip)).filter(|&d| followed.contains(d)) {
            best = f64::max(best, self.slide(&slides.of(direction), horizon));
        }
        best
    }

    /// The expected line from a position after `direction`: of the usual spawns the one whose value is nearest to the mean, then
    /// the best answer, down to the horizon.
    pub fn line(&mut self, position: &P, direction: Direction, horizon: Horizon) -> Vec<(Direction, Option<Spawn>)> {
        let mut line = vec![(direction, None)];
        let Some(slide) = position.slide(direction).filter(|_| horizon.depth > 0) else { return line };
        let below = Horizon { depth: horizon.depth - 1, rare: horizon.rare };
        let mean = self.after(&slide.after, horizon);
        let spawn = |cell: usize| Spawn { cell: cell as u8, exponent: self.kinds.common.0 };
        let spawns: Vec<Spawn> =
            (0..P::CELLS).filter(|cell| slide.after.board().empty_cells() >> cell & 1 == 1).map(spawn).collect();
        let mut distance = |spawn: &Spawn| (self.best(&slide.after.place(*spawn), below) - mean).abs();
        let distances: Vec<f64> = spawns.iter().map(&mut distance).collect();
        let nearest = (0..spawns.len()).min_by(|&a, &b| distances[a].total_cmp(&distances[b]));
        let Some(spawn) = nearest.map(|i| spawns[i]) else { return line };
        line[0].1 = Some(spawn);
        let next = slide.after.place(spawn);
        let slides = next.slides();
        let values = slides.iter().map(|(d, slide)| (d, self.slide(&slide, below)));
        if let Some((answer, _)) = values.reduce(|best, other| if other.1 > best.1 { other } else { best }) {
            line.extend(self.line(&next, answer, below));
        }
        line
    }

    /// The best move at the horizon: the evaluator judges all afterstates at once.
    #[inline(always)]
    fn best_leaf(&self, slides: &Slides<P>) -> f64 {
        let worth = self.evaluator.slide_values(slides);
        let value = |i: usize| f64::from(self.scale.rewards * slides.reward[i] as f32) + f64::from(worth[i]);
        let legal = |i: usize| if slides.legal.bits() >> i & 1 == 1 { value(i) } else { f64::NEG_INFINITY };
        f64::max(f64::max(legal(0), legal(1)), f64::max(legal(2), legal(3)))
    }

    #[inline]
    fn is_stopped(&mut self) -> bool {
        if self.nodes >= self.look_at {
            self.look();
        }
        self.stopped
    }

    /// Looks at the limits and says when to look again.
    #[cold]
    fn look(&mut self) {
        let late = self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let found = self.found.is_some_and(|found| found.load(Ordering::Relaxed));
        self.stopped |= late || found || stop::is_requested() || self.nodes + 4 > self.limits.nodes;
        self.look_at = (self.nodes + CLOCK_EVERY).min(self.limits.nodes.saturating_sub(3)).max(self.nodes + 1);
    }
}
