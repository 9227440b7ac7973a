//! Perfect play: every move's exact worth, looked up in the solution of the game. For boards small enough to be solved.

use std::collections::HashMap;
use std::sync::Arc;

use afterstate_board::{Position, Rng, SpawnRule};
use afterstate_evaluator::exact::{self, Goal, Problem, Solution};
use afterstate_evaluator::{Parameter, Settings, SpecError};

use crate::{Agent, AgentRow, Budget, Context, Decision};

/// The name in the catalogue.
const NAME: &str = "optimal";

/// A position that no game comes to has its worth worked out from those that follow it, as long as there are at most so many that
/// the solution lacks too.
const MOST_UNLISTED: usize = 10_000;

struct Optimal<P> {
    solution: Arc<Solution>,
    /// Positions that no game comes to, and what they are worth.
    unlisted: HashMap<P, f64>,
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
}

impl<P: Position> Agent<P> for Optimal<P> {
    fn decide(&mut self, position: &P, _: &Budget, _: &mut Rng) -> Decision {
        let slides = position.slides();
        let Self { solution, unlisted } = self;
        let values = solution.move_values(&slides, |next| Self::value(solution, unlisted, next));
        // What could not be worked out is not remembered either: a decision depends on its position alone.
        unlisted.clear();
        Decision::best_of(values, slides.legal, 4, 0)
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
    let found = exact::find(&problem, &exact::folder()).map_err(|error| unavailable(error.to_string()))?;
    Ok(Optimal { solution: found, unlisted: HashMap::new() })
}

/// Can `optimal` play this game at once: is its solution here, or quick to find?
pub fn is_solved<P: Position>(rule: &SpawnRule) -> bool {
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
