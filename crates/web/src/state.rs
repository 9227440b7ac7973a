//! What all requests share.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::agents::{Variant, Wanted};
use crate::analyze::Judges;
use crate::error::{ApiError, ApiResult};
use crate::evaluations::Evaluations;
use crate::guard::Guard;
use crate::limits::Limits;
use crate::pool::Pool;
use crate::records::Records;
use crate::runs;
use crate::server::Log;

/// The state of a server.
pub(crate) struct AppState {
    pub limits: Limits,
    pub guard: Guard,
    pub pool: Pool,
    pub judges: Judges,
    pub records: Records,
    pub evaluations: Evaluations,
    pub runs: PathBuf,
    pub sockets: Arc<Semaphore>,
    pub log: Log,
}

/// The state, shared.
#[derive(Clone)]
pub(crate) struct Shared(pub Arc<AppState>);

impl Deref for Shared {
    type Target = AppState;

    fn deref(&self) -> &AppState {
        &self.0
    }
}

impl AppState {
    /// Tells the log, in one line that nothing in a request can break.
    pub fn log(&self, line: &str) {
        let plain: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(400).collect();
        (self.log)(&plain);
    }

    /// The agent of a request, within the page's limits.
    pub fn wanted(&self, agent: &str, variant: Variant) -> ApiResult<Wanted> {
        Wanted::new(agent, variant, self.limits.search_time, &|id| runs::model(&self.runs, id))
    }

    /// A place for one more socket.
    pub fn socket_place(&self) -> ApiResult<OwnedSemaphorePermit> {
        let place = Arc::clone(&self.sockets).try_acquire_owned();
        let most = self.limits.sockets;
        place.map_err(|_| ApiError::too_many(format!("{most} games are being watched: close one and try again")))
    }
}
