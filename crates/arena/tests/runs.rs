//! Runs: the same games whatever the threads and shards; clean ends; errors instead of panics.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;

use afterstate_agent::{Agent, BoxedAgent, Budget, Context, Decision, SpecError, build_from_text};
use afterstate_arena::{Evaluation, Game, Live, PlayError, Results, RunError, Setup, Shard, compare, play_game};
use afterstate_board::{Board, Direction, Grid, Position, Rng, SpawnRule, potential};
use proptest::prelude::*;

fn evaluate<P: Position>(evaluation: &Evaluation) -> Results {
    let Setup { agent, rule, .. } = &evaluation.setup;
    evaluation.run(|| build_from_text::<P>(agent, &Context { rule: *rule }), |_, _| Ok(())).unwrap()
}

fn results(agent: &str, seed: u64, games: u64) -> Results {
    evaluate::<Board>(&Evaluation::new(Setup::new(agent, seed), games))
}

/// All but the time, as scripts see it.
fn summary_text(results: &Results) -> String {
    let mut summary = results.summary().unwrap();
    (summary.timing.seconds, summary.timing.moves_per_second) = (0.0, 0.0);
    serde_json::to_string(&summary).unwrap()
}

#[test]
fn threads_and_shards_change_nothing() {
    let whole = Evaluation { threads: 1, ..Evaluation::new(Setup::new("random", 5), 60) };
    let one = evaluate::<Board>(&whole);
    for threads in [2, 5] {
        let many = evaluate::<Board>(&Evaluation { threads, ..whole.clone() });
        assert_eq!(summary_text(&many), summary_text(&one));
    }
    let parts = (0..7).flat_map(|index| {
        let shard = Shard::new(index, 7).unwrap();
        evaluate::<Board>(&Evaluation { shard, ..whole.clone() }).outcomes().to_vec()
    });
    assert_eq!(summary_text(&Results::new(one.header().clone(), parts).unwrap()), summary_text(&one));
    let other = evaluate::<Board>(&Evaluation::new(Setup::new("random", 6), 60));
    assert_ne!(other.fingerprint(), one.fingerprint());
}

/// The plain grid and the fast board play the same games.
#[test]
fn both_boards_have_the_same_fingerprint() {
    let evaluation = Evaluation::new(Setup::new("greedy", 8), 20);
    assert_eq!(evaluate::<Board>(&evaluation).fingerprint(), evaluate::<Grid<4, 4>>(&evaluation).fingerprint());
}

#[test]
fn played_games_are_not_played_again() {
    let all = results("random", 5, 30);
    let mut evaluation = Evaluation::new(Setup::new("random", 5), 30);
    evaluation.played = all.outcomes().iter().filter(|outcome| outcome.index % 3 == 0).copied().collect();
    let mut last = None;
    let sink = |game: Game<Board>, progress: &_| {
        assert_ne!(game.index % 3, 0);
        last = Some(*progress);
        Ok(())
    };
    let resumed = evaluation.run(|| build_from_text("random", &Context::default()), sink).unwrap();
    assert_eq!(summary_text(&resumed), summary_text(&all));
    let last = last.unwrap();
    assert_eq!((last.done, last.total, last.resumed), (30, 30, 10));
    assert_eq!(last.mean_score, all.summary().unwrap().score.mean);
    assert!(last.remaining().is_some_and(|left| left.is_zero()));
}

#[test]
fn shards_cover_all_games_once() {
    for (games, count) in [(10, 1), (10, 3), (2, 5), (1, 1)] {
        let mut all: Vec<u64> = (0..count).flat_map(|i| Shard::new(i, count).unwrap().indices(games)).collect();
        all.sort_unstable();
        assert_eq!(all, (0..games).collect::<Vec<_>>());
    }
    for bad in ["", "1", "2/2", "0/0", "-1/2", "a/b", "1/2/3"] {
        let error = bad.parse::<Shard>().unwrap_err().to_string();
        assert!(error.starts_with(&format!("'{bad}' is not a shard")), "{error}");
    }
    let last = Shard::new(u64::MAX - 1, u64::MAX).unwrap();
    assert_eq!(last.indices(u64::MAX).collect::<Vec<_>>(), [u64::MAX - 1]);
}

