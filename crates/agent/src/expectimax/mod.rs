//! Expectimax: look `depth` spawns ahead, average over what may spawn, take the best move.
//!
//! Depth 0 judges the afterstates of the root. Under a time or node budget it deepens step by step and keeps the deepest search
//! that was finished. With `exact` it considers everything and remembers nothing but the table.

mod batched;
mod root;
mod search;
mod table;

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use afterstate_board::{Direction, Position, Rng, Slides, Spawn, SpawnRule};
use afterstate_evaluator::{BoxedEvaluator, Evaluator, Kind, LineTables, Parameter, Settings};

use crate::{Agent, AgentRow, BatchReport, BoxedAgent, Budget, Context, Decision};
use root::{Found, Root};
use search::{Limits, Search};
use table::{Horizon, Table};

/// Settings that do not change from move to move.
#[derive(Clone, Copy, Debug)]
struct Options {
    /// Used where the caller leaves the budget open.
    budget: Budget,
    /// Rare spawns allowed on a path.
    rare: u8,
    threads: usize,
    /// Judge all leaves in one call.
    batch: bool,
}

struct Expectimax<E> {
    evaluator: E,
    rule: SpawnRule,
    options: Options,
    table: Option<Table>,
    unit: &'static str,
}

impl<E> Expectimax<E> {
    /// The depths to search one after the other: all up to the deepest under a bound, else the deepest alone.
    fn depths(&self, budget: &Budget) -> RangeInclusive<u8> {
        let bounded = budget.time.is_some() || budget.nodes.is_some();
        let unset = if bounded { u32::from(Horizon::MAX_DEPTH) } else { DEFAULT_DEPTH };
        let deepest = budget.depth.unwrap_or(unset).min(u32::from(Horizon::MAX_DEPTH)) as u8;
        if bounded { 0..=deepest } else { deepest..=deepest }
    }

    fn horizon(&self, depth: u8) -> Horizon {
        Horizon { depth, rare: self.options.rare }
    }

    /// One search to the given depth.
    fn search<P: Position>(
        &self,
        slides: &Slides<P>,
        depth: u8,
        threads: usize,
        limits: Limits,
    ) -> (Found, Option<BatchReport>)
    where
        E: Evaluator<P>,
    {
        let (evaluator, rule) = (&self.evaluator, &self.rule);
        if self.options.batch && depth > 0 {
            let (found, report) = batched::search(evaluator, rule, slides, self.horizon(depth), limits);
            return (found, Some(report));
        }
        let root = Root { evaluator, rule, table: self.table.as_ref(), slides: *slides, threads };
        (root.search(self.horizon(depth), limits), None)
    }
}

impl<P: Position, E: Evaluator<P>> Agent<P> for Expectimax<E> {
    fn decide(&mut self, position: &P, budget: &Budget, _: &mut Rng) -> Decision {
        let began = Instant::now();
        let slides = position.slides();
        if slides.legal.is_empty() {
            return Decision::default();
        }
        let budget = budget.or(self.options.budget);
        let depths = self.depths(&budget);
        // Which thread finds what in the table first would change the count, so a budget of nodes is spent by one thread.
        let threads = if budget.nodes.is_some() { 1 } else { self.options.threads };
        let mut decision = Decision { nodes: 4, ..Decision::default() };
        for depth in depths.clone() {
            // The shallowest search is always finished: there must be a move.
            let first = depth == *depths.start();
            let nodes = budget.nodes.filter(|_| !first).map_or(u64::MAX, |limit| limit.saturating_sub(decision.nodes));
            let limits = Limits { nodes, deadline: budget.time.filter(|_| !first).map(|time| began + time) };
            let (found, batch) = self.search(&slides, depth, threads, limits);
            let nodes = decision.nodes + found.nodes;
            match found.values {
                Some(values) => {
                    decision = Decision { batch, ..Decision::best_of(values, slides.legal, nodes, u32::from(depth)) };
                }
                None => {
                    decision.nodes = nodes;
                    break;
                }
            }
        }
        decision
    }

    fn new_game(&mut self) {
        if let Some(table) = &mut self.table {
            table.clear();
        }
    }

