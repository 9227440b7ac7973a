//! Expectimax: look `depth` spawns ahead, average over what may spawn, take the best move.
//!
//! Depth 0 judges the afterstates of the root. Under a budget it deepens step by step and keeps the deepest search that was finished;
//! without any it does so until it has made enough of an effort, so that the depth adapts to the position. With `exact` it
//! considers everything.

mod batched;
mod root;
mod search;
mod table;

use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

use afterstate_board::{Direction, Directions, Position, Rng, Slides, Spawn, SpawnRule};
use afterstate_evaluator::{BoxedEvaluator, Care, Evaluator, Kind, LineTables, Parameter, Settings};

use crate::{Agent, AgentRow, BatchReport, BoxedAgent, Budget, Context, Decision, facing};
use batched::{Batched, Workspace};
use root::{Found, Root};
use search::{Limits, Search, Selection};
use table::{Horizon, Memory};

/// Settings that do not change from move to move.
#[derive(Clone, Copy, Debug)]
struct Options {
    /// Used where the caller leaves the budget open.
    budget: Budget,
    /// Rare spawns allowed on a path.
    rare: u8,
    selection: Selection,
    /// When a search of adapted depth is content.
    effort: Option<u64>,
    threads: usize,
    /// Judge all leaves in one call.
    batch: bool,
}

struct Expectimax<P, E> {
    evaluator: E,
    rule: SpawnRule,
    options: Options,
    memory: Option<Memory>,
    unit: &'static str,
    workspace: Workspace<P>,
}

impl<P: Position, E: Evaluator<P>> Expectimax<P, E> {
    fn horizon(&self, depth: u8) -> Horizon {
        Horizon { depth, rare: self.options.rare }
    }

    /// Values found so far are of no use any more.
    fn forget(&mut self) {
        if let Some(memory) = &mut self.memory {
            memory.clear();
        }
    }

    /// One search to the given depth, the moves in the order of their earlier values.
    fn search(
        &mut self,
        slides: &Slides<P>,
        depth: u8,
        threads: usize,
        limits: Limits,
        earlier: &Values,
    ) -> (Found, Option<BatchReport>) {
        let (horizon, selection) = (self.horizon(depth), self.options.selection);
        let (evaluator, rule) = (&self.evaluator, &self.rule);
        if self.options.batch && depth > 0 {
            let batched = Batched { evaluator, rule, selection, limits };
            let (found, report) = batched.search(slides, horizon, &mut self.workspace);
            return (found, Some(report));
        }
        let root = Root { evaluator, rule, selection, memory: self.memory.as_ref(), slides: *slides, threads };
        (root.search(horizon, limits, best_first(slides.legal, earlier)), None)
    }
}

/// Which depths to search one after the other, and when to be content.
struct Plan {
    depths: RangeInclusive<u8>,
    /// No deeper search once so many slides were examined: boards with few ways to go on are looked at further ahead.
    effort: u64,
}

impl Plan {
    /// Under a bound all depths from 0 on; else the depth given, and from there on for as long as the effort allows.
    fn of(budget: &Budget, effort: Option<u64>, cells: usize) -> Self {
        const MAX: u8 = Horizon::MAX_DEPTH;
        let depth = budget.depth.map(|depth| depth.min(u32::from(MAX)) as u8);
        let is_bounded = budget.time.is_some() || budget.nodes.is_some();
        match (depth, effort) {
            _ if is_bounded => Self { depths: 0..=depth.unwrap_or(MAX), effort: effort.unwrap_or(u64::MAX) },
            (None, None) if cells <= 16 => Self { depths: DEFAULT_DEPTH..=MAX, effort: DEFAULT_EFFORT },
            (None, None) => Self { depths: 1..=MAX, effort: DEFAULT_EFFORT },
            (None, Some(effort)) => Self { depths: 1..=MAX, effort },
            (Some(depth), Some(effort)) => Self { depths: depth..=MAX, effort },
            (Some(depth), None) => Self { depths: depth..=depth, effort: u64::MAX },
        }
    }
}

