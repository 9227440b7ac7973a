//! Temporal-difference learning: exact on solved games, the same to the last bit when resumed, and careful with its files.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use afterstate_board::{Afterstate, Board, Grid, Position, SpawnRule};
use afterstate_evaluator::{Spec, ntuple};
use afterstate_learn::run::{Config, Start, Stop};
use afterstate_learn::td::{Event, PRESETS, TdConfig, Trained, measure, train, train_at};

const RULE: SpawnRule = SpawnRule::CLASSIC;

/// The expected score of the best play from an afterstate, by plain recursion over all spawns.
fn optimum<P: Position>(after: &Afterstate<P>, known: &mut HashMap<P, f64>) -> f64 {
    if let Some(&value) = known.get(after.board()) {
        return value;
    }
    let spawns: Vec<_> = after.spawns(&RULE).collect();
    let value = spawns.into_iter().map(|(spawn, p)| p * best(&after.place(spawn), |after| optimum(after, known))).sum();
    known.insert(*after.board(), value);
    value
}

fn best<P: Position>(board: &P, mut value: impl FnMut(&Afterstate<P>) -> f64) -> f64 {
    board.slides().iter().map(|(_, slide)| f64::from(slide.reward) + value(&slide.after)).fold(0.0, f64::max)
}

/// The expected score from two random tiles, given the values of afterstates.
fn from_the_start<P: Position>(mut value: impl FnMut(&Afterstate<P>) -> f64) -> f64 {
    let empty = Afterstate::new(P::empty());
    let second = |(spawn, p): (_, f64)| {
        let one = Afterstate::new(empty.place(spawn));
        one.spawns(&RULE).map(|(spawn, q)| (one.place(spawn), p * q)).collect::<Vec<_>>()
    };
    empty.spawns(&RULE).flat_map(second).map(|(board, p)| p * best(&board, &mut value)).sum()
}

fn run<P: Position>(folder: &Path, config: &TdConfig) -> Trained {
    train::<P>(folder, Start::New(config), &Stop::new(), |_| ()).unwrap()
}

fn resume<P: Position>(folder: &Path, sets: &[&str]) -> (Trained, Vec<String>) {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    let mut heard = Vec::new();
    let start = Start::Resume { file: None, sets: &sets };
    let trained = train::<P>(folder, start, &Stop::new(), |event| {
        if let Event::Notice(notice) = event {
            heard.push(notice.to_string());
        }
    });
    (trained.unwrap(), heard)
}

/// Small and quick, one thread.
fn small(games: u64) -> TdConfig {
    TdConfig {
        patterns: "0123 4567 0145".into(),
        games,
        threads: 1,
        lanes: 3,
        block: 50,
        checkpoint_every: 100,
        evaluate_every: 0,
        ..TdConfig::new()
    }
}

/// Settings for a game that can be solved: the first games by plain temporal differences.
fn solving(games: u64, plain_games: u64) -> TdConfig {
    TdConfig { plain_games, lambda: 0.0, horizon: 1, block: 10_000, checkpoint_every: games, ..small(games) }
}

/// Learns a whole board as one pattern, and compares with the solution.
fn converges<P: Position>(config: &TdConfig, within: f64) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let trained = run::<P>(&out, config);
    let spec: Spec = format!("ntuple@{}", trained.checkpoint.display()).parse().unwrap();
    let network = afterstate_evaluator::build::<P>(&spec).unwrap();
    let mut known = HashMap::new();
    let exact = from_the_start::<P>(|after| optimum(after, &mut known));
    let learned = from_the_start::<P>(|after| f64::from(network.value(after)));
    // What the learned values say, and what playing by them is really worth.
    let mut played = HashMap::new();
    let real = from_the_start_by(&*network, &mut played);
    assert!((learned / exact - 1.0).abs() < within, "learned {learned}, exact {exact}");
    assert!((real / exact - 1.0).abs() < within, "plays for {real}, exact {exact}");
    exact
}

