//! The page as people meet it: in a real Chromium without a window. Ignored by plain `cargo test`, because it needs that browser;
//! `scripts/test` installs it and runs these.

mod chromium;

use std::fs;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use afterstate_board::{Board, Size};
use afterstate_evaluator::ntuple::file::{self, Dtype, Tensor};
use afterstate_evaluator::ntuple::{Layout, Words};
use afterstate_web::{Config, Server, Stop};
use chromium::Chromium;

/// A server of our own with a browser in front of it.
struct Lab {
    browser: Chromium,
    url: String,
    stop: Stop,
    server: Option<JoinHandle<()>>,
    folder: tempfile::TempDir,
}

impl Lab {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (runs, records) = (folder.path().join("runs"), folder.path().join("records"));
        write_run(&runs.join("ntuple-1"));
        fs::create_dir_all(&records).unwrap();
        let server = Server::bind(Config { runs, records, ..Config::default() }).unwrap();
        let (url, stop) = (server.url(), server.stopper());
        let server = Some(std::thread::spawn(move || server.run().unwrap()));
        let mut browser = Chromium::start();
        browser.size(1180, 860, false);
        browser.dark(false);
        Self { browser, url, stop, server, folder }
    }

    fn go(&mut self, path: &str) -> &mut Chromium {
        let url = format!("{}#/{path}", self.url);
        self.browser.open(&url);
        self.browser.until("!document.getElementById('skeleton') && document.readyState === 'complete'");
        &mut self.browser
    }

    /// No test may leave errors on the page or ask for anything from elsewhere.
    fn finish(mut self) {
        let complaints = self.browser.complaints();
        assert!(complaints.is_empty(), "the page complained: {complaints:#?}");
        let strangers = self.browser.strangers(&self.url.clone());
        let strangers: Vec<_> = strangers.into_iter().filter(|url| url != "about:blank").collect();
        assert!(strangers.is_empty(), "the page asked for {strangers:?}");
        self.stop.stop();
        self.server.take().unwrap().join().unwrap();
    }
}

/// A run folder as training leaves it.
fn write_run(run: &Path) {
    fs::create_dir_all(run.join("checkpoints")).unwrap();
    fs::write(run.join("config.toml"), "network = \"8x6\"\nalpha = 0.1\n").unwrap();
    let line = |i: i32| {
        let score = 2000.0 + 3000.0 * f64::from(i).sqrt() + 800.0 * f64::from(i % 7);
        format!(
            "{{\"step\":{},\"games\":{},\"mean_score\":{score:.1},\"reach_2048\":{:.3},\"moves_per_second\":{}}}\n",
            i * 1000,
            i * 100,
            f64::from(i) / 130.0,
            400_000 + i * 37
        )
    };
    fs::write(run.join("metrics.jsonl"), (1..120).map(line).collect::<String>()).unwrap();
    write_network(&run.join("checkpoints/000100.safetensors"));
}

/// A network that knows nothing yet, and plays all the same.
fn write_network(path: &Path) {
    let layout = Layout::new::<Board>("0145", &[]).unwrap();
    let weights = Words::zeroed(layout.weights()).unwrap();
    let tensor = Tensor { name: "weights", kind: Dtype::I32, words: weights.atomics() };
    let mut bytes = Vec::new();
    file::write(&mut bytes, &file::describe(Size::CLASSIC, &layout), &[tensor]).unwrap();
    fs::write(path, bytes).unwrap();
}

const BOARD: &str = "document.querySelector('section:not([hidden]) .board')?.dataset.board";
const READY: &str = "document.querySelector('section:not([hidden]) .board')?.dataset.ready === 'yes'";
const SLIPPERY: &str = "a987123600120001";

fn moves(browser: &mut Chromium) -> u64 {
    let text = browser.eval("[...document.querySelectorAll('.score')].find((s) => s.textContent.startsWith('Moves')).querySelector('dd').textContent");
    text.as_str().unwrap().replace(',', "").parse().unwrap()
}

/// Plays whatever is legal, by keys alone.
fn play_by_keys(browser: &mut Chromium, wanted: u64) {
    let keys = ["ArrowLeft", "ArrowDown", "ArrowRight", "ArrowUp"];
    let began = Instant::now();
    for turn in 0.. {
        if moves(browser) >= wanted {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "the keys do nothing");
        browser.until(READY);
        browser.press(keys[turn % 4]);
    }
}

