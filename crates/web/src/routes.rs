//! Which address is answered by what.

use afterstate_arena::Size;
use afterstate_board::SpawnRule;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest, Request as HttpRequest, State};
use axum::http::{StatusCode, header};
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::agents::Variant;
use crate::error::{ApiError, ApiResult};
use crate::limits::PARAMETER_CAPS;
use crate::state::Shared;
use crate::{analyze, assets, evaluations, game, guard, import, records, review, runs, watch};

pub(crate) fn router(shared: &Shared) -> Router {
    let limits = &shared.limits;
    let records_routes = Router::new()
        .route("/api/records", get(records::list).post(records::upload))
        .layer(DefaultBodyLimit::max(limits.record_bytes));
    Router::new()
        .route("/api/catalogue", get(catalogue))
        .route("/api/game", post(game::play))
        .route("/api/film", post(game::film))
        .route("/api/import", post(import::import))
        .route("/api/board", post(game::board))
        .route("/api/analyze", post(analyze::analyze))
        .route("/api/watch", get(watch::watch))
        .route("/api/review", get(review::review))
        .route("/api/records/{id}", get(records::games))
        .route("/api/records/{id}/games/{index}", get(records::game))
        .route("/api/records/{id}/file", get(records::file))
        .route("/api/evaluations", get(evaluations::list).post(evaluations::begin))
        .route("/api/evaluations/{id}", delete(evaluations::cancel))
        .route("/api/live", get(evaluations::live))
        .route("/api/report", get(evaluations::report))
        .route("/api/report.html", get(evaluations::report_html))
        .route("/api/runs", get(runs::list))
        .route("/api/runs/{id}", get(runs::show))
        .route("/api/runs/{id}/live", get(runs::live))
        .layer(DefaultBodyLimit::max(limits.body_bytes))
        .merge(records_routes)
        .fallback(assets::asset)
        .method_not_allowed_fallback(async || ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "not with this method"))
        .layer(from_fn_with_state(shared.clone(), guard::guard))
        .with_state(shared.clone())
}

/// `GET /api/catalogue`: what the page builds its forms from.
async fn catalogue(State(shared): State<Shared>) -> Json<Value> {
    let all = |_: &str| true;
    let sizes: Vec<String> = Size::ALL.iter().map(ToString::to_string).collect();
    let caps: serde_json::Map<String, Value> =
        PARAMETER_CAPS.iter().map(|(name, cap)| ((*name).to_owned(), json!(cap))).collect();
    let by_size = |default: fn(&Variant) -> &'static str| -> serde_json::Map<String, Value> {
        let of = |&size: &Size| default(&Variant { size, rule: SpawnRule::CLASSIC });
        Size::ALL.iter().map(|size| (size.to_string(), json!(of(size)))).collect()
    };
    let (agents, players) = (by_size(Variant::default_agent), by_size(Variant::default_player));
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"), "sizes": sizes, "default_agents": agents, "default_players": players, "caps": caps,
        "agents": afterstate_arena::agent_entries(all), "evaluators": afterstate_arena::evaluator_entries(all),
        "presets": afterstate_arena::preset_entries(all), "max_games": shared.limits.evaluation_games,
    }))
}

/// A JSON request: of the right type, of a bearable size, and with nothing in it that is not asked for.
pub(crate) struct Request<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Shared> for Request<T> {
    type Rejection = ApiError;

    async fn from_request(request: HttpRequest, state: &Shared) -> ApiResult<Self> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
        // A form on another site can send text, but not this type, without asking first.
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send content-type: application/json"));
        }
        let bytes = Bytes::from_request(request, state).await.map_err(|error| {
            let most = state.limits.body_bytes;
            match error.status() {
                StatusCode::PAYLOAD_TOO_LARGE => {
                    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a request has at most {most} bytes"))
                }
                _ => ApiError::bad("the request was cut off"),
            }
        })?;
        let read = serde_json::from_slice(&bytes);
        read.map(Self).map_err(|error| ApiError::bad(format!("not a request: {error}")))
    }
}
