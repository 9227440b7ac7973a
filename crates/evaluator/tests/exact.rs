//! Solutions against known results, an independent computation on the plain grid, and files that are not what they should be.

use std::collections::{HashMap, HashSet};
use std::fs;

use afterstate_board::{Afterstate, Direction, Grid, Position, SpawnRule};
use afterstate_evaluator::exact::{Goal, Problem, Solution, SolutionError, known};

fn problem<P: Position>(rule: &str, goal: &str) -> Problem {
    Problem::of::<P>(rule.parse().unwrap(), goal.parse().unwrap()).unwrap()
}

fn solved<P: Position>(rule: &str, goal: &str) -> Solution {
    Solution::in_memory(&problem::<P>(rule, goal), 1_000_000).unwrap()
}

const CLASSIC: &str = "2:0.9,4:0.1";

#[test]
fn the_2x2_game_has_its_known_values() {
    for (goal, expected) in [("score", 66.964_149_457_101_26), ("16", 0.962_511_253_75), ("32", 0.082_887_289_07)] {
        let found = solved::<Grid<2, 2>>(CLASSIC, goal).brief().start_value;
        assert!((found - expected).abs() < 1e-10, "{goal}: {found}, not {expected}");
    }
    assert_eq!(solved::<Grid<2, 2>>(CLASSIC, "score").brief().states, 110);
}

/// What the best move is worth, by plain recursion over the plain grid.
struct Recursion {
    rule: SpawnRule,
    goal: Goal,
    known: HashMap<Grid<2, 3>, f64>,
}

impl Recursion {
    fn value(&mut self, board: &Grid<2, 3>) -> f64 {
        if matches!(self.goal, Goal::Tile(exponent) if board.max_exponent() >= exponent) {
            return 1.0;
        }
        if let Some(&value) = self.known.get(board) {
            return value;
        }
        let mut best = 0.0f64;
        for slide in Direction::ALL.into_iter().filter_map(|d| board.slide(d)) {
            let points = if self.goal == Goal::Score { f64::from(slide.reward) } else { 0.0 };
            best = best.max(points + self.afterwards(&slide.after));
        }
        self.known.insert(*board, best);
        best
    }

    fn afterwards(&mut self, after: &Afterstate<Grid<2, 3>>) -> f64 {
        let won = matches!(self.goal, Goal::Tile(exponent) if after.board().max_exponent() >= exponent);
        let rule = self.rule;
        let mut spawned = after.spawns(&rule).map(|(spawn, p)| (p, after.place(spawn)));
        if won { 1.0 } else { spawned.by_ref().map(|(p, board)| p * self.value(&board)).sum() }
    }

    fn new_game(&mut self) -> f64 {
        let (rule, empty) = (self.rule, Afterstate::new(Grid::empty()));
        empty.spawns(&rule).map(|(spawn, p)| p * self.afterwards(&Afterstate::new(empty.place(spawn)))).sum()
    }
}

/// Every position, several goals, and rules with other tiles: the same as on the plain grid.
#[test]
fn the_2x3_game_agrees_with_the_plain_grid() {
    for (rule, goal) in [(CLASSIC, "score"), (CLASSIC, "64"), ("2:0.5,4:0.5", "score"), ("2:0.7,8:0.3", "32")] {
        let solution = solved::<Grid<2, 3>>(rule, goal);
        let mut plain = Recursion { rule: rule.parse().unwrap(), goal: goal.parse().unwrap(), known: HashMap::new() };
        let (found, expected) = (solution.brief().start_value, plain.new_game());
        assert!((found - expected).abs() < 1e-10 * expected.max(1.0), "{rule}, {goal}: {found}, not {expected}");
        let mut canonical = HashSet::new();
        for (board, &expected) in &plain.known {
            let found = solution.value(board).unwrap_or_else(|| panic!("{board} is missing"));
            assert!((found - expected).abs() < 1e-9 * expected.max(1.0), "{board}: {found}, not {expected}");
            canonical.insert(board.canonical());
            let quick = solution.listed_move_values(board).unwrap_or_else(|| panic!("{board} leads out of the list"));
            let plainly = solution.move_values(&board.slides(), |next| solution.value(next));
            let near = |(a, b): (Option<f64>, Option<f64>)| match (a, b) {
                (Some(a), Some(b)) => (a - b).abs() < 1e-12 * b.max(1.0),
                (a, b) => a == b,
            };
            assert!(quick.into_iter().zip(plainly).all(near), "{board}: {quick:?}, {plainly:?}");
        }
        assert_eq!(canonical.len() as u64, solution.brief().states, "{rule}, {goal}");
    }
}

