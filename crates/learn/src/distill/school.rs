//! Where lessons come from: a teacher who is asked, or records of its games.

use std::path::Path;

use afterstate_agent::{Agent, Budget, Decision, masked_softmax};
use afterstate_arena::Game;
use afterstate_arena::record::{Reader, RecordError};
use afterstate_board::{Direction, Position};

use super::DistillConfig;
use crate::course::{CourseError, Outcome};
use crate::lanes::Lane;
use crate::network::Network;
use crate::replay::Lesson;

/// A student that plays under a teacher's eyes.
pub(super) struct Pupil<'a, P: Position> {
    pub network: &'a dyn Network<P>,
    pub config: &'a DistillConfig,
    /// The share of moves that it makes itself.
    pub share: f64,
}

/// Which moves a teacher wants, and how much: the best alone, or all by how far they are behind it.
pub(super) fn wanted<P: Position>(decision: &Decision, board: &P, softness: f64) -> [f32; 4] {
    let best = decision.direction.map_or([0.0; 4], |best| Direction::ALL.map(|d| f32::from(u8::from(d == best))));
    let legal = board.legal();
    if softness <= 0.0 || legal.iter().any(|d| decision.values[d.index()].is_none()) {
        return best;
    }
    let most = legal.iter().filter_map(|d| decision.values[d.index()]).fold(f64::NEG_INFINITY, f64::max);
    // What is at stake grows with the tiles: what is little between large ones is everything at the beginning.
    let unit = softness * f64::from(1u32 << board.max_exponent());
    masked_softmax(&decision.values.map(|value| value.map_or(0.0, |value| ((value - most) / unit) as f32)), legal)
}

/// The exponent of the tile with which early games end.
const EARLY: u8 = 11;

impl<P: Position> Pupil<'_, P> {
    /// Is this one of the games that end with a 2048, and has it one? The games of a lane are all of one kind.
    fn ends_early(&self, lane: &Lane<P>) -> bool {
        let lanes = self.config.lanes as u64;
        let number = (lane.outcome.game % lanes) as f64;
        number < self.config.early * lanes as f64 && lane.board.max_exponent() >= EARLY
    }

    /// One move of some games, and what the teacher says of the positions before it.
    pub fn step(
        &self,
        lanes: &mut [Lane<P>],
        teacher: &mut dyn Agent<P>,
        answers: &mut [(Lesson<P>, Option<Outcome>)],
    ) {
        let (seed, rule) = (self.config.course.seed, &self.config.course.rule);
        let boards: Vec<P> = lanes.iter().map(|lane| lane.board).collect();
        let count = self.network.role().outputs();
        let mut outputs = vec![0.0; count * boards.len()];
        self.network.judge(&boards, &mut outputs);
        for ((lane, (lesson, outcome)), outputs) in lanes.iter_mut().zip(answers).zip(outputs.chunks_exact(count)) {
            let mut dice = lane.dice(seed);
            // Games are dealt with in turn: whatever a teacher remembers is of another game.
            teacher.new_game();
            let decision = teacher.decide(&lane.board, &Budget::OWN, &mut dice);
            lesson.moves = wanted(&decision, &lane.board, self.config.softness);
            let worth = decision.direction.and_then(|d| decision.values[d.index()]);
            lesson.value = (worth.unwrap_or(0.0) / self.config.unit) as f32;
            let own = dice.unit() < self.share;
            let slides = lane.board.slides();
            let preferred =
                slides.legal.iter().reduce(|a, b| if outputs[b.index()] > outputs[a.index()] { b } else { a });
            let Some(direction) = (if own { preferred } else { decision.direction }) else { continue };
            let reward = slides.reward[direction.index()];
            lane.go_on(&slides.after[direction.index()], seed, rule);
            lane.outcome.score += u64::from(reward);
            lane.outcome.reward += f64::from(reward);
            lane.outcome.moves += 1;
            if lane.board.is_over() || self.ends_early(lane) {
                *outcome = Some(lane.renew(self.config.lanes as u64, seed, rule));
            }
        }
    }
}

/// Games of a teacher.
pub(super) struct Archive<P> {
    games: Vec<Game<P>>,
}

impl<P: Position> Archive<P> {
    /// Reads record files, separated by commas.
    pub fn open(files: &str) -> Result<Self, CourseError> {
        let failed = |error: RecordError| CourseError::Network(format!("records: {error}"));
        let mut games = Vec::new();
        for file in files.split(',').filter(|file| !file.is_empty()) {
            for game in Reader::open(Path::new(file)).and_then(Reader::games::<P>).map_err(failed)? {
                games.push(game.map_err(failed)?);
            }
        }
        if games.is_empty() {
            return Err(CourseError::Network(format!("records: there is no game in {files}")));
        }
        Ok(Self { games })
    }

    /// The lessons of the `n`-th game: games are gone through again and again.
    pub fn game(&self, n: u64, unit: f32) -> (Vec<Lesson<P>>, Outcome) {
        let game = &self.games[(n % self.games.len() as u64) as usize];
        let mut left = game.score;
        let mut lessons = Vec::with_capacity(game.steps.len());
        for ply in game.plies().map_while(Result::ok) {
            let moves = Direction::ALL.map(|d| f32::from(u8::from(d == ply.direction)));
            lessons.push(Lesson { board: ply.before, moves, value: left as f32 / unit });
            left = left.saturating_sub(u64::from(ply.reward));
        }
        let outcome = Outcome {
            game: n,
            score: game.score,
            moves: game.steps.len() as u32,
            largest: game.last.max_exponent(),
            reward: game.score as f64,
        };
        (lessons, outcome)
    }
}
