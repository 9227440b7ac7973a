//! Tables against a plain recursion that shares nothing with them but the pattern's definition.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

use afterstate_board::{Afterstate, Board, Direction, Position, Rng, Spawn, SpawnRule, Symmetry};
use afterstate_evaluator::tables::code::decode;
use afterstate_evaluator::tables::{Order, Pattern, SHIFTS, Set, Table, Tables, failure_of_shift};
use afterstate_learn::run::Stop;
use afterstate_learn::tables::{Building, Met, build, solve};

/// The rules of a pattern, played on whole boards: large tiles are 2^11 and more, all different. They may lie in any of its ways; the first of them is
/// told by its name.
struct Game {
    pattern: Pattern,
    known: HashMap<Board, f64>,
}

const LARGE: u8 = 11;

static SPLIT: [Pattern; 3] =
    [Pattern::split(6, 6, 0).unwrap(), Pattern::split(6, 6, 1).unwrap(), Pattern::split(6, 6, 2).unwrap()];
static SMALLEST: [Pattern; 2] = [Pattern::new(6, 6).unwrap(), Pattern::new(6, 7).unwrap()];

impl Game {
    fn new(pattern: &str) -> Self {
        Self { pattern: pattern.parse().unwrap(), known: HashMap::new() }
    }

    /// A board with its large tiles in place and the others drawn, as many of them as may be told within reach.
    fn sample(&self, rng: &mut Rng) -> Board {
        let (room, ways) = (rng.below(100), self.pattern.ways().count() as u32);
        let way = self.pattern.ways().nth(rng.below(ways) as usize).unwrap();
        (0..16).fold(Board::empty(), |board, cell| {
            let most = way.exponents(cell) as u32;
            let free = if rng.below(100) < room { 0 } else { rng.below(most) as u8 };
            let exponent = if way.is_large(cell) { LARGE + way.home(cell) as u8 } else { free };
            board.with_exponent(cell, exponent)
        })
    }

    fn tiles(&self, board: &Board) -> u32 {
        let small = (0..16).map(|cell| board.exponent(cell)).filter(|&exponent| exponent < LARGE);
        small.map(|exponent| 1u32 << exponent >> 1 << 1).sum()
    }

    /// The cells of the large tiles: none of them is `LARGE` or more for any other reason.
    fn block(board: &Board) -> Vec<(usize, u8)> {
        (0..16).map(|cell| (cell, board.exponent(cell))).filter(|&(_, exponent)| exponent >= LARGE).collect()
    }

    /// The way in which the large tiles lie, if it is one of the pattern's.
    fn way(&self, board: &Board) -> Option<Pattern> {
        let lies = |way: Pattern| {
            let here = (0..16).filter(|&cell| way.is_large(cell));
            here.map(|cell| (cell, LARGE + way.home(cell) as u8)).eq(Self::block(board))
        };
        self.pattern.ways().find(|&way| lies(way))
    }