#[test]
#[ignore = "needs Chromium: run scripts/test"]
fn a_game_is_played_by_keys_with_undo_redo_and_hints() {
    let mut lab = Lab::new();
    let browser = lab.go("play?seed=7");
    browser.until("document.querySelectorAll('.tile').length === 2");
    browser.shot("play-start");
    play_by_keys(browser, 12);
    browser.until(READY);
    browser.until("document.querySelector('[title=U]') && !document.querySelector('[title=U]').disabled");
    // A key pressed before the last answer came may have been one more.
    let (before, played) = (browser.eval(BOARD), moves(browser));
    browser.press("u");
    browser.until(&format!("{BOARD} !== {before}"));
    assert_eq!(moves(browser), played - 1);
    browser.press("r");
    browser.until(&format!("{BOARD} === {before}"));
    browser.press("h");
    browser.until("!document.querySelector('.arrow').hidden && document.querySelector('.values tr.best')");
    std::thread::sleep(Duration::from_millis(300));
    browser.shot("play-hint");
    // The game is still there after a reload.
    browser.eval("location.hash = '#/play'");
    browser.ask("Page.reload", serde_json::json!({}));
    browser.until(&format!("document.querySelector('.board') && {BOARD} === {before}"));
    play_by_keys(browser, 60);
    browser.push("New game");
    browser.until("document.querySelectorAll('.tile').length === 2");
    lab.finish();
}

#[test]
#[ignore = "needs Chromium: run scripts/test"]
fn blunders_are_told_and_can_be_taken_back() {
    let mut lab = Lab::new();
    let browser = lab.go(&format!("play?board={SLIPPERY}"));
    browser.until(&format!("{BOARD} === '{SLIPPERY}'"));
    browser.click("input[value=blunder]");
    std::thread::sleep(Duration::from_millis(400));
    browser.press("ArrowDown");
    browser.until("!document.querySelector('.notice.warn').hidden");
    let text = browser.text(".notice.warn");
    assert!(text.contains("Blunder: down") && text.contains("left was worth"), "{text}");
    std::thread::sleep(Duration::from_millis(300));
    browser.shot("play-blunder");
    browser.push("Take it back");
    browser
        .until(&format!("{BOARD} === '{SLIPPERY}' && document.querySelector('.arrow').dataset.direction === 'left'"));
    browser.click("input[value=always]");
    browser.press("ArrowLeft");
    browser.until(&format!("{BOARD} !== '{SLIPPERY}' && document.querySelector('.values tr.best')"));
    browser.click("input[value=off]");
    lab.finish();
}

#[test]
#[ignore = "needs Chromium: run scripts/test"]
fn the_end_of_a_game_and_its_goal_are_told() {
    let mut lab = Lab::new();
    // A 2x2 board is full after a few moves.
    let browser = lab.go("play?seed=3&size=2x2");
    browser.until("document.querySelectorAll('.tile').length === 2");
    for turn in 0..60 {
        if browser.eval("!document.querySelector('.veil').hidden") == true {
            break;
        }
        browser.press(["ArrowLeft", "ArrowDown", "ArrowRight", "ArrowUp"][turn % 4]);
        std::thread::sleep(Duration::from_millis(60));
    }
    let told = browser.text(".veil");
    assert!(told.contains("Game over") || told.contains("16!"), "{told}");
    std::thread::sleep(Duration::from_millis(600));
    browser.shot("play-over");
    lab.finish();
}

