//! Gradients against finite differences, and every way of doing a step against every other.

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

fn small(role: Role) -> Lookup {
    let shape =
        Shape { places: "0123 4567 cdef 37bf".into(), width: 16, hidden: vec![12], role, unit: 1.0, rewards: 1.0 };
    Lookup::new::<Board>(shape, 0.3, 2).unwrap()
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
    for role in [Role::Value, Role::Moves, Role::Policy, Role::Actor] {
        let mut lookup = small(role);
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
        let size = (expected.iter().map(|x| x * x).sum::<f64>() / 16.0).sqrt();
        for (lane, expected) in expected.iter().enumerate() {
            let at = rows[0] as usize * 16 + lane;
            let moved = f64::from(lookup.network.table[at] - before.table[at]);
            assert!((moved + 1e-3 * expected / size).abs() < 2e-5, "{role:?} {lane}: {moved}");
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
    for role in [Role::Value, Role::Moves] {
        let mut lookup = small(role);
        let boards: Vec<Board> = boards(3_000).into_iter().step_by(97).collect();
        let mut rng = Rng::new(1);
        let wanted: Vec<f32> = (0..boards.len() * role.outputs()).map(|_| 2.0 * rng.unit() as f32 - 1.0).collect();
        let (mut first, mut last) = (None, 0.0);
        let rates = Rates { table: 0.03, dense: 1e-3, clip: f32::INFINITY };
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
    let moved = [advance, portable_advance].map(|advance| {
        let (mut table, mut sizes) = (lookup.network.table.to_vec(), lookup.sizes.clone());
        let mut tables = Tables { places: 0..4, start: 0, sizes: &mut sizes, table: &mut table };
        advance(&mut tables, rows, 4, &errors[0], 16, 0.1);
        (table, sizes)
    });
    assert!(moved[0] == moved[1] && moved[0].0 != lookup.network.table.to_vec());
}

#[test]
fn threads_change_nothing() {
    let boards = boards(2_500);
    let gradient: Vec<f32> = (0..12_500).map(|i| (i as f32).sin()).collect();
    let learned = [1, 2, 3].map(|threads| {
        let mut lookup = small(Role::Policy);
        Network::<Board>::use_threads(&mut lookup, threads);
        for _ in 0..2 {
            let rates = Rates { table: 0.1, dense: 1e-3, clip: 1.0 };
            Network::<Board>::learn(&mut lookup, &boards, rates, &mut |_, g| g.copy_from_slice(&gradient));
        }
        (
            lookup.network.table.to_vec(),
            lookup.network.layers.clone(),
            lookup.network.bias.clone(),
            lookup.sizes.clone(),
        )
    });
    assert!(learned[0] == learned[1] && learned[0] == learned[2]);
}
