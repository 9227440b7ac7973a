//! Tables against a plain recursion that shares nothing with them but the pattern's definition.

use std::collections::HashMap;

use afterstate_board::{Afterstate, Board, Direction, Position, Rng, Spawn, SpawnRule};
use afterstate_evaluator::tables::code::decode;
use afterstate_evaluator::tables::{Pattern, Set, Table, Width};
use afterstate_learn::run::Stop;
use afterstate_learn::tables::{Building, build, solve};

/// The rules of a pattern, played on whole boards: large tiles are 2^8 and more, all different.
struct Game {
    pattern: Pattern,
    known: HashMap<Board, f64>,
}

const LARGE: u8 = 8;

impl Game {
    fn new(pattern: &str) -> Self {
        Self { pattern: pattern.parse().unwrap(), known: HashMap::new() }
    }

    /// A board with its large tiles in place and the others drawn, mostly small ones.
    fn sample(&self, rng: &mut Rng) -> Board {
        let arrangements = self.pattern.arrangements();
        let slot = rng.below(arrangements.len() as u32) as usize;
        let room = rng.below(100);
        (0..16).fold(Board::empty(), |board, cell| {
            let free = if rng.below(100) < room { 0 } else { rng.below(u32::from(self.pattern.goal())) as u8 };
            let exponent = if self.pattern.is_large(slot, cell) { LARGE + cell as u8 } else { free };
            board.with_exponent(cell, exponent)
        })
    }

    fn large(board: &Board) -> Vec<(usize, u8)> {
        (0..16).map(|cell| (cell, board.exponent(cell))).filter(|(_, exponent)| *exponent >= LARGE).collect()
    }

    /// The failure of a position: that of its best move.
    fn position(&mut self, board: &Board) -> f64 {
        if let Some(&known) = self.known.get(board) {
            return known;
        }
        let failure = Direction::ALL
            .into_iter()
            .filter_map(|direction| Some((board, board.slide(direction)?.after)))
            .map(|(before, after)| self.moved(before, after.board()))
            .fold(1.0, f64::min);
        self.known.insert(*board, failure);
        failure
    }

    /// The failure after a move.
    fn moved(&mut self, before: &Board, after: &Board) -> f64 {
        let (old, new) = (Self::large(before), Self::large(after));
        let first_row_stays = old.iter().filter(|(cell, _)| *cell < 4).all(|tile| new.contains(tile));
        if !first_row_stays || new.iter().any(|(cell, _)| *cell >= 8) {
            return 1.0;
        }
        let goals: Vec<usize> = (0..16).filter(|&cell| after.exponent(cell) == self.pattern.goal()).collect();
        let is_beside = |&cell: &usize| cell < 8 || new.iter().any(|(large, _)| cell >= 4 && *large == cell - 4);
        match goals.as_slice() {
            [] => self.afterstate(after),
            goals if goals.iter().all(is_beside) => 0.0,
            _ => 1.0,
        }
    }

    fn afterstate(&mut self, after: &Board) -> f64 {
        let empty: Vec<u8> = (0..16).filter(|&cell| after.exponent(usize::from(cell)) == 0).collect();
        let mut of = |cell: u8, exponent: u8| self.position(&after.place(Spawn { cell, exponent }));
        let sum: f64 = empty.iter().map(|&cell| 0.9 * of(cell, 1) + 0.1 * of(cell, 2)).sum();
        sum / empty.len() as f64
    }
}

fn index(pattern: Pattern, board: &Board) -> u64 {
    let nibbles = (0..16).fold(0, |word, cell| word | u64::from(board.exponent(cell).min(15)) << (4 * cell));
    let columns = (4..8).filter(|&cell| board.exponent(cell) >= LARGE).fold(0, |set, cell| set | 1 << (cell - 4));
    let (slot, mirror) = pattern.arrangement(columns).unwrap();
    assert!(!mirror);
    pattern.index(slot, nibbles)
}

