//! A recorded game unrolled: every position with its score, and a place in it to look at.

use std::time::Duration;

use afterstate_arena::{Game, Step};
use afterstate_board::Position;

use crate::tui::speed::Speed;

/// As fast as it goes: a game of thousands of moves should still take some seconds.
const FULL_SPEED: f64 = 1000.0;

/// One position of the game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Still<P> {
    pub position: P,
    pub score: u64,
}

/// A game, unrolled.
pub struct Film<'a, P> {
    pub game: &'a Game<P>,
    /// The start, and the position after each move.
    stills: Vec<Still<P>>,
    /// Why the record cannot be followed to its end.
    pub fault: Option<String>,
    at: usize,
    /// Moves due but not yet shown, less than one.
    due: f64,
}

impl<'a, P: Position> Film<'a, P> {
    pub fn new(game: &'a Game<P>) -> Self {
        let mut stills = vec![Still { position: game.start, score: 0 }];
        let (mut score, mut fault) = (0, None);
        for ply in game.plies() {
            match ply {
                Ok(ply) => {
                    score += u64::from(ply.reward);
                    stills.push(Still { position: ply.position, score });
                }
                Err(error) => fault = Some(error.to_string()),
            }
        }
        Self { game, stills, fault, at: 0, due: 0.0 }
    }

    /// How many moves have been made where we look.
    pub const fn at(&self) -> usize {
        self.at
    }

    /// The number of the last move.
    pub fn end(&self) -> usize {
        self.stills.len() - 1
    }

    pub fn is_at_end(&self) -> bool {
        self.at == self.end()
    }

    /// What is to be seen here.
    pub fn still(&self) -> Still<P> {
        self.stills[self.at]
    }

    /// The move that led here.
    pub fn last_step(&self) -> Option<Step> {
        self.game.steps.get(self.at.checked_sub(1)?).copied()
    }

    /// The move that leads on.
    pub fn next_step(&self) -> Option<Step> {
        if self.is_at_end() { None } else { self.game.steps.get(self.at).copied() }
    }

    /// The points of the move that led here.
    pub fn reward(&self) -> u64 {
        let before = self.at.checked_sub(1).map_or(0, |before| self.stills[before].score);
        self.still().score - before
    }

    /// Goes to a move, or to the end if there are fewer.
    pub fn seek(&mut self, at: usize) {
        self.at = at.min(self.end());
        self.due = 0.0;
    }

    /// Goes so many moves on, or back, as far as there are any.
    pub fn step(&mut self, moves: isize) {
        self.seek(self.at.saturating_add_signed(moves));
    }

    /// Plays on for that time; true if there was anything to play.
    pub fn advance(&mut self, time: Duration, speed: Speed) -> bool {
        let due = self.due + time.as_secs_f64() * speed.per_second().unwrap_or(FULL_SPEED);
        let moves = due as usize;
        if moves > 0 {
            self.seek(self.at.saturating_add(moves));
        }
        self.due = due.fract();
        moves > 0
    }
}

#[cfg(test)]
pub mod tests {
    use afterstate_arena::Live;
    use afterstate_board::{Board, SpawnRule};

    use super::*;

    /// A game of first legal moves.
    pub fn game<P: Position>(index: u64) -> Game<P> {
        let mut live = Live::<P>::new(SpawnRule::CLASSIC, 1, index);
        while let Some(direction) = live.position().legal().iter().next() {
            live.play(direction);
        }
        live.into_game(index, 0.5)
    }

    #[test]
    fn a_film_shows_the_game_from_start_to_end() {
        let game = game::<Board>(0);
        let mut film = Film::new(&game);
        assert_eq!((film.still().position, film.last_step(), film.end()), (game.start, None, game.steps.len()));
        assert_eq!(film.next_step(), Some(game.steps[0]));
        film.seek(usize::MAX);
        assert_eq!(film.still(), Still { position: game.last, score: game.score });
        assert_eq!((film.next_step(), film.last_step()), (None, game.steps.last().copied()));
        film.step(1);
        assert!(film.is_at_end());
        film.step(isize::MIN);
        assert_eq!(film.at(), 0);
        let rewards: u64 = (0..=film.end()).map(|at| (film.seek(at), film.reward()).1).sum();
        assert_eq!(rewards, game.score);
    }

    #[test]
    fn a_record_that_breaks_off_is_shown_as_far_as_it_goes() {
        let mut game = game::<Board>(0);
        game.steps[5].spawn.cell = 255;
        let mut film = Film::new(&game);
        assert_eq!(film.end(), 5);
        assert!(film.fault.as_deref().unwrap().contains("ply 6"), "{:?}", film.fault);
        film.seek(5);
        assert_eq!(film.next_step(), None);
    }

    #[test]
    fn it_plays_at_its_speed_and_stops_at_the_end() {
        let game = game::<Board>(0);
        let mut film = Film::new(&game);
        let ten: Speed = "10".parse().unwrap();
        let shown = (0..30).filter(|_| film.advance(Duration::from_millis(34), ten)).count();
        assert_eq!((film.at(), shown), (10, 10));
        film.advance(Duration::from_secs(1_000_000_000), Speed::FULL);
        assert!(film.is_at_end());
    }
}
