//! Expectimax against a brute-force recursion over the plain grid, and against itself with every shortcut switched.

mod positions;

use afterstate_agent::{Budget, Context, Decision, build_from_text};
use afterstate_board::{Afterstate, Board, Direction, Grid, Position, Rng, SpawnRule, board};
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
    let evaluator = afterstate_evaluator::build::<P>(&eval.parse::<Spec>().unwrap()).unwrap();
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
            let base = format!("expectimax:exact={exact},depth=2");
            let plain = decide(&format!("{base},table=0"), &board, SpawnRule::CLASSIC);
            for with in ["table=1", "table=16384", "table=0,threads=2", "table=256,threads=3"] {
                let found = decide(&format!("{base},{with}"), &board, SpawnRule::CLASSIC);
                assert_eq!(found.values, plain.values, "{board} {with}, exact={exact}");
            }
        }
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
            let decision = decide(&format!("expectimax:nodes={limit}"), &board, SpawnRule::CLASSIC);
            assert!(decision.nodes <= limit.max(4), "{} of {limit}", decision.nodes);
            assert!(decision.direction.is_some());
        }
    }
}
