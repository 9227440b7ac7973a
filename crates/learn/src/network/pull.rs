//! From the gradient at the outputs of dense layers back to their weights and inputs: what heads and plain networks share.

use afterstate_evaluator::dense::{Dense, DenseGradient};

/// Errors at the outputs of a layer, and at its inputs; kept from board to board.
#[derive(Default)]
pub(super) struct Errors {
    /// After [`pull_back`] the errors at the inputs of the first layer, if they were wanted.
    pub at: Vec<f32>,
    below: Vec<f32>,
}

/// Adds one board's part to the gradients of the layers. `kept` holds the outputs of all layers, `gradient` is that of the last ones.
/// Errors at the inputs are computed only if `further`, and are 0 where an input is: it came through ReLU.
#[inline(always)]
pub(super) fn pull_back(
    layers: &[Dense],
    inputs: &[f32],
    kept: &[f32],
    gradient: &[f32],
    gradients: &mut [DenseGradient],
    errors: &mut Errors,
    further: bool,
) {
    let Errors { at, below } = errors;
    at.clear();
    at.extend_from_slice(gradient);
    let mut end = kept.len() - gradient.len();
    for (i, layer) in layers.iter().enumerate().rev() {
        let given = if i == 0 { inputs } else { &kept[end - layer.inputs()..end] };
        below.resize(if i > 0 || further { layer.inputs() } else { 0 }, 0.0);
        layer.pull_back(given, at, &mut gradients[i], below);
        below.iter_mut().zip(given).for_each(|(error, x)| *error = if *x > 0.0 { *error } else { 0.0 });
        std::mem::swap(at, below);
        end -= if i == 0 { 0 } else { layer.inputs() };
    }
}
