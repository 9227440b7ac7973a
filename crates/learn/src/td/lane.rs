//! The inner loop of temporal-difference learning: one game that plays greedily and corrects the values of where it has been.
//!
//! A worker advances several such games in turn. Each [`Lane::prepare`] asks for all memory that the next [`Lane::decide`] will
//! read, so that the wait for it is spent on the other games.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use afterstate_board::{Afterstate, Position, Rng, Slides, SpawnRule};
use afterstate_evaluator::ntuple::{self, Downgrade, Layout, UNIT, prefetch};
use afterstate_evaluator::tables;

use super::own::{Own, is_own};

/// The numbers under training, shared by all workers without locks: two corrections of one weight at the same moment may lose one
/// of them, which learning does not notice.
#[derive(Clone, Copy)]
pub(super) struct Tables<'w> {
    layout: &'w Layout,
    weights: &'w [AtomicU32],
    /// For each weight the sum of its errors and the sum of their sizes.
    coherence: &'w [[AtomicU32; 2]],
    downgrade: Downgrade,
    /// Which weights a thread has to itself ([`is_own`]) ...
    large_bits: u32,
    /// ... and how far behind those that all share; 0: none.
    own: u32,
}

/// How values are corrected.
#[derive(Clone, Copy)]
pub(super) struct Rule<'a> {
    pub spawns: SpawnRule,
    /// The step along the error, shared out among the weights of a board.
    pub step: f32,
    /// Does each weight have a rate of its own (temporal coherence)?
    pub coherent: bool,
    pub lambda: f32,
    /// How many later errors count towards a correction.
    pub horizon: usize,
    /// Points of a merge that makes the tile from which other games may restart.
    pub late: u32,
    /// Endgame tables whose moves are played where they know a way.
    pub guide: Option<&'a Guide>,
}

/// Endgame tables, and how often their way must succeed to be taken.
pub(super) struct Guide {
    pub tables: Arc<tables::Tables>,
    pub least: [f32; 2],
}

impl Guide {
    /// How often each move misses what the tables aim at; all alike where they know no way.
    fn failures<P: Position>(&self, board: &P, slides: &Slides<P>) -> [f32; 4] {
        self.tables.advice(board, slides, self.least).map_or([0.0; 4], |advice| advice.failures)
    }
}

/// How a training game went, whatever its board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Played {
    pub score: u64,
    pub moves: u32,
    /// Exponent of the largest tile.
    pub largest: u8,
    /// It began where another game had come to.
    pub restarted: bool,
}

/// How a training game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome<P> {
    pub game: u64,
    pub played: Played,
    /// The board when it first reached the tile for restarts.
    pub late: Option<P>,
}

#[inline(always)]
fn load(word: &AtomicU32) -> f32 {
    f32::from_bits(word.load(Relaxed))
}

#[inline(always)]
fn store(word: &AtomicU32, value: f32) {
    word.store(value.to_bits(), Relaxed);
}

impl<'w> Tables<'w> {
    /// A layout with at least as many weights, and as many pairs of sums, as it counts.
    pub fn new(
        layout: &'w Layout,
        weights: &'w [AtomicU32],
        coherence: &'w [[AtomicU32; 2]],
        downgrade: Downgrade,
    ) -> Self {
        assert!(weights.len() >= layout.weights() && coherence.len() >= layout.weights(), "too few weights");
        Self { layout, weights, coherence, downgrade, large_bits: 0, own: 0 }
    }

    /// The same with a thread's own weights of small tiles.
    pub fn with_own(self, own: &Own, thread: usize) -> Self {
        let most = own.weights();
        let is_there = self.weights.len() >= most && self.coherence.len() >= most;
        assert!(is_there && own.suits(self.layout), "too few weights");
        Self { large_bits: own.large_bits, own: own.offset(thread), ..self }
    }

    /// All numbers: what everyone shares, and behind it what is each thread's own.
    pub const fn numbers(&self) -> (&'w [AtomicU32], &'w [[AtomicU32; 2]]) {
        (self.weights, self.coherence)
    }

    /// What a board looks up.
    #[inline(always)]
    fn indices<P: Position>(&self, board: &P, indices: &mut [u32]) {
        self.layout.indices(&self.downgrade.view(board), indices);
        if self.own != 0 {
            for index in indices.iter_mut() {
                *index += if is_own(*index, self.large_bits) { self.own } else { 0 };
            }
        }
        indices.iter().for_each(|&index| prefetch(self.weights, index as usize));
    }

