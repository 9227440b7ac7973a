//! The clipped objective in closed form: what a board's outputs should change by, given what its move led to.

use afterstate_agent::masked_softmax;
use afterstate_board::{Direction, Directions};

/// A move to learn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub action: Direction,
    pub legal: Directions,
    /// The logarithm of the chance that the move was drawn with.
    pub log_chance: f32,
    /// The value of the position before the round.
    pub value: f32,
    /// How much better the move was than the policy's usual.
    pub advantage: f32,
    /// What the value should have been.
    pub target: f32,
}

/// What the parts of the objective count for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    pub clip_ratio: f32,
    pub clip_value: f32,
    pub value: f32,
    pub entropy: f32,
}

/// The chances of moves under a policy; exactly 0 for illegal ones.
#[inline]
pub(crate) fn chances(outputs: &[f32], legal: Directions) -> [f32; 4] {
    masked_softmax(&[outputs[0], outputs[1], outputs[2], outputs[3]], legal)
}

/// Writes the gradient of the loss of one move with respect to the outputs (zero before the call):
///
/// `-min(r A, clip(r) A) + value/2 (V - target)^2 - entropy H`, where `r` is the chance of the move now over what it was.
#[inline]
pub(super) fn gradient(outputs: &[f32], sample: &Sample, weights: &Weights, out: &mut [f32], report: &mut Report) {
    let chances = chances(outputs, sample.legal);
    let logs = chances.map(|chance| if chance > 0.0 { chance.ln() } else { 0.0 });
    let entropy = -chances.iter().zip(&logs).map(|(chance, log)| chance * log).sum::<f32>();
    let at = sample.action.index();
    let change = logs[at] - sample.log_chance;
    let ratio = change.exp();
    let (low, high) = (1.0 - weights.clip_ratio, 1.0 + weights.clip_ratio);
    // Beyond the bound on the side that the advantage pulls to, the objective is flat.
    let flat = if sample.advantage > 0.0 { ratio > high } else { ratio < low };
    let pull = if flat { 0.0 } else { -sample.advantage * ratio };
    for direction in sample.legal.iter() {
        let i = direction.index();
        let own = f32::from(u8::from(i == at));
        out[i] = pull * (own - chances[i]) + weights.entropy * chances[i] * (logs[i] + entropy);
    }
    out[4] = value_gradient(outputs[4], sample, weights);
    let error = outputs[4] - sample.target;
    report.samples += 1.0;
    report.entropy += f64::from(entropy);
    report.kl += f64::from(ratio - 1.0 - change);
    report.clipped += f64::from(u8::from((ratio - 1.0).abs() > weights.clip_ratio));
    report.value_error += f64::from(error * error);
}

/// The part of the value alone.
#[inline]
pub(super) fn value_gradient(value: f32, sample: &Sample, weights: &Weights) -> f32 {
    let (error, moved) = (value - sample.target, value - sample.value);
    // The larger of the two errors counts, as in the clipped policy; a value that has moved far enough stays.
    let clipped = sample.value + moved.clamp(-weights.clip_value, weights.clip_value) - sample.target;
    let stays = moved.abs() > weights.clip_value && clipped * clipped > error * error;
    if stays { 0.0 } else { weights.value * error }
}

/// How much of the variance of returns the values explained before the round.
pub(super) fn explained<'s>(samples: impl Iterator<Item = &'s Sample> + Clone) -> (f64, f64) {
    let n = samples.clone().count().max(1) as f64;
    let mean = samples.clone().map(|s| f64::from(s.target)).sum::<f64>() / n;
    let total = samples.clone().map(|s| (f64::from(s.target) - mean).powi(2)).sum::<f64>();
    let left = samples.map(|s| f64::from(s.target - s.value).powi(2)).sum::<f64>();
    (left, total)
}

/// What is told about rounds of learning: sums, until they are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Report {
    pub samples: f64,
    pub entropy: f64,
    pub kl: f64,
    pub clipped: f64,
    pub value_error: f64,
    /// The variance of returns that values left, and all of it.
    pub explained: (f64, f64),
}

impl Report {
    pub fn add(&mut self, other: &Self) {
        self.samples += other.samples;
        self.entropy += other.entropy;
        self.kl += other.kl;
        self.clipped += other.clipped;
        self.value_error += other.value_error;
        self.explained = (self.explained.0 + other.explained.0, self.explained.1 + other.explained.1);
    }

    pub fn numbers(&self) -> Vec<(&'static str, f64)> {
        let n = self.samples.max(1.0);
        vec![
            ("entropy", self.entropy / n),
            ("kl", self.kl / n),
            ("clipped", self.clipped / n),
            ("value_error", (self.value_error / n).sqrt()),
            ("explained", 1.0 - self.explained.0 / self.explained.1.max(1e-12)),
        ]
    }
}
