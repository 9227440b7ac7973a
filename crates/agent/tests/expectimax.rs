//! Expectimax against a brute-force recursion over the plain grid, and against itself with every shortcut switched.

mod positions;

use std::collections::HashMap;

use afterstate_agent::{Budget, Context, Decision, build_from_text};
use afterstate_board::{Afterstate, Board, Direction, Grid, Position, Rng, Slide, SpawnRule, board};
use afterstate_evaluator::{Evaluator, Spec};
use positions::boards;

/// The definition, word for word: no table, no cap, no order of evaluation to speak of.
fn brute_force<P: Position>(evaluator: &dyn Evaluator<P>, after: &Afterstate<P>, depth: u32, rule: &SpawnRule) -> f64 {
    if depth == 0 {
        return f64::from(evaluator.value(after));
    }
    let scale = evaluator.scale();
    let position = |board: P| {
        let moves = Direction::ALL.into_iter().filter_map(|d| board.slide(d)).map(|slide| {
            f64::from(scale.rewards) * f64::from(slide.reward) + brute_force(evaluator, &slide.after, depth - 1, rule)
        });
        moves.reduce(f64::max).unwrap_or(f64::from(scale.lost))
    };
    after.spawns(rule).map(|(spawn, probability)| probability * position(after.place(spawn))).sum()
}

fn brute_force_values<P: Position>(eval: &str, board: &P, depth: u32, rule: &SpawnRule) -> [Option<f64>; 4] {
    let mut evaluator = afterstate_evaluator::build::<P>(&eval.parse::<Spec>().unwrap()).unwrap();
    evaluator.look_from(board);
    let rewards = f64::from(evaluator.scale().rewards);
    Direction::ALL.map(|d| {
        board.slide(d).map(|s| rewards * f64::from(s.reward) + brute_force(&*evaluator, &s.after, depth, rule))
    })
}

fn decide<P: Position>(spec: &str, board: &P, rule: SpawnRule) -> Decision {
    let mut agent = build_from_text::<P>(spec, &Context { rule }).unwrap();
    agent.decide(board, &Budget::OWN, &mut Rng::new(0))
}

fn assert_close(a: [Option<f64>; 4], b: [Option<f64>; 4], what: &str) {
    for (x, y) in a.iter().zip(&b) {
        match (x, y) {
            (None, None) => {}
            (Some(x), Some(y)) => assert!((x - y).abs() <= 1e-6 * y.abs().max(1.0), "{what}: {a:?} is not {b:?}"),
            _ => panic!("{what}: {a:?} is not {b:?}"),
        }
    }
}

fn plain(board: &Board) -> Grid<4, 4> {
    afterstate_board::notation::parse(&board.to_string()).unwrap()
}

#[test]
fn exact_search_equals_brute_force_on_4x4() {
    for (depth, count) in [(0, 2_000), (1, 1_000), (2, 12)] {
        for board in boards::<Board>(count, u64::from(depth)) {
            let expected = brute_force_values("empty", &plain(&board), depth, &SpawnRule::CLASSIC);
            let found = decide(&format!("expectimax:exact=true,depth={depth},eval=empty"), &board, SpawnRule::CLASSIC);
            assert_close(found.values, expected, &format!("{board} depth {depth}"));
        }
    }
}

#[test]
fn exact_search_equals_brute_force_on_small_boards_and_other_rules() {
    let eights: SpawnRule = "2:0.6,4:0.3,8:0.1".parse().unwrap();
    for rule in [SpawnRule::CLASSIC, eights] {
        for board in boards::<Grid<2, 3>>(25, 3) {
            let expected = brute_force_values("empty", &board, 3, &rule);
            let found = decide("expectimax:exact=true,depth=3,eval=empty", &board, rule);
            assert_close(found.values, expected, &board.to_string());
        }
    }
}

#[test]
fn table_and_threads_do_not_change_a_value() {
    for board in boards::<Board>(40, 9) {
        for exact in [true, false] {
            let base = format!("expectimax:exact={exact},depth=3");
            let plain = decide(&format!("{base},table=0"), &board, SpawnRule::CLASSIC);
            for with in ["table=1", "table=16384", "table=0,threads=2", "table=256,threads=3"] {
                let found = decide(&format!("{base},{with}"), &board, SpawnRule::CLASSIC);
                assert_eq!(found.values, plain.values, "{board} {with}, exact={exact}");
            }
        }
    }
}

#[test]
fn threads_that_meet_in_the_middle_find_the_same() {
    for board in boards::<Board>(12, 10) {
        let base = "expectimax:depth=5,room=6,rare=2";
        let plain = decide(base, &board, SpawnRule::CLASSIC);
        for with in ["threads=2", "threads=2,table=1", "threads=5"] {
            let found = decide(&format!("{base},{with}"), &board, SpawnRule::CLASSIC);
            assert_eq!(found.values, plain.values, "{board} {with}");
        }
    }
}

