//! Beam search: one level by hand, repeatability, budgets, and what a wider look is worth.

use afterstate_agent::{Budget, Context, Decision, build_from_text};
use afterstate_board::{Afterstate, Board, Direction, Position, Rng, Slide, Spawn, SpawnRule, board};
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

/// What a move is worth with means over all spawns, where the best reply by the evaluator is followed and no other.
fn mean(after: &Afterstate<Board>, depth: u32, evaluator: &dyn Evaluator<Board>) -> f64 {
    let rewards = f64::from(evaluator.scale().rewards);
    if depth == 0 {
        return f64::from(evaluator.value(after));
    }
    let spawn = |(spawn, chance): (Spawn, f64)| {
        let replies: Vec<_> = after.board().place(spawn).slides().iter().map(|(_, slide)| slide).collect();
        let alone = |slide: &Slide<Board>| rewards * f64::from(slide.reward) + f64::from(evaluator.value(&slide.after));
        let best = replies.iter().map(alone).reduce(f64::max);
        let followed = replies.iter().position(|slide| Some(alone(slide)) == best);
        let worth = |(i, slide): (usize, &Slide<Board>)| match Some(i) == followed {
            true => rewards * f64::from(slide.reward) + mean(&slide.after, depth - 1, evaluator),
            false => alone(slide),
        };
        chance * replies.iter().enumerate().map(worth).reduce(f64::max).unwrap_or(f64::from(evaluator.scale().lost))
    };
    after.spawns(&SpawnRule::CLASSIC).map(spawn).sum()
}

#[test]
fn means_equal_a_plain_recursion() {
    let evaluator: Box<dyn Evaluator<Board>> = afterstate_evaluator::build(&"heuristic".parse().unwrap()).unwrap();
    let rewards = f64::from(evaluator.scale().rewards);
    let crowded = board!(2 4 8 2 / 4 16 32 4 / 8 2 64 8 / 2 4 128 0);
    for (board, depth) in [(midgame(), 1), (midgame(), 2), (crowded, 1), (crowded, 3)] {
        let spec = format!("beam:average=true,depth={depth},width=1000000,eval=heuristic");
        let values = decide(&spec, &board, 1).values;
        for direction in Direction::ALL {
            let (found, slide) = (values[direction.index()], board.slide(direction));
            let expected =
                slide.map(|slide| rewards * f64::from(slide.reward) + mean(&slide.after, depth, &*evaluator));
            assert_eq!(found.is_some(), expected.is_some());
            let off = found.zip(expected).map_or(0.0, |(found, expected)| (found - expected).abs() / expected.abs());
            assert!(off < 1e-9, "{direction} of {board}, depth {depth}: {found:?}, not {expected:?}");
        }
    }
    // One spawn ahead nothing is left out.
    let [fair, exact] = ["beam:average=true,depth=1,eval=heuristic", "expectimax:depth=1,exact=true,eval=heuristic"]
        .map(|spec| decide(spec, &midgame(), 1));
    assert_eq!(fair.direction, exact.direction);
    for (fair, exact) in fair.values.iter().flatten().zip(exact.values.iter().flatten()) {
        assert!((fair - exact).abs() < 1e-3 * exact.abs(), "{fair} and {exact}");
    }
}

