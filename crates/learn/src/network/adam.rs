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

/// After so many steps the corrections for a mean that began at 0 are 1 to the last bit: `SECOND` to this power is below half a unit in
/// the last place of 1.
const LONG: u64 = 20_000;

impl Adam {
    /// For so many numbers, none of which has moved yet.
    pub fn new(numbers: usize) -> Self {
        Self { first: vec![0.0; numbers], second: vec![0.0; numbers], steps: 0 }
    }

    /// A step of size `rate` against the gradients, divided by `count` and shortened to a length of `clip`; the arrays are those of
    /// every step, in the same order.
    pub fn step(&mut self, parts: &mut [Part<'_>], count: usize, rate: f32, clip: f32) {
        let mut step = self.begin(parts.iter().flat_map(|(_, g)| g.iter()), count, rate, clip);
        parts.iter_mut().for_each(|(numbers, gradient)| self.part(&mut step, numbers, gradient));
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
        let dense = gradients.iter().flat_map(|gradient| gradient.weights.iter().chain(&gradient.bias));
        let mut step = self.begin(bias.1.iter().chain(dense), count, rate, clip);
        self.part(&mut step, bias.0, bias.1);
        for (layer, gradient) in layers.iter_mut().zip(gradients) {
            layer.update(|weights, bias| {
                self.part(&mut step, weights, &gradient.weights);
                self.part(&mut step, bias, &gradient.bias);
            });
        }
    }

    /// Begins a step against all these gradients.
    fn begin<'g>(&mut self, all: impl Iterator<Item = &'g f32>, count: usize, rate: f32, clip: f32) -> Step {
        self.steps += 1;
        let mut scale = 1.0 / count.max(1) as f32;
        if clip.is_finite() {
            let square: f64 = all.map(|&g| f64::from(g).powi(2)).sum();
            let length = square.sqrt() as f32 * scale;
            scale *= if length > clip { clip / length } else { 1.0 };
        }
        let left = |share: f32| if self.steps < LONG { share.powi(self.steps as i32) } else { 0.0 };
        Step { scale, rate: rate / (1.0 - left(FIRST)), unbias: 1.0 / (1.0 - left(SECOND)), done: 0 }
    }

    /// The next array of a step.
    fn part(&mut self, step: &mut Step, numbers: &mut [f32], gradient: &[f32]) {
        let (from, to) = (step.done, step.done + numbers.len());
        let (first, second) = (&mut self.first[from..to], &mut self.second[from..to]);
        advance(numbers, gradient, first, second, step.scale, step.rate, step.unbias);
        step.done = to;
    }
}

/// What holds for all arrays of a step.
struct Step {
    /// What gradients count for.
    scale: f32,
    rate: f32,
    unbias: f32,
    /// Numbers that have had theirs.
    done: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrections_are_left_out_where_they_are_1() {
        assert_eq!([FIRST, SECOND].map(|share| 1.0 - share.powi(LONG as i32)), [1.0, 1.0]);
        assert_ne!(1.0 - SECOND.powi(LONG as i32 / 2), 1.0);
    }

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
