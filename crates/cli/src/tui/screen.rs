//! The terminal while it is ours: taken over, read, drawn to, and given back whatever happens.

use std::io::{self, Stdout, stdout};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{panic, process, thread};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};
use ratatui::crossterm::{cursor, execute, style};
use ratatui::{Frame, Terminal};

use crate::interrupt;

/// The name of threads whose panics the interface reports itself, once the terminal is back.
pub const THINKER: &str = "thinker";

/// At most about 30 frames a second.
const FRAME: Duration = Duration::from_millis(33);
/// A flood of events must not keep the screen from being drawn.
const EVENTS_A_FRAME: usize = 64;
/// The main loop ends within this time when asked to, if it still runs.
const GRACE: Duration = Duration::from_millis(500);

/// Does the command go on?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Stay,
    Quit,
}

/// A full-screen command.
pub trait App {
    /// A key was pressed. Ctrl-C never gets here: it always quits.
    fn key(&mut self, key: KeyEvent) -> Flow;

    /// Called before each frame; true if there is something new to draw.
    fn tick(&mut self) -> anyhow::Result<bool>;

    /// Draws the present moment.
    fn draw(&self, frame: &mut Frame);
}

/// Runs a command on the whole screen until it quits.
pub fn run(app: &mut impl App, color: bool) -> anyhow::Result<()> {
    style::force_color_output(color);
    // A request to end the process quits like a key does. Without a handler it would leave the terminal unusable.
    let _ = interrupt::flag();
    let mut screen = Screen::open()?;
    let mut is_stale = true;
    while !interrupt::requested() {
        is_stale |= app.tick()?;
        if is_stale {
            screen.terminal.draw(|frame| app.draw(frame))?;
            is_stale = false;
        }
        let mut wait = FRAME;
        for _ in 0..EVENTS_A_FRAME {
            if !event::poll(wait)? {
                break;
            }
            wait = Duration::ZERO;
            is_stale = true;
            match event::read()? {
                Event::Key(key) if key.kind == KeyEventKind::Release => {}
                Event::Key(key) if is_interrupt(key) => return Ok(()),
                // No command has such keys, and Ctrl-D must not count as D.
                Event::Key(key) if key.modifiers.intersects(KeyModifiers::CONTROL.union(KeyModifiers::ALT)) => {}
                Event::Key(key) if app.key(key) == Flow::Quit => return Ok(()),
                _ => {}
            }
        }
    }
    Ok(())
}

fn is_interrupt(key: KeyEvent) -> bool {
    key.modifiers.contains(KeyModifiers::CONTROL) && matches!(key.code, KeyCode::Char('c' | 'C'))
}

/// True while the terminal is in our hands.
static OPEN: AtomicBool = AtomicBool::new(false);

struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    fn open() -> io::Result<Self> {
        restore_on_panic();
        OPEN.store(true, Ordering::SeqCst);
        let opened = Self::take_over();
        match opened {
            Ok(_) => end_when_hung_up(),
            Err(_) => restore(),
        }
        opened
    }

    fn take_over() -> io::Result<Self> {
        enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen, cursor::Hide)?;
        Ok(Self { terminal: Terminal::new(CrosstermBackend::new(stdout()))? })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back, if we have it. Errors are ignored: there is no terminal left to report them on.
pub fn restore() {
    if OPEN.swap(false, Ordering::SeqCst) {
        let _ = disable_raw_mode();
        let _ = execute!(stdout(), LeaveAlternateScreen, cursor::Show);
    }
}

/// The library that reads keys never returns once the terminal is gone (a closed window): then the process ends here. Nothing
/// is drawn any more, since the main thread may hold standard output.
fn end_when_hung_up() {
    let watch = || {
        while OPEN.load(Ordering::SeqCst) {
            thread::sleep(GRACE);
            if interrupt::requested() {
                thread::sleep(GRACE);
                if OPEN.load(Ordering::SeqCst) {
                    let _ = disable_raw_mode();
                    process::exit(130);
                }
            }
        }
    };
    // Without the thread all works, but for that case.
    let _ = thread::Builder::new().name("hang-up".to_owned()).spawn(watch);
}

fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let is_ours = thread::current().name() == Some(THINKER) && OPEN.load(Ordering::SeqCst);
            if !is_ours {
                restore();
                previous(info);
            }
        }));
    });
}

/// What a panicked thread had to say.
pub fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no reason given".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_c_is_told_from_c() {
        assert!(is_interrupt(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
        assert!(!is_interrupt(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::NONE)));
        assert!(!is_interrupt(KeyEvent::new(KeyCode::Char('x'), KeyModifiers::CONTROL)));
    }

    #[test]
    fn restoring_a_terminal_we_do_not_have_does_nothing() {
        restore();
        restore();
    }

    #[test]
    fn panics_are_quoted() {
        assert_eq!(panic_text(&"why"), "why");
        assert_eq!(panic_text(&"why".to_owned()), "why");
        assert_eq!(panic_text(&1), "no reason given");
    }
}
