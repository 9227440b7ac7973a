//! Gradients against finite differences, and every way of doing a step against every other.

use super::pace::portable_advance;
use super::*;
use afterstate_board::{Board, Rng, SpawnRule};

fn boards(count: usize) -> Vec<Board> {
    let (mut rng, rule) = (Rng::new(4), SpawnRule::CLASSIC);
    let mut board = Board::start(&rule, &mut rng);
    let next = |_| {
        let legal = board.legal();
        board = match legal.len() {
            0 => Board::start(&rule, &mut rng),
            n => board.slide(legal.nth(rng.below(n as u32) as usize)).unwrap().after.sample(&rule, &mut rng),
        };
        board
    };
    (0..count).map(next).collect()
}

fn shape(role: Role) -> Shape {
    let places = "0123 4567 cdef 37bf".into();
    Shape { places, width: 16, hidden: vec![12], direct: false, role, unit: 1.0, rewards: 1.0 }
}

fn small(role: Role) -> Lookup {
    Lookup::new(Board::SIZE, shape(role), 0.3, Pace::Adagrad, 2).unwrap()
}

/// The same, with numbers that bypass the head.
fn coherent(role: Role) -> Lookup {
    Lookup::new(Board::SIZE, Shape { direct: true, ..shape(role) }, 0.3, Pace::Coherence, 2).unwrap()
}

/// A weighted sum of all outputs: its gradient is known.
fn total(network: &lookup::Network, boards: &[Board], weights: &[f32]) -> f64 {
    let mut outputs = vec![0.0; weights.len()];
    network.judge_boards(boards.iter(), &mut outputs);
    outputs.iter().zip(weights).map(|(y, w)| f64::from(y * w)).sum()
}

/// What one plain step of the learner would change, found by looking at how it changes things: Adagrad's first step of a row is the
/// rate along the gradient over its length, so that gradients are compared by direction, and the head by Adam's running mean.
#[test]
fn gradients_equal_finite_differences() {
    for (role, direct) in [
        (Role::Value, false),
        (Role::Value, true),
        (Role::Moves, true),
        (Role::Moves, false),
        (Role::Policy, false),
        (Role::Actor, true),
    ] {
        let mut lookup = Lookup::new(Board::SIZE, Shape { direct, ..shape(role) }, 0.3, Pace::Adagrad, 2).unwrap();
        let board = boards(60)[50];
        let mut rng = Rng::new(9);
        let weights: Vec<f32> = (0..role.outputs()).map(|_| rng.unit() as f32 - 0.5).collect();
        let before = lookup.network.copied().unwrap();
        let rates = Rates { table: 1e-3, dense: 0.0, clip: f32::INFINITY };
        Network::<Board>::learn(&mut lookup, &[board], rates, &mut |_, gradient| gradient.copy_from_slice(&weights));
        let slope = |change: &dyn Fn(&mut lookup::Network, f32)| {
            let at = |step: f32| {
                let mut moved = before.copied().unwrap();
                change(&mut moved, step);
                total(&moved, &[board], &weights)
            };
            (at(1e-3) - at(-1e-3)) / 2e-3
        };
        let mut rows = [0; 4];
        before.places().encode(&board, &mut rows);
        let expected: Vec<f64> =
            (0..16).map(|lane| slope(&|network, step| network.table[rows[0] as usize * 16 + lane] += step)).collect();
        let beside = |lane: usize| if direct && lane >= role.outputs() { f64::from(BESIDE) } else { 1.0 };
        let expected: Vec<f64> = expected.iter().enumerate().map(|(lane, x)| beside(lane) * x).collect();
        let size = (expected.iter().map(|x| x * x).sum::<f64>() / 16.0).sqrt();
        for (lane, expected) in expected.iter().enumerate() {
            let at = rows[0] as usize * 16 + lane;
            let moved = f64::from(lookup.network.table[at] - before.table[at]);
            assert!((moved + 1e-3 * expected / size).abs() < 2e-5, "{role:?} {direct} {lane}: {moved}");
        }
        // Adam's first mean is a tenth of the gradient: bias, then each layer's weights and biases.
        let mut at = 16;
        for layer in 0..2 {
            let many = before.layers[layer].weights().len();
            for i in (0..many).step_by(7) {
                let expected = slope(&|network, step| network.layers[layer].update(|weights, _| weights[i] += step));
                assert!((f64::from(lookup.adam.first[at + i]) - 0.1 * expected).abs() < 1e-4, "{role:?} {layer} {i}");
            }
            at += many + before.layers[layer].outputs();
        }
        for lane in 0..16 {
            let expected = slope(&|network, step| network.bias[lane] += step);
            assert!((f64::from(lookup.adam.first[lane]) - 0.1 * expected).abs() < 1e-4);
        }
    }
}

