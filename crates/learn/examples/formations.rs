//! How good is a formation of large tiles? Six of them, no two alike, lie on a 4x4 board, some of them may slide, and in the ten cells that are left
//! two halves of a goal are to be lined up beside the last of the six. How often the best play fails is computed exactly, by dynamic programming over
//! tile sums, without the bounds that keep the endgame tables small (but for the sum: to have more than EIGHTHS of the goal is to have failed): what a
//! table of such a formation could reach at best.
//!
//! `cargo run --release -p afterstate-learn --example formations -- GOAL FORMATION [EIGHTHS]`: a goal from 32 to 512, and up to how many eighths of it
//! the other tiles may add up to (9; smaller goals need more room, 12). A goal of 512 has 1.9 billion states for each way in which the large tiles may lie,
//! some minutes.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use afterstate_board::{Board, Position};

/// Three pairs of large tiles, each one above the other: the columns they lie in, and how far each may slide down. The last of the six is the lower
/// one of a pair.
struct Formation {
    name: &'static str,
    columns: [usize; 3],
    slides: [usize; 3],
    last: usize,
}

const FORMATIONS: [Formation; 7] = [
    Formation { name: "block", columns: [0, 1, 2], slides: [0, 0, 0], last: 2 },
    Formation { name: "block-edge", columns: [0, 1, 2], slides: [2, 0, 0], last: 2 },
    Formation { name: "block-edges", columns: [0, 1, 2], slides: [2, 0, 2], last: 2 },
    Formation { name: "gap", columns: [0, 2, 3], slides: [0, 0, 0], last: 1 },
    Formation { name: "gap-edge", columns: [0, 2, 3], slides: [2, 0, 0], last: 1 },
    Formation { name: "split", columns: [0, 2, 3], slides: [2, 0, 0], last: 0 },
    Formation { name: "gap-edges", columns: [0, 2, 3], slides: [2, 0, 2], last: 1 },
];

/// The exponents of the large tiles: no goal reaches them.
const LARGE: u64 = 10;

/// One way in which the large tiles lie.
struct Placement {
    walls: u64,
    /// Their cells, a bit each.
    cells: u16,
    /// The other ten cells, rising.
    free: Vec<usize>,
    /// Two halves of the goal there are the end: the bits of their cells, and what they hold.
    ends: Vec<(u64, u64)>,
}

/// Which of sixteen nibbles hold large tiles, a bit each.
fn large_cells(nibbles: u64) -> u16 {
    (0..16).fold(0, |set, cell| set | u16::from(nibbles >> (4 * cell) & 15 >= LARGE) << cell)
}

impl Placement {
    fn new(formation: &Formation, shifts: [usize; 3], half: u64) -> Self {
        let pairs = || (0..3).map(|i| formation.columns[i] + 4 * shifts[i]);
        let tiles = pairs().flat_map(|cell| [cell, cell + 4]);
        let walls = tiles.enumerate().fold(0, |walls, (i, cell)| walls | (LARGE + i as u64) << (4 * cell));
        let last = formation.columns[formation.last] + 4 * shifts[formation.last] + 4;
        let is_free = |cell: &usize| walls >> (4 * cell) & 15 == 0;
        let beside = |cell: usize| {
            let (row, column) = (cell / 4, cell % 4);
            let near = [(row > 0, -4), (row < 3, 4), (column > 0, -1), (column < 3, 1)];
            near.into_iter().filter(|&(exists, _)| exists).map(move |(_, step)| cell.wrapping_add_signed(step))
        };
        let pair = |a: usize, b: usize| (15 << (4 * a) | 15 << (4 * b), half << (4 * a) | half << (4 * b));
        let near = beside(last).filter(is_free);
        let ends = near.flat_map(|a| beside(a).filter(is_free).map(move |b| pair(a, b))).collect();
        Self { walls, cells: large_cells(walls), free: (0..16).filter(is_free).collect(), ends }
    }

