//! Minimax against a brute-force recursion over the plain grid, and against itself with every shortcut switched.

mod positions;

use std::time::{Duration, Instant};

use afterstate_agent::{Budget, Context, Decision, build_from_text};
use afterstate_board::{Afterstate, Board, Direction, Grid, Position, Rng, SpawnRule, board, notation};
use afterstate_evaluator::{BoxedEvaluator, Spec};
use positions::boards;

/// The definition, word for word: nothing is left out.
fn brute_force<P: Position>(evaluator: &BoxedEvaluator<P>, after: &Afterstate<P>, depth: u32, rule: &SpawnRule) -> f64 {
    if depth == 0 {
        return f64::from(evaluator.value(after));
    }
    let replies = after.spawns(rule).map(|(spawn, _)| {
        let values = move_values(evaluator, &after.place(spawn), depth - 1, rule);
        values.into_iter().flatten().reduce(f64::max).unwrap_or(f64::from(evaluator.scale().lost))
    });
    replies.fold(f64::INFINITY, f64::min)
}

fn move_values<P: Position>(
    evaluator: &BoxedEvaluator<P>,
    board: &P,
    depth: u32,
    rule: &SpawnRule,
) -> [Option<f64>; 4] {
    let rewards = f64::from(evaluator.scale().rewards);
    Direction::ALL.map(|direction| {
        let slide = board.slide(direction)?;
        Some(rewards * f64::from(slide.reward) + brute_force(evaluator, &slide.after, depth, rule))
    })
}

fn decide<P: Position>(spec: &str, board: &P, rule: SpawnRule) -> Decision {
    let mut agent = build_from_text::<P>(spec, &Context { rule }).unwrap();
    agent.decide(board, &Budget::OWN, &mut Rng::new(0))
}

fn check<P: Position, Q: Position>(eval: &str, found: &[P], plain: &[Q], depth: u32, rule: SpawnRule) {
    let evaluator = afterstate_evaluator::build::<Q>(&eval.parse::<Spec>().unwrap()).unwrap();
    let settings: String = eval.replacen(':', ",", 1).replace("weight=", "eval.weight=");
    for (board, plain) in found.iter().zip(plain) {
        let expected = move_values(&evaluator, plain, depth, &rule);
        for exact in [true, false] {
            let spec = format!("minimax:depth={depth},exact={exact},eval={settings}");
            let decision = decide(&spec, board, rule);
            for (value, expected) in decision.values.iter().zip(expected) {
                match (value, expected) {
                    (None, None) => {}
                    (Some(v), Some(e)) => assert!((v - e).abs() < 1e-6, "{spec} on {board}: {v}, expected {e}"),
                    _ => panic!("{spec} on {board}: {:?}, expected {expected:?}", decision.values),
                }
            }
            assert_eq!(decision.depth, depth);
        }
    }
}

#[test]
fn values_equal_brute_force_on_4x4() {
    for (depth, count) in [(0, 2_000), (1, 1_000), (2, 40)] {
        let found = boards::<Board>(count, u64::from(depth));
        let plain: Vec<Grid<4, 4>> = found.iter().map(|board| notation::parse(&board.to_string()).unwrap()).collect();
        check("empty", &found, &plain, depth, SpawnRule::CLASSIC);
    }
}

#[test]
fn values_equal_brute_force_on_small_boards_and_other_rules() {
    let eights: SpawnRule = "2:0.6,4:0.3,8:0.1".parse().unwrap();
    for rule in [SpawnRule::CLASSIC, eights] {
        let two = boards::<Grid<2, 2>>(500, 1);
        let three = boards::<Grid<2, 3>>(150, 2);
        for depth in 0..=3 {
            check("empty:weight=7.3", &two, &two, depth, rule);
            check("zero", &three, &three, depth, rule);
        }
        check("empty:weight=-3", &two[..100], &two[..100], 5, rule);
    }
}

#[test]
fn threads_change_neither_values_nor_repeatability() {
    for board in boards::<Board>(20, 9) {
        let one = decide("minimax:depth=3", &board, SpawnRule::CLASSIC);
        for threads in [2, 5, 64] {
            let spec = format!("minimax:depth=3,threads={threads}");
            let found = decide(&spec, &board, SpawnRule::CLASSIC);
            assert_eq!((found.values, found.direction), (one.values, one.direction), "{spec} on {board}");
            assert_eq!(decide(&spec, &board, SpawnRule::CLASSIC), found, "{spec} on {board}");
        }
    }
}

#[test]
fn node_budgets_are_kept() {
    for board in boards::<Board>(30, 4) {
        for limit in [1, 3, 4, 5, 50, 1_000, 20_000] {
            for threads in [1, 2] {
                let spec = format!("minimax:nodes={limit},threads={threads}");
                let decision = decide(&spec, &board, SpawnRule::CLASSIC);
                assert!(decision.nodes <= limit, "{} of {limit}", decision.nodes);
                assert!(decision.direction.is_some());
            }
        }
    }
}

/// Time this thread has spent on a processor, exact to a few milliseconds: on a shared machine the fair measure of a budget.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(0))
}

#[test]
fn time_budgets_are_kept() {
    let mut spent: Vec<Duration> = boards::<Board>(15, 5)
        .iter()
        .map(|board| {
            let mut agent = build_from_text::<Board>("minimax:ms=30", &Context::default()).unwrap();
            let (began, before) = (Instant::now(), processor_time());
            agent.decide(board, &Budget::OWN, &mut Rng::new(0));
            began.elapsed().min(processor_time() - before)
        })
        .collect();
    spent.sort();
    // 10% + 2 ms, and a tick of the scheduler.
    assert!(spent[13] < Duration::from_millis(30 + 3 + 2 + 4), "{spent:?}");
}

#[test]
fn edges_have_the_right_answer() {
    let best = |board: Board| decide("minimax:depth=2", &board, SpawnRule::CLASSIC).direction;
    assert_eq!(best(board!(2 4 2 4 / 4 2 4 2 / 2 4 2 4 / 4 2 4 2)), None);
    let giants = board!(65536 65536 2 4 / 4 8 16 32 / 2 4 8 16 / 4 8 16 32);
    assert!(matches!(best(giants), Some(Direction::Left | Direction::Right)));
    let one_move = board!(2 4 2 0 / 4 8 4 2 / 2 4 2 4 / 4 2 4 8);
    assert!(one_move.legal().contains(best(one_move).unwrap()));
}