#[test]
fn cancelling_keeps_the_finished_games() {
    let evaluation = Evaluation::new(Setup::new("random", 5), u64::MAX);
    let cancel = evaluation.cancel.clone();
    let sink = |_: Game<Board>, progress: &afterstate_arena::Progress| {
        if progress.done == 10 {
            cancel.store(true, Ordering::Relaxed);
        }
        Ok(())
    };
    let some = evaluation.run(|| build_from_text("random", &Context::default()), sink).unwrap();
    assert!(some.outcomes().len() >= 10);
    assert!(some.outcomes().iter().all(|outcome| outcome.over));
    let none = evaluation.run::<Board>(|| build_from_text("random", &Context::default()), |_, _| Ok(())).unwrap();
    assert!(none.outcomes().is_empty() && none.summary().is_none());
}

/// An agent that plays any legal move until a fixed score, then misbehaves.
#[derive(Clone, Copy)]
enum Rogue {
    Illegal,
    Silent,
    Panics,
}

impl Agent<Board> for Rogue {
    fn decide(&mut self, position: &Board, _: &Budget, _: &mut Rng) -> Decision {
        let legal = position.legal();
        let illegal = Direction::ALL.into_iter().find(|&d| !legal.contains(d));
        let direction = match (self, illegal) {
            (_, None) => Some(legal.nth(0)),
            (Self::Illegal, illegal) => illegal,
            (Self::Silent, _) => None,
            (Self::Panics, _) => panic!("no move on {position}"),
        };
        Decision { direction, ..Decision::default() }
    }

    fn unit(&self) -> &'static str {
        "none"
    }
}

#[test]
fn a_broken_agent_is_an_error_that_names_it() {
    let error = |rogue: Rogue| {
        let evaluation = Evaluation { threads: 2, ..Evaluation::new(Setup::new("rogue:x=1", 5), 100) };
        evaluation.run(|| Ok(Box::new(rogue) as BoxedAgent<Board>), |_, _| Ok(())).unwrap_err()
    };
    assert!(matches!(error(Rogue::Illegal), RunError::Play(PlayError::Illegal { .. })));
    assert!(matches!(error(Rogue::Silent), RunError::Play(PlayError::NoMove { .. })));
    for rogue in [Rogue::Illegal, Rogue::Silent, Rogue::Panics] {
        let text = error(rogue).to_string();
        assert!(text.starts_with("agent rogue:x=1, game ") && text.contains('/'), "{text}");
    }
}

#[test]
fn errors_end_a_run() {
    let evaluation = Evaluation { threads: 2, ..Evaluation::new(Setup::new("random", 5), 1_000_000) };
    let build = || build_from_text::<Board>("random", &Context::default());
    let full = evaluation.run(build, |_, _| Err("the disk is full".into())).unwrap_err();
    assert_eq!(full.to_string(), "the disk is full");
    let panicking = AssertUnwindSafe(|| evaluation.run(build, |_, _| panic!("the sink broke")));
    assert!(catch_unwind(panicking).is_err(), "it passes through, and no thread is left waiting");
    let unknown =
        evaluation.run(|| build_from_text::<Board>("randon", &Context::default()), |_, _| Ok(())).unwrap_err();
    assert!(matches!(unknown, RunError::Agent(SpecError::UnknownName { .. })), "{unknown}");
    let nothing = Evaluation { games: 0, ..evaluation }.run(build, |_, _| Ok(())).unwrap_err();
    assert!(matches!(nothing, RunError::NoGames));
}

