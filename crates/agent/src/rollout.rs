//! What a leaf is worth: some moves are played from it, at random or guided by an evaluator, and their outcome is judged.

use afterstate_board::{Afterstate, Direction, Position, Rng, Slides, SpawnRule, playout};
use afterstate_evaluator::Evaluator;

/// How a rollout chooses its moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Guide {
    /// Uniformly at random.
    Chance,
    /// The move the evaluator likes best; with this probability a random one.
    Evaluator { noise: f64 },
}

/// What a rollout returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Returns {
    /// The points of its moves.
    Points,
    /// The evaluator's judgement of its last position, with the points of its moves if the evaluator counts them.
    Value,
}

/// Judges positions by playing on from them.
pub(crate) struct Rollout<E> {
    pub evaluator: E,
    pub rule: SpawnRule,
    /// Moves from the root of the search at most.
    pub depth: u32,
    pub guide: Guide,
    pub returns: Returns,
    /// Is a finished game judged like any board, as in document S, or simply lost?
    pub judge_lost: bool,
}

/// The outcome of one rollout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Outcome {
    pub value: f64,
    /// Moves played.
    pub moves: u32,
}

impl<E> Rollout<E> {
    /// What the points of moves count for.
    pub fn rewards<P: Position>(&self) -> f64
    where
        E: Evaluator<P>,
    {
        match self.returns {
            Returns::Points => 1.0,
            Returns::Value => f64::from(self.evaluator.scale().rewards),
        }
    }

    /// What the values mean, for people.
    pub fn unit<P: Position>(&self) -> &'static str
    where
        E: Evaluator<P>,
    {
        match self.returns {
            Returns::Points => "points within the rollouts, on average",
            Returns::Value => self.evaluator.scale().unit,
        }
    }

    /// Plays at most `limit` moves from a position.
    pub fn run<P: Position>(&self, position: &P, limit: u32, rng: &mut Rng) -> Outcome
    where
        E: Evaluator<P>,
    {
        let (points, moves, last) = match self.guide {
            Guide::Chance => {
                let game = playout(*position, limit, &self.rule, rng);
                (game.score, game.moves, game.last)
            }
            Guide::Evaluator { noise } => self.guided(position, limit, noise, rng),
        };
        let end = match self.returns {
            Returns::Points => 0.0,
            Returns::Value => self.worth(&last),
        };
        Outcome { value: self.rewards::<P>() * points as f64 + end, moves }
    }

    fn guided<P: Position>(&self, position: &P, limit: u32, noise: f64, rng: &mut Rng) -> (u64, u32, P)
    where
        E: Evaluator<P>,
    {
        let (mut points, mut moves, mut last) = (0, 0, *position);
        while moves < limit {
            let slides = last.slides();
            if slides.legal.is_empty() {
                break;
            }
            let direction = if rng.unit() < noise {
                slides.legal.nth(rng.below(slides.legal.len() as u32) as usize)
            } else {
                self.best(&slides).0
            };
            points += u64::from(slides.reward[direction.index()]);
            last = slides.after[direction.index()].sample(&self.rule, rng);
            moves += 1;
        }
        (points, moves, last)
    }

    /// The evaluator's judgement of a position: that of its best move.
    fn worth<P: Position>(&self, position: &P) -> f64
    where
        E: Evaluator<P>,
    {
        let slides = position.slides();
        let value = match slides.legal.is_empty() {
            false => self.best(&slides).1,
            true if self.judge_lost => self.evaluator.value(&Afterstate::new(*position)),
            true => self.evaluator.scale().lost,
        };
        f64::from(value)
    }

    /// The move the evaluator likes best, and how much. There must be one.
    fn best<P: Position>(&self, slides: &Slides<P>) -> (Direction, f32)
    where
        E: Evaluator<P>,
    {
        let rewards = self.evaluator.scale().rewards;
        let mut best = (slides.legal.nth(0), f32::NEG_INFINITY);
        for (direction, slide) in slides.iter() {
            let value = rewards * slide.reward as f32 + self.evaluator.value(&slide.after);
            if value > best.1 {
                best = (direction, value);
            }
        }
        best
    }
}