/// The expected score of greedy play by a network, exactly.
fn from_the_start_by<P: Position>(
    network: &dyn afterstate_evaluator::Evaluator<P>,
    known: &mut HashMap<P, f64>,
) -> f64 {
    fn chosen<P: Position>(
        board: &P,
        network: &dyn afterstate_evaluator::Evaluator<P>,
        known: &mut HashMap<P, f64>,
    ) -> f64 {
        let worth = |reward: u32, after: &Afterstate<P>| reward as f32 + network.value(after);
        let slides = board.slides();
        let best = slides
            .iter()
            .map(|(_, slide)| slide)
            .max_by(|a, b| worth(a.reward, &a.after).total_cmp(&worth(b.reward, &b.after)));
        best.map_or(0.0, |slide| f64::from(slide.reward) + value(&slide.after, network, known))
    }
    fn value<P: Position>(
        after: &Afterstate<P>,
        network: &dyn afterstate_evaluator::Evaluator<P>,
        known: &mut HashMap<P, f64>,
    ) -> f64 {
        if let Some(&value) = known.get(after.board()) {
            return value;
        }
        let spawns: Vec<_> = after.spawns(&RULE).collect();
        let value = spawns.into_iter().map(|(spawn, p)| p * chosen(&after.place(spawn), network, known)).sum();
        known.insert(*after.board(), value);
        value
    }
    let empty = Afterstate::new(P::empty());
    let mut total = 0.0;
    for (spawn, p) in empty.spawns(&RULE).collect::<Vec<_>>() {
        let one = Afterstate::new(empty.place(spawn));
        for (spawn, q) in one.spawns(&RULE).collect::<Vec<_>>() {
            total += p * q * chosen(&one.place(spawn), network, known);
        }
    }
    total
}

#[test]
fn two_by_two_converges_to_the_optimum() {
    // On two threads, whose own weights (there are no large tiles here) become the mean of what each has learned, whatever its share of the
    // games: a thread that had few of them is behind.
    for (threads, within) in [(1, 0.001), (2, 0.01)] {
        let solving = TdConfig { threads, apart: 0, ..solving(600_000, 600_000) };
        let config = TdConfig { patterns: "0123".into(), initial: 100.0, plain_rate: 0.003, ..solving };
        let exact = converges::<Grid<2, 2>>(&config, within);
        assert!((exact - 66.964_149_457_101_26).abs() < 1e-9, "{exact}");
    }
}

#[test]
fn two_by_three_converges_to_the_optimum() {
    let config = TdConfig { patterns: "012345".into(), initial: 600.0, plain_rate: 0.03, ..solving(400_000, 250_000) };
    converges::<Grid<2, 3>>(&config, 0.04);
}

#[test]
fn the_tiny_preset_learns() {
    let folder = tempfile::tempdir().unwrap();
    let preset = PRESETS.iter().find(|preset| preset.name == "tiny").unwrap();
    let config = (preset.settings)(TdConfig::new());
    let mut mean = 0.0;
    train::<Board>(&folder.path().join("run"), Start::New(&config), &Stop::new(), |event| {
        if let Event::Progress(progress) = event {
            mean = progress.evaluation.as_ref().map_or(mean, |summary| summary.score.mean);
        }
    })
    .unwrap();
    // Random play averages 1,100 and has not been seen above 7,000.
    assert!(mean > 15_000.0, "{mean}");
}

#[test]
fn one_thread_makes_the_same_bytes_every_time_and_across_a_resumption() {
    let folder = tempfile::tempdir().unwrap();
    for stages in [vec![], vec![256, 512]] {
        let path = |name: &str| folder.path().join(format!("{name}{}", stages.len()));
        let base = TdConfig {
            stages: stages.clone(),
            shared_games: 100,
            restarts: 0.3,
            restart_tile: 128,
            end_share: 0.2,
            ..small(300)
        };
        let [one, two] = ["one", "two"].map(|name| fs::read(run::<Board>(&path(name), &base).checkpoint).unwrap());
        assert!(one == two, "two runs differ");
        run::<Board>(&path("cut"), &TdConfig { games: 150, end_share: 0.0, ..base.clone() });
        let (trained, _) = resume::<Board>(&path("cut"), &["games=300", "end_share=0.2"]);
        assert!(one == fs::read(trained.checkpoint).unwrap(), "the resumed run differs");
        // Before the stages part there is one, and whoever plays it must not look for another.
        let early = run::<Board>(&path("early"), &TdConfig { games: 50, end_share: 0.0, ..base.clone() }).checkpoint;
        assert!(ntuple::load::<Board>(&early).unwrap().layout().stages().is_empty());
        let (trained, _) = resume::<Board>(&path("early"), &["games=300", "end_share=0.2"]);
        assert!(one == fs::read(trained.checkpoint).unwrap(), "the run that was resumed before they part differs");
        let other = TdConfig { seed: 2, ..base };
        assert!(one != fs::read(run::<Board>(&path("other"), &other).checkpoint).unwrap());
    }
}

