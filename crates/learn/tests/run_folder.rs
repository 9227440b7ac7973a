//! The run folder under everything that happens to one: kills, full disks, damaged files, changed settings, two at once.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use afterstate_learn::run::{self, Checkpoint, Config, FolderError, Notice, Origin, Provenance, Resumed, RunFolder};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Settings {
    games: u64,
    alpha: f32,
    seed: u64,
}

impl Config for Settings {
    const LEARNER: &'static str = "toy";
    const EXTENSION: &'static str = "bin";
    const CHANGEABLE: &'static [&'static str] = &["games"];
}

fn settings() -> Settings {
    Settings { games: 100, alpha: 0.1, seed: 7 }
}

fn create(path: &Path) -> RunFolder {
    RunFolder::create(path, &settings(), &Origin::here(7)).unwrap()
}

fn try_resume(path: &Path) -> Result<Resumed<Settings>, FolderError> {
    RunFolder::open_to_resume(path, Ok, |config: &Settings| Origin::here(config.seed))
}

fn resume(path: &Path) -> Resumed<Settings> {
    try_resume(path).unwrap()
}

/// A state that is known by its step, long enough to be caught half-written.
fn state(step: u64) -> Vec<u8> {
    (0..40_000u64).flat_map(|i| (step * 1_000_003 + i).to_le_bytes()).collect()
}

fn save(folder: &mut RunFolder, step: u64, figure: Option<f64>) -> Checkpoint {
    folder.checkpoint(step, figure, |out| out.write_all(&state(step))).unwrap()
}

