//! Monte-Carlo searches: golden trees, budgets, and that they find what a longer look would find.

use std::collections::HashMap;

use afterstate_agent::{Budget, Context, Decision, build_from_text};
use afterstate_board::{Board, Direction, Grid, Position, Rng, Slide, SpawnRule, board};

/// Evaluators without tuned weights, so that tuning does not change the golden trees.
const SEARCHES: [&str; 12] = [
    "flat-mc",
    "uct",
    "uct:spawns=pooled",
    "uct:spawns=selected",
    "uct:eval=empty,rollout_depth=0",
    "mcts:rollout_depth=10,eval=snake",
    "mcts:rollout_depth=10,eval=snake,spawns=sampled,returns=value",
    "mcts:rollout_depth=5,spawns=selected,eval=snake",
    "puct",
    "puct:spawn=explicit,c=3",
    "puct:root=gumbel",
    "puct:root=gumbel,spawn=explicit,eval=snake",
];

fn with(spec: &str, setting: &str) -> String {
    format!("{spec}{}{setting}", if spec.contains(':') { ',' } else { ':' })
}

fn decide<P: Position>(spec: &str, board: &P, seed: u64) -> Decision {
    let mut agent = build_from_text::<P>(spec, &Context::default()).unwrap();
    agent.decide(board, &Budget::OWN, &mut Rng::new(seed))
}

fn midgame() -> Board {
    board!(2 4 8 2 / 0 16 32 4 / 0 2 64 8 / 0 0 128 256)
}

/// One line a tree: specification, board, seed, visits and mean values of the root's moves.
fn line(spec: &str, board: &Board, seed: u64) -> String {
    let decision = decide(spec, board, seed);
    let visits = decision.visits.map(|n| n.to_string()).join(" ");
    let values = decision.values.map(|value| value.map_or("-".to_owned(), |value| format!("{value:.6}"))).join(" ");
    format!("{spec}; {board}; {seed}; {visits}; {values}")
}

