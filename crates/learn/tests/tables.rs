//! Tables against a plain recursion that shares nothing with them but the pattern's definition.

use std::collections::HashMap;

use afterstate_board::{Board, Direction, Position, Rng, Spawn};
use afterstate_evaluator::tables::Pattern;
use afterstate_evaluator::tables::code::decode;
use afterstate_learn::run::Stop;
use afterstate_learn::tables::solve;

/// The rules of a pattern, played on whole boards: large tiles are 2^8 and more, all different.
struct Game {
    pattern: Pattern,
    known: HashMap<Board, f64>,
}

const LARGE: u8 = 8;

impl Game {
    fn new(pattern: &str) -> Self {
        Self { pattern: pattern.parse().unwrap(), known: HashMap::new() }
    }

    /// A board with its large tiles in place and the others drawn, mostly small ones.
    fn sample(&self, rng: &mut Rng) -> Board {
        let arrangements = self.pattern.arrangements();
        let slot = rng.below(arrangements.len() as u32) as usize;
        let room = rng.below(100);
        (0..16).fold(Board::empty(), |board, cell| {
            let free = if rng.below(100) < room { 0 } else { rng.below(u32::from(self.pattern.goal())) as u8 };
            let exponent = if self.pattern.is_large(slot, cell) { LARGE + cell as u8 } else { free };
            board.with_exponent(cell, exponent)
        })
    }

    fn large(board: &Board) -> Vec<(usize, u8)> {
        (0..16).map(|cell| (cell, board.exponent(cell))).filter(|(_, exponent)| *exponent >= LARGE).collect()
    }

    /// The failure of a position: that of its best move.
    fn position(&mut self, board: &Board) -> f64 {
        if let Some(&known) = self.known.get(board) {
            return known;
        }
        let failure = Direction::ALL
            .into_iter()
            .filter_map(|direction| Some((board, board.slide(direction)?.after)))
            .map(|(before, after)| self.moved(before, after.board()))
            .fold(1.0, f64::min);
        self.known.insert(*board, failure);
        failure
    }

    /// The failure after a move.
    fn moved(&mut self, before: &Board, after: &Board) -> f64 {
        let (old, new) = (Self::large(before), Self::large(after));
        let first_row_stays = old.iter().filter(|(cell, _)| *cell < 4).all(|tile| new.contains(tile));
        if !first_row_stays || new.iter().any(|(cell, _)| *cell >= 8) {
            return 1.0;
        }
        let goals: Vec<usize> = (0..16).filter(|&cell| after.exponent(cell) == self.pattern.goal()).collect();
        let is_beside = |&cell: &usize| cell < 8 || new.iter().any(|(large, _)| cell >= 4 && *large == cell - 4);
        match goals.as_slice() {
            [] => self.afterstate(after),
            goals if goals.iter().all(is_beside) => 0.0,
            _ => 1.0,
        }
    }

    fn afterstate(&mut self, after: &Board) -> f64 {
        let empty: Vec<u8> = (0..16).filter(|&cell| after.exponent(usize::from(cell)) == 0).collect();
        let mut of = |cell: u8, exponent: u8| self.position(&after.place(Spawn { cell, exponent }));
        let sum: f64 = empty.iter().map(|&cell| 0.9 * of(cell, 1) + 0.1 * of(cell, 2)).sum();
        sum / empty.len() as f64
    }
}

fn index(pattern: Pattern, board: &Board) -> u64 {
    let nibbles = (0..16).fold(0, |word, cell| word | u64::from(board.exponent(cell).min(15)) << (4 * cell));
    let columns = (4..8).filter(|&cell| board.exponent(cell) >= LARGE).fold(0, |set, cell| set | 1 << (cell - 4));
    let (slot, mirror) = pattern.arrangement(columns).unwrap();
    assert!(!mirror);
    pattern.index(slot, nibbles)
}

#[test]
fn tables_equal_exact_expectimax_to_the_goal() {
    for name in ["8-16", "7-16", "6-16", "8-32"] {
        let mut game = Game::new(name);
        let pattern = game.pattern;
        let table = solve(pattern, 2, &Stop::new(), &mut |_| ()).unwrap();
        let mut rng = Rng::new(8);
        for _ in 0..4000 {
            let board = game.sample(&mut rng);
            if board.empty_count() == 0 {
                continue;
            }
            let (found, exact) = (f64::from(decode(table[index(pattern, &board) as usize])), game.afterstate(&board));
            assert!((found - exact).abs() <= 2e-3 * exact + 1e-9, "{name} {board}: {found} is not {exact}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let pattern: Pattern = "7-32".parse().unwrap();
    let table = |threads| solve(pattern, threads, &Stop::new(), &mut |_| ()).unwrap();
    assert!(table(1) == table(2));
}
