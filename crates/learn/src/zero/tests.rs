//! Targets by hand, gradients against finite differences, and the smallest game.

use afterstate_board::{Board, Grid, Symmetry, board};

use super::*;
use crate::imitation::{gradient, turned};

fn pending(n: u8) -> Pending<Board> {
    let mut pending = Pending::default();
    (0..n)
        .for_each(|i| pending.push(Board::empty().with_exponent(0, i), [0.25; 4], f32::from(i), 100.0 * f32::from(i)));
    pending
}

#[test]
fn values_wait_for_what_came_of_them() {
    let (mut pending, mut lessons) = (pending(4), Vec::new());
    pending.settle_old(2, 0.5, &mut lessons);
    // 0 + 0.5*1 + 0.25*200, then 1 + 0.5*2 + 0.25*300; the last two have not enough after them.
    let values: Vec<f32> = lessons.iter().map(|lesson| lesson.value).collect();
    assert_eq!(values, [50.5, 77.0]);
    pending.settle_all(8.0, 0.5, &mut lessons);
    let values: Vec<f32> = lessons[2..].iter().map(|lesson| lesson.value).collect();
    assert_eq!(values, [2.0 + 0.5 * (3.0 + 0.5 * 8.0), 3.0 + 0.5 * 8.0]);
    let tiles: Vec<u8> = lessons.iter().map(|lesson| lesson.board.exponent(0)).collect();
    assert_eq!(tiles, [0, 1, 2, 3]);
}

#[test]
fn moves_that_wait_come_back() {
    let games = [pending(3), pending(0), pending(5)];
    let bytes = Pending::write_all(&games);
    assert_eq!(Pending::read_all(3, &bytes).as_deref(), Some(&games[..]));
    assert!(Pending::<Board>::read_all(2, &bytes).is_none() && Pending::<Board>::read_all(4, &bytes).is_none());
}

#[test]
fn the_blend_by_hand() {
    let board: Board = board!(2048 4 2 4 / 4 2 4 2 / 2 4 2 4 / 4 2 4 2);
    let value = 0.5 * 30_000.0 / 150_000.0 + 0.3 * 11.0 / 16.0 + 0.2 * 0.5;
    assert!((f64::from(Zero::blend(&board, 30_000)) - (2.0 * value - 1.0)).abs() < 1e-6);
    assert_eq!(Zero::blend(&board, 150_000), Zero::blend(&board, 900_000));
}

#[test]
fn gradients_equal_finite_differences() {
    let lesson = Lesson::<Board> {
        board: board!(2 0 0 4 / 0 2 0 0 / 8 0 16 0 / 0 0 0 2),
        moves: [0.1, 0.6, 0.3, 0.0],
        value: 0.7,
    };
    let outputs = [0.3, -0.2, 0.9, 0.4, 0.1];
    let loss = |outputs: &[f64; 5]| {
        let total: f64 = outputs[..4].iter().map(|x| x.exp()).sum();
        let surprise: f64 = (0..4).map(|i| -f64::from(lesson.moves[i]) * (outputs[i] - total.ln())).sum();
        surprise + 0.25 * (outputs[4] - f64::from(lesson.value)).powi(2)
    };
    let mut found = [0.0; 5];
    gradient(&outputs.map(|x| x as f32), &lesson, 0.5, &mut found, &mut Errors::default());
    for i in 0..5 {
        let at = |step: f64| {
            let mut moved = outputs;
            moved[i] += step;
            loss(&moved)
        };
        let expected = (at(1e-6) - at(-1e-6)) / 2e-6;
        assert!((f64::from(found[i]) - expected).abs() < 1e-4, "{i}: {} {expected}", found[i]);
    }
}

