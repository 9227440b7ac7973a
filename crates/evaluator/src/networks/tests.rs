//! Every fast path against the plain interpreter, and files.

use std::sync::Arc;

use afterstate_board::{Afterstate, Board, Grid, Position, Symmetry, board};

use super::*;
use crate::file::{FileError, Metadata, Saved};
use crate::testing::random_boards;
use crate::{Evaluator, MoveJudge};

/// Small networks of every architecture with odd sizes, so that no width fits the registers.
const SMALL: [(&str, &str); 5] = [
    ("value-cnn", "filters=40,dense=20,dropout=0"),
    ("dual-path", "channels=22,width=19,head=26"),
    ("zeronet", "blocks=2,channels=13,planes=18"),
    ("three-path", "channels=21,features=37,head=9"),
    ("three-path", "channels=16,features=32,head=16,tiles=17"),
];

fn model(name: &str, sizes: &str, role: Role, seen: Seen) -> Model {
    let sizes = format!("{sizes},seen={}", seen.name());
    let mut model = Model::named(Row::named(name).unwrap(), &sizes, (role, 100.0), 7).unwrap();
    // Norms and biases of a trained network are not those that it began with.
    let arrays = model.plan().arrays.clone();
    for (array, numbers) in arrays.iter().zip(model.arrays_mut()) {
        if matches!(array.start, plan::Start::Constant(_)) {
            numbers.iter_mut().enumerate().for_each(|(i, x)| *x += 0.3 * (i as f32 * 1.7).sin());
        }
    }
    model
}

fn boards(count: usize) -> Vec<Board> {
    let extreme = [board!(131072 65536 32768 16384 / 2 4 8 131072 / 0 0 0 2 / 65536 0 0 0), Board::empty()];
    extreme.into_iter().chain(random_boards(count)).take(count).collect()
}

/// Outputs are the same to the last bit wherever a board stands in a batch and however large that is, beyond a few boards.
#[test]
fn a_batch_does_not_change_what_a_board_is_worth() {
    let boards = boards(120);
    for (name, sizes) in SMALL {
        let compiled = Compiled::new(&model(name, sizes, Role::Policy, Seen::Framed), false);
        let judged = |boards: &[Board]| {
            let mut outputs = vec![0.0; boards.len() * 5];
            compiled.judge_boards(boards.iter(), &mut outputs);
            outputs
        };
        let all = judged(&boards);
        for (from, to) in [(0, 9), (3, 50), (47, 57), (70, 120)] {
            assert_eq!(judged(&boards[from..to]), all[from * 5..to * 5], "{name}");
        }
        assert_eq!(judged(&boards[40..42]), judged(&boards[40..48])[..10], "{name}");
    }
}

fn assert_close(found: &[f32], expected: &[f32], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-4 * a.abs().max(b.abs()).max(0.1), "{what}: {a} is not {b}");
    }
}

#[test]
fn compiled_networks_equal_the_plain_graph_at_all_batch_sizes() {
    let boards = boards(1_000);
    for (name, sizes) in SMALL {
        for role in [Role::Value, Role::Moves, Role::Policy] {
            let model = model(name, sizes, role, Seen::AsItLies);
            let plain: Vec<f32> = boards.iter().flat_map(|board| plain::outputs(&model, board)).collect();
            for fleeting in [true, false] {
                let compiled = Compiled::new(&model, fleeting);
                for size in [1, 2, 3, 5, 8, 9, 24, 48, 49, 57, 100, 1_000] {
                    let mut outputs = vec![f32::NAN; size * role.outputs()];
                    compiled.judge_boards(boards[..size].iter(), &mut outputs);
                    assert_close(&outputs, &plain[..outputs.len()], &format!("{name} {role:?} {size}"));
                }
            }
        }
    }
}

#[test]
fn published_sizes_equal_the_plain_graph_and_have_their_parameters() {
    let published =
        [("value-cnn", 6_527_361), ("dual-path", 1_917_061), ("zeronet", 2_384_907), ("three-path", 652_613)];
    for (name, parameters) in published {
        let role = if name == "value-cnn" { Role::Value } else { Role::Policy };
        let model = model(name, "", role, Seen::AsItLies);
        assert_eq!(model.plan().parameters(), parameters, "{name}");
        let boards = boards(24);
        let plain: Vec<f32> = boards.iter().flat_map(|board| plain::outputs(&model, board)).collect();
        let mut outputs = vec![0.0; plain.len()];
        Compiled::new(&model, false).judge_boards(boards.iter(), &mut outputs);
        assert_close(&outputs, &plain, name);
    }
}

