//! The program as its users meet it: contracts of the JSON output, exit codes, and what bad input is told.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn afterstate(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_afterstate"));
    command.args(args).stdin(Stdio::null()).output().expect("the program starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Runs a command that must succeed and reads its JSON.
fn json(args: &[&str]) -> Value {
    let output = afterstate(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs a command that must fail: (exit code, complaint). It must neither panic nor be silent.
fn failure(args: &[&str]) -> (i32, String) {
    let output = afterstate(args);
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{args:?} should fail");
    assert!(!complaint.contains("panicked") && !complaint.trim().is_empty(), "{args:?}: {complaint}");
    (output.status.code().unwrap(), complaint)
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Starts something that serves, reads until the line with its address, and ends it.
fn served(args: &[&str]) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_afterstate"));
    let mut server = command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
    let (mut text, mut url) = (String::new(), String::new());
    for line in BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok) {
        text += &format!("{line}\n");
        if let Some(at) = line.find("http://127.0.0.1:") {
            url = line[at..].split([' ', '"']).next().unwrap().to_owned();
            break;
        }
    }
    let host = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let mut page = String::new();
    let mut stream = TcpStream::connect(&host).expect("it listens");
    write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    stream.read_to_string(&mut page).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    (text, page)
}

#[test]
fn alone_it_welcomes_and_serves() {
    let (text, page) = served(&[]);
    assert_eq!(text.lines().filter(|line| line.trim_start().starts_with("afterstate ")).count(), 1 + 5, "{text}");
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<title>Afterstate"), "{page}");
    let (text, page) = served(&["serve", "--port", "0", "--json"]);
    assert!(serde_json::from_str::<Value>(&text).unwrap()["port"].is_u64(), "{text}");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(json(&["--json"])["commands"].is_array());
}

#[test]
fn a_port_that_is_taken_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (code, complaint) = failure(&["serve", "--port", &port]);
    assert!(code == 1 && complaint.contains(&port) && complaint.contains("--port"), "{complaint}");
}

#[test]
fn reports_come_as_html_markdown_csv_and_json() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b, out) = (folder.path().join("a.rec"), folder.path().join("b.rec"), folder.path().join("r.html"));
    for (agent, file) in [("random", &a), ("greedy", &b)] {
        json(&["eval", "--agent", agent, "--games", "12", "--records", path(file), "--json"]);
    }
    let report = |more: &[&str]| afterstate(&[&["report", path(&a), path(&b)], more].concat());
    assert!(report(&["--out", path(&out)]).status.success());
    let html = std::fs::read_to_string(&out).unwrap();
    assert_eq!(html.matches("<svg").count(), 6);
    assert_eq!(stdout(&report(&["--csv"])).lines().count(), 1 + 24);
    assert!(stdout(&report(&["--markdown"])).contains("greedy scores"));
    let data: Value = serde_json::from_slice(&report(&["--json"]).stdout).unwrap();
    assert_eq!(data["comparison"]["games"], 12);
    assert_eq!(failure(&["report", "nowhere.rec"]).0, 1);
    assert_eq!(failure(&["report", path(&a), "--csv", "--markdown"]).0, 2);
}

#[test]
fn solve_keeps_its_contract() {
    let score = json(&["solve", "--size", "2x2", "--json"]);
    assert!((score["expected_score"].as_f64().unwrap() - 66.964_149_457_101_26).abs() < 1e-10, "{score}");
    assert_eq!(score["states"], 110);
    let tile = json(&["solve", "--size", "2x2", "--goal", "32", "--json"]);
    assert!((tile["probability"].as_f64().unwrap() - 0.082_887_289_07).abs() < 1e-10, "{tile}");
    assert_eq!(failure(&["solve", "--size", "4x4"]).0, 2);
    assert_eq!(failure(&["solve", "--size", "2x2", "--goal", "64"]).0, 2);
    assert_eq!(failure(&["solve", "--size", "2x2", "--goal", "33"]).0, 2);
    let small = json(&["analyze", "--size", "2x2", "--board", "1002", "--json"]);
    assert_eq!((&small["agent"], &small["unit"]), (&"optimal".into(), &"points still to come, exact".into()));
    let played = json(&["eval", "--size", "2x2", "--agent", "random", "--games", "50", "--json"]);
    assert!(played["results"][0]["optimal"]["share"].as_f64().is_some_and(|share| share < 1.0), "{played}");
}

