//! Dense layers: the heads of networks, and plain networks of nothing else.

use crate::vectorised;

/// The most inputs or outputs of a layer.
pub const MOST: usize = 1_024;

/// Numbers worked on side by side: four registers of eight.
const BLOCK: usize = 32;

/// Outputs whose weights are turned together.
const TURNED: usize = 16;

/// Layers of so many inputs leave out those that are 0: after ReLU about half, of one-hot planes nearly all.
const SPARSE: usize = 64;

/// A layer: every output a weighted sum of all inputs, plus its bias.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    inputs: usize,
    outputs: usize,
    /// Output by output.
    weights: Vec<f32>,
    bias: Vec<f32>,
    /// The weights input by input, outputs filled up to whole blocks: what many outputs at once are computed from.
    turned: Vec<f32>,
}

impl Dense {
    /// A layer of these weights, output by output, and biases.
    pub fn new(inputs: usize, outputs: usize, weights: Vec<f32>, bias: Vec<f32>) -> Self {
        assert!(
            (1..=MOST).contains(&inputs) && (1..=MOST).contains(&outputs),
            "a layer has 1 to {MOST} in- and outputs"
        );
        assert!(weights.len() == inputs * outputs && bias.len() == outputs, "as many weights as the layer needs");
        let mut layer = Self { inputs, outputs, weights, bias, turned: Vec::new() };
        layer.turn();
        layer
    }

    /// Number of inputs.
    pub const fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of outputs.
    pub const fn outputs(&self) -> usize {
        self.outputs
    }

    /// Number of weights and biases.
    pub const fn parameters(&self) -> usize {
        (self.inputs + 1) * self.outputs
    }

    /// The weights, output by output.
    pub fn weights(&self) -> &[f32] {
        &self.weights
    }

    /// The biases.
    pub fn bias(&self) -> &[f32] {
        &self.bias
    }

    /// Changes weights and biases.
    pub fn update(&mut self, change: impl FnOnce(&mut [f32], &mut [f32])) {
        change(&mut self.weights, &mut self.bias);
        self.turn();
    }

    /// Outputs filled up to whole blocks.
    const fn filled(&self) -> usize {
        self.outputs.next_multiple_of(BLOCK)
    }

    fn turn(&mut self) {
        let filled = self.filled();
        if self.outputs >= 8 {
            self.turned.resize(self.inputs * filled, 0.0);
            // A few outputs at a time: what is written lies side by side.
            for (from, rows) in self.weights.chunks(TURNED * self.inputs).enumerate() {
                for (input, turned) in self.turned.chunks_exact_mut(filled).enumerate() {
                    let own = &mut turned[from * TURNED..][..rows.len() / self.inputs];
                    let column = rows.iter().skip(input).step_by(self.inputs);
                    own.iter_mut().zip(column).for_each(|(x, weight)| *x = *weight);
                }
            }
        }
    }

    /// The outputs; negative ones become 0 if `relu`.
    #[inline(always)]
    pub fn apply(&self, inputs: &[f32], outputs: &mut [f32], relu: bool) {
        let (inputs, outputs) = (&inputs[..self.inputs], &mut outputs[..self.outputs]);
        if self.outputs < 8 {
            self.apply_few(inputs, outputs);
        } else if self.inputs >= SPARSE {
            self.apply_sparse(inputs, outputs);
        } else {
            self.apply_many(inputs, outputs);
        }
        if relu {
            outputs.iter_mut().for_each(|x| *x = x.max(0.0));
        }
    }

    /// Each output as a product of two vectors.
    #[inline(always)]
    fn apply_few(&self, inputs: &[f32], outputs: &mut [f32]) {
        for (output, row) in self.weights.chunks_exact(self.inputs).enumerate() {
            outputs[output] = dot(row, inputs) + self.bias[output];
        }
    }

    /// A block of outputs at a time, in registers; even and odd inputs apart, so that additions need not wait for each other.
    #[inline(always)]
    fn apply_many(&self, inputs: &[f32], outputs: &mut [f32]) {
        let filled = self.filled();
        for from in (0..self.outputs).step_by(BLOCK) {
            let (mut even, mut odd) = ([0.0f32; BLOCK], [0.0f32; BLOCK]);
            for (pair, rows) in inputs.chunks(2).zip(self.turned.chunks(2 * filled)) {
                add_product(pair[0], &rows[from..], &mut even);
                if let Some(second) = pair.get(1) {
                    add_product(*second, &rows[filled + from..], &mut odd);
                }
            }
            self.finish_block(from, (&even, &odd), outputs);
        }
    }

