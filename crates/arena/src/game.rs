//! A game as data: where it began, and every move and spawn since. All else follows by replaying.

use afterstate_board::{Afterstate, Direction, Position, Spawn};

/// One move and the spawn that answered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// Where the tiles slid.
    pub direction: Direction,
    /// What appeared then.
    pub spawn: Spawn,
}

/// One step with the boards around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ply<P> {
    /// The position in which the move was made.
    pub before: P,
    /// The move.
    pub direction: Direction,
    /// The points it earned.
    pub reward: u32,
    /// The board between move and spawn.
    pub after: Afterstate<P>,
    /// The tile that appeared.
    pub spawn: Spawn,
    /// The position that the next move is made in.
    pub position: P,
}

impl<P> Ply<P> {
    /// The step without the boards.
    pub const fn step(&self) -> Step {
        Step { direction: self.direction, spawn: self.spawn }
    }
}

/// A game that has ended, or was stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Game<P> {
    /// Which game of its seed.
    pub index: u64,
    /// The first position.
    pub start: P,
    /// All moves and spawns.
    pub steps: Vec<Step>,
    /// The points earned from `start` on.
    pub score: u64,
    /// The last position.
    pub last: P,
    /// Time spent playing. The only thing here that differs from run to run.
    pub seconds: f64,
}

/// Why a game does not replay. Plies are numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The move changes nothing on that board.
    #[error("ply {ply}: {direction} is not legal on {board}")]
    Move {
        /// Number of the ply.
        ply: usize,
        /// The move.
        direction: Direction,
        /// The board it was to be made on.
        board: String,
    },
    /// The spawned tile has no place.
    #[error("ply {ply}: a tile of exponent {} cannot appear in cell {} of {board}", spawn.exponent, spawn.cell)]
    Spawn {
        /// Number of the ply.
        ply: usize,
        /// The tile.
        spawn: Spawn,
        /// The board after the move.
        board: String,
    },
    /// The tiles add up to more than points can be counted for.
    #[error("ply {ply}: the tiles add up to more than {MAX_TILE_SUM}")]
    TooLarge {
        /// Number of the ply.
        ply: usize,
    },
    /// The points do not match the moves.
    #[error("the moves earn {replayed} points, not {claimed}")]
    Score {
        /// What the game claims.
        claimed: u64,
        /// What its moves earn.
        replayed: u64,
    },
    /// The last board does not match the moves.
    #[error("the moves end on {replayed}, not on {claimed}")]
    Last {
        /// What the game claims.
        claimed: String,
        /// Where its moves lead.
        replayed: String,
    },
}

/// No merge on a board whose tiles add up to this much earns more points than a `u32` holds.
const MAX_TILE_SUM: u64 = (1 << 31) - 1;

impl<P: Position> Game<P> {
    /// The game that these steps make; score and last position follow from them.
    pub fn from_steps(index: u64, start: P, steps: Vec<Step>, seconds: f64) -> Result<Self, ReplayError> {
        let (score, last) = Plies::new(start, &steps).finish()?;
        Ok(Self { index, start, steps, score, last, seconds })
    }

    /// Number of moves.
    pub fn moves(&self) -> u64 {
        self.steps.len() as u64
    }

    /// True if no move was left: the game was not stopped before its end.
    pub fn is_over(&self) -> bool {
        self.last.is_over()
    }

    /// Plays the game again, ply by ply, from its start and its steps alone.
    pub fn plies(&self) -> Plies<'_, P> {
        Plies::new(self.start, &self.steps)
    }

    /// Checks every move and spawn, the score and the last position.
    pub fn replay(&self) -> Result<(), ReplayError> {
        let (score, last) = self.plies().finish()?;
        if score != self.score {
            return Err(ReplayError::Score { claimed: self.score, replayed: score });
        }
        if last != self.last {
            return Err(ReplayError::Last { claimed: self.last.to_string(), replayed: last.to_string() });
        }
        Ok(())
    }

    /// True if both are the same game, however long each took to play.
    pub fn is_same_play(&self, other: &Self) -> bool {
        self.index == other.index
            && self.start == other.start
            && self.steps == other.steps
            && self.score == other.score
            && self.last == other.last
    }
}

/// The plies of a game, replayed one by one; ends after the first error.
#[derive(Clone, Debug)]
pub struct Plies<'a, P> {
    position: P,
    steps: &'a [Step],
    next: usize,
    tile_sum: u64,
}

impl<'a, P: Position> Plies<'a, P> {
    /// Replays `steps` from `start`.
    pub fn new(start: P, steps: &'a [Step]) -> Self {
        Self { position: start, steps, next: 0, tile_sum: start.tile_sum() }
    }

    /// Replays what is left: its points and the last position.
    fn finish(mut self) -> Result<(u64, P), ReplayError> {
        let mut score = 0;
        for ply in &mut self {
            score += u64::from(ply?.reward);
        }
        Ok((score, self.position))
    }

    fn replay(&mut self, step: Step) -> Result<Ply<P>, ReplayError> {
        let Step { direction, spawn } = step;
        let (before, ply) = (self.position, self.next);
        if self.tile_sum > MAX_TILE_SUM {
            return Err(ReplayError::TooLarge { ply });
        }
        let illegal = || ReplayError::Move { ply, direction, board: before.to_string() };
        let slide = before.slide(direction).ok_or_else(illegal)?;
        let misplaced = || ReplayError::Spawn { ply, spawn, board: slide.after.board().to_string() };
        let position = slide.after.try_place(spawn).ok_or_else(misplaced)?;
        self.tile_sum += 1 << spawn.exponent;
        self.position = position;
        Ok(Ply { before, direction, reward: slide.reward, after: slide.after, spawn, position })
    }
}

impl<P: Position> Iterator for Plies<'_, P> {
    type Item = Result<Ply<P>, ReplayError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = *self.steps.get(self.next)?;
        self.next += 1;
        let ply = self.replay(step);
        if ply.is_err() {
            self.next = self.steps.len();
        }
        Some(ply)
    }
}
