//! The inner loop of temporal-difference learning: one game that plays greedily and corrects the values of where it has been.
//!
//! A worker advances several such games in turn. Each [`Lane::prepare`] asks for all memory that the next [`Lane::decide`] will
//! read, so that the wait for it is spent on the other games.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use afterstate_board::{Afterstate, Direction, Directions, Position, Rng, Slides, SpawnRule};
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
    /// The exponent of the tile whose chance is learned, in shares of the tile itself: a game ends when it is made. `None`: points are.
    pub goal: Option<u8>,
}

impl Rule<'_> {
    /// What the points of a move count for.
    #[inline(always)]
    const fn reward(&self, points: u32) -> f32 {
        if self.goal.is_some() { 0.0 } else { points as f32 }
    }

    /// What certainty of the goal is worth; nothing where points are learned.
    fn certainty(&self) -> f32 {
        self.goal.map_or(0.0, |goal| (1u32 << goal) as f32)
    }
}

/// Endgame tables, and how often their way must succeed to be taken.
pub(super) struct Guide {
    pub tables: Arc<tables::Tables>,
    pub least: [f32; 2],
}

/// What tables say about a position.
#[derive(Clone, Copy)]
struct Advised {
    /// The moves that fail least.
    moves: Directions,
    /// How often they succeed, if what they lead to is all that is missing for the goal of the run.
    promise: Option<f32>,
}

impl Guide {
    /// `None` where the tables know no way.
    fn advised<P: Position>(&self, board: &P, slides: &Slides<P>, goal: Option<u8>) -> Option<Advised> {
        let advice = self.tables.advice(board, slides, self.least)?;
        let least = advice.failure();
        let is_best = |d: &Direction| advice.failures[d.index()] == least;
        let moves = slides.legal.iter().filter(is_best).fold(0, |set, d| set | 1 << d.index());
        let promise = goal.filter(|&goal| advice.is_last(board, goal)).map(|_| 1.0 - least);
        Some(Advised { moves: Directions::from_bits(moves), promise })
    }
}

/// How a training game went, whatever its board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Played {
    /// Points, or the goal's tile as often as it will be reached.
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
        let (eights, rest) = indices.as_chunks::<8>();
        for eight in eights {
            for &index in eight {
                prefetch(self.weights, index as usize);
            }
        }
        rest.iter().for_each(|&index| prefetch(self.weights, index as usize));
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

/// Of a stretch that tables play, the values of so many afterstates are learned: a search that looks ahead into it meets no others.
const INSIDE: usize = 4;

