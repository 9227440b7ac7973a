//! Losses, advantages and masks by hand, and gradients against finite differences.

use afterstate_board::{Board, Directions, Grid, Rng, board};

use super::loss::{Weights, chances};
use super::*;
use crate::network::Fixed;

const WEIGHTS: Weights = Weights { clip_ratio: 0.2, clip_value: f32::INFINITY, value: 0.5, entropy: 0.1 };

fn sample(legal: Directions) -> Sample {
    Sample { action: Direction::Right, legal, log_chance: -1.1, value: 0.3, advantage: 1.4, target: 0.9 }
}

/// The loss as it is written down, in double precision.
fn loss(outputs: &[f64; 5], sample: &Sample, weights: &Weights) -> f64 {
    let legal = |d: &Direction| sample.legal.contains(*d);
    let total: f64 = Direction::ALL.iter().filter(|d| legal(d)).map(|d| outputs[d.index()].exp()).sum();
    let chance = |d: &Direction| outputs[d.index()].exp() / total;
    let entropy: f64 = Direction::ALL.iter().filter(|d| legal(d)).map(|d| -chance(d) * chance(d).ln()).sum();
    let ratio = (chance(&sample.action).ln() - f64::from(sample.log_chance)).exp();
    let (clip, advantage) = (f64::from(weights.clip_ratio), f64::from(sample.advantage));
    let gain = (ratio * advantage).min(ratio.clamp(1.0 - clip, 1.0 + clip) * advantage);
    let (value, target, limit) = (f64::from(sample.value), f64::from(sample.target), f64::from(weights.clip_value));
    let plain = (outputs[4] - target).powi(2);
    let clipped = (value + (outputs[4] - value).clamp(-limit, limit) - target).powi(2);
    -gain + f64::from(weights.value) / 2.0 * plain.max(clipped) - f64::from(weights.entropy) * entropy
}

#[test]
fn gradients_equal_finite_differences() {
    let mut rng = Rng::new(1);
    let some = [Direction::Left, Direction::Right, Direction::Down].into_iter().collect();
    for round in 0..400 {
        let outputs: [f64; 5] = std::array::from_fn(|_| 3.0 * rng.unit() - 1.5);
        let legal = if round % 2 == 0 { Directions::ALL } else { some };
        let mut sample = sample(legal);
        sample.advantage = 4.0 * rng.unit() as f32 - 2.0;
        let weights = Weights { clip_value: if round % 3 == 0 { 0.2 } else { f32::INFINITY }, ..WEIGHTS };
        let mut found = [0.0f32; 5];
        gradient(&outputs.map(|x| x as f32), &sample, &weights, &mut found, &mut Report::default());
        for i in 0..5 {
            let at = |step: f64| {
                let mut moved = outputs;
                moved[i] += step;
                loss(&moved, &sample, &weights)
            };
            let expected = (at(1e-6) - at(-1e-6)) / 2e-6;
            assert!((f64::from(found[i]) - expected).abs() < 1e-3, "{round} {i}: {} {expected}", found[i]);
        }
    }
}

#[test]
fn masked_moves_have_no_chance_and_no_gradient() {
    let legal = [Direction::Right, Direction::Down].into_iter().collect();
    let outputs = [50.0, 1.0, 90.0, 2.0, 0.0];
    let found = chances(&outputs, legal);
    assert_eq!((found[0], found[2]), (0.0, 0.0));
    assert!((found[1] - 1.0 / (1.0 + 1f32.exp())).abs() < 1e-6);
    let mut gradients = [0.0; 5];
    gradient(&outputs, &sample(legal), &WEIGHTS, &mut gradients, &mut Report::default());
    assert_eq!((gradients[0], gradients[2]), (0.0, 0.0));
}

#[test]
fn advantages_by_hand() {
    let board = Board::empty();
    let step = |reward: f32, value: f32, last: bool| Step {
        sample: Sample { value, ..sample(Directions::ALL) },
        board,
        reward,
        after: board,
        after_value: 2.0 * value,
        after_target: 0.0,
        points: 10.0 * reward,
        last,
    };
    let steps = vec![step(1.0, 0.5, false), step(2.0, 0.25, true), step(3.0, 1.0, false), step(4.0, 2.0, false)];
    let mut rollout = Rollout { steps, value: 8.0, outcomes: Vec::new() };
    rollout.look_back(0.5, 0.5);
    // From the end: 4 + 0.5*8 - 2 = 6; 3 + 0.5*2 - 1 + 0.25*6 = 4.5; 2 - 0.25 = 1.75; 1 + 0.5*0.25 - 0.5 + 0.25*1.75 = 1.0625.
    let advantages: Vec<f32> = rollout.steps.iter().map(|step| step.sample.advantage).collect();
    assert_eq!(advantages, [1.0625, 1.75, 4.5, 6.0]);
    let targets: Vec<f32> = rollout.steps.iter().map(|step| step.sample.target).collect();
    assert_eq!(targets, [1.5625, 2.0, 5.5, 8.0]);
    // Points still to come: the last keeps its own 4; 40 + 0.5*4 + 0.5*4 = 44; nothing after the end; 20 + 0.5*0.5 + 0.5*0 = 20.25.
    let points: Vec<f32> = rollout.steps.iter().map(|step| step.after_target).collect();
    assert_eq!(points, [20.25, 0.0, 44.0, 4.0]);
}

