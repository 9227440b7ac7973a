//! Counts of the game tree, kept as data: `size, spawn rule, board, counts for depth 1, 2, ...`.

use afterstate_board::{Board, Grid, Position, SpawnRule, notation, perft};

/// Counts above this are left to the fast board.
const PLAIN_LIMIT: u64 = 300_000;

fn counts<P: Position>(text: &str, rule: &SpawnRule, expected: &[u64], limit: u64) {
    let board: P = notation::parse(text).unwrap();
    for (depth, &count) in (1..).zip(expected).filter(|(_, count)| **count <= limit) {
        assert_eq!(perft(&board, depth, rule), count, "{text}, {rule}, depth {depth}");
    }
}

#[test]
fn perft_files_hold() {
    let data = include_str!("data/perft.csv");
    let mut rows = 0;
    for line in data.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(';').map(str::trim).collect();
        let [size, rule, board, numbers] = fields[..] else { panic!("'{line}' has not four fields") };
        let rule: SpawnRule = rule.parse().unwrap();
        let expected: Vec<u64> = numbers.split(' ').map(|n| n.parse().unwrap()).collect();
        match size {
            "4x4" => {
                counts::<Board>(board, &rule, &expected, u64::MAX);
                counts::<Grid<4, 4>>(board, &rule, &expected, PLAIN_LIMIT);
            }
            "2x2" => counts::<Grid<2, 2>>(board, &rule, &expected, u64::MAX),
            "2x3" => counts::<Grid<2, 3>>(board, &rule, &expected, u64::MAX),
            "3x3" => counts::<Grid<3, 3>>(board, &rule, &expected, PLAIN_LIMIT),
            "3x4" => counts::<Grid<3, 4>>(board, &rule, &expected, PLAIN_LIMIT),
            "5x5" => counts::<Grid<5, 5>>(board, &rule, &expected, PLAIN_LIMIT),
            other => panic!("no size {other}"),
        }
        rows += 1;
    }
    assert!(rows >= 12);
}