/// The legal moves, those of the highest earlier value first.
fn best_first(legal: Directions, earlier: &Values) -> impl Iterator<Item = Direction> {
    let value = |d: &Direction| earlier[d.index()].unwrap_or(f64::NEG_INFINITY);
    let mut order: Vec<Direction> = legal.iter().collect();
    order.sort_by(|a, b| value(b).total_cmp(&value(a)));
    order.into_iter()
}

/// What a decision becomes when a deeper search was cut off: the best of the moves it finished, the best one so far among them. The
/// others keep their earlier values as far as those are not better.
fn improved(decision: Decision, finished: &Values, legal: Directions) -> Decision {
    let was_first = |d: Direction| finished[d.index()].is_some();
    if !decision.direction.is_some_and(was_first) {
        return decision;
    }
    let best = finished.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    let value = |i: usize| finished[i].or(decision.values[i].map(|earlier| earlier.min(best)));
    let values = std::array::from_fn(value);
    let direction = legal.iter().find(|d| finished[d.index()] == Some(best));
    Decision { direction, values, ..decision }
}

impl<P: Position, E: Evaluator<P>> Agent<P> for Expectimax<P, E> {
    fn decide(&mut self, position: &P, budget: &Budget, _: &mut Rng) -> Decision {
        let began = Instant::now();
        let budget = budget.or(self.options.budget);
        if budget.nodes.is_some_and(|nodes| nodes < 4) {
            // Not even one position can be looked at.
            return Decision { direction: position.legal().iter().next(), ..Decision::default() };
        }
        let slides = position.slides();
        if slides.legal.is_empty() {
            return Decision::default();
        }
        if self.evaluator.look_from(position) {
            self.forget();
        }
        let Plan { depths, effort } = Plan::of(&budget, self.options.effort, P::CELLS);
        // Which thread finds what in the table first would change the count, so a budget of nodes is spent by one thread.
        let threads = if budget.nodes.is_some() { 1 } else { self.options.threads };
        let mut decision = Decision { nodes: 4, ..Decision::default() };
        for depth in depths.clone() {
            // The shallowest search is always finished: there must be a move.
            let first = depth == *depths.start();
            let nodes = budget.nodes.filter(|_| !first).map_or(u64::MAX, |limit| limit.saturating_sub(decision.nodes));
            let limits = Limits { nodes, deadline: budget.time.filter(|_| !first).map(|time| began + time) };
            let (found, batch) = self.search(&slides, depth, threads, limits, &decision.values);
            let nodes = decision.nodes + found.nodes;
            if !found.is_complete {
                decision = Decision { nodes, ..improved(decision, &found.values, slides.legal) };
                break;
            }
            decision = Decision { batch, ..Decision::best_of(found.values, slides.legal, nodes, u32::from(depth)) };
            if nodes >= effort || slides.legal.len() == 1 {
                break;
            }
        }
        decision
    }

    fn new_game(&mut self) {
        self.forget();
    }

    fn line(&mut self, position: &P, decision: &Decision) -> Vec<(Direction, Option<Spawn>)> {
        let unlimited = Limits { nodes: u64::MAX, deadline: None };
        let selection = self.options.selection;
        let tables = self.memory.as_ref().map(|memory| memory.of_thread(0));
        let mut search = Search::new(&self.evaluator, &self.rule, selection, tables, unlimited);
        let horizon = self.horizon(decision.depth.min(u32::from(Horizon::MAX_DEPTH)) as u8);
        decision.direction.map_or_else(Vec::new, |direction| search.line(position, direction, horizon))
    }

    fn unit(&self) -> &'static str {
        self.unit
    }
}

/// Without any budget: the fast default, thousands of moves a second. Larger boards begin at one spawn.
const DEFAULT_DEPTH: u8 = 3;
const DEFAULT_EFFORT: u64 = 5_000;

/// How much less deep the search goes after a rare spawn.
const RARE_COST: u8 = 1;

pub(crate) const PARAMETERS: [Parameter; 12] = parameters("heuristic");

