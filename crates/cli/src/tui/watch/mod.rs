//! `watch` on the whole screen: an agent plays, the keys set the pace.

mod desk;
mod view;
mod worker;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use afterstate_agent::BoxedAgent;
use afterstate_arena::{PlayError, Setup};
use afterstate_board::Position;
use anyhow::anyhow;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent};

use self::desk::{Control, Desk, Moment};
use self::view::View;
use super::palette::Palette;
use super::panel::grouped;
use super::scene;
use super::screen::{self, App, Flow};
use super::speed::Speed;
use super::text;

/// More steps than this are not kept waiting while a slow agent thinks.
const MOST_STEPS: u32 = 2;
/// The measured speed is renewed so often.
const METER_PERIOD: Duration = Duration::from_millis(500);
/// Longer thoughts are timed on the screen.
const LONG_THOUGHT: Duration = Duration::from_millis(300);

/// Plays on the whole screen until the user quits. Returns the last game in one line.
pub fn run<P: Position>(
    agent: BoxedAgent<P>,
    setup: Setup,
    game: u64,
    speed: Speed,
    color: bool,
) -> anyhow::Result<String> {
    let mut app = Watch::start(agent, setup, game, speed, Palette::detect(color))?;
    screen::run(&mut app, color)?;
    // A worker that still thinks is left behind: the process ends without waiting for it.
    Ok(app.summary())
}

/// The command's state on the screen's side.
struct Watch<P: Position> {
    desk: Arc<Desk<P>>,
    worker: Option<JoinHandle<Result<(), PlayError>>>,
    control: Control,
    moment: Moment<P>,
    meter: Meter,
    label: String,
    unit: &'static str,
    seed: u64,
    is_helping: bool,
    palette: Palette,
}

impl<P: Position> Watch<P> {
    fn start(agent: BoxedAgent<P>, setup: Setup, game: u64, speed: Speed, palette: Palette) -> anyhow::Result<Self> {
        let (label, seed, unit) = (setup.agent.clone(), setup.seed, agent.unit());
        let control = Control::new(speed);
        let desk = Arc::new(Desk::new(control, game));
        let worker = Some(worker::start(agent, setup, Arc::clone(&desk))?);
        let (moment, meter) = (Moment::new(game), Meter::new());
        Ok(Self { desk, worker, control, moment, meter, label, unit, seed, is_helping: false, palette })
    }

    fn ask(&mut self, change: impl FnOnce(&mut Control, &Moment<P>)) {
        self.desk.ask(change);
    }

    fn act(&mut self, code: KeyCode) -> Flow {
        match code {
            KeyCode::Char('q' | 'Q') | KeyCode::Esc => return Flow::Quit,
            KeyCode::Char('?') => self.is_helping = true,
            KeyCode::Char(' ' | 'p') => self.ask(|control, _| {
                control.is_paused = !control.is_paused;
                control.steps = 0;
            }),
            KeyCode::Char('n') | KeyCode::Right => self.ask(|control, moment| {
                control.is_paused = true;
                control.steps = if moment.is_over { 0 } else { (control.steps + 1).min(MOST_STEPS) };
            }),
            KeyCode::Char('+' | '=') | KeyCode::Up => self.ask(|control, _| control.speed = control.speed.faster()),
            KeyCode::Char('-' | '_') | KeyCode::Down => self.ask(|control, _| control.speed = control.speed.slower()),
            KeyCode::Char('r' | 'R') => self.ask(|control, moment| {
                let present = control.next_game.unwrap_or(moment.game);
                control.next_game = Some(present.wrapping_add(1));
                control.steps = 0;
            }),
            _ => {}
        }
        Flow::Stay
    }

    fn summary(&self) -> String {
        let Moment { game, score, moves, position, .. } = &self.moment;
        let (score, moves, tile) = (grouped(*score), text::moves(*moves), text::max_tile(position));
        format!("{}, seed {}, game {game}: score {score}, {moves}, max tile {tile}", self.label, self.seed)
    }

    /// The worker only ends before us if something went wrong.
    fn check_worker(&mut self) -> anyhow::Result<()> {
        match self.worker.take_if(|worker| worker.is_finished()).map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => Ok(()),
            Some(Ok(Err(error))) => Err(error.into()),
            Some(Err(panic)) => Err(anyhow!("agent {} failed: {}", self.label, screen::panic_text(&*panic))),
        }
    }
}

impl<P: Position> Drop for Watch<P> {
    fn drop(&mut self) {
        self.desk.ask(|control, _| control.is_quitting = true);
    }
}

impl<P: Position> App for Watch<P> {
    fn key(&mut self, key: KeyEvent) -> Flow {
        if std::mem::take(&mut self.is_helping) {
            return Flow::Stay;
        }
        self.act(key.code)
    }

    fn tick(&mut self) -> anyhow::Result<bool> {
        self.check_worker()?;
        let version = self.moment.version;
        (self.control, self.moment) = self.desk.look();
        let is_playing = !self.moment.is_over && !self.control.is_paused;
        let has_news = self.meter.read(self.moment.total_moves, Instant::now(), is_playing);
        let is_timed = self.moment.thinking.is_some_and(|since| since.elapsed() > LONG_THOUGHT);
        Ok(has_news || is_timed || self.moment.version != version)
    }