#[test]
#[ignore = "needs Chromium: run scripts/test"]
fn agents_are_watched_alone_and_side_by_side() {
    let mut lab = Lab::new();
    let browser = lab.go("watch");
    browser.until("document.querySelector('.agent-form select').options.length > 5");
    browser.push("Start");
    browser.until("Number(document.querySelector('.lane').dataset.moves) >= 3");
    browser.until("document.querySelector('.lane .values tr.best')");
    browser.push("Pause");
    browser.until("[...document.querySelectorAll('button')].some((b) => b.textContent === 'Go on')");
    std::thread::sleep(Duration::from_millis(400));
    let held = browser.eval("document.querySelector('.lane').dataset.moves");
    browser.shot("watch-one");
    browser.push("Step");
    browser.until(&format!("Number(document.querySelector('.lane').dataset.moves) === Number({held}) + 1"));
    // After a step the game goes on, and pauses again, as the button says.
    browser.push("Go on");
    browser.until(&format!("Number(document.querySelector('.lane').dataset.moves) >= Number({held}) + 4"));
    browser.push("Pause");
    browser.until("[...document.querySelectorAll('button')].some((b) => b.textContent === 'Go on')");
    std::thread::sleep(Duration::from_millis(400));
    let held = browser.eval("document.querySelector('.lane').dataset.moves");
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(browser.eval("document.querySelector('.lane').dataset.moves"), held);
    assert_eq!(browser.eval("[...document.querySelectorAll('button')].some((b) => b.textContent === 'Go on')"), true);
    // Two agents, as fast as they go, until a tile.
    browser.eval("[...document.querySelectorAll('.field.check input')].find((i) => i.closest('label').textContent.includes('Two agents')).click()");
    browser.eval("(() => { const s = document.querySelector('section[aria-label=Watch] input[type=range]'); s.value = 6; s.dispatchEvent(new Event('input')); })()");
    browser.eval("(() => { const s = [...document.querySelectorAll('select')].find((s) => s.options[0]?.text === 'never'); s.value = '512'; s.dispatchEvent(new Event('change')); })()");
    browser.push("Start again");
    browser.until("document.querySelectorAll('.lane:not([hidden])').length === 2");
    browser.until("document.querySelector('.lane .facts').textContent.includes('largest 512')");
    browser.until("document.querySelectorAll('.lane')[1].dataset.moves > 50");
    browser.shot("watch-two");
    lab.finish();
}

#[test]
#[ignore = "needs Chromium: run scripts/test"]
fn a_pasted_position_is_analysed_and_its_link_leads_back() {
    let mut lab = Lab::new();
    let browser = lab.go("analyse");
    browser.until("document.querySelector('[data-opinions] td.best')");
    browser.eval("(() => { const i = document.querySelector('[aria-label=\"Position in digits or tiles\"]'); i.value = '1024 512 256 128 / 2 4 8 64 / 0 0 2 4 / 0 0 0 4'; i.dispatchEvent(new Event('change')); })()");
    browser.until(&format!("{BOARD} === 'a987123600120002'"));
    browser.until("document.querySelectorAll('[data-opinions] td.best').length === 2");
    browser.shot("analyse");
    let link = browser.eval("document.querySelector('[aria-label=\"Link to this position\"]').value");
    browser.open("about:blank");
    browser.open(link.as_str().unwrap());
    browser.until(&format!("document.querySelector('.board') && {BOARD} === 'a987123600120002'"));
    browser.until("document.querySelectorAll('[data-opinions] td.best').length === 2");
    // A cell is a button: it can be changed, and nonsense is told.
    browser.eval("document.querySelectorAll('section:not([hidden]) .cell')[8].click()");
    browser.until(&format!("{BOARD} === 'a987123610120002'"));
    browser.eval("(() => { const i = document.querySelector('[aria-label=\"Position in digits or tiles\"]'); i.value = '1024 3'; i.dispatchEvent(new Event('change')); })()");
    browser.until(
        "[...document.querySelectorAll('.notice.bad')].some((n) => !n.hidden && n.textContent.includes('board:'))",
    );
    let complaints = lab.browser.complaints();
    assert!(complaints.iter().all(|c| c.contains("400")), "{complaints:?}");
    lab.stop.stop();
}

/// An agent that cannot be asked says why in its own row; what the others think stays in sight.
#[test]
#[ignore = "needs Chromium: run scripts/test"]
fn an_agent_that_fails_hides_nothing() {
    let mut lab = Lab::new();
    let browser = lab.go(&format!("analyse?board={SLIPPERY}&agent=expectimax:eval=ntuple"));
    browser.until("document.querySelector('[data-opinions] td.error')");
    browser.until("document.querySelectorAll('[data-opinions] td.best').length === 2");
    let hidden = browser.eval("(() => { const edge = document.querySelector('[data-opinions]').parentElement.getBoundingClientRect().right + 1; return [...document.querySelectorAll('[data-opinions] td.best')].filter((e) => e.getBoundingClientRect().right > edge).length; })()");
    assert_eq!(hidden, 0);
    browser.shot("analyse-failed");
    let complaints = lab.browser.complaints();
    assert!(complaints.iter().all(|c| c.contains("400")), "{complaints:?}");
    lab.stop.stop();
}

