//! The searches' speed: slides a second over depths and threads, batched leaves beside plain ones, time budgets kept.

use std::thread;
use std::time::Instant;

use afterstate_agent::{BoxedAgent, Budget, Context, build_from_text};
use afterstate_board::{Board, Position, Rng, SpawnRule};
use serde::Serialize;

use crate::BenchError;

/// Everything that `bench search` measures.
#[derive(Debug, Serialize)]
pub struct SearchReport {
    /// Positions that every search decided on.
    pub positions: usize,
    /// Expectimax at several depths.
    pub depths: Vec<DepthReport>,
    /// Batched leaves.
    pub batches: Vec<BatchedReport>,
    /// Time budgets.
    pub budgets: Vec<BudgetReport>,
}

/// Expectimax with the heuristic at one depth, on one thread and on two.
#[derive(Debug, Serialize)]
pub struct DepthReport {
    /// Spawns looked ahead.
    pub depth: u32,
    /// Nothing left out.
    pub exact: bool,
    /// Slides examined for a decision.
    pub slides: f64,
    /// Microseconds a decision on one thread.
    pub micros: f64,
    /// Million slides a second on one thread.
    pub rate: f64,
    /// One thread's time over that of two threads on the same decision.
    pub two_threads: f64,
    /// Million slides a second of two threads on the same decision.
    pub two_rate: f64,
    /// What two threads with decisions of their own get done over what one does: all that the machine has to give.
    pub two_searches: f64,
}

/// Leaves judged in one call beside the plain search.
#[derive(Debug, Serialize)]
pub struct BatchedReport {
    /// The search.
    pub agent: String,
    /// Microseconds a decision, leaf by leaf.
    pub plain_micros: f64,
    /// Microseconds a decision, in batches.
    pub batched_micros: f64,
    /// Batched over plain.
    pub ratio: f64,
    /// Leaves in a batch.
    pub leaves: f64,
    /// The share of leaves met that were in it already.
    pub hit_rate: f64,
}

/// How a time budget was kept, in milliseconds.
#[derive(Debug, Serialize)]
pub struct BudgetReport {
    /// The search.
    pub agent: String,
    /// The budget.
    pub ms: u64,
    /// What half of the decisions took at most.
    pub p50: f64,
    /// What 99 of 100 took at most.
    pub p99: f64,
    /// What the longest took.
    pub max: f64,
    /// The 99th percentile is at most 10% and 2 ms above the budget.
    pub is_kept: bool,
}

fn agent(spec: &str) -> Result<BoxedAgent<Board>, BenchError> {
    Ok(build_from_text(spec, &Context::default())?)
}

/// Positions of games that look one spawn ahead, 500 or more moves into them.
fn positions(count: usize) -> Result<Vec<Board>, BenchError> {
    let (rule, mut rng, mut player) = (SpawnRule::CLASSIC, Rng::new(7), agent("expectimax:depth=1")?);
    let mut found = Vec::new();
    while found.len() < count {
        let (mut board, mut moves) = (Board::start(&rule, &mut rng), 0);
        while let Some(direction) = player.decide(&board, &Budget::OWN, &mut Rng::new(0)).direction {
            board = board.slides().of(direction).after.sample(&rule, &mut rng);
            moves += 1;
            if moves >= 500 && moves % 97 == 0 && !board.is_over() {
                found.push(board);
            }
        }
    }
    found.truncate(count);
    Ok(found)
}

/// Decides on every position as in games of their own; seconds and slides of all.
fn decide_all(player: &mut BoxedAgent<Board>, boards: &[Board]) -> (f64, u64) {
    let began = Instant::now();
    let decide = |board: &Board| {
        player.new_game();
        player.decide(board, &Budget::OWN, &mut Rng::new(0)).nodes
    };
    let slides = boards.iter().map(decide).sum();
    (began.elapsed().as_secs_f64(), slides)
}

/// The best of some rounds: noise only ever slows down.
fn quickest(rounds: u32, mut seconds: impl FnMut() -> f64) -> f64 {
    (0..rounds).map(|_| seconds()).fold(f64::INFINITY, f64::min)
}

