//! A person's game. The page holds it (size, rule, seed and the moves made), the server replays it: nothing to keep, nothing to
//! lose, and the same moves always bring the same tiles. Every answer says what each of the four moves will do, so that a key
//! press needs no round trip.

use afterstate_arena::{Live, stream};
use afterstate_board::{Direction, Position, Rng, SpawnRule, notation};
use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::agents::Variant;
use crate::engine::{self, film_of, read_board, shifts_json};
use crate::error::{ApiError, ApiResult};
use crate::routes::Request;
use crate::state::Shared;

/// A game by its moves.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GameRequest {
    pub size: Option<String>,
    pub spawn: Option<String>,
    pub seed: u64,
    pub game: u64,
    /// Where it begins; two random tiles if unset.
    pub board: Option<String>,
    /// One letter a move: l, r, u, d.
    pub moves: String,
    /// Also tell every position so far.
    pub film: bool,
}

/// `POST /api/game`.
pub(crate) async fn play(
    State(shared): State<Shared>,
    Request(request): Request<GameRequest>,
) -> ApiResult<Json<Value>> {
    let variant = Variant::read(request.size.as_deref(), request.spawn.as_deref())?;
    let most = shared.limits.game_moves;
    if request.moves.len() > most {
        return Err(ApiError::excessive(format!("a game here has at most {most} moves")));
    }
    Ok(Json(engine::state(variant, &request)?))
}

pub(crate) fn state<P: Position>(rule: SpawnRule, request: &GameRequest) -> ApiResult<Value> {
    let mut live = match &request.board {
        None => Live::<P>::new(rule, request.seed, request.game),
        Some(board) => {
            let rng = Rng::stream(request.seed, request.game, stream::SPAWNS);
            Live::from_position(read_board::<P>(board)?, rule, rng)
        }
    };
    for (number, letter) in request.moves.chars().enumerate() {
        let refuse = |why: String| ApiError::bad(format!("move {}: {why}", number + 1));
        let direction: Direction = letter.to_string().parse().map_err(|error| refuse(format!("{error}")))?;
        live.play(direction).ok_or_else(|| refuse(format!("{direction} changes nothing on {}", live.position())))?;
    }
    let board = *live.position();
    let next: Map<String, Value> = Direction::ALL
        .into_iter()
        .map(|direction| (direction.name().to_owned(), outcome(live.clone(), direction)))
        .collect();
    let (last, legal) = (live.steps().last(), !board.is_over());
    let mut state = json!({
        "size": P::SIZE.to_string(), "rows": P::ROWS, "columns": P::COLUMNS,
        "board": notation::digits(&board, ""), "score": live.score(), "moves": live.steps().len(),
        "max_tile": 1u64 << board.max_exponent(), "goal": 1u64 << 11.min(P::CELLS as u32), "over": !legal,
        "fresh": last.map(|step| step.spawn.cell), "next": next,
    });
    if request.film {
        let size = P::SIZE;
        state["film"] = film_of(&live.into_game(request.game, 0.0), Variant { size, rule });
    }
    Ok(state)
}

/// What a move will do: null if it changes nothing.
fn outcome<P: Position>(mut live: Live<P>, direction: Direction) -> Value {
    let Some(ply) = live.play(direction) else { return Value::Null };
    json!({
        "board": notation::digits(&ply.position, ""), "reward": ply.reward, "shifts": shifts_json(&ply.before, direction),
        "spawn": [ply.spawn.cell, ply.spawn.exponent], "over": ply.position.is_over(),
        "max_tile": 1u64 << ply.position.max_exponent(),
    })
}

/// `POST /api/film`: any game by its steps, with the position after each.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilmRequest {
    #[serde(default)]
    pub size: Option<String>,
    #[serde(default)]
    pub spawn: Option<String>,
    pub start: String,
    pub steps: String,
}

pub(crate) async fn film(
    State(shared): State<Shared>,
    Request(request): Request<FilmRequest>,
) -> ApiResult<Json<Value>> {
    let variant = Variant::read(request.size.as_deref(), request.spawn.as_deref())?;
    if request.steps.len() > 3 * shared.limits.game_moves {
        return Err(ApiError::excessive(format!("a game here has at most {} moves", shared.limits.game_moves)));
    }
    Ok(Json(engine::film(variant, &request.start, &request.steps)?))
}

/// `POST /api/board`: a position in either notation, checked and written in both.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BoardRequest {
    #[serde(default)]
    pub size: Option<String>,
    pub board: String,
}

pub(crate) async fn board(Request(request): Request<BoardRequest>) -> ApiResult<Json<Value>> {
    let variant = Variant::read(request.size.as_deref(), None)?;
    Ok(Json(engine::describe(variant.size, &request.board)?))
}