fn content(folder: &RunFolder, checkpoint: &Checkpoint) -> Vec<u8> {
    let mut bytes = Vec::new();
    folder.open(checkpoint).unwrap().read_to_end(&mut bytes).unwrap();
    bytes
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn metrics(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("metrics.jsonl")).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn steps(folder: &Path, kind: &str) -> Vec<u64> {
    metrics(folder).iter().filter(|line| line["kind"] == kind).map(|line| line["step"].as_u64().unwrap()).collect()
}

fn home() -> (tempfile::TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("runs/toy");
    (home, path)
}

/// A file at the end of which one bit is wrong.
fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_run_is_kept_and_goes_on() {
    let (_home, path) = home();
    let mut folder = create(&path);
    for step in 1..=5 {
        folder.record("train", step, &[("score", step as f64 * 10.0), ("loss", f64::NAN)]).unwrap();
        save(&mut folder, step, Some([0.0, 1.0, 9.0, 2.0, 3.0, f64::NAN][step as usize]));
    }
    folder.log("two\nlines").unwrap();
    assert_eq!(folder.checkpoints().iter().map(|c| c.step).collect::<Vec<_>>(), [3, 4, 5]);
    assert_eq!(folder.best().map(|best| (best.step, best.figure)), Some((2, Some(9.0))));
    let before = folder.seconds();
    drop(folder);
    assert_eq!(names(&path.join("checkpoints")), ["best.bin", "step-3.bin", "step-4.bin", "step-5.bin"]);
    assert_eq!(run::learner_of(&path).unwrap(), "toy");
    assert_eq!(
        fs::read_to_string(path.join("config.toml")).unwrap(),
        "learner = \"toy\"\ngames = 100\nalpha = 0.1\nseed = 7\n"
    );

    let Resumed { mut folder, config, checkpoint, notices } = resume(&path);
    assert_eq!((config, notices), (settings(), Vec::new()));
    let checkpoint = checkpoint.unwrap();
    assert_eq!((checkpoint.step, content(&folder, &checkpoint)), (5, state(5)));
    let best = folder.best().unwrap().clone();
    assert_eq!((best.step, content(&folder, &best)), (2, state(2)));
    assert!(checkpoint.seconds > 0.0 && checkpoint.seconds <= before && folder.seconds() >= checkpoint.seconds);
    folder.record("train", 6, &[("score", 60.0)]).unwrap();
    let sixth = save(&mut folder, 6, Some(10.0));
    assert!(sixth.seconds > checkpoint.seconds);
    assert_eq!(folder.best().unwrap().step, 6);
    assert_eq!(steps(&path, "train"), [1, 2, 3, 4, 5, 6]);
    assert_eq!(metrics(&path)[0]["score"], 10.0);
    assert_eq!(metrics(&path)[0]["loss"], Value::Null);
    let log = fs::read_to_string(path.join("log.txt")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines.len() == 2 && lines[0].ends_with("Z two") && lines[1].ends_with("Z lines"), "{log}");

    let provenance: Provenance = serde_json::from_slice(&fs::read(path.join("provenance.json")).unwrap()).unwrap();
    assert_eq!((provenance.learner.as_str(), provenance.seed), ("toy", 7));
    assert_eq!(provenance.sessions.iter().map(|s| s.resumed_from).collect::<Vec<_>>(), [None, Some(5)]);
    assert!(provenance.sessions[0].machine.cores >= 1 && !provenance.sessions[0].command.is_empty());
}

#[test]
fn folders_that_do_not_fit_are_refused() {
    let (_home, path) = home();
    assert!(matches!(try_resume(&path), Err(FolderError::NoRun(_))));
    assert!(matches!(run::learner_of(&path), Err(FolderError::NoRun(_))));
    assert!(!path.exists());
    let folder = create(&path);
    let error = try_resume(&path).unwrap_err().to_string();
    assert!(error.contains("in use by another process") && error.contains(&std::process::id().to_string()), "{error}");
    let begin = || RunFolder::create(&path, &settings(), &Origin::here(7));
    assert!(matches!(begin(), Err(FolderError::InUse { .. })));
    drop(folder);
    assert!(matches!(begin(), Err(FolderError::Occupied(_))));

    let amend = |alpha, games| {
        RunFolder::open_to_resume(&path, |kept: Settings| Ok(Settings { alpha, games, ..kept }), |_| Origin::here(7))
    };
    let error = amend(0.5, 200).unwrap_err().to_string();
    assert!(error.contains("alpha was 0.1, not 0.5") && !error.contains("games"), "{error}");
    assert!(fs::read_to_string(path.join("config.toml")).unwrap().contains("games = 100"));
    let resumed = amend(0.1, 200).unwrap();
    let changed = Notice::Changed { key: "games".to_owned(), was: "100".to_owned(), now: "200".to_owned() };
    assert!(resumed.notices.contains(&changed) && resumed.checkpoint.is_none());
    drop(resumed);
    assert_eq!(resume(&path).config.games, 200);

    let toml = path.join("config.toml");
    fs::write(&toml, "learner = \"other\"\ngames = 1\n").unwrap();
    assert!(try_resume(&path).unwrap_err().to_string().contains("for the learner 'other', not for 'toy'"));
    fs::write(&toml, "learner = \"toy\"\ngames = ").unwrap();
    assert!(try_resume(&path).unwrap_err().to_string().contains("config.toml: line 2"));
}

#[test]
fn a_run_without_a_checkpoint_begins_again() {
    let (_home, path) = home();
    let mut folder = create(&path);
    folder.record("train", 0, &[("score", 1.0)]).unwrap();
    folder.record("train", 1, &[("score", 1.0)]).unwrap();
    drop(folder);
    let Resumed { checkpoint, notices, .. } = resume(&path);
    assert_eq!(checkpoint, None);
    assert_eq!(notices, [Notice::FromTheStart, Notice::MetricsCut { lines: 2, step: 0 }]);
    assert!(metrics(&path).is_empty());
}

#[test]
fn metrics_are_cut_to_the_checkpoint() {
    let (_home, path) = home();
    let mut folder = create(&path);
    for step in 1..=6 {
        folder.record("train", step, &[("score", 1.0)]).unwrap();
        if step == 4 {
            save(&mut folder, step, None);
        }
    }
    drop(folder);
    let torn = fs::read_to_string(path.join("metrics.jsonl")).unwrap() + "{\"kind\":\"train\",\"step\":3";
    fs::write(path.join("metrics.jsonl"), torn).unwrap();
    let resumed = resume(&path);
    assert_eq!(resumed.notices, [Notice::MetricsCut { lines: 3, step: 4 }]);
    assert_eq!(steps(&path, "train"), [1, 2, 3, 4]);
    drop(resumed);
    // Lines out of order, or spoiled by hand, go alone.
    let text = fs::read_to_string(path.join("metrics.jsonl")).unwrap();
    let odd = "{\"kind\":\"train\",\"step\":9}\nnonsense\n{\"kind\":\"train\",\"step\":2}\n".to_owned() + &text;
    fs::write(path.join("metrics.jsonl"), odd).unwrap();
    assert_eq!(resume(&path).notices, [Notice::MetricsCut { lines: 2, step: 4 }]);
    assert_eq!(steps(&path, "train"), [2, 1, 2, 3, 4]);
    let log = fs::read_to_string(path.join("log.txt")).unwrap();
    assert!(log.contains("3 lines of metrics after step 4 were cut"), "{log}");
}

#[test]
fn a_damaged_checkpoint_is_passed_over() {
    let (_home, path) = home();
    let mut folder = create(&path);
    for step in 1..=3 {
        folder.record("train", step, &[("score", 1.0)]).unwrap();
        save(&mut folder, step, None);
    }
    drop(folder);
    flip(&path.join("checkpoints/step-3.bin"));
    let Resumed { folder, checkpoint, notices, .. } = resume(&path);
    let checkpoint = checkpoint.unwrap();
    assert_eq!((checkpoint.step, content(&folder, &checkpoint)), (2, state(2)));
    let told = notices[0].to_string();
    assert!(told.starts_with("checkpoints/step-3.bin cannot be used: its checksum is"), "{told}");
    assert!(told.contains("going back to checkpoints/step-2.bin"), "{told}");
    assert_eq!(steps(&path, "train"), [1, 2]);
    drop(folder);

    // It stays out, and what is missing or too short is found out as well.
    assert_eq!(resume(&path).notices, []);
    fs::write(path.join("checkpoints/step-2.bin"), &state(2)[..1000]).unwrap();
    let resumed = resume(&path);
    assert_eq!(resumed.checkpoint.as_ref().map(|checkpoint| checkpoint.step), Some(1));
    assert!(resumed.notices[0].to_string().contains("it has 1000 of 320000 bytes"), "{:?}", resumed.notices);
    drop(resumed);
    fs::remove_file(path.join("checkpoints/step-1.bin")).unwrap();
    let error = try_resume(&path).unwrap_err().to_string();
    assert!(error.contains("no checkpoint is intact: checkpoints/step-1.bin: it is missing"), "{error}");
}

#[test]
fn the_best_serves_when_all_else_is_lost() {
    let (_home, path) = home();
    let mut folder = create(&path);
    (1..=5).for_each(|step| drop(save(&mut folder, step, (step == 1).then_some(1.0))));
    drop(folder);
    (3..=5).for_each(|step| flip(&path.join(format!("checkpoints/step-{step}.bin"))));
    let Resumed { folder, checkpoint, notices, .. } = resume(&path);
    assert_eq!((checkpoint.as_ref().unwrap().step, content(&folder, &checkpoint.unwrap())), (1, state(1)));
    assert_eq!(notices.len(), 4, "three passed over, metrics cut: {notices:?}");
    drop(folder);

    let (_home, path) = home();
    let mut folder = create(&path);
    (1..=5).for_each(|step| drop(save(&mut folder, step, (step == 1).then_some(1.0))));
    drop(folder);
    flip(&path.join("checkpoints/best.bin"));
    let Resumed { mut folder, checkpoint, notices, .. } = resume(&path);
    assert!(matches!(&notices[..], [Notice::BestLost { .. }]), "{notices:?}");
    assert_eq!((checkpoint.unwrap().step, folder.best()), (5, None));
    save(&mut folder, 6, Some(0.5));
    assert_eq!(folder.best().map(|best| best.step), Some(6));
}

#[test]
fn a_learner_can_fall_back_itself() {
    let (_home, path) = home();
    let mut folder = create(&path);
    for step in 1..=3 {
        folder.record("train", step, &[("score", 1.0)]).unwrap();
        save(&mut folder, step, Some(step as f64));
    }
    drop(folder);
    let Resumed { mut folder, checkpoint, .. } = resume(&path);
    let (second, notices) = folder.fall_back(&checkpoint.unwrap(), "it holds another network").unwrap();
    assert_eq!((second.step, content(&folder, &second)), (2, state(2)));
    assert!(notices[0].to_string().contains("it holds another network"), "{notices:?}");
    // The best was the same state under another name.
    assert!(notices.iter().any(|notice| matches!(notice, Notice::BestLost { .. })) && folder.best().is_none());
    assert_eq!(steps(&path, "train"), [1, 2]);
    let (first, _) = folder.fall_back(&second, "nor this").unwrap();
    assert_eq!(first.step, 1);
    assert!(matches!(folder.fall_back(&first, "nor this"), Err(FolderError::NoGoodCheckpoint { .. })));
}

#[test]
fn a_damaged_list_is_made_again() {
    let (_home, path) = home();
    let mut folder = create(&path);
    (1..=4).for_each(|step| drop(save(&mut folder, step, Some(10.0 - step as f64))));
    let (listed, best) = (folder.checkpoints().to_vec(), folder.best().cloned());
    drop(folder);
    let index = path.join("checkpoints.json");
    let whole = fs::read_to_string(&index).unwrap();
    fs::write(&index, &whole[..whole.len() / 2]).unwrap();
    let Resumed { folder, checkpoint, notices, .. } = resume(&path);
    assert!(matches!(&notices[..], [Notice::IndexRebuilt { found: 3, .. }]), "{notices:?}");
    assert_eq!(checkpoint.unwrap().step, 4);
    let exact = |all: &[Checkpoint]| all.iter().map(|c| (c.step, c.figure, c.bytes, c.crc32)).collect::<Vec<_>>();
    assert_eq!(exact(folder.checkpoints()), exact(&listed));
    assert_eq!(folder.best().map(|best| (best.step, best.crc32)), best.map(|best| (best.step, best.crc32)));
    drop(folder);
    // The sums are remembered even so.
    fs::write(&index, "[]").unwrap();
    flip(&path.join("checkpoints/step-4.bin"));
    assert_eq!(resume(&path).checkpoint.unwrap().step, 3);
}

#[test]
fn what_a_kill_leaves_is_put_in_order() {
    let (_home, path) = home();
    let mut folder = create(&path);
    (1..=2).for_each(|step| drop(save(&mut folder, step, Some(step as f64))));
    let index = fs::read_to_string(path.join("checkpoints.json")).unwrap();
    save(&mut folder, 3, Some(3.0));
    drop(folder);
    // As if it had died between the file and the list; best was replaced already.
    fs::write(path.join("checkpoints.json"), index).unwrap();
    for name in ["checkpoints/step-4.bin.tmp", "checkpoints.json.tmp", "checkpoints/best.bin.tmp", "notes.tmp"] {
        fs::write(path.join(name), "half").unwrap();
    }
    let Resumed { folder, checkpoint, notices, .. } = resume(&path);
    assert_eq!(checkpoint.unwrap().step, 3);
    let swept = ["checkpoints.json.tmp", "checkpoints/best.bin.tmp", "checkpoints/step-4.bin.tmp"];
    assert_eq!(notices[0], Notice::Swept { files: swept.map(str::to_owned).to_vec() });
    assert_eq!(notices[1], Notice::Adopted { file: "checkpoints/step-3.bin".to_owned() });
    assert_eq!(folder.best().map(|best| (best.step, best.figure)), Some((3, Some(3.0))));
    assert!(path.join("notes.tmp").exists(), "not ours");
}

#[test]
fn a_full_disk_costs_nothing() {
    let (_home, path) = home();
    let mut folder = create(&path);
    save(&mut folder, 1, Some(1.0));
    let full = |out: &mut dyn Write| {
        out.write_all(&state(2)[..100_000])?;
        Err(io::Error::from(io::ErrorKind::StorageFull))
    };
    let error = folder.checkpoint(2, Some(2.0), full).unwrap_err();
    assert!(matches!(&error, FolderError::Io { path, .. } if path.ends_with("checkpoints/step-2.bin")), "{error}");
    assert!(error.to_string().contains("free some space"), "{error}");
    assert_eq!(names(&path.join("checkpoints")), ["best.bin", "step-1.bin"]);
    #[cfg(target_os = "linux")]
    if Path::new("/dev/full").exists() {
        let fresh = path.join("checkpoints/step-2.bin.tmp");
        std::os::unix::fs::symlink("/dev/full", &fresh).unwrap();
        let error = folder.checkpoint(2, Some(2.0), |out| out.write_all(&state(2))).unwrap_err();
        assert!(error.to_string().contains("step-2.bin") && error.to_string().contains("free some space"), "{error}");
        assert_eq!(names(&path.join("checkpoints")), ["best.bin", "step-1.bin"]);
    }
    // The run goes on in the same process as well as in the next.
    save(&mut folder, 3, None);
    drop(folder);
    let resumed = resume(&path);
    assert_eq!((resumed.notices, resumed.checkpoint.unwrap().step), (Vec::new(), 3));
}

#[test]
fn places_that_cannot_be_written_are_named() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    let error = RunFolder::create(&file.join("run"), &settings(), &Origin::here(7)).unwrap_err();
    assert!(error.to_string().contains("cannot make the folder") && error.to_string().contains("file/run"), "{error}");

    let path = home.path().join("run");
    let mut folder = create(&path);
    save(&mut folder, 1, None);
    // No one may write a file where a folder is, not even who may do everything.
    fs::create_dir(path.join("checkpoints/step-2.bin.tmp")).unwrap();
    let error = folder.checkpoint(2, None, |out| out.write_all(b"x")).unwrap_err();
    assert!(error.to_string().contains("cannot write") && error.to_string().contains("step-2.bin"), "{error}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let checkpoints = path.join("checkpoints");
        fs::set_permissions(&checkpoints, fs::Permissions::from_mode(0o555)).unwrap();
        let root = fs::write(checkpoints.join("probe"), "").is_ok();
        if !root {
            let error = folder.checkpoint(3, None, |out| out.write_all(b"x")).unwrap_err();
            assert!(error.to_string().contains("that you may write to"), "{error}");
        }
        fs::set_permissions(&checkpoints, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::remove_dir(path.join("checkpoints/step-2.bin.tmp")).unwrap();
    drop(folder);
    assert_eq!(resume(&path).checkpoint.unwrap().step, 1);
}

const CHILD: &str = "AFTERSTATE_TEST_RUN_FOLDER";

/// Not a test by itself: the process that `a_kill_at_any_moment` kills. Says each step once it is saved.
#[test]
fn a_kill_at_any_moment_child() {
    let Some(path) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let Resumed { mut folder, checkpoint, .. } = resume(&path);
    for step in checkpoint.map_or(0, |checkpoint| checkpoint.step) + 1.. {
        folder.record("train", step, &[("score", step as f64)]).unwrap();
        save(&mut folder, step, Some((step % 7) as f64 + step as f64 / 4.0));
        let mut out = io::stdout().lock();
        writeln!(out, "saved {step}").and_then(|()| out.flush()).unwrap();
    }
}

#[test]
fn a_kill_at_any_moment() {
    const KILLS: u64 = 20;
    let (_home, path) = home();
    drop(create(&path));
    let mut last = 0;
    for kill in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_kill_at_any_moment_child", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let saved = |line: &String| line.rsplit_once("saved ").and_then(|(_, step)| step.parse::<u64>().ok());
        let first = lines.by_ref().map_while(Result::ok).find_map(|line| saved(&line)).expect("the child works");
        let wait = Instant::now() + Duration::from_micros(kill * 3_000 + kill * kill * 37 % 1_000);
        while Instant::now() < wait {
            std::thread::sleep(Duration::from_micros(100));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let told = lines.map_while(Result::ok).filter_map(|line| saved(&line)).last().unwrap_or(first);

        let Resumed { folder, checkpoint, notices, .. } = resume(&path);
        let checkpoint = checkpoint.expect("there was one");
        assert!(first > last && checkpoint.step >= told, "{} after {told}", checkpoint.step);
        assert_eq!(content(&folder, &checkpoint), state(checkpoint.step));
        let harmless =
            |n: &Notice| matches!(n, Notice::Swept { .. } | Notice::MetricsCut { .. } | Notice::Adopted { .. });
        assert!(notices.iter().all(harmless), "{notices:?}");
        let best = folder.best().expect("every state has a figure").clone();
        assert_eq!(content(&folder, &best), state(best.step));
        for kept in folder.checkpoints().iter().rev().take(3) {
            assert_eq!(content(&folder, kept), state(kept.step));
        }
        assert_eq!(steps(&path, "train"), (1..=checkpoint.step).collect::<Vec<_>>());
        last = checkpoint.step;
    }
    assert!(last >= KILLS);
}
