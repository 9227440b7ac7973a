//! Tuning end to end: the same run whatever the threads, the interruptions and the machine; and it does improve.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use afterstate_board::{Board, Grid};
use afterstate_learn::{Fitness, FolderError, TuneError, Tuned, Tuning};

fn small(out: &Path) -> Tuning {
    Tuning {
        generations: 4,
        games: 6,
        population: 6,
        parameters: ["empty", "mono", "sum"].map(str::to_owned).to_vec(),
        seed: 7,
        threads: 1,
        ..Tuning::new("greedy:eval=heuristic,eval.empty=20", out)
    }
}

fn run(tuning: &Tuning) -> Tuned {
    tuning.run::<Board>(|_| ()).unwrap()
}

/// The log without what differs from run to run.
fn log(out: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(out.join("generations.jsonl")).unwrap();
    let line = |line: &str| {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        let fields = line.as_object_mut().unwrap();
        fields.remove("seconds");
        fields.remove("of");
        line
    };
    text.lines().map(line).collect()
}

#[test]
fn threads_and_interruptions_do_not_matter() {
    let home = tempfile::tempdir().unwrap();
    let [whole, parallel, parts] = ["whole", "parallel", "parts"].map(|name| home.path().join(name));
    let expected = run(&small(&whole));
    assert!(expected.finished && expected.generations == 4);
    assert_eq!(run(&Tuning { threads: 3, ..small(&parallel) }), expected);

    let first = Tuning { generations: 2, ..small(&parts) };
    assert_eq!(run(&first).generations, 2);
    let cancelled = Tuning { resume: true, ..small(&parts) };
    let mut heard = 0;
    let stopped = cancelled.run::<Board>(|generation| {
        heard = generation.generation;
        cancelled.cancel.store(true, Ordering::Relaxed);
    });
    assert_eq!((heard, stopped.unwrap().finished), (3, false));
    // As if it had died between the log and the state.
    let torn = fs::read_to_string(parts.join("generations.jsonl")).unwrap() + "{\"generation\":4,";
    fs::write(parts.join("generations.jsonl"), torn).unwrap();
    assert_eq!(run(&Tuning { resume: true, ..small(&parts) }), expected);
    assert_eq!(log(&parts), log(&whole));
    assert_eq!(log(&parallel), log(&whole));
}

#[test]
fn the_result_plays() {
    let home = tempfile::tempdir().unwrap();
    let tuned = run(&small(home.path()));
    let kept: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(home.path().join("weights.json")).unwrap()).unwrap();
    assert_eq!(kept["agent"], tuned.agent);
    assert_eq!(kept["weights"]["empty"], tuned.weights["empty"]);
    assert!(tuned.agent.starts_with("greedy:eval=heuristic,eval.empty="), "{}", tuned.agent);
    afterstate_agent::build_from_text::<Board>(&tuned.agent, &Default::default()).unwrap();
}

#[test]
fn it_improves() {
    let home = tempfile::tempdir().unwrap();
    let mut centres = Vec::new();
    // A weight of the wrong sign: empty cells are avoided at first.
    let tuning = Tuning {
        generations: 12,
        games: 40,
        population: 8,
        sigma: 1.0,
        fitness: Fitness::Score,
        ..Tuning::new("greedy:eval=empty,eval.weight=-20", home.path())
    };
    tuning.run::<Grid<3, 3>>(|generation| centres.push(generation.centre)).unwrap();
    assert!(centres[11] > 1.3 * centres[0], "{centres:?}");
}

#[test]
fn mistakes_are_told() {
    let home = tempfile::tempdir().unwrap();
    let error = |tuning: &Tuning| tuning.run::<Board>(|_| ()).unwrap_err().to_string();
    let base = small(&home.path().join("run"));
    run(&base);
    assert!(matches!(base.run::<Board>(|_| ()), Err(TuneError::Folder(FolderError::Occupied(_)))));
    let other = Tuning { resume: true, games: 5, ..base.clone() };
    assert!(error(&other).contains("games was 6, not 5"), "{}", error(&other));
    let fresh = |agent: &str| Tuning { parameters: Vec::new(), ..Tuning::new(agent, home.path().join("fresh")) };
    assert_eq!(error(&fresh("greedy:eval=zero")), "evaluator zero has no number to tune");
    assert_eq!(error(&fresh("random")), "evaluator zero has no number to tune");
    let unknown = Tuning { parameters: vec!["emty".to_owned()], ..fresh("greedy:eval=heuristic") };
    assert_eq!(error(&unknown), "heuristic has no parameter 'emty' (did you mean 'empty'?)");
    assert!(error(&Tuning { games: 0, ..fresh("greedy") }).starts_with("0 games"));
}
