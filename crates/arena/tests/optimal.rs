//! Simulated perfect play against what its solution promises, and how far from it others are.

use afterstate_agent::{Context, build_from_text};
use afterstate_arena::report::Report;
use afterstate_arena::{Evaluation, Results, Setup};
use afterstate_board::{Grid, Position, SpawnRule};
use afterstate_evaluator::exact::{Goal, Problem, Solution};

fn play<P: Position>(agent: &str, games: u64) -> Results {
    let build = || build_from_text::<P>(agent, &Context::default());
    Evaluation::new(Setup::new(agent, 3), games).run(build, |_, _| Ok(())).unwrap()
}

fn promised<P: Position>(goal: Goal) -> f64 {
    let problem = Problem::of::<P>(SpawnRule::CLASSIC, goal).unwrap();
    Solution::in_memory(&problem, 1_000_000).unwrap().brief().start_value
}

/// `benchmarks/2026-11-16-solve` has ten million games.
#[test]
fn simulated_games_keep_what_the_solution_promises() {
    let summary = play::<Grid<2, 3>>("optimal", 50_000).summary().unwrap();
    let (optimum, [low, high]) = (promised::<Grid<2, 3>>(Goal::Score), summary.score.ci95.unwrap());
    assert!((low..=high).contains(&optimum), "{optimum} is not from {low} to {high}");
    let summary = play::<Grid<2, 3>>("optimal:goal=128", 20_000).summary().unwrap();
    let (probability, [low, high]) = (promised::<Grid<2, 3>>(Goal::Tile(7)), summary.reach[&128].ci95);
    assert!((low..=high).contains(&probability), "{probability} is not from {low} to {high}");
}

#[test]
fn reports_say_how_far_from_perfect_an_agent_is() {
    let (random, search) = (play::<Grid<2, 2>>("random", 400), play::<Grid<2, 2>>("expectimax:depth=3", 400));
    let [weak, strong] = [&random, &search].map(|results| results.summary().unwrap().optimal.unwrap());
    assert!((weak.optimum - 66.964_149_457_101_26).abs() < 1e-9);
    assert!(weak.share < strong.share && strong.share > 0.9 && strong.share < 1.1, "{weak} and {strong}");
    let report = Report::new([&random, &search]);
    assert!(report.markdown().contains("| of optimal |") && report.markdown().contains("% of 66.96 |"));
    assert!(report.html().contains("of optimal"));
    let json = serde_json::to_value(random.summary().unwrap()).unwrap();
    assert_eq!(json["optimal"]["share"], weak.share);
}

/// Games that begin elsewhere, or boards whose optimum nobody knows, are compared with nothing.
#[test]
fn other_games_are_not_compared() {
    let build = || build_from_text::<Grid<2, 2>>("random", &Context::default());
    let setup = Setup { starts: vec!["1111".into()], ..Setup::new("random", 1) };
    let results = Evaluation::new(setup, 5).run(build, |_, _| Ok(())).unwrap();
    assert_eq!(results.summary().unwrap().optimal, None);
    let large = play::<Grid<3, 4>>("random", 5);
    assert_eq!(large.summary().unwrap().optimal, None);
    assert!(!Report::new([&large]).markdown().contains("optimal"));
}