    /// The same sums without the inputs that are 0.
    #[inline(always)]
    fn apply_sparse(&self, inputs: &[f32], outputs: &mut [f32]) {
        // The inputs that count, those of even and of odd index.
        let (mut counting, mut counts) = ([[0u16; MOST / 2]; 2], [0; 2]);
        for (input, x) in inputs.iter().enumerate() {
            let odd = input % 2;
            counting[odd][counts[odd]] = input as u16;
            counts[odd] += usize::from(*x != 0.0);
        }
        let (evens, odds) = (&counting[0][..counts[0]], &counting[1][..counts[1]]);
        let both = counts[0].min(counts[1]);
        let filled = self.filled();
        for from in (0..self.outputs).step_by(BLOCK) {
            let (mut even, mut odd) = ([0.0f32; BLOCK], [0.0f32; BLOCK]);
            for (a, b) in evens.iter().zip(odds) {
                let (a, b) = (usize::from(*a), usize::from(*b));
                add_product(inputs[a], &self.turned[a * filled + from..], &mut even);
                add_product(inputs[b], &self.turned[b * filled + from..], &mut odd);
            }
            for a in &evens[both..] {
                add_product(inputs[usize::from(*a)], &self.turned[usize::from(*a) * filled + from..], &mut even);
            }
            for b in &odds[both..] {
                add_product(inputs[usize::from(*b)], &self.turned[usize::from(*b) * filled + from..], &mut odd);
            }
            self.finish_block(from, (&even, &odd), outputs);
        }
    }

    /// A block of outputs from its two sums.
    #[inline(always)]
    fn finish_block(&self, from: usize, (even, odd): (&[f32; BLOCK], &[f32; BLOCK]), outputs: &mut [f32]) {
        let sums: [f32; BLOCK] = std::array::from_fn(|lane| even[lane] + odd[lane]);
        for ((output, sum), bias) in outputs[from..].iter_mut().zip(sums).zip(&self.bias[from..]) {
            *output = sum + bias;
        }
    }

    /// Adds what an error at the outputs means for weights, biases and, unless empty, the inputs (which is set, not added to).
    #[inline(always)]
    pub fn pull_back(&self, inputs: &[f32], errors: &[f32], gradient: &mut DenseGradient, input_errors: &mut [f32]) {
        let inputs = &inputs[..self.inputs];
        input_errors.fill(0.0);
        for (output, &error) in errors[..self.outputs].iter().enumerate().filter(|(_, error)| **error != 0.0) {
            gradient.bias[output] += error;
            let at = output * self.inputs;
            axpy(error, inputs, &mut gradient.weights[at..at + self.inputs]);
            if !input_errors.is_empty() {
                axpy(error, &self.weights[at..at + self.inputs], &mut input_errors[..self.inputs]);
            }
        }
    }
}

/// What a loss would change in a layer.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseGradient {
    /// For each weight, output by output.
    pub weights: Vec<f32>,
    /// For each bias.
    pub bias: Vec<f32>,
}

impl DenseGradient {
    /// Nothing yet.
    pub fn zero(layer: &Dense) -> Self {
        Self { weights: vec![0.0; layer.weights.len()], bias: vec![0.0; layer.outputs] }
    }
}

/// `sum += factor * row`, in registers.
#[inline(always)]
fn add_product(factor: f32, row: &[f32], sum: &mut [f32; BLOCK]) {
    if let Some(row) = row.first_chunk::<BLOCK>() {
        for lane in 0..BLOCK {
            sum[lane] += factor * row[lane];
        }
    }
}

/// `sum += factor * vector`.
#[inline(always)]
pub fn axpy(factor: f32, vector: &[f32], sum: &mut [f32]) {
    let (vectors, rest) = vector.as_chunks::<8>();
    let (sums, sum_rest) = sum.as_chunks_mut::<8>();
    for (sum, vector) in sums.iter_mut().zip(vectors) {
        for lane in 0..8 {
            sum[lane] += factor * vector[lane];
        }
    }
    sum_rest.iter_mut().zip(rest).for_each(|(sum, x)| *sum += factor * x);
}

/// The product of two vectors, in eight sums.
#[inline(always)]
pub fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0f32; 8];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    let [s0, s1, s2, s3, s4, s5, s6, s7] = sums;
    ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7)) + rest
}

