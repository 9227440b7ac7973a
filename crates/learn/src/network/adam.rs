//! Adam (Kingma and Ba 2015) for the dense parts of networks.

use afterstate_evaluator::dense::{Dense, DenseGradient};
use afterstate_evaluator::vectorised;

const FIRST: f32 = 0.9;
const SECOND: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// The running means of gradients and of their squares, for one array after another.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam {
    /// The running means of the gradients.
    pub first: Vec<f32>,
    /// Those of their squares.
    pub second: Vec<f32>,
    /// Steps so far.
    pub steps: u64,
}

/// One array with its gradient.
pub type Part<'a> = (&'a mut [f32], &'a [f32]);

vectorised! {
    /// `numbers` go a step against `gradient`, which counts `scale` times.
    fn advance / portable_advance(
        numbers: &mut [f32], gradient: &[f32], first: &mut [f32], second: &mut [f32], scale: f32, step: f32, unbias: f32,
    ) {
        for (((x, g), m), v) in numbers.iter_mut().zip(gradient).zip(first).zip(second) {
            let g = g * scale;
            *m = FIRST * *m + (1.0 - FIRST) * g;
            *v = SECOND * *v + (1.0 - SECOND) * (g * g);
            *x -= step * *m / ((*v * unbias).sqrt() + EPSILON);
        }
    }
}

impl Adam {
    /// For so many numbers, none of which has moved yet.
    pub fn new(numbers: usize) -> Self {
        Self { first: vec![0.0; numbers], second: vec![0.0; numbers], steps: 0 }
    }

    /// A step of size `rate` against the gradients, divided by `count` and shortened to a length of `clip`; the arrays are those of
    /// every step, in the same order.
    pub fn step(&mut self, parts: &mut [Part<'_>], count: usize, rate: f32, clip: f32) {
        self.steps += 1;
        let mut scale = 1.0 / count.max(1) as f32;
        if clip.is_finite() {
            let square: f64 = parts.iter().flat_map(|(_, g)| g.iter()).map(|&g| f64::from(g).powi(2)).sum();
            let length = square.sqrt() as f32 * scale;
            scale *= if length > clip { clip / length } else { 1.0 };
        }
        // Long before this many steps the corrections are 1.
        let steps = self.steps.min(100_000) as i32;
        let (step, unbias) = (rate / (1.0 - FIRST.powi(steps)), 1.0 / (1.0 - SECOND.powi(steps)));
        let (mut first, mut second) = (self.first.as_mut_slice(), self.second.as_mut_slice());
        for (numbers, gradient) in parts {
            let (m, rest) = first.split_at_mut(numbers.len());
            let (v, other) = second.split_at_mut(numbers.len());
            advance(numbers, gradient, m, v, scale, step, unbias);
            (first, second) = (rest, other);
        }
    }

    /// A step of dense layers and of one array before them.
    pub fn step_layers(
        &mut self,
        bias: Part<'_>,
        layers: &mut [Dense],
        gradients: &[DenseGradient],
        count: usize,
        (rate, clip): (f32, f32),
    ) {
        let mut owned: Vec<(Vec<f32>, Vec<f32>)> =
            layers.iter().map(|layer| (layer.weights().to_vec(), layer.bias().to_vec())).collect();
        let mut parts = vec![bias];
        for ((weights, bias), gradient) in owned.iter_mut().zip(gradients) {
            parts.push((weights, &gradient.weights));
            parts.push((bias, &gradient.bias));
        }
        self.step(&mut parts, count, rate, clip);
        for (layer, (weights, bias)) in layers.iter_mut().zip(owned) {
            layer.update(|old_weights, old_bias| {
                old_weights.copy_from_slice(&weights);
                old_bias.copy_from_slice(&bias);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_is_the_rate_against_each_sign() {
        let mut adam = Adam::new(3);
        let mut numbers = [1.0, 2.0, 3.0];
        adam.step(&mut [(&mut numbers, &[5.0, -0.1, 0.0])], 1, 0.01, f32::INFINITY);
        assert!((numbers[0] - 0.99).abs() < 1e-6 && (numbers[1] - 2.01).abs() < 1e-6 && numbers[2] == 3.0);
    }

    #[test]
    fn clipping_keeps_the_direction() {
        let (mut long, mut short) = (Adam::new(2), Adam::new(2));
        let (mut a, mut b) = ([0.0, 0.0], [0.0, 0.0]);
        long.step(&mut [(&mut a, &[30.0, 40.0])], 1, 0.1, 5.0);
        short.step(&mut [(&mut b, &[3.0, 4.0])], 1, 0.1, f32::INFINITY);
        assert_eq!(long.first, short.first);
    }

    #[test]
    fn both_compilations_agree() {
        let numbers: Vec<f32> = (0..37).map(|i| (i as f32).sin()).collect();
        let blank = || (numbers.clone(), vec![0.1; 37], vec![0.2; 37]);
        let (mut fast, mut slow) = (blank(), blank());
        advance(&mut fast.0, &numbers, &mut fast.1, &mut fast.2, 0.5, 0.01, 1.2);
        portable_advance(&mut slow.0, &numbers, &mut slow.1, &mut slow.2, 0.5, 0.01, 1.2);
        assert_eq!(fast, slow);
    }
}
