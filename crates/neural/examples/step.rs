//! One training step of a batch of 512 (64 for ZeroNet): the framework's own, with its optimiser on its own parameters, and ours behind
//! the learners' seam, side by side in one process. `cargo run --release -p afterstate-neural --example step`

use std::time::Instant;

use afterstate_board::{Board, Position, Rng, SpawnRule};
use afterstate_evaluator::lookup::Role;
use afterstate_evaluator::networks::{Model, Row};
use afterstate_learn::network::{Network, Rates};
use afterstate_neural::Trained;
use afterstate_neural::graph::{leaves, pass};
use burn::module::{Module, Param};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Tensor, TensorData};

/// The arrays of a network as parameters of the framework.
#[derive(Module, Debug)]
struct Arrays {
    arrays: Vec<Param<Tensor<1>>>,
}

fn positions(count: usize) -> Vec<Board> {
    let (mut rng, rule) = (Rng::new(4), SpawnRule::CLASSIC);
    let mut board = Board::start(&rule, &mut rng);
    let next = |_| {
        let legal = board.legal();
        board = match legal.len() {
            0 => Board::start(&rule, &mut rng),
            n => {
                let slide = board.slide(legal.nth(rng.below(n as u32) as usize));
                slide.map_or(board, |slide| slide.after.sample(&rule, &mut rng))
            }
        };
        board
    };
    (0..count).map(next).collect()
}

/// Seconds of the fastest of some calls.
fn fastest(calls: usize, mut call: impl FnMut()) -> f64 {
    let one = |_| {
        let begun = Instant::now();
        call();
        begun.elapsed().as_secs_f64()
    };
    (0..calls).map(one).fold(f64::INFINITY, f64::min)
}

fn main() {
    println!("| network | batch | framework's step | ours | ratio |");
    println!("|---|---|---|---|---|");
    for (name, batch, calls) in
        [("dual-path", 512, 12), ("three-path", 512, 12), ("zeronet", 64, 8), ("value-cnn", 64, 6)]
    {
        let row = Row::named(name).expect("a known name");
        let model = Model::named(row, "", (Role::Policy, 1.0), 1).expect("published sizes are allowed");
        let boards = positions(batch);
        let device = Device::flex().autodiff();
        let mut arrays = Arrays { arrays: leaves(&model, &device).into_iter().map(Param::from_tensor).collect() };
        let mut adam = AdamConfig::new().with_epsilon(1e-8).init();
        let wanted = vec![0.1; batch * 5];
        let framework = fastest(calls, || {
            let own: Vec<Tensor<1>> = arrays.arrays.iter().map(Param::val).collect();
            let made = pass(&model, &own, &boards, Some(&mut Rng::new(1)));
            let wanted = Tensor::<2>::from_data(TensorData::new(wanted.clone(), [batch, 5]), &device);
            let error = made.outputs - wanted;
            let gradients = (error.clone() * error).mean().backward();
            let gradients = GradientsParams::from_grads(gradients, &arrays);
            arrays = adam.step(1e-4, arrays.clone(), gradients);
        });
        let mut trained = Trained::new(model.clone(), device.clone(), 1);
        let ours = fastest(calls, || {
            let rates = Rates { table: 0.0, dense: 1e-4, clip: 0.5 };
            Network::<Board>::learn(&mut trained, &boards, rates, &mut |outputs, gradient| {
                gradient.iter_mut().zip(outputs).zip(&wanted).for_each(|((g, y), w)| *g = y - w);
            });
        });
        println!("| {name} | {batch} | {:.0} ms | {:.0} ms | {:.2} |", 1e3 * framework, 1e3 * ours, ours / framework);
    }
}