#[test]
fn games_begin_where_they_are_told_and_end_better_by_tables() {
    let folder = tempfile::tempdir().unwrap();
    let starts = folder.path().join("starts.txt");
    fs::write(&starts, "# six large tiles\nedc0ba9021001000\nedc0ba9000002010\n").unwrap();
    let config = TdConfig { starts: starts.to_str().unwrap().into(), evaluate_every: 300, ..small(300) };
    let mean = |name: &str, tables: &str| {
        let (out, config) = (folder.path().join(name), TdConfig { tables: tables.into(), ..config.clone() });
        let mut evaluated = None;
        let trained = train::<Board>(&out, Start::New(&config), &Stop::new(), |event| {
            if let Event::Progress(progress) = event {
                assert!(progress.reach[3] == 1.0, "every game has a 16384 from the start");
                evaluated = progress.evaluation.clone().or(evaluated.take());
            }
        });
        (fs::read(trained.unwrap().checkpoint).unwrap(), evaluated.expect("an evaluation").score.mean)
    };
    let (alone, (bytes, guided)) = (mean("alone", "none").1, mean("guided", "tiny"));
    assert!(guided > 1.5 * alone, "{guided} with tables, {alone} without");
    // A run with both goes on as if it had not been interrupted.
    let first = TdConfig { games: 150, evaluate_every: 0, tables: "tiny".into(), ..config };
    run::<Board>(&folder.path().join("cut"), &first);
    let (trained, _) = resume::<Board>(&folder.path().join("cut"), &["games=300"]);
    assert!(bytes == fs::read(trained.checkpoint).unwrap(), "the resumed run differs");
}

/// The chance of a tile by the best play, by plain recursion.
fn chance_of<P: Position>(goal: u8, after: &Afterstate<P>, known: &mut HashMap<P, f64>) -> f64 {
    if let Some(&value) = known.get(after.board()) {
        return value;
    }
    let spawns: Vec<_> = after.spawns(&RULE).collect();
    let value = spawns.into_iter().map(|(spawn, p)| p * best_chance(goal, &after.place(spawn), known)).sum();
    known.insert(*after.board(), value);
    value
}

fn best_chance<P: Position>(goal: u8, board: &P, known: &mut HashMap<P, f64>) -> f64 {
    if board.max_exponent() >= goal {
        return 1.0;
    }
    board.slides().iter().map(|(_, slide)| chance_of(goal, &slide.after, known)).fold(0.0, f64::max)
}

#[test]
fn the_chance_of_a_tile_is_learned() {
    let folder = tempfile::tempdir().unwrap();
    for goal in [16u32, 32] {
        let config = TdConfig { patterns: "0123".into(), goal, initial: f64::from(goal), ..solving(200_000, 100_000) };
        let trained = run::<Grid<2, 2>>(&folder.path().join(goal.to_string()), &config);
        let network = ntuple::load::<Grid<2, 2>>(&trained.checkpoint).unwrap();
        assert_eq!(network.goal(), Some(ntuple::Goal { exponent: goal.ilog2() as u8, from: 0, is_whole: true }));
        let (mut known, exponent) = (HashMap::new(), goal.ilog2() as u8);
        let learned = |after: &Afterstate<Grid<2, 2>>| f64::from(network.board_value(after.board())) / f64::from(goal);
        for start in ["2 2 / 0 0", "2 0 / 0 4", "8 2 / 0 2"] {
            let start: Grid<2, 2> = start.parse().unwrap();
            let exact = best_chance(exponent, &start, &mut known);
            let by_network = start.slides().iter().map(|(_, slide)| learned(&slide.after)).fold(0.0, f64::max);
            assert!((exact - by_network).abs() < 0.01, "{goal} from {start}: learned {by_network}, exact {exact}");
        }
    }
}