#[test]
fn one_batch_is_learned_by_heart() {
    for (mut lookup, table) in [(small(Role::Value), 0.03), (small(Role::Moves), 0.03), (coherent(Role::Value), 0.1)] {
        let role = lookup.network.shape().role;
        let boards: Vec<Board> = boards(3_000).into_iter().step_by(97).collect();
        let mut rng = Rng::new(1);
        let wanted: Vec<f32> = (0..boards.len() * role.outputs()).map(|_| 2.0 * rng.unit() as f32 - 1.0).collect();
        let (mut first, mut last) = (None, 0.0);
        let rates = Rates { table, dense: 1e-3, clip: f32::INFINITY };
        for _ in 0..600 {
            Network::<Board>::learn(&mut lookup, &boards, rates, &mut |outputs, gradient| {
                last = 0.0;
                for ((g, y), w) in gradient.iter_mut().zip(outputs).zip(&wanted) {
                    *g = y - w;
                    last += (y - w) * (y - w);
                }
                first.get_or_insert(last);
            });
        }
        assert!(last < 0.01 * first.unwrap(), "{role:?}: from {first:?} to {last}");
    }
}

#[test]
fn both_compilations_learn_the_same() {
    let (mut lookup, boards) = (small(Role::Policy), boards(100));
    let gradient: Vec<f32> = (0..500).map(|i| (i as f32).sin()).collect();
    lookup.look(&boards);
    let Work { rows, sums, kept, .. } = &lookup.work;
    let (mut plain_sums, mut plain_kept) = (vec![0.0; sums.len()], vec![0.0; kept.len()]);
    let mut part = Part { rows, sums: &mut plain_sums, kept: &mut plain_kept };
    portable_forward(&lookup.network, &mut part);
    assert_eq!((&plain_sums, &plain_kept), (sums, kept));
    let mut heads = [0, 1].map(|_| Head::zero(&lookup.network));
    let mut errors = [0, 1].map(|_| vec![0.0; sums.len()]);
    for (i, backward) in [backward, portable_backward].into_iter().enumerate() {
        backward(&lookup.network, &mut heads[i], &mut Back { sums, kept, gradient: &gradient, errors: &mut errors[i] });
    }
    assert!(errors[0] == errors[1] && heads[0].layers == heads[1].layers && heads[0].bias == heads[1].bias);
    for pace in [Pace::Adagrad, Pace::Coherence] {
        let moved = [advance, portable_advance].map(|advance| {
            let (mut table, mut memories) = (lookup.network.table.to_vec(), lookup.memories.to_vec());
            let mut tables = Tables { places: 0..4, start: 0, memories: &mut memories, table: &mut table };
            let errors = &errors[0];
            let lesson =
                Lesson { rows, places: 4, errors, width: 16, gradient: &gradient, outputs: 5, rate: 0.1, pace };
            advance(&mut tables, &lesson);
            (table, memories)
        });
        assert!(moved[0] == moved[1] && moved[0].0 != lookup.network.table.to_vec());
    }
}

/// At a rate of 1 the first step of coherence mends a board; a row whose errors cancel out stands still.
#[test]
fn coherence_follows_errors_that_agree() {
    let mut lookup =
        Lookup::new(Board::SIZE, Shape { direct: true, ..shape(Role::Value) }, 0.0, Pace::Coherence, 2).unwrap();
    let (board, rates) = (boards(60)[50], Rates { table: 1.0, dense: 0.0, clip: f32::INFINITY });
    let mut value_after = |error: f32| {
        let learn = &mut |_: &[f32], gradient: &mut [f32]| gradient[0] = error;
        Network::<Board>::learn(&mut lookup, &[board], rates, learn);
        let mut value = [0.0];
        lookup.network.judge_boards([&board].into_iter(), &mut value);
        value[0]
    };
    // Rows of nothing but zeros have a dead head: what is learned is the direct sum alone.
    assert_eq!(value_after(-2.0), 2.0);
    assert_eq!(value_after(2.0), 0.0, "the errors so far agree");
    assert_eq!(value_after(-3.0), 0.0, "2 - 2 is no reason to go anywhere");
    assert_eq!(value_after(-4.0), 4.0 * 3.0 / 7.0);
}

#[test]
fn preferences_have_no_errors_to_agree() {
    assert!(Lookup::new(Board::SIZE, shape(Role::Policy), 0.1, Pace::Coherence, 1).is_err());
}

#[test]
fn threads_change_nothing() {
    let boards = boards(2_500);
    let gradient: Vec<f32> = (0..12_500).map(|i| (i as f32).sin()).collect();
    for make in [|| small(Role::Policy), || coherent(Role::Moves)] {
        threads_change_nothing_for(make, &boards, &gradient);
    }
}

fn threads_change_nothing_for(make: fn() -> Lookup, boards: &[Board], gradient: &[f32]) {
    let learned = [1, 2, 3].map(|threads| {
        let mut lookup = make();
        Network::<Board>::use_threads(&mut lookup, threads);
        for _ in 0..2 {
            let rates = Rates { table: 0.1, dense: 1e-3, clip: 1.0 };
            let count = boards.len() * lookup.network.shape().role.outputs();
            let learn = &mut |_: &[f32], g: &mut [f32]| g.copy_from_slice(&gradient[..count]);
            Network::<Board>::learn(&mut lookup, boards, rates, learn);
        }
        (
            lookup.network.table.to_vec(),
            lookup.network.layers.clone(),
            lookup.network.bias.clone(),
            lookup.memories.to_vec(),
        )
    });
    assert!(learned[0] == learned[1] && learned[0] == learned[2]);
}