#[test]
fn a_stretch_of_the_game_is_measured() {
    let args = ["eval", "--agent", "random", "--games", "40", "--seed", "5", "--until", "250"];
    let summary = json(&[&args[..], &["--json"]].concat())["results"][0].clone();
    assert_eq!(summary["until"]["sum"], 250);
    let reached = summary["until"]["reached"]["rate"].as_f64().unwrap();
    assert!(reached > 0.0 && reached < 1.0, "{summary}");
    assert_eq!(summary["unfinished"], (40.0 * reached) as u64);
    let told = stdout(&afterstate(&args));
    assert!(told.contains(&format!("{:.2}% came to a sum of 250", 100.0 * reached)), "{told}");
    assert_eq!(failure(&["eval", "--agent", "random", "--until", "0"]).0, 2);
}

#[test]
fn tables_are_listed_and_verified() {
    let listed = json(&["tables", "list", "--json"]);
    let names: Vec<_> = listed["sets"].as_array().unwrap().iter().map(|set| set["name"].clone()).collect();
    assert_eq!(names, ["tiny", "small", "medium", "large"]);
    assert_eq!(
        json(&["tables", "verify", "--preset", "tiny", "--json"])["whole"],
        serde_json::json!(["5-64", "6-64", "6-128", "6-256", "5-128", "6-512", "5-256", "6w-256"])
    );
    let empty = tempfile::tempdir().unwrap();
    let (code, message) = failure(&["tables", "verify", "--preset", "small", "--data", empty.path().to_str().unwrap()]);
    assert_eq!(code, 1);
    assert!(message.contains("afterstate tables build --preset small"), "{message}");
    assert_eq!(failure(&["tables", "build", "--preset", "smal"]).0, 2);
}

