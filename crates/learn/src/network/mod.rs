//! The one seam between learners and networks. A learner asks a network for its outputs on a batch of boards, and for a step along the
//! gradient of a loss with respect to those outputs, which it computes itself: all losses here have short closed forms. Learners know
//! no framework, and a network of whatever kind can be trained by all of them.

mod adam;
mod catalogue;
#[cfg(test)]
mod fixed;
mod lookup;
mod mlp;
mod pull;
mod small;

pub use adam::{Adam, Part};
pub use catalogue::{Make, More, NetworkRow, Wanted, add, build, rows};
#[cfg(test)]
pub(crate) use fixed::Fixed;
pub use lookup::{Lookup, Pace};
pub use mlp::Mlp;
pub use small::{shrink_lookup, shrink_mlp};

use std::any::Any;
use std::io::{self, Write};
use std::sync::Arc;

use afterstate_board::Position;
use afterstate_evaluator::Evaluator;
use afterstate_evaluator::file::{Array, FileError, Format, Metadata, Saved};
use afterstate_evaluator::lookup::Role;
use serde::{Deserialize, Serialize};

use crate::run::within;

/// How far a step goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// For vectors that are looked up.
    pub table: f32,
    /// For dense and convolutional layers.
    pub dense: f32,
    /// The longest that the gradient of the dense layers may be; longer ones are shortened. Infinite for no limit.
    pub clip: f32,
}

/// How far steps go along a run: flattened into a learner's settings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steps {
    /// The step of vectors that are looked up.
    pub table_rate: f64,
    /// The step of dense layers.
    pub dense_rate: f64,
    /// What is left of both rates at the end.
    pub rate_end: f64,
    /// Moves after which the rates, having fallen along a cosine, begin anew (Loshchilov and Hutter 2017); 0 for one steady fall.
    pub restart_every: u64,
    /// The longest gradient of the dense layers; 0 for no limit.
    pub clip: f64,
}

impl Steps {
    /// The first complaint about them.
    pub fn check(&self) -> Result<(), String> {
        within(&[
            ("table_rate", self.table_rate, 0.0, 10.0),
            ("dense_rate", self.dense_rate, 0.0, 1.0),
            ("rate_end", self.rate_end, 1e-6, 1.0),
            ("clip", self.clip, 0.0, 1e9),
        ])
    }

    /// The rates after some of all moves.
    pub fn at(&self, moves: u64, all: u64) -> Rates {
        let left = match self.restart_every {
            0 => self.rate_end.powf((moves as f64 / all as f64).min(1.0)),
            every => {
                let along = (moves % every) as f64 / every as f64;
                self.rate_end + (1.0 - self.rate_end) * 0.5 * (1.0 + (std::f64::consts::PI * along).cos())
            }
        };
        let clip = if self.clip > 0.0 { self.clip as f32 } else { f32::INFINITY };
        Rates { table: (self.table_rate * left) as f32, dense: (self.dense_rate * left) as f32, clip }
    }
}

/// Given the outputs for a batch, writes the gradient of each board's own loss with respect to its outputs (zero before the call).
pub type Loss<'l> = &'l mut dyn FnMut(&[f32], &mut [f32]);

/// A network under training.
pub trait Network<P: Position>: Send + Sync {
    /// What its outputs are.
    fn role(&self) -> Role;

    /// The outputs for each board, [`Role::outputs`] of them one after another.
    fn judge(&self, boards: &[P], outputs: &mut [f32]);

    /// One step: outputs for the boards, their gradient from `loss`, and all that follows.
    fn learn(&mut self, boards: &[P], rates: Rates, loss: Loss<'_>);

    /// How many threads a step may use from now on; the outcome does not depend on it.
    fn use_threads(&mut self, _threads: usize) {}

    /// How many threads may judge boards at once: 1 if the outputs for a board depend, to the last bit, on what else is in its batch.
    fn threads(&self) -> usize {
        1
    }

    /// A copy that plays: values in points.
    fn player(&self) -> io::Result<Arc<dyn Evaluator<P>>>;

    /// A copy that only judges: what targets are computed with while the network itself moves on.
    fn target(&self) -> io::Result<Box<dyn Network<P>>>;

    /// How its files are marked, and the evaluator that plays them.
    fn format(&self) -> (Format, &'static str);

    /// Writes everything: the network, as its evaluator reads it, and what its optimiser keeps; `more` beside that.
    fn save(&self, out: &mut dyn Write, facts: Metadata, more: &[Array<'_>]) -> io::Result<()>;

    /// Goes on from a file: its numbers become this network's.
    fn load(&mut self, saved: &Saved) -> Result<(), FileError>;

    /// Are its outputs still numbers?
    fn is_finite(&self) -> bool {
        let mut outputs = vec![0.0; self.role().outputs()];
        self.judge(&[P::empty().with_exponent(0, 1)], &mut outputs);
        outputs.iter().all(|x| x.is_finite())
    }

    /// For tests that look inside.
    fn as_any(&mut self) -> &mut dyn Any;
}