/// Games begin at the last file first, and further back as they come to something; a run that is cut goes on the same.
#[test]
fn a_run_for_a_goal_goes_back_from_file_to_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, boards: &str| {
        let path = folder.path().join(name);
        fs::write(&path, boards).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let starts = [
        file("early", "5000000000000001\n0500000010000000\n"),
        file("middle", "6000000000000001\n0600000010000000\n"),
        file("last", "6600000000000001\n0660000010000000\n"),
    ];
    let config = TdConfig {
        starts: starts.join(","),
        goal: 128,
        stages: vec![60, 120],
        stages_by: "sums".into(),
        ..TdConfig { block: 2_500, checkpoint_every: 100_000, ..small(40_000) }
    };
    let path = |name: &str| folder.path().join(name);
    let mut chances = Vec::new();
    let whole = train::<Board>(&path("whole"), Start::New(&config), &Stop::new(), |event| {
        if let Event::Progress(progress) = event {
            chances.push((progress.first_file.unwrap(), progress.chance.unwrap()));
        }
    });
    let whole = fs::read(whole.unwrap().checkpoint).unwrap();
    assert_eq!(chances[0].0, 3, "the last of three files");
    assert_eq!(chances.last().unwrap().0, 1, "the first");
    assert!(chances[0].1 > 0.9, "a pair of halves: {chances:?}");
    assert!(chances.last().unwrap().1 > 0.5, "{chances:?}");
    let cut = run::<Board>(&path("cut"), &TdConfig { games: 10_000, ..config.clone() }).checkpoint;
    let saved = ntuple::file::Saved::open(&cut, &ntuple::file::FORMAT).unwrap();
    let counted: Vec<u64> = saved.metadata["reached"].split(' ').map(|word| word.parse().unwrap()).collect();
    assert!(counted[0] == 1 && counted[1] > 1_000 && counted[2] > 500, "amid the second file: {counted:?}");
    let (trained, _) = resume::<Board>(&path("cut"), &["games=40000"]);
    assert!(whole == fs::read(&trained.checkpoint).unwrap(), "the resumed run differs");
    // Its network says what it is about, also when it is packed.
    let small = path("small.safetensors");
    afterstate_learn::shrink::<Board>(&trained.checkpoint, &small, 1 << 20, 1).unwrap();
    for path in [&trained.checkpoint, &small] {
        let network = ntuple::load::<Board>(path).unwrap();
        // All files were begun at in the end, the first with 32 and 2.
        let goal = ntuple::Goal { exponent: 7, from: 34, is_whole: true };
        assert_eq!((network.goal(), network.layout().stages()), (Some(goal), &ntuple::Stages::Sums(vec![60, 120])));
    }
    for (set, reason) in [
        ("goal=100", "neither 0 nor a tile"),
        ("goal=0", "several files"),
        ("stages_by=tile", "nor sums"),
        ("downgrade=64", "on boards as they are"),
        ("restarts=0.5", "begins where its files"),
    ] {
        let wrong = afterstate_learn::run::resolve(config.clone(), None, &[set.to_owned()]);
        assert!(wrong.unwrap_err().to_string().contains(reason), "{set}");
    }
}

