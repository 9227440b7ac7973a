//! The spawn distribution, tested with chi-square at fixed seeds: cells uniform, 2s and 4s as nine to one, both independent.

use afterstate_board::{
    Afterstate, Board, Grid, Position, Rng, SpawnRule, board, playout, playouts, playouts_singly, random_games_singly,
};

/// Chi-square of the observed spawns of an afterstate, and its degrees of freedom.
fn chi_square<P: Position>(board: P, rule: &SpawnRule, draws: u32, seed: u64) -> (f64, usize) {
    let after = Afterstate::new(board);
    let mut rng = Rng::new(seed);
    let expected: Vec<(P, f64)> = after.spawns(rule).map(|(s, p)| (after.place(s), p * f64::from(draws))).collect();
    let mut counts = vec![0u32; expected.len()];
    for _ in 0..draws {
        let next = after.sample(rule, &mut rng);
        counts[expected.iter().position(|(board, _)| *board == next).expect("a spawn that cannot be")] += 1;
    }
    let terms = expected.iter().zip(&counts).map(|((_, e), &c)| (f64::from(c) - e).powi(2) / e);
    (terms.sum(), expected.len() - 1)
}

/// A bound that a right distribution passes with probability above 0.9999 (Wilson and Hilferty's approximation).
fn bound(freedom: usize) -> f64 {
    let k = freedom as f64;
    k * (1.0 - 2.0 / (9.0 * k) + 3.72 * (2.0 / (9.0 * k)).sqrt()).powi(3)
}

#[test]
fn spawns_follow_the_rule() {
    let rule = SpawnRule::CLASSIC;
    for (board, draws) in [
        (board!(0 0 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 2), 300_000),
        (board!(2 4 2 4 / 4 0 4 2 / 2 4 0 4 / 4 2 4 0), 100_000),
        (board!(2 4 2 4 / 4 2 4 2 / 2 4 2 4 / 4 2 4 0), 100_000),
        (board!(65536 4 2 4 / 4 2 4 2 / 2 4 2 4 / 4 2 0 0), 100_000),
        (Board::empty(), 300_000),
    ] {
        let (chi2, freedom) = chi_square(board, &rule, draws, 11);
        assert!(chi2 < bound(freedom), "{board}: chi-square {chi2} with {freedom} degrees of freedom");
    }
    let eights: SpawnRule = "2:0.85,4:0.1,8:0.05".parse().unwrap();
    let (chi2, freedom) = chi_square(Grid::<5, 5>::empty(), &eights, 500_000, 12);
    assert!(chi2 < bound(freedom), "5x5: chi-square {chi2} with {freedom} degrees of freedom");
}

/// The test must be able to fail.
#[test]
fn a_wrong_distribution_is_noticed() {
    let after = Afterstate::new(board!(2 4 2 4 / 4 0 4 2 / 2 4 0 4 / 4 2 4 0));
    let wrong: SpawnRule = "2:0.89,4:0.11".parse().unwrap();
    let mut rng = Rng::new(11);
    let fours =
        (0..100_000).filter(|_| after.sample(&wrong, &mut rng).tile_sum() == after.board().tile_sum() + 4).count();
    let chi2 = (fours as f64 - 10_000.0).powi(2) / 10_000.0 / 0.9;
    assert!(chi2 > bound(1), "chi-square {chi2}");
}

/// The batch plays the very games that the single board plays, and both look like random play.
#[test]
fn playouts_agree_and_look_right() {
    let rule = SpawnRule::CLASSIC;
    let singly = playouts_singly(5, 0..20_000, &rule);
    assert_eq!(playouts(5, 0..20_000, &rule), singly);
    assert_eq!(playouts(5, 7..7, &rule).games, 0);
    assert_eq!(playouts(5, 3..4, &rule), playouts_singly(5, 3..4, &rule));
    let eights: SpawnRule = "2:0.5,4:0.3,8:0.2".parse().unwrap();
    assert_eq!(playouts(5, 0..500, &eights), playouts_singly(5, 0..500, &eights));
    // 118.5 moves and 1,096 points a game; the bounds are about four standard errors at 20,000 games.
    let (moves, score) = (singly.moves as f64 / 2e4, singly.score as f64 / 2e4);
    assert!((117.3..119.7).contains(&moves), "{moves} moves a game");
    assert!((1_080.0..1_112.0).contains(&score), "{score} points a game");
}

/// From given positions, finished ones among them, and with a limit: the same games again.
#[test]
fn random_games_agree_with_single_ones() {
    let rule = SpawnRule::CLASSIC;
    let mut rng = Rng::new(8);
    let starts: Vec<Board> = (0..300)
        .map(|i| match i % 7 {
            0 => board!(2 4 2 4 / 4 2 4 2 / 2 4 2 4 / 4 2 4 2),
            1 => board!(65536 32768 32768 2 / 4 2 4 2 / 2 4 2 4 / 4 2 0 0),
            _ => playout(Board::start(&rule, &mut rng), i, &rule, &mut rng).last,
        })
        .collect();
    for (count, limit) in [(300, u32::MAX), (300, 20), (300, 1), (300, 0), (5, u32::MAX), (0, 3)] {
        let starts = &starts[..count];
        let (mut together, mut singly) = (vec![7; count], vec![7; count]);
        let moves = Board::random_games(starts, limit, &rule, &mut Rng::new(9), &mut together);
        assert_eq!(moves, random_games_singly(starts, limit, &rule, &mut Rng::new(9), &mut singly));
        assert_eq!(together, singly, "{count} games of {limit} moves");
    }
}
