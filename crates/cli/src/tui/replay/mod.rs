//! `replay` on the whole screen: a recorded game, forwards and backwards.

pub mod film;
mod view;

use std::time::Instant;

use afterstate_arena::Game;
use afterstate_board::Position;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent};

use self::film::Film;
use super::palette::Palette;
use super::scene;
use super::screen::{self, App, Flow};
use super::speed::Speed;

/// Moves of a large step.
const LEAP: isize = 10;

/// Shows recorded games, beginning with move `at` of the game in place `number` of the list, which must not be empty.
pub fn run<P: Position>(
    games: &[Game<P>],
    number: usize,
    at: usize,
    title: &str,
    speed: Speed,
    color: bool,
) -> anyhow::Result<()> {
    let mut app = Replay::new(games, number, title, speed, Palette::detect(color));
    app.film.seek(at);
    screen::run(&mut app, color)
}

struct Replay<'a, P> {
    games: &'a [Game<P>],
    number: usize,
    film: Film<'a, P>,
    title: &'a str,
    speed: Speed,
    is_playing: bool,
    last_tick: Instant,
    is_helping: bool,
    palette: Palette,
}

impl<'a, P: Position> Replay<'a, P> {
    fn new(games: &'a [Game<P>], number: usize, title: &'a str, speed: Speed, palette: Palette) -> Self {
        let film = Film::new(&games[number]);
        let last_tick = Instant::now();
        Self { games, number, film, title, speed, is_playing: false, last_tick, is_helping: false, palette }
    }

    fn act(&mut self, code: KeyCode) -> Flow {
        match code {
            KeyCode::Char('q' | 'Q') | KeyCode::Esc => return Flow::Quit,
            KeyCode::Char('?') => self.is_helping = true,
            KeyCode::Right | KeyCode::Char('l' | 'n') => self.step(1),
            KeyCode::Left | KeyCode::Char('h') => self.step(-1),
            KeyCode::PageDown => self.step(LEAP),
            KeyCode::PageUp => self.step(-LEAP),
            KeyCode::Home | KeyCode::Char('g') => self.step(isize::MIN),
            KeyCode::End | KeyCode::Char('G') => self.step(isize::MAX),
            KeyCode::Down | KeyCode::Char(']') => self.show((self.number + 1).min(self.games.len() - 1)),
            KeyCode::Up | KeyCode::Char('[') => self.show(self.number.saturating_sub(1)),
            KeyCode::Char(' ' | 'p') => self.toggle(),
            KeyCode::Char('+' | '=') => self.speed = self.speed.faster(),
            KeyCode::Char('-' | '_') => self.speed = self.speed.slower(),
            _ => {}
        }
        Flow::Stay
    }

    fn step(&mut self, moves: isize) {
        self.is_playing = false;
        self.film.step(moves);
    }

    fn show(&mut self, number: usize) {
        if number != self.number {
            self.number = number;
            self.film = Film::new(&self.games[number]);
        }
    }

    /// At the end there is nothing left to play: the game begins again.
    fn toggle(&mut self) {
        self.is_playing = !self.is_playing;
        self.last_tick = Instant::now();
        if self.is_playing && self.film.is_at_end() {
            self.film.seek(0);
        }
    }

    fn play_until(&mut self, now: Instant) -> bool {
        let time = now.saturating_duration_since(self.last_tick);
        self.last_tick = now;
        if !self.is_playing {
            return false;
        }
        let has_moved = self.film.advance(time, self.speed);
        self.is_playing = !self.film.is_at_end();
        has_moved || !self.is_playing
    }
}

impl<P: Position> App for Replay<'_, P> {
    fn key(&mut self, key: KeyEvent) -> Flow {
        if std::mem::take(&mut self.is_helping) {
            return Flow::Stay;
        }
        self.act(key.code)
    }

    fn tick(&mut self) -> anyhow::Result<bool> {
        Ok(self.play_until(Instant::now()))
    }

    fn draw(&self, frame: &mut Frame) {
        let still = self.film.still();
        scene::draw(frame, self.palette, view::scene(self, &still));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use afterstate_board::Board;
    use ratatui::crossterm::event::KeyModifiers;

    use super::super::palette::Depth;
    use super::super::scene::tests::screen;
    use super::film::tests::game;
    use super::*;

    fn games() -> Vec<Game<Board>> {
        (0..3).map(game).collect()
    }

    fn replay(games: &[Game<Board>]) -> Replay<'_, Board> {
        Replay::new(games, 0, "games.bin", "10".parse().unwrap(), Palette::new(Depth::Plain))
    }

    fn press(replay: &mut Replay<'_, Board>, codes: &[KeyCode]) {
        for &code in codes {
            replay.key(KeyEvent::new(code, KeyModifiers::NONE));
        }
    }

    #[test]
    fn keys_move_about_in_the_game_and_in_the_file() {
        let games = games();
        let mut replay = replay(&games);
        press(&mut replay, &[KeyCode::Left, KeyCode::Right, KeyCode::Right, KeyCode::PageDown, KeyCode::Left]);
        assert_eq!(replay.film.at(), 11);
        press(&mut replay, &[KeyCode::PageUp, KeyCode::PageUp]);
        assert_eq!(replay.film.at(), 0);
        press(&mut replay, &[KeyCode::End]);
        assert!(replay.film.is_at_end());
        press(&mut replay, &[KeyCode::Up]);
        assert!(replay.film.is_at_end(), "there is no game before the first");
        press(&mut replay, &[KeyCode::Down, KeyCode::Char(']'), KeyCode::Char(']')]);
        assert_eq!((replay.number, replay.film.at(), replay.film.game.index), (2, 0, 2));
    }

    #[test]
    fn it_plays_by_itself_until_the_end_and_then_from_the_start() {
        let games = games();
        let mut replay = replay(&games);
        press(&mut replay, &[KeyCode::Char(' ')]);
        let began = replay.last_tick;
        assert!(replay.play_until(began + Duration::from_millis(250)));
        assert_eq!(replay.film.at(), 2);
        press(&mut replay, &[KeyCode::Char(' ')]);
        assert!(!replay.play_until(began + Duration::from_secs(9)));
        press(&mut replay, &[KeyCode::Char(' ')]);
        let began = replay.last_tick;
        assert!(replay.play_until(began + Duration::from_secs(900)));
        assert!(replay.film.is_at_end() && !replay.is_playing);
        press(&mut replay, &[KeyCode::Char(' ')]);
        assert_eq!((replay.film.at(), replay.is_playing), (0, true));
    }

    #[test]
    fn a_whole_screen_is_drawn() {
        let mut games = games();
        games[0].steps[20].spawn.exponent = 0;
        let mut replay = replay(&games);
        press(&mut replay, &[KeyCode::Right]);
        let draw = |replay: &Replay<'_, Board>| screen(80, 24, |frame| replay.draw(frame));
        for part in ["games.bin", "4x4", "Game", "1 of 3", "Move", "1 of 20", "Score", "at row", "? keys"] {
            assert!(draw(&replay).contains(part), "{part} is missing in\n{}", draw(&replay));
        }
        press(&mut replay, &[KeyCode::End]);
        assert!(draw(&replay).contains("breaks off"), "{}", draw(&replay));
    }
}