    fn draw(&self, frame: &mut Frame) {
        let view = View {
            moment: &self.moment,
            control: &self.control,
            label: &self.label,
            unit: self.unit,
            seed: self.seed,
            rate: self.meter.rate,
            is_helping: self.is_helping,
            palette: self.palette,
        };
        scene::draw(frame, self.palette, view.scene());
    }
}

/// Measures the moves a second.
struct Meter {
    since: Instant,
    moves: u64,
    rate: Option<f64>,
}

impl Meter {
    fn new() -> Self {
        Self { since: Instant::now(), moves: 0, rate: None }
    }

    /// Takes note of the number of moves so far; true if the rate is new. While nothing is played the last rate stays.
    fn read(&mut self, moves: u64, now: Instant, is_playing: bool) -> bool {
        let elapsed = now.saturating_duration_since(self.since);
        if is_playing && elapsed < METER_PERIOD {
            return false;
        }
        let made = moves.saturating_sub(self.moves);
        let measured = Some(made as f64 / elapsed.as_secs_f64()).filter(|rate| rate.is_finite());
        let rate = if is_playing || made > 0 { measured } else { self.rate };
        let is_new = rate != self.rate;
        *self = Self { since: now, moves, rate };
        is_new
    }
}

#[cfg(test)]
mod tests {
    use ratatui::crossterm::event::KeyModifiers;

    use super::super::palette::Depth;
    use super::super::scene::tests::screen;
    use super::worker::tests::{First, Small, setup, until};
    use super::*;

    fn watch() -> Watch<Small> {
        let mut watch =
            Watch::start(Box::new(First), setup(), 0, "1".parse().unwrap(), Palette::new(Depth::Plain)).unwrap();
        press(&mut watch, KeyCode::Char(' '));
        watch
    }

    fn press(watch: &mut Watch<Small>, code: KeyCode) -> Flow {
        watch.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn keys_ask_for_what_they_say() {
        let mut watch = watch();
        assert!(watch.desk.look().0.is_paused);
        press(&mut watch, KeyCode::Char('+'));
        assert_eq!(watch.desk.look().0.speed, "2".parse().unwrap());
        press(&mut watch, KeyCode::Char('-'));
        press(&mut watch, KeyCode::Char('-'));
        assert_eq!(watch.desk.look().0.speed, "1".parse().unwrap());
        press(&mut watch, KeyCode::Char('n'));
        until(&watch.desk, |m| m.moves == 1);
        press(&mut watch, KeyCode::Char('r'));
        until(&watch.desk, |m| m.game == 1 && m.moves == 0);
        for quit in [KeyCode::Esc, KeyCode::Char('q')] {
            assert_eq!(press(&mut watch, quit), Flow::Quit);
        }
    }

    #[test]
    fn any_key_closes_the_help_and_does_nothing_else() {
        let mut watch = watch();
        press(&mut watch, KeyCode::Char('?'));
        assert!(watch.is_helping);
        assert_eq!(press(&mut watch, KeyCode::Char('q')), Flow::Stay);
        assert!(!watch.is_helping);
    }

    #[test]
    fn a_whole_screen_is_drawn() {
        let mut watch = watch();
        until(&watch.desk, |m| m.thought.is_some());
        watch.tick().unwrap();
        let text = screen(80, 24, |frame| watch.draw(frame));
        for part in
            ["afterstate watch", "first", "2x2", "seed 1", "paused", "Score", "Max tile", "left", "down", "? keys"]
        {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }

    #[test]
    fn an_agent_that_panics_is_reported() {
        struct Broken;
        impl<P: Position> afterstate_agent::Agent<P> for Broken {
            fn decide(
                &mut self,
                _: &P,
                _: &afterstate_agent::Budget,
                _: &mut afterstate_board::Rng,
            ) -> afterstate_agent::Decision {
                panic!("out of ideas")
            }

            fn unit(&self) -> &'static str {
                "nothing"
            }
        }
        let palette = Palette::new(Depth::Plain);
        let mut watch = Watch::<Small>::start(Box::new(Broken), setup(), 0, Speed::FULL, palette).unwrap();
        let began = Instant::now();
        let error = loop {
            if let Err(error) = watch.tick() {
                break error;
            }
            assert!(began.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(1));
        };
        assert_eq!(error.to_string(), "agent first failed: out of ideas");
    }

    #[test]
    fn the_meter_measures() {
        let mut meter = Meter::new();
        let began = meter.since;
        assert!(!meter.read(5, began + Duration::from_millis(100), true));
        assert!(meter.read(10, began + Duration::from_secs(1), true));
        assert_eq!(meter.rate, Some(10.0));
        assert!(meter.read(10, began + Duration::from_secs(2), true));
        assert_eq!(meter.rate, Some(0.0));
        // The end of a game, and the silence after it.
        assert!(meter.read(30, began + Duration::from_millis(2100), false));
        assert!(!meter.read(30, began + Duration::from_secs(9), false));
        assert_eq!(meter.rate.map(f64::round), Some(200.0));
    }
}
