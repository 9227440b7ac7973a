//! What a teacher wants, by hand, and lessons from records.

use afterstate_agent::Decision;
use afterstate_arena::record::{Header, Writer};
use afterstate_arena::{Evaluation, Setup};
use afterstate_board::{Board, Direction, board};

use super::school::{Archive, wanted};
use super::*;

#[test]
fn the_best_move_is_wanted_most() {
    let board: Board = board!(2 0 0 4 / 0 2 0 0 / 8 0 16 0 / 0 0 0 2);
    let decision = Decision {
        direction: Some(Direction::ALL[1]),
        values: [Some(100.0), Some(300.0), Some(200.0), Some(300.0 - 1e6)],
        ..Decision::default()
    };
    assert_eq!(wanted(&decision, &board, 0.0), [0.0, 1.0, 0.0, 0.0]);
    let soft = wanted(&decision, &board, 100.0 / 16.0);
    assert!((soft[1] / soft[2] - 1f32.exp()).abs() < 1e-4 && (soft[1] / soft[0] - 2f32.exp()).abs() < 1e-3);
    assert!(soft[3] == 0.0 && (soft.iter().sum::<f32>() - 1.0).abs() < 1e-6);
}

#[test]
fn records_become_lessons() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games.rec");
    let setup = Setup::new("random", 3);
    let mut writer = Writer::create_new(&path, &Header::new::<Board>(setup.clone())).unwrap();
    let make = || build_from_text("random", &Context::default());
    Evaluation::new(setup, 3).run::<Board>(make, |game, _| Ok(writer.write(&game)?)).unwrap();
    let archive = Archive::<Board>::open(path.to_str().unwrap()).unwrap();
    let (lessons, outcome) = archive.game(1, 100.0);
    assert_eq!(lessons.len(), outcome.moves as usize);
    assert!((lessons[0].value - outcome.score as f32 / 100.0).abs() < 1e-3);
    for pair in lessons.windows(2) {
        let chosen = Direction::ALL.into_iter().find(|d| pair[0].moves[d.index()] == 1.0).unwrap();
        let slide = pair[0].board.slide(chosen).unwrap();
        assert!((pair[0].value - slide.reward as f32 / 100.0 - pair[1].value).abs() < 1e-3);
    }
    assert_eq!(archive.game(4, 100.0).0, lessons, "games are gone through again");
    assert!(Archive::<Board>::open("/no/such.rec").is_err());
}