vectorised! {
    /// Runs a vector through layers, each but the last followed by ReLU. `kept` gets the outputs of all of them, one after another.
    pub fn run_layers / portable_run_layers(layers: &[Dense], inputs: &[f32], kept: &mut [f32]) {
        layers_through(layers, inputs, kept);
    }
}

/// [`run_layers`], to be compiled into its caller.
#[inline(always)]
pub fn layers_through(layers: &[Dense], inputs: &[f32], kept: &mut [f32]) {
    let mut at = 0;
    for (i, layer) in layers.iter().enumerate() {
        let (before, after) = kept.split_at_mut(at);
        let given = if i == 0 { inputs } else { &before[at - layer.inputs..] };
        layer.apply(given, after, i + 1 < layers.len());
        at += layer.outputs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::close;
    use afterstate_board::Rng;

    fn random(n: usize, rng: &mut Rng) -> Vec<f32> {
        (0..n).map(|_| rng.unit() as f32 - 0.5).collect()
    }

    fn layer(inputs: usize, outputs: usize, rng: &mut Rng) -> Dense {
        Dense::new(inputs, outputs, random(inputs * outputs, rng), random(outputs, rng))
    }

    #[test]
    fn outputs_equal_the_definition_and_the_portable_twin() {
        let mut rng = Rng::new(1);
        for (inputs, outputs) in [(1, 1), (3, 4), (16, 8), (33, 32), (64, 33), (7, 100)] {
            let layers = [layer(inputs, outputs, &mut rng), layer(outputs, 5, &mut rng)];
            let given = random(inputs, &mut rng);
            let (mut fast, mut slow) = (vec![0.0; outputs + 5], vec![0.0; outputs + 5]);
            run_layers(&layers, &given, &mut fast);
            portable_run_layers(&layers, &given, &mut slow);
            assert_eq!(fast, slow);
            for (row, (bias, found)) in layers[0].weights().chunks(inputs).zip(layers[0].bias().iter().zip(&fast)) {
                let sum: f32 = row.iter().zip(&given).map(|(w, x)| w * x).sum();
                assert!(close(*found, (sum + bias).max(0.0)));
            }
        }
    }

    #[test]
    fn leaving_out_what_is_zero_changes_nothing() {
        let mut rng = Rng::new(3);
        for (inputs, outputs) in [(64, 8), (65, 40), (288, 256), (1_024, 33)] {
            let layer = layer(inputs, outputs, &mut rng);
            for share in [0.0, 0.1, 0.5, 1.0] {
                let given: Vec<f32> =
                    random(inputs, &mut rng).into_iter().map(|x| if rng.unit() < share { x } else { 0.0 }).collect();
                let (mut sparse, mut whole) = (vec![0.0; outputs], vec![0.0; outputs]);
                layer.apply_sparse(&given, &mut sparse);
                layer.apply_many(&given, &mut whole);
                assert_eq!(sparse, whole, "{inputs} {outputs} {share}");
            }
        }
    }

    #[test]
    fn errors_go_back_as_finite_differences_say() {
        let mut rng = Rng::new(2);
        let layer = layer(9, 12, &mut rng);
        let (inputs, errors) = (random(9, &mut rng), random(12, &mut rng));
        let loss = |layer: &Dense, inputs: &[f32]| {
            let mut out = [0.0; 12];
            layer.apply(inputs, &mut out, false);
            out.iter().zip(&errors).map(|(y, e)| f64::from(y * e)).sum::<f64>()
        };
        let (mut gradient, mut back) = (DenseGradient::zero(&layer), vec![0.0; 9]);
        layer.pull_back(&inputs, &errors, &mut gradient, &mut back);
        let step = 0.125; // the loss is linear: any step will do
        for i in 0..9 {
            let mut moved = inputs.clone();
            moved[i] += step;
            let slope = (loss(&layer, &moved) - loss(&layer, &inputs)) / f64::from(step);
            assert!((slope - f64::from(back[i])).abs() < 1e-4, "{slope} {}", back[i]);
        }
        for i in 0..108 {
            let mut moved = layer.clone();
            moved.update(|weights, _| weights[i] += step);
            let slope = (loss(&moved, &inputs) - loss(&layer, &inputs)) / f64::from(step);
            assert!((slope - f64::from(gradient.weights[i])).abs() < 1e-4);
        }
        assert_eq!(gradient.bias, errors);
    }
}