    /// The failure of a position: that of its best move, or of shifting the block and moving back if there is none.
    fn position(&mut self, board: &Board) -> f64 {
        if let Some(&known) = self.known.get(board) {
            return known;
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
        let Some(slide) = board.slide(way) else { return 1.0 };
        if Self::block(slide.after.board()) == Self::block(board) {
            return 1.0;
        }
        let spawns: Vec<(Spawn, f64)> = slide.after.spawns(&SpawnRule::CLASSIC).collect();
        let failure = |(spawn, likely): (Spawn, f64)| {
            let back = slide.after.place(spawn).slide(way.opposite()).map(|back| *back.after.board());
            let back = back.filter(|back| Self::block(back) == Self::block(board) && self.stays(back));
            likely * back.map_or(1.0, |back| self.afterstate(&back))
        };
        spawns.into_iter().map(failure).sum()
    }

    /// True if a board keeps to the pattern.
    fn stays(&self, after: &Board) -> bool {
        let fits = |way: Pattern| {
            (0..16).all(|cell| way.is_large(cell) || u64::from(after.exponent(cell)) < way.exponents(cell))
        };
        self.way(after).is_some_and(fits)
    }

    /// Does a board hold more than a table lists? Then it has failed, whatever lies there.
    fn is_too_much(&self, board: &Board) -> bool {
        self.tiles(board) / 2 > self.pattern.most_layer()
    }

    fn afterstate(&mut self, after: &Board) -> f64 {
        if self.is_too_much(after) {
            return 1.0;
        }
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
        if self.pattern.is_split() && self.pattern.large() == 5 {
            let (half, two) = match self.way(board).expect("it keeps to the pattern").way() {
                0 => (7, &[[6, 2], [6, 10], [11, 10]][..]),
                _ => (11, &[[10, 6], [10, 9]][..]),
            };
            tile(half) == goal - 1 && two.iter().any(|&pair| are(pair, goal - 2))
        } else if self.pattern.is_split() {
            let two = match self.way(board).expect("it keeps to the pattern").way() {
                0 => &[[6, 2], [6, 10], [11, 10]][..],
                1 => &[[10, 6], [10, 9]],
                _ => &[],
            };
            two.iter().any(|&pair| are(pair, goal - 1))
        } else if self.pattern.is_wide() {
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

/// The failure of every state in 16 bits, by the way in which the large tiles lie and its index, and whether it is the best move of some position.
struct Codes(Vec<Vec<(u16, bool)>>);

impl Codes {
    fn new(pattern: Pattern, threads: usize) -> Self {
        let mut codes: Vec<_> = pattern.ways().map(|_| Vec::new()).collect();
        let keep = |way: usize, failures: &[AtomicU16], is_best: &[AtomicBool]| {
            let both = failures.iter().zip(is_best);
            let both = both.map(|(code, is_best)| (code.load(Ordering::Relaxed), is_best.load(Ordering::Relaxed)));
            codes[way].extend(both);
        };
        assert!(solve(pattern, threads, &Stop::new(), &mut |_| (), keep));
        let by_index = |(way, codes): (Pattern, Vec<(u16, bool)>)| {
            let order = Order::new(way);
            assert_eq!(codes.len() as u64, order.states());
            (0..way.states()).map(|index| order.place(index).map_or((0, false), |place| codes[place])).collect()
        };
        Self(pattern.ways().zip(codes).map(by_index).collect())
    }

    fn of(&self, game: &Game, board: &Board) -> (u16, bool) {
        let way = game.way(board).unwrap();
        self.0[way.way()][way.index(nibbles(board)).unwrap() as usize]
    }

    fn failure(&self, game: &Game, board: &Board) -> f32 {
        decode(self.of(game, board).0)
    }
}

/// From boards near the goal's sum: those far from it take the plain recursion too long.
#[test]
fn tables_equal_exact_expectimax_to_the_goal() {
    for name in ["6-64", "5-64", "6w-64", "6t-64", "5t-64"] {
        let mut game = Game::new(name);
        let pattern = game.pattern;
        let table = Codes::new(pattern, 2);
        let mut rng = Rng::new(8);
        let mut checked = 0;
        while checked < 4000 {
            let board = game.sample(&mut rng);
            if !(44..=2 * pattern.most_layer() as u64).contains(&u64::from(game.tiles(&board))) {
                continue;
            }
            checked += 1;
            let (found, exact) = (f64::from(table.failure(&game, &board)), game.afterstate(&board));
            assert!((found - exact).abs() <= 2e-3 * exact + 1e-9, "{name} {board}: {found} is not {exact}");
            // As a position: of its moves within the pattern, one of the best is marked, so that a table keeps it.
            let slides = board.slides();
            let moves = slides.iter().map(|(_, slide)| *slide.after.board()).filter(|after| game.stays(after));
            let moves: Vec<(f64, bool)> =
                moves.map(|m| (f64::from(table.failure(&game, &m)), table.of(&game, &m).1)).collect();
            let best = moves.iter().map(|of| of.0).fold(1.0, f64::min);
            assert!(moves.is_empty() || moves.contains(&(best, true)), "{name} {board}: {moves:?}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for name in ["6-64", "6t-64"] {
        let pattern: Pattern = name.parse().unwrap();
        assert!(Codes::new(pattern, 1).0 == Codes::new(pattern, 2).0, "{name}");
    }
}

/// Positions met by playing the best moves from afterstates drawn at random: the goal is reached as often as the numbers say.
#[test]
fn play_by_a_table_succeeds_as_often_as_it_says() {
    for name in ["6-64", "6t-64", "5t-64"] {
        let game = Game::new(name);
        let codes = Codes::new(game.pattern, 2);
        let (rule, mut rng) = (SpawnRule::CLASSIC, Rng::new(5));
        let (mut expected, mut variance, mut failed) = (0.0, 0.0, 0.0);
        for _ in 0..20_000 {
            let start = game.sample(&mut rng);
            if start.empty_count() == 0 {
                continue;
            }
            let failure_here = f64::from(codes.failure(&game, &start));
            (expected, variance) = (expected + failure_here, variance + failure_here * (1.0 - failure_here));
            failed += f64::from(u8::from(!plays_through(&game, &codes, Afterstate::new(start), &rule, &mut rng)));
        }
        let deviation = (failed - expected).abs() / f64::sqrt(variance);
        assert!(variance > 500.0, "{name}: {variance}");
        assert!(deviation < 4.0, "{name}: {failed} failures, {expected} expected: {deviation} standard deviations");
    }
}

/// Does play by these numbers reach the goal?
fn plays_through(game: &Game, codes: &Codes, start: Afterstate<Board>, rule: &SpawnRule, rng: &mut Rng) -> bool {
    let mut after = start;
    loop {
        let board = after.board();
        if game.is_too_much(board) || game.is_goal(board) || board.empty_count() == 0 {
            return !game.is_too_much(board) && game.is_goal(board);
        }
        let position = after.sample(rule, rng);
        let of = |after: &Afterstate<Board>| codes.failure(game, after.board());
        let slides = position.slides();
        let within = slides.iter().map(|(_, slide)| slide.after).filter(|after| game.stays(after.board()));
        let best = within.min_by(|a, b| of(a).total_cmp(&of(b)));
        match best.or_else(|| shifted_and_back(game, codes, &position, rule, rng)) {
            Some(next) => after = next,
            None => return false,
        }
    }
}

/// The better way to shift the block and move back, if the spawn allows it.
fn shifted_and_back(
    game: &Game,
    codes: &Codes,
    position: &Board,
    rule: &SpawnRule,
    rng: &mut Rng,
) -> Option<Afterstate<Board>> {
    let here = game.way(position)?;
    let failure = |index: u64| decode(codes.0[here.way()][index as usize].0);
    let of = |way: Direction| failure_of_shift(here, nibbles(position), way, failure).unwrap_or(1.0);
    let way = SHIFTS.into_iter().min_by(|&a, &b| of(a).total_cmp(&of(b)))?;
    let back = position.slide(way)?.after.sample(rule, rng).slide(way.opposite())?.after;
    (Game::block(back.board()) == Game::block(position) && game.stays(back.board())).then_some(back)
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

/// The moves of a split pattern that slide its two are judged by the table of the way that they lead to, whatever way the board lies.
#[test]
fn tables_of_several_ways_are_asked_together() {
    let folder = tempfile::tempdir().unwrap();
    let set = &Set { name: "test", summary: "", tables: &SPLIT, is_shipped: false };
    let mut events = Vec::new();
    let built = build(folder.path(), set, 2, &Stop::new(), &mut |pattern, event| match event {
        Building::Share(_) => {}
        event => events.push((pattern.to_string(), event == Building::Kept)),
    });
    assert!(built.unwrap());
    assert_eq!(events, [("6t-64".into(), false), ("6t1-64".into(), true), ("6t2-64".into(), true)]);
    let tables = Tables::new(SPLIT.map(|way| set.table(folder.path(), way).unwrap()));
    let game = Game::new("6t-64");
    let codes = Codes::new(game.pattern, 2);
    // As in the game, but with tiles that a position of six large ones has.
    let block = |home: u8| [12, 14, 0, 10, 13, 11, 0, 6][usize::from(home - LARGE)];
    let (mut rng, mut slid) = (Rng::new(3), 0);
    for _ in 0..20_000 {
        let drawn = game.sample(&mut rng);
        let real = |board: &Board| {
            Game::block(board).into_iter().fold(*board, |b, (cell, home)| b.with_exponent(cell, block(home)))
        };
        let position = real(&drawn).transformed(Symmetry::of_shape(4, 4)[rng.below(8) as usize]);
        let Some(advice) = tables.advice(&position, &position.slides(), [0.9, 0.01]) else { continue };
        let (way, slides) = (game.way(&drawn).unwrap(), drawn.slides());
        assert_eq!(advice.table.pattern(), way, "{position}");
        let within = slides.iter().map(|(_, slide)| *slide.after.board()).filter(|after| game.stays(after));
        let best = within.min_by(|a, b| codes.failure(&game, a).total_cmp(&codes.failure(&game, b))).unwrap();
        let wanted = codes.failure(&game, &best);
        assert!((advice.failure() / wanted - 1.0).abs() < 0.2 || advice.failure() == wanted, "{position}: {wanted}");
        slid += u32::from(game.way(&best) != Some(way));
    }
    assert!(slid > 100, "{slid}");
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