#[test]
fn draws_follow_the_chances() {
    let (mut rng, mut counts) = (Rng::new(3), [0u32; 4]);
    for _ in 0..20_000 {
        counts[drawn(&[0.5, 0.0, 0.2, 0.3], &mut rng).index()] += 1;
    }
    assert_eq!(counts[1], 0);
    for (count, expected) in [(counts[0], 10_000.0), (counts[2], 4_000.0), (counts[3], 6_000.0)] {
        assert!((f64::from(count) - expected).abs() < 4.0 * f64::sqrt(expected), "{counts:?}");
    }
}

#[test]
fn shuffles_are_even() {
    let mut counts = [[0u32; 4]; 4];
    for seed in 0..8_000 {
        let mut order = [0, 1, 2, 3];
        shuffle(&mut order, &mut Rng::new(seed));
        order.iter().enumerate().for_each(|(place, &i)| counts[place][i as usize] += 1);
    }
    assert!(counts.iter().flatten().all(|&count| (1_800..2_200).contains(&count)), "{counts:?}");
}

#[test]
fn the_best_is_kept_when_a_hundred_games_are_better_by_a_hundredth() {
    let mut config = PpoConfig { network: "lookup:width=8,hidden=8".into(), lanes: 1, ..PpoConfig::new() };
    config.course.evaluate_every = 0;
    let network = Box::new(Fixed::new(Role::Actor, &[0.0; 6]));
    let mut learner = Ppo::<Board> { network, ..Ppo::new(&config).unwrap() };
    let games = |score: u64, largest: u8| vec![Outcome { score, largest, ..Outcome::default() }; 100];
    let mut told = |score, largest| {
        learner.note(&games(score, largest));
        learner.call
    };
    assert_eq!(told(1_000, 7), Call { checkpoint: true, figure: Some(1_000.0) });
    assert_eq!(told(1_005, 7), Call::default());
    assert_eq!(told(1_020, 8), Call { checkpoint: true, figure: Some(1_020.0) });
}

/// The game on four cells is solved: the policy comes within a hundredth of the best there is.
#[test]
fn the_smallest_game_is_learned() {
    let mut config = PpoConfig {
        network: "lookup:width=16,hidden=16".into(),
        lanes: 64,
        horizon: 32,
        batch: 512,
        unit: 20.0,
        discount: 1.0,
        lambda: 0.95,
        entropy_end: 0.0,
        afterstates: false,
        reward: Reward::POINTS,
        ..PpoConfig::new()
    };
    config.course.moves = 1_500_000;
    let mut learner = Ppo::<Grid<2, 2>>::new(&config).unwrap();
    while learner.done().1 < config.course.moves {
        learner.block().unwrap();
    }
    let (mut rng, mut total, games) = (Rng::new(7), 0u64, 40_000);
    for _ in 0..games {
        let mut position = Grid::<2, 2>::start(&config.course.rule, &mut rng);
        while !position.is_over() {
            let mut outputs = [0.0; 5];
            learner.network.judge(&[position], &mut outputs);
            let slides = position.slides();
            let best = slides.legal.iter().reduce(|a, b| if outputs[b.index()] > outputs[a.index()] { b } else { a });
            let best = best.unwrap().index();
            total += u64::from(slides.reward[best]);
            position = slides.after[best].sample(&config.course.rule, &mut rng);
        }
    }
    let mean = total as f64 / f64::from(games);
    assert!(mean > 0.99 * 66.964_149_457_101_26, "{mean}");
}

#[test]
fn a_critic_has_its_own_network_and_comes_back() {
    let mut config = PpoConfig {
        network: "mlp:width=16".into(),
        critic: "mlp:width=8".into(),
        critic_rate: 5.0,
        lanes: 8,
        horizon: 30,
        batch: 64,
        block: 5,
        afterstates: false,
        ..PpoConfig::new()
    };
    config.course.moves = 3_000;
    let mut learner = Ppo::<Board>::new(&config).unwrap();
    let value = |learner: &Ppo<Board>| {
        let (mut outputs, mut values) = ([0.0; 5], [0.0]);
        learner.judge(&[board!(2 4 8 0 / 0 0 0 2 / 0 0 0 0 / 0 0 0 0)], &mut outputs, &mut values);
        outputs
    };
    let before = value(&learner);
    learner.block().unwrap();
    assert!(value(&learner)[4] != before[4] && value(&learner)[0] != before[0]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved");
    learner.save(&mut std::fs::File::create(&path).unwrap()).unwrap();
    let back = Ppo::<Board>::load(&config, &path).unwrap();
    assert_eq!(value(&back), value(&learner));
}

#[test]
fn a_finished_game_is_worth_nothing_more() {
    let over = board!(2 4 2 4 / 4 2 4 2 / 2 4 2 4 / 4 2 4 2);
    let config = PpoConfig { network: "lookup:width=8,hidden=8".into(), lanes: 2, horizon: 200, ..PpoConfig::new() };
    let mut learner = Ppo::<Board>::new(&config).unwrap();
    let rollouts = learner.roll_out();
    assert!(over.is_over() && rollouts.iter().any(|rollout| !rollout.outcomes.is_empty()));
    for rollout in &rollouts {
        for step in rollout.steps.iter().filter(|step| step.last) {
            assert!((step.sample.target - step.reward).abs() < 1e-5 && step.after_target == 0.0);
        }
    }
}
