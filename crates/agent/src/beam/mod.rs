//! Beam search (rows T5, T6): of all positions some moves ahead only the best few are followed, one sampled spawn a move.
//!
//! A position is scored by the points on the way and the worth of its best move. The first move of the best position at the end
//! is played. Luck is not averaged out: a path that drew kind spawns scores well, which is the weakness of the method. `average=true`
//! averages it out.

mod fair;

use std::time::{Duration, Instant};

use afterstate_board::{Afterstate, Direction, Position, Rng, Slides, SpawnRule};
use afterstate_evaluator::{Evaluator, Kind, Parameter};

use crate::clock::Clock;
use crate::hybrid::{self, Hybrid};
use crate::{Agent, AgentRow, Budget, Decision};

/// Afterstates judged in one call.
const BATCH: usize = 256;

struct Beam<P: Position> {
    evaluator: Box<dyn Evaluator<P>>,
    rule: SpawnRule,
    /// Used where the caller leaves the budget open.
    budget: Budget,
    width: usize,
    /// Follow all spawns and take means.
    average: bool,
}

/// A position and how it was reached.
#[derive(Clone, Copy)]
struct Path<P> {
    first: Direction,
    slides: Slides<P>,
    /// What the points on the way count for.
    gained: f64,
    score: f64,
}

impl<P: Position> Beam<P> {
    /// All paths one move longer, unscored; finished games stay as they are.
    fn extended(&self, paths: &[Path<P>], is_root: bool, rng: &mut Rng) -> (Vec<Path<P>>, Vec<Path<P>>) {
        let rewards = f64::from(self.evaluator.scale().rewards);
        let (mut open, mut finished) = (Vec::with_capacity(4 * paths.len()), Vec::new());
        for path in paths {
            if path.slides.legal.is_empty() {
                finished.push(*path);
            }
            for (direction, slide) in path.slides.iter() {
                let position = slide.after.sample(&self.rule, rng);
                let first = if is_root { direction } else { path.first };
                let gained = path.gained + rewards * f64::from(slide.reward);
                open.push(Path { first, slides: position.slides(), gained, score: 0.0 });
            }
        }
        (open, finished)
    }

    /// Scores paths in batches; false if the time is up.
    fn score(&self, paths: &mut [Path<P>], clock: &mut Clock) -> bool {
        let scale = self.evaluator.scale();
        let mut values = [0.0; BATCH];
        for some in paths.chunks_mut(BATCH / 4) {
            if clock.is_up() {
                return false;
            }
            let boards: Vec<Afterstate<P>> = some.iter().flat_map(|path| path.slides.after).collect();
            self.evaluator.evaluate(&boards, &mut values[..boards.len()]);
            for (path, values) in some.iter_mut().zip(values.as_chunks::<4>().0) {
                let moves =
                    path.slides.iter().map(|(d, slide)| scale.rewards * slide.reward as f32 + values[d.index()]);
                path.score = path.gained + f64::from(moves.reduce(f32::max).unwrap_or(scale.lost));
            }
        }
        true
    }
}

impl<P: Position> Agent<P> for Beam<P> {
    fn decide(&mut self, position: &P, budget: &Budget, rng: &mut Rng) -> Decision {
        let began = Instant::now();
        let slides = position.slides();
        if slides.legal.is_empty() {
            return Decision::default();
        }
        let budget = budget.or(self.budget);
        let mut clock = Clock::until(budget.time.map(|time| began + time));
        if self.average {
            return self.decide_fairly(&slides, &budget, &mut clock);
        }
        let rewards = self.evaluator.scale().rewards;
        let mut worth = [0.0; 4];
        self.evaluator.evaluate(&slides.after, &mut worth);
        let value = |d: Direction| f64::from(rewards * slides.reward[d.index()] as f32 + worth[d.index()]);
        let values = Direction::ALL.map(|d| slides.legal.contains(d).then(|| value(d)));
        let mut decision = Decision::best_of(values, slides.legal, 4, 0);
        let mut nodes = 4;
        let mut beam = vec![Path { first: Direction::Left, slides, gained: 0.0, score: 0.0 }];
        for depth in 1..=budget.depth.unwrap_or(DEFAULT_DEPTH as u32) {
            let (mut paths, finished) = self.extended(&beam, depth == 1, rng);
            let cost = 4 * paths.len() as u64;
            let affordable = budget.nodes.is_none_or(|limit| nodes + cost <= limit);
            if paths.is_empty() || !affordable || !self.score(&mut paths, &mut clock) {
                break;
            }
            nodes += cost;
            paths.extend(finished);
            paths.sort_by(|a, b| b.score.total_cmp(&a.score));
            paths.truncate(self.width);
            beam = paths;
            let best =
                |d: Direction| beam.iter().filter(|path| path.first == d).map(|path| path.score).reduce(f64::max);
            decision = Decision::best_of(Direction::ALL.map(best), slides.legal, nodes, depth);
        }
        decision
    }

    fn unit(&self) -> &'static str {
        self.evaluator.scale().unit
    }
}

const DEFAULT_DEPTH: u64 = 4;

const PARAMETERS: &[Parameter] = {
    let [value, empty, mono, smooth, corner] = hybrid::PARAMETERS;
    &[
        Parameter::integer("depth", "spawns to look ahead", DEFAULT_DEPTH, 0, 1000),
        Parameter::integer("width", "positions to follow", 10, 1, 1 << 20),
        Parameter {
            name: "average",
            summary: "follow positions with all their spawns and take means, instead of one sampled spawn a move",
            kind: Kind::Switch { default: false },
        },
        Parameter::optional("ms", "milliseconds for a move at most", 1, 86_400_000),
        Parameter {
            name: "hybrid",
            summary: "weigh features of the board beside the evaluator",
            kind: Kind::Switch { default: false },
        },
        value,
        empty,
        mono,
        smooth,
        corner,
        Parameter {
            name: "eval",
            summary: "what judges the afterstates",
            kind: Kind::Evaluator { default: "heuristic" },
        },
    ]
};

pub(crate) const fn row<P: Position>() -> AgentRow<P> {
    AgentRow {
        name: "beam",
        summary: "follows the best few positions some moves ahead, one sampled spawn a move",
        parameters: PARAMETERS,
        build: |settings, evaluator, context| {
            let evaluator = evaluator()?;
            Ok(Box::new(Beam {
                evaluator: if settings.switch("hybrid") {
                    Box::new(Hybrid::new(evaluator, settings))
                } else {
                    evaluator
                },
                rule: context.rule,
                budget: Budget {
                    depth: Some(settings.integer("depth") as u32),
                    nodes: None,
                    time: settings.optional("ms").map(Duration::from_millis),
                },
                width: settings.integer("width") as usize,
                average: settings.switch("average"),
            }))
        },
    }
}