/// The champion sees all boards of a search as it sees the first, in its own way for each search: what an earlier one has found out does not
/// count, though the same boards come up again.
#[test]
fn every_search_sees_its_boards_from_where_it_begins() {
    let late = [
        board!(16384 8192 4096 2048 / 1024 512 256 64 / 64 2 0 0 / 0 0 0 0),
        board!(16384 8192 4096 2048 / 1024 512 256 128 / 2 0 0 0 / 0 0 0 2),
        board!(16384 8192 4096 2048 / 1024 512 256 128 / 2 4 8 16 / 32 32 0 2),
        board!(8192 8192 4096 2048 / 1024 512 256 128 / 2 4 8 16 / 0 0 0 2),
    ];
    let mut agent =
        build_from_text::<Board>("expectimax:exact=true,depth=1,eval=champion", &Context::default()).unwrap();
    for board in late.iter().chain(late.iter().rev()) {
        let expected = brute_force_values("champion", board, 1, &SpawnRule::CLASSIC);
        let found = agent.decide(board, &Budget::OWN, &mut Rng::new(0));
        assert_close(found.values, expected, &board.to_string());
    }
}

#[test]
fn leaves_in_one_call_give_the_same_values() {
    for (eval, depth, count) in [("heuristic", 1, 60), ("heuristic", 2, 20), ("empty", 2, 20), ("snake", 1, 20)] {
        for board in boards::<Board>(count, 11) {
            for exact in [true, false] {
                let base = format!("expectimax:exact={exact},depth={depth},eval={eval}");
                let plain = decide(&base, &board, SpawnRule::CLASSIC);
                let batched = decide(&format!("{base},batch=true"), &board, SpawnRule::CLASSIC);
                assert_eq!(batched.values, plain.values, "{board} {base}");
                assert_eq!(batched.direction, plain.direction, "{board} {base}");
                let report = batched.batch.expect("a batch reports");
                assert!(report.leaves <= report.met && report.leaves > 0, "{report:?}");
                assert!((0.0..1.0).contains(&report.hit_rate()));
            }
        }
    }
}

#[test]
fn the_expected_line_can_be_played() {
    for board in boards::<Board>(20, 12) {
        let mut agent = build_from_text::<Board>("expectimax:depth=3,eval=heuristic", &Context::default()).unwrap();
        let decision = agent.decide(&board, &Budget::OWN, &mut Rng::new(0));
        let line = agent.line(&board, &decision);
        assert_eq!(line.first().map(|step| step.0), decision.direction);
        let mut position = board;
        for (direction, spawn) in line {
            let after = position.slide(direction).expect("the line is legal").after;
            match spawn {
                Some(spawn) => position = after.try_place(spawn).expect("the cell is empty"),
                None => break,
            }
        }
    }
}

/// A full board's one merge, two 65536s, one legal move, no legal move.
#[test]
fn edges_have_the_right_answer() {
    let best = |board: Board| decide("expectimax:depth=2", &board, SpawnRule::CLASSIC).direction;
    assert_eq!(best(board!(2 4 2 4 / 4 2 4 2 / 2 4 2 4 / 4 2 4 2)), None);
    assert!(best(board!(2 4 2 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0)).is_some());
    let two_giants = board!(65536 65536 2 4 / 4 8 16 32 / 2 4 8 16 / 4 8 16 32);
    assert!(matches!(best(two_giants), Some(Direction::Left | Direction::Right)));
    let one_move = board!(0 2 4 8 / 16 32 64 128 / 2 4 8 16 / 4 8 16 32);
    assert_eq!(one_move.legal().len(), 2);
    assert!(best(one_move).is_some());
}

/// Deep expectimax with the true reward is the optimum: 2x2 from two random tiles is known exactly.
#[test]
fn deep_search_solves_the_2x2_game() {
    let rule = SpawnRule::CLASSIC;
    let mut agent =
        build_from_text::<Grid<2, 2>>("expectimax:exact=true,depth=31,eval=zero", &Context::default()).unwrap();
    let mut value = |board: &Grid<2, 2>| {
        let decision = agent.decide(board, &Budget::OWN, &mut Rng::new(0));
        decision.values.iter().flatten().copied().fold(0.0, f64::max)
    };
    let empty = Afterstate::new(Grid::<2, 2>::empty());
    let expected: f64 = empty
        .spawns(&rule)
        .map(|(first, p)| {
            let one = Afterstate::new(empty.place(first));
            p * one.spawns(&rule).map(|(second, q)| q * value(&one.place(second))).sum::<f64>()
        })
        .sum();
    assert!((expected - 66.964_149_457_101_26).abs() < 1e-6, "{expected}");
}

#[test]
fn node_budgets_are_kept_exactly() {
    for board in boards::<Board>(30, 4) {
        for limit in [1, 3, 4, 50, 1_000, 20_000] {
            for batch in [false, true] {
                let spec = format!("expectimax:nodes={limit},batch={batch}");
                let decision = decide(&spec, &board, SpawnRule::CLASSIC);
                assert!(decision.nodes <= limit, "{} of {limit}", decision.nodes);
                assert!(decision.direction.is_some());
            }
        }
    }
}

