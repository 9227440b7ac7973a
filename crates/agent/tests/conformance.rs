//! What every agent of the catalogue must keep to, whatever it is: each new row is tested the moment it exists.

use afterstate_agent::{Agent, Budget, Context, Kind, SpecError, build_from_text, presets, rows};
use afterstate_board::{Board, Grid, Position, Rng, SpawnRule, board};

/// Moves played in each game: enough to fill the board, few enough for slow agents on the plain grid.
const fn moves<P: Position>() -> usize {
    if P::CELLS > 16 { 25 } else { 60 }
}

fn for_each_agent<P: Position>(mut check: impl FnMut(&str, &mut dyn Agent<P>)) {
    for row in rows::<P>() {
        match build_from_text::<P>(row.name, &Context::default()) {
            Ok(mut agent) => check(row.name, &mut *agent),
            // Perfect play is for boards that can be solved.
            Err(SpecError::Unavailable { owner, .. }) if owner == "optimal" && P::CELLS > 6 => {}
            Err(error) => panic!("{}: {error}", row.name),
        }
    }
}

/// Plays some moves and returns the positions; checks the contract on the way.
fn play<P: Position>(name: &str, agent: &mut dyn Agent<P>, seed: u64) -> Vec<P> {
    let rule = SpawnRule::CLASSIC;
    let (mut spawns, mut own) = (Rng::stream(seed, 0, 0), Rng::stream(seed, 0, 1));
    let mut position = P::start(&rule, &mut spawns);
    let mut seen = vec![position];
    agent.new_game();
    while !position.is_over() && seen.len() < moves::<P>() {
        let decision = agent.decide(&position, &Budget::OWN, &mut own);
        let direction = decision.direction.unwrap_or_else(|| panic!("{name} has no move on {position}"));
        let legal = position.legal();
        assert!(legal.contains(direction), "{name} chose {direction} on {position}");
        for (i, value) in decision.values.iter().enumerate() {
            let is_legal = legal.bits() >> i & 1 == 1;
            assert!(value.is_none() || is_legal, "{name} values an illegal move on {position}");
            assert!(value.is_none_or(f64::is_finite), "{name} has a value that is no number on {position}");
            assert!(is_legal || decision.visits[i] == 0, "{name} visits an illegal move on {position}");
        }
        position = position.slide(direction).unwrap().after.sample(&rule, &mut spawns);
        seen.push(position);
    }
    seen
}

fn plays_legally_and_repeatably<P: Position>() {
    for_each_agent::<P>(|name, agent| {
        let first = play(name, agent, 5);
        let other = play(name, agent, 6);
        assert_eq!(play(name, agent, 5), first, "{name} does not forget the games before");
        let mut fresh = build_from_text::<P>(name, &Context::default()).unwrap();
        assert_eq!(play(name, &mut *fresh, 6), other, "{name} does not repeat itself");
    });
}

#[test]
fn agents_play_legal_moves_and_repeat_themselves() {
    plays_legally_and_repeatably::<Board>();
    plays_legally_and_repeatably::<Grid<2, 2>>();
    plays_legally_and_repeatably::<Grid<2, 3>>();
    plays_legally_and_repeatably::<Grid<3, 4>>();
}

#[test]
fn agents_play_large_boards() {
    plays_legally_and_repeatably::<Grid<5, 5>>();
}

#[test]
fn agents_survive_the_edges() {
    let over = board!(2 4 2 4 / 4 2 4 2 / 2 4 2 4 / 4 2 4 2);
    let one_move = board!(2 4 2 0 / 4 8 4 2 / 2 4 2 4 / 4 2 4 8);
    let nearly_dead = board!(2 4 2 4 / 4 2 4 2 / 2 4 2 4 / 4 2 4 4);
    let huge = board!(65536 65536 32768 32768 / 2 4 2 4 / 4 2 4 2 / 131072 4 2 4);
    for_each_agent::<Board>(|name, agent| {
        let mut rng = Rng::new(1);
        let mut decide = |board: &Board| agent.decide(board, &Budget::OWN, &mut rng);
        let decision = decide(&over);
        assert_eq!((decision.direction, decision.values), (None, [None; 4]), "{name} on a finished board");
        for board in [one_move, nearly_dead, huge] {
            let decision = decide(&board);
            assert!(decision.direction.is_some_and(|d| board.legal().contains(d)), "{name} on {board}");
        }
        assert!(decide(&Board::empty()).direction.is_none(), "{name} on an empty board, which no move changes");
    });
}