/// The afterstates where tables began to play.
struct Inside {
    indices: [Vec<u32>; INSIDE],
    /// What had come in by then, for each.
    gained: [f32; INSIDE],
    count: usize,
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
    /// What the afterstate of each direction looks up, of those that are considered.
    indices: [Vec<u32>; 4],
    /// The table's moves, where it is followed.
    advised: Option<Directions>,
    /// What tables promise where they alone may play from here on.
    promised: Option<f32>,
    /// Where tables began to play ...
    inside: Inside,
    /// ... and what came in since the last move of the network's own.
    gained: f32,
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
            advised: None,
            promised: None,
            inside: Inside { indices: std::array::from_fn(|_| blank()), gained: [0.0; INSIDE], count: 0 },
            gained: 0.0,
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
        (self.inside.count, self.gained) = (0, 0.0);
    }

    /// The moves to choose from.
    #[inline(always)]
    fn considered(&self) -> Directions {
        self.advised.unwrap_or(self.slides.legal)
    }

    /// Finds out what the next decision will read, and asks for it.
    #[inline(always)]
    pub fn prepare(&mut self, tables: &Tables<'_>, rule: &Rule<'_>) {
        self.slides = self.board.slides();
        let advised = rule.guide.and_then(|guide| guide.advised(&self.board, &self.slides, rule.goal));
        self.promised = advised.and_then(|advised| advised.promise);
        self.advised = advised.map(|advised| advised.moves);
        if self.advised.is_some_and(|moves| moves.len() == 1) && self.inside.count == INSIDE {
            // There is nothing to compare, and nothing to learn.
            return;
        }
        for direction in self.considered().iter() {
            let indices = &mut self.indices[direction.index()];
            tables.indices(self.slides.after[direction.index()].board(), indices);
        }
    }

    /// The chance of the goal, if the game is over: it is certain where it is made, as large as tables promise where they alone play from here on, and
    /// none where no move is left.
    #[inline(always)]
    fn end(&self, rule: &Rule<'_>) -> Option<f32> {
        match rule.goal {
            Some(goal) if self.board.max_exponent() >= goal => Some(1.0),
            _ => self.promised.or_else(|| self.slides.legal.is_empty().then_some(0.0)),
        }
    }

    /// Learns how the game ended, with so much of the goal.
    fn finish(&mut self, tables: &Tables<'_>, rule: &Rule<'_>, chance: f32) -> Outcome<P> {
        let worth = chance * rule.certainty();
        self.hear(tables, rule, worth);
        while self.waiting > 0 {
            self.settle(tables, rule);
        }
        let score = if rule.goal.is_some() { worth.round() as u64 } else { self.score };
        let (moves, restarted) = (self.moves, self.restarted);
        let played = Played { score, moves, largest: self.board.max_exponent(), restarted };
        Outcome { game: self.game, played, late: self.late }
    }

    /// Plays the best move and learns from it; the outcome if the game is over.
    #[inline(always)]
    pub fn decide(&mut self, tables: &Tables<'_>, rule: &Rule<'_>) -> Option<Outcome<P>> {
        if let Some(chance) = self.end(rule) {
            return Some(self.finish(tables, rule, chance));
        }
        let mut best: Option<(usize, f32)> = None;
        if self.considered().len() == 1 && self.advised.is_some() {
            best = self.considered().iter().next().map(|direction| (direction.index(), 0.0));
        } else {
            for direction in self.considered().iter().map(|direction| direction.index()) {
                let worth = rule.reward(self.slides.reward[direction]) + tables.value(&self.indices[direction]);
                if best.is_none_or(|(_, most)| worth > most) {
                    best = Some((direction, worth));
                }
            }
        }
        let (direction, worth) = best.unwrap_or((0, 0.0));
        if self.advised.is_some() {
            self.gained += rule.reward(self.slides.reward[direction]);
            self.note(direction);
        } else {
            self.hear(tables, rule, worth);
            if self.waiting == rule.horizon {
                self.settle(tables, rule);
            }
            self.remember(tables, rule, direction);
        }
        self.score += u64::from(self.slides.reward[direction]);
        self.moves += 1;
        let after: Afterstate<P> = self.slides.after[direction];
        self.board = after.sample(&rule.spawns, &mut self.rng);
        if self.slides.reward[direction] >= rule.late && self.late.is_none() && !self.restarted {
            self.late = Some(self.board);
        }
        None
    }

    /// Takes note of an afterstate that a table has led to, if it is among the first of its stretch.
    fn note(&mut self, direction: usize) {
        let Inside { indices, gained, count } = &mut self.inside;
        if let Some(slot) = indices.get_mut(*count) {
            slot.copy_from_slice(&self.indices[direction]);
            // Its own move's points are behind it.
            gained[*count] = self.gained;
            *count += 1;
        }
    }

    fn slot(&self, age: usize) -> usize {
        let slot = self.oldest + self.waiting - 1 - age;
        if slot >= self.traces.len() { slot - self.traces.len() } else { slot }
    }

    /// Tells the waiting afterstates what the latest of them turned out to be worth.
    #[inline(always)]
    fn hear(&mut self, tables: &Tables<'_>, rule: &Rule<'_>, worth: f32) {
        if self.inside.count > 0 {
            self.hear_inside(tables, rule, worth);
        }
        let worth = worth + std::mem::take(&mut self.gained);
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

    /// The same for the afterstates where tables began to play: each hears what came in after it, and what comes now.
    #[inline(never)]
    fn hear_inside(&mut self, tables: &Tables<'_>, rule: &Rule<'_>, worth: f32) {
        for i in 0..std::mem::take(&mut self.inside.count) {
            let indices = &self.inside.indices[i];
            let since = self.gained - self.inside.gained[i];
            tables.correct(indices, worth + since - tables.value(indices), rule, self.dither.next());
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
        let rule = Rule {
            spawns,
            step: 0.1,
            coherent: true,
            lambda: 0.5,
            horizon: 3,
            late: u32::MAX,
            guide: Some(&guide),
            goal: None,
        };
        let start: Board = "16384 8192 4096 0 / 2048 1024 512 0 / 4 2 0 0 / 2 0 0 0".parse().unwrap();
        let (mut lane, mut followed, mut alone) = (Lane::new(&layout, &rule), 0, 0);
        for game in 0..200 {
            lane.begin(game, Beginning::Given(start), Rng::new(game), &rule);
            loop {
                lane.prepare(&tables, &rule);
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

    /// Where nothing but the tables plays until the goal, the game ends with what they promise; elsewhere they only lead on.
    #[test]
    fn a_run_for_a_goal_takes_the_last_tables_word() {
        let layout = Layout::new::<Board>("0123 4567", &[]).unwrap();
        let (weights, coherence) =
            (Words::zeroed(layout.weights()).unwrap(), Words::zeroed(2 * layout.weights()).unwrap());
        let tables = Tables::new(&layout, weights.atomics(), coherence.atomics().as_chunks().0, Downgrade::NEVER);
        let guide = Guide { tables: tables::tables("tiny").unwrap(), least: [0.9, 0.01] };
        let rule = |goal: Option<u8>| Rule {
            spawns: SpawnRule::CLASSIC,
            step: 0.1,
            coherent: false,
            lambda: 0.0,
            horizon: 1,
            late: u32::MAX,
            guide: Some(&guide),
            goal,
        };
        // The tables that come with the program know some boards alone: one that they know comes up in some game.
        let start: Board = "16384 8192 4096 0 / 2048 1024 512 0 / 4 2 0 0 / 2 0 0 0".parse().unwrap();
        let (mut lane, mut game) = (Lane::new(&layout, &rule(None)), 0);
        let start = loop {
            game += 1;
            lane.begin(game, Beginning::Given(start), Rng::new(game), &rule(None));
            lane.prepare(&tables, &rule(None));
            let is_known = |lane: &Lane<Board>| {
                guide.advised(&lane.board, &lane.slides, Some(15)).is_some_and(|advised| advised.promise.is_some())
            };
            while !is_known(&lane) && lane.decide(&tables, &rule(None)).is_none() {
                lane.prepare(&tables, &rule(None));
            }
            if is_known(&lane) {
                break lane.board;
            }
        };
        let advised = guide.advised(&start, &start.slides(), Some(15)).expect("a way");
        assert!(!advised.moves.is_empty());
        let success = advised.promise.expect("it is the last step");
        let mut end = |board: Board, goal: u8| {
            lane.begin(0, Beginning::Given(board), Rng::new(1), &rule(Some(goal)));
            lane.prepare(&tables, &rule(Some(goal)));
            lane.decide(&tables, &rule(Some(goal))).map(|outcome| outcome.played.score)
        };
        assert_eq!(end(start, 15), Some((success * 32768.0).round() as u64));
        assert_eq!(end(start, 16), None, "65536 is still far");
        // One of the six twice, another missing: a table may know the block all the same, but there is more to build than it says.
        let mut known = 0;
        for (tile, other) in (10..15).flat_map(|tile| (10..15).map(move |other| (tile, other))) {
            let cell = (0..16).find(|&cell| start.exponent(cell) == tile).unwrap();
            let board = start.with_exponent(cell, other);
            if tile != other && !board.legal().is_empty() {
                assert_eq!(end(board, 15), None, "{board}");
                known += u32::from(guide.advised(&board, &board.slides(), Some(15)).is_some());
            }
        }
        assert!(known > 3, "{known}");
        assert_eq!(end(start.with_exponent(0, 15), 15), Some(32768), "it is there");
        let lost: Board = "2 4 2 4 / 4 2 4 2 / 2 4 2 4 / 4 2 4 2".parse().unwrap();
        assert_eq!(end(lost, 15), Some(0));
    }

    /// Points that come in while tables play count for the afterstate before them, and for those where they began: each value becomes what came
    /// after it in its first game, with a full step.
    #[test]
    fn points_of_a_stretch_by_tables_count_for_where_it_began() {
        let layout = Layout::new::<Board>("0123 4567", &[]).unwrap();
        let (weights, coherence) =
            (Words::zeroed(layout.weights()).unwrap(), Words::zeroed(2 * layout.weights()).unwrap());
        let tables = Tables::new(&layout, weights.atomics(), coherence.atomics().as_chunks().0, Downgrade::NEVER);
        let rule = Rule {
            spawns: SpawnRule::CLASSIC,
            step: 1.0 / layout.features() as f32,
            coherent: false,
            lambda: 0.0,
            horizon: 1,
            late: u32::MAX,
            guide: None,
            goal: None,
        };
        let mut lane = Lane::new(&layout, &rule);
        let [own, first, second] = [
            "16384 2 4 8 / 16 32 64 128 / 256 512 1024 2048 / 8 16 32 0",
            "16384 2 4 8 / 16 32 64 128 / 256 512 1024 2048 / 8 16 32 2",
            "16384 2 4 8 / 16 32 64 128 / 256 512 1024 2048 / 8 16 32 4",
        ]
        .map(|text| text.parse::<Board>().unwrap());
        let value = |board: &Board| {
            let mut indices = vec![0; layout.features()];
            tables.indices(board, &mut indices);
            tables.value(&indices)
        };
        // One learned at a time, since they share weights: the network's own move, then one of a table that brought 8 points, then one of 16.
        for learned in 0..3 {
            weights.atomics().iter().for_each(|weight| weight.store(0, Relaxed));
            lane.begin(0, Beginning::Given(own), Rng::new(1), &rule);
            let indices = |board: &Board, lane: &mut Lane<Board>| tables.indices(board, &mut lane.indices[0]);
            if learned == 0 {
                indices(&own, &mut lane);
                lane.remember(&tables, &rule, 0);
            }
            for (i, (board, points)) in [(first, 8.0), (second, 16.0)].into_iter().enumerate() {
                lane.gained += points;
                if learned == i + 1 {
                    indices(&board, &mut lane);
                    lane.note(0);
                }
            }
            lane.hear(&tables, &rule, 100.0);
            while lane.waiting > 0 {
                lane.settle(&tables, &rule);
            }
            let (board, worth) = [(own, 124.0), (first, 116.0), (second, 100.0)][learned];
            assert!((value(&board) - worth).abs() < 0.1, "{board}: {} for {worth}", value(&board));
            assert_eq!((lane.gained, lane.inside.count), (0.0, 0));
        }
    }
}
