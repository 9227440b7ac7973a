//! The project's only game loop: evaluation, self-play and watching all run through [`play_game`].

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use afterstate_agent::{Agent, Budget, Decision};
use afterstate_board::{Direction, Position, Rng, SpawnRule, notation};
use serde::{Deserialize, Serialize};

use crate::{Game, Live, Playing, Ply};

/// What the random numbers of one game are for, as in `Rng::stream(seed, index, PURPOSE)`.
///
/// Part of the record format: another number would make old seeds name other games.
pub mod stream {
    /// Start position and spawns.
    pub const SPAWNS: u64 = 0;
    /// The agent's own draws. Apart from the spawns, so that an agent that draws more does not change its luck.
    pub const AGENT: u64 = 1;
    /// Resampling of results (game 0 of seed 0: the same for all results).
    pub const BOOTSTRAP: u64 = 2;
}

/// Everything that determines game `i` of an evaluation, size of the board aside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The agent's specification as written; also its name in errors and records.
    pub agent: String,
    /// Which tiles spawn.
    #[serde(with = "rule_text")]
    pub rule: SpawnRule,
    /// With the index of a game, names all its random numbers.
    pub seed: u64,
    /// What the agent may spend on a move. With a time in it games differ from run to run.
    #[serde(with = "BudgetFields", default, skip_serializing_if = "is_own")]
    pub budget: Budget,
    /// Games end after so many moves at the latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub move_limit: Option<u64>,
    /// Games end when their tiles add up to so much, whether they could go on or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Positions that games begin at, as text; empty for the usual two random tiles. A game draws one of them from its own stream.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub starts: Vec<String>,
}

impl Setup {
    /// The classic rule, the agent's own budget, no limit.
    pub fn new(agent: impl Into<String>, seed: u64) -> Self {
        let agent = agent.into();
        let (rule, budget, starts) = (SpawnRule::CLASSIC, Budget::OWN, Vec::new());
        Self { agent, rule, seed, budget, move_limit: None, until: None, starts }
    }

    /// Is that as far as games go?
    fn is_reached<P: Position>(&self, live: &Live<P>) -> bool {
        self.move_limit.is_some_and(|limit| live.steps().len() as u64 >= limit)
            || self.until.is_some_and(|sum| live.position().tile_sum() >= sum)
    }

    /// Game `index` before its first move.
    pub(crate) fn begin<P: Position>(&self, index: u64) -> Result<Live<P>, PlayError> {
        if self.starts.is_empty() {
            return Ok(Live::new(self.rule, self.seed, index));
        }
        let mut rng = Rng::stream(self.seed, index, stream::SPAWNS);
        let start = &self.starts[rng.below(self.starts.len() as u32) as usize];
        let position = notation::parse(start).map_err(|reason| PlayError::Start { start: start.clone(), reason })?;
        Ok(Live::from_position(position, self.rule, rng))
    }
}

/// The fields of [`Budget`], which the agent crate keeps free of serde.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Budget")]
struct BudgetFields {
    #[serde(default)]
    depth: Option<u32>,
    #[serde(default)]
    nodes: Option<u64>,
    #[serde(default)]
    time: Option<Duration>,
}

fn is_own(budget: &Budget) -> bool {
    *budget == Budget::OWN
}

/// A spawn rule as `2:0.9,4:0.1`, which reads back exactly.
mod rule_text {
    use afterstate_board::SpawnRule;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(rule: &SpawnRule, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(rule)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SpawnRule, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// An agent broke its contract, or a game cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlayError {
    /// It chose a move that changes nothing.
    #[error(
        "agent {agent}, game {index}, ply {ply}: it chose {direction} on {board}, which is not legal (a bug in the agent)"
    )]
    Illegal {
        /// The agent's specification.
        agent: String,
        /// Which game.
        index: u64,
        /// Number of the ply, from 1.
        ply: usize,
        /// The move chosen.
        direction: Direction,
        /// The board it was chosen for.
        board: String,
    },
    /// It chose no move although there was one.
    #[error(
        "agent {agent}, game {index}, ply {ply}: it chose no move on {board}, which has legal ones (a bug in the agent)"
    )]
    NoMove {
        /// The agent's specification.
        agent: String,
        /// Which game.
        index: u64,
        /// Number of the ply, from 1.
        ply: usize,
        /// The board it should have moved on.
        board: String,
    },
    /// A start position of the setup cannot be read.
    #[error("start position '{start}': {reason}")]
    Start {
        /// The position as given.
        start: String,
        /// What is wrong with it.
        reason: notation::ParseError,
    },
}

/// Plays game `index` until no move is left, a limit is reached or the observer breaks.
///
/// The observer sees every ply with the decision that led to it: self-play learns there, a page draws, a run is cancelled.
pub fn play_game<P: Position, A: Agent<P> + ?Sized>(
    agent: &mut A,
    setup: &Setup,
    index: u64,
    mut observer: impl FnMut(&Ply<P>, &Decision) -> ControlFlow<()>,
) -> Result<Game<P>, PlayError> {
    let began = Instant::now();
    let mut playing = Playing::<P>::new(setup, index)?;
    agent.new_game();
    while !setup.is_reached(playing.live()) && !playing.live().is_over() {
        let decision = playing.think(agent, setup);
        let ply = playing.play(&decision, setup)?;
        if observer(&ply, &decision).is_break() {
            break;
        }
    }
    Ok(playing.into_live().into_game(index, began.elapsed().as_secs_f64()))
}
