//! A person's game: moves, undo and redo, the best score. Knows neither screen nor lines of text, both of which show it.

use afterstate_arena::Live;
use afterstate_board::{Direction, Position, SpawnRule};

use super::best::Best;

/// What came of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// It was made.
    Yes,
    /// It was made and reached the goal for the first time in this game.
    Goal,
    /// It would change nothing.
    Illegal,
    /// No move is left.
    Over,
}

/// A game with its past and its undone future.
pub struct State<P> {
    live: Live<P>,
    /// Moves taken back, the next to redo last.
    undone: Vec<Direction>,
    rule: SpawnRule,
    seed: u64,
    game: u64,
    has_reached_goal: bool,
    best: Best,
}

/// The exponent to congratulate on: 2048, or about half of what a small board can hold.
pub fn goal<P: Position>() -> u8 {
    11.min(P::CELLS as u8)
}

impl<P: Position> State<P> {
    pub fn new(rule: SpawnRule, seed: u64, game: u64, best: Best) -> Self {
        let live = Live::new(rule, seed, game);
        Self { live, undone: Vec::new(), rule, seed, game, has_reached_goal: false, best }
    }

    pub const fn live(&self) -> &Live<P> {
        &self.live
    }

    pub const fn seed(&self) -> u64 {
        self.seed
    }

    pub const fn game(&self) -> u64 {
        self.game
    }

    pub const fn best(&self) -> &Best {
        &self.best
    }

    pub const fn best_mut(&mut self) -> &mut Best {
        &mut self.best
    }

    /// The cell of the last new tile.
    pub fn fresh(&self) -> Option<usize> {
        self.live.steps().last().map(|step| usize::from(step.spawn.cell))
    }

    /// Makes a move. The undone moves are forgotten, unless it is the next of them: that is a redo.
    pub fn slide(&mut self, direction: Direction) -> Moved {
        if self.live.is_over() {
            return Moved::Over;
        }
        if self.live.play(direction).is_none() {
            return Moved::Illegal;
        }
        if self.undone.pop() != Some(direction) {
            self.undone.clear();
        }
        self.best.raise(self.live.score());
        if !self.has_reached_goal && self.live.position().max_exponent() >= goal::<P>() {
            self.has_reached_goal = true;
            return Moved::Goal;
        }
        Moved::Yes
    }

    /// Takes the last move back; false if there is none.
    pub fn undo(&mut self) -> bool {
        let last = self.live.steps().last().map(|step| step.direction);
        let is_done = self.live.undo();
        if let Some(direction) = last.filter(|_| is_done) {
            self.undone.push(direction);
        }
        is_done
    }

    /// Makes the move that was last taken back; false if there is none. It brings the same tile again.
    pub fn redo(&mut self) -> bool {
        let next = self.undone.last().copied();
        next.is_some_and(|direction| matches!(self.slide(direction), Moved::Yes | Moved::Goal))
    }

    /// Begins the next game of the seed.
    pub fn new_game(&mut self) {
        self.game = self.game.wrapping_add(1);
        self.live = Live::new(self.rule, self.seed, self.game);
        self.undone.clear();
        self.has_reached_goal = false;
    }
}

#[cfg(test)]
pub mod tests {
    use afterstate_board::{Board, Grid};

    use super::*;

    pub fn state<P: Position>() -> State<P> {
        State::new(SpawnRule::CLASSIC, 1, 0, Best::load(None, "test".to_owned()))
    }

    /// Plays the first legal move until none is left.
    fn finish<P: Position>(state: &mut State<P>) {
        while let Some(direction) = state.live().position().legal().iter().next() {
            state.slide(direction);
        }
    }

    #[test]
    fn undo_and_redo_walk_the_whole_game_to_and_fro() {
        let mut state = state::<Board>();
        finish(&mut state);
        let (end, score, moves) = (*state.live().position(), state.live().score(), state.live().steps().len());
        assert!(moves > 10 && !state.redo());
        let mut undone = 0;
        while state.undo() {
            undone += 1;
        }
        assert_eq!((undone, state.live().score()), (moves, 0));
        assert_eq!(state.live().position(), state.live().start());
        assert_eq!(state.best().score(), score);
        while state.redo() {}
        assert_eq!((*state.live().position(), state.live().score(), state.live().steps().len()), (end, score, moves));
    }

    #[test]
    fn another_move_forgets_the_undone_ones_and_the_same_move_does_not() {
        let mut state = state::<Board>();
        for _ in 0..3 {
            let direction = state.live().position().legal().nth(0);
            assert_eq!(state.slide(direction), Moved::Yes);
        }
        let third = state.live().steps()[2].direction;
        let second = state.live().steps()[1].direction;
        assert!(state.undo() && state.undo());
        assert_eq!(state.slide(second), Moved::Yes);
        assert_eq!(state.undone, [third]);
        let other = state.live().position().legal().iter().find(|&d| d != third).unwrap();
        assert_eq!(state.slide(other), Moved::Yes);
        assert!(!state.redo());
    }

    #[test]
    fn moves_that_cannot_be_made_change_nothing() {
        let mut state = state::<Grid<2, 2>>();
        let position = *state.live().position();
        let illegal = Direction::ALL.into_iter().find(|&d| !position.legal().contains(d));
        if let Some(direction) = illegal {
            assert_eq!(state.slide(direction), Moved::Illegal);
            assert_eq!(*state.live().position(), position);
        }
        finish(&mut state);
        assert_eq!(state.slide(Direction::Left), Moved::Over);
        assert!(!state.redo());
        assert!(state.undo() && !state.live().is_over());
    }

    #[test]
    fn the_goal_is_celebrated_once_a_game() {
        assert_eq!((goal::<Grid<2, 2>>(), goal::<Grid<3, 3>>(), goal::<Board>(), goal::<Grid<5, 5>>()), (4, 9, 11, 11));
        let mut state = state::<Grid<2, 2>>();
        let mut goals = Vec::new();
        for _ in 0..300 {
            let (game, legal) = (state.game(), state.live().position().legal());
            match legal.iter().next().map(|direction| state.slide(direction)) {
                Some(Moved::Goal) => {
                    goals.push(game);
                    assert!(state.undo() && state.redo());
                }
                Some(_) => {}
                None => state.new_game(),
            }
        }
        let mut once = goals.clone();
        once.dedup();
        assert!(!goals.is_empty() && goals == once, "{goals:?}");
    }
}
