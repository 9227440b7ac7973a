//! A game that an agent plays move by move: what [`crate::play_game`] runs to the end, and a page runs in slices.

use afterstate_agent::{Agent, Decision};
use afterstate_board::{Position, Rng};

use crate::{Live, PlayError, Ply, Setup, stream};

/// An agent's game in progress: the game, and where the agent's random numbers have got to.
#[derive(Clone, Debug)]
pub struct Playing<P> {
    live: Live<P>,
    rng: Rng,
    index: u64,
}

impl<P: Position> Playing<P> {
    /// Begins game `index`. The agent must be told of the new game by whoever owns it.
    pub fn new(setup: &Setup, index: u64) -> Result<Self, PlayError> {
        let live = setup.begin(index)?;
        Ok(Self { live, rng: Rng::stream(setup.seed, index, stream::AGENT), index })
    }

    /// The game so far.
    pub const fn live(&self) -> &Live<P> {
        &self.live
    }

    /// The game so far, and nothing else.
    pub fn into_live(self) -> Live<P> {
        self.live
    }

    /// Lets the agent think about the position. The game must not be over.
    #[inline]
    pub fn think<A: Agent<P> + ?Sized>(&mut self, agent: &mut A, setup: &Setup) -> Decision {
        agent.decide(self.live.position(), &setup.budget, &mut self.rng)
    }

    /// Makes the move that was decided on.
    #[inline]
    pub fn play(&mut self, decision: &Decision, setup: &Setup) -> Result<Ply<P>, PlayError> {
        match decision.direction.map(|direction| self.live.play(direction).ok_or(direction)) {
            Some(Ok(ply)) => Ok(ply),
            Some(Err(direction)) => {
                let (index, ply, board) = self.place();
                Err(PlayError::Illegal { agent: setup.agent.clone(), index, ply, direction, board })
            }
            None => {
                let (index, ply, board) = self.place();
                Err(PlayError::NoMove { agent: setup.agent.clone(), index, ply, board })
            }
        }
    }

    #[cold]
    fn place(&self) -> (u64, usize, String) {
        (self.index, self.live.steps().len() + 1, self.live.position().to_string())
    }
}