/// Two spawns ahead with room for one position: the likeliest, of equals the one that looks worst.
#[test]
fn a_narrow_beam_follows_the_likeliest_and_the_worst() {
    let evaluator: Box<dyn Evaluator<Board>> = afterstate_evaluator::build(&"heuristic".parse().unwrap()).unwrap();
    let rewards = f64::from(evaluator.scale().rewards);
    let alone = |slide: &Slide<Board>| rewards * f64::from(slide.reward) + f64::from(evaluator.value(&slide.after));
    for board in [midgame(), board!(2 4 8 2 / 4 16 32 4 / 8 2 64 8 / 2 4 128 0)] {
        // The positions after each first move: its index, their chance, and their replies, the best by the evaluator first.
        let mut spots: Vec<(usize, f64, Vec<Slide<Board>>)> = Vec::new();
        for (direction, slide) in board.slides().iter() {
            for (spawn, chance) in slide.after.spawns(&SpawnRule::CLASSIC) {
                let next = slide.after.board().place(spawn).slides();
                let mut replies: Vec<Slide<Board>> = next.iter().map(|(_, reply)| reply).collect();
                replies.sort_by(|a, b| alone(b).total_cmp(&alone(a)));
                spots.push((direction.index(), chance, replies));
            }
        }
        let open = (0..spots.len()).filter(|&i| !spots[i].2.is_empty());
        let first = |&a: &usize, &b: &usize| {
            let (a, b) = (&spots[a], &spots[b]);
            b.1.total_cmp(&a.1).then(alone(&a.2[0]).total_cmp(&alone(&b.2[0])))
        };
        let followed = open.min_by(first).unwrap();
        let worth = |i: usize| {
            let further = |reply: &Slide<Board>| rewards * f64::from(reply.reward) + mean(&reply.after, 1, &*evaluator);
            let of_reply = |(n, reply)| if (i, n) == (followed, 0) { further(reply) } else { alone(reply) };
            let worths = spots[i].2.iter().enumerate().map(of_reply);
            worths.reduce(f64::max).unwrap_or(f64::from(evaluator.scale().lost))
        };
        let decision = decide("beam:average=true,depth=2,width=1,eval=heuristic", &board, 1);
        assert_eq!(decision.depth, 2);
        for (direction, slide) in board.slides().iter() {
            let own = (0..spots.len()).filter(|&i| spots[i].0 == direction.index());
            let expected = rewards * f64::from(slide.reward) + own.map(|i| spots[i].1 * worth(i)).sum::<f64>();
            let found = decision.values[direction.index()].unwrap();
            assert!((found - expected).abs() < 1e-9 * expected.abs(), "{direction}: {found}, not {expected}");
        }
    }
}

#[test]
fn a_fair_beam_keeps_to_its_time() {
    let began = std::time::Instant::now();
    let decision = decide("beam:average=true,depth=1000,width=1000000,ms=5", &midgame(), 1);
    assert!(decision.direction.is_some() && decision.depth >= 1);
    assert!(began.elapsed().as_millis() < 2_000, "{:?}", began.elapsed());
}

#[test]
fn a_fair_beam_draws_nothing_and_is_narrow() {
    let spec = "beam:average=true,depth=5,width=3";
    assert_eq!(decide(spec, &midgame(), 1), decide(spec, &midgame(), 2));
    let (narrow, wide) =
        (decide(spec, &midgame(), 1).nodes, decide("beam:average=true,depth=5,width=30", &midgame(), 1).nodes);
    assert!(4 * narrow < wide, "{narrow} and {wide}");
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
    for spec in ["beam:depth=50", "beam:depth=50,average=true"] {
        let mut agent = build_from_text::<Board>(spec, &Context::default()).unwrap();
        for limit in [4, 30, 500, 3_000] {
            let budget = Budget { nodes: Some(limit), ..Budget::OWN };
            let decision = agent.decide(&midgame(), &budget, &mut Rng::new(1));
            assert!(decision.nodes <= limit && decision.direction.is_some(), "{spec}: {} of {limit}", decision.nodes);
        }
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
    let giants = board!(65536 65536 2 4 / 4 8 16 32 / 2 4 8 16 / 4 8 16 32);
    for spec in ["beam", "beam:average=true"] {
        assert_eq!(decide(spec, &board!(2 4 2 4 / 4 2 4 2 / 2 4 2 4 / 4 2 4 2), 1).direction, None);
        assert!(matches!(decide(spec, &giants, 1).direction, Some(Direction::Left | Direction::Right)));
    }
}