/// Where the game is solved, perfect play judges unless others are chosen; elsewhere the champion or a search does.
#[test]
#[ignore = "needs Chromium: run scripts/test"]
fn small_boards_are_judged_by_perfect_play() {
    let mut lab = Lab::new();
    let first = "document.querySelector('[data-opinions] tbody tr')?.dataset.agent";
    let browser = lab.go("analyse?board=1002&size=2x2");
    browser.until(&format!("{first} === 'optimal' && document.querySelector('[data-opinions] td.best')"));
    // Another agent may answer first.
    browser.until("document.querySelector('section:not([hidden])').textContent.includes('exact')");
    browser.shot("analyse-small");
    let browser = lab.go("analyse?board=a987123600120002");
    browser.until(&format!("{first} === 'expectimax:depth=2,eval=champion'"));
    browser.until("document.querySelector('[data-opinions] td.best')");
    lab.finish();
}

#[test]
#[ignore = "needs Chromium: run scripts/test"]
fn an_evaluation_is_run_its_figures_read_and_its_games_reviewed() {
    let mut lab = Lab::new();
    let browser = lab.go("compare");
    browser.until("document.querySelector('.empty')");
    browser.shot("compare-empty");
    for agent in ["random", "greedy"] {
        browser.until("document.querySelector('section[aria-label=Compare] .agent-form select').options.length > 5");
        browser.eval(&format!("(() => {{ const s = document.querySelector('section[aria-label=Compare] .agent-form select'); s.value = '{agent}'; s.dispatchEvent(new Event('change')); }})()"));
        browser.push("Run evaluation");
        browser.until(&format!(
            "[...document.querySelectorAll('[data-standing=done] .name')].some((n) => n.textContent === '{agent}')"
        ));
    }
    browser.until("document.querySelectorAll('[data-figure] svg').length === 6");
    browser.until("!document.querySelector('[data-verdict]').hidden");
    let verdict = browser.text("[data-verdict]");
    assert!(verdict.contains("greedy scores"), "{verdict}");
    let mean = browser.text("[data-figure=mean]");
    assert!(mean.contains("random") && mean.contains("greedy"), "{mean}");
    browser.shot("compare");
    // A long one is cancelled.
    browser.eval("(() => { const s = document.querySelector('section[aria-label=Compare] .agent-form select'); s.value = 'expectimax'; s.dispatchEvent(new Event('change')); })()");
    browser.push("Run evaluation");
    browser.until("document.querySelector('[data-standing=running]')");
    // The list is drawn anew as games end; the keyboard stays on its button.
    browser.eval("(() => { const item = document.querySelector('[data-standing=running]'); item.dataset.old = ''; item.querySelector('button').focus(); })()");
    browser.until("document.querySelector('[data-standing=running]') && !document.querySelector('[data-old]')");
    assert_eq!(browser.eval("document.activeElement.textContent"), "Cancel");
    browser.push("Cancel");
    browser.until(
        "document.querySelector('[data-standing=cancelled]') && !document.querySelector('[data-standing=running]')",
    );
    // The games of the first one, move by move.
    browser.eval("[...document.querySelectorAll('a')].find((a) => a.textContent === 'Look at its games').click()");
    browser.until("document.querySelector('section[aria-label=Analyse]:not([hidden]) [data-done=true]')");
    browser.push("Next mistake");
    browser.until("document.querySelector('.mistakes [aria-current]')");
    let ply = browser.eval("document.querySelector('.mistakes [aria-current]').dataset.ply");
    let opinion = browser.text("section[aria-label=Analyse] [role=status]");
    assert!(opinion.contains("was worth") && opinion.contains("more"), "{opinion}");
    browser.push("Next mistake");
    browser.until(&format!("document.querySelector('.mistakes [aria-current]').dataset.ply !== {ply}"));
    let summary = browser.text("[data-summary]");
    assert!(summary.contains("accuracy") && summary.contains('%'), "{summary}");
    std::thread::sleep(Duration::from_millis(300));
    browser.shot("review");
    lab.finish();
}

