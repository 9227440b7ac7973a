//! Where the screen and the thread that plays meet: what the keys ask for, and the game as it stands.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use afterstate_agent::Decision;
use afterstate_arena::Ply;
use afterstate_board::{Directions, Position};

use crate::tui::speed::Speed;

/// What the keys asked for.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    pub speed: Speed,
    pub is_paused: bool,
    /// Moves to make in spite of the pause.
    pub steps: u32,
    /// The game to begin instead of the present one.
    pub next_game: Option<u64>,
    pub is_quitting: bool,
}

impl Control {
    pub fn new(speed: Speed) -> Self {
        Self { speed, is_paused: false, steps: 0, next_game: None, is_quitting: false }
    }

    pub fn is_leaving(&self) -> bool {
        self.is_quitting || self.next_game.is_some()
    }
}

/// What the agent found for one position.
#[derive(Clone, Debug)]
pub struct Thought {
    pub decision: Decision,
    /// The moves it could choose from.
    pub legal: Directions,
    /// The number of the move it is about, from 1.
    pub number: u64,
}

/// The game as the screen shows it.
#[derive(Clone, Debug)]
pub struct Moment<P> {
    pub game: u64,
    pub position: P,
    pub score: u64,
    pub moves: u64,
    pub last: Option<Ply<P>>,
    pub thought: Option<Thought>,
    /// Since when the agent has been thinking, if it is.
    pub thinking: Option<Instant>,
    pub is_over: bool,
    /// Moves of all games so far.
    pub total_moves: u64,
    /// Counts the changes.
    pub version: u64,
}

impl<P: Position> Moment<P> {
    pub fn new(game: u64) -> Self {
        Self {
            game,
            position: P::empty(),
            score: 0,
            moves: 0,
            last: None,
            thought: None,
            thinking: None,
            is_over: false,
            total_moves: 0,
            version: 0,
        }
    }

    pub fn begin(&mut self, game: u64) {
        *self = Self { total_moves: self.total_moves, version: self.version + 1, ..Self::new(game) };
    }

    pub fn follow(&mut self, ply: &Ply<P>) {
        self.position = ply.position;
        self.score += u64::from(ply.reward);
        self.moves += 1;
        self.total_moves += 1;
        self.last = Some(*ply);
        self.version += 1;
    }
}

/// Where screen and worker meet.
pub struct Desk<P> {
    state: Mutex<(Control, Moment<P>)>,
    changed: Condvar,
}

impl<P: Position> Desk<P> {
    pub fn new(control: Control, game: u64) -> Self {
        Self { state: Mutex::new((control, Moment::new(game))), changed: Condvar::new() }
    }

    /// What is asked for, and the game as it stands.
    pub fn look(&self) -> (Control, Moment<P>) {
        self.lock().clone()
    }

    /// Changes what is asked for; the worker sees it at once unless it is thinking.
    pub fn ask(&self, change: impl FnOnce(&mut Control, &Moment<P>)) {
        let mut state = self.lock();
        let (control, moment) = &mut *state;
        change(control, moment);
        self.changed.notify_all();
    }

    pub fn publish(&self, change: impl FnOnce(&mut Moment<P>)) {
        let moment = &mut self.lock().1;
        change(moment);
        moment.version += 1;
    }

    /// Nobody panics while holding the lock, and a half-drawn moment would be harmless.
    pub fn lock(&self) -> MutexGuard<'_, (Control, Moment<P>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a move may be made: at its time, on a step, or because the game is to be left. Returns the time the move
    /// counts from: the time it was due if that has just passed, so that small delays do not add up.
    pub fn wait_for_turn(&self, last_move: Instant) -> Instant {
        let mut state = self.lock();
        loop {
            let (control, now) = (&mut state.0, Instant::now());
            let interval = control.speed.interval().unwrap_or_default();
            let due = last_move + interval;
            let rest = due.saturating_duration_since(now);
            if control.is_leaving() || (!control.is_paused && rest.is_zero()) {
                return if now.saturating_duration_since(due) < interval { due.min(now) } else { now };
            }
            if control.steps > 0 {
                control.steps -= 1;
                return now;
            }
            let wait = if control.is_paused { Duration::MAX } else { rest };
            // A wait of years overflows some clocks; waking up once an hour costs nothing.
            let wait = wait.min(Duration::from_secs(3600));
            state = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until another game is wanted; `None` to quit.
    pub fn wait_for_game(&self) -> Option<u64> {
        let mut state = self.lock();
        loop {
            let control = &mut state.0;
            if control.is_quitting {
                return None;
            }
            if let Some(game) = control.next_game.take() {
                return Some(game);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
