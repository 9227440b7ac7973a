//! `POST /api/analyze`: what an agent thinks of a position, in the shape of `analyze --json`. Idle agents are kept for the next
//! request, because tables take longer to make than many a search.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use afterstate_arena::Analysis;
use axum::Json;
use axum::extract::State;
use serde::Deserialize;

use crate::agents::{Variant, Wanted};
use crate::engine::{self, Judge};
use crate::error::{ApiError, ApiResult};
use crate::routes::Request;
use crate::state::Shared;

/// Idle agents kept at most.
const KEPT: usize = 8;

/// Idle agents by what they are, the one used last at the end.
#[derive(Default)]
pub(crate) struct Judges(Mutex<Vec<(String, Box<dyn Judge>)>>);

impl Judges {
    fn key(wanted: &Wanted) -> String {
        format!("{} {} {}", wanted.variant.size, wanted.variant.rule, wanted.name)
    }

    fn take(&self, wanted: &Wanted) -> ApiResult<Box<dyn Judge>> {
        let key = Self::key(wanted);
        let idle = self.0.lock().ok().and_then(|mut kept| {
            let at = kept.iter().position(|(name, _)| *name == key)?;
            Some(kept.remove(at).1)
        });
        idle.map_or_else(|| engine::judge(wanted), Ok)
    }

    fn give_back(&self, wanted: &Wanted, judge: Box<dyn Judge>) {
        if let Ok(mut kept) = self.0.lock() {
            if kept.len() >= KEPT {
                kept.remove(0);
            }
            kept.push((Self::key(wanted), judge));
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AnalyzeRequest {
    board: String,
    #[serde(default)]
    agent: Option<String>,
    #[serde(default)]
    size: Option<String>,
    #[serde(default)]
    spawn: Option<String>,
    #[serde(default = "one")]
    seed: u64,
}

fn one() -> u64 {
    1
}

pub(crate) async fn analyze(
    State(shared): State<Shared>,
    Request(request): Request<AnalyzeRequest>,
) -> ApiResult<Json<Analysis>> {
    let variant = Variant::read(request.size.as_deref(), request.spawn.as_deref())?;
    let wanted = shared.wanted(request.agent.as_deref().unwrap_or_else(|| variant.default_agent()), variant)?;
    // A wrong board must not cost a turn.
    engine::describe(variant.size, &request.board)?;
    let judges = Shared::clone(&shared);
    // Time for the search itself, and a little for making the agent and the line that it expects.
    let time = shared.limits.search_time + shared.limits.search_time / 4;
    let found = shared.pool.run(time, move |flag| {
        let mut judge = judges.judges.take(&wanted)?;
        let analysis = judge.analyze(&request.board, request.seed);
        judges.judges.give_back(&wanted, judge);
        match analysis {
            Ok(found) if found.best.is_none() && flag.load(Ordering::Relaxed) => {
                Err(ApiError::excessive("the search took too long: give it less depth or a time (ms)"))
            }
            other => other,
        }
    });
    Ok(Json(found.await??))
}
