//! A network for tests of learners: the same outputs for every board, and a memory for the gradient it was given.

use std::any::Any;
use std::io::{self, Write};
use std::sync::Arc;

use afterstate_board::Position;
use afterstate_evaluator::Evaluator;
use afterstate_evaluator::file::{Array, FileError, Format, Metadata, Saved};
use afterstate_evaluator::lookup::Role;

use super::{Loss, Network, Rates};

pub(crate) struct Fixed {
    role: Role,
    outputs: Vec<f32>,
    /// The last gradient.
    pub heard: Vec<f32>,
}

impl Fixed {
    pub fn new(role: Role, outputs: &[f32]) -> Self {
        Self { role, outputs: outputs.to_vec(), heard: Vec::new() }
    }
}

impl<P: Position> Network<P> for Fixed {
    fn role(&self) -> Role {
        self.role
    }

    fn judge(&self, boards: &[P], outputs: &mut [f32]) {
        outputs.copy_from_slice(&self.outputs.repeat(boards.len()));
    }

    fn learn(&mut self, boards: &[P], _: Rates, loss: Loss<'_>) {
        let outputs = self.outputs.repeat(boards.len());
        self.heard = vec![0.0; outputs.len()];
        loss(&outputs, &mut self.heard);
    }

    fn player(&self) -> io::Result<Arc<dyn Evaluator<P>>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn target(&self) -> io::Result<Box<dyn Network<P>>> {
        Ok(Box::new(Self::new(self.role, &self.outputs)))
    }

    fn format(&self) -> (Format, &'static str) {
        (Format { mark: "fixed", what: "fixed network" }, "fixed")
    }

    fn save(&self, _: &mut dyn Write, _: Metadata, _: &[Array<'_>]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn load(&mut self, saved: &Saved) -> Result<(), FileError> {
        Err(saved.refused("there is nothing to read"))
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}
