//! `GET /api/review`, a socket: an agent goes through a game and says what it thinks of every move, as it finds out.

use std::time::{Duration, Instant};

use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use crate::agents::Variant;
use crate::engine::{self, Judged, Study};
use crate::error::{ApiError, ApiResult};
use crate::state::Shared;
use crate::watch::say;

/// How long the agent thinks between two messages.
const SLICE: Duration = Duration::from_millis(60);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReviewRequest {
    agent: String,
    #[serde(default)]
    size: Option<String>,
    #[serde(default)]
    spawn: Option<String>,
    start: String,
    steps: String,
}

pub(crate) async fn review(State(shared): State<Shared>, upgrade: WebSocketUpgrade) -> ApiResult<Response> {
    let place = shared.socket_place()?;
    let most = shared.limits.message_bytes;
    Ok(upgrade.max_message_size(most).max_frame_size(most).on_upgrade(async move |mut socket| {
        let _place = place;
        if let Err(error) = serve(&shared, &mut socket).await {
            shared.log(&format!("review: {}", error.message));
            let _ = socket.send(say(&json!({"type": "error", "error": error.message}))).await;
        }
        let _ = socket.send(Message::Close(None)).await;
    }))
}

async fn request(socket: &mut WebSocket) -> Option<ApiResult<ReviewRequest>> {
    loop {
        match socket.recv().await? {
            Ok(Message::Text(text)) => {
                let read = serde_json::from_str(&text);
                return Some(read.map_err(|error| ApiError::bad(format!("not a game to review: {error}"))));
            }
            Ok(Message::Ping(_) | Message::Pong(_)) => {}
            Ok(_) | Err(_) => return None,
        }
    }
}

async fn serve(shared: &Shared, socket: &mut WebSocket) -> ApiResult<()> {
    let Some(request) = request(socket).await else { return Ok(()) };
    let request = request?;
    let variant = Variant::read(request.size.as_deref(), request.spawn.as_deref())?;
    if request.steps.len() > 3 * shared.limits.game_moves {
        return Err(ApiError::excessive(format!("a game here has at most {} moves", shared.limits.game_moves)));
    }
    let wanted = shared.wanted(&request.agent, variant)?;
    let time = shared.limits.search_time + SLICE;
    let mut study = shared.pool.run(time, move |_| engine::study(&wanted, &request.start, &request.steps)).await??;
    let unit = study.unit();
    loop {
        let thinking = shared.pool.run(time, move |flag| -> ApiResult<(Box<dyn Study>, Vec<Judged>)> {
            let judged = study.judge(Instant::now() + SLICE, flag)?;
            Ok((study, judged))
        });
        // A page that has gone says so on its side of the socket; dropping the search ends it.
        let (rest, judged) = tokio::select! {
            found = thinking => found??,
            _ = gone(socket) => return Ok(()),
        };
        let done = judged.is_empty();
        let message =
            if done { json!({"type": "done"}) } else { json!({"type": "judged", "plies": judged, "unit": unit}) };
        if socket.send(say(&message)).await.is_err() || done {
            return Ok(());
        }
        study = rest;
    }
}

/// Waits until the page has gone.
async fn gone(socket: &mut WebSocket) {
    while let Some(Ok(message)) = socket.recv().await {
        if matches!(message, Message::Close(_)) {
            return;
        }
    }
}
