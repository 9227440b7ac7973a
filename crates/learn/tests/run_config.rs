//! Settings from presets, files and overrides: what counts, and what is told when it cannot.

use std::fs;
use std::path::{Path, PathBuf};

use afterstate_learn::run::{self, Config, Origin, RunFolder};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Method {
    Td,
    TemporalCoherence,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Rate {
    alpha: f64,
    lambda: f32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Phase {
    games: u64,
    alpha: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Settings {
    games: u64,
    threads: u8,
    network: String,
    method: Method,
    deterministic: bool,
    #[serde(default)]
    limit: Option<f64>,
    #[serde(default)]
    teacher: Option<Rate>,
    rate: Rate,
    phases: Vec<Phase>,
}

impl Config for Settings {
    const LEARNER: &'static str = "toy";
    const EXTENSION: &'static str = "bin";
    const CHANGEABLE: &'static [&'static str] = &["games", "rate", "limit"];

    fn check(&self) -> Result<(), String> {
        if self.rate.alpha > 0.0 { Ok(()) } else { Err("rate.alpha must be above 0".to_owned()) }
    }
}

fn preset() -> Settings {
    Settings {
        games: 1000,
        threads: 2,
        network: "4x6".to_owned(),
        method: Method::Td,
        deterministic: false,
        limit: None,
        teacher: None,
        rate: Rate { alpha: 0.1, lambda: 0.3 },
        phases: vec![Phase { games: 10, alpha: 1.0 }],
    }
}

fn set(words: &[&str]) -> Result<Settings, String> {
    let sets: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    run::resolve(preset(), None, &sets).map_err(|error| error.to_string())
}

fn file(text: &str, sets: &[&str]) -> Result<Settings, String> {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("my.toml");
    fs::write(&path, text).unwrap();
    let sets: Vec<String> = sets.iter().map(|&word| word.to_owned()).collect();
    let place = path.display().to_string();
    run::resolve(preset(), Some(&path), &sets).map_err(|error| error.to_string().replace(&place, "my.toml"))
}

#[test]
fn the_last_word_counts() {
    assert_eq!(set(&[]).unwrap(), preset());
    let text = "learner = \"toy\"\ngames = 2_000\nmethod = \"temporal-coherence\"\n[rate]\nlambda = 0.5\n";
    let found = file(text, &["games=3e3", "rate.alpha=1"]).unwrap();
    let rate = Rate { alpha: 1.0, lambda: 0.5 };
    assert_eq!(found, Settings { games: 3000, method: Method::TemporalCoherence, rate, ..preset() });
    assert_eq!(set(&["games=1", "games=2"]).unwrap().games, 2);
}

#[test]
fn values_need_no_quotes() {
    let found = set(&["network = 8x6 ", "deterministic=true", "limit=0.5", "threads=0"]).unwrap();
    let expected =
        Settings { network: "8x6".to_owned(), deterministic: true, limit: Some(0.5), threads: 0, ..preset() };
    assert_eq!(found, expected);
    assert_eq!(set(&["network=123"]).unwrap().network, "123");
    assert_eq!(set(&["network=\"a=b c\""]).unwrap().network, "a=b c");
    assert_eq!(set(&["limit=1", "limit=none"]).unwrap().limit, None);
    assert_eq!(set(&["phases=[{games=5, alpha=1}]"]).unwrap().phases, [Phase { games: 5, alpha: 1.0 }]);
    assert_eq!(set(&["phases=[]"]).unwrap().phases, []);
    // Two that only fit together.
    let teacher = Some(Rate { alpha: 0.5, lambda: 0.25 });
    assert_eq!(set(&["teacher.alpha=0.5", "teacher.lambda=0.25"]).unwrap().teacher, teacher);
    assert_eq!(file("[[phases]]\ngames = 1\nalpha = 2\n", &[]).unwrap().phases, [Phase { games: 1, alpha: 2.0 }]);
}

#[track_caller]
fn told(result: Result<Settings, String>, expected: &str) {
    assert_eq!(result.unwrap_err(), expected);
}

#[test]
fn mistakes_are_told_by_key_and_place() {
    told(set(&["games"]), "--set games: write it as key=value");
    told(set(&["=3"]), "--set =3: write it as key=value");
    told(set(&["gmes=3"]), "--set gmes=3: there is no setting 'gmes' (did you mean 'games'?)");
    told(set(&["rate.alfa=3"]), "--set rate.alfa=3: there is no setting 'rate.alfa' (did you mean 'rate.alpha'?)");
    told(set(&["lambda=3"]), "--set lambda=3: there is no setting 'lambda' (did you mean 'rate.lambda'?)");
    told(set(&["games.x=3"]), "--set games.x=3: there is no setting 'games.x' (did you mean 'games'?)");
    told(set(&["games=many"]), "--set games=many: games cannot be \"many\": expected a whole number, as in 1000");
    told(set(&["games=1.5"]), "--set games=1.5: games cannot be 1.5: expected a whole number, as in 1000");
    told(set(&["games="]), "--set games=: games cannot be \"\": expected a whole number, as in 1000");
    told(set(&["games=none"]), "--set games=none: games cannot be none: expected a whole number, as in 1000");
    told(set(&["rate.alpha=yes"]), "--set rate.alpha=yes: rate.alpha cannot be \"yes\": expected a number, as in 0.1");
    told(
        set(&["deterministic=1"]),
        "--set deterministic=1: deterministic cannot be 1: expected true or false, as in false",
    );
    told(
        set(&["phases=1"]),
        "--set phases=1: phases cannot be 1: expected a list, as in [{\"games\":10,\"alpha\":1.0}]",
    );
    told(
        set(&["method=sarsa"]),
        "--set method=sarsa: method cannot be \"sarsa\": unknown variant `sarsa`, expected `td` or `temporal-coherence`",
    );
    told(
        set(&["threads=300"]),
        "--set threads=300: threads cannot be 300: invalid value: integer `300`, expected a whole number from 0 to 255",
    );
    told(
        set(&["games=-1"]),
        "--set games=-1: games cannot be -1: invalid value: integer `-1`, expected a whole number from 0",
    );
    told(set(&["rate=3"]), "--set rate=3: rate cannot be 3: expected a table with alpha, lambda");
    told(
        set(&["phases=[{games=5, alpha=1, bta=2}]"]),
        "--set phases=[{games=5, alpha=1, bta=2}]: there is no setting 'phases.bta' (known: games, alpha)",
    );
    told(set(&["rate.alpha=0"]), "rate.alpha must be above 0");
    told(file("gmes = 3\n", &[]), "my.toml: there is no setting 'gmes' (did you mean 'games'?)");
    told(file("[rate]\nalpha = \"x\"\n", &[]), "my.toml: rate.alpha cannot be \"x\": expected a number, as in 0.1");
    told(
        file("learner = \"dqn\"\n", &[]),
        "my.toml is for the learner 'dqn', not for 'toy' (choose the learner or the file to match)",
    );
    assert!(file("games = 3\ngames = \n", &[]).unwrap_err().starts_with("my.toml: line 2: "));
    let missing = run::resolve(preset(), Some(Path::new("no/such.toml")), &[]).unwrap_err();
    assert_eq!(missing.to_string(), "cannot read no/such.toml");
}

#[test]
fn what_is_kept_is_what_was_used() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { home.path().join(name) };
    let config = set(&["limit=0.1", "rate.lambda=0.7", "teacher={alpha=0.1, lambda=0.30000001}"]).unwrap();
    drop(RunFolder::create(&path("one"), &config, &Origin::here(1)).unwrap());
    // The settings of one run are a file for the next.
    assert_eq!(run::resolve(preset(), Some(&path("one/config.toml")), &[]).unwrap(), config);
    let resume = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|&word| word.to_owned()).collect();
        let amend = |kept: Settings| run::resolve(kept, None, &sets);
        RunFolder::open_to_resume(&path("one"), amend, |_| Origin::here(1)).map(|resumed| resumed.config)
    };
    assert_eq!(resume(&[]).unwrap(), config);
    let error = resume(&["network=8x6", "rate.alpha=0.2"]).unwrap_err().to_string();
    assert!(error.contains("network was \"4x6\", not \"8x6\" (give the same settings"), "{error}");
    assert_eq!(resume(&["rate.alpha=0.2", "limit=none"]).unwrap().rate.alpha, 0.2);
    let kept = resume(&[]).unwrap();
    assert_eq!((kept.limit, kept.rate.alpha), (None, 0.2));
    assert!(resume(&["rat.alpha=1"]).unwrap_err().to_string().contains("did you mean 'rate.alpha'?"));
}
