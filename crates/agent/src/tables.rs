//! Endgame tables around a search. The search says what each move is worth; where a table knows how often the next large tile is missed
//! after a move, that share of the move's worth is lost. Both are numbers of the same kind, so neither has to be trusted blindly: a
//! table's move that the search dislikes is played only as far as the danger it avoids outweighs that.

use std::sync::Arc;

use afterstate_board::{Direction, Position, Rng, Slides, Spawn};
use afterstate_evaluator::tables::{self, Corrected, Table, Tables};
use afterstate_evaluator::{BoxedEvaluator, Evaluator, Kind, Parameter};

use crate::{Agent, AgentRow, BoxedAgent, Budget, Decision, expectimax};

/// A move that leaves the pattern of a table: how many times more often it is taken to fail than the best one that stays.
const LEAVING: f32 = 1.5;

struct WithTables<P: Position> {
    search: BoxedAgent<P>,
    tables: Arc<Tables>,
    /// The value of a lost game.
    lost: f64,
    /// How much a missed goal counts.
    weight: f64,
}

/// How often the goal is missed after each move, by direction index; `None` if the table sees no way to reach it.
fn failures<P: Position>(table: &Table, image: usize, slides: &Slides<P>) -> Option<[f32; 4]> {
    let mut failures = [1.0f32; 4];
    for (direction, slide) in slides.iter() {
        if let Some(images) = slide.after.board().images() {
            failures[direction.index()] = table.failure_after(images[image]);
        }
    }
    let best = failures.iter().copied().fold(1.0, f32::min);
    if best == 1.0 {
        return None;
    }
    // Where the table's knowledge ends, the search decides, with some caution if the table knows all that stays within its pattern.
    let leaving = if table.is_distilled() { best } else { (LEAVING * best).min(1.0) };
    Some(failures.map(|failure| if failure == 1.0 { leaving } else { failure }))
}

impl<P: Position> WithTables<P> {
    /// The highest failure that any table gives each move; `None` if no table knows the position.
    fn dangers(&self, position: &P, slides: &Slides<P>) -> Option<[f32; 4]> {
        let images = position.images()?;
        let known = self.tables.matching(&images).filter_map(|(table, image)| failures(table, image, slides));
        known.reduce(|a, b| std::array::from_fn(|i| a[i].max(b[i])))
    }
}

impl<P: Position> Agent<P> for WithTables<P> {
    fn decide(&mut self, position: &P, budget: &Budget, rng: &mut Rng) -> Decision {
        let decision = self.search.decide(position, budget, rng);
        let slides = position.slides();
        if slides.legal.len() < 2 {
            return decision;
        }
        let Some(dangers) = self.dangers(position, &slides) else { return decision };
        let correct = |i: usize| {
            let value = decision.values[i]?;
            Some(value + self.weight * f64::from(dangers[i]) * (self.lost - value))
        };
        let corrected = Decision::best_of(std::array::from_fn(correct), slides.legal, decision.nodes, decision.depth);
        Decision { direction: corrected.direction, values: corrected.values, ..decision }
    }

    fn new_game(&mut self) {
        self.search.new_game();
    }

    fn line(&mut self, position: &P, decision: &Decision) -> Vec<(Direction, Option<Spawn>)> {
        self.search.line(position, decision)
    }

    fn unit(&self) -> &'static str {
        self.search.unit()
    }
}

const OWN: [Parameter; 3] = [
    tables::SET,
    Parameter::number("weight", "how much a goal that is missed counts; 1: as much as a lost game", 1.0, 0.0, 100.0),
    Parameter {
        name: "leaves",
        summary: "ask the tables at the horizon of the search too",
        kind: Kind::Switch { default: false },
    },
];

/// The parameters of the search, with a better evaluator by default, and those of the tables.
const PARAMETERS: [Parameter; expectimax::PARAMETERS.len() + OWN.len()] = {
    let mut all = [OWN[0]; expectimax::PARAMETERS.len() + OWN.len()];
    let mut i = 0;
    while i < all.len() {
        all[i] = if i < expectimax::PARAMETERS.len() {
            expectimax::PARAMETERS[i]
        } else {
            OWN[i - expectimax::PARAMETERS.len()]
        };
        i += 1;
    }
    all
};

pub(crate) const fn row<P: Position>() -> AgentRow<P> {
    AgentRow {
        name: "tables",
        summary: "expectimax that knows endgame tables: how likely the next large tile is to be missed",
        parameters: &PARAMETERS,
        build: |settings, evaluator, context| {
            let tables = tables::tables(settings.word("set"))?;
            let mut evaluator: BoxedEvaluator<P> = evaluator()?;
            let lost = f64::from(evaluator.scale().lost);
            if settings.switch("leaves") {
                evaluator = Box::new(Corrected::new(evaluator, tables.clone()));
            }
            let search = expectimax::build(settings, evaluator, context);
            Ok(Box::new(WithTables { search, tables, lost, weight: settings.number("weight") }))
        },
    }
}