    pub const fn layout(&self) -> &'w Layout {
        self.layout
    }

    /// The value of a board, given what [`Tables::indices`] found for it.
    #[inline(always)]
    fn value(&self, indices: &[u32]) -> f32 {
        // SAFETY: a layout looks up only weights that it counts, and there are as many (see `new`), also behind them (`with_own`).
        unsafe { ntuple::sum_unchecked(self.weights, indices) }
    }

    /// Moves a board's value along its error.
    #[inline(always)]
    fn correct(&self, indices: &[u32], error: f32, rule: &Rule<'_>, dither: f32) {
        let change = error * rule.step / UNIT;
        if !rule.coherent {
            let change = whole(change + dither);
            for &index in indices {
                // SAFETY: as for `value`.
                let weight = unsafe { self.weights.get_unchecked(index as usize) };
                weight.store(weight.load(Relaxed).wrapping_add(change), Relaxed);
            }
            return;
        }
        for &index in indices {
            let index = index as usize;
            // SAFETY: as for `value`.
            let ([sum, size], weight) =
                unsafe { (self.coherence.get_unchecked(index), self.weights.get_unchecked(index)) };
            let (old_sum, old_size) = (load(sum), load(size));
            // Errors that agree in sign keep the full step; errors that cancel out mean noise.
            let rate = if old_size == 0.0 { 1.0 } else { old_sum.abs() / old_size };
            weight.store(weight.load(Relaxed).wrapping_add(whole(change * rate + dither)), Relaxed);
            store(sum, old_sum + error);
            store(size, old_size + error.abs());
        }
    }
}

/// The nearest whole number, as the bits of a weight: adding 1.5 * 2^52 leaves it in the low bits of the sum. A cast would look
/// for overflow first, at several times the cost.
#[inline(always)]
fn whole(change: f32) -> u32 {
    (f64::from(change) + 6_755_399_441_055_744.0).to_bits() as u32
}

/// Numbers from -1/2 to 1/2, one for each correction: rounded after such a number is added, changes of less than a unit still
/// happen, as often as they should. A plain congruential sequence is random enough for that.
struct Dither(u64);

impl Dither {
    #[inline(always)]
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 40) as f32 * (1.0 / (1 << 24) as f32) - 0.5
    }
}

/// An afterstate whose value waits to be corrected.
struct Trace {
    indices: Vec<u32>,
    error: f32,
}

/// Where a game begins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Beginning<P> {
    /// With two random tiles.
    Usual,
    /// At a position that all games of the run may begin at.
    Given(P),
    /// Where another game had come to.
    Late(P),
}

/// One game in progress.
pub(super) struct Lane<P: Position> {
    game: u64,
    rng: Rng,
    dither: Dither,
    board: P,
    slides: Slides<P>,
    /// What the afterstate of each direction looks up.
    indices: [Vec<u32>; 4],
    /// Afterstates not yet corrected, the oldest at `oldest`, in a ring of `horizon` slots.
    traces: Vec<Trace>,
    oldest: usize,
    waiting: usize,
    score: u64,
    moves: u32,
    restarted: bool,
    late: Option<P>,
}

impl<P: Position> Lane<P> {
    pub fn new(layout: &Layout, rule: &Rule<'_>) -> Self {
        let blank = || vec![0; layout.features()];
        let empty = P::empty();
        Self {
            game: 0,
            rng: Rng::new(0),
            dither: Dither(0),
            board: empty,
            slides: empty.slides(),
            indices: std::array::from_fn(|_| blank()),
            traces: (0..rule.horizon).map(|_| Trace { indices: blank(), error: 0.0 }).collect(),
            oldest: 0,
            waiting: 0,
            score: 0,
            moves: 0,
            restarted: false,
            late: None,
        }
    }

    /// Starts another game.
    pub fn begin(&mut self, game: u64, start: Beginning<P>, mut rng: Rng, rule: &Rule<'_>) {
        self.board = match start {
            Beginning::Usual => P::start(&rule.spawns, &mut rng),
            Beginning::Given(board) | Beginning::Late(board) => board,
        };
        (self.restarted, self.late, self.dither) = (matches!(start, Beginning::Late(_)), None, Dither(game));
        (self.game, self.rng, self.score, self.moves) = (game, rng, 0, 0);
        (self.oldest, self.waiting) = (0, 0);
    }

    /// Finds out what the next decision will read, and asks for it.
    #[inline(always)]
    pub fn prepare(&mut self, tables: &Tables<'_>) {
        self.slides = self.board.slides();
        for direction in self.slides.legal.iter() {
            let indices = &mut self.indices[direction.index()];
            tables.indices(self.slides.after[direction.index()].board(), indices);
        }
    }

