//! A game in progress: the only place where a move is followed by a spawn.

use afterstate_board::{Direction, Position, Rng, SpawnRule};

use crate::{Game, Ply, Step, stream};

/// A game in progress, with its own source of spawns.
///
/// ```
/// use afterstate_arena::Live;
/// use afterstate_board::{Board, Position, SpawnRule};
///
/// let mut live = Live::<Board>::new(SpawnRule::CLASSIC, 1, 0);
/// let direction = live.position().legal().nth(0);
/// let ply = live.play(direction).expect("it is legal");
/// assert_eq!(ply.position, *live.position());
/// assert!(live.undo() && live.position() == live.start());
/// assert_eq!(live.play(direction), Some(ply));
/// ```
#[derive(Clone, Debug)]
pub struct Live<P> {
    start: P,
    position: P,
    score: u64,
    steps: Vec<Step>,
    rule: SpawnRule,
    rng: Rng,
    first_rng: Rng,
}

impl<P: Position> Live<P> {
    /// Begins game `index` of a seed: start position and spawns come from the stream [`stream::SPAWNS`].
    pub fn new(rule: SpawnRule, seed: u64, index: u64) -> Self {
        let mut rng = Rng::stream(seed, index, stream::SPAWNS);
        let start = P::start(&rule, &mut rng);
        Self::from_position(start, rule, rng)
    }

    /// Goes on from any position, with a score of 0.
    pub fn from_position(position: P, rule: SpawnRule, rng: Rng) -> Self {
        Self { start: position, position, score: 0, steps: Vec::new(), rule, first_rng: rng.clone(), rng }
    }

    /// The position to move in.
    pub const fn position(&self) -> &P {
        &self.position
    }

    /// The points earned so far.
    pub const fn score(&self) -> u64 {
        self.score
    }

    /// All moves and spawns so far.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The first position.
    pub const fn start(&self) -> &P {
        &self.start
    }

    /// Which tiles spawn.
    pub const fn rule(&self) -> &SpawnRule {
        &self.rule
    }

    /// True if no move is left.
    pub fn is_over(&self) -> bool {
        self.position.is_over()
    }

    /// Makes a move and lets a tile appear; `None`, and nothing happens, if the move is illegal.
    pub fn play(&mut self, direction: Direction) -> Option<Ply<P>> {
        let before = self.position;
        let slide = before.slide(direction)?;
        let spawn = slide.after.sample_spawn(&self.rule, &mut self.rng)?;
        self.position = slide.after.place(spawn);
        self.score += u64::from(slide.reward);
        self.steps.push(Step { direction, spawn });
        Some(Ply { before, direction, reward: slide.reward, after: slide.after, spawn, position: self.position })
    }

    /// Takes the last move back; false if there is none. The same move again brings the same spawn, so that undoing is no
    /// way to draw a better one.
    pub fn undo(&mut self) -> bool {
        let Some(kept) = self.steps.len().checked_sub(1) else { return false };
        let mut earlier = Self::from_position(self.start, self.rule, self.first_rng.clone());
        for step in &self.steps[..kept] {
            earlier.play(step.direction);
        }
        *self = earlier;
        true
    }

    /// The game so far as data.
    pub fn into_game(self, index: u64, seconds: f64) -> Game<P> {
        Game { index, start: self.start, steps: self.steps, score: self.score, last: self.position, seconds }
    }
}
