//! The recursion: players maximise, spawns average. One pure function of (afterstate, depth, rare spawns left).

use std::marker::PhantomData;
use std::time::Instant;

use afterstate_board::{Afterstate, MAX_SPAWN_KINDS, Position, Slide, Slides, Spawn, SpawnRule};
use afterstate_evaluator::{Evaluator, Scale};

use super::table::{Horizon, Table, rounded};

/// How many slides pass between two looks at the clock.
const CLOCK_EVERY: u64 = 4096;

/// When a search must end.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Slides that may be examined.
    pub nodes: u64,
    /// When to stop.
    pub deadline: Option<Instant>,
}

/// The kinds of spawn, the most likely one apart: the others are rare.
#[derive(Clone, Copy, Debug)]
struct Kinds {
    common: (u8, f64),
    rare: [(u8, f64); MAX_SPAWN_KINDS - 1],
    rare_count: usize,
}

impl Kinds {
    fn of(rule: &SpawnRule) -> Self {
        let most = (0..rule.len()).rev().max_by(|&a, &b| rule.kind(a).1.total_cmp(&rule.kind(b).1)).unwrap_or(0);
        let mut kinds = Self { common: rule.kind(most), rare: [(0, 0.0); MAX_SPAWN_KINDS - 1], rare_count: 0 };
        for k in (0..rule.len()).filter(|&k| k != most) {
            kinds.rare[kinds.rare_count] = rule.kind(k);
            kinds.rare_count += 1;
        }
        kinds
    }
}

/// One thread's search.
pub struct Search<'a, P: Position, E: Evaluator<P>> {
    evaluator: &'a E,
    kinds: Kinds,
    scale: Scale,
    /// `None`: every position is worked out anew.
    table: Option<&'a Table>,
    limits: Limits,
    /// Slides examined, the illegal ones included.
    pub nodes: u64,
    /// Set when a limit is reached: what the search returns from then on means nothing.
    pub stopped: bool,
    /// Slides at which to look at the clock again.
    look_at: u64,
    position: PhantomData<P>,
}

impl<'a, P: Position, E: Evaluator<P>> Search<'a, P, E> {
    pub fn new(evaluator: &'a E, rule: &SpawnRule, table: Option<&'a Table>, limits: Limits) -> Self {
        let (scale, kinds) = (evaluator.scale(), Kinds::of(rule));
        let (nodes, stopped, look_at, position) = (0, false, 0, PhantomData);
        Self { evaluator, kinds, scale, table, limits, nodes, stopped, look_at, position }
    }

    /// What a move is worth: its points, as far as they count, and the expected value of its afterstate.
    #[inline]
    pub fn slide(&mut self, slide: &Slide<P>, horizon: Horizon) -> f64 {
        f64::from(self.scale.rewards * slide.reward as f32) + self.after(&slide.after, horizon)
    }

    /// The expected value of an afterstate.
    #[inline]
    pub fn after(&mut self, after: &Afterstate<P>, horizon: Horizon) -> f64 {
        if horizon.depth == 0 { f64::from(self.evaluator.value(after)) } else { self.inner(after, horizon) }
    }

    fn inner(&mut self, after: &Afterstate<P>, horizon: Horizon) -> f64 {
        let Some(table) = self.table else { return rounded(self.average(after, horizon)) };
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
        let mut cells = after.board().empty_cells();
        let count = f64::from(cells.count_ones());
        let mut sum = 0.0;
        while cells != 0 {
            sum += self.cell(after, cells.trailing_zeros() as u8, horizon);
            cells &= cells - 1;
        }
        sum / count
    }

    /// The mean over the kinds of spawn in one cell. Rare ones that the path may no longer hold count as the common one.
    #[inline]
    pub fn cell(&mut self, after: &Afterstate<P>, cell: u8, horizon: Horizon) -> f64 {
        let Kinds { common, rare, rare_count } = self.kinds;
        let below = Horizon { depth: horizon.depth - 1, rare: horizon.rare };
        let usual = self.best(&after.place(Spawn { cell, exponent: common.0 }), below);
        if horizon.rare == 0 {
            return usual;
        }
        let left = if horizon.rare == Horizon::UNLIMITED { horizon.rare } else { horizon.rare - 1 };
        let below = Horizon { rare: left, ..below };
        rare[..rare_count].iter().fold(common.1 * usual, |sum, &(exponent, probability)| {
            sum + probability * self.best(&after.place(Spawn { cell, exponent }), below)
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
        let mut best = f64::NEG_INFINITY;
        for (_, slide) in slides.iter() {
            best = f64::max(best, self.slide(&slide, horizon));
        }
        best
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
        self.stopped |= late || self.nodes + 4 > self.limits.nodes;
        self.look_at = (self.nodes + CLOCK_EVERY).min(self.limits.nodes.saturating_sub(3)).max(self.nodes + 1);
    }
}
