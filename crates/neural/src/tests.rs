//! The training graph against the compiled inference, gradients against finite differences, and training itself.

use std::any::TypeId;

use afterstate_board::{Board, Grid, Position, Rng, SpawnRule};
use afterstate_evaluator::file::{Metadata, Saved};
use afterstate_evaluator::lookup::Role;
use afterstate_evaluator::networks::{Compiled, Model, Row, plain};
use afterstate_learn::network::{self, Network, NetworkRow, Rates, Wanted};
use burn::tensor::Device;

use crate::graph::{leaves, pass};
use crate::{Trained, device, more};

/// Small networks of every architecture, without dropout.
const SMALL: [(&str, &str); 4] = [
    ("value-cnn", "filters=64,dense=32,dropout=0"),
    ("dual-path", "channels=12,width=16,head=16"),
    ("zeronet", "blocks=1,channels=9,dropout=0"),
    ("three-path", "channels=11,features=16,head=8"),
];

const FREE: Rates = Rates { table: 0.0, dense: 3e-3, clip: f32::INFINITY };

fn model(name: &str, sizes: &str, role: Role) -> Model {
    Model::named(Row::named(name).unwrap(), sizes, (role, 1.0), 5).unwrap()
}

fn on_processor(model: Model) -> Trained {
    Trained::new(model, device::named("cpu").unwrap(), 1)
}

/// Positions of random games, and two with the largest tiles.
fn boards(count: usize) -> Vec<Board> {
    let (mut rng, rule) = (Rng::new(4), SpawnRule::CLASSIC);
    let mut board = Board::start(&rule, &mut rng);
    let next = |_| {
        let legal = board.legal();
        board = match legal.len() {
            0 => Board::start(&rule, &mut rng),
            n => board.slide(legal.nth(rng.below(n as u32) as usize)).unwrap().after.sample(&rule, &mut rng),
        };
        board
    };
    let mut boards: Vec<Board> = (0..count * 3).map(next).step_by(3).collect();
    boards[0] = board.with_exponent(3, 17).with_exponent(7, 16).with_exponent(1, 15);
    boards
}

/// Outputs of the training graph without training.
fn graph_outputs(model: &Model, boards: &[Board], learning: bool) -> Vec<f32> {
    let turned: Vec<Board> = boards.iter().map(|board| board.transformed(model.seen().through(board))).collect();
    let mut rng = Rng::new(1);
    let made = pass(model, &leaves(model, &Device::flex()), &turned, learning.then_some(&mut rng));
    made.outputs.into_data().try_to_vec().unwrap()
}

#[test]
fn the_training_graph_equals_the_compiled_network_and_the_plain_one() {
    let boards = boards(100);
    for (name, sizes) in SMALL {
        for role in [Role::Value, Role::Moves, Role::Policy] {
            let mut trained = on_processor(model(name, &format!("{sizes},seen=as-it-lies"), role));
            // Norms that have met something.
            for _ in 0..3 {
                Network::<Board>::learn(&mut trained, &boards, FREE, &mut |_, gradient| gradient.fill(0.1));
            }
            let found = graph_outputs(trained.model(), &boards, false);
            let mut compiled = vec![0.0; found.len()];
            Compiled::new(trained.model(), false).judge_boards(boards.iter(), &mut compiled);
            let plain: Vec<f32> = boards.iter().flat_map(|board| plain::outputs(trained.model(), board)).collect();
            for ((a, b), c) in found.iter().zip(&compiled).zip(&plain) {
                assert!((a - b).abs() < 1e-4 * a.abs().max(1.0), "{name} {role:?}: {a} {b}");
                assert!((a - c).abs() < 1e-4 * a.abs().max(1.0), "{name} {role:?}: {a} {c}");
            }
        }
    }
}

#[test]
fn gradients_equal_finite_differences() {
    let boards = boards(12);
    for (name, sizes) in SMALL {
        let role = Role::Policy;
        let model = model(name, &format!("{sizes},seen=as-it-lies"), role);
        let mut rng = Rng::new(8);
        let weights: Vec<f32> = (0..boards.len() * 5).map(|_| rng.unit() as f32 - 0.5).collect();
        let mut trained = on_processor(model.clone());
        let gradients = trained.gradients(&boards, &mut |_, gradient| gradient.copy_from_slice(&weights));
        let total = |model: &Model| {
            let outputs = graph_outputs(model, &boards, true);
            outputs.iter().zip(&weights).map(|(y, w)| f64::from(*y) * f64::from(*w)).sum::<f64>()
        };
        let learned = (0..model.plan().arrays.len()).filter(|&array| model.plan().arrays[array].learned);
        let (mut checked, mut off) = (0, Vec::new());
        for (array, gradient) in learned.zip(&gradients) {
            for _ in 0..6 {
                let i = rng.below(gradient.len() as u32) as usize;
                let at = |step: f32| {
                    let mut moved = model.clone();
                    moved.array_mut(array)[i] += step;
                    total(&moved)
                };
                let expected = (at(5e-4) - at(-5e-4)) / 1e-3;
                let found = f64::from(gradient[i]);
                checked += 1;
                if (found - expected).abs() > 0.03 * expected.abs() + 3e-3 {
                    off.push((model.plan().arrays[array].name.clone(), i, found, expected));
                }
            }
        }
        // A step may cross the edge of a ReLU or of a maximum: such places are few.
        assert!(off.len() * 20 <= checked, "{name}: {} of {checked}: {off:?}", off.len());
    }
}

