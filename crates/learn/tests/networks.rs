//! Learners on networks: they learn, repeat themselves to the last bit, resume as if nothing had happened, and refuse nonsense.

use std::fs;
use std::path::Path;

use afterstate_board::Board;
use afterstate_learn::course::{AnySize, CourseError, Event, Learner, Trained, train};
use afterstate_learn::distill::{self, Distill, DistillConfig};
use afterstate_learn::dqn::{self, Dqn, DqnConfig};
use afterstate_learn::ppo::{self, Ppo, PpoConfig};
use afterstate_learn::run::{Config, Preset, Start, Stop, resolve};
use afterstate_learn::value::{self, Value, ValueConfig};
use afterstate_learn::zero::{self, Zero, ZeroConfig};

fn run<L: Learner<Board>>(folder: &Path, config: &L::Config) -> Trained {
    train::<Board, L>(folder, Start::New(config), &Stop::new(), |_| ()).unwrap()
}

fn resume<L: Learner<Board>>(folder: &Path, sets: &[&str]) -> Result<Trained, CourseError> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    train::<Board, L>(folder, Start::Resume { file: None, sets: &sets }, &Stop::new(), |_| ())
}

/// The mean score of the last evaluation.
fn learned<L: Learner<Board>>(config: &L::Config) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let mut mean = 0.0;
    train::<Board, L>(&folder.path().join("run"), Start::New(config), &Stop::new(), |event| {
        if let Event::Progress(progress) = event {
            mean = progress.evaluation.as_ref().map_or(mean, |summary| summary.score.mean);
        }
    })
    .unwrap();
    mean
}

/// Small and quick.
fn small_value() -> ValueConfig {
    ValueConfig {
        network: "lookup:width=8,hidden=8".into(),
        block: 20,
        checkpoint_every: 40,
        evaluate_every: 0,
        ..ValueConfig::new()
    }
}

/// With all that keeps something from move to move, and batches large enough for threads to share.
fn coherent_value(threads: usize) -> ValueConfig {
    ValueConfig {
        network: "lookup:width=8,hidden=8,direct=true,pace=coherence,places=shared 0123 4567 01456".into(),
        lanes: 80,
        at_once: 70,
        threads,
        table_rate: 0.1,
        n_step: 4,
        lambda: 0.5,
        ..small_value()
    }
}

fn small_dqn() -> DqnConfig {
    DqnConfig {
        network: "lookup:width=8,hidden=8".into(),
        lanes: 8,
        batch: 16,
        replay: 2_000,
        block: 20,
        checkpoint_every: 40,
        evaluate_every: 0,
        ..DqnConfig::new()
    }
}

/// The preset `tiny` of a learner.
fn tiny<C>(presets: &[Preset<C>], base: C) -> C {
    (presets.iter().find(|preset| preset.name == "tiny").unwrap().settings)(base)
}

/// Random play averages 1,100 and has not been seen above 7,000.
#[test]
fn tiny_presets_learn() {
    let mean = learned::<Value<Board>>(&tiny(value::PRESETS, ValueConfig::new()));
    assert!(mean > 12_000.0, "value: {mean}");
    let mean = learned::<Dqn<Board>>(&tiny(dqn::PRESETS, DqnConfig::new()));
    assert!(mean > 2_500.0, "dqn: {mean}");
    let mean = learned::<Ppo<Board>>(&tiny(ppo::PRESETS, PpoConfig::new()));
    assert!(mean > 3_500.0, "ppo: {mean}");
    let mean = learned::<Zero<Board>>(&tiny(zero::PRESETS, ZeroConfig::new()));
    assert!(mean > 3_500.0, "zero: {mean}");
    let mean = learned::<Distill<Board>>(&tiny(distill::PRESETS, DistillConfig::new()));
    assert!(mean > 7_000.0, "distill: {mean}");
}