/// A search that is cut off knows at least what the last one that was not knew, and says so consistently.
#[test]
fn a_search_cut_off_plays_its_best_value() {
    for board in boards::<Board>(60, 21) {
        for limit in [700, 1_500, 4_000, 9_000] {
            let decision = decide(&format!("expectimax:nodes={limit}"), &board, SpawnRule::CLASSIC);
            let best = decision.values.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
            assert_eq!(decision.direction.and_then(|d| decision.values[d.index()]), Some(best), "{board} {limit}");
            let legal = board.legal();
            assert!(Direction::ALL.iter().all(|d| decision.values[d.index()].is_some() == legal.contains(*d)));
        }
    }
}

/// Without a depth it looks further ahead where there is less to look at.
#[test]
fn depth_adapts_to_the_position() {
    let crowded = board!(2 4 8 16 / 4 8 16 32 / 8 16 32 64 / 2 2 64 128);
    let open = board!(0 0 0 0 / 0 2 0 0 / 0 0 4 0 / 256 0 0 2);
    let depth = |board: &Board| decide("expectimax:effort=1000", board, SpawnRule::CLASSIC).depth;
    assert!(depth(&crowded) > depth(&open), "{} and {}", depth(&crowded), depth(&open));
    let at_least = decide("expectimax:depth=2,effort=10000", &crowded, SpawnRule::CLASSIC);
    assert!(at_least.depth > 2 && at_least.nodes >= 10_000, "{at_least:?}");
    assert_eq!(decide("expectimax:depth=2", &crowded, SpawnRule::CLASSIC).depth, 2);
}

/// Leaving moves and rare spawns out changes a search as documented and no other.
#[test]
fn what_is_left_out_can_be_put_back() {
    for board in boards::<Board>(30, 22) {
        let exact = decide("expectimax:depth=2,exact=true", &board, SpawnRule::CLASSIC);
        let twos: SpawnRule = "2:1".parse().unwrap();
        let whole = decide("expectimax:depth=2,margin=1e9", &board, twos);
        assert_eq!(whole.values, decide("expectimax:depth=2,exact=true", &board, twos).values, "no 4s, no margin");
        let less = decide("expectimax:depth=2", &board, SpawnRule::CLASSIC);
        assert!(less.nodes <= exact.nodes, "{board}");
    }
}

/// The optimal expected score of every position of the 2x3 game with tiles up to a limit, by sweeping until nothing changes.
fn value_iteration(start: Grid<2, 3>, horizon: u32, rule: &SpawnRule) -> f64 {
    // Values with `n` moves to go, from 0 up: each sweep reads only the last one.
    let mut layers: Vec<HashMap<Grid<2, 3>, f64>> = vec![HashMap::new(); horizon as usize + 1];
    layers[horizon as usize].insert(start, 0.0);
    for to_go in (1..=horizon as usize).rev() {
        let boards: Vec<_> = layers[to_go].keys().copied().collect();
        for slide in boards.iter().flat_map(|board| Direction::ALL.into_iter().filter_map(|d| board.slide(d))) {
            for (spawn, _) in slide.after.spawns(rule) {
                layers[to_go - 1].insert(slide.after.place(spawn), 0.0);
            }
        }
    }
    for to_go in 1..=horizon as usize {
        let (below, above) = layers.split_at_mut(to_go);
        for (board, value) in &mut above[0] {
            let of = |slide: Slide<Grid<2, 3>>| {
                let later = slide.after.spawns(rule).map(|(s, p)| p * below[to_go - 1][&slide.after.place(s)]);
                f64::from(slide.reward) + later.sum::<f64>()
            };
            *value = Direction::ALL.into_iter().filter_map(|d| board.slide(d)).map(of).fold(0.0, f64::max);
        }
    }
    layers[horizon as usize][&start]
}

/// Expectimax `d` spawns deep with the true reward is value iteration with `d + 1` moves to go, and on a board near its end both
/// are the optimum: more depth changes nothing.
#[test]
fn deep_search_converges_to_value_iteration_on_2x3() {
    let rule = SpawnRule::CLASSIC;
    let best = |board: &Grid<2, 3>, depth: u32| {
        let spec = format!("expectimax:exact=true,depth={depth},eval=zero,table=4096");
        decide(&spec, board, rule).values.into_iter().flatten().fold(0.0, f64::max)
    };
    for board in boards::<Grid<2, 3>>(12, 23) {
        for depth in [0, 3, 7] {
            let (found, expected) = (best(&board, depth), value_iteration(board, depth + 1, &rule));
            assert!((found - expected).abs() <= 1e-6 * expected.max(1.0), "{board} depth {depth}: {found}, {expected}");
        }
    }
    let late = afterstate_board::notation::parse::<Grid<2, 3>>("678/254").unwrap();
    let (found, optimum) = (best(&late, 31), value_iteration(late, 40, &rule));
    assert!((found - optimum).abs() < 1e-3 * optimum.max(1.0), "{found} at depth 31, {optimum} with 40 moves to go");
}