/// Killed in the middle, and again: the next attempt goes on, and ends with the bytes of one that nobody disturbed.
#[test]
fn a_killed_solve_goes_on() {
    let (whole, killed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let problem = |data: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_afterstate"));
        command.args(["solve", "--size", "2x4", "--goal", "256", "--json"]);
        command.env("AFTERSTATE_DATA", data).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    };
    let eval = |data: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_afterstate"));
        let args = ["eval", "--size", "2x4", "--agent", "optimal:goal=256", "--games", "20", "--json"];
        command.args(args).env("AFTERSTATE_DATA", data).stdin(Stdio::null()).output().unwrap()
    };
    let refused = String::from_utf8(eval(whole.path()).stderr).unwrap();
    assert!(refused.contains("run `afterstate solve --size 2x4 --goal 256` first"), "{refused}");
    let answer = problem(whole.path()).output().unwrap();
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
    for milliseconds in [100, 250, 400] {
        let mut child = problem(killed.path()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let resumed = problem(killed.path()).output().unwrap();
    let resumed: Value = serde_json::from_slice(&resumed.stdout).unwrap();
    assert_eq!((&resumed["probability"], &resumed["states"]), (&answer["probability"], &answer["states"]));
    let bytes = |answer: &Value| std::fs::read(answer["file"].as_str().unwrap()).unwrap();
    assert!(bytes(&resumed) == bytes(&answer), "other bytes after a kill");
    assert!(eval(killed.path()).status.success());
}

#[test]
fn move_keeps_its_contract() {
    let moved = json(&["move", "--board", "1100000000000000", "--dir", "left", "--json"]);
    assert_eq!(
        (&moved["legal"], &moved["board"], &moved["reward"]),
        (&true.into(), &"2000000000000000".into(), &4.into())
    );
    let moved =
        json(&["move", "--board", "32768 32768 0 0 / 0 0 0 0 / 0 0 0 0 / 65536 0 0 65536", "--dir", "l", "--json"]);
    assert_eq!((&moved["board"], &moved["reward"]), (&"g00000000000h000".into(), &196_608.into()));
    let stuck = json(&["move", "--board", "1200000000000000", "--dir", "up", "--json"]);
    assert_eq!(
        (&stuck["legal"], &stuck["board"], &stuck["reward"]),
        (&false.into(), &"1200000000000000".into(), &0.into())
    );
    let small = json(&["move", "--size", "2x3", "--board", "110/000", "--dir", "right", "--json"]);
    assert_eq!(small["board"], "002000");
}

#[test]
fn perft_keeps_its_contract() {
    assert_eq!(json(&["perft", "--board", "1000000000000001", "--depth", "2", "--json"])["nodes"], 11_536);
    assert_eq!(json(&["perft", "--size", "2x2", "--board", "1001", "--depth", "4", "--json"])["nodes"], 12_160);
}

fn without_timing(mut value: Value) -> Value {
    for result in value["results"].as_array_mut().unwrap() {
        result.as_object_mut().unwrap().remove("timing");
    }
    value
}

#[test]
fn eval_is_the_same_for_any_number_of_threads() {
    let eval = |threads: &str| {
        json(&[
            "eval",
            "--agent",
            "greedy",
            "--agent",
            "random",
            "--games",
            "60",
            "--seed",
            "9",
            "--threads",
            threads,
            "--json",
        ])
    };
    let one = eval("1");
    assert!(one["results"][0]["timing"]["moves_per_second"].as_f64().unwrap() > 0.0);
    assert_eq!(without_timing(eval("2")), without_timing(one.clone()));
    let result = &one["results"][0];
    assert_eq!((&result["agent"], &result["games"], &result["seed"]), (&"greedy".into(), &60.into(), &9.into()));
    for field in ["mean", "ci95", "sd", "median", "min", "max"] {
        assert!(!result["score"][field].is_null(), "score.{field}");
    }
    assert!(result["reach"]["2048"]["rate"].is_number() && result["reach"]["2048"]["ci95"].is_array());
    let counted: u64 = result["max_tile"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(counted, 60);
    let tiles: Vec<u64> = result["reach"].as_object().unwrap().keys().map(|tile| tile.parse().unwrap()).collect();
    assert!(tiles.is_sorted(), "{tiles:?}");
}

#[test]
fn shards_merge_to_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b, both) = (folder.path().join("a.rec"), folder.path().join("b.rec"), folder.path().join("both.rec"));
    let base = ["eval", "--agent", "greedy", "--games", "31", "--seed", "3", "--json"];
    let with = |more: &[&str]| json(&[&base[..], more].concat());
    let whole = with(&[]);
    with(&["--shard", "0/2", "--records", path(&a)]);
    with(&["--shard", "1/2", "--records", path(&b), "--threads", "1"]);
    let merged = json(&["merge", path(&b), path(&a), "--records", path(&both), "--json"]);
    assert_eq!(without_timing(merged)["results"], without_timing(whole.clone())["results"]);
    let again = json(&["merge", path(&both), "--json"]);
    assert_eq!(without_timing(again)["results"], without_timing(whole.clone())["results"]);
    // A record that exists is only touched with --resume, and then nothing is played twice.
    assert_eq!(failure(&[&base[..], &["--records", path(&both)]].concat()).0, 1);
    let resumed = with(&["--records", path(&both), "--resume"]);
    assert_eq!(without_timing(resumed)["results"], without_timing(whole)["results"]);
}

#[test]
fn a_cut_off_record_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.rec");
    let eval = ["eval", "--agent", "random", "--games", "20", "--records", path(&file), "--json"];
    let whole = json(&eval);
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() * 2 / 3]).unwrap();
    let (code, complaint) = failure(&["merge", path(&file)]);
    assert!(code == 1 && complaint.contains("r.rec"), "{complaint}");
    assert!(afterstate(&["merge", "--salvage", path(&file)]).status.success());
    assert_eq!(without_timing(json(&[&eval[..], &["--resume"]].concat())), without_timing(whole));
}

#[test]
fn damaged_and_foreign_records_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.rec");
    json(&["eval", "--agent", "random", "--games", "5", "--records", path(&file), "--json"]);
    let bytes = std::fs::read(&file).unwrap();
    for at in [0, 9, 20, bytes.len() / 2, bytes.len() - 1] {
        let mut broken = bytes.clone();
        broken[at] ^= 4;
        std::fs::write(&file, broken).unwrap();
        for command in [vec!["merge", path(&file)], vec!["replay", path(&file), "--plain"]] {
            let (code, complaint) = failure(&command);
            assert!(code == 1 && complaint.contains("r.rec"), "byte {at}: {complaint}");
        }
    }
    std::fs::write(&file, "no record at all").unwrap();
    assert_eq!(failure(&["replay", path(&file)]).0, 1);
    std::fs::write(&file, "").unwrap();
    assert_eq!(failure(&["merge", path(&file)]).0, 1);
    assert_eq!(failure(&["merge", "nowhere.rec"]).0, 1);
    assert_eq!(failure(&["merge", path(folder.path())]).0, 1);
    let (code, complaint) = failure(&["eval", "--agent", "random", "--games", "1", "--records", "/proc/nowhere/x.rec"]);
    assert!(code == 1 && complaint.contains("/proc/nowhere"), "{complaint}");
}