/// Two runs are the same; one that is interrupted and resumed too. The rates follow the moves in all, so they are given from the start.
fn repeats<L: Learner<Board>>(config: &L::Config, stop_at: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let [one, two] = ["one", "two"].map(|name| fs::read(run::<L>(&path(name), config).checkpoint).unwrap());
    assert!(one == two, "two runs differ");
    let stop = Stop::new();
    let cut = train::<Board, L>(&path("cut"), Start::New(config), &stop, |event| {
        if matches!(event, Event::Progress(progress) if progress.games >= stop_at) {
            stop.request();
        }
    });
    assert!(!cut.unwrap().finished);
    let trained = resume::<L>(&path("cut"), &[]).unwrap();
    assert!(trained.finished && one == fs::read(trained.checkpoint).unwrap(), "the resumed run differs");
}

#[test]
fn value_learning_repeats_itself() {
    repeats::<Value<Board>>(&ValueConfig { moves: 20_000, ..small_value() }, 60);
    let replayed =
        ValueConfig { replay: 1_000, batch: 32, target: true, epsilon: 0.3, n_step: 3, moves: 15_000, ..small_value() };
    repeats::<Value<Board>>(&replayed, 60);
    repeats::<Value<Board>>(&ValueConfig { moves: 20_000, ..coherent_value(2) }, 60);
}

#[test]
fn q_learning_repeats_itself() {
    let double = DqnConfig { target: true, double: true, n_step: 2, moves: 15_000, ..small_dqn() };
    repeats::<Dqn<Board>>(&double, 40);
    repeats::<Dqn<Board>>(&DqnConfig { replay: 0, moves: 15_000, ..small_dqn() }, 40);
    repeats::<Dqn<Board>>(&DqnConfig { penalty: 100.0, moves: 15_000, ..small_dqn() }, 20);
}

/// As quick as it gets, and with all options that keep something from move to move.
fn small_zero(threads: usize) -> ZeroConfig {
    let mut config = ZeroConfig {
        network: "lookup:width=8,hidden=8".into(),
        lanes: 12,
        simulations: 6,
        simulations_start: 4,
        replay: 2_000,
        batch: 64,
        block: 10,
        threads,
        ..ZeroConfig::new()
    };
    (config.course.moves, config.course.checkpoint_every, config.course.evaluate_every) = (12_000, 20, 0);
    config
}

fn small_ppo(threads: usize) -> PpoConfig {
    let mut config = PpoConfig {
        network: "lookup:width=8,hidden=8".into(),
        lanes: 24,
        horizon: 50,
        batch: 1_100,
        block: 20,
        threads,
        ..PpoConfig::new()
    };
    (config.course.moves, config.course.checkpoint_every, config.course.evaluate_every) = (30_000, 40, 0);
    config
}

fn small_distill(threads: usize) -> DistillConfig {
    let mut config = DistillConfig {
        network: "lookup:width=8,hidden=8".into(),
        teacher: "greedy:eval=heuristic".into(),
        lanes: 12,
        replay: 2_000,
        batch: 64,
        block: 5,
        threads,
        ..DistillConfig::new()
    };
    (config.course.moves, config.course.checkpoint_every, config.course.evaluate_every) = (20_000, 10, 0);
    config
}

#[test]
fn policy_learning_repeats_itself() {
    repeats::<Ppo<Board>>(&small_ppo(1), 60);
    repeats::<Zero<Board>>(&small_zero(1), 20);
    repeats::<Zero<Board>>(&ZeroConfig { gumbel: true, spawn: "explicit".into(), augment: true, ..small_zero(2) }, 20);
    repeats::<Zero<Board>>(&ZeroConfig { blend: true, discount: 0.99, ..small_zero(1) }, 20);
    repeats::<Distill<Board>>(&small_distill(1), 10);
}

/// The bytes of the last checkpoint, whose configuration is not part of it.
#[test]
fn threads_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, threads: usize| folder.path().join(format!("{name}{threads}"));
    let value = |n: usize| ValueConfig { moves: 20_000, ..coherent_value(n) };
    let value = [1, 2, 3].map(|n| fs::read(run::<Value<Board>>(&path("value", n), &value(n)).checkpoint).unwrap());
    assert!(value[0] == value[1] && value[0] == value[2]);
    let ppo = [1, 2, 3].map(|n| fs::read(run::<Ppo<Board>>(&path("ppo", n), &small_ppo(n)).checkpoint).unwrap());
    assert!(ppo[0] == ppo[1] && ppo[0] == ppo[2]);
    let zero = [1, 3].map(|n| fs::read(run::<Zero<Board>>(&path("zero", n), &small_zero(n)).checkpoint).unwrap());
    assert!(zero[0] == zero[1]);
    let pupil =
        [1, 2].map(|n| fs::read(run::<Distill<Board>>(&path("distill", n), &small_distill(n)).checkpoint).unwrap());
    assert!(pupil[0] == pupil[1]);
}

