//! Solving on disk: the same bytes whatever the threads, the interruptions and the damage on the way.

use std::fs::{self, OpenOptions};
use std::path::Path;

use afterstate_board::{Grid, Position, SpawnRule};
use afterstate_evaluator::exact::{Goal, Problem, Solution};
use afterstate_learn::run::Stop;
use afterstate_learn::solve::{Ended, Phase, Solved, solve};

fn problem<P: Position>(goal: &str) -> Problem {
    Problem::of::<P>(SpawnRule::CLASSIC, goal.parse().unwrap()).unwrap()
}

fn solved(problem: &Problem, folder: &Path, threads: usize) -> (Solved, Vec<u8>) {
    match solve(problem, folder, threads, &Stop::new(), &mut |_| ()).unwrap() {
        Ended::Solved(solved) => {
            let bytes = fs::read(&solved.path).unwrap();
            (solved, bytes)
        }
        Ended::Stopped => panic!("nobody asked it to stop"),
    }
}

#[test]
fn a_file_is_what_solving_in_memory_gives() {
    for goal in ["score", "64"] {
        let folder = tempfile::tempdir().unwrap();
        let problem = problem::<Grid<2, 3>>(goal);
        let (found, bytes) = solved(&problem, folder.path(), 1);
        let memory = Solution::in_memory(&problem, 1_000_000).unwrap();
        assert!(bytes == memory.bytes(), "{goal}: other bytes on disk than in memory");
        assert_eq!((found.brief, found.bytes), (*memory.brief(), bytes.len() as u64));
        assert_eq!(names(folder.path()), [problem.file_name()], "nothing else is left");
        let (again, _) = solved(&problem, folder.path(), 1);
        assert_eq!(again.brief, found.brief, "solved already");
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    entries.collect()
}

/// Layers of thousands of positions, so that threads share them.
#[test]
fn threads_do_not_change_a_byte() {
    let problem = problem::<Grid<2, 4>>("256");
    let bytes = [1, 2, 5].map(|threads| {
        let folder = tempfile::tempdir().unwrap();
        let (found, bytes) = solved(&problem, folder.path(), threads);
        assert!(found.brief.states > 500_000, "{:?}", found.brief);
        bytes
    });
    assert!(bytes[0] == bytes[1] && bytes[0] == bytes[2]);
}

/// Stopped again and again, in every phase, with the last record cut off each time: as a kill would leave it.
#[test]
fn interruptions_do_not_change_a_byte() {
    let problem = problem::<Grid<2, 3>>("score");
    let (whole, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (_, expected) = solved(&problem, whole.path(), 1);
    let part = folder.path().join(format!("{}.part", problem.file_name()));
    let (mut attempts, mut repeated) = (0, 0);
    let found = loop {
        let stop = Stop::new();
        let mut layers = 0;
        let ended = solve(&problem, folder.path(), 1, &stop, &mut |progress| {
            layers += 1;
            if layers == 7 && progress.phase != Phase::Storing {
                stop.request();
            }
        });
        attempts += 1;
        match ended.unwrap() {
            Ended::Solved(solved) => break solved,
            Ended::Stopped => {
                assert!(!folder.path().join(problem.file_name()).exists(), "whole or absent");
                for name in ["keys.1", "values.1"] {
                    let log = OpenOptions::new().write(true).open(part.join(name)).unwrap();
                    let length = log.metadata().unwrap().len();
                    if attempts % 3 == 0 && length > 5 {
                        log.set_len(length - 5).unwrap();
                        repeated += 1;
                    }
                }
            }
        }
    };
    assert!(attempts > 30 && repeated > 10 && found.resumed > 200, "{attempts}, {repeated}, {found:?}");
    assert!(fs::read(&found.path).unwrap() == expected);
    assert!(!part.exists());
}

#[test]
fn a_solution_that_is_damaged_is_not_replaced_in_silence() {
    let folder = tempfile::tempdir().unwrap();
    let problem = problem::<Grid<2, 2>>("score");
    fs::write(folder.path().join(problem.file_name()), "something precious").unwrap();
    let error = solve(&problem, folder.path(), 1, &Stop::new(), &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("this is no solution of ours (remove it, then run"), "{error}");
}

#[test]
fn two_processes_do_not_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let problem = problem::<Grid<2, 3>>("score");
    let mut inner = None;
    let stop = Stop::new();
    solve(&problem, folder.path(), 1, &stop, &mut |_| {
        inner.get_or_insert_with(|| solve(&problem, folder.path(), 1, &Stop::new(), &mut |_| ()).unwrap_err());
    })
    .unwrap();
    assert!(inner.unwrap().to_string().contains("in use by another process"));
}

#[test]
fn goals_have_files_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let values = ["score", "16", "32"].map(|goal| solved(&problem::<Grid<2, 2>>(goal), folder.path(), 1).0.brief);
    assert_eq!(names(folder.path()).len(), 3);
    assert_eq!(values[1].problem.goal(), Goal::Tile(4));
    assert!((values[2].start_value - 0.082_887_289_07).abs() < 1e-10);
}
