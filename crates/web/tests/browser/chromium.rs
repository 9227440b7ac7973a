//! A real Chromium without a window, driven over its own debugging protocol.

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::{Message, WebSocket, stream::MaybeTlsStream};

/// How long anything on the page may take before a test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// A browser of our own.
pub struct Chromium {
    process: Child,
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    next: u64,
    /// The page among the browser's.
    session: String,
    /// Messages that were not answers: what the page complained about.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

fn program() -> &'static str {
    let known = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let runs =
        |name: &&&str| Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    known.iter().find(runs).copied().expect("no Chromium: install it (Debian: apt-get install chromium)")
}

impl Chromium {
    pub fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut process = Command::new(program())
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--mute-audio",
                "--no-first-run",
            ])
            .args([
                "--disable-extensions",
                "--disable-background-networking",
                "--disable-dev-shm-usage",
                "--remote-debugging-port=0",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("Chromium starts");
        let lines = BufReader::new(process.stderr.take().unwrap()).lines().map_while(Result::ok);
        let address = { lines }.find_map(|line| line.strip_prefix("DevTools listening on ").map(str::to_owned));
        let address = address.expect("Chromium says where it listens");
        let (socket, _) = tungstenite::connect(&address).expect("Chromium answers");
        let mut browser =
            Self { process, socket, next: 0, session: String::new(), events: Vec::new(), _profile: profile };
        let target = browser.call(None, "Target.createTarget", json!({"url": "about:blank"}));
        let session =
            browser.call(None, "Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = session["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    fn call(&mut self, session: Option<&str>, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        self.socket.send(Message::text(message.to_string())).unwrap();
        loop {
            let text = self.socket.read().unwrap().into_text().unwrap();
            let heard: Value = serde_json::from_str(&text).unwrap();
            if heard["id"] == self.next {
                assert!(heard["error"].is_null(), "{method}: {}", heard["error"]);
                return heard["result"].clone();
            }
            self.events.push(heard);
        }
    }

    /// A command of the debugging protocol, to the page.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let session = self.session.clone();
        self.call(Some(&session), method, params)
    }

    /// The value of an expression on the page; promises are waited for.
    pub fn eval(&mut self, script: &str) -> Value {
        let params = json!({"expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true});
        let answer = self.ask("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{script}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true on the page.
    pub fn until(&mut self, script: &str) {
        let began = Instant::now();
        while self.eval(&format!("!!({script})")) != true {
            if began.elapsed() > PATIENCE {
                self.shot("failed");
                panic!("waited in vain for {script}; the page said {:?}", self.complaints());
            }
            std::thread::sleep(Duration::from_millis(15));
        }
    }

    pub fn open(&mut self, url: &str) {
        self.ask("Page.navigate", json!({"url": url}));
    }

    /// A key, pressed and released.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            "Tab" => 9,
            "Enter" => 13,
            " " => 32,
            other => other.to_ascii_uppercase().bytes().next().unwrap_or(0).into(),
        };
        let text = match key {
            "Enter" => "\r",
            _ if key.chars().count() == 1 => key,
            _ => "",
        };
        let kind = if text.is_empty() { "rawKeyDown" } else { "keyDown" };
        let params = json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code, "code": key});
        self.ask("Input.dispatchKeyEvent", params);
        self.ask(
            "Input.dispatchKeyEvent",
            json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code, "code": key}),
        );
    }

    pub fn click(&mut self, selector: &str) {
        self.until(&format!("document.querySelector({selector:?}) && !document.querySelector({selector:?}).disabled"));
        self.eval(&format!("document.querySelector({selector:?}).click()"));
    }

    /// Presses the visible button with that text.
    pub fn push(&mut self, text: &str) {
        let find = format!(
            "[...document.querySelectorAll('main section:not([hidden]) button')].find((b) => b.textContent === {text:?} && !b.disabled && b.offsetParent)"
        );
        self.until(&find);
        self.eval(&format!("{find}.click()"));
    }

    pub fn text(&mut self, selector: &str) -> String {
        self.until(&format!("document.querySelector({selector:?})"));
        self.eval(&format!("document.querySelector({selector:?}).textContent")).as_str().unwrap_or("").to_owned()
    }

    /// Width, height and whether it is a phone.
    pub fn size(&mut self, width: u32, height: u32, phone: bool) {
        let scale = if phone { 2 } else { 1 };
        let params = json!({"width": width, "height": height, "deviceScaleFactor": scale, "mobile": phone});
        self.ask("Emulation.setDeviceMetricsOverride", params);
        self.ask("Emulation.setTouchEmulationEnabled", json!({"enabled": phone}));
    }

    pub fn dark(&mut self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": value}]);
        self.ask("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// A finger across the screen.
    pub fn swipe(&mut self, from: (f64, f64), to: (f64, f64)) {
        let point = |(x, y): (f64, f64)| json!([{"x": x, "y": y}]);
        self.ask("Input.dispatchTouchEvent", json!({"type": "touchStart", "touchPoints": point(from)}));
        for step in 1..=4 {
            let share = f64::from(step) / 4.0;
            let at = (from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1));
            self.ask("Input.dispatchTouchEvent", json!({"type": "touchMove", "touchPoints": point(at)}));
        }
        self.ask("Input.dispatchTouchEvent", json!({"type": "touchEnd", "touchPoints": []}));
    }

    /// Keeps a picture of the whole page if AFTERSTATE_SHOTS names a folder to keep it in.
    pub fn shot(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("AFTERSTATE_SHOTS") else { return };
        let params = json!({"format": "png", "captureBeyondViewport": true});
        let picture = self.ask("Page.captureScreenshot", params)["data"].as_str().unwrap().to_owned();
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(Path::new(&folder).join(format!("{name}.png")), base64(&picture)).unwrap();
    }

    /// What went wrong on the page so far: exceptions, errors, refused resources.
    pub fn complaints(&mut self) -> Vec<String> {
        self.eval("0");
        let is_bad = |e: &&Value| {
            e["method"] == "Runtime.exceptionThrown"
                || (e["method"] == "Log.entryAdded" && e["params"]["entry"]["level"] == "error")
                || (e["method"] == "Runtime.consoleAPICalled" && e["params"]["type"] == "error")
        };
        self.events.iter().filter(is_bad).map(|e| e["params"].to_string()).collect()
    }

    /// Requests that did not go to our own server.
    pub fn strangers(&mut self, own: &str) -> Vec<String> {
        self.eval("0");
        let url = |e: &Value| {
            (e["method"] == "Network.requestWillBeSent")
                .then(|| e["params"]["request"]["url"].as_str().map(str::to_owned))?
        };
        self.events.iter().filter_map(url).filter(|url| !url.starts_with(own) && !url.starts_with("data:")).collect()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Plain base 64, as pictures come in.
fn base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => u32::from(byte - b'A'),
        b'a'..=b'z' => u32::from(byte - b'a') + 26,
        b'0'..=b'9' => u32::from(byte - b'0') + 52,
        b'+' => 62,
        _ => 63,
    };
    let symbols: Vec<u8> = text.bytes().filter(|byte| *byte != b'=' && !byte.is_ascii_whitespace()).collect();
    let group = |four: &[u8]| {
        let bits = four.iter().fold(0, |bits, &byte| bits << 6 | value(byte)) << (6 * (4 - four.len()));
        [bits >> 16, bits >> 8, bits].map(|b| b as u8)[..four.len() - 1].to_vec()
    };
    symbols.chunks(4).filter(|four| four.len() > 1).flat_map(group).collect()
}