#[test]
#[ignore = "needs Chromium: run scripts/test"]
fn runs_show_their_curves_as_they_grow() {
    let mut lab = Lab::new();
    let browser = lab.go("runs");
    browser.until("document.querySelector('[data-curve=mean_score] polyline')");
    browser.shot("runs");
    let points = browser
        .eval("document.querySelector('[data-curve=mean_score] polyline').getAttribute('points').split(' ').length");
    assert_eq!(points, 119);
    let metrics = lab.folder.path().join("runs/ntuple-1/metrics.jsonl");
    let more = fs::read_to_string(&metrics).unwrap() + "{\"step\":130000,\"games\":13000,\"mean_score\":50000}\n";
    fs::write(&metrics, more).unwrap();
    lab.browser.until(
        "document.querySelector('[data-curve=mean_score] polyline').getAttribute('points').split(' ').length === 120",
    );
    assert!(lab.browser.text("pre.config").contains("alpha = 0.1"));
    lab.browser.click("a[href*='ntuple-1']");
    lab.browser.until("Number(document.querySelector('.lane')?.dataset.moves) > 3");
    let playing = lab.browser.text(".lane .agent-form code.spec");
    assert_eq!(playing, "greedy:eval=ntuple@ntuple-1/000100.safetensors");
    assert_eq!(lab.browser.eval("document.querySelector('.lane .notice').hidden"), true);
    lab.browser.shot("checkpoint-played");
    lab.finish();
}

