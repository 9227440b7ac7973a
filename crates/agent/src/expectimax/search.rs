//! The recursion: players maximise, spawns average. One pure function of (afterstate, depth, rare spawns left).

use std::marker::PhantomData;
use std::time::Instant;

use afterstate_board::{Afterstate, Direction, MAX_SPAWN_KINDS, Position, Slide, Slides, Spawn, SpawnRule};
use afterstate_evaluator::{Evaluator, Scale};

use super::table::{Horizon, Table, rounded};
use crate::stop;

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

    /// The mean of `value(exponent, rare spawns left)` over the kinds of spawn in one cell, on a path that may hold `rare` more
    /// rare ones. Those that it may no longer hold count as the common one.
    #[inline(always)]
    pub fn average(&self, rare: u8, mut value: impl FnMut(u8, u8) -> f64) -> f64 {
        let usual = value(self.common.0, rare);
        if rare == 0 {
            return usual;
        }
        let left = if rare == Horizon::UNLIMITED { rare } else { rare - 1 };
        let others = self.rare[..self.rare_count].iter();
        others.fold(self.common.1 * usual, |sum, &(exponent, probability)| sum + probability * value(exponent, left))
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
    fn after(&mut self, after: &Afterstate<P>, horizon: Horizon) -> f64 {
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

    /// The mean over the kinds of spawn in one cell.
    #[inline]
    pub fn cell(&mut self, after: &Afterstate<P>, cell: u8, horizon: Horizon) -> f64 {
        let kinds = self.kinds;
        kinds.average(horizon.rare, |exponent, rare| {
            self.best(&after.place(Spawn { cell, exponent }), Horizon { depth: horizon.depth - 1, rare })
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
        self.stopped |= late || stop::is_requested() || self.nodes + 4 > self.limits.nodes;
        self.look_at = (self.nodes + CLOCK_EVERY).min(self.limits.nodes.saturating_sub(3)).max(self.nodes + 1);
    }
}