#[test]
fn rows_are_in_order() {
    let names: Vec<&str> = rows::<Board>().iter().map(|row| row.name).collect();
    for row in rows::<Board>() {
        assert_eq!(names.iter().filter(|&&name| name == row.name).count(), 1, "{} has two rows", row.name);
        assert!(!row.summary.is_empty() && !row.summary.ends_with('.'), "{}", row.name);
        for parameter in row.all_parameters() {
            let default = parameter.default_value().to_string();
            let unset = matches!(parameter.kind, Kind::Integer { default: None, .. });
            let read = parameter.read(&default);
            assert!(
                unset || read.as_ref() == Ok(&parameter.default_value()),
                "{}:{}={default}",
                row.name,
                parameter.name
            );
        }
    }
}

#[test]
fn presets_name_agents() {
    for preset in presets() {
        let name = format!("@{}", preset.name);
        let mut agent =
            build_from_text::<Board>(&name, &Context::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let budget = Budget { nodes: Some(100), ..Budget::OWN };
        let decision = agent.decide(&board!(2 0 0 4 / 0 2 0 0 / 8 0 16 0 / 0 0 0 2), &budget, &mut Rng::new(1));
        assert!(decision.direction.is_some(), "{name}");
        assert!(build_from_text::<Board>(&format!("{name}:epsilon=0.5"), &Context::default()).is_ok(), "{name}");
        assert_eq!(presets().iter().filter(|other| other.name == preset.name).count(), 1, "{name} is there twice");
    }
}

/// Random moves are as frequent as asked for, and the others are the agent's own.
#[test]
fn epsilon_mixes_in_random_moves() {
    let board = board!(2 2 0 0 / 0 0 0 0 / 4 0 0 0 / 0 0 0 0);
    let mut agent = build_from_text::<Board>("greedy:epsilon=0.25", &Context::default()).unwrap();
    let mut rng = Rng::new(1);
    let decisions: Vec<_> = (0..4_000).map(|_| agent.decide(&board, &Budget::OWN, &mut rng)).collect();
    let random = decisions.iter().filter(|decision| decision.values == [None; 4]).count();
    assert!((900..1_100).contains(&random), "{random} of 4000 moves are random");
    let own = build_from_text::<Board>("greedy", &Context::default()).unwrap().decide(&board, &Budget::OWN, &mut rng);
    assert!(decisions.iter().filter(|decision| decision.values != [None; 4]).all(|decision| *decision == own));
}

#[test]
fn wrong_names_are_told_apart() {
    let error = |text: &str| match build_from_text::<Board>(text, &Context::default()) {
        Ok(_) => panic!("{text} is no agent"),
        Err(error) => error.to_string(),
    };
    assert_eq!(error("gready"), "there is no agent 'gready' (did you mean 'greedy'?)");
    assert!(error("").starts_with("there is no agent ''"));
    assert_eq!(error("random:depth=1"), "random has no parameter 'depth' (known: epsilon)");
    assert_eq!(error("greedy:eval=emty"), "there is no evaluator 'emty' (did you mean 'empty'?)");
    assert_eq!(error("greedy:eval.wight=1"), "empty has no parameter 'wight' (did you mean 'weight'?)");
    assert_eq!(error("greedy:eval.weight=x"), "empty: weight=x is not a number from -1000000000 to 1000000000");
    assert!(error("greedy:eval=empty@nowhere.bin").starts_with("empty: nowhere.bin: empty loads no file"));
}