/// What a file says of its goal and its stages must make sense, and so must the files of positions.
#[test]
fn a_goal_that_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let starts = |name: &str, board: &str| {
        let path = folder.path().join(name);
        fs::write(&path, board).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (early, last) = (starts("early", "6000000000000001\n"), starts("last", "6600000000000001\n"));
    let config = TdConfig {
        starts: format!("{early},{last}"),
        goal: 128,
        stages: vec![120],
        stages_by: "sums".into(),
        ..small(200)
    };
    let out = folder.path().join("run");
    let checkpoint = run::<Board>(&out, &config).checkpoint;
    let saved = ntuple::file::Saved::open(&checkpoint, &ntuple::file::FORMAT).unwrap();
    let weights = saved.layout(Board::SIZE).unwrap().weights();
    let words = |name: &str, kind, len| saved.words(name, kind, len).unwrap().unwrap();
    let (own, coherence) = (
        words("weights", ntuple::file::Dtype::I32, weights),
        words("coherence", ntuple::file::Dtype::F32, 2 * weights),
    );
    let tensors = [("weights", ntuple::file::Dtype::I32, &own), ("coherence", ntuple::file::Dtype::F32, &coherence)]
        .map(|(name, kind, words)| ntuple::file::Tensor { name, kind, words: words.atomics() });
    for (key, value, reason) in [
        ("goal", "100 from 0", "its goal is no tile"),
        ("goal", "128 from far", "its goal is no tile"),
        ("stages", "sums 12O", "no tiles and no sums"),
    ] {
        let metadata = saved.metadata.iter().map(|(key, value)| (key.clone(), value.clone()));
        let metadata = metadata.chain([(key.to_owned(), value.to_owned())]).collect();
        let path = folder.path().join("wrong.safetensors");
        ntuple::file::write(&mut fs::File::create(&path).unwrap(), &metadata, &tensors).unwrap();
        let error = ntuple::load::<Board>(&path).err().unwrap().to_string();
        assert!(error.contains(reason), "{key}={value}: {error}");
    }
    let wrong = |config: TdConfig| {
        let out = folder.path().join("wrong");
        train::<Board>(&out, Start::New(&config), &Stop::new(), |_| ()).unwrap_err().to_string()
    };
    let order = wrong(TdConfig { starts: format!("{last},{early}"), ..config.clone() });
    assert!(order.contains("name the earliest first"), "{order}");
    let points = run::<Board>(&folder.path().join("points"), &small(10)).checkpoint;
    let from = wrong(TdConfig { from: points.to_str().unwrap().into(), ..config.clone() });
    assert!(from.contains("its values are not what this run learns"), "{from}");
    let nowhere = TdConfig { starts: String::new(), tables: "tiny".into(), ..config };
    assert!(nowhere.check().unwrap_err().contains("would never come to 128"));
}

#[test]
fn a_run_begins_with_the_weights_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let first = run::<Board>(&folder.path().join("first"), &small(300)).checkpoint;
    let from = first.to_str().unwrap().to_owned();
    // With steps far below a unit nothing changes, so that all stages still say what the first run did.
    let config = TdConfig { from: from.clone(), stages: vec![256], rate: 1e-9, ..small(50) };
    let second = run::<Board>(&folder.path().join("second"), &config).checkpoint;
    let [first, second] = [first, second].map(|path| ntuple::load::<Board>(&path).unwrap());
    for text in ["2 4 8 16 / 0 0 2 4 / 0 0 0 2 / 0 0 0 0", "512 4 8 16 / 64 0 2 4 / 0 0 0 2 / 0 0 0 0"] {
        let board: Board = text.parse().unwrap();
        let [one, two] = [&first, &second].map(|network| network.board_value(&board));
        assert!(one > 100.0 && (one - two).abs() < 1.0, "{one} {two}");
    }
    let other = TdConfig { patterns: "0123".into(), ..config.clone() };
    let error = train::<Board>(&folder.path().join("third"), Start::New(&other), &Stop::new(), |_| ()).unwrap_err();
    assert!(error.to_string().contains("cannot be where this run begins"), "{error}");
    // Learned as smaller tiles, boards with a large one change what the smaller ones say.
    let starts = folder.path().join("starts.txt");
    fs::write(&starts, "a210000000000000\n").unwrap();
    let learn = |name: &str, downgrade: u32| {
        let starts = starts.to_str().unwrap().into();
        let config = TdConfig { from: from.clone(), rate: 1.0, starts, downgrade, ..small(50) };
        ntuple::load::<Board>(&run::<Board>(&folder.path().join(name), &config).checkpoint).unwrap()
    };
    let (plain, downgraded) = (learn("plain", 0), learn("downgraded", 1024));
    let board = |text: &str| -> Board { text.parse().unwrap() };
    // What is common to both boards cancels out.
    let lead = |network: &ntuple::Network| {
        network.board_value(&board("a210000000000000")) - network.board_value(&board("9210000000000000"))
    };
    let [before, plain, downgraded] = [&first, &plain, &downgraded].map(lead);
    assert!(plain > before + 100.0 && downgraded < before - 10.0, "{before} {plain} {downgraded}");
    // A run that goes on needs it no longer, and does not take its absence for damage of its own.
    fs::remove_dir_all(folder.path().join("first")).unwrap();
    let (out, sets, mut heard) = (folder.path().join("plain"), ["games=60".to_owned()], Vec::new());
    let go_on = Start::Resume { file: None, sets: &sets };
    let trained = train::<Board>(&out, go_on, &Stop::new(), |event| {
        if let Event::Notice(notice) = event {
            heard.push(notice.to_string());
        }
    });
    assert_eq!(trained.unwrap().games, 60);
    assert!(!heard.iter().any(|notice| notice.contains("safetensors")), "{heard:?}");
}