#[test]
#[ignore = "needs Chromium: run scripts/test"]
fn phones_swipe_and_nothing_is_wider_than_the_screen() {
    let mut lab = Lab::new();
    lab.browser.size(390, 844, true);
    for view in ["watch", "analyse", "compare", "runs", "play?seed=5"] {
        let browser = lab.go(view);
        if view == "watch" {
            browser.eval("[...document.querySelectorAll('.field.check input')].find((i) => i.closest('label').textContent.includes('Two agents')).click()");
        }
        std::thread::sleep(Duration::from_millis(500));
        browser.shot(&format!("phone-{}", view.split('?').next().unwrap()));
        let wide = browser.eval("[...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > 391 && !e.closest('.wide-table, .aside')).map((e) => e.outerHTML.slice(0, 120))");
        assert_eq!(wide.as_array().unwrap().len(), 0, "{view}: {wide}");
        assert_eq!(browser.eval("document.documentElement.scrollWidth"), 390, "{view}");
    }
    let browser = &mut lab.browser;
    browser.until("document.querySelectorAll('section:not([hidden]) .tile').length === 2");
    let at = browser.eval("(() => { const b = document.querySelector('section:not([hidden]) .board').getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })()");
    let (x, y) = (at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    for to in [(x - 120.0, y), (x, y + 120.0), (x + 120.0, y), (x, y - 120.0)] {
        browser.swipe((x, y), to);
        std::thread::sleep(Duration::from_millis(120));
    }
    assert!(moves(browser) >= 2);
    lab.finish();
}

#[test]
#[ignore = "needs Chromium: run scripts/test"]
fn dark_is_dark_and_can_be_chosen() {
    let mut lab = Lab::new();
    lab.browser.dark(true);
    let browser = lab.go("play?seed=5");
    let paper = |browser: &mut Chromium| {
        browser.eval("getComputedStyle(document.body).backgroundColor").as_str().unwrap().to_owned()
    };
    let dark = paper(browser);
    play_by_keys(browser, 8);
    std::thread::sleep(Duration::from_millis(300));
    browser.shot("dark-play");
    browser.click("#theme");
    assert_ne!(paper(browser), dark, "light was chosen");
    browser.click("#theme");
    assert_eq!(paper(browser), dark);
    for view in ["watch", "analyse", "compare", "runs"] {
        lab.go(view);
        std::thread::sleep(Duration::from_millis(700));
        lab.browser.shot(&format!("dark-{view}"));
    }
    lab.finish();
}

#[test]
#[ignore = "needs Chromium: run scripts/test"]
fn everything_can_be_reached_by_keys_and_has_a_name() {
    let mut lab = Lab::new();
    for view in ["play?seed=5", "watch", "analyse", "compare", "runs"] {
        let browser = lab.go(view);
        std::thread::sleep(Duration::from_millis(500));
        let nameless = browser.eval(
            "[...document.querySelectorAll('main section:not([hidden]) :is(button, input, select, textarea, a[href])')].filter((e) => !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim() || e.title)).map((e) => e.outerHTML)",
        );
        assert_eq!(nameless.as_array().unwrap().len(), 0, "{view}: {nameless}");
    }
    let browser = lab.go("play?seed=5");
    browser.until("document.querySelectorAll('section:not([hidden]) .tile').length === 2");
    // From the top of the page to New game and back to playing, without a mouse.
    browser.eval("document.activeElement.blur()");
    for _ in 0..30 {
        browser.press("Tab");
        if browser.eval("document.activeElement.textContent") == "New game" {
            break;
        }
    }
    assert_eq!(browser.eval("document.activeElement.textContent"), "New game");
    let before = browser.eval(BOARD);
    browser.press("Enter");
    browser.until(&format!("{BOARD} !== {before}"));
    play_by_keys(browser, 3);
    lab.finish();
}

/// Speed can only be judged on a machine that has little else to do.
fn is_quiet() -> bool {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().and_then(|load| load.parse::<f64>().ok()).is_some_and(|load| load < 3.0)
}

/// The claims about speed, measured: figures are printed with `--nocapture` and judged on a quiet machine.
#[test]
#[ignore = "needs Chromium: run scripts/test"]
fn keys_are_answered_within_a_frame_and_the_page_is_there_at_once() {
    let mut lab = Lab::new();
    let mut paints = Vec::new();
    for _ in 0..3 {
        lab.browser.open("about:blank");
        let browser = lab.go("play?seed=11");
        browser.until("document.querySelectorAll('.tile').length === 2");
        browser.until("performance.getEntriesByName('first-contentful-paint').length");
        let paint = browser.eval("performance.getEntriesByName('first-contentful-paint')[0].startTime");
        paints.push(paint.as_f64().unwrap());
    }
    let browser = &mut lab.browser;
    let bytes = browser.eval("Promise.all(performance.getEntriesByType('resource').map((e) => e.name).filter((n) => !n.includes('/api/')).concat(location.origin + '/').map(async (n) => (await (await fetch(n)).text()).length)).then((all) => all.reduce((a, b) => a + b, 0))");
    // From the key event to the moment when the changed board has been laid out and only waits to be painted; beside it the part of
    // that which is the page's own, without the browser's way to it.
    browser.eval("(() => { window.waits = []; window.own = []; const board = document.querySelector('.board'); let at = null; let began = 0; addEventListener('keydown', (e) => { at = e.timeStamp; began = performance.now(); }, true); new MutationObserver(() => { if (at !== null) { board.getBoundingClientRect(); const now = performance.now(); waits.push(now - at); own.push(now - began); at = null; } }).observe(board, { subtree: true, childList: true, attributes: true }); })()");
    for turn in 0..400 {
        browser.until(READY);
        browser.press(["ArrowLeft", "ArrowDown", "ArrowRight", "ArrowUp"][turn % 4]);
        if browser.eval("!document.querySelector('.veil').hidden") == true {
            browser.press("n");
            browser.until("document.querySelector('.veil').hidden && document.querySelectorAll('.tile').length === 2");
        }
    }
    let mut quantiles = |name: &str| {
        let sorted = browser.eval(&format!("{name}.sort((a, b) => a - b)"));
        let sorted: Vec<f64> = sorted.as_array().unwrap().iter().filter_map(serde_json::Value::as_f64).collect();
        assert!(sorted.len() > 100, "{} keys were answered", sorted.len());
        [0.5, 0.9, 0.99].map(|share| sorted[((sorted.len() - 1) as f64 * share) as usize])
    };
    let (whole, own) = (quantiles("waits"), quantiles("own"));
    println!("first paint {paints:.0?} ms, page {bytes} bytes");
    println!("key to board, median, p90 and p99: {whole:.1?} ms, of which the page's own {own:.1?} ms");
    if is_quiet() {
        assert!(whole[1] < 16.0, "{whole:?} {own:?}");
        assert!(paints.iter().any(|paint| *paint < 300.0), "first paint {paints:?} ms");
    }
    assert!(bytes.as_f64().unwrap() < 300_000.0);
    // Watching at full speed: boards that reach the screen, in a second.
    // An agent whose game lasts longer than the measurement.
    let browser = lab.go("watch?agent=expectimax:ms=5");
    browser.until("document.querySelector('.lane')?.dataset.shown");
    browser.eval("(() => { const s = document.querySelector('section[aria-label=Watch] input[type=range]'); s.value = 6; s.dispatchEvent(new Event('input')); })()");
    let shown = browser.eval("new Promise((done) => { const lane = document.querySelector('.lane'); setTimeout(() => { const [n, t] = [Number(lane.dataset.shown), performance.now()]; setTimeout(() => done((1000 * (Number(lane.dataset.shown) - n)) / (performance.now() - t)), 2000); }, 500); })");
    println!("watching at full speed: {:.1} boards a second on the screen", shown.as_f64().unwrap());
    assert!(shown.as_f64().unwrap() > if is_quiet() { 15.0 } else { 0.0 }, "{shown} boards a second");
    lab.finish();
}