#[test]
fn teachers_and_records_that_do_not_exist_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    for (config, word) in [
        (DistillConfig { teacher: "gredy".into(), ..small_distill(1) }, "greedy"),
        (DistillConfig { records: "/no/such.rec".into(), ..small_distill(1) }, "such.rec"),
    ] {
        let error = train::<Board, Distill<Board>>(&out, Start::New(&config), &Stop::new(), |_| ()).unwrap_err();
        assert!(error.to_string().contains(word) && !out.exists(), "{error}");
    }
}

#[test]
fn nonsense_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    for network in [
        "lokup",
        "lookup:width=12",
        "lookup:colour=3",
        "lookup:width=99999",
        "lookup:places=0123 g",
        "lookup:pace=slow",
    ] {
        let config = ValueConfig { network: network.into(), ..small_value() };
        let error = train::<Board, Value<Board>>(&out, Start::New(&config), &Stop::new(), |_| ()).unwrap_err();
        assert!(error.to_string().starts_with("network: ") && !out.exists(), "{error}");
    }
    run::<Value<Board>>(&out, &ValueConfig { moves: 2_000, ..small_value() });
    let error = resume::<Value<Board>>(&out, &["network=lookup:width=16"]).unwrap_err().to_string();
    assert!(error.contains("network"), "{error}");
    let error = resume::<Dqn<Board>>(&out, &[]).unwrap_err().to_string();
    assert!(error.contains("value"), "{error}");
}

/// Every learner by its settings, on a size that is known only when it runs: what it saves is for that size.
#[test]
fn learners_run_on_any_size() {
    fn check<C: AnySize>(base: C, more: &[&str]) {
        let sets = [&["network=lookup:width=8,hidden=8", "moves=500", "evaluate_every=0"], more].concat();
        let config = resolve(base, None, &sets.iter().map(|&set| set.to_owned()).collect::<Vec<_>>()).unwrap();
        let (folder, size) = (tempfile::tempdir().unwrap(), "3x3".parse().unwrap());
        let trained = C::train(size, &folder.path().join("run"), Start::New(&config), &Stop::new(), &mut |_| ());
        let trained = trained.unwrap_or_else(|error| panic!("{}: {error}", C::LEARNER));
        let sized = fs::read(&trained.checkpoint).unwrap().windows(12).any(|part| part == b"\"size\":\"3x3\"");
        assert!(sized && trained.finished && trained.games > 0, "{}: {sized} {trained:?}", C::LEARNER);
    }
    check(ValueConfig::new(), &["block=4"]);
    check(DqnConfig::new(), &["block=4"]);
    check(PpoConfig::new(), &[]);
    check(ZeroConfig::new(), &["block=4", "lanes=2", "simulations=4"]);
    check(DistillConfig::new(), &["lanes=2", "teacher=greedy"]);
}

/// Settings from before rates could be held mean rates that fall from the beginning; holding them to the end would leave no fall.
#[test]
fn rates_may_be_held_for_less_than_the_whole_run() {
    let mut kept = serde_json::to_value(ValueConfig::new()).unwrap();
    kept.as_object_mut().unwrap().remove("rate_hold").unwrap();
    assert_eq!(serde_json::from_value::<ValueConfig>(kept).unwrap().rate_hold, 0.0);
    assert!(ValueConfig { rate_hold: 0.9, ..ValueConfig::new() }.check().is_ok());
    let error = ValueConfig { rate_hold: 1.0, ..ValueConfig::new() }.check().unwrap_err();
    assert!(error.contains("rate_hold"), "{error}");
    assert!(ValueConfig::CHANGEABLE.contains(&"rate_hold"));
}
