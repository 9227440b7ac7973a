//! Perfect play: every move's exact worth, looked up in the solution of the game. For boards small enough to be solved.

use std::collections::HashMap;
use std::sync::Arc;

use afterstate_board::{Direction, Position, Rng, SpawnRule};
use afterstate_evaluator::exact::{self, Goal, Problem, Solution, SolutionError};
use afterstate_evaluator::{Parameter, Settings, SpecError};

use crate::{Agent, AgentRow, Budget, Context, Decision};

/// The name in the catalogue.
const NAME: &str = "optimal";

/// A position that no game comes to has its worth worked out from those that follow it, as long as there are at most so many that
/// the solution lacks too.
const MOST_UNLISTED: usize = 10_000;

/// Moves whose worth differs by no more of it are the same by symmetry, apart from rounding: the first is played.
const SAME: f64 = 1e-12;

/// No more decisions than this are remembered.
const MOST_MADE: usize = 100_000;

struct Optimal<P> {
    solution: Arc<Solution>,
    /// Positions that no game comes to, and what they are worth.
    unlisted: HashMap<P, f64>,
    /// Decisions made before, on boards so small that games come to the same positions again and again.
    made: Option<HashMap<P, Decision>>,
}

impl<P: Position> Optimal<P> {
    /// The worth of a position, listed or not; `None` if working it out would take too long.
    fn value(solution: &Solution, unlisted: &mut HashMap<P, f64>, position: &P) -> Option<f64> {
        if let Some(value) = solution.value(position) {
            return Some(value);
        }
        let canonical = position.canonical();
        if let Some(&value) = unlisted.get(&canonical) {
            return Some(value);
        }
        if unlisted.len() >= MOST_UNLISTED {
            return None;
        }
        let slides = canonical.slides();
        let values = solution.move_values(&slides, |next| Self::value(solution, unlisted, next));
        let best = slides.legal.iter().try_fold(0.0, |best: f64, d| Some(best.max(values[d.index()]?)))?;
        unlisted.insert(canonical, best);
        Some(best)
    }

    fn find(&mut self, position: &P) -> Decision {
        let Self { solution, unlisted, .. } = self;
        let values = solution.listed_move_values(position).unwrap_or_else(|| {
            // Begun afresh each time: a decision depends on its position alone.
            unlisted.clear();
            solution.move_values(&position.slides(), |next| Self::value(solution, unlisted, next))
        });
        let decision = Decision::best_of(values, position.legal(), 4, 0);
        let best = decision.direction.and_then(|d| values[d.index()]).unwrap_or(0.0);
        let as_good = |d: &Direction| values[d.index()].is_some_and(|value| value >= best - SAME * best);
        Decision { direction: Direction::ALL.into_iter().find(as_good).or(decision.direction), ..decision }
    }
}

impl<P: Position> Agent<P> for Optimal<P> {
    fn decide(&mut self, position: &P, _: &Budget, _: &mut Rng) -> Decision {
        if let Some(decision) = self.made.as_ref().and_then(|made| made.get(position)) {
            return decision.clone();
        }
        let decision = self.find(position);
        if let Some(made) = self.made.as_mut().filter(|made| made.len() < MOST_MADE) {
            made.insert(*position, decision.clone());
        }
        decision
    }

    fn unit(&self) -> &'static str {
        self.solution.brief().problem.goal().unit()
    }
}

fn build<P: Position>(settings: &Settings, context: &Context) -> Result<Optimal<P>, SpecError> {
    let unavailable = |reason: String| SpecError::Unavailable { owner: NAME.into(), reason };
    let goal = match settings.optional("goal") {
        None => Goal::Score,
        Some(tile) => tile.to_string().parse().map_err(|error: exact::NoGoal| unavailable(error.to_string()))?,
    };
    let problem = Problem::of::<P>(context.rule, goal).map_err(|error| unavailable(error.to_string()))?;
    let found = exact::find(&problem, &exact::folder()).map_err(|error| match error {
        SolutionError::Missing { command, .. } => {
            unavailable(format!("this board is not solved yet: run `{command}` first"))
        }
        SolutionError::Refused { path, reason, command } => {
            let reason = format!("{reason} (remove it, then run `{command}`)");
            SpecError::File { owner: NAME.into(), file: path, reason }
        }
        SolutionError::Io { path, source } => {
            SpecError::File { owner: NAME.into(), file: path, reason: source.to_string() }
        }
        other => unavailable(other.to_string()),
    })?;
    let made = (found.brief().states < MOST_MADE as u64).then(HashMap::new);
    Ok(Optimal { solution: found, unlisted: HashMap::new(), made })
}

/// Can it play this game at once: is the solution here, or quick to find?
pub(crate) fn is_solved<P: Position>(rule: &SpawnRule) -> bool {
    Problem::of::<P>(*rule, Goal::Score).is_ok_and(|problem| exact::known(&problem, &exact::folder()).is_some())
}

pub(crate) const fn row<P: Position>() -> AgentRow<P> {
    const PARAMETERS: &[Parameter] =
        &[Parameter::optional("goal", "the tile to reach, instead of the highest score", 4, 1 << 17)];
    AgentRow {
        name: NAME,
        summary: "perfect play on small boards: 2x2 and 2x3 at once, 2x4 and 3x3 after `afterstate solve`",
        parameters: PARAMETERS,
        build: |settings, _, context| Ok(Box::new(build::<P>(settings, context)?)),
    }
}
