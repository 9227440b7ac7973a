//! Learners train published networks by name, in run folders like any other: they stop, go on, and what they leave plays.

use afterstate_board::{Afterstate, Board, board};
use afterstate_evaluator::file::Saved;
use afterstate_evaluator::networks::{Model, Row};
use afterstate_learn::course::{Trained, train};
use afterstate_learn::network;
use afterstate_learn::run::{Start, Stop};
use afterstate_learn::value::{Value, ValueConfig};

fn config(name: &str, moves: u64) -> ValueConfig {
    ValueConfig {
        network: name.to_owned(),
        moves,
        lanes: 32,
        dense_rate: 1e-3,
        rate_end: 1.0,
        clip: 1.0,
        block: 20,
        checkpoint_every: 20,
        evaluate_every: 0,
        ..ValueConfig::new()
    }
}

fn weights(trained: &Trained, name: &str) -> Vec<f32> {
    let row = Row::named(name).unwrap();
    let model = Model::read(&Saved::open(&trained.checkpoint, &row.format()).unwrap(), row).unwrap();
    (0..model.plan().arrays.len()).flat_map(|array| model.array(array).to_vec()).collect()
}

#[test]
fn value_learning_trains_resumes_and_plays() {
    network::add(afterstate_neural::more);
    let folder = tempfile::tempdir().unwrap();
    for (name, sizes) in [("zeronet", "blocks=1,channels=8"), ("three-path", "channels=8,features=16,head=8")] {
        let spec = format!("{name}:{sizes}");
        let whole = folder.path().join(format!("{name}-whole"));
        let whole =
            train::<Board, Value<Board>>(&whole, Start::New(&config(&spec, 4_000)), &Stop::new(), |_| ()).unwrap();
        let parts = folder.path().join(format!("{name}-parts"));
        train::<Board, Value<Board>>(&parts, Start::New(&config(&spec, 2_000)), &Stop::new(), |_| ()).unwrap();
        let sets = ["moves=4000".to_owned()];
        let start = Start::Resume { file: None, sets: &sets };
        let resumed = train::<Board, Value<Board>>(&parts, start, &Stop::new(), |_| ()).unwrap();
        assert!(whole.finished && resumed.finished && whole.games > 20);
        assert!(weights(&whole, name) == weights(&resumed, name), "{name}: resumed differs from uninterrupted");
        assert!(whole.agent.contains(name), "{}", whole.agent);
        let player = format!("{name}@{}", whole.checkpoint.display());
        let player = afterstate_evaluator::build::<Board>(&player.parse().unwrap()).unwrap();
        assert!(player.value(&Afterstate::new(board!(2 4 8 16 / 0 0 2 4 / 0 0 0 2 / 0 0 0 0))).is_finite());
    }
}
