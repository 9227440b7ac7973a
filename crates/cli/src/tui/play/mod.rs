//! `play` on the whole screen: a person plays, an agent gives hints when asked.

pub mod best;
pub mod lines;
pub mod state;
pub mod thinker;
mod view;

use std::time::{Duration, Instant};

use afterstate_agent::{BoxedAgent, Decision};
use afterstate_arena::stream;
use afterstate_board::{Direction, Position, Rng};
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent};

use self::state::{Moved, State};
use self::thinker::{Answer, Thinker};
use super::palette::Palette;
use super::scene;
use super::screen::{self, App, Flow};

/// A new best is written so often at most while the game goes on: closing the window loses little.
const SAVE_PERIOD: Duration = Duration::from_secs(3);

/// Lets a person play on the whole screen.
pub fn run<P: Position>(
    state: &mut State<P>,
    hint_agent: BoxedAgent<P>,
    label: &str,
    color: bool,
) -> anyhow::Result<()> {
    let mut app = Play::start(state, hint_agent, label, Palette::detect(color))?;
    screen::run(&mut app, color)
}

/// A remark about the last key.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Note {
    None,
    Illegal(Direction),
    Goal(u64),
    NothingToUndo,
    NothingToRedo,
    ConfirmNew,
    HintsFailed,
}

struct Play<'a, P: Position> {
    state: &'a mut State<P>,
    thinker: Thinker<P>,
    hint: Option<Decision>,
    /// Hints without asking.
    is_coached: bool,
    unit: &'static str,
    label: String,
    note: Note,
    is_helping: bool,
    saved: Instant,
    palette: Palette,
}

impl<'a, P: Position> Play<'a, P> {
    fn start(
        state: &'a mut State<P>,
        hint_agent: BoxedAgent<P>,
        label: &str,
        palette: Palette,
    ) -> anyhow::Result<Self> {
        let unit = hint_agent.unit();
        let thinker = Thinker::start(hint_agent, Rng::stream(state.seed(), state.game(), stream::AGENT))?;
        let (label, note, saved) = (label.to_owned(), Note::None, Instant::now());
        Ok(Self { state, thinker, hint: None, is_coached: false, unit, label, note, is_helping: false, saved, palette })
    }

    fn act(&mut self, code: KeyCode) -> Flow {
        let last_note = std::mem::replace(&mut self.note, Note::None);
        if let Some(direction) = direction_of(code) {
            self.slide(direction);
            return Flow::Stay;
        }
        match code {
            KeyCode::Char('q' | 'Q') | KeyCode::Esc => return Flow::Quit,
            KeyCode::Char('i' | '?') => self.is_helping = true,
            KeyCode::Char('u' | 'U') | KeyCode::Backspace => {
                let is_done = self.state.undo();
                self.moved_or(is_done, Note::NothingToUndo);
            }
            KeyCode::Char('y' | 'Y') => {
                let is_done = self.state.redo();
                self.moved_or(is_done, Note::NothingToRedo);
            }
            KeyCode::Char('t' | 'H') => self.ask_hint(),
            KeyCode::Char('T') => {
                self.is_coached = !self.is_coached;
                self.position_changed();
            }
            KeyCode::Char('n' | 'N') => self.new_game(last_note == Note::ConfirmNew),
            _ => {}
        }
        Flow::Stay
    }

    fn slide(&mut self, direction: Direction) {
        match self.state.slide(direction) {
            Moved::Yes => self.position_changed(),
            Moved::Goal => {
                self.note = Note::Goal(1 << state::goal::<P>());
                self.position_changed();
            }
            Moved::Illegal => self.note = Note::Illegal(direction),
            Moved::Over => {}
        }
    }

    fn moved_or(&mut self, is_done: bool, note: Note) {
        if is_done {
            self.position_changed();
        } else {
            self.note = note;
        }
    }

    /// A game in progress is only given up on a second press.
    fn new_game(&mut self, is_confirmed: bool) {
        let is_begun = !self.state.live().steps().is_empty() && !self.state.live().is_over();
        if is_begun && !is_confirmed {
            self.note = Note::ConfirmNew;
            return;
        }
        self.save();
        self.state.new_game();
        self.position_changed();
    }

    fn position_changed(&mut self) {
        self.hint = None;
        self.thinker.forget();
        if self.is_coached {
            self.ask_hint();
        }
    }

    fn ask_hint(&mut self) {
        if self.hint.is_none() && !self.state.live().is_over() {
            self.thinker.ask(*self.state.live().position());
        }
    }

    fn save(&mut self) {
        // Not worth a word to the player; the end of the command tries once more and reports it.
        let _ = self.state.best_mut().save();
        self.saved = Instant::now();
    }
}