#[test]
fn a_limit_and_an_observer_end_a_game() {
    let mut agent = build_from_text::<Board>("random", &Context::default()).unwrap();
    let mut play = |limit, until: usize| {
        let (setup, mut plies) = (Setup { move_limit: limit, ..Setup::new("random", 5) }, 0);
        let game = play_game(&mut *agent, &setup, 3, |_, _| {
            plies += 1;
            if plies == until { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        game.unwrap()
    };
    let whole = play(None, usize::MAX);
    let (limited, stopped) = (play(Some(20), usize::MAX), play(None, 20));
    assert!(whole.is_over() && !limited.is_over());
    assert!(limited.is_same_play(&stopped));
    assert_eq!(limited.steps, whole.steps[..20]);
    assert_eq!(play(Some(0), usize::MAX).last, whole.start);
    let results = evaluate::<Board>(&Evaluation::new(Setup { move_limit: Some(20), ..Setup::new("random", 5) }, 5));
    assert_eq!(results.summary().unwrap().unfinished, 5);
}

#[test]
fn a_sum_of_tiles_ends_a_game() {
    let evaluation = |until| Evaluation::new(Setup { until, ..Setup::new("random", 5) }, 40);
    let whole = evaluate::<Board>(&evaluation(None));
    assert_eq!(whole.summary().unwrap().until, None);
    let sum = 250;
    let short = evaluate::<Board>(&evaluation(Some(sum)));
    let summary = short.summary().unwrap();
    let reached = short.outcomes().iter().filter(|outcome| !outcome.over).count();
    assert!((1..40).contains(&reached), "{reached}");
    let until = summary.until.unwrap();
    assert_eq!((until.sum, until.reached.rate), (sum, reached as f64 / 40.0));
    for (short, whole) in short.outcomes().iter().zip(whole.outcomes()) {
        assert_eq!(short.over, short.is_same_play(whole), "those that fall short are played to their end");
        assert!(short.moves <= whole.moves);
    }
    let mut agent = build_from_text::<Board>("random", &Context::default()).unwrap();
    let game = play_game(&mut *agent, &Setup { until: Some(60), ..Setup::new("random", 5) }, 3, |ply, _| {
        assert!(ply.before.tile_sum() < 60);
        ControlFlow::Continue(())
    });
    assert!((60..64).contains(&game.unwrap().last.tile_sum()));
}

#[test]
fn undoing_brings_back_the_same_game() {
    let mut live = Live::<Board>::new(SpawnRule::CLASSIC, 1, 1);
    assert!(!live.undo());
    let mut snapshots = Vec::new();
    for _ in 0..30 {
        snapshots.push((*live.position(), live.score()));
        let direction = live.position().legal().nth(0);
        live.play(direction).unwrap();
    }
    let steps = live.steps().to_vec();
    for (position, score) in snapshots.into_iter().rev() {
        assert!(live.undo());
        assert_eq!((*live.position(), live.score()), (position, score));
    }
    for step in steps {
        assert_eq!(live.play(step.direction).unwrap().step(), step);
    }
}

/// Points come from merges alone: what the tiles took to build, less what spawned tiles brought with them.
fn score_is_the_potential<P: Position>(rule: &str, seed: u64) {
    let rule: SpawnRule = rule.parse().unwrap();
    let setup = Setup { rule, ..Setup::new("random", seed) };
    let mut agent = build_from_text::<P>("random", &Context { rule }).unwrap();
    let game = play_game(&mut *agent, &setup, 0, |_, _| ControlFlow::Continue(())).unwrap();
    game.replay().unwrap();
    let brought = |exponent: u8| u64::from(exponent - 1) << exponent;
    let spawned: u64 = game.steps.iter().map(|step| brought(step.spawn.exponent)).sum();
    assert_eq!(game.score, potential(&game.last) - potential(&game.start) - spawned);
    assert_eq!(game.plies().map(|ply| u64::from(ply.unwrap().reward)).sum::<u64>(), game.score);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scores_add_up(seed: u64) {
        score_is_the_potential::<Board>("2:0.9,4:0.1", seed);
        score_is_the_potential::<Grid<3, 3>>("2:0.5,4:0.3,8:0.2", seed);
        score_is_the_potential::<Grid<2, 3>>("4:1", seed);
    }

    /// Whatever is changed about a game: replaying notices, or it is a game of its own that happens to end alike.
    #[test]
    fn a_changed_game_is_not_the_same_game(seed: u64, at: prop::sample::Index, direction in 0usize..4, cell in 0u8..16) {
        let mut agent = build_from_text::<Board>("random", &Context::default()).unwrap();
        let game = play_game(&mut *agent, &Setup::new("random", seed), 0, |_, _| ControlFlow::Continue(())).unwrap();
        let mut changed = game.clone();
        let step = &mut changed.steps[at.index(game.steps.len())];
        step.direction = Direction::from_index(direction);
        step.spawn.cell = cell;
        prop_assert_eq!(changed.outcome().digest == game.outcome().digest, changed.steps == game.steps);
        if let Ok(replayed) = Game::from_steps(game.index, game.start, changed.steps.clone(), game.seconds) {
            let ends_alike = (replayed.score, replayed.last) == (game.score, game.last);
            prop_assert_eq!(changed.replay().is_ok(), ends_alike);
        } else {
            prop_assert!(changed.replay().is_err());
        }
    }
}

#[test]
fn comparisons_say_how_sure_they_are() {
    let (greedy, random) = (results("greedy", 1, 60), results("random", 1, 60));
    let better = compare(&greedy, &random).unwrap();
    assert!(better.sure && better.p_value < 0.001 && better.sign_test_p < 0.001 && better.probability_a_better > 0.999);
    assert!(better.ci95.unwrap()[0] > 0.0 && better.games_needed.is_none());
    assert!(better.verdict.starts_with("greedy scores ") && better.verdict.contains("sure beyond 99.9%"), "{better:?}");
    let worse = compare(&random, &greedy).unwrap();
    assert_eq!((worse.difference, worse.wins, worse.p_value), (-better.difference, better.losses, better.p_value));
    assert!(worse.verdict.starts_with("greedy scores ") && worse.probability_a_better < 0.001, "{worse:?}");

    let same = compare(&greedy, &greedy).unwrap();
    assert!(!same.sure && same.p_value == 1.0 && same.ties == 60 && same.probability_a_better == 0.5);
    assert!(same.verdict.starts_with("no difference shown"), "{}", same.verdict);
    serde_json::to_string(&same).unwrap();
}

/// The same player under another stream of random numbers: no better, and said to be no better.
#[test]
fn equals_are_not_told_apart() {
    let random = results("random", 2, 100);
    let mut header = random.header().clone();
    header.setup.agent = "random too".to_owned();
    let shifted = random.outcomes().iter().map(|o| afterstate_arena::Outcome { index: (o.index + 1) % 100, ..*o });
    let shuffled = Results::new(header, shifted.filter(|outcome| outcome.index < 99)).unwrap();
    let unsure = compare(&random, &shuffled).unwrap();
    assert_eq!(unsure.games, 99);
    assert!(!unsure.sure && unsure.p_value > 0.05, "{unsure:?}");
    let [low, high] = unsure.ci95.unwrap();
    assert!(low < 0.0 && high > 0.0);
    assert!(unsure.games_needed.is_some_and(|games| games > 99));
    assert!(
        unsure.verdict.contains("which may be chance; a difference of this size takes about"),
        "{}",
        unsure.verdict
    );
}

#[test]
fn games_of_different_seeds_are_not_paired() {
    let error = compare(&results("random", 1, 2), &results("random", 2, 2)).unwrap_err().to_string();
    assert_eq!(error, "games of random and random cannot be paired: the seed is 1 for the one and 2 for the other");
}

/// Games begin where they are told to, each at one of the positions, and a record says so.
#[test]
fn games_begin_at_given_positions() {
    let starts = ["00000000000000ab", "0000000000001cba"].map(str::to_owned).to_vec();
    let setup = Setup { starts: starts.clone(), move_limit: Some(3), ..Setup::new("random", 5) };
    let mut agent = build_from_text::<Board>("random", &Default::default()).unwrap();
    let mut play = |setup: &Setup, index| play_game(&mut *agent, setup, index, |_, _| ControlFlow::Continue(()));
    let games: Vec<Game<Board>> = (0..20).map(|index| play(&setup, index).unwrap()).collect();
    for start in &starts {
        let board: Board = start.parse().unwrap();
        assert!(games.iter().any(|game| game.start == board), "no game begins at {start}");
    }
    assert!(games.iter().all(|game| starts.iter().any(|start| start.parse() == Ok(game.start))));
    assert!(games.iter().all(|game| game.replay().is_ok() && game.moves() == 3));
    assert!(serde_json::to_string(&setup).unwrap().contains(&starts[1]));
    assert!(
        !serde_json::to_string(&Setup::new("random", 5)).unwrap().contains("starts"),
        "old records stay as they are"
    );

    let bad = Setup { starts: vec!["xyz".to_owned()], ..setup };
    assert!(play(&bad, 0).unwrap_err().to_string().starts_with("start position 'xyz': "));
}