#[test]
fn wrong_requests_exit_with_two_and_say_why() {
    for (args, says) in [
        (vec!["eval", "--agent", "gredy"], "did you mean 'greedy'?"),
        (vec!["eval", "--agent", "expectimax:depth=-1"], "depth=-1 is not a whole number"),
        (vec!["eval", "--agent", "expectimax:deph=1"], "did you mean 'depth'?"),
        (vec!["eval", "--agent", "greedy:eval=nothing"], "there is no evaluator 'nothing'"),
        (vec!["eval", "--agent", "greedy:eval"], "is not key=value"),
        (vec!["eval", "--agent", "random", "--games", "0"], "0 is not in 1"),
        (vec!["eval", "--agent", "random", "--games", "-3"], "-3"),
        (vec!["eval", "--agent", "random", "--shard", "2/2"], "is not a shard"),
        (vec!["eval", "--agent", "random", "--size", "6x6"], "there is no board size"),
        (vec!["eval", "--agent", "random", "--spawn", "3:1"], "3 is not a tile"),
        (vec!["eval"], "--agent"),
        (vec!["compare", "random", "gredy"], "did you mean 'greedy'?"),
        (vec!["move", "--board", "12", "--dir", "left"], "2 cells given"),
        (vec!["move", "--board", "000000z000000000", "--dir", "left"], "cell 7: 'z' is not a digit"),
        (vec!["move", "--board", "1100000000000000", "--dir", "sideways"], "is not a direction"),
        (vec!["perft", "--board", "2 4 8 0 / 0 0 3 0 / 0 0 0 0 / 0 0 0 0", "--depth", "1"], "cell 7: 3 is not a tile"),
        (vec!["perft", "--board", "1100000000000000", "--depth", "-1"], "-1"),
        (vec!["wach"], "watch"),
    ] {
        let (code, complaint) = failure(&args);
        assert!(code == 2 && complaint.contains(says), "{args:?}: exit code {code}, {complaint}");
    }
}

#[test]
fn every_size_can_be_played() {
    for size in ["2x2", "2x3", "2x4", "3x3", "3x4", "4x4", "5x5"] {
        let result = json(&["eval", "--agent", "greedy", "--games", "3", "--size", size, "--json"]);
        assert_eq!(result["results"][0]["size"], size);
        let game = json(&["watch", "--size", size, "--agent", "greedy", "--json"]);
        assert!(game["moves"].as_u64().unwrap() > 0, "{game}");
    }
    let variant = json(&["eval", "--agent", "greedy", "--games", "3", "--spawn", "2:0.85,4:0.1,8:0.05", "--json"]);
    assert_eq!(variant["results"][0]["rule"], "2:0.85,4:0.1,8:0.05");
}

#[test]
fn compare_says_how_sure_it_is() {
    let verdict = json(&["compare", "greedy", "random", "--games", "40", "--json"]);
    assert_eq!(verdict["comparison"]["sure"], true);
    assert!(verdict["comparison"]["verdict"].as_str().unwrap().starts_with("greedy scores"));
    let same = json(&["compare", "greedy", "greedy", "--games", "10", "--json"]);
    assert_eq!((&same["comparison"]["sure"], &same["comparison"]["difference"]), (&false.into(), &0.0.into()));
}

#[test]
fn list_and_completions_answer() {
    let list = json(&["list", "--json"]);
    let agents = list["agents"].as_array().unwrap();
    assert!(agents.iter().any(|agent| agent["name"] == "random"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(stdout(&afterstate(&["completions", shell])).contains("afterstate"), "{shell}");
    }
}

/// The fingerprint of behaviour. If this fails, behaviour has changed: if that was the intention, pin the new number and say so
/// in the commit.
#[test]
fn behaviour_is_pinned() {
    assert_eq!(json(&["bench", "fingerprint", "--json"])["fingerprint"], include_str!("data/fingerprint.txt").trim());
}
