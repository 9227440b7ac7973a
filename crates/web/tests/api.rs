//! The interface as programs meet it, good and bad: every limit, and every way in that must stay shut.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use afterstate_web::{Access, Config, Limits, Server, Stop};
use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest as _;
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

/// A server on a port of its own.
struct Lab {
    port: u16,
    stop: Stop,
    server: Option<JoinHandle<()>>,
    log: Arc<Mutex<Vec<String>>>,
    folder: tempfile::TempDir,
    url: String,
}

impl Lab {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Config)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log: Arc<Mutex<Vec<String>>> = Arc::default();
        let lines = Arc::clone(&log);
        let mut config = Config {
            runs: folder.path().join("runs"),
            records: folder.path().join("records"),
            log: Arc::new(move |line| lines.lock().unwrap().push(line.to_owned())),
            ..Config::default()
        };
        change(&mut config);
        let server = Server::bind(config).unwrap();
        let (port, stop, url) = (server.port(), server.stopper(), server.url());
        let server = Some(std::thread::spawn(move || server.run().unwrap()));
        Self { port, stop, server, log, folder, url }
    }

    /// Sends bytes as they are; (status, headers, body).
    fn raw(&self, request: &[u8]) -> (u16, String, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        // A server that has seen enough may close before all is sent.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        (status, head.to_ascii_lowercase(), body.to_owned())
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String, String) {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "Host") {
            request += &format!("Host: 127.0.0.1:{}\r\n", self.port);
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        self.raw(format!("{request}\r\n{body}").as_bytes())
    }

    fn get(&self, path: &str) -> (u16, Value) {
        let (status, _, body) = self.send("GET", path, &[], "");
        (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
    }

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let (status, _, body) = self.send("POST", path, &[("Content-Type", "application/json")], &body.to_string());
        (status, serde_json::from_str(&body).unwrap_or(Value::String(body)))
    }

    /// A refusal must be JSON with a reason.
    fn refused(&self, path: &str, body: &Value) -> (u16, String) {
        let (status, answer) = self.post(path, body);
        assert!(status >= 400, "{path} {body}: {status} {answer}");
        (status, answer["error"].as_str().unwrap_or_else(|| panic!("{path} {body}: {answer}")).to_owned())
    }

    fn socket(&self, path: &str, origin: Option<&str>) -> Result<WebSocket<MaybeTlsStream<TcpStream>>, u16> {
        let mut request = format!("ws://127.0.0.1:{}{path}", self.port).into_client_request().unwrap();
        if let Some(origin) = origin {
            request.headers_mut().insert("Origin", origin.parse().unwrap());
        }
        match tungstenite::connect(request) {
            Ok((socket, _)) => Ok(socket),
            Err(tungstenite::Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

fn hear(socket: &mut WebSocket<MaybeTlsStream<TcpStream>>) -> Value {
    loop {
        match socket.read().unwrap() {
            Message::Text(text) => return serde_json::from_str(&text).unwrap(),
            Message::Close(_) => return Value::Null,
            _ => {}
        }
    }
}

const BOARD: &str = "a987123600120001";

#[test]
fn the_page_comes_with_its_armour() {
    let lab = Lab::new();
    let (status, head, body) = lab.send("GET", "/", &[], "");
    assert!(status == 200 && body.contains("<title>Afterstate"), "{status}");
    for header in [
        "content-security-policy: default-src 'none'; script-src 'self'",
        "x-content-type-options: nosniff",
        "x-frame-options: deny",
        "referrer-policy: no-referrer",
        "cross-origin-opener-policy: same-origin",
        "content-type: text/html",
        "etag:",
    ] {
        assert!(head.contains(header), "{header} is missing in {head}");
    }
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().trim().to_owned();
    assert_eq!(lab.send("GET", "/", &[("If-None-Match", &tag)], "").0, 304);
    assert_eq!(lab.get("/js/play.js").0, 200);
    assert_eq!(lab.send("POST", "/", &[], "").0, 405);
}

#[test]
fn analysis_answers_as_the_command_line_does() {
    let lab = Lab::new();
    let (status, found) = lab.post("/api/analyze", &json!({"board": BOARD, "agent": "expectimax"}));
    assert_eq!((status, &found["best"], &found["board"]), (200, &json!("left"), &json!(BOARD)));
    let keys: Vec<&str> = found.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["board", "agent", "unit", "best", "moves", "nodes", "depth", "ms", "line", "batch", "table"]);
    assert_eq!(found["moves"]["right"]["legal"], false);
    let tiles = "1024 512 256 128 / 2 4 8 64 / 0 0 2 4 / 0 0 0 2";
    let again = lab.post("/api/analyze", &json!({"board": tiles, "agent": "expectimax"})).1;
    assert_eq!(again["moves"], found["moves"]);
    // A kept agent must not remember.
    lab.post("/api/analyze", &json!({"board": "1".repeat(16), "agent": "expectimax"}));
    let third = lab.post("/api/analyze", &json!({"board": BOARD, "agent": "expectimax"})).1;
    assert_eq!((&third["moves"], &third["nodes"]), (&found["moves"], &found["nodes"]));
    for size in ["2x2", "2x3", "3x4", "5x5"] {
        let cells: usize = size.split('x').map(|n| n.parse::<usize>().unwrap()).product();
        let board = format!("11{}", "0".repeat(cells - 2));
        let (status, found) =
            lab.post("/api/analyze", &json!({"board": board, "size": size, "agent": "expectimax:depth=1"}));
        assert!(status == 200 && found["best"].is_string(), "{size}: {found}");
    }
}

#[test]
fn a_game_follows_from_its_moves() {
    let lab = Lab::new();
    let mut game = json!({"seed": 7, "moves": ""});
    let (_, first) = lab.post("/api/game", &game);
    let mut state = first.clone();
    for _ in 0..30 {
        let (name, next) = state["next"].as_object().unwrap().iter().find(|(_, next)| !next.is_null()).unwrap();
        let (letter, promised, score) = (name[..1].to_owned(), next.clone(), state["score"].as_u64().unwrap());
        game["moves"] = (game["moves"].as_str().unwrap().to_owned() + &letter).into();
        state = lab.post("/api/game", &game).1;
        assert_eq!(state["board"], promised["board"]);
        assert_eq!(state["score"].as_u64().unwrap(), score + promised["reward"].as_u64().unwrap());
    }
    game["film"] = true.into();
    let film = lab.post("/api/game", &game).1["film"].clone();
    assert_eq!(film["boards"].as_array().unwrap().len(), 31);
    assert_eq!(film["boards"][0], first["board"]);
    let same = lab.post("/api/film", &json!({"start": film["start"], "steps": film["steps"]})).1;
    assert_eq!(same["boards"], film["boards"]);
    let illegal = Value::from(if first["next"]["left"].is_null() { "l" } else { "x" });
    assert_eq!(lab.refused("/api/game", &json!({"seed": 7, "moves": illegal})).0, 400);
}

#[test]
fn nonsense_is_refused_with_a_reason_and_logged() {
    let lab = Lab::new();
    for (path, body, status, says) in [
        ("/api/analyze", json!({"board": "12"}), 400, "2 cells given"),
        ("/api/analyze", json!({"board": BOARD, "agent": "gredy"}), 400, "did you mean 'greedy'"),
        ("/api/analyze", json!({"board": BOARD, "agent": "expectimax:depth=99"}), 422, "more than the page allows"),
        ("/api/analyze", json!({"board": BOARD, "agent": "expectimax:depth=-1"}), 400, "is not a whole number"),
        (
            "/api/analyze",
            json!({"board": BOARD, "agent": "greedy:eval=ntuple@../../etc/passwd"}),
            404,
            "there is no model",
        ),
        ("/api/analyze", json!({"board": BOARD, "size": "9x9"}), 400, "there is no board size"),
        ("/api/analyze", json!({"board": BOARD, "spawn": "3:1"}), 400, "3 is not a tile"),
        ("/api/analyze", json!({"board": BOARD, "path": "/etc/passwd"}), 400, "unknown field"),
        ("/api/analyze", json!({"board": BOARD, "seed": -1}), 400, "not a request"),
        ("/api/analyze", json!({"board": "1".repeat(5000)}), 400, "at most 400"),
        ("/api/analyze", json!([1, 2, 3]), 400, "not a request"),
        ("/api/game", json!({"moves": "q"}), 400, "is not a direction"),
        ("/api/game", json!({"moves": "l".repeat(200_000)}), 422, "at most 100000 moves"),
        ("/api/film", json!({"start": BOARD, "steps": "l00"}), 400, "cannot appear"),
        ("/api/film", json!({"start": BOARD, "steps": "??"}), 400, "step 1"),
        ("/api/evaluations", json!({"agent": "random", "games": 0}), 422, "1 to 10000"),
        ("/api/evaluations", json!({"agent": "random", "games": 1_000_000_000_000_u64}), 422, "1 to 10000"),
        ("/api/evaluations", json!({"agent": "nobody", "games": 1}), 400, "there is no agent"),
        ("/api/import", json!({"text": "no replay"}), 400, "no replay that is known"),
    ] {
        let (code, reason) = lab.refused(path, &body);
        assert!(code == status && reason.contains(says), "{path} {body}: {code} {reason}");
        assert!(lab.log.lock().unwrap().iter().any(|line| line.contains(path) && line.contains(&code.to_string())));
    }
    let json_type = [("Content-Type", "application/json")];
    for body in ["", "{", "nul", "{\"board\":1e999}", "\u{0}\u{1}", "[[[[[[[["] {
        assert_eq!(lab.send("POST", "/api/analyze", &json_type, body).0, 400, "{body:?}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(lab.send("POST", "/api/analyze", &json_type, &deep).0, 400);
    // Nothing of all that has stopped it.
    assert_eq!(lab.post("/api/analyze", &json!({"board": BOARD})).0, 200);
}

#[test]
fn what_is_too_large_is_refused() {
    let lab = Lab::with(|config| config.limits = Limits { record_bytes: 1 << 20, ..Limits::default() });
    let json_type = [("Content-Type", "application/json")];
    let large = format!("{{\"board\":\"{}\"}}", "1".repeat(300_000));
    assert_eq!(lab.send("POST", "/api/analyze", &json_type, &large).0, 413);
    assert_eq!(lab.send("POST", "/api/records", &[], &"x".repeat(2 << 20)).0, 413);
    let mut socket = lab.socket("/api/watch", None).unwrap();
    let _ = socket.send(Message::text("x".repeat(1 << 20)));
    while socket.read().is_ok() {}
    assert_eq!(lab.get("/api/catalogue").0, 200);
}

#[test]
fn rebound_names_and_other_sites_stay_outside() {
    let lab = Lab::new();
    let port = lab.port;
    for host in [
        "evil.example",
        &format!("evil.example:{port}"),
        &format!("127.0.0.1.evil.example:{port}"),
        "127.0.0.1",
        "127.0.0.1:1",
        "",
    ] {
        for path in ["/", "/api/catalogue", "/js/main.js"] {
            assert_eq!(lab.send("GET", path, &[("Host", host)], "").0, 421, "{host} {path}");
        }
    }
    let two = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert!([400, 421].contains(&lab.raw(two.as_bytes()).0));
    assert_eq!(lab.send("GET", "/", &[("Host", &format!("localhost:{port}"))], "").0, 200);
    let body = json!({"board": BOARD}).to_string();
    let own = format!("http://127.0.0.1:{port}");
    for (origin, status) in [
        (own.as_str(), 200),
        ("http://evil.example", 403),
        ("null", 403),
        (&format!("http://127.0.0.1:{}", port.wrapping_add(1)), 403),
        (&format!("https://127.0.0.1:{port}"), 403),
        (&format!("http://127.0.0.1:{port}.evil.example"), 403),
    ] {
        let headers = [("Content-Type", "application/json"), ("Origin", origin)];
        assert_eq!(lab.send("POST", "/api/analyze", &headers, &body).0, status, "{origin}");
        let answer = lab.socket("/api/watch", Some(origin)).map(drop).err();
        assert_eq!(answer, (status != 200).then_some(status), "{origin}");
    }
    for site in ["cross-site", "same-site"] {
        let headers = [("Content-Type", "application/json"), ("Sec-Fetch-Site", site)];
        assert_eq!(lab.send("POST", "/api/analyze", &headers, &body).0, 403, "{site}");
    }
    // What a form on another site can send without asking is not even read.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
        assert_eq!(lab.send("POST", "/api/analyze", &[("Content-Type", kind)], &body).0, 415, "{kind}");
    }
    assert_eq!(lab.send("DELETE", "/api/evaluations/e1", &[("Origin", "http://evil.example")], "").0, 403);
    let (_, head, _) = lab.send("OPTIONS", "/api/analyze", &[("Origin", "http://evil.example")], "");
    assert!(!head.contains("access-control-allow"), "{head}");
}

#[test]
fn nothing_outside_the_page_can_be_read() {
    let lab = Lab::new();
    std::fs::create_dir_all(lab.folder.path().join("runs/a/checkpoints")).unwrap();
    std::fs::write(lab.folder.path().join("runs/a/config.toml"), "x = 1").unwrap();
    std::fs::create_dir_all(lab.folder.path().join("records")).unwrap();
    std::fs::write(lab.folder.path().join("secret.rec"), "secret").unwrap();
    assert_eq!(lab.get("/api/runs/a").0, 200);
    for path in [
        "/../Cargo.toml",
        "/js/../../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/js/%2e%2e%2fmain.js",
        "/etc/passwd",
        "//etc/passwd",
        "/api/runs/..",
        "/api/runs/%2e%2e",
        "/api/runs/..%2fsecret.rec",
        "/api/runs/a%2f..%2f..",
        "/api/runs/a/checkpoints",
        "/api/records/..%2fsecret",
        "/api/records/file-..%2fsecret",
        "/api/records/%2fetc%2fpasswd",
        "/api/records/x/file",
        "/api/records/file-secret/games/0",
        "/api/report?ids=..%2fsecret",
        "/api/nowhere",
        "/api/runs/%00",
    ] {
        let (status, answer) = lab.get(path);
        assert!(status == 404 || status == 400, "{path}: {status}");
        assert!(answer["error"].is_string(), "{path}: {answer}");
        assert!(!answer.to_string().contains("secret\n") && !answer.to_string().contains("root:"), "{path}");
    }
}

/// As `afterstate train` says at its end, whatever the learner and the network.
#[test]
fn checkpoints_are_offered_with_the_agents_that_play_them() {
    let lab = Lab::new();
    let run = lab.folder.path().join("runs/a");
    std::fs::create_dir_all(run.join("checkpoints")).unwrap();
    std::fs::write(run.join("config.toml"), "").unwrap();
    std::fs::write(run.join("checkpoints/notes"), "no network").unwrap();
    let expected = [
        ("td", "afterstate-ntuple-1", "", json!("greedy:eval=ntuple@a/td")),
        ("value", "afterstate-value-cnn-1", "value", json!("greedy:eval=value-cnn@a/value")),
        ("dqn", "afterstate-mlp-1", "moves", json!("policy:eval=mlp@a/dqn")),
        ("ppo", "afterstate-lookup-1", "actor", json!("policy:eval=lookup@a/ppo")),
        ("distill", "afterstate-dual-path-1", "policy", json!("policy:eval=dual-path@a/distill")),
        ("zero", "afterstate-zeronet-1", "policy", json!("puct:simulations=50,eval=zeronet@a/zero")),
    ];
    for (learner, mark, outputs, _) in &expected {
        let facts = [("format", *mark), ("learner", *learner), ("outputs", *outputs)];
        let metadata = facts.map(|(key, value)| (key.to_owned(), value.to_owned())).into_iter().collect();
        let mut bytes = Vec::new();
        afterstate_evaluator::file::write_arrays(&mut bytes, &metadata, &[]).unwrap();
        std::fs::write(run.join("checkpoints").join(learner), bytes).unwrap();
    }
    for (name, tables) in [("beside", Some("large")), ("alone", None)] {
        let facts = [("format", Some("afterstate-ntuple-1")), ("goal", Some("32768")), ("tables", tables)];
        let fact = |(key, value): (&str, Option<&str>)| Some((key.to_owned(), value?.to_owned()));
        let mut bytes = Vec::new();
        afterstate_evaluator::file::write_arrays(&mut bytes, &facts.into_iter().filter_map(fact).collect(), &[])
            .unwrap();
        std::fs::write(run.join("checkpoints").join(name), bytes).unwrap();
    }
    let checkpoints = lab.get("/api/runs/a").1["checkpoints"].clone();
    assert_eq!(lab.get("/api/runs").1[0]["checkpoints"], checkpoints);
    let agent = |name: &str| {
        let found = checkpoints.as_array().unwrap().iter().find(|c| c["name"] == name).unwrap();
        found["agent"].clone()
    };
    for (learner, _, _, wanted) in &expected {
        assert_eq!(agent(learner), *wanted);
    }
    assert_eq!(agent("beside"), "tables:set=large,late=a/beside", "a chance plays between the tables");
    assert_eq!(agent("alone"), "tables:late=a/alone");
    assert_eq!(agent("notes"), Value::Null);
}

#[test]
fn beyond_loopback_a_token_is_needed() {
    let lab = Lab::with(|config| {
        config.access = Access { address: "0.0.0.0".parse().unwrap(), hosts: vec!["lab.local".into()] }
    });
    let token = lab.url.split_once("?token=").expect("the address has a token").1.to_owned();
    assert_eq!(token.len(), 32);
    assert_eq!(lab.get("/").0, 401);
    assert_eq!(lab.get("/api/catalogue").0, 401);
    assert_eq!(lab.get("/?token=00000000000000000000000000000000").0, 401);
    assert_eq!(lab.socket("/api/watch", None).err(), Some(401));
    let (status, head, _) = lab.send("GET", &format!("/?token={token}"), &[], "");
    assert!(
        status == 303
            && head.contains("httponly")
            && head.contains("samesite=strict")
            && head.contains("location: /\r\n"),
        "{head}"
    );
    let cookie = format!("other=1; afterstate_token={token}");
    assert_eq!(lab.send("GET", "/", &[("Cookie", &cookie)], "").0, 200);
    assert_eq!(lab.send("GET", "/api/catalogue", &[("Authorization", &format!("Bearer {token}"))], "").0, 200);
    let named = format!("lab.local:{}", lab.port);
    assert_eq!(lab.send("GET", "/", &[("Cookie", &cookie), ("Host", &named)], "").0, 200);
    assert_eq!(lab.send("GET", "/", &[("Cookie", &cookie), ("Host", "evil.example")], "").0, 421);
}

#[test]
fn a_game_is_watched_over_a_socket() {
    let lab = Lab::new();
    let mut socket = lab.socket("/api/watch", None).unwrap();
    let start = json!({"start": {"agent": "expectimax:depth=1", "seed": 3}, "speed": 0, "stop_at": 256});
    socket.send(Message::text(start.to_string())).unwrap();
    let first = hear(&mut socket);
    assert_eq!((&first["type"], &first["moves"]), (&json!("frame"), &json!(0)));
    assert!(first["best"].is_string() && first["values"]["left"]["legal"].is_boolean());
    let end = loop {
        let frame = hear(&mut socket);
        if frame["goal"] == true {
            break frame;
        }
    };
    assert_eq!((&end["max_tile"], &end["paused"]), (&json!(256), &json!(true)));
    // A step shows where every tile went.
    socket.send(Message::text(json!({"step": 1}).to_string())).unwrap();
    let step = hear(&mut socket);
    assert_eq!(step["moves"], end["moves"].as_u64().unwrap() + 1);
    assert_eq!(step["last"]["move"], end["best"]);
    assert_eq!((&end["heard"], &step["heard"]), (&json!(1), &json!(2)));
    // The same game as the arena plays.
    socket
        .send(Message::text(json!({"start": {"agent": "greedy", "seed": 3}, "pause": false, "stop_at": 0}).to_string()))
        .unwrap();
    let over = loop {
        let frame = hear(&mut socket);
        if frame["over"] == true {
            break frame;
        }
    };
    let setup = afterstate_arena::Setup::new("greedy", 3);
    let mut agent =
        afterstate_agent::build_from_text::<afterstate_board::Board>("greedy", &Default::default()).unwrap();
    let game = afterstate_arena::play_game(&mut *agent, &setup, 0, |_, _| std::ops::ControlFlow::Continue(())).unwrap();
    assert_eq!((over["score"].as_u64(), over["moves"].as_u64()), (Some(game.score), Some(game.moves())));
    for bad in
        ["nonsense", "{\"speed\":1e9}", "{\"stop_at\":3}", "{\"start\":{\"agent\":\"nobody\"}}", "{\"shell\":\"rm\"}"]
    {
        let mut socket = lab.socket("/api/watch", None).unwrap();
        socket.send(Message::text(bad)).unwrap();
        assert_eq!(hear(&mut socket)["type"], "error", "{bad}");
    }
}

#[test]
fn a_game_is_reviewed_over_a_socket() {
    let lab = Lab::new();
    let film = lab.post("/api/game", &json!({"seed": 7, "moves": "", "film": true})).1;
    let letters: String = "lrud"
        .chars()
        .filter(|c| {
            let name = ["left", "right", "up", "down"].into_iter().find(|n| n.starts_with(*c)).unwrap();
            !film["next"][name].is_null()
        })
        .take(1)
        .collect();
    let film = lab.post("/api/game", &json!({"seed": 7, "moves": letters, "film": true})).1["film"].clone();
    let mut socket = lab.socket("/api/review", None).unwrap();
    socket
        .send(Message::text(json!({"agent": "expectimax", "start": film["start"], "steps": film["steps"]}).to_string()))
        .unwrap();
    let judged = hear(&mut socket);
    assert_eq!((&judged["type"], &judged["plies"][0]["ply"]), (&json!("judged"), &json!(0)));
    assert!(judged["plies"][0]["values"].as_array().unwrap().iter().any(Value::is_number));
    assert!(judged["unit"].is_string());
    assert_eq!(hear(&mut socket)["type"], "done");
    let mut socket = lab.socket("/api/review", None).unwrap();
    socket
        .send(Message::text(json!({"agent": "expectimax", "start": film["start"], "steps": "l00"}).to_string()))
        .unwrap();
    assert_eq!(hear(&mut socket)["type"], "error");
}

#[test]
fn sockets_are_limited_and_come_back() {
    let lab = Lab::with(|config| config.limits = Limits { sockets: 2, ..Limits::default() });
    let first = lab.socket("/api/watch", None).unwrap();
    let _second = lab.socket("/api/watch", None).unwrap();
    assert_eq!(lab.socket("/api/watch", None).err(), Some(429));
    drop(first);
    let began = Instant::now();
    while lab.socket("/api/watch", None).is_err() {
        assert!(began.elapsed() < Duration::from_secs(5), "a closed socket must free its place");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn overload_is_told_and_recovers_and_whoever_leaves_takes_the_search_along() {
    let limits = Limits { searches: 1, waiting: 1, search_time: Duration::from_secs(8), ..Limits::default() };
    let lab = Lab::with(|config| config.limits = limits);
    let slow = json!({"board": "1000000000000001", "agent": "expectimax:depth=10,exact=true"}).to_string();
    let ask = || {
        let mut stream = TcpStream::connect(("127.0.0.1", lab.port)).unwrap();
        let head = format!(
            "POST /api/analyze HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            lab.port,
            slow.len()
        );
        stream.write_all((head + &slow).as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(150));
        stream
    };
    let (first, second) = (ask(), ask());
    let began = Instant::now();
    let (status, head, _) = lab.send("POST", "/api/analyze", &[("Content-Type", "application/json")], &slow);
    assert!(status == 503 && head.contains("retry-after: 1"), "{status} {head}");
    // Moves never wait for searches.
    assert_eq!(lab.post("/api/game", &json!({"seed": 1})).0, 200);
    drop((first, second));
    let quick = json!({"board": BOARD, "agent": "greedy"});
    while lab.post("/api/analyze", &quick).0 != 200 {
        assert!(began.elapsed() < Duration::from_secs(4), "abandoned searches go on");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(began.elapsed() < Duration::from_secs(4), "an abandoned search kept its place: {:?}", began.elapsed());
}

#[test]
fn a_deep_search_ends_in_time_with_what_it_has() {
    let lab =
        Lab::with(|config| config.limits = Limits { search_time: Duration::from_millis(300), ..Limits::default() });
    let began = Instant::now();
    let (status, found) = lab.post("/api/analyze", &json!({"board": BOARD, "agent": "expectimax:depth=10"}));
    assert!(status == 200 && found["best"].is_string(), "{status} {found}");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

#[test]
fn evaluations_run_report_and_cancel() {
    let lab = Lab::with(|config| config.limits = Limits { evaluations: 3, ..Limits::default() });
    let run = |agent: &str, games: u64| {
        lab.post("/api/evaluations", &json!({"agent": agent, "games": games})).1["id"].as_str().unwrap().to_owned()
    };
    let standing = |id: &str| {
        let all = lab.get("/api/evaluations").1;
        all.as_array().unwrap().iter().find(|e| e["id"] == id).cloned().unwrap_or_default()
    };
    let wait = |id: &str, wanted: &str| {
        let began = Instant::now();
        while standing(id)["standing"] != wanted {
            assert!(began.elapsed() < Duration::from_secs(30), "{id} is not {wanted}: {}", standing(id));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let (a, b) = (run("random", 20), run("greedy", 20));
    wait(&a, "done");
    wait(&b, "done");
    let report = lab.get(&format!("/api/report?ids={a},{b}")).1;
    assert_eq!(report["figures"].as_array().unwrap().len(), 6);
    assert!(report["comparison"]["verdict"].as_str().unwrap().starts_with("greedy scores"));
    let (status, head, html) = lab.send("GET", &format!("/api/report.html?ids={a},{b}"), &[], "");
    assert!(status == 200 && head.contains("attachment") && html.contains("<svg"));
    let record = standing(&a)["record"].as_str().unwrap().to_owned();
    let games = lab.get(&format!("/api/records/{record}")).1;
    assert_eq!(games["games"].as_array().unwrap().len(), 20);
    let film = lab.get(&format!("/api/records/{record}/games/3")).1;
    assert_eq!(film["boards"].as_array().unwrap().len() as u64, 1 + games["games"][3]["moves"].as_u64().unwrap());
    let long = run("expectimax:depth=4", 10_000);
    wait(&long, "running");
    assert_eq!(lab.refused("/api/evaluations", &json!({"agent": "random", "games": 1})).0, 429);
    assert_eq!(lab.send("DELETE", &format!("/api/evaluations/{long}"), &[], "").0, 200);
    wait(&long, "cancelled");
    assert_eq!(lab.send("DELETE", &format!("/api/evaluations/{long}"), &[], "").0, 200);
    assert!(standing(&long).is_null());
    assert_eq!(lab.send("DELETE", "/api/evaluations/e99", &[], "").0, 404);
    assert_eq!(lab.get("/api/report?ids=").0, 400);
}

#[test]
fn records_are_uploaded_read_and_refused_if_damaged() {
    let lab = Lab::new();
    let file = lab.folder.path().join("a.rec");
    let setup = afterstate_arena::Setup::new("greedy", 1);
    let header = afterstate_arena::Header::new::<afterstate_board::Board>(setup.clone());
    let mut writer = afterstate_arena::record::Writer::create_new(&file, &header).unwrap();
    let mut agent =
        afterstate_agent::build_from_text::<afterstate_board::Board>("greedy", &Default::default()).unwrap();
    for index in 0..3 {
        let game = afterstate_arena::play_game(&mut *agent, &setup, index, |_, _| std::ops::ControlFlow::Continue(()))
            .unwrap();
        writer.write(&game).unwrap();
    }
    drop(writer);
    let bytes = std::fs::read(&file).unwrap();
    let upload = |bytes: &[u8]| {
        let head = format!(
            "POST /api/records HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            lab.port,
            bytes.len()
        );
        let (status, _, body) = lab.raw(&[head.as_bytes(), bytes].concat());
        (status, serde_json::from_str::<Value>(&body).unwrap())
    };
    let (status, record) = upload(&bytes);
    assert_eq!((status, record["games"].as_array().unwrap().len()), (200, 3));
    let id = record["id"].as_str().unwrap();
    assert_eq!(lab.get(&format!("/api/records/{id}/games/1")).0, 200);
    assert_eq!(lab.get(&format!("/api/records/{id}/games/7")).0, 404);
    assert_eq!(lab.get(&format!("/api/records/{id}/games/-1")).0, 400);
    for damaged in [&b"no record"[..], &bytes[..bytes.len() / 2], &[]] {
        let (status, answer) = upload(damaged);
        let reason = answer["error"].as_str().unwrap();
        assert!(status == 400 && !reason.contains(std::env::temp_dir().to_str().unwrap()), "{reason}");
    }
    // The folder's own records are there too, by name.
    std::fs::create_dir_all(lab.folder.path().join("records")).unwrap();
    std::fs::copy(&file, lab.folder.path().join("records/mine.rec")).unwrap();
    assert_eq!(lab.get("/api/records/file-mine").1["games"].as_array().unwrap().len(), 3);
    assert!(lab.get("/api/records").1.as_array().unwrap().iter().any(|r| r["id"] == "file-mine"));
}

#[test]
fn the_catalogue_offers_everything_there_is() {
    let lab = Lab::new();
    let catalogue = lab.get("/api/catalogue").1;
    let names: Vec<&str> =
        catalogue["agents"].as_array().unwrap().iter().map(|a| a["name"].as_str().unwrap()).collect();
    let rows: Vec<&str> = afterstate_agent::rows::<afterstate_board::Board>().iter().map(|row| row.name).collect();
    assert_eq!(names, rows);
    // Every agent can be asked as it stands.
    for name in names.into_iter().filter(|name| *name != "optimal") {
        let (status, found) = lab.post("/api/analyze", &json!({"board": BOARD, "agent": name}));
        assert!(status == 200 && found["best"].is_string(), "{name}: {found}");
    }
    let (status, refused) = lab.post("/api/analyze", &json!({"board": BOARD, "agent": "optimal"}));
    assert!(status == 400 && refused["error"].as_str().unwrap().contains("too many positions"), "{refused}");
}

/// The champion on the classic board, perfect play where it is to be had, a search elsewhere.
#[test]
fn every_board_has_an_agent_of_its_own_unless_another_is_named() {
    let lab = Lab::new();
    let defaults = lab.get("/api/catalogue").1["default_agents"].clone();
    assert_eq!(
        (&defaults["4x4"], &defaults["3x4"]),
        (&"expectimax:depth=2,eval=champion".into(), &"expectimax".into())
    );
    let players = lab.get("/api/catalogue").1["default_players"].clone();
    assert_eq!((&players["4x4"], &players["2x2"]), (&"tables:depth=3".into(), &"optimal".into()));
    for (size, board) in [("4x4", BOARD), ("2x2", "1002"), ("2x3", "100002"), ("3x4", "100000000002")] {
        let (status, found) = lab.post("/api/analyze", &json!({"board": board, "size": size}));
        assert!(status == 200 && found["agent"] == defaults[size], "{size}: {found}");
    }
    let exact = lab.post("/api/analyze", &json!({"board": "1002", "size": "2x2"})).1;
    assert_eq!((&exact["agent"], &exact["unit"]), (&"optimal".into(), &"points still to come, exact".into()));
}