#[test]
fn tables_equal_exact_expectimax_to_the_goal() {
    for name in ["8-16", "7-16", "6-16", "8-32"] {
        let mut game = Game::new(name);
        let pattern = game.pattern;
        let table = solve(pattern, 2, &Stop::new(), &mut |_| ()).unwrap();
        let mut rng = Rng::new(8);
        for _ in 0..4000 {
            let board = game.sample(&mut rng);
            if board.empty_count() == 0 {
                continue;
            }
            let (found, exact) = (f64::from(decode(table[index(pattern, &board) as usize])), game.afterstate(&board));
            assert!((found - exact).abs() <= 2e-3 * exact + 1e-9, "{name} {board}: {found} is not {exact}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let pattern: Pattern = "7-32".parse().unwrap();
    let table = |threads| solve(pattern, threads, &Stop::new(), &mut |_| ()).unwrap();
    assert!(table(1) == table(2));
}

/// Positions met by playing the table's own moves from afterstates drawn at random: the goal is reached as often as it says.
#[test]
fn play_by_a_table_succeeds_as_often_as_it_says() {
    let game = Game::new("7-32");
    let pattern = game.pattern;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("7-32");
    let codes = solve(pattern, 2, &Stop::new(), &mut |_| ()).unwrap();
    let numbers: Vec<u8> = codes.iter().flat_map(|code| code.to_le_bytes()).collect();
    Table::write(&mut std::fs::File::create(&path).unwrap(), pattern, Width::Fine, &numbers).unwrap();
    let table = Table::open(&path).unwrap();
    let (rule, mut rng) = (SpawnRule::CLASSIC, Rng::new(5));
    let (mut expected, mut variance, mut failed) = (0.0, 0.0, 0.0);
    for _ in 0..20_000 {
        let start = game.sample(&mut rng);
        if start.empty_count() == 0 {
            continue;
        }
        let failure = f64::from(codes_at(&codes, pattern, &start));
        (expected, variance) = (expected + failure, variance + failure * (1.0 - failure));
        failed += f64::from(u8::from(!plays_through(&table, Afterstate::new(start), &rule, &mut rng)));
    }
    let deviation = (failed - expected).abs() / f64::sqrt(variance);
    assert!(deviation < 4.0, "{failed} failures, {expected} expected: {deviation} standard deviations");
}

fn codes_at(codes: &[u16], pattern: Pattern, board: &Board) -> f32 {
    decode(codes[index(pattern, board) as usize])
}

/// Does the table's play reach the goal?
fn plays_through(table: &Table, start: Afterstate<Board>, rule: &SpawnRule, rng: &mut Rng) -> bool {
    let mut after = start;
    loop {
        let position = after.sample(rule, rng);
        let images = position.images().unwrap();
        let image = table.matching(&images).expect("the large tiles lie as they did");
        let slides = position.slides();
        let failure = |after: &Afterstate<Board>| table.failure_after(after.board().images().unwrap()[image]);
        let best = slides.iter().map(|(_, slide)| slide.after).min_by(|a, b| failure(a).total_cmp(&failure(b)));
        match best {
            None => return false,
            Some(best) if failure(&best) == 1.0 => return false,
            Some(best) if table.matching(&best.board().images().unwrap()).is_none() => return true,
            Some(best) => after = best,
        }
    }
}

#[test]
fn damaged_tables_are_refused_and_a_build_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let set = Set::named("tiny").unwrap();
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
    assert_eq!(build_all(), [("8-64".into(), false), ("7-64".into(), false)]);
    let path = folder.path().join("8-64-8bit.safetensors");
    let whole = std::fs::read(&path).unwrap();
    // What comes with the program is what the command builds.
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../evaluator/tables/");
    for name in ["8-64-8bit.safetensors", "7-64-8bit.safetensors"] {
        let built = std::fs::read(folder.path().join(name)).unwrap();
        assert!(built == std::fs::read(format!("{shipped}{name}")).unwrap(), "{name} is not what is built");
    }
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
    // A damaged file is built again, the others stay.
    assert_eq!(build_all(), [("8-64".into(), false), ("7-64".into(), true)]);
    assert!(std::fs::read(&path).unwrap() == whole);
    // Someone stops the build: what is not finished is not there.
    std::fs::remove_file(&path).unwrap();
    stop.request();
    assert!(!build(folder.path(), set, 1, &stop, &mut |_, _| ()).unwrap());
    assert!(!path.exists());
}
