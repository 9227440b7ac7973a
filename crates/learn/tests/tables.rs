//! Tables against a plain recursion that shares nothing with them but the pattern's definition.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use afterstate_board::{Afterstate, Board, Direction, Position, Rng, Spawn, SpawnRule, Symmetry};
use afterstate_evaluator::tables::code::decode;
use afterstate_evaluator::tables::{Order, Pattern, SHIFTS, Set, Table, Tables, failure_of_shift};
use afterstate_learn::run::Stop;
use afterstate_learn::tables::{Building, Met, build, solve};

/// The rules of a pattern, played on whole boards: large tiles are 2^11 and more, all different.
struct Game {
    pattern: Pattern,
    known: HashMap<Board, f64>,
}

const LARGE: u8 = 11;

static SMALLEST: [Pattern; 2] = [Pattern::new(6, 6).unwrap(), Pattern::new(6, 7).unwrap()];

impl Game {
    fn new(pattern: &str) -> Self {
        Self { pattern: pattern.parse().unwrap(), known: HashMap::new() }
    }

    /// A board with its large tiles in place and the others drawn, as many of them as may be told within reach.
    fn sample(&self, rng: &mut Rng) -> Board {
        let room = rng.below(100);
        (0..16).fold(Board::empty(), |board, cell| {
            let most = self.pattern.exponents(cell) as u32;
            let free = if rng.below(100) < room { 0 } else { rng.below(most) as u8 };
            let exponent = if self.pattern.is_large(cell) { LARGE + cell as u8 } else { free };
            board.with_exponent(cell, exponent)
        })
    }

    fn tiles(&self, board: &Board) -> u32 {
        (0..16).filter(|&cell| !self.pattern.is_large(cell)).map(|cell| 1u32 << board.exponent(cell) >> 1 << 1).sum()
    }

    /// The failure of a position: that of its best move, or of shifting the block and moving back if there is none.
    fn position(&mut self, board: &Board) -> f64 {
        if let Some(&known) = self.known.get(board) {
            return known;
        }
        if self.tiles(board) / 2 > self.pattern.most_layer() {
            return 1.0;
        }
        let slides = board.slides();
        let moves = slides.iter().map(|(_, slide)| *slide.after.board()).filter(|after| self.stays(after));
        let moves: Vec<Board> = moves.collect();
        let failure = if moves.is_empty() {
            self.shifted(board, Direction::Right).min(self.shifted(board, Direction::Down))
        } else {
            moves.iter().map(|after| self.afterstate(after)).fold(1.0, f64::min)
        };
        self.known.insert(*board, failure);
        failure
    }

    /// The failure of a move that shifts the block, whatever spawns, and of the move back.
    fn shifted(&mut self, board: &Board, way: Direction) -> f64 {
        let is_large = |cell: usize| self.pattern.is_large(cell);
        let Some(slide) = board.slide(way) else { return 1.0 };
        if (0..16).all(|cell| !is_large(cell) || slide.after.board().exponent(cell) == board.exponent(cell)) {
            return 1.0;
        }
        let spawns: Vec<(Spawn, f64)> = slide.after.spawns(&SpawnRule::CLASSIC).collect();
        let failure = |(spawn, likely): (Spawn, f64)| {
            let back = slide.after.place(spawn).slide(way.opposite());
            likely * back.map_or(1.0, |back| self.moved(back.after.board()))
        };
        spawns.into_iter().map(failure).sum()
    }

    /// The failure after a move.
    fn moved(&mut self, after: &Board) -> f64 {
        if self.stays(after) { self.afterstate(after) } else { 1.0 }
    }

    /// True if a board keeps to the pattern.
    fn stays(&self, after: &Board) -> bool {
        (0..16).all(|cell| match self.pattern.is_large(cell) {
            true => after.exponent(cell) == LARGE + cell as u8,
            false => u64::from(after.exponent(cell)) < self.pattern.exponents(cell),
        })
    }

