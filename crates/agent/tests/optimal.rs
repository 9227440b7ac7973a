//! Perfect play against a search that looks to the end of the game.

use afterstate_agent::{Budget, Context, Decision, build_from_text};
use afterstate_board::{Board, Direction, Grid, Position, Rng, notation};

fn decide<P: Position>(spec: &str, board: &P) -> Decision {
    build_from_text::<P>(spec, &Context::default()).unwrap().decide(board, &Budget::OWN, &mut Rng::new(0))
}

/// Boards that games come to, and boards that none does: with a tile too large, with one that does not fit a cell, full of twos.
#[test]
fn every_move_has_its_exact_worth() {
    for text in ["2 0 / 0 2", "4 2 / 0 8", "16 8 / 4 0", "2 2 / 2 2", "64 2 / 2 0", "131072 2 / 0 4", "64 64 / 64 64"] {
        let board: Grid<2, 2> = notation::parse(text).unwrap();
        let (exact, deep) = (decide("optimal", &board), decide("expectimax:exact=true,depth=31,eval=zero", &board));
        for direction in Direction::ALL {
            let i = direction.index();
            match (exact.values[i], deep.values[i]) {
                (Some(a), Some(b)) => assert!((a - b).abs() < 1e-4 * b.max(1.0), "{text} {direction}: {a}, {b}"),
                (a, b) => assert_eq!(a, b, "{text} {direction}"),
            }
        }
    }
}

#[test]
fn a_goal_changes_what_is_best() {
    let board: Grid<2, 2> = notation::parse("16 16 / 2 0").unwrap();
    assert_eq!(decide("optimal:goal=32", &board).values.into_iter().flatten().fold(0.0, f64::max), 1.0);
    let done: Grid<2, 2> = notation::parse("32 2 / 0 4").unwrap();
    assert!(decide("optimal:goal=32", &done).values.into_iter().flatten().all(|value| value == 1.0));
}

#[test]
fn equal_moves_are_played_in_order() {
    let board: Grid<2, 2> = notation::parse("2 0 / 0 2").unwrap();
    assert_eq!(decide("optimal", &board).direction, Some(Direction::ALL[0]));
}

/// With a tile of 131072 in the way, more positions follow than are worked out on the spot.
#[test]
fn a_position_far_from_any_game_still_has_a_move() {
    for text in ["2048 0 0 / 0 0 4096", "131072 0 0 / 0 0 2"] {
        let board: Grid<2, 3> = notation::parse(text).unwrap();
        let decision = decide("optimal", &board);
        assert!(decision.direction.is_some_and(|d| board.legal().contains(d)), "{text}: {decision:?}");
    }
}

#[test]
fn what_cannot_be_solved_is_refused() {
    let error = |spec: &str, rule: &str| {
        let context = Context { rule: rule.parse().unwrap() };
        build_from_text::<Grid<2, 2>>(spec, &context).map(drop).unwrap_err().to_string()
    };
    assert_eq!(error("optimal:goal=48", "2:1"), "optimal: '48' is no goal (use score, or a tile such as 512)");
    assert!(error("optimal:goal=1024", "2:1").contains("16 is the largest tile there"));
    let classic = build_from_text::<Board>("optimal", &Context::default()).map(drop).unwrap_err().to_string();
    assert_eq!(classic, "optimal: a 4x4 board has too many positions to be solved (2x2, 2x3, 2x4 and 3x3 can be)");
}