    /// The tiles beside the walls as the codes of two halves of five cells.
    fn codes(&self, nibbles: u64) -> [usize; 2] {
        let code = |cells: &[usize]| {
            cells.iter().enumerate().fold(0, |code, (i, &cell)| code | (nibbles >> (4 * cell) & 15) << (4 * i))
        };
        [code(&self.free[..5]), code(&self.free[5..])].map(|code| code as usize)
    }

    /// The other way round.
    fn nibbles(&self, codes: [usize; 2]) -> u64 {
        let both = codes[0] as u64 | (codes[1] as u64) << 20;
        self.free.iter().enumerate().fold(0, |tiles, (i, &cell)| tiles | (both >> (4 * i) & 15) << (4 * cell))
    }
}

/// All ways to fill five cells with tiles below the goal.
struct Fillings {
    /// By code, half the sum and the rank among those of that sum; `None` for a tile that is too large.
    ranks: Vec<Option<(u32, u32)>>,
    /// By half the sum, the codes.
    lists: Vec<Vec<usize>>,
}

impl Fillings {
    fn new(goal: usize) -> Self {
        let mut lists = vec![Vec::new(); (5 << goal) / 4 + 1];
        let rank = |code: usize| {
            let digits = (0..5).map(|i| code >> (4 * i) & 15);
            let sum: usize = digits.clone().map(|digit| 1 << digit >> 1).sum();
            digits.clone().all(|digit| digit < goal).then(|| {
                lists[sum].push(code);
                (sum as u32, lists[sum].len() as u32 - 1)
            })
        };
        Self { ranks: (0..1 << 20).map(rank).collect(), lists }
    }

    fn of(&self, sum: usize) -> &[usize] {
        self.lists.get(sum).map_or(&[], Vec::as_slice)
    }
}

/// A probability of failure for every state of one sum: by placement, by the sum of the first half. (Failure, not success: where it is rare, the
/// numbers keep their precision.)
struct Layer {
    sum: usize,
    starts: Vec<usize>,
    values: Vec<Vec<AtomicU32>>,
}

impl Layer {
    fn new(sum: usize, placements: usize, fillings: &Fillings) -> Self {
        let mut length = 0;
        let start = |first: usize| {
            let group = fillings.of(first).len() * fillings.of(sum - first).len();
            length += group;
            length - group
        };
        let starts = (0..=sum).map(start).collect();
        let failures = || (0..length).map(|_| AtomicU32::new(1f32.to_bits())).collect();
        Self { sum, starts, values: (0..placements).map(|_| failures()).collect() }
    }

    /// Where a state is; `None` if it is not in this layer.
    fn place(&self, codes: [usize; 2], fillings: &Fillings) -> Option<usize> {
        let [(first, a), (second, b)] = [fillings.ranks[codes[0]]?, fillings.ranks[codes[1]]?];
        let fits = (first + second) as usize == self.sum;
        fits.then(|| self.starts[first as usize] + a as usize * fillings.of(second as usize).len() + b as usize)
    }

    fn value(&self, placement: usize, at: usize) -> f32 {
        f32::from_bits(self.values[placement][at].load(Relaxed))
    }

    fn best(&self, placement: usize) -> f32 {
        (0..self.values[placement].len()).map(|at| self.value(placement, at)).fold(1.0, f32::min)
    }
}

struct Solver {
    placements: Vec<Placement>,
    fillings: Fillings,
}