    fn afterstate(&mut self, after: &Board) -> f64 {
        if self.is_goal(after) {
            return 0.0;
        }
        let empty: Vec<u8> = (0..16).filter(|&cell| after.exponent(usize::from(cell)) == 0).collect();
        if empty.is_empty() {
            return 1.0;
        }
        let mut of = |cell: u8, exponent: u8| self.position(&after.place(Spawn { cell, exponent }));
        let sum: f64 = empty.iter().map(|&cell| 0.9 * of(cell, 1) + 0.1 * of(cell, 2)).sum();
        sum / empty.len() as f64
    }

    /// Written out once more: half of the goal, a quarter and so on down to a pair, each beside the next.
    fn is_goal(&self, board: &Board) -> bool {
        let (goal, tile) = (self.pattern.goal(), |cell: usize| board.exponent(cell));
        let are = |cells: [usize; 2], exponent: u8| cells.into_iter().all(|cell| tile(cell) == exponent);
        if self.pattern.is_wide() {
            [[7, 3], [7, 11], [10, 9], [10, 11]].into_iter().any(|pair| are(pair, goal - 1))
        } else if self.pattern.large() == 5 {
            let pairs = [[7, 3], [7, 11], [10, 9], [10, 11]];
            let column = tile(3) == goal - 2 && are([7, 11], goal - 3);
            tile(6) == goal - 1 && (column || pairs.into_iter().any(|pair| are(pair, goal - 2)))
        } else {
            let row = tile(8) == goal - 1 && tile(9) == goal - 2 && tile(10) == goal - 3;
            let pairs = [[11, 7], [11, 15], [14, 13], [14, 15]];
            row && (tile(11) == goal - 3 || pairs.into_iter().any(|pair| are(pair, goal - 4)))
        }
    }
}

fn nibbles(board: &Board) -> u64 {
    (0..16).fold(0, |word, cell| word | u64::from(board.exponent(cell).min(15)) << (4 * cell))
}

fn index(pattern: Pattern, board: &Board) -> u64 {
    pattern.index(nibbles(board)).unwrap()
}

/// The failure of every state in 16 bits, by its index, and whether it is the best move of some position.
fn codes(pattern: Pattern, threads: usize) -> Vec<(u16, bool)> {
    let mut codes = Vec::new();
    let keep = |failures: &[AtomicU16], is_best: &[AtomicBool]| {
        let both = failures.iter().zip(is_best);
        codes.extend(both.map(|(code, is_best)| (code.load(Ordering::Relaxed), is_best.load(Ordering::Relaxed))));
    };
    assert!(solve(pattern, threads, &Stop::new(), &mut |_| (), keep));
    let order = Order::new(pattern);
    (0..pattern.states()).map(|index| order.place(index).map_or((0, false), |place| codes[place])).collect()
}