#[test]
fn a_damaged_checkpoint_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let whole = run::<Board>(&folder.path().join("whole"), &small(300));
    let cut = run::<Board>(&out, &small(200));
    let mut bytes = fs::read(&cut.checkpoint).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&cut.checkpoint, bytes).unwrap();
    let (trained, heard) = resume::<Board>(&out, &["games=300"]);
    assert!(heard.iter().any(|notice| notice.contains("going back to")), "{heard:?}");
    assert_eq!(fs::read(trained.checkpoint).unwrap(), fs::read(whole.checkpoint).unwrap());
}

#[test]
fn a_run_from_before_there_were_tables_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    run::<Board>(&out, &small(50));
    let config = fs::read_to_string(out.join("config.toml")).unwrap();
    let is_new = |line: &&str| ["from", "downgrade", "starts", "tables"].iter().any(|key| line.starts_with(key));
    let older: Vec<&str> = config.lines().filter(|line| !is_new(line)).collect();
    assert_eq!(older.len() + 4, config.lines().count(), "{config}");
    fs::write(out.join("config.toml"), older.join("\n")).unwrap();
    assert_eq!(resume::<Board>(&out, &["games=100"]).0.games, 100);
}

#[test]
fn a_request_to_stop_saves_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (out, stop) = (folder.path().join("run"), Stop::new());
    let config = TdConfig { games: 1_000_000, ..small(1) };
    let trained = train::<Board>(&out, Start::New(&config), &stop, |event| {
        if matches!(event, Event::Progress(progress) if progress.games >= 100) {
            stop.request();
        }
    })
    .unwrap();
    assert!(!trained.finished && trained.games == 100, "{trained:?}");
    assert!(trained.checkpoint.exists());
}

#[test]
fn several_threads_learn_too() {
    for apart in [0, 500, u64::MAX] {
        let config = TdConfig { threads: 3, apart, ..small(1_500) };
        let mean = measure(&config, 0).unwrap().mean_score;
        assert!(mean > 5_000.0, "{mean}, apart from {apart} games on");
    }
}

#[test]
fn nonsense_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let config = TdConfig { patterns: "0123g".into(), ..small(10) };
    let error = train::<Board>(&out, Start::New(&config), &Stop::new(), |_| ()).unwrap_err().to_string();
    assert!(error.contains("0123g") && !out.exists(), "{error}");
    let absent = folder.path().join("absent.txt").to_str().unwrap().to_owned();
    let error = |config: TdConfig| train::<Board>(&out, Start::New(&config), &Stop::new(), |_| ()).unwrap_err();
    let error = error(TdConfig { starts: absent.clone(), ..small(10) }).to_string();
    assert!(error.contains(&absent) && !out.exists(), "{error}");
    let error = TdConfig { tables: "huge".into(), ..small(10) }.check().unwrap_err();
    assert!(error.contains("huge") && error.contains("tiny"), "{error}");
    run::<Board>(&out, &small(50));
    let start = Start::New(&config);
    assert!(train::<Board>(&out, start, &Stop::new(), |_| ()).is_err());
    let sets = ["patterns=01".to_owned()];
    let error = train::<Board>(&out, Start::Resume { file: None, sets: &sets }, &Stop::new(), |_| ()).unwrap_err();
    assert!(error.to_string().contains("patterns"), "{error}");
}

/// A size that is known only when it runs gives what its type gives.
#[test]
fn sizes_are_found_at_run_time() {
    let folder = tempfile::tempdir().unwrap();
    let config =
        TdConfig { patterns: "0134 1245".into(), games: 200, threads: 1, evaluate_every: 0, ..TdConfig::new() };
    let size = "3x3".parse().unwrap();
    let (by_size, by_type) = (folder.path().join("size"), folder.path().join("type"));
    let found = train_at(size, &by_size, Start::New(&config), &Stop::new(), &mut |_| ()).unwrap();
    let wanted = train::<Grid<3, 3>>(&by_type, Start::New(&config), &Stop::new(), |_| ()).unwrap();
    assert_eq!(found.games, 200);
    assert!(fs::read(found.checkpoint).unwrap() == fs::read(wanted.checkpoint).unwrap());
}
