//! The root of a search: on one thread move by move, on several with the spawns of all moves shared out.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use afterstate_board::{Direction, Position, Slides, SpawnRule};
use afterstate_evaluator::Evaluator;

use super::search::{Limits, Search, Selection};
use super::table::{Horizon, Table, rounded};
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
    pub table: Option<&'a Table>,
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

    /// Move by move.
    fn alone(&self, horizon: Horizon, limits: Limits, order: impl Iterator<Item = Direction>) -> Found {
        let mut search = Search::new(self.evaluator, self.rule, self.selection, self.table, limits);
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
    /// the same positions at the same time. The table is common to all.
    fn shared(&self, horizon: Horizon, limits: Limits) -> Found {
        let tasks: Vec<(Direction, u8)> = self
            .slides
            .iter()
            .flat_map(|(d, slide)| empty_cells(*slide.after.board()).map(move |cell| (d, cell)))
            .collect();
        let taken: Vec<AtomicBool> = tasks.iter().map(|_| AtomicBool::new(false)).collect();
        let work = |thread: usize| {
            let mut search = Search::new(self.evaluator, self.rule, self.selection, self.table, limits);
            let mut done = Vec::new();
            let order = |i: usize| if thread.is_multiple_of(2) { i } else { tasks.len() - 1 - i };
            for task in (0..tasks.len()).map(order).filter(|&task| !taken[task].swap(true, Ordering::Relaxed)) {
                let (direction, cell) = tasks[task];
                let after = &self.slides.after[direction.index()];
                done.push((task, search.cell(after, cell, after.empty_count(), horizon)));
                if search.stopped {
                    break;
                }
            }
            (done, search.nodes, search.stopped)
        };
        let parts: Vec<_> = thread::scope(|scope| {
            let others: Vec<_> =
                (1..self.threads.min(tasks.len())).map(|i| scope.spawn(stop::inherited(move || work(i)))).collect();
            let mine = work(0);
            let joined = others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            std::iter::once(mine).chain(joined).collect()
        });
        let nodes = parts.iter().map(|(_, nodes, _)| nodes).sum();
        if parts.iter().any(|(_, _, stopped)| *stopped) {
            return Found { values: [None; 4], is_complete: false, nodes };
        }
        let mut results = vec![0.0; tasks.len()];
        parts.iter().flat_map(|(done, _, _)| done).for_each(|&(task, value)| results[task] = value);
        // Added up cell by cell as the single thread does, so that not even the last digit differs.
        let value = |d: Direction, reward: u32| {
            let of_move = tasks.iter().zip(&results).filter(|((of, _), _)| *of == d).map(|(_, value)| value);
            let count = of_move.clone().count() as f64;
            f64::from(self.evaluator.scale().rewards * reward as f32) + rounded(of_move.sum::<f64>() / count)
        };
        let values = values_of(self.slides.iter().map(|(d, slide)| (d, value(d, slide.reward))));
        Found { values, is_complete: true, nodes }
    }
}

/// The empty cells, ascending.
fn empty_cells<P: Position>(board: P) -> impl Iterator<Item = u8> {
    (0..P::CELLS as u8).filter(move |cell| board.empty_cells() >> cell & 1 == 1)
}