#[test]
fn one_batch_is_learned_by_heart() {
    let boards = boards(24);
    for (name, sizes) in SMALL {
        let mut trained = on_processor(model(name, sizes, Role::Policy));
        let mut rng = Rng::new(1);
        let wanted: Vec<f32> = (0..boards.len() * 5).map(|_| rng.unit() as f32 - 0.5).collect();
        let (mut first, mut last) = (None, 0.0);
        for step in 0..500 {
            let rates = Rates { dense: if step < 350 { 5e-3 } else { 1e-3 }, clip: 20.0, ..FREE };
            Network::<Board>::learn(&mut trained, &boards, rates, &mut |outputs, gradient| {
                last = 0.0;
                for ((g, y), w) in gradient.iter_mut().zip(outputs).zip(&wanted) {
                    *g = y - w;
                    last += (y - w) * (y - w);
                }
                first.get_or_insert(last);
            });
        }
        assert!(last < 0.05 * first.unwrap(), "{name}: from {first:?} to {last}");
    }
}

#[test]
fn a_resumed_network_goes_on_exactly() {
    let boards = boards(16);
    for (name, sizes) in SMALL {
        let sizes = sizes.replace("dropout=0", "dropout=0.3");
        let mut trained = on_processor(model(name, &sizes, Role::Policy));
        let step = |trained: &mut Trained| {
            Network::<Board>::learn(trained, &boards, FREE, &mut |outputs, gradient| gradient.copy_from_slice(outputs));
        };
        (0..3).for_each(|_| step(&mut trained));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("saved.safetensors");
        let mut file = std::fs::File::create(&path).unwrap();
        Network::<Board>::save(&trained, &mut file, Metadata::new(), &[]).unwrap();
        let mut resumed = on_processor(model(name, &sizes, Role::Policy));
        let saved = Saved::open(&path, &Network::<Board>::format(&trained).0).unwrap();
        Network::<Board>::load(&mut resumed, &saved).unwrap();
        (0..3).for_each(|_| step(&mut trained));
        (0..3).for_each(|_| step(&mut resumed));
        for array in 0..trained.model().plan().arrays.len() {
            assert_eq!(trained.model().array(array), resumed.model().array(array), "{name}");
        }
        let spec = format!("{name}@{}", path.display());
        let player = afterstate_evaluator::build::<Board>(&spec.parse().unwrap()).unwrap();
        assert!(player.moves().is_some());
        let mut other = on_processor(model(name, &sizes, Role::Value));
        assert!(Network::<Board>::load(&mut other, &saved).is_err());
    }
}

#[test]
fn learners_find_the_networks_by_name() {
    network::add(more);
    let wanted = Wanted { role: Role::Policy, unit: 1.0, rewards: 1.0, seed: 1 };
    for (name, sizes) in SMALL {
        let network = network::build::<Board>(&format!("{name}:{sizes}"), wanted).unwrap();
        assert_eq!(network.format().1, name);
        assert!(network.is_finite() && network.player().is_ok() && network.target().is_ok());
        let error = network::build::<Grid<3, 3>>(name, wanted).map(|_| ()).unwrap_err();
        assert!(error.contains("3x3"), "{error}");
    }
    assert!(more(TypeId::of::<Board>()).is_some_and(|rows| rows.is::<&[NetworkRow<Board>]>()));
}

#[test]
#[cfg(not(feature = "gpu"))]
fn a_graphics_card_is_asked_for_in_words() {
    let wanted = Wanted { role: Role::Policy, unit: 1.0, rewards: 1.0, seed: 1 };
    network::add(more);
    let error = network::build::<Board>("dual-path:channels=8,device=gpu", wanted).map(|_| ()).unwrap_err();
    assert!(error.contains("--features gpu"), "{error}");
}

/// Needs a graphics card, or a driver that plays one.
#[test]
#[cfg(feature = "gpu")]
fn gradients_of_a_graphics_card_equal_those_of_the_processor() {
    let boards = boards(40);
    for (name, sizes) in SMALL {
        let gradients = |device: &str| {
            let mut trained = Trained::new(model(name, sizes, Role::Policy), device::named(device).unwrap(), 1);
            trained.gradients(&boards, &mut |outputs, gradient| gradient.copy_from_slice(outputs)).concat()
        };
        let (processor, card) = (gradients("cpu"), gradients("gpu"));
        let size = processor.iter().map(|g| g.abs()).fold(0.0, f32::max);
        assert!(size > 0.0);
        for (a, b) in processor.iter().zip(&card) {
            assert!((a - b).abs() < 1e-4 * size, "{name}: {a} {b}");
        }
    }
}