/// The parameters, with the evaluator to ask by default.
pub(crate) const fn parameters(eval: &'static str) -> [Parameter; 12] {
    [
        Parameter::optional(
            "depth",
            "spawns to look ahead; 0 judges the afterstates of the root",
            0,
            Horizon::MAX_DEPTH as u64,
        ),
        Parameter::optional("nodes", "slides to examine for a move at most", 1, u64::MAX),
        Parameter::optional("ms", "milliseconds for a move at most", 1, 86_400_000),
        Parameter::optional(
            "effort",
            "depth adapted to the position: from `depth` on deeper by one spawn until so many slides were examined",
            1,
            u64::MAX,
        ),
        Parameter {
            name: "exact",
            summary: "consider every move and every spawn: nothing is left out",
            kind: Kind::Switch { default: false },
        },
        Parameter::optional(
            "rare",
            "spawns other than the most likely kind allowed on a path; unset: as suits the evaluator",
            0,
            Horizon::UNLIMITED as u64 - 1,
        ),
        Parameter::optional(
            "room",
            "rare spawns count where at most so many cells are empty; unset: as suits the evaluator",
            0,
            64,
        ),
        Parameter::number(
            "margin",
            "moves this many times the evaluator's clear margin below the best are not followed",
            1.0,
            0.0,
            1e9,
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
            kind: Kind::Evaluator { default: eval },
        },
    ]
}

/// KiB that suit a budget: a shallow search fills few entries, and those should stay in the cache.
fn table_size(budget: &Budget) -> u64 {
    let by_depth = |depth: u32| 1 << (2 * depth.min(8)) >> 1;
    let by_nodes = |nodes: u64| nodes / 128;
    let by_time = |time: Duration| 256 * time.as_millis() as u64;
    let sizes = [budget.depth.map(by_depth), budget.nodes.map(by_nodes), budget.time.map(by_time)];
    sizes.into_iter().flatten().min().unwrap_or(256).clamp(64, 65_536)
}

fn options(settings: &Settings, effort: Option<u64>, care: Care) -> Options {
    let budget = Budget {
        depth: settings.optional("depth").map(|depth| depth as u32),
        nodes: settings.optional("nodes"),
        time: settings.optional("ms").map(Duration::from_millis),
    };
    let (rare, selection) = if settings.switch("exact") {
        (Horizon::UNLIMITED, Selection::EVERYTHING)
    } else {
        // No number of unknown margins is a margin.
        let known = care.margin.is_finite();
        let margin = if known { settings.number("margin") as f32 * care.margin } else { f32::INFINITY };
        let room = settings.optional("room").map_or(u32::from(care.room), |room| room as u32);
        let rare = settings.optional("rare").map_or(care.rare, |rare| rare as u8);
        (rare, Selection { margin, room, rare_cost: RARE_COST })
    };
    let (threads, batch) = (settings.integer("threads") as usize, settings.switch("batch"));
    Options { budget, rare, selection, effort: settings.optional("effort").or(effort), threads, batch }
}

/// A search by its settings; `effort` is that of a search whose settings name none.
pub(crate) fn build<P: Position>(
    settings: &Settings,
    effort: Option<u64>,
    evaluator: BoxedEvaluator<P>,
    context: &Context,
) -> BoxedAgent<P> {
    fn boxed<P: Position, E: Evaluator<P> + 'static>(
        evaluator: E,
        settings: &Settings,
        effort: Option<u64>,
        context: &Context,
    ) -> BoxedAgent<P> {
        let options = options(settings, effort, evaluator.care());
        let size = settings.optional("table").unwrap_or_else(|| table_size(&options.budget));
        let memory = (size > 0).then(|| Memory::new(size, options.threads));
        let unit = evaluator.scale().unit;
        Box::new(Expectimax { evaluator, rule: context.rule, options, memory, unit, workspace: Workspace::default() })
    }
    // Sums over lines are looked up in place; anything else through the trait object.
    match evaluator.line_tables().cloned() {
        Some(tables) => boxed::<P, LineTables>(tables, settings, effort, context),
        None => boxed::<P, BoxedEvaluator<P>>(evaluator, settings, effort, context),
    }
}

pub(crate) const fn row<P: Position>() -> AgentRow<P> {
    AgentRow {
        name: "expectimax",
        summary: "looks some spawns ahead, averages over them, takes the best move",
        parameters: &PARAMETERS,
        build: |settings, evaluator, context| facing::around(evaluator, build(settings, None, evaluator()?, context)),
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