    /// Plays the best move and learns from it; the outcome if the game is over.
    #[inline(always)]
    pub fn decide(&mut self, tables: &Tables<'_>, rule: &Rule<'_>) -> Option<Outcome<P>> {
        let failures = rule.guide.map_or([0.0; 4], |guide| guide.failures(&self.board, &self.slides));
        let mut best: Option<(usize, f32)> = None;
        for direction in self.slides.legal.iter().map(|direction| direction.index()) {
            let worth = self.slides.reward[direction] as f32 + tables.value(&self.indices[direction]);
            let is_better = |(other, most): (usize, f32)| {
                failures[direction] < failures[other] || (failures[direction] == failures[other] && worth > most)
            };
            if best.is_none_or(is_better) {
                best = Some((direction, worth));
            }
        }
        let Some((direction, worth)) = best else {
            self.hear(tables, rule, 0.0);
            while self.waiting > 0 {
                self.settle(tables, rule);
            }
            let (score, moves, restarted) = (self.score, self.moves, self.restarted);
            let played = Played { score, moves, largest: self.board.max_exponent(), restarted };
            return Some(Outcome { game: self.game, played, late: self.late });
        };
        self.hear(tables, rule, worth);
        if self.waiting == rule.horizon {
            self.settle(tables, rule);
        }
        self.remember(tables, rule, direction);
        self.score += u64::from(self.slides.reward[direction]);
        self.moves += 1;
        let after: Afterstate<P> = self.slides.after[direction];
        self.board = after.sample(&rule.spawns, &mut self.rng);
        if self.slides.reward[direction] >= rule.late && self.late.is_none() && !self.restarted {
            self.late = Some(self.board);
        }
        None
    }

    fn slot(&self, age: usize) -> usize {
        let slot = self.oldest + self.waiting - 1 - age;
        if slot >= self.traces.len() { slot - self.traces.len() } else { slot }
    }

    /// Tells the waiting afterstates what the latest of them turned out to be worth.
    #[inline(always)]
    fn hear(&mut self, tables: &Tables<'_>, rule: &Rule<'_>, worth: f32) {
        if self.waiting == 0 {
            return;
        }
        // Looked up anew: corrections since then have changed it.
        let mut error = worth - tables.value(&self.traces[self.slot(0)].indices);
        for age in 0..self.waiting {
            let slot = self.slot(age);
            self.traces[slot].error += error;
            error *= rule.lambda;
        }
    }

    /// Corrects the oldest waiting afterstate.
    #[inline(always)]
    fn settle(&mut self, tables: &Tables<'_>, rule: &Rule<'_>) {
        let trace = &self.traces[self.oldest];
        tables.correct(&trace.indices, trace.error, rule, self.dither.next());
        self.oldest = if self.oldest + 1 == self.traces.len() { 0 } else { self.oldest + 1 };
        self.waiting -= 1;
    }

    /// Lets the chosen afterstate wait for its correction.
    #[inline(always)]
    fn remember(&mut self, tables: &Tables<'_>, rule: &Rule<'_>, direction: usize) {
        self.waiting += 1;
        let slot = self.slot(0);
        let trace = &mut self.traces[slot];
        trace.error = 0.0;
        trace.indices.copy_from_slice(&self.indices[direction]);
        if rule.coherent {
            trace.indices.iter().for_each(|&index| prefetch(tables.coherence, index as usize));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::Board;
    use afterstate_evaluator::ntuple::Words;

    #[test]
    fn games_follow_the_tables_where_they_know_a_way() {
        let layout = Layout::new::<Board>("0123 4567", &[]).unwrap();
        let (weights, coherence) =
            (Words::zeroed(layout.weights()).unwrap(), Words::zeroed(2 * layout.weights()).unwrap());
        let tables = Tables::new(&layout, weights.atomics(), coherence.atomics().as_chunks().0, Downgrade::NEVER);
        let guide = Guide { tables: tables::tables("tiny").unwrap(), least: [0.9, 0.01] };
        let spawns = SpawnRule::CLASSIC;
        let rule =
            Rule { spawns, step: 0.1, coherent: true, lambda: 0.5, horizon: 3, late: u32::MAX, guide: Some(&guide) };
        let start: Board = "16384 8192 4096 0 / 2048 1024 512 0 / 4 2 0 0 / 2 0 0 0".parse().unwrap();
        let (mut lane, mut followed, mut alone) = (Lane::new(&layout, &rule), 0, 0);
        for game in 0..200 {
            lane.begin(game, Beginning::Given(start), Rng::new(game), &rule);
            loop {
                lane.prepare(&tables);
                let (board, slides) = (lane.board, lane.slides);
                if lane.decide(&tables, &rule).is_some() {
                    break;
                }
                let Some(advice) = guide.tables.advice(&board, &slides, guide.least) else {
                    alone += 1;
                    continue;
                };
                // Whatever has been learned, a move of the fewest failures was played.
                let is_before = |after: &Board| {
                    let other = |&cell: &usize| after.exponent(cell) != lane.board.exponent(cell);
                    let mut others = (0..Board::CELLS).filter(other);
                    others.next().is_some_and(|cell| after.exponent(cell) == 0) && others.next().is_none()
                };
                let mut best = slides.iter().filter(|(d, _)| advice.failures[d.index()] == advice.failure());
                assert!(best.any(|(_, slide)| is_before(slide.after.board())), "{board} -> {}", lane.board);
                followed += 1;
            }
            assert!(!lane.restarted);
        }
        assert!(followed > 1_000 && alone > 1_000, "{followed} moves by the tables, {alone} others");
    }
}