impl Solver {
    /// Works out every state of a layer on two threads.
    fn fill(&self, layer: &Layer, value: impl Fn(usize, [usize; 2]) -> f32 + Sync) {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(first) = Some(next.fetch_add(1, Relaxed)).filter(|&first| first <= layer.sum) {
                for (placement, values) in layer.values.iter().enumerate() {
                    let mut at = layer.starts[first];
                    for &a in self.fillings.of(first) {
                        for &b in self.fillings.of(layer.sum - first) {
                            values[at].store(value(placement, [a, b]).to_bits(), Relaxed);
                            at += 1;
                        }
                    }
                }
            }
        };
        thread::scope(|scope| {
            scope.spawn(work);
            work();
        });
    }

    /// How often an afterstate fails, by the positions that a 2 and a 4 make of it.
    fn after(&self, placement: usize, codes: [usize; 2], next: &[Layer; 2]) -> f32 {
        let place = &self.placements[placement];
        let nibbles = place.nibbles(codes);
        if place.ends.iter().any(|&(mask, value)| nibbles & mask == value) {
            return 0.0;
        }
        let (mut sums, mut empty) = ([0.0; 2], 0);
        for cell in 0..10 {
            let (half, shift) = (cell / 5, 4 * (cell % 5));
            if codes[half] >> shift & 15 != 0 {
                continue;
            }
            empty += 1;
            for (exponent, (sum, layer)) in sums.iter_mut().zip(next).enumerate() {
                let mut spawned = codes;
                spawned[half] |= (exponent + 1) << shift;
                *sum += layer.place(spawned, &self.fillings).map_or(1.0, |at| layer.value(placement, at));
            }
        }
        if empty == 0 { 1.0 } else { (0.9 * sums[0] + 0.1 * sums[1]) / empty as f32 }
    }

    /// How often a position fails: as often as its best move, after which the large tiles lie in one of the ways that are allowed.
    fn position(&self, placement: usize, codes: [usize; 2], after: &Layer) -> f32 {
        let place = &self.placements[placement];
        let slides = Board::from_nibbles(place.nibbles(codes) | place.walls).slides();
        let failure = |nibbles: u64| {
            let cells = large_cells(nibbles);
            let to = self.placements.iter().position(|other| other.cells == cells)?;
            let at = after.place(self.placements[to].codes(nibbles), &self.fillings)?;
            Some(after.value(to, at))
        };
        slides.iter().filter_map(|(_, slide)| failure(slide.after.board().nibbles())).fold(1.0, f32::min)
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |i: usize| arguments.get(i).map(String::as_str);
    let goal = argument(0).and_then(|goal| goal.parse::<usize>().ok()).filter(|goal| goal.is_power_of_two());
    let formation = FORMATIONS.iter().find(|formation| Some(formation.name) == argument(1));
    let eighths = argument(2).map_or(Some(9), |eighths| eighths.parse::<usize>().ok());
    let (Some(goal @ 32..=512), Some(formation), Some(eighths @ 8..)) = (goal, formation, eighths) else {
        let names = FORMATIONS.map(|formation| formation.name).join(", ");
        eprintln!("usage: formations GOAL FORMATION [EIGHTHS]: a goal from 32 to 512, one of {names}");
        std::process::exit(2);
    };
    let half = u64::from(goal.ilog2() - 1);
    let [a, b, c] = formation.slides.map(|most| 0..=most);
    let shifts = a.flat_map(|i| {
        b.clone().flat_map({
            let c = c.clone();
            move |j| c.clone().map(move |k| [i, j, k])
        })
    });
    let placements: Vec<Placement> = shifts.map(|shifts| Placement::new(formation, shifts, half)).collect();
    let solver = Solver { placements, fillings: Fillings::new(goal.ilog2() as usize) };
    let (count, most, began) = (solver.placements.len(), eighths * goal / 16, Instant::now());
    let fresh = |sum: usize| Layer::new(sum, count, &solver.fillings);
    let (mut next, mut states) = ([fresh(most + 1), fresh(most + 2)], 0);
    for sum in (1..=most).rev() {
        let (after, positions) = (fresh(sum), fresh(sum));
        solver.fill(&after, |placement, codes| solver.after(placement, codes, &next));
        solver.fill(&positions, |placement, codes| solver.position(placement, codes, &after));
        states += count * after.values[0].len();
        if [4, 16, 64].contains(&sum) {
            let (failure, seconds) = (100.0 * positions.best(0), began.elapsed().as_secs_f64());
            println!(
                "{goal} {}: {failure:.4}% fail from the best position of sum {}; {states} states, {seconds:.0} s",
                formation.name,
                2 * sum
            );
        }
        next.swap(0, 1);
        next[0] = positions;
    }
}
