//! Beam search: one level by hand, repeatability, budgets, and what a wider look is worth.

use afterstate_agent::{Budget, Context, Decision, build_from_text};
use afterstate_board::{Board, Direction, Position, Rng, SpawnRule, board};
use afterstate_evaluator::Evaluator;

fn decide(spec: &str, board: &Board, seed: u64) -> Decision {
    let mut agent = build_from_text::<Board>(spec, &Context::default()).unwrap();
    agent.decide(board, &Budget::OWN, &mut Rng::new(seed))
}

fn midgame() -> Board {
    board!(2 4 8 2 / 0 16 32 4 / 0 2 64 8 / 0 0 128 0)
}

#[test]
fn depth_zero_is_greedy() {
    for eval in ["empty", "snake", "heuristic"] {
        let (beam, greedy) = (format!("beam:depth=0,eval={eval}"), format!("greedy:eval={eval}"));
        assert_eq!(decide(&beam, &midgame(), 1).values, decide(&greedy, &midgame(), 1).values);
    }
}

/// One level with room for all: each move with its sampled spawn, judged by its best reply.
#[test]
fn one_level_by_hand() {
    let evaluator: Box<dyn Evaluator<Board>> = afterstate_evaluator::build(&"empty".parse().unwrap()).unwrap();
    for seed in 0..50 {
        let mut rng = Rng::new(seed);
        let expected = Direction::ALL.map(|d| {
            let slide = midgame().slide(d)?;
            let next = slide.after.sample(&SpawnRule::CLASSIC, &mut rng);
            let replies = Direction::ALL.into_iter().filter_map(|d| next.slide(d));
            let values = replies.map(|reply| reply.reward as f32 + evaluator.value(&reply.after));
            Some(f64::from(slide.reward) + f64::from(values.reduce(f32::max).unwrap_or(0.0)))
        });
        let decision = decide("beam:depth=1,eval=empty", &midgame(), seed);
        assert_eq!((decision.values, decision.depth), (expected, 1));
    }
}

#[test]
fn a_seed_names_the_search() {
    for spec in ["beam", "beam:depth=7,width=3", "beam:hybrid=true", "beam:hybrid=true,w_corner=100,w_value=0"] {
        assert_eq!(decide(spec, &midgame(), 4), decide(spec, &midgame(), 4), "{spec}");
        let values: Vec<_> = (0..20).map(|seed| decide(spec, &midgame(), seed).values).collect();
        assert!(values.iter().any(|other| *other != values[0]), "{spec}: spawns are not sampled");
    }
}

#[test]
fn node_budgets_are_kept() {
    let mut agent = build_from_text::<Board>("beam:depth=50", &Context::default()).unwrap();
    for limit in [4, 30, 500, 3_000] {
        let budget = Budget { nodes: Some(limit), ..Budget::OWN };
        let decision = agent.decide(&midgame(), &budget, &mut Rng::new(1));
        assert!(decision.nodes <= limit && decision.direction.is_some(), "{} of {limit}", decision.nodes);
    }
}

#[test]
fn features_change_the_choice_of_the_hybrid() {
    let corner = board!(0 128 0 0 / 0 0 0 0 / 0 2 0 0 / 0 0 0 0);
    let spec = "beam:depth=1,hybrid=true,w_value=0,w_empty=0,w_mono=0,w_smooth=0,w_corner=1,eval=zero";
    assert!(matches!(decide(spec, &corner, 1).direction, Some(Direction::Left | Direction::Right)));
}

#[test]
fn edges_have_the_right_answer() {
    assert_eq!(decide("beam", &board!(2 4 2 4 / 4 2 4 2 / 2 4 2 4 / 4 2 4 2), 1).direction, None);
    let giants = board!(65536 65536 2 4 / 4 8 16 32 / 2 4 8 16 / 4 8 16 32);
    assert!(matches!(decide("beam", &giants, 1).direction, Some(Direction::Left | Direction::Right)));
}
