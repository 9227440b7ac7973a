//! The engine's speed: random playouts and the four primitives, the fast board beside the plain grid in one run.

use std::hint::black_box;
use std::time::Instant;

use afterstate_board::{Board, Direction, Grid, Position, Rng, SpawnRule, playout, playouts, playouts_singly};
use serde::Serialize;

type Plain = Grid<4, 4>;

/// One workload, measured for several contenders in alternating rounds.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// What was done, in one sentence.
    pub workload: &'static str,
    /// What a rate counts.
    pub unit: &'static str,
    /// Name and best rate per second of each contender.
    pub rates: Vec<(&'static str, f64)>,
    /// The first contender's rate over the last one's.
    pub ratio: f64,
}

/// A contender: does some work and returns how many units it was.
type Work<'a> = (&'static str, Box<dyn FnMut() -> u64 + 'a>);

/// Times all contenders in turn, `rounds` times, and keeps each one's best round: noise only ever slows down.
fn compare(workload: &'static str, unit: &'static str, rounds: u32, mut contenders: Vec<Work<'_>>) -> Comparison {
    let mut rates: Vec<(&'static str, f64)> = contenders.iter().map(|(name, _)| (*name, 0.0)).collect();
    for _ in 0..rounds {
        for ((_, work), (_, best)) in contenders.iter_mut().zip(&mut rates) {
            let begin = Instant::now();
            let units = work();
            *best = f64::max(*best, units as f64 / begin.elapsed().as_secs_f64());
        }
    }
    let ratio = rates[0].1 / rates[rates.len() - 1].1;
    Comparison { workload, unit, rates, ratio }
}

const RULE: &SpawnRule = &SpawnRule::CLASSIC;

fn plain_playouts(games: u64) -> u64 {
    let mut rng = Rng::new(1);
    (0..games).map(|_| u64::from(playout(Plain::start(RULE, &mut rng), u32::MAX, RULE, &mut rng).moves)).sum()
}

/// Positions met by uniformly random play, as both kinds of board.
fn recorded(count: usize) -> (Vec<Board>, Vec<Plain>) {
    let mut rng = Rng::new(2);
    let mut boards = Vec::with_capacity(count);
    let mut board = Board::start(RULE, &mut rng);
    while boards.len() < count {
        boards.push(board);
        let slides = board.slides();
        board = match slides.legal.len() as u32 {
            0 => Board::start(RULE, &mut rng),
            n => slides.after[slides.legal.nth(rng.below(n) as usize).index()].sample(RULE, &mut rng),
        };
    }
    let plain = |b: &Board| {
        let cells = b.exponents();
        Grid::from_exponents(std::array::from_fn(|r| std::array::from_fn(|c| cells[4 * r + c])))
    };
    let plains = boards.iter().map(plain).collect();
    (boards, plains)
}

/// Applies `each` to every position and returns their number.
fn over<P: Position>(positions: &[P], each: impl FnMut(&P)) -> u64 {
    positions.iter().for_each(each);
    positions.len() as u64
}

/// Does `work` so often that it can be timed, and returns the sum of what it returns.
fn repeated(times: u64, work: impl Fn() -> u64) -> u64 {
    (0..times).map(|_| work()).sum()
}

fn all_afterstates<P: Position>(positions: &[P]) -> u64 {
    over(positions, |p| {
        black_box(&p.slides()); // by reference: a value would be copied once more
    })
}

fn one_move<P: Position>(positions: &[P]) -> u64 {
    let mut turn = 0;
    over(positions, |p| {
        turn += 1;
        black_box(&p.slide(Direction::from_index(turn)));
    })
}

fn whole_step<P: Position>(positions: &[P]) -> u64 {
    let mut rng = Rng::new(3);
    over(positions, |p| {
        let slides = p.slides();
        if let n @ 1.. = slides.legal.len() as u32 {
            let direction = slides.legal.nth(rng.below(n) as usize);
            black_box(slides.after[direction.index()].sample(RULE, &mut rng));
        }
    })
}

/// Both workloads of the README, then the four primitives of the published engine: clone, move, legal moves, whole step.
pub fn run(quick: bool) -> Vec<Comparison> {
    let scale = if quick { 1 } else { 8 };
    let games = 25_000 * scale;
    let (boards, plains) = recorded(if quick { 200_000 } else { 1_000_000 });
    let (boards, plains) = (&boards[..], &plains[..]);
    // The primitives run over few enough positions for the first cache: they are measured, not the memory.
    const FEW: usize = 1024;
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let two_sides = |board: fn(&[Board]) -> u64, grid: fn(&[Plain]) -> u64| -> Vec<Work<'_>> {
        vec![
            ("board", Box::new(move || repeated(1_000 * scale, || board(&boards[..FEW])))),
            ("grid", Box::new(move || repeated(20 * scale, || grid(&plains[..FEW])))),
        ]
    };
    vec![
        compare(
            "W1: uniformly random games from two tiles on distinct cells: list the legal moves, pick one, apply, spawn",
            "moves",
            5,
            vec![
                ("batch", Box::new(move || playouts(1, 0..games, RULE).moves)),
                ("batch, all cores", Box::new(move || on_all_cores(cores, games))),
                ("board", Box::new(move || playouts_singly(1, 0..games, RULE).moves)),
                ("grid", Box::new(move || plain_playouts(games / 25))),
            ],
        ),
        compare(
            "W2: all four afterstates with rewards of boards recorded from W1",
            "boards",
            5,
            vec![
                ("board", Box::new(|| all_afterstates(boards))),
                ("grid", Box::new(|| all_afterstates(&plains[..plains.len() / 10]))),
            ],
        ),
        compare("clone: copy a position", "copies", 5, two_sides(clones, clones)),
        compare("move: slide in one direction, taking turns", "moves", 5, two_sides(one_move, one_move)),
        compare("legal: list the legal moves", "lists", 5, two_sides(legal_moves, legal_moves)),
        compare("step: legal moves, pick one, apply, spawn", "steps", 5, two_sides(whole_step, whole_step)),
    ]
}

fn clones<P: Position>(positions: &[P]) -> u64 {
    over(positions, |p| {
        black_box(*p);
    })
}

fn legal_moves<P: Position>(positions: &[P]) -> u64 {
    over(positions, |p| {
        black_box(p.legal());
    })
}

/// The games of W1 shared out over all cores; as many for each core as the single core plays.
fn on_all_cores(cores: u64, games: u64) -> u64 {
    std::thread::scope(|scope| {
        let parts: Vec<_> =
            (0..cores).map(|i| scope.spawn(move || playouts(1, i * games..(i + 1) * games, RULE).moves)).collect();
        parts.into_iter().map(|part| part.join().unwrap_or(0)).sum()
    })
}