#[test]
fn images_of_a_lesson_turn_its_moves() {
    let lesson = Lesson::<Board> {
        board: board!(2 4 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 8),
        moves: [0.4, 0.3, 0.2, 0.1],
        value: 1.0,
    };
    let mut rng = Rng::new(1);
    for _ in 0..100 {
        let image = turned(&lesson, &mut rng);
        let symmetry = Symmetry::ALL.into_iter().find(|&s| lesson.board.transformed(s) == image.board).unwrap();
        for d in Direction::ALL {
            assert_eq!(image.moves[symmetry.direction(d).index()], lesson.moves[d.index()]);
        }
    }
}

/// The game on four cells is solved: self-play comes within a hundredth of the best there is.
#[test]
fn the_smallest_game_is_learned() {
    let mut config = ZeroConfig {
        network: "lookup:width=16,hidden=16".into(),
        lanes: 64,
        simulations: 24,
        unit: 20.0,
        replay: 20_000,
        batch: 256,
        n_step: 100,
        temperature_moves: 4,
        ..ZeroConfig::new()
    };
    config.course.moves = 120_000;
    let mut learner = Zero::<Grid<2, 2>>::new(&config).unwrap();
    while learner.done().1 < config.course.moves {
        learner.block().unwrap();
    }
    let player = learner.player().unwrap();
    let spec = "puct:simulations=50".parse().unwrap();
    let context = afterstate_agent::Context::default();
    let mut agent = afterstate_agent::build_with::<Grid<2, 2>>(&spec, &context, || Box::new(player.clone())).unwrap();
    let (mut rng, mut total, games) = (Rng::new(7), 0u64, 20_000);
    for _ in 0..games {
        let mut position = Grid::<2, 2>::start(&config.course.rule, &mut rng);
        while let Some(direction) = agent.decide(&position, &afterstate_agent::Budget::OWN, &mut rng).direction {
            let slide = position.slide(direction).unwrap();
            total += u64::from(slide.reward);
            position = slide.after.sample(&config.course.rule, &mut rng);
        }
    }
    let mean = total as f64 / f64::from(games);
    assert!(mean > 0.99 * 66.964_149_457_101_26, "{mean}");
}

/// Many games whose leaves are judged in one batch, and each alone with one leaf at a time: the same trees.
#[test]
fn batches_change_no_search() {
    let config = ZeroConfig { network: "lookup:width=16,hidden=16".into(), lanes: 9, ..ZeroConfig::new() };
    let learner = Zero::<Board>::new(&config).unwrap();
    let roots: Vec<Board> = learner.lanes.lanes.iter().map(|lane| lane.board).collect();
    let judged = |boards: &[Board]| {
        let mut outputs = vec![0.0; 5 * boards.len()];
        learner.network.judge(boards, &mut outputs);
        let priors = boards.iter().zip(outputs.chunks_exact(5)).map(|(board, outputs)| learner.prior(outputs, board));
        priors.collect::<Vec<Prior>>()
    };
    let begun = |i: usize, prior: &Prior| {
        let mut search = learner.search();
        search.begin(&roots[i], prior, [0.0; 4]);
        (search, Rng::new(i as u64))
    };
    let mut together: Vec<(Puct, Rng)> = judged(&roots).iter().enumerate().map(|(i, prior)| begun(i, prior)).collect();
    for _ in 0..40 {
        let leaves: Vec<Board> = roots.iter().zip(&mut together).map(|(root, (s, rng))| s.descend(root, rng)).collect();
        for ((leaf, prior), (search, _)) in leaves.iter().zip(judged(&leaves)).zip(&mut together) {
            if leaf.is_over() { search.end(0.0) } else { search.tell(&prior) }
        }
    }
    for (i, (root, (batched, _))) in roots.iter().zip(&together).enumerate() {
        let (mut alone, mut rng) = begun(i, &judged(&[*root])[0]);
        for _ in 0..40 {
            let leaf = alone.descend(root, &mut rng);
            if leaf.is_over() { alone.end(0.0) } else { alone.tell(&judged(&[leaf])[0]) }
        }
        assert_eq!((alone.visits(), alone.values()), (batched.visits(), batched.values()));
    }
}
