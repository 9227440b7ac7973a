//! Targets by hand.

use afterstate_board::{Board, board};

use super::*;
use crate::network::Fixed;

fn learner(config: ValueConfig) -> Value<Board> {
    Value { network: Box::new(Fixed::new(Role::Value, &[6.0])), ..Value::new(&config).unwrap() }
}

fn small() -> ValueConfig {
    ValueConfig { network: "lookup:width=8,hidden=8".into(), unit: 1.0, ..ValueConfig::new() }
}

#[test]
fn rates_are_held_and_then_fall() {
    let config = ValueConfig { moves: 1_000, table_rate: 1.0, rate_hold: 0.5, rate_end: 0.01, ..small() };
    let mut learner = learner(config);
    let rates = [0, 500, 750, 1_000, 2_000].map(|moves| {
        learner.moves = moves;
        learner.rates().table
    });
    assert_eq!(rates.map(|rate| (rate * 1e6).round()), [1e6, 1e6, 1e5, 1e4, 1e4]);
    learner.config.rate_hold = 0.0;
    learner.moves = 500;
    assert!((learner.rates().table - 0.1).abs() < 1e-6);
}

#[test]
fn rewards_between_two_afterstates_are_discounted() {
    let config = ValueConfig { n_step: 3, discount: 0.5, ..small() };
    let mut lane = Lane::<Board>::begin(0, 1, &SpawnRule::CLASSIC);
    let board = lane.board;
    // The reward that led to an afterstate is no part of its value.
    lane.waiting.extend([100.0, 4.0, 2.0].map(|reward| Waiting { board, action: 0, reward, worth: 7.0 }));
    let settled = settle(&mut lane, &config).unwrap();
    assert_eq!((settled.reward, settled.weight), (4.0 + 1.0, 0.25));
}

/// Half of what a position was judged to be worth, half of what came of it, and of that again.
#[test]
fn lambda_mixes_what_was_expected_with_what_came() {
    let config = ValueConfig { n_step: 3, lambda: 0.5, discount: 0.5, ..small() };
    let mut lane = Lane::<Board>::begin(0, 1, &SpawnRule::CLASSIC);
    let board = lane.board;
    lane.waiting.extend([(100.0, 90.0), (4.0, 8.0), (2.0, 6.0)].map(|(reward, worth)| Waiting {
        board,
        action: 0,
        reward,
        worth,
    }));
    let settled = settle(&mut lane, &config).unwrap();
    assert_eq!((settled.reward, settled.weight), ((4.0 + 2.0) + 0.25 * (3.0 + 1.0), 0.0625));
}

#[test]
fn replayed_targets_are_the_best_move_of_the_next_position_and_nothing_after_the_end() {
    let mut learner = learner(ValueConfig { replay: 10, batch: 40, discount: 0.5, ..small() });
    // Left or right merge to 8 and leave a board of value 6; up and down merge nothing.
    let next: Board = board!(4 4 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0);
    let of = |reward: f32, weight: f32| Transition { board: next, action: 0, reward, weight, next };
    learner.replay.push(of(1.0, 0.5));
    learner.replay.push(of(2.0, 0.0));
    let target = Fixed::new(Role::Value, &[6.0]);
    let mut batch = Vec::new();
    learner.learn_from_replay(Some(&target), &mut batch);
    let fixed = learner.network.as_any().downcast_mut::<Fixed>().unwrap();
    let expected: Vec<f32> =
        batch.iter().map(|t| 6.0 - if t.weight > 0.0 { 1.0 + 0.5 * (8.0 + 0.5 * 6.0) } else { 2.0 }).collect();
    assert!(batch.iter().any(|t| t.weight > 0.0) && batch.iter().any(|t| t.weight == 0.0));
    assert_eq!(fixed.heard, expected);
}

#[test]
fn a_lost_game_is_worth_nothing() {
    let mut learner = learner(ValueConfig { lanes: 1, ..small() });
    let lane = &mut learner.lanes.lanes[0];
    lane.board = board!(2 4 2 4 / 4 2 4 2 / 2 4 2 4 / 4 2 4 2);
    lane.waiting.push_back(Waiting { board: Board::empty(), action: 0, reward: 3.0, worth: 0.0 });
    let (mut due, mut over) = ((Vec::new(), Vec::new()), Vec::new());
    learner.step(&mut due, &mut over);
    assert_eq!((due.1, over), (vec![0.0], vec![true]));
}
