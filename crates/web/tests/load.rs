//! A busy minute on loopback: many watchers and many analysers at once. Ignored by plain `cargo test`; `scripts/load` runs it.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use afterstate_web::{Config, Server};
use serde_json::{Value, json};
use tungstenite::Message;

const WATCHERS: usize = 50;
const ANALYSERS: usize = 20;

/// Memory in use, in MiB, where the system tells.
fn memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

fn seconds() -> u64 {
    std::env::var("AFTERSTATE_LOAD_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(60)
}

/// One request on a connection of its own: (status, body).
fn post(port: u16, path: &str, body: &Value) -> (u16, String) {
    let body = body.to_string();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    (answer.split(' ').nth(1).unwrap_or("0").parse().unwrap_or(0), answer)
}

#[derive(Default)]
struct Tally {
    frames: AtomicU64,
    moves: AtomicU64,
    analyses: AtomicU64,
    refused: AtomicU64,
    games: AtomicU64,
    waits: Mutex<Vec<f64>>,
    key_waits: Mutex<Vec<f64>>,
    wrong: Mutex<Vec<String>>,
    stop: AtomicBool,
}

fn watch(port: u16, number: usize, tally: &Tally) {
    let (mut socket, _) = tungstenite::connect(format!("ws://127.0.0.1:{port}/api/watch")).unwrap();
    // Most look on at a pace that eyes can follow, some as fast as it goes.
    let speed = if number.is_multiple_of(5) { 0 } else { 10 };
    let start =
        |seed: usize| json!({"start": {"agent": "expectimax:depth=2", "seed": seed}, "speed": speed}).to_string();
    socket.send(Message::text(start(number))).unwrap();
    let mut last = 0;
    while !tally.stop.load(Ordering::Relaxed) {
        let Ok(Message::Text(text)) = socket.read() else { continue };
        let frame: Value = serde_json::from_str(&text).unwrap();
        if frame["type"] != "frame" {
            tally.wrong.lock().unwrap().push(text.to_string());
            return;
        }
        tally.frames.fetch_add(1, Ordering::Relaxed);
        let moves = frame["moves"].as_u64().unwrap();
        tally.moves.fetch_add(moves.saturating_sub(last), Ordering::Relaxed);
        last = moves;
        if frame["over"] == true {
            tally.games.fetch_add(1, Ordering::Relaxed);
            last = 0;
            socket.send(Message::text(start(number + 1000))).unwrap();
        }
    }
}

fn analyse(port: u16, number: usize, tally: &Tally) {
    let boards = ["a987123600120001", "1200230034004500", "b000a10092008310", "3124512346125731"];
    for turn in number.. {
        if tally.stop.load(Ordering::Relaxed) {
            return;
        }
        let began = Instant::now();
        let request = json!({"board": boards[turn % boards.len()], "agent": "expectimax"});
        let (status, answer) = post(port, "/api/analyze", &request);
        match status {
            200 => {
                tally.analyses.fetch_add(1, Ordering::Relaxed);
                tally.waits.lock().unwrap().push(began.elapsed().as_secs_f64());
            }
            429 | 503 => {
                tally.refused.fetch_add(1, Ordering::Relaxed);
            }
            _ => tally.wrong.lock().unwrap().push(answer),
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// What a player at the same time sees: how long the next four moves take to arrive.
fn play(port: u16, tally: &Tally) {
    while !tally.stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        let (status, answer) = post(port, "/api/game", &json!({"seed": 1, "moves": ""}));
        if status != 200 {
            tally.wrong.lock().unwrap().push(answer);
        }
        tally.key_waits.lock().unwrap().push(began.elapsed().as_secs_f64());
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn quantile(values: &Mutex<Vec<f64>>, share: f64) -> f64 {
    let mut values = values.lock().unwrap().clone();
    values.sort_by(f64::total_cmp);
    values.get(((values.len().max(1) - 1) as f64 * share) as usize).map_or(f64::NAN, |seconds| 1e3 * seconds)
}

#[test]
#[ignore = "takes a minute: run scripts/load"]
fn fifty_watch_and_twenty_analyse_for_a_minute() {
    let server = Server::bind(Config::default()).unwrap();
    let (port, stop) = (server.port(), server.stopper());
    let running = std::thread::spawn(move || server.run().unwrap());
    let tally = Arc::new(Tally::default());
    let mut threads = Vec::new();
    for number in 0..WATCHERS {
        let tally = Arc::clone(&tally);
        threads.push(std::thread::spawn(move || watch(port, number, &tally)));
    }
    for number in 0..ANALYSERS {
        let tally = Arc::clone(&tally);
        threads.push(std::thread::spawn(move || analyse(port, number, &tally)));
    }
    let player = Arc::clone(&tally);
    threads.push(std::thread::spawn(move || play(port, &player)));
    let began = Instant::now();
    let (whole, mut sizes) = (Duration::from_secs(seconds()), Vec::new());
    while began.elapsed() < whole {
        std::thread::sleep((whole / 12).min(Duration::from_secs(5)));
        sizes.extend(memory());
    }
    tally.stop.store(true, Ordering::Relaxed);
    let seconds = began.elapsed().as_secs_f64();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    stop.stop();
    running.join().unwrap();
    let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
    println!(
        "{WATCHERS} watchers, {ANALYSERS} analysers, {seconds:.0} s: {:.0} frames/s, {:.0} moves/s, {} games ended, {} analyses, {} told to come back",
        count(&tally.frames) as f64 / seconds,
        count(&tally.moves) as f64 / seconds,
        count(&tally.games),
        count(&tally.analyses),
        count(&tally.refused),
    );
    println!(
        "analysis: median {:.0} ms, p99 {:.0} ms; next moves for a player: median {:.1} ms, p99 {:.1} ms",
        quantile(&tally.waits, 0.5),
        quantile(&tally.waits, 0.99),
        quantile(&tally.key_waits, 0.5),
        quantile(&tally.key_waits, 0.99)
    );
    println!("memory (MiB, clients included): {sizes:.0?}");
    let wrong = tally.wrong.lock().unwrap();
    assert!(wrong.is_empty(), "{} wrong answers, the first: {}", wrong.len(), wrong[0]);
    assert!(count(&tally.analyses) > 0 && count(&tally.frames) > 0);
    if let [first, .., last] = sizes[sizes.len() / 3..] {
        assert!(last < 1.25 * first + 8.0, "memory grew from {first:.0} to {last:.0} MiB");
    }
}

/// Watching at full speed against playing without anybody looking: the price of being seen.
#[test]
#[ignore = "measures speed: run scripts/load"]
fn watching_costs_next_to_nothing() {
    let agent = "expectimax:depth=2";
    let alone = |index: u64| {
        let setup = afterstate_arena::Setup::new(agent, 5);
        let mut player =
            afterstate_agent::build_from_text::<afterstate_board::Board>(agent, &Default::default()).unwrap();
        let game = afterstate_arena::play_game(&mut *player, &setup, index, |_, _| std::ops::ControlFlow::Continue(()));
        let game = game.unwrap();
        (game.moves(), game.seconds)
    };
    let server = Server::bind(Config::default()).unwrap();
    let (port, stop) = (server.port(), server.stopper());
    let running = std::thread::spawn(move || server.run().unwrap());
    let watched = |index: u64| {
        let (mut socket, _) = tungstenite::connect(format!("ws://127.0.0.1:{port}/api/watch")).unwrap();
        let start = json!({"start": {"agent": agent, "seed": 5, "game": index}, "speed": 0}).to_string();
        socket.send(Message::text(start)).unwrap();
        let (mut began, mut frames) = (None, 0_u64);
        loop {
            let Ok(Message::Text(text)) = socket.read() else { continue };
            let frame: Value = serde_json::from_str(&text).unwrap();
            let began = *began.get_or_insert_with(Instant::now);
            frames += 1;
            if frame["over"] == true {
                return (frame["moves"].as_u64().unwrap(), began.elapsed().as_secs_f64(), frames);
            }
        }
    };
    // Side by side, game by game, so that other work on the machine hits both alike.
    let (mut one, mut other) = ((0, 0.0), (0, 0.0, 0));
    for index in 0..8 {
        let (moves, seconds) = alone(index);
        one = (one.0 + moves, one.1 + seconds);
        let (moves, seconds, frames) = watched(index);
        other = (other.0 + moves, other.1 + seconds, other.2 + frames);
    }
    stop.stop();
    running.join().unwrap();
    assert_eq!(one.0, other.0, "the same games");
    let (plain, seen) = (one.0 as f64 / one.1, other.0 as f64 / other.1);
    println!(
        "{agent}: {plain:.0} moves/s alone, {seen:.0} watched ({:.1}%), {:.1} frames/s",
        100.0 * seen / plain,
        other.2 as f64 / other.1
    );
    assert!(seen > 0.7 * plain, "watching costs too much: {seen:.0} of {plain:.0} moves/s");
}
