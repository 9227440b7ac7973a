//! The recursion: players maximise, spawns minimise, and what can no longer matter is left out (alpha-beta, fail-soft).

use afterstate_board::{Afterstate, Direction, Position, Slides, Spawn, SpawnRule};
use afterstate_evaluator::Evaluator;

use super::MAX_DEPTH;
use super::table::{Bound, Table};
use crate::clock::Clock;

/// One thread's search.
pub struct Search<'a, P: Position, E: ?Sized> {
    pub evaluator: &'a E,
    pub rule: &'a SpawnRule,
    /// What the points of a move count for.
    pub rewards: f64,
    /// The value of a finished game.
    pub lost: f64,
    /// Without a table every position is searched anew.
    pub table: Option<&'a mut Table<P>>,
    pub clock: Clock,
    /// Slides that may still be examined.
    pub allowance: u64,
    /// Slides examined, the illegal ones included.
    pub nodes: u64,
    /// Set when a limit is reached: what the search returns from then on means nothing.
    pub stopped: bool,
    /// The spawn that was worst last time, by depth: likely to be so again.
    pub worst: [Option<Spawn>; MAX_DEPTH as usize + 1],
}

/// Values nothing is known about.
const OPEN: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

impl<P: Position, E: Evaluator<P> + ?Sized> Search<'_, P, E> {
    /// The values of the root's legal moves against every `parts`-th spawn from `part` on; infinite where there is no such spawn.
    pub fn root(&mut self, slides: &Slides<P>, depth: u32, part: usize, parts: usize) -> [f64; 4] {
        let mut values = [f64::INFINITY; 4];
        for (direction, slide) in slides.iter() {
            let gain = self.rewards * f64::from(slide.reward);
            let spawns = |rule| slide.after.spawns(rule).map(|(spawn, _)| spawn).skip(part).step_by(parts);
            values[direction.index()] = gain
                + match depth {
                    0 => f64::from(self.evaluator.value(&slide.after)),
                    _ => self.spawns(&slide.after, depth, OPEN, None, spawns(self.rule)),
                };
        }
        values
    }

    /// The value of an afterstate within a window: the worst that may spawn.
    fn after(&mut self, after: &Afterstate<P>, depth: u32, window: (f64, f64)) -> f64 {
        if depth == 0 {
            return f64::from(self.evaluator.value(after));
        }
        let vacant = |spawn: &Spawn| after.board().empty_cells() >> spawn.cell & 1 == 1;
        let suspect = self.worst[depth as usize].filter(vacant);
        let rest = after.spawns(self.rule).map(|(spawn, _)| spawn).filter(move |&spawn| Some(spawn) != suspect);
        self.spawns(after, depth, window, suspect, rest)
    }

    fn spawns(
        &mut self,
        after: &Afterstate<P>,
        depth: u32,
        (alpha, beta): (f64, f64),
        suspect: Option<Spawn>,
        rest: impl Iterator<Item = Spawn>,
    ) -> f64 {
        let mut value = f64::INFINITY;
        for spawn in suspect.into_iter().chain(rest) {
            let found = self.position(&after.place(spawn), depth - 1, (alpha, beta.min(value)));
            if self.stopped {
                return found;
            }
            if found < value {
                value = found;
                self.worst[depth as usize] = Some(spawn);
                if value <= alpha {
                    break;
                }
            }
        }
        value
    }

    /// The value of a position within a window: the best move.
    fn position(&mut self, position: &P, depth: u32, (alpha, beta): (f64, f64)) -> f64 {
        if self.allowance < 4 || self.clock.is_up() {
            self.stopped = true;
            return 0.0;
        }
        self.allowance -= 4;
        self.nodes += 4;
        let slides = position.slides();
        if slides.legal.is_empty() {
            return self.lost;
        }
        let first = match &self.table {
            Some(table) if depth > 0 => match table.get(position, depth, alpha, beta) {
                (Some(value), _) => return value,
                (None, first) => first,
            },
            _ => None,
        };
        let (mut best, mut value) = (Direction::Left, f64::NEG_INFINITY);
        let rest = slides.legal.iter().filter(|&d| Some(d) != first);
        for direction in first.into_iter().chain(rest) {
            let gain = self.rewards * f64::from(slides.reward[direction.index()]);
            let window = (alpha.max(value) - gain, beta - gain);
            let found = gain + self.after(&slides.after[direction.index()], depth, window);
            if self.stopped {
                return found;
            }
            if found > value {
                (best, value) = (direction, found);
                if value >= beta {
                    break;
                }
            }
        }
        if let Some(table) = self.table.as_mut().filter(|_| depth > 0) {
            let bound = match value {
                v if v >= beta => Bound::AtLeast,
                v if v <= alpha => Bound::AtMost,
                _ => Bound::Exact,
            };
            table.put(position, depth, value, bound, best);
        }
        value
    }
}
