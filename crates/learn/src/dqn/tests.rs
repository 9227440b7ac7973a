//! Targets by hand.

use afterstate_board::{Board, board};

use super::*;
use crate::network::Fixed;
use crate::run::Config as _;

fn learner(config: DqnConfig) -> Dqn<Board> {
    Dqn { network: Box::new(Fixed::new(Role::Moves, &[1.0, 2.0, 3.0, 4.0])), ..Dqn::new(&config).unwrap() }
}

fn small() -> DqnConfig {
    DqnConfig { network: "lookup:width=8,hidden=8".into(), unit: 1.0, ..DqnConfig::new() }
}

fn transition(next: Board, weight: f32) -> Transition<Board> {
    Transition { board: Board::empty().with_exponent(3, 1), action: 2, reward: 10.0, weight, next }
}

#[test]
fn masks_discount_and_ends() {
    let open: Board = board!(0 0 0 0 / 0 2 0 0 / 0 0 0 0 / 0 0 0 0);
    let only_right = board!(2 0 0 0 / 4 0 0 0 / 2 0 0 0 / 4 0 0 0);
    let batch = [transition(open, 0.5), transition(only_right, 0.5), transition(open, 0.0)];
    let target = Fixed::new(Role::Moves, &[1.0, 2.0, 3.0, 4.0]);
    let targets = |learner: &Dqn<Board>, target: &Fixed| {
        learner.lessons(&batch, target).iter().map(|lesson| lesson.targets[2].unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(targets(&learner(small()), &target), [12.0, 11.0, 10.0]);
    // Punished instead of masked: all four moves count.
    assert_eq!(targets(&learner(DqnConfig { penalty: 5.0, ..small() }), &target), [12.0, 12.0, 10.0]);
    // Chosen by the network under training (down), judged by the target network (which likes left).
    let double = learner(DqnConfig { double: true, ..small() });
    assert_eq!(targets(&double, &Fixed::new(Role::Moves, &[9.0, 2.0, 3.0, 1.0])), [10.5, 11.0, 10.0]);
}

#[test]
fn rewards_of_several_moves_are_discounted() {
    let config = DqnConfig { n_step: 3, discount: 0.5, ..small() };
    let mut lane = Lane::<Board>::begin(0, 1, &SpawnRule::CLASSIC);
    let first = lane.board;
    lane.waiting.extend([(1, 8.0), (2, 4.0), (3, 2.0)].map(|(action, reward)| Waiting {
        worth: 0.0,
        board: first,
        action,
        reward,
    }));
    let settled = settle(&mut lane, &config, false).unwrap();
    assert_eq!((settled.action, settled.reward, settled.weight), (1, 8.0 + 2.0 + 0.5, 0.125));
    let last = settle(&mut lane, &config, true).unwrap();
    assert_eq!((last.action, last.reward, last.weight), (2, 4.0 + 1.0, 0.0));
}

#[test]
fn the_loss_pulls_at_the_move_that_was_made_and_no_further_than_huber_allows() {
    let mut learner = learner(DqnConfig { huber: 1.0, ..small() });
    let lesson = |action: u8, target: f32| Lesson::of_one(Board::empty().with_exponent(0, 1), action, target);
    learner.learn(&[lesson(0, 1.25), lesson(3, -50.0)]);
    let fixed = learner.network.as_any().downcast_mut::<Fixed>().unwrap();
    assert_eq!(fixed.heard, [-0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn all_moves_are_learned_from_at_once() {
    let config = DqnConfig { every: true, replay: 0, discount: 0.5, ..small() };
    let target = Fixed::new(Role::Moves, &[1.0, 2.0, 3.0, 4.0]);
    // To the left the game ends, whatever spawns. Downwards a 2 can be merged up or down, a 4 left or right.
    let ends: Board = board!(2 4 8 16 / 16 8 4 2 / 2 4 8 16 / 0 32 16 64);
    let merges: Board = board!(32 32 8 2 / 2 4 2 8 / 4 2 4 2 / 2 4 2 4);
    let learner = learner(config);
    let [first, second] = learner.lessons_of_all([ends, merges].into_iter(), &target).try_into().unwrap();
    let by = |direction: Direction, lesson: &Lesson<Board>| lesson.targets[direction.index()];
    let worth = |moves: [Direction; 2]| 0.5 * moves.map(|d| 1.0 + d.index() as f32).into_iter().fold(0.0, f32::max);
    assert_eq!([Direction::Up, Direction::Right].map(|d| by(d, &first)), [None, None]);
    assert_eq!(by(Direction::Left, &first), Some(0.0));
    let down = by(Direction::Down, &first).unwrap();
    assert!(
        [[Direction::Up, Direction::Down], [Direction::Left, Direction::Right]].map(worth).contains(&down),
        "{down}"
    );
    assert_eq!([Direction::Up, Direction::Down].map(|d| by(d, &second)), [None, None]);
    assert!(by(Direction::Left, &second) >= Some(64.0) && by(Direction::Right, &second) >= Some(64.0));
    // Punished instead of masked: an illegal move leaves the board as it is.
    let punished = Dqn { config: DqnConfig { penalty: 5.0, ..learner.config.clone() }, ..learner };
    let [first] = punished.lessons_of_all([ends].into_iter(), &target).try_into().unwrap();
    assert_eq!(by(Direction::Up, &first), Some(-5.0 + 0.5 * 4.0));
    assert!(DqnConfig { every: true, n_step: 2, ..small() }.check().is_err());
}
