//! Minimax: look `depth` spawns ahead as if an adversary placed them, and take the move whose worst case is best.
//!
//! Depth 0 judges the afterstates of the root. Under a time or node budget it deepens step by step and keeps the deepest search
//! that was finished. Every move of the root gets its own full window, so that all four values are true.

mod search;
mod table;

use std::panic::resume_unwind;
use std::thread;
use std::time::{Duration, Instant};

use afterstate_board::{Direction, Position, Rng, Slides, SpawnRule};
use afterstate_evaluator::{BoxedEvaluator, Evaluator, Kind, LineTables, Parameter, Settings};

use crate::clock::Clock;
use crate::{Agent, AgentRow, BoxedAgent, Budget, Context, Decision};
use search::Search;
use table::Table;

/// The deepest search there is.
const MAX_DEPTH: u32 = 31;

/// How deep to look if nothing says otherwise.
const DEFAULT_DEPTH: u32 = 2;

/// Shallower searches are over before a thread has started.
const SHARED_FROM: u32 = 2;

struct Minimax<P, E> {
    evaluator: E,
    rule: SpawnRule,
    /// Used where the caller leaves the budget open.
    budget: Budget,
    threads: usize,
    /// One for each thread; none with `exact`.
    tables: Vec<Table<P>>,
}

/// What a search of some depth found: the values of the moves unless a limit came first, and the slides examined.
type Found = (Option<[f64; 4]>, u64);

impl<P: Position, E: Evaluator<P>> Minimax<P, E> {
    /// Searches to one depth, on several threads with every n-th spawn of the root for each. The shares are fixed, so that
    /// values and node counts do not depend on timing.
    fn search(&mut self, slides: &Slides<P>, depth: u32, nodes: u64, deadline: Option<Instant>) -> Found {
        let (evaluator, rule) = (&self.evaluator, &self.rule);
        let parts = if depth >= SHARED_FROM { self.threads } else { 1 };
        let work = |part: usize, table: Option<&mut Table<P>>| {
            let scale = evaluator.scale();
            let mut search = Search {
                evaluator,
                rule,
                rewards: f64::from(scale.rewards),
                lost: f64::from(scale.lost),
                table,
                clock: Clock::until(deadline),
                allowance: nodes / parts as u64,
                nodes: 0,
                stopped: false,
                worst: [None; MAX_DEPTH as usize + 1],
            };
            let values = search.root(slides, depth, part, parts);
            ((!search.stopped).then_some(values), search.nodes)
        };
        let mut tables = self.tables.iter_mut();
        if parts == 1 {
            return work(0, tables.next());
        }
        let least = |a: [f64; 4], b: [f64; 4]| std::array::from_fn(|i| a[i].min(b[i]));
        thread::scope(|scope| {
            let work = &work;
            let spawn = |part| {
                let table = tables.next();
                scope.spawn(move || work(part, table))
            };
            let handles: Vec<_> = (0..parts).map(spawn).collect();
            let found = handles.into_iter().map(|handle| handle.join().unwrap_or_else(|panic| resume_unwind(panic)));
            let together = |a: Found, b: Found| (a.0.zip(b.0).map(|(a, b)| least(a, b)), a.1 + b.1);
            found.reduce(together).unwrap_or((None, 0))
        })
    }
}

impl<P: Position, E: Evaluator<P>> Agent<P> for Minimax<P, E> {
    fn decide(&mut self, position: &P, budget: &Budget, _: &mut Rng) -> Decision {
        let began = Instant::now();
        let budget = budget.or(self.budget);
        if budget.nodes.is_some_and(|nodes| nodes < 4) {
            // Not even one position can be looked at.
            return Decision { direction: position.legal().iter().next(), ..Decision::default() };
        }
        let slides = position.slides();
        if slides.legal.is_empty() {
            return Decision::default();
        }
        let bounded = budget.time.is_some() || budget.nodes.is_some();
        let deepest = budget.depth.unwrap_or(if bounded { MAX_DEPTH } else { DEFAULT_DEPTH }).min(MAX_DEPTH);
        self.tables.iter_mut().for_each(Table::clear);
        // The slides of the root are examined once, and depth 0 needs no others: there is always a decision.
        let mut nodes = 4;
        let mut decision = Decision::default();
        for depth in if bounded { 0 } else { deepest }..=deepest {
            let left = budget.nodes.map_or(u64::MAX, |limit| limit.saturating_sub(nodes));
            let (values, examined) = self.search(&slides, depth, left, budget.time.map(|time| began + time));
            nodes += examined;
            let Some(values) = values else { break };
            let values = Direction::ALL.map(|d| slides.legal.contains(d).then(|| values[d.index()]));
            decision = Decision::best_of(values, slides.legal, nodes, depth);
            if slides.legal.len() == 1 && bounded {
                break;
            }
        }
        decision.nodes = nodes;
        decision
    }

    fn unit(&self) -> &'static str {
        self.evaluator.scale().unit
    }
}

const PARAMETERS: &[Parameter] = &[
    Parameter::optional("depth", "spawns to look ahead (2 without any budget)", 0, MAX_DEPTH as u64),
    Parameter::optional("nodes", "slides to examine for a move at most", 1, u64::MAX),
    Parameter::optional("ms", "milliseconds for a move at most", 1, 86_400_000),
    Parameter {
        name: "exact",
        summary: "plain alpha-beta: no transposition table (the values are the same)",
        kind: Kind::Switch { default: false },
    },
    Parameter::integer("threads", "cores for one decision", 1, 1, 64),
    Parameter {
        name: "eval",
        summary: "what judges the afterstates at the horizon",
        kind: Kind::Evaluator { default: "heuristic" },
    },
];

fn build<P: Position>(settings: &Settings, evaluator: BoxedEvaluator<P>, context: &Context) -> BoxedAgent<P> {
    fn boxed<P: Position, E: Evaluator<P> + 'static>(
        evaluator: E,
        settings: &Settings,
        rule: SpawnRule,
    ) -> BoxedAgent<P> {
        let threads = settings.integer("threads") as usize;
        let budget = Budget {
            depth: settings.optional("depth").map(|depth| depth as u32),
            nodes: settings.optional("nodes"),
            time: settings.optional("ms").map(Duration::from_millis),
        };
        let tables = if settings.switch("exact") { 0 } else { threads };
        let tables = (0..tables).map(|_| Table::new()).collect();
        Box::new(Minimax { evaluator, rule, budget, threads, tables })
    }
    // Sums over lines are looked up in place; anything else through the trait object.
    match evaluator.line_tables().cloned() {
        Some(tables) => boxed::<P, LineTables>(tables, settings, context.rule),
        None => boxed::<P, BoxedEvaluator<P>>(evaluator, settings, context.rule),
    }
}

pub(crate) const fn row<P: Position>() -> AgentRow<P> {
    AgentRow {
        name: "minimax",
        summary: "looks some spawns ahead, fears the worst of them, takes the best move",
        parameters: PARAMETERS,
        build: |settings, evaluator, context| Ok(build(settings, evaluator()?, context)),
    }
}