#[test]
fn positions_that_no_game_comes_to_have_no_value() {
    let solution = solved::<Grid<2, 2>>(CLASSIC, "score");
    let value = |text: &str| solution.value(&text.parse::<Grid<2, 2>>().unwrap());
    assert_eq!(value("64 2 / 4 2"), None);
    assert_eq!(value("65536 2 / 4 2"), None);
    assert_eq!(value("0 0 / 0 0"), None);
    assert_eq!(value("2 4 / 4 2"), Some(0.0));
}

#[test]
fn goals_that_spawn_are_reached_at_once() {
    assert!((solved::<Grid<2, 2>>("4:1", "4").brief().start_value - 1.0).abs() < 1e-12);
    let fours = solved::<Grid<2, 2>>(CLASSIC, "4").brief().start_value;
    assert!((fours - 1.0).abs() < 1e-12, "a 4 spawns or two 2s merge: {fours}");
}

#[test]
fn boards_too_large_for_the_moment_are_refused() {
    let error = Solution::in_memory(&problem::<Grid<2, 3>>(CLASSIC, "score"), 1_000).unwrap_err();
    assert!(matches!(error, SolutionError::TooMany(1_000)), "{error}");
}

/// Whatever is done to a file, it is refused with a reason and a way out.
#[test]
fn damaged_and_foreign_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let problem = problem::<Grid<2, 2>>(CLASSIC, "score");
    let path = folder.path().join(problem.file_name());
    let good = solved::<Grid<2, 2>>(CLASSIC, "score").bytes().to_vec();
    let open = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        Solution::open(&path, &problem)
    };
    let reason = |bytes: &[u8]| {
        let error = open(bytes).unwrap_err();
        assert!(error.to_string().ends_with("(remove it, then run `afterstate solve --size 2x2`)"), "{error}");
        let SolutionError::Refused { reason, .. } = error else { panic!("{error}") };
        reason
    };
    assert_eq!(open(&good).unwrap().brief().states, 110);
    let flipped = |at: usize| [&good[..at], &[good[at] ^ 1 << (at % 8)], &good[at + 1..]].concat();
    for at in 0..good.len() {
        for bytes in [good[..at].to_vec(), flipped(at)] {
            assert!(matches!(Solution::from_bytes(bytes, &problem), Err(SolutionError::Refused { .. })), "{at}");
        }
    }
    assert!(reason(&good[..good.len() - 1]).starts_with("it is cut off"));
    assert!(reason(&flipped(20)).contains("checksum of its frame"));
    assert!(reason(&flipped(80)).contains("checksum of its layers"));
    assert_eq!(reason(b"some text that someone put there"), "this is no solution of ours");
    assert_eq!(reason(&[]), "this is no solution of ours");
    assert!(reason(&[good.as_slice(), b"more"].concat()).contains("something was added"));
    assert!(reason(&[good.as_slice(), good.as_slice()].concat()).contains("damaged"));
    let other = solved::<Grid<2, 3>>(CLASSIC, "score").bytes().to_vec();
    let both = "it solves 2x3, goal score, spawns 2:0.9,4:0.1, not 2x2, goal score, spawns 2:0.9,4:0.1";
    assert_eq!(reason(&other), both);
    assert!(reason(solved::<Grid<2, 2>>("2:0.8,4:0.2", "score").bytes()).starts_with("it solves 2x2"));
    let mut newer = good.clone();
    newer[8] = 2;
    assert!(reason(&newer).starts_with("it has version 2"));
}

#[test]
fn what_is_missing_says_what_to_run() {
    let folder = tempfile::tempdir().unwrap();
    let large = problem::<Grid<3, 3>>(CLASSIC, "512");
    let error = Solution::open(&folder.path().join(large.file_name()), &large).unwrap_err().to_string();
    assert!(error.contains("run `afterstate solve --size 3x3 --goal 512` first"), "{error}");
    assert!(known(&large, folder.path()).is_none());
    assert!(known(&problem::<Grid<2, 3>>(CLASSIC, "score"), folder.path()).is_some());
}