#[test]
fn threads_and_the_value_alone_change_nothing() {
    let positions = boards(100);
    let afters: Vec<Afterstate<Board>> = positions.iter().map(|board| Afterstate::new(*board)).collect();
    for (name, sizes) in SMALL {
        for role in [Role::Value, Role::Policy] {
            let compiled = Arc::new(Compiled::new(&model(name, sizes, role, Seen::Framed), false));
            let mut outputs = vec![0.0; 100 * role.outputs()];
            compiled.judge_boards(positions.iter(), &mut outputs);
            for threads in [1, 2, 3] {
                let player = Player::new(compiled.clone(), threads);
                let mut values = vec![0.0; 100];
                player.evaluate(&afters, &mut values);
                let last = outputs.iter().skip(role.outputs() - 1).step_by(role.outputs());
                let last: Vec<f32> = last.map(|value| 100.0 * value).collect();
                assert_close(&values, &last, name);
                let judge: Option<&dyn MoveJudge<Board>> = player.moves();
                assert_eq!(judge.is_some(), role == Role::Policy);
                let Some(judge) = judge else { continue };
                let mut judgements = vec![crate::Judgement::default(); 100];
                judge.judge(&positions, &mut judgements);
                assert!(judge.are_logits());
                for (judgement, outputs) in judgements.iter().zip(outputs.chunks_exact(5)) {
                    assert_eq!(
                        (judgement.moves.as_slice(), judgement.value),
                        (&outputs[..4], Some(100.0 * outputs[4]))
                    );
                }
            }
        }
    }
}

#[test]
fn framed_networks_judge_all_images_alike() {
    let compiled = Compiled::new(&model("zeronet", SMALL[2].1, Role::Policy, Seen::Framed), false);
    for board in random_boards(50).filter(Board::is_narrow) {
        let value = |board: &Board| {
            let mut outputs = [0.0; 5];
            compiled.judge_boards([board].into_iter(), &mut outputs);
            outputs[4]
        };
        assert!(Symmetry::ALL.iter().all(|&symmetry| value(&board.transformed(symmetry)) == value(&board)));
    }
}

fn written(model: &Model, change: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let facts: Metadata = change.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    model.write(&mut bytes, facts, &[]).unwrap();
    bytes
}

fn back(bytes: &[u8], name: &str) -> Result<Model, FileError> {
    let row = Row::named(name).unwrap();
    Saved::of_bytes(bytes.to_vec(), &row.format()).and_then(|saved| Model::read(&saved, row))
}

#[test]
fn networks_come_back_and_damage_is_refused() {
    for (name, sizes) in SMALL {
        let model = model(name, sizes, Role::Policy, Seen::Framed);
        let bytes = written(&model, &[("learner", "test")]);
        let read = back(&bytes, name).unwrap();
        assert_eq!((read.role(), read.unit(), read.seen()), (Role::Policy, 100.0, Seen::Framed));
        assert!((0..model.plan().arrays.len()).all(|array| read.array(array) == model.array(array)));
        assert_eq!((read.plan(), read.sizes()), (model.plan(), model.sizes()));
        for at in (0..bytes.len()).step_by(1 + bytes.len() / 50) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 16;
            assert!(back(&damaged, name).is_err(), "{name}: a flipped bit at {at} was not noticed");
        }
        assert!(back(&bytes[..bytes.len() - 1], name).is_err());
        assert!(ROWS.iter().filter(|row| row.name != name).all(|row| back(&bytes, row.name).is_err()));
    }
}

#[test]
fn a_header_that_promises_too_much_is_refused_before_memory_is_asked_for() {
    let model = model("zeronet", "blocks=1,channels=8", Role::Policy, Seen::Framed);
    let huge = "zeronet:blocks=64,channels=512,planes=18,dropout=0.3";
    for (key, value) in [
        ("architecture", "zeronet:blocks=1000000000,channels=8"),
        ("architecture", huge),
        ("architecture", "zeronet:blocks=1,channels=16,planes=16,dropout=0.3"),
        ("architecture", "dual-path:channels=8"),
        ("architecture", ""),
        ("outputs", "none"),
        ("unit", "0 points"),
        ("unit", "NaN points"),
        ("architecture", "zeronet:blocks=1,channels=8,seen=upside-down"),
        ("size", "5x5"),
    ] {
        assert!(back(&written(&model, &[(key, value)]), "zeronet").is_err(), "{key}={value}");
    }
    let mut broken = model.clone();
    broken.array_mut(0)[3] = f32::NAN;
    assert!(back(&written(&broken, &[]), "zeronet").is_err());
}

#[test]
fn files_play_by_name_on_boards_of_their_size_only() {
    let folder = tempfile::tempdir().unwrap();
    for (name, sizes) in SMALL {
        let path = folder.path().join(format!("{name}.safetensors"));
        std::fs::write(&path, written(&model(name, sizes, Role::Policy, Seen::Framed), &[])).unwrap();
        let spec = |text: &str| text.parse().unwrap();
        let text = format!("{name}@{}", path.display());
        let player = crate::build::<Board>(&spec(&text)).unwrap();
        assert!(player.moves().is_some());
        assert!(crate::build::<Board>(&spec(&format!("{text}:threads=2"))).is_ok());
        assert!(crate::build::<Grid<3, 3>>(&spec(&text)).is_err());
        assert!(crate::build::<Board>(&spec(name)).is_err());
    }
}