/// Arrows, WASD and the keys of vi. The capital H is a hint.
fn direction_of(code: KeyCode) -> Option<Direction> {
    Some(match code {
        KeyCode::Left | KeyCode::Char('a' | 'A' | 'h') => Direction::Left,
        KeyCode::Right | KeyCode::Char('d' | 'D' | 'l' | 'L') => Direction::Right,
        KeyCode::Up | KeyCode::Char('w' | 'W' | 'k' | 'K') => Direction::Up,
        KeyCode::Down | KeyCode::Char('s' | 'S' | 'j' | 'J') => Direction::Down,
        _ => return None,
    })
}

impl<P: Position> App for Play<'_, P> {
    fn key(&mut self, key: KeyEvent) -> Flow {
        if std::mem::take(&mut self.is_helping) {
            return Flow::Stay;
        }
        self.act(key.code)
    }

    fn tick(&mut self) -> anyhow::Result<bool> {
        if self.saved.elapsed() > SAVE_PERIOD {
            self.save();
        }
        match self.thinker.poll() {
            Answer::Nothing => return Ok(false),
            Answer::Found(decision) => self.hint = Some(decision),
            Answer::Failed => {
                self.is_coached = false;
                self.note = Note::HintsFailed;
            }
        }
        Ok(true)
    }

    fn draw(&self, frame: &mut Frame) {
        scene::draw(frame, self.palette, view::scene(self));
    }
}

#[cfg(test)]
mod tests {
    use afterstate_agent::{Context, build_from_text};
    use afterstate_board::{Board, Grid, SpawnRule};
    use ratatui::crossterm::event::KeyModifiers;

    use super::super::palette::Depth;
    use super::super::scene::tests::screen;
    use super::*;

    fn play<P: Position>(state: &mut State<P>) -> Play<'_, P> {
        let agent = build_from_text("greedy", &Context { rule: SpawnRule::CLASSIC }).unwrap();
        Play::start(state, agent, "greedy", Palette::new(Depth::Plain)).unwrap()
    }

    fn press<P: Position>(play: &mut Play<'_, P>, keys: &str) {
        for key in keys.chars() {
            play.key(KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE));
        }
    }

    fn picture<P: Position>(play: &Play<'_, P>) -> String {
        screen(80, 24, |frame| play.draw(frame))
    }

    #[test]
    fn three_sets_of_keys_mean_the_same() {
        let arrows = [KeyCode::Left, KeyCode::Right, KeyCode::Up, KeyCode::Down];
        for (arrow, letters) in arrows.into_iter().zip(["ah", "dl", "wk", "sj"]) {
            for letter in letters.chars() {
                assert_eq!(direction_of(KeyCode::Char(letter)), direction_of(arrow));
            }
        }
        assert_eq!(direction_of(KeyCode::Char('H')), None);
    }

    #[test]
    fn a_new_game_wants_a_second_press_unless_nothing_is_lost() {
        let mut state = state::tests::state::<Board>();
        let mut play = play(&mut state);
        press(&mut play, "n");
        assert_eq!(play.state.game(), 1);
        press(&mut play, "lkjhn");
        assert_eq!((play.state.game(), &play.note), (1, &Note::ConfirmNew));
        assert!(picture(&play).contains("Press n again"));
        press(&mut play, "un");
        assert_eq!(play.state.game(), 1);
        press(&mut play, "n");
        assert_eq!(play.state.game(), 2);
    }

    #[test]
    fn hints_come_and_go_with_the_position() {
        let mut state = state::tests::state::<Board>();
        let mut play = play(&mut state);
        let wait = |play: &mut Play<'_, Board>| {
            let began = Instant::now();
            while play.hint.is_none() {
                assert!(began.elapsed() < Duration::from_secs(20));
                play.tick().unwrap();
            }
        };
        press(&mut play, "t");
        wait(&mut play);
        assert!(picture(&play).contains("> "));
        press(&mut play, "lkj");
        assert!(play.hint.is_none());
        press(&mut play, "T");
        wait(&mut play);
        press(&mut play, "u");
        wait(&mut play);
        press(&mut play, "T");
        assert!(play.hint.is_none() && !play.thinker.is_thinking());
    }

    #[test]
    fn remarks_are_gentle_and_gone_with_the_next_key() {
        let mut state = state::tests::state::<Board>();
        let mut play = play(&mut state);
        press(&mut play, "u");
        assert!(picture(&play).contains("nothing to undo"));
        press(&mut play, "y");
        assert!(picture(&play).contains("nothing to redo"));
        press(&mut play, "aaaaaaaaaaaa");
        while play.state.slide(Direction::Left) == Moved::Yes {}
        press(&mut play, "a");
        assert!(picture(&play).contains("left changes nothing"), "{}", picture(&play));
        press(&mut play, "x");
        assert!(!picture(&play).contains("changes nothing"));
    }

    #[test]
    fn the_end_is_announced_and_can_be_undone() {
        let mut state = state::tests::state::<Grid<2, 2>>();
        let mut play = play(&mut state);
        for _ in 0..50 {
            press(&mut play, "hjkl");
        }
        assert!(picture(&play).contains("Game over"));
        press(&mut play, "u");
        assert!(!picture(&play).contains("Game over"));
        press(&mut play, "i");
        assert!(picture(&play).contains("undo"));
    }
}