fn depth_report(depth: u32, exact: bool, boards: &[Board], rounds: u32) -> Result<DepthReport, BenchError> {
    let spec = format!("expectimax:depth={depth},exact={exact},eval=heuristic");
    let (mut one, mut other, mut two) = (agent(&spec)?, agent(&spec)?, agent(&format!("{spec},threads=2"))?);
    let (slides, both) = (decide_all(&mut one, boards).1, decide_all(&mut two, boards).1);
    let [mut alone, mut shared, mut side_by_side] = [f64::INFINITY; 3];
    for _ in 0..rounds {
        alone = alone.min(decide_all(&mut one, boards).0);
        shared = shared.min(decide_all(&mut two, boards).0);
        let began = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| decide_all(&mut other, boards));
            decide_all(&mut one, boards);
        });
        side_by_side = side_by_side.min(began.elapsed().as_secs_f64());
    }
    let count = boards.len() as f64;
    Ok(DepthReport {
        depth,
        exact,
        slides: slides as f64 / count,
        micros: 1e6 * alone / count,
        rate: slides as f64 / alone / 1e6,
        two_threads: alone / shared,
        two_rate: both as f64 / shared / 1e6,
        two_searches: 2.0 * alone / side_by_side,
    })
}

fn batched_report(spec: &str, boards: &[Board], rounds: u32) -> Result<BatchedReport, BenchError> {
    let (mut plain, mut batched) = (agent(spec)?, agent(&format!("{spec},batch=true"))?);
    let (mut leaves, mut met) = (0, 0);
    for board in boards {
        let report = batched.decide(board, &Budget::OWN, &mut Rng::new(0)).batch.unwrap_or_default();
        leaves += report.leaves;
        met += report.met;
    }
    let [mut plainly, mut in_batches] = [f64::INFINITY; 2];
    for _ in 0..rounds {
        plainly = plainly.min(quickest(1, || decide_all(&mut plain, boards).0));
        in_batches = in_batches.min(quickest(1, || decide_all(&mut batched, boards).0));
    }
    let micros = |seconds: f64| 1e6 * seconds / boards.len() as f64;
    Ok(BatchedReport {
        agent: spec.to_owned(),
        plain_micros: micros(plainly),
        batched_micros: micros(in_batches),
        ratio: in_batches / plainly,
        leaves: leaves as f64 / boards.len() as f64,
        hit_rate: 1.0 - leaves as f64 / met.max(1) as f64,
    })
}

fn budget_report(name: &str, ms: u64, boards: &[Board]) -> Result<BudgetReport, BenchError> {
    let spec = format!("{name}:ms={ms}");
    let (mut player, mut rng) = (agent(&spec)?, Rng::new(0));
    let mut spent: Vec<f64> = Vec::new();
    for board in boards {
        let began = Instant::now();
        player.decide(board, &Budget::OWN, &mut rng);
        spent.push(1e3 * began.elapsed().as_secs_f64());
    }
    spent.sort_by(f64::total_cmp);
    let at = |share: f64| spent[((spent.len() - 1) as f64 * share).round() as usize];
    let (p50, p99, max) = (at(0.5), at(0.99), at(1.0));
    Ok(BudgetReport { agent: spec, ms, p50, p99, max, is_kept: p99 <= 1.1 * ms as f64 + 2.0 })
}

/// Measures everything; `quick` with an eighth of the positions.
pub fn run(quick: bool) -> Result<SearchReport, BenchError> {
    let (count, rounds) = if quick { (20, 2) } else { (160, 3) };
    let boards = positions(count)?;
    let few = &boards[..count / 4];
    let depths = [(2, false), (3, false), (4, false), (5, false), (6, false), (3, true)];
    let of_depth = |(depth, exact)| depth_report(depth, exact, if depth > 4 { few } else { &boards }, rounds);
    let batches = [
        "expectimax:depth=3,eval=heuristic",
        "expectimax:depth=3,eval=zero",
        "expectimax:depth=2,exact=true,eval=zero",
        "expectimax:depth=2,exact=true,eval=heuristic",
    ];
    let searches = ["expectimax", "minimax", "uct", "mcts"];
    let budgets = searches.iter().flat_map(|name| [1, 5, 20].map(|ms| (name, ms)));
    Ok(SearchReport {
        positions: count,
        depths: depths.into_iter().map(of_depth).collect::<Result<_, BenchError>>()?,
        batches: batches.iter().map(|spec| batched_report(spec, few, rounds)).collect::<Result<_, BenchError>>()?,
        budgets: budgets.map(|(name, ms)| budget_report(name, ms, &boards)).collect::<Result<_, BenchError>>()?,
    })
}