    fn line(&mut self, position: &P, decision: &Decision) -> Vec<(Direction, Option<Spawn>)> {
        let unlimited = Limits { nodes: u64::MAX, deadline: None };
        let mut search = Search::new(&self.evaluator, &self.rule, self.table.as_ref(), unlimited);
        let horizon = self.horizon(decision.depth.min(u32::from(Horizon::MAX_DEPTH)) as u8);
        decision.direction.map_or_else(Vec::new, |direction| search.line(position, direction, horizon))
    }

    fn unit(&self) -> &'static str {
        self.unit
    }
}

/// Without any budget: the fast default, thousands of moves a second.
const DEFAULT_DEPTH: u32 = 3;

const PARAMETERS: &[Parameter] = &[
    Parameter::optional(
        "depth",
        "spawns to look ahead; 0 judges the afterstates of the root",
        0,
        Horizon::MAX_DEPTH as u64,
    ),
    Parameter::optional("nodes", "slides to examine for a move at most", 1, u64::MAX),
    Parameter::optional("ms", "milliseconds for a move at most", 1, 86_400_000),
    Parameter {
        name: "exact",
        summary: "consider every spawn: no cap on rare ones",
        kind: Kind::Switch { default: false },
    },
    Parameter::integer(
        "rare",
        "spawns other than the most likely kind allowed on a path",
        1,
        0,
        Horizon::UNLIMITED as u64 - 1,
    ),
    Parameter::integer("threads", "cores for one decision", 1, 1, 64),
    Parameter {
        name: "batch",
        summary: "judge all leaves in one call of the evaluator (one thread, no table)",
        kind: Kind::Switch { default: false },
    },
    Parameter::optional("table", "KiB for the transposition table, 0 for none; unset: by the budget", 0, 1 << 22),
    Parameter {
        name: "eval",
        summary: "what judges the afterstates at the horizon",
        kind: Kind::Evaluator { default: "heuristic" },
    },
];

/// KiB that suit a budget: a shallow search fills few entries, and those should stay in the cache.
fn table_size(budget: &Budget) -> u64 {
    let by_depth = |depth: u32| 4 << (2 * depth.min(6));
    let by_nodes = |nodes: u64| nodes / 16;
    let by_time = |time: Duration| 256 * time.as_millis() as u64;
    let sizes = [budget.depth.map(by_depth), budget.nodes.map(by_nodes), budget.time.map(by_time)];
    sizes.into_iter().flatten().min().unwrap_or_else(|| by_depth(DEFAULT_DEPTH)).clamp(64, 65_536)
}

fn options(settings: &Settings) -> Options {
    let budget = Budget {
        depth: settings.optional("depth").map(|depth| depth as u32),
        nodes: settings.optional("nodes"),
        time: settings.optional("ms").map(Duration::from_millis),
    };
    let rare = if settings.switch("exact") { Horizon::UNLIMITED } else { settings.integer("rare") as u8 };
    Options { budget, rare, threads: settings.integer("threads") as usize, batch: settings.switch("batch") }
}

fn build<P: Position>(settings: &Settings, evaluator: BoxedEvaluator<P>, context: &Context) -> BoxedAgent<P> {
    fn boxed<P: Position, E: Evaluator<P> + 'static>(
        evaluator: E,
        settings: &Settings,
        context: &Context,
    ) -> BoxedAgent<P> {
        let options = options(settings);
        let size = settings.optional("table").unwrap_or_else(|| table_size(&options.budget));
        let table = (size > 0).then(|| Table::new(size));
        let unit = evaluator.scale().unit;
        Box::new(Expectimax { evaluator, rule: context.rule, options, table, unit })
    }
    // Sums over lines are looked up in place; anything else through the trait object.
    match evaluator.line_tables().cloned() {
        Some(tables) => boxed::<P, LineTables>(tables, settings, context),
        None => boxed::<P, BoxedEvaluator<P>>(evaluator, settings, context),
    }
}

pub(crate) const fn row<P: Position>() -> AgentRow<P> {
    AgentRow {
        name: "expectimax",
        summary: "looks some spawns ahead, averages over them, takes the best move",
        parameters: PARAMETERS,
        build: |settings, evaluator, context| Ok(build(settings, evaluator()?, context)),
    }
}

/// Values by direction index.
type Values = [Option<f64>; 4];

/// The values of the legal directions.
fn values_of(legal: impl Iterator<Item = (Direction, f64)>) -> Values {
    legal.fold([None; 4], |mut values, (direction, value)| {
        values[direction.index()] = Some(value);
        values
    })
}
