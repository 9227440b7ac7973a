//! Networks that are part of the program: read when first asked for, shared while in use.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use afterstate_board::{Position, Size};

use crate::file::{FileError, Format, Saved};
use crate::{BoxedEvaluator, Evaluator, SpecError};

/// A network in the program's own bytes.
pub(crate) struct Embedded<N> {
    name: &'static str,
    bytes: &'static [u8],
    format: Format,
    read: fn(Size, &Saved) -> Result<N, FileError>,
    unpacked: Mutex<Weak<N>>,
}

impl<N> Embedded<N> {
    /// A file of a format, and what reads it for boards of a size.
    pub const fn new(
        name: &'static str,
        bytes: &'static [u8],
        format: Format,
        read: fn(Size, &Saved) -> Result<N, FileError>,
    ) -> Self {
        Self { name, bytes, format, read, unpacked: Mutex::new(Weak::new()) }
    }

    /// The evaluator; refused for boards that the network is not for.
    pub fn get<P: Position>(&self) -> Result<BoxedEvaluator<P>, SpecError>
    where
        N: Evaluator<P> + 'static,
    {
        Ok(Box::new(self.network(P::SIZE)?))
    }

    fn network(&self, size: Size) -> Result<Arc<N>, SpecError> {
        let mut unpacked = self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(network), Size::CLASSIC) = (unpacked.upgrade(), size) {
            return Ok(network);
        }
        let read = Saved::embedded(self.name, self.bytes, &self.format).and_then(|saved| (self.read)(size, &saved));
        let network = Arc::new(read.map_err(|error| SpecError::File {
            owner: self.name.into(),
            file: self.name.into(),
            reason: error.reason(),
        })?);
        *unpacked = Arc::downgrade(&network);
        Ok(network)
    }
}
