//! Boards a second of the published networks at their published sizes: the plain interpreter and the compiled inference side by side in
//! one process, on positions of random games. `cargo run --release -p afterstate-evaluator --example networks [NAME]`

use std::sync::Arc;
use std::time::Instant;

use afterstate_board::{Afterstate, Board, Position, Rng, SpawnRule};
use afterstate_evaluator::lookup::Role;
use afterstate_evaluator::networks::{Compiled, Model, Player, ROWS, plain};
use afterstate_evaluator::{Evaluator, Judgement, MoveJudge};

/// Positions of random games, one after another.
fn positions(count: usize) -> Vec<Board> {
    let (mut rng, rule) = (Rng::new(4), SpawnRule::CLASSIC);
    let mut board = Board::start(&rule, &mut rng);
    let next = |_| {
        let legal = board.legal();
        let slide = match legal.len() {
            0 => None,
            n => board.slide(legal.nth(rng.below(n as u32) as usize)),
        };
        board = match slide {
            None => Board::start(&rule, &mut rng),
            Some(slide) => slide.after.sample(&rule, &mut rng),
        };
        board
    };
    (0..count).map(next).collect()
}

/// Seconds that this thread has had a processor, so that busy neighbours do not count; none where the system does not say.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

/// Boards a second of a function that does `boards` a call, the best of several spells: by the processor's time for one thread, by the
/// clock for more.
fn rate(boards: usize, threads: usize, mut call: impl FnMut()) -> f64 {
    let begun = Instant::now();
    let now = || processor_seconds().filter(|_| threads == 1).unwrap_or_else(|| begun.elapsed().as_secs_f64());
    call();
    let first = now();
    call();
    // Asking for the time takes a microsecond or two.
    let calls_between = (1e-3 / (now() - first).max(1e-6)).clamp(1.0, 50.0) as usize;
    let spell = |call: &mut dyn FnMut()| {
        let (start, mut calls) = (now(), 0);
        while now() - start < 0.2 {
            (0..calls_between).for_each(|_| call());
            calls += calls_between;
        }
        (boards * calls) as f64 / (now() - start)
    };
    (0..5).map(|_| spell(&mut call)).fold(0.0, f64::max)
}

fn main() {
    let wanted = std::env::args().nth(1);
    let boards = positions(4_096);
    let afters: Vec<Afterstate<Board>> = boards.iter().map(|board| Afterstate::new(*board)).collect();
    println!("| network | what | batch | threads | boards/s | plain | ratio |");
    println!("|---|---|---|---|---|---|---|");
    for row in ROWS.iter().filter(|row| wanted.as_deref().is_none_or(|wanted| wanted == row.name)) {
        let role = if row.name == "value-cnn" { Role::Value } else { Role::Policy };
        let model = Model::named(row, "seen=as-it-lies", (role, 1.0), 1).expect("published sizes are allowed");
        let mut at = 0;
        let slow = rate(1, 1, || {
            at = (at + 1) % boards.len();
            std::hint::black_box(plain::outputs(&model, &boards[at]));
        });
        let compiled = Arc::new(Compiled::new(&model, false));
        for (batch, threads) in [(1, 1), (8, 1), (64, 1), (1_024, 1), (1_024, 2)] {
            let player = Player::new(compiled.clone(), threads);
            let mut at = 0;
            let mut next = || {
                at = (at + batch) % (boards.len() - batch + 1);
                at
            };
            let mut values = vec![0.0; batch];
            let fast = rate(batch, threads, || {
                let at = next();
                player.evaluate(&afters[at..at + batch], &mut values);
            });
            println!("| {} | value | {batch} | {threads} | {fast:.0} | {slow:.1} | {:.0}x |", row.name, fast / slow);
            if role == Role::Policy {
                let mut judgements = vec![Judgement::default(); batch];
                let fast = rate(batch, threads, || {
                    let at = next();
                    MoveJudge::judge(&player, &boards[at..at + batch], &mut judgements);
                });
                println!(
                    "| {} | moves and value | {batch} | {threads} | {fast:.0} | {slow:.1} | {:.0}x |",
                    row.name,
                    fast / slow
                );
            }
        }
    }
}
