//! The root of a search: on one thread move by move, on several with the spawns of all moves shared out.

use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use afterstate_board::{Direction, Position, Slide, Slides, SpawnRule};
use afterstate_evaluator::Evaluator;

use super::search::{Limits, Order, Search, Selection};
use super::table::{Horizon, Memory, View, rounded};
use super::{Values, values_of};
use crate::stop;

/// Looking this much less deep first tells whether a search is worth sharing out ...
const LOOK: u8 = 2;

/// ... which it is if that took so many slides: smaller ones are over before a thread has started.
const SHARED_FROM: u64 = 1_000;

/// What to search, whatever the depth.
pub struct Root<'a, P: Position, E> {
    pub evaluator: &'a E,
    pub rule: &'a SpawnRule,
    pub selection: Selection,
    pub memory: Option<&'a Memory>,
    pub slides: Slides<P>,
    pub threads: usize,
}

/// What a search of some depth found.
pub struct Found {
    /// The value of each legal move, or of those that were finished when a limit ended the search.
    pub values: Values,
    /// True if no limit ended it.
    pub is_complete: bool,
    /// Slides examined below the root.
    pub nodes: u64,
}

impl<P: Position, E: Evaluator<P>> Root<'_, P, E> {
    /// Searches to a horizon, the moves in the given order. The values depend neither on that nor on the number of threads.
    pub fn search(&self, horizon: Horizon, limits: Limits, order: impl Iterator<Item = Direction>) -> Found {
        if self.threads > 1 && horizon.depth > LOOK {
            let look = Horizon { depth: horizon.depth - LOOK, rare: horizon.rare };
            let directions = self.slides.legal.iter();
            let glance = self.alone(look, limits, directions);
            if glance.nodes >= SHARED_FROM {
                let found = self.shared(horizon, limits);
                return Found { nodes: found.nodes + glance.nodes, ..found };
            }
        }
        self.alone(horizon, limits, order)
    }

    fn tables(&self, thread: usize) -> Option<View<'_>> {
        self.memory.map(|memory| memory.of_thread(thread))
    }

    /// Move by move.
    fn alone(&self, horizon: Horizon, limits: Limits, order: impl Iterator<Item = Direction>) -> Found {
        let mut search = Search::new(self.evaluator, self.rule, self.selection, self.tables(0), limits);
        let mut values = [None; 4];
        for direction in order {
            let value = search.slide(&self.slides.of(direction), horizon);
            if search.stopped {
                break;
            }
            values[direction.index()] = Some(value);
        }
        Found { values, is_complete: !search.stopped, nodes: search.nodes }
    }

    /// Every (move, cell) is a task; an idle thread takes the next one, half of them from the end, where others are not looking at
    /// the same positions at the same time. What lies deep is common to all: who finds no task left goes through those that are under way
    /// from the other end, and what two threads look for is found when they meet.
    fn shared(&self, horizon: Horizon, limits: Limits) -> Found {
        let cells = |(d, slide): (Direction, Slide<P>)| empty_cells(*slide.after.board()).map(move |cell| (d, cell));
        let tasks: Vec<Task> = self.slides.iter().flat_map(cells).map(Task::new).collect();
        let parts: Vec<u64> = thread::scope(|scope| {
            let work = |thread: usize| self.work(&tasks, thread, horizon, limits);
            let others: Vec<_> =
                (1..self.threads.min(tasks.len())).map(|i| scope.spawn(stop::inherited(move || work(i)))).collect();
            let mine = work(0);
            let joined = others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            std::iter::once(mine).chain(joined).collect()
        });
        let nodes = parts.iter().sum();
        if tasks.iter().any(|task| task.value.get().is_none()) {
            return Found { values: [None; 4], is_complete: false, nodes };
        }
        // Added up cell by cell as the single thread does, so that not even the last digit differs.
        let value = |d: Direction, reward: u32| {
            let of_move = tasks.iter().filter(|task| task.direction == d).filter_map(|task| task.value.get());
            let count = of_move.clone().count() as f64;
            f64::from(self.evaluator.scale().rewards * reward as f32) + rounded(of_move.sum::<f64>() / count)
        };
        let values = values_of(self.slides.iter().map(|(d, slide)| (d, value(d, slide.reward))));
        Found { values, is_complete: true, nodes }
    }

    /// One thread's part: tasks that nobody has begun, then those that are not finished. The slides it examined.
    fn work(&self, tasks: &[Task], thread: usize, horizon: Horizon, limits: Limits) -> u64 {
        let order = if thread.is_multiple_of(2) { Order::Forward } else { Order::Backward };
        let mut search =
            Search::new(self.evaluator, self.rule, self.selection, self.tables(thread), limits).in_order(order);
        let from_own_end = |i: usize| &tasks[if order == Order::Forward { i } else { tasks.len() - 1 - i }];
        let begun = |task: &&Task| !task.is_begun.swap(true, Ordering::Relaxed);
        let unfinished = |task: &&Task| !task.is_found.load(Ordering::Relaxed);
        // Without a table nobody could learn from what another thread has found.
        let helped = if self.memory.is_some() { tasks.len() } else { 0 };
        let own = (0..tasks.len()).map(from_own_end).filter(begun);
        for task in own.chain((0..helped).map(from_own_end).filter(unfinished)) {
            let after = &self.slides.after[task.direction.index()];
            let value =
                search.unless(&task.is_found, |search| search.cell(after, task.cell, after.empty_count(), horizon));
            if let Some(value) = value {
                // Whoever comes second has found the same.
                let _ = task.value.set(value);
                task.is_found.store(true, Ordering::Relaxed);
            }
        }
        search.nodes
    }
}

/// What one spawn cell of one move is worth, to be found by any thread.
struct Task {
    direction: Direction,
    cell: u8,
    is_begun: AtomicBool,
    is_found: AtomicBool,
    value: OnceLock<f64>,
}

impl Task {
    fn new((direction, cell): (Direction, u8)) -> Self {
        let [is_begun, is_found] = [const { AtomicBool::new(false) }; 2];
        Self { direction, cell, is_begun, is_found, value: OnceLock::new() }
    }
}

/// The empty cells, ascending.
fn empty_cells<P: Position>(board: P) -> impl Iterator<Item = u8> {
    (0..P::CELLS as u8).filter(move |cell| board.empty_cells() >> cell & 1 == 1)
}