/// From boards near the goal's sum: those far from it take the plain recursion too long.
#[test]
fn tables_equal_exact_expectimax_to_the_goal() {
    for name in ["6-64", "5-64", "6w-64"] {
        let mut game = Game::new(name);
        let pattern = game.pattern;
        let table = codes(pattern, 2);
        let mut rng = Rng::new(8);
        let mut checked = 0;
        while checked < 4000 {
            let board = game.sample(&mut rng);
            if !(44..=2 * pattern.most_layer() as u64).contains(&u64::from(game.tiles(&board))) {
                continue;
            }
            checked += 1;
            let failure = |board: &Board| f64::from(decode(table[index(pattern, board) as usize].0));
            let (found, exact) = (failure(&board), game.afterstate(&board));
            assert!((found - exact).abs() <= 2e-3 * exact + 1e-9, "{name} {board}: {found} is not {exact}");
            // As a position: of its moves within the pattern, one of the best is marked, so that a table keeps it.
            let slides = board.slides();
            let moves = slides.iter().map(|(_, slide)| *slide.after.board()).filter(|after| game.stays(after));
            let moves: Vec<(f64, bool)> = moves.map(|m| (failure(&m), table[index(pattern, &m) as usize].1)).collect();
            let best = moves.iter().map(|of| of.0).fold(1.0, f64::min);
            assert!(moves.is_empty() || moves.contains(&(best, true)), "{name} {board}: {moves:?}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let pattern: Pattern = "6-64".parse().unwrap();
    assert!(codes(pattern, 1) == codes(pattern, 2));
}

/// Positions met by playing the best moves from afterstates drawn at random: the goal is reached as often as the numbers say.
#[test]
fn play_by_a_table_succeeds_as_often_as_it_says() {
    let game = Game::new("6-64");
    let codes = codes(game.pattern, 2);
    let failure = |index: u64| decode(codes[index as usize].0);
    let (rule, mut rng) = (SpawnRule::CLASSIC, Rng::new(5));
    let (mut expected, mut variance, mut failed) = (0.0, 0.0, 0.0);
    for _ in 0..20_000 {
        let start = game.sample(&mut rng);
        if start.empty_count() == 0 {
            continue;
        }
        let failure_here = f64::from(failure(index(game.pattern, &start)));
        (expected, variance) = (expected + failure_here, variance + failure_here * (1.0 - failure_here));
        failed += f64::from(u8::from(!plays_through(&game, &failure, Afterstate::new(start), &rule, &mut rng)));
    }
    let deviation = (failed - expected).abs() / f64::sqrt(variance);
    assert!(deviation < 4.0, "{failed} failures, {expected} expected: {deviation} standard deviations");
}

/// Does play by these numbers reach the goal?
fn plays_through(
    game: &Game,
    failure: &dyn Fn(u64) -> f32,
    start: Afterstate<Board>,
    rule: &SpawnRule,
    rng: &mut Rng,
) -> bool {
    let mut after = start;
    while !game.is_goal(after.board()) {
        if after.board().empty_count() == 0 {
            return false;
        }
        let position = after.sample(rule, rng);
        let of = |after: &Afterstate<Board>| failure(index(game.pattern, after.board()));
        let slides = position.slides();
        let within = slides.iter().map(|(_, slide)| slide.after).filter(|after| game.stays(after.board()));
        let best = within.min_by(|a, b| of(a).total_cmp(&of(b)));
        match best.or_else(|| shifted_and_back(game, failure, &position, rule, rng)) {
            Some(next) => after = next,
            None => return false,
        }
    }
    true
}

/// The better way to shift the block and move back, if the spawn allows it.
fn shifted_and_back(
    game: &Game,
    failure: &dyn Fn(u64) -> f32,
    position: &Board,
    rule: &SpawnRule,
    rng: &mut Rng,
) -> Option<Afterstate<Board>> {
    let of = |way: Direction| failure_of_shift(game.pattern, nibbles(position), way, failure).unwrap_or(1.0);
    let way = SHIFTS.into_iter().min_by(|&a, &b| of(a).total_cmp(&of(b)))?;
    let back = position.slide(way)?.after.sample(rule, rng).slide(way.opposite())?.after;
    game.stays(back.board()).then_some(back)
}

/// A real position is known in any of its images, and the moves that a table advises keep the block.
#[test]
fn positions_are_known_whatever_way_they_lie() {
    let set = Tables::open(Path::new("unused"), Set::named("tiny").unwrap()).unwrap();
    let board: Board = "16384 8192 4096 0 / 2048 1024 8 2 / 4 2 0 0 / 0 0 0 2".parse().unwrap();
    for symmetry in Symmetry::of_shape(4, 4) {
        let turned = board.transformed(*symmetry);
        let images = turned.images().unwrap();
        let known: Vec<_> = set.matching(&images).collect();
        assert!(!known.is_empty(), "{turned}");
        let advice = set.advice(&turned, &turned.slides(), [0.9, 0.5]).expect("some table knows a way");
        assert!(advice.failure() < 0.1, "{turned}: {}", advice.failure());
    }
    // Two large tiles that can merge are no block.
    let merging: Board = "16384 8192 4096 0 / 16384 1024 8 2 / 4 2 0 0 / 0 0 0 2".parse().unwrap();
    assert_eq!(set.matching(&merging.images().unwrap()).count(), 0);
}

/// Tables of the states that some positions meet say there what the whole ones say.
#[test]
fn distilled_tables_know_what_was_met() {
    let folder = tempfile::tempdir().unwrap();
    let set = &Set { name: "test", summary: "", tables: &SMALLEST[..1], is_shipped: false };
    assert!(build(folder.path(), set, 2, &Stop::new(), &mut |_, _| ()).unwrap());
    let pattern: Pattern = "6-64".parse().unwrap();
    let whole = Tables::new([Table::open(&folder.path().join("6-64-whole.safetensors")).unwrap()]);
    let game = Game::new("6-64");
    let mut rng = Rng::new(3);
    // As in the game, but with tiles that a position of six large ones has.
    let block = [14, 13, 12, 0, 10, 9, 6];
    let position =
        |board: Board| (0..7).filter(|&c| game.pattern.is_large(c)).fold(board, |b, c| b.with_exponent(c, block[c]));
    let positions: Vec<Board> = (0..3000).map(|_| position(game.sample(&mut rng))).collect();
    let mut met = Met::new(&whole, [0.9, 0.5]);
    positions[..2000].iter().for_each(|position| met.meet(position));
    assert!(met.states() > 50, "{}", met.states());
    met.write(folder.path(), set).unwrap();
    let table = Table::open(&folder.path().join("6-64.safetensors")).unwrap();
    assert_eq!((table.known(), table.pattern()), (met.states() as u64, pattern));
    let mut kept = Met::new(&whole, [0.9, 0.5]);
    kept.keep(&table);
    assert_eq!(kept.states(), met.states());
    positions[2000..].iter().for_each(|position| kept.meet(position));
    assert!(kept.states() > met.states());
    let some = Tables::new([table]);
    for position in &positions[..2000] {
        let failure = |tables: &Tables| tables.advice(position, &position.slides(), [0.9, 0.5]).map(|a| a.failure());
        assert_eq!(failure(&whole), failure(&some), "{position}");
    }
}

#[test]
fn damaged_tables_are_refused_and_a_build_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let set = &Set { name: "test", summary: "", tables: &SMALLEST, is_shipped: false };
    let stop = Stop::new();
    let build_all = || {
        let mut events = Vec::new();
        let finished = build(folder.path(), set, 2, &stop, &mut |pattern, event| {
            if !matches!(event, Building::Share(_)) {
                events.push((pattern.to_string(), event == Building::Kept));
            }
        });
        assert!(finished.unwrap());
        events
    };
    assert_eq!(build_all(), [("6-64".into(), false), ("6-128".into(), false)]);
    let path = folder.path().join("6-64-whole.safetensors");
    let whole = std::fs::read(&path).unwrap();
    let refused = |bytes: &[u8], reason: &str| {
        std::fs::write(&path, bytes).unwrap();
        let error = Table::open(&path).err().expect("it is damaged").to_string();
        assert!(error.contains(reason), "{error}");
    };
    refused(&whole[..whole.len() / 2], "damaged");
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 16;
    refused(&flipped, "checksum");
    refused(&[&whole[..], b"more"].concat(), "damaged");
    refused(b"not a table at all", "damaged");
    refused(
        &std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../evaluator/champion.safetensors")).unwrap(),
        "no endgame table",
    );
    // A damaged file is built again, a whole one stays.
    assert_eq!(build_all(), [("6-64".into(), false), ("6-128".into(), true)]);
    assert!(std::fs::read(&path).unwrap() == whole);
    // Someone stops the build: what is not finished is not there.
    std::fs::remove_file(&path).unwrap();
    stop.request();
    assert!(!build(folder.path(), set, 1, &stop, &mut |_, _| ()).unwrap());
    assert!(!path.exists());
}
