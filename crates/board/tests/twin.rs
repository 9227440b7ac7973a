//! The fast board against the plain grid: every answer, over random, full, and very large boards.

use afterstate_board::{Afterstate, Batch, Board, Direction, Grid, LANES, Position, Rng, SpawnRule, Symmetry, board};
use proptest::prelude::*;

type Plain = Grid<4, 4>;

fn plain(board: &Board) -> Plain {
    let cells = board.exponents();
    Grid::from_exponents(std::array::from_fn(|row| std::array::from_fn(|column| cells[4 * row + column])))
}

/// Exponents of all sizes; small alphabets make merges likely, the largest one makes overflow likely.
fn boards() -> impl Strategy<Value = Board> {
    let alphabet = prop_oneof![
        Just((0..=17u8).collect::<Vec<_>>()),
        Just(vec![0, 1, 2]),
        Just(vec![1, 2, 3]),
        Just(vec![0, 14, 15, 16, 17]),
        Just(vec![15, 15, 16]),
        Just(vec![0, 0, 0, 5, 16]),
    ];
    alphabet
        .prop_flat_map(|alphabet| proptest::array::uniform16(proptest::sample::select(alphabet)))
        .prop_map(Board::from_exponents)
}

/// Everything a [`Position`] answers must agree.
fn assert_twins(board: &Board) {
    let grid = plain(board);
    assert_eq!(board.empty_cells(), grid.empty_cells(), "{board}");
    assert_eq!(board.empty_count(), grid.empty_count(), "{board}");
    assert_eq!(board.legal(), grid.legal(), "{board}");
    assert_eq!(board.is_over(), grid.is_over(), "{board}");
    assert_eq!(board.max_exponent(), grid.max_exponent(), "{board}");
    assert_eq!(board.exponents_present(), grid.exponents_present(), "{board}");
    for least in 1..=18 {
        let (halved, plain) = (board.halved_above(least), grid.halved_above(least));
        assert!((0..16).all(|cell| halved.exponent(cell) == plain.exponent(cell)), "{board} above {least}");
    }
    assert_eq!(board.tile_sum(), grid.tile_sum(), "{board}");
    assert_eq!(board.to_string(), grid.to_string());
    for n in 0..board.empty_count() {
        assert_eq!(board.nth_empty(n), grid.nth_empty(n), "{board} {n}");
    }
    let (slides, plain_slides) = (board.slides(), grid.slides());
    assert_eq!(slides.legal, plain_slides.legal, "{board}");
    for direction in Direction::ALL {
        let (slide, plain_slide) = (board.slide(direction), grid.slide(direction));
        assert_eq!(
            slide.map(|s| (plain(s.after.board()), s.reward)),
            plain_slide.map(|s| (*s.after.board(), s.reward))
        );
        let i = direction.index();
        if slides.legal.contains(direction) {
            assert_eq!(
                slide.map(|s| (s.after, s.reward)),
                Some((slides.after[i], slides.reward[i])),
                "{board} {direction}"
            );
        }
    }
    for symmetry in Symmetry::ALL {
        assert_eq!(plain(&board.transformed(symmetry)), grid.transformed(symmetry), "{board} {symmetry:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn board_agrees_with_grid(board in boards()) {
        assert_twins(&board);
    }

    #[test]
    fn symmetries_commute_with_moves(board in boards()) {
        for symmetry in Symmetry::ALL {
            let image = board.transformed(symmetry);
            prop_assert_eq!(image.transformed(symmetry.inverse()), board);
            prop_assert_eq!(image.canonical(), board.canonical());
            for direction in Direction::ALL {
                let moved = board.slide(direction).map(|s| (s.after.board().transformed(symmetry), s.reward));
                let seen = image.slide(symmetry.direction(direction)).map(|s| (*s.after.board(), s.reward));
                prop_assert_eq!(moved, seen);
            }
        }
    }

    #[test]
    fn notation_round_trips(board in boards()) {
        prop_assert_eq!(board.to_string().parse::<Board>().unwrap(), board);
        prop_assert_eq!(board.to_string().to_uppercase().parse::<Board>().unwrap(), board);
        prop_assert_eq!(afterstate_board::notation::tiles(&board).parse::<Board>().unwrap(), board);
    }

    #[test]
    fn any_text_is_a_board_or_an_error(text in "\\PC*") {
        let _ = text.parse::<Board>();
        let _ = text.parse::<Grid<2, 3>>();
        let _ = text.parse::<SpawnRule>();
        let _ = text.parse::<Direction>();
    }

    #[test]
    fn nearly_a_board_is_a_board_or_an_error(text in "[0-9a-iA-I ./,\\n-]{0,40}") {
        if let Ok(board) = text.parse::<Board>() {
            assert_twins(&board);
        }
    }

    #[test]
    fn spawns_are_drawn_alike(board in boards(), random: u32) {
        let rule = SpawnRule::CLASSIC;
        let grid = plain(&board);
        let spawned = board.with_random_tile(&rule, random);
        prop_assert_eq!(plain(&spawned), grid.with_random_tile(&rule, random));
        let spawns: Vec<_> = Afterstate::new(board).spawns(&rule).collect();
        let plain_spawns: Vec<_> = Afterstate::new(grid).spawns(&rule).collect();
        prop_assert_eq!(&spawns, &plain_spawns);
        prop_assert_eq!(spawns.len() as u32, 2 * board.empty_count());
        let total: f64 = spawns.iter().map(|(_, p)| p).sum();
        prop_assert!(spawns.is_empty() || (total - 1.0).abs() < 1e-12);
    }

    #[test]
    fn batch_agrees_with_board(boards in proptest::collection::vec(boards(), LANES), seed: u64) {
        let mut rng = Rng::new(seed);
        let boards: [Board; LANES] = boards.try_into().unwrap();
        let mut batch = Batch::new(&boards);
        prop_assert_eq!(batch.legal(), boards.map(|b| b.legal()));
        let directions: [Direction; LANES] = std::array::from_fn(|_| Direction::from_index(rng.below(4) as usize));
        let randoms: [u32; LANES] = std::array::from_fn(|_| rng.next_u32());
        let rule: SpawnRule = "2:0.7,4:0.2,8:0.1".parse().unwrap();
        let rewards = batch.step(&directions, &randoms, &rule);
        for lane in 0..LANES {
            let (next, reward) = match boards[lane].slide(directions[lane]) {
                Some(slide) => (slide.after.draw(&rule, randoms[lane]), slide.reward),
                None => (boards[lane], 0),
            };
            prop_assert_eq!((batch.board(lane), rewards[lane]), (next, reward));
        }
    }
}

/// Long games: every position that random play meets, and play that a cornered strategy meets.
#[test]
fn board_agrees_with_grid_along_games() {
    let (rule, mut rng) = (SpawnRule::CLASSIC, Rng::new(3));
    for game in 0..200 {
        let mut board = Board::start(&rule, &mut rng);
        while !board.is_over() {
            assert_twins(&board);
            let legal = board.legal();
            let pick = if game % 2 == 0 { rng.below(legal.len() as u32) as usize } else { 0 };
            board = board.slide(legal.nth(pick)).unwrap().after.sample(&rule, &mut rng);
        }
        assert_twins(&board);
    }
}

#[test]
fn large_tiles_merge_without_a_cap() {
    let row = |board: Board| board.slide(Direction::Left).map(|s| (*s.after.board(), s.reward));
    assert_eq!(
        row(board!(65536 65536 32768 32768 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0)),
        Some((board!(131072 65536 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0), 196_608))
    );
    assert_eq!(row(board!(65536 32768 65536 32768 / 2 4 2 4 / 4 2 4 2 / 2 4 2 4)), None);
    // 16384s twice in a row reach the overflow mark without overflowing.
    assert_eq!(
        row(board!(16384 16384 16384 16384 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0)),
        Some((board!(32768 32768 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0), 65_536))
    );
    let columns = board!(32768 0 2 2 / 32768 0 2 2 / 65536 0 2 2 / 65536 0 2 2);
    assert_eq!(
        *columns.slide(Direction::Up).unwrap().after.board(),
        board!(65536 0 4 4 / 131072 0 4 4 / 0 0 0 0 / 0 0 0 0)
    );
    assert_eq!(
        *columns.slide(Direction::Down).unwrap().after.board(),
        board!(0 0 0 0 / 0 0 0 0 / 65536 0 4 4 / 131072 0 4 4)
    );
}

/// A widely used environment forgot this spawn.
#[test]
fn a_merge_that_frees_one_cell_of_a_full_board_spawns() {
    let full = board!(2 2 4 8 / 4 8 16 32 / 8 16 32 64 / 16 32 64 128);
    let after = full.slide(Direction::Left).unwrap().after;
    assert_eq!(after.empty_count(), 1);
    for seed in 0..50 {
        let next = after.sample(&SpawnRule::CLASSIC, &mut Rng::new(seed));
        assert_eq!(next.empty_count(), 0);
        assert!((1..=2).contains(&next.exponent(3)));
    }
}
