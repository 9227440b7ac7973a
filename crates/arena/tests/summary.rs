//! The summary as scripts read it.

use afterstate_agent::{Context, build_from_text};
use afterstate_arena::{Evaluation, Header, Outcome, Results, Setup, Summary};
use afterstate_board::{Board, Grid, Position};

fn made_up<P: Position>(games: &[(u64, u64, u8)]) -> Results {
    let outcome = |(index, &(score, moves, max_exponent)): (usize, &(u64, u64, u8))| Outcome {
        index: index as u64,
        score,
        moves,
        max_exponent,
        over: true,
        digest: index as u64,
        seconds: 0.5,
    };
    Results::new(Header::new::<P>(Setup::new("made-up", 1)), games.iter().enumerate().map(outcome)).unwrap()
}

#[test]
fn numbers_by_hand() {
    let results = made_up::<Board>(&[(100, 10, 7), (300, 30, 9), (200, 20, 8), (1000, 60, 11)]);
    let summary = results.summary().unwrap();
    assert_eq!((summary.games, summary.seed, summary.unfinished), (4, 1, 0));
    assert_eq!(
        (summary.score.mean, summary.score.median, summary.score.min, summary.score.max),
        (400.0, 250.0, 100, 1000)
    );
    assert!((summary.score.sd - (500_000.0f64 / 3.0).sqrt()).abs() < 1e-9);
    assert_eq!((summary.moves.mean, summary.moves.median), (30.0, 25.0));
    let [low, high] = summary.score.ci95.unwrap();
    assert!((100.0..400.0).contains(&low) && (400.0..=1000.0).contains(&high));
    assert_eq!(summary.reach[&256].rate, 0.75);
    assert_eq!(summary.reach[&2048].rate, 0.25);
    assert_eq!(summary.reach[&4096].rate, 0.0);
    assert_eq!(summary.max_tile, [(128, 1), (256, 1), (512, 1), (2048, 1)].into());
    assert_eq!((summary.timing.seconds, summary.timing.moves_per_second), (2.0, 60.0));
}

#[test]
fn the_contract_of_the_json() {
    let json = |results: &Results| serde_json::to_string(&results.summary().unwrap()).unwrap();
    let many = json(&made_up::<Board>(&[(100, 10, 7), (300, 30, 11), (200, 20, 10)]));
    let value: serde_json::Value = serde_json::from_str(&many).unwrap();
    for field in
        ["/agent", "/games", "/seed", "/score/mean", "/score/ci95/1", "/score/sd", "/score/median", "/score/min"]
    {
        assert!(value.pointer(field).is_some(), "{field}");
    }
    for field in ["/score/max", "/moves/mean", "/moves/ci95/0", "/reach/2048/rate", "/reach/2048/ci95/1"] {
        assert!(value.pointer(field).is_some_and(serde_json::Value::is_number), "{field}");
    }
    for field in ["/reach/65536/rate", "/max_tile/1024", "/timing/seconds", "/timing/moves_per_second"] {
        assert!(value.pointer(field).is_some_and(serde_json::Value::is_number), "{field}");
    }
    let fingerprint = value["fingerprint"].as_str().unwrap();
    assert!(fingerprint.len() == 16 && fingerprint.bytes().all(|b| b.is_ascii_hexdigit()));
    let order: Vec<usize> =
        ["\"128\":", "\"1024\":", "\"16384\":", "\"131072\":"].map(|key| many.find(key).unwrap()).into();
    assert!(order.is_sorted(), "tiles in numerical order");
    let back: Summary = serde_json::from_str(&many).unwrap();
    assert_eq!((back.max_tile[&2048], back.fingerprint.as_str(), back.reach.len()), (1, fingerprint, 11));

    let single = made_up::<Board>(&[(0, 0, 1)]).summary().unwrap();
    assert_eq!((single.score.sd, single.score.ci95), (0.0, None));
    assert!(serde_json::to_string(&single).unwrap().contains("\"ci95\":null"));
}

#[test]
fn small_boards_show_the_tiles_they_can_reach() {
    let summary = made_up::<Grid<2, 2>>(&[(1, 1, 3), (2, 2, 5)]).summary().unwrap();
    assert_eq!(summary.reach.keys().copied().collect::<Vec<_>>(), [8, 16, 32, 64]);
    assert_eq!((summary.size.as_str(), summary.rule.as_str()), ("2x2", "2:0.9,4:0.1"));
}

/// The fingerprint of known games: a change means that a rule, a stream, an agent or the digest has changed.
#[test]
fn a_pinned_fingerprint() {
    let evaluation = Evaluation::new(Setup::new("random", 1), 50);
    let results = evaluation.run(|| build_from_text::<Board>("random", &Context::default()), |_, _| Ok(())).unwrap();
    assert_eq!(results.summary().unwrap().fingerprint, "a08dd570d4ca44f9");
}