/// A change here changes what every record with these agents means. To accept one, delete the file and run the test again.
#[test]
fn trees_are_those_of_the_golden_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/trees.txt");
    let near_the_end = board!(2 4 8 2 / 4 16 32 4 / 2 8 64 8 / 0 4 128 256);
    let mut lines = vec!["# specification; board; seed; visits and values: left right up down".to_owned()];
    for spec in SEARCHES {
        for (board, seed, simulations) in [(midgame(), 1, 60), (midgame(), 2, 400), (near_the_end, 3, 200)] {
            lines.push(line(&with(spec, &format!("simulations={simulations}")), &board, seed));
        }
    }
    let Ok(golden) = std::fs::read_to_string(path) else {
        std::fs::write(path, lines.join("\n") + "\n").unwrap();
        panic!("there was no golden file; it is written now");
    };
    assert_eq!(golden.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn visits_add_up_to_the_simulations() {
    for spec in SEARCHES {
        for simulations in [1, 2, 3, 7, 100, 1_001] {
            let decision = decide(&with(spec, &format!("simulations={simulations}")), &midgame(), 5);
            assert_eq!(decision.visits.iter().sum::<u64>(), simulations, "{spec}");
        }
    }
}

#[test]
fn node_budgets_are_kept() {
    for spec in SEARCHES {
        let mut agent = build_from_text::<Board>(spec, &Context::default()).unwrap();
        for limit in [0, 1, 2, 10, 333, 5_000] {
            let budget = Budget { nodes: Some(limit), ..Budget::OWN };
            let decision = agent.decide(&midgame(), &budget, &mut Rng::new(1));
            assert!(decision.nodes <= limit, "{spec}: {} of {limit}", decision.nodes);
            assert!(decision.direction.is_some_and(|d| midgame().legal().contains(d)), "{spec}");
        }
    }
}

/// One move merges two 65536s, any other loses the game at once or soon.
#[test]
fn searches_take_what_is_offered() {
    let giants = board!(65536 65536 2 4 / 4 8 16 32 / 2 4 8 16 / 4 8 16 32);
    for spec in SEARCHES.into_iter().filter(|spec| !spec.contains("value")) {
        let found = decide(spec, &giants, 1).direction;
        assert!(matches!(found, Some(Direction::Left | Direction::Right)), "{spec}: {found:?}");
    }
}

/// With the true reward and many simulations the value at the root of a small game comes close to its optimum.
#[test]
fn sampled_trees_converge_on_a_small_game() {
    let corner: Grid<2, 2> = "4 2 / 0 2".parse().unwrap();
    let optimum = {
        let mut agent =
            build_from_text::<Grid<2, 2>>("expectimax:exact=true,depth=31,eval=zero", &Context::default()).unwrap();
        let values = agent.decide(&corner, &Budget::OWN, &mut Rng::new(0)).values;
        values.into_iter().flatten().fold(0.0, f64::max)
    };
    let decision = decide("uct:simulations=200000,c=1", &corner, 1);
    let value = decision.values.into_iter().flatten().fold(0.0, f64::max);
    assert!((value - optimum).abs() < 0.03 * optimum, "{value} is not near {optimum}");
}

/// Mean score of some games on 3x3 boards: small enough to play many.
fn mean_score(spec: &str, games: u64) -> f64 {
    let rule = SpawnRule::CLASSIC;
    let mut total = 0;
    let mut agent = build_from_text::<Grid<3, 3>>(spec, &Context::default()).unwrap();
    for game in 0..games {
        let (mut spawns, mut own) = (Rng::stream(1, game, 0), Rng::stream(1, game, 1));
        let mut position = Grid::<3, 3>::start(&rule, &mut spawns);
        agent.new_game();
        while let Some(direction) = agent.decide(&position, &Budget::OWN, &mut own).direction {
            let slide = position.slide(direction).unwrap();
            total += u64::from(slide.reward);
            position = slide.after.sample(&rule, &mut spawns);
        }
    }
    total as f64 / games as f64
}

/// The differences are several standard errors wide; the thousand games of the experiment are in `benchmarks/`.
#[test]
fn more_simulations_play_better() {
    for spec in ["flat-mc", "uct", "mcts:rollout_depth=8"] {
        let [few, many] = [3, 60].map(|n| mean_score(&with(spec, &format!("simulations={n}")), 60));
        assert!(many > 1.15 * few, "{spec}: {few} points with few simulations, {many} with many");
    }
}

/// The value of a position under perfect play, by plain recursion.
fn exact(position: Grid<2, 2>, known: &mut HashMap<Grid<2, 2>, f64>) -> f64 {
    if let Some(&value) = known.get(&position) {
        return value;
    }
    let worth = |slide: Slide<Grid<2, 2>>, known: &mut HashMap<_, _>| {
        let spawns: Vec<_> = slide.after.spawns(&SpawnRule::CLASSIC).collect();
        let later: f64 = spawns.into_iter().map(|(spawn, p)| p * exact(slide.after.place(spawn), known)).sum();
        f64::from(slide.reward) + later
    };
    let best = Direction::ALL.into_iter().filter_map(|d| position.slide(d)).map(|slide| worth(slide, known));
    let value = best.fold(0.0, f64::max);
    known.insert(position, value);
    value
}

/// Nothing but rewards on the way and the end of the game: what a search knows it has found itself.
#[test]
fn explicit_spawns_lead_to_the_exact_value() {
    let mut known = HashMap::new();
    for text in ["13/24", "12/34", "01/23", "11/34", "45/10"] {
        let position: Grid<2, 2> = text.parse().unwrap();
        let decision = decide("puct:spawn=explicit,eval=zero,c=0.5,simulations=60000", &position, 1);
        let found = decision.values.into_iter().flatten().fold(0.0, f64::max);
        let expected = exact(position, &mut known);
        assert!((found - expected).abs() < 0.02 * expected + 0.2, "{text}: {found}, {expected}");
    }
}
