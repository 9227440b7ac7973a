//! `GET /api/watch`, a socket: an agent's game at the speed that somebody wants to see it. The game belongs to the socket: when
//! the tab closes, the search ends.
//!
//! At full speed the agent plays in slices of a few frames, each followed by one picture: it loses next to no time to being seen.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::agents::Variant;
use crate::engine::{self, Bounds, Frame, Show};
use crate::error::{ApiError, ApiResult};
use crate::state::Shared;

/// How long an agent plays between two pictures at full speed: 40 of them a second.
const SLICE: Duration = Duration::from_millis(25);

/// The same while others wait for a turn.
const SHORT_SLICE: Duration = Duration::from_millis(8);

/// What a page may say. Everything but `start` may be said at any time.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Order {
    start: Option<Start>,
    /// Moves a second; 0 is as fast as it goes.
    speed: Option<f64>,
    pause: Option<bool>,
    /// Moves to make although paused.
    step: Option<u32>,
    /// A tile to pause at; 0 for none.
    stop_at: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    agent: String,
    #[serde(default)]
    size: Option<String>,
    #[serde(default)]
    spawn: Option<String>,
    #[serde(default)]
    seed: u64,
    #[serde(default)]
    game: u64,
}

/// How the game is to go on.
#[derive(Debug)]
struct Pace {
    speed: f64,
    paused: bool,
    steps: u32,
    stop_at: Option<u8>,
    last_move: Instant,
    /// Orders obeyed so far: by this a page knows which of its orders a picture already follows.
    heard: u64,
}

impl Pace {
    /// When the next slice may begin; `None` if not before another order.
    fn next(&self) -> Option<Instant> {
        match (self.paused, self.steps, self.speed) {
            (true, 0, _) => None,
            (true, ..) => Some(self.last_move),
            (_, _, speed) if speed <= 0.0 => Some(self.last_move),
            (_, _, speed) => Some(self.last_move + Duration::from_secs_f64(1.0 / speed)),
        }
    }

    /// Moves of the next slice.
    fn moves(&self) -> u64 {
        if !self.paused && self.speed <= 0.0 { u64::MAX } else { 1 }
    }

    fn obey(&mut self, order: &Order) -> ApiResult<()> {
        self.heard += 1;
        if let Some(speed) = order.speed {
            if !(0.0..=1_000.0).contains(&speed) || (speed > 0.0 && speed < 0.1) {
                return Err(ApiError::bad("speed: 0 for as fast as it goes, or 0.1 to 1000 moves a second"));
            }
            self.speed = speed;
        }
        if let Some(paused) = order.pause {
            self.paused = paused;
        }
        if let Some(steps) = order.step {
            self.steps = self.steps.saturating_add(steps).min(1_000);
            self.paused = true;
        }
        if let Some(tile) = order.stop_at {
            if tile != 0 && (!tile.is_power_of_two() || !(2..=1 << 26).contains(&tile)) {
                return Err(ApiError::bad("stop_at: a tile, or 0 for none"));
            }
            self.stop_at = (tile > 0).then(|| tile.trailing_zeros() as u8);
        }
        Ok(())
    }
}

pub(crate) async fn watch(State(shared): State<Shared>, upgrade: WebSocketUpgrade) -> ApiResult<Response> {
    let place = shared.socket_place()?;
    let most = shared.limits.message_bytes;
    Ok(upgrade.max_message_size(most).max_frame_size(most).on_upgrade(async move |mut socket| {
        let _place = place;
        if let Err(error) = serve(&shared, &mut socket).await {
            shared.log(&format!("watch: {}", error.message));
            let _ = socket.send(say(&json!({"type": "error", "error": error.message}))).await;
        }
        let _ = socket.send(Message::Close(None)).await;
    }))
}

pub(crate) fn say(value: &Value) -> Message {
    Message::Text(value.to_string().into())
}

/// The next order of a page; `None` when it has gone.
async fn order(socket: &mut WebSocket) -> Option<ApiResult<Order>> {
    loop {
        match socket.recv().await? {
            Ok(Message::Text(text)) => {
                let order = serde_json::from_str(&text);
                return Some(order.map_err(|error| ApiError::bad(format!("not an order: {error}"))));
            }
            Ok(Message::Ping(_) | Message::Pong(_)) => {}
            Ok(Message::Binary(_)) => return Some(Err(ApiError::bad("orders are text"))),
            Ok(Message::Close(_)) | Err(_) => return None,
        }
    }
}

type Slice = JoinHandle<ApiResult<(Box<dyn Show>, Frame)>>;

/// Lets the show go on in the pool for so many moves.
fn slice(shared: &Shared, mut show: Box<dyn Show>, moves: u64, stop_at: Option<u8>) -> Slice {
    let (pool, time) = (shared.pool.clone(), shared.limits.search_time + SLICE);
    tokio::spawn(async move {
        let length = if pool.is_crowded() { SHORT_SLICE } else { SLICE };
        let played = pool.run(time, move |flag| {
            show.advance(&Bounds { moves, until: Instant::now() + length, stop_at, stop: Arc::clone(flag) })?;
            let frame = show.frame();
            Ok((show, frame))
        });
        played.await?
    })
}

async fn begin(shared: &Shared, start: &Start) -> ApiResult<Box<dyn Show>> {
    let variant = Variant::read(start.size.as_deref(), start.spawn.as_deref())?;
    let wanted = shared.wanted(&start.agent, variant)?;
    let (seed, game) = (start.seed, start.game);
    shared.pool.run(shared.limits.search_time, move |_| engine::show(&wanted, seed, game)).await?
}

/// One game after the other until the page has gone.
async fn serve(shared: &Shared, socket: &mut WebSocket) -> ApiResult<()> {
    let mut pace = Pace { speed: 2.0, paused: false, steps: 0, stop_at: None, last_move: Instant::now(), heard: 0 };
    let mut waiting: Option<Start> = None;
    loop {
        let start = match waiting.take() {
            Some(start) => start,
            None => {
                let Some(order) = order(socket).await else { return Ok(()) };
                let mut order = order?;
                pace.obey(&order)?;
                match order.start.take() {
                    Some(start) => start,
                    None => continue,
                }
            }
        };
        let show = begin(shared, &start).await?;
        match run(shared, socket, show, &mut pace).await? {
            Some(next) => waiting = Some(next),
            None => return Ok(()),
        }
    }
}

/// Ends the task of a slice when the socket's own task ends: an abandoned search stops.
struct Abort(Option<Slice>);

impl Drop for Abort {
    fn drop(&mut self) {
        if let Some(slice) = &self.0 {
            slice.abort();
        }
    }
}

/// Plays a game until the page has gone (`None`) or asks for another.
async fn run(
    shared: &Shared,
    socket: &mut WebSocket,
    show: Box<dyn Show>,
    pace: &mut Pace,
) -> ApiResult<Option<Start>> {
    // The first slice makes no move: it shows the start, and what the agent thinks of it.
    let mut busy = Abort(Some(slice(shared, show, 0, None)));
    let (mut idle, mut over): (Option<Box<dyn Show>>, bool) = (None, false);
    pace.last_move = Instant::now();
    let mut rate = Rate::default();
    loop {
        let turn = if over || idle.is_none() { None } else { pace.next() };
        tokio::select! {
            biased;
            heard = order(socket) => {
                let Some(heard) = heard else { return Ok(None) };
                let mut heard = heard?;
                pace.obey(&heard)?;
                if let Some(start) = heard.start.take() {
                    return Ok(Some(start));
                }
                if heard.pause.is_some() {
                    rate = Rate::default();
                }
            }
            played = finished(&mut busy.0) => {
                busy.0 = None;
                let (show, frame) = played?;
                if frame.goal {
                    (pace.paused, pace.steps, pace.stop_at) = (true, 0, None);
                }
                over = frame.over;
                let picture = picture(&frame, rate.count(frame.moves), pace);
                idle = Some(show);
                if socket.send(picture).await.is_err() {
                    return Ok(None);
                }
            }
            () = until(turn) => {
                if let Some(show) = idle.take() {
                    pace.last_move = Instant::now();
                    busy.0 = Some(slice(shared, show, pace.moves(), pace.stop_at));
                    pace.steps = pace.steps.saturating_sub(1);
                }
            }
        }
    }
}

async fn finished(slice: &mut Option<Slice>) -> ApiResult<(Box<dyn Show>, Frame)> {
    match slice {
        Some(slice) => slice.await.map_err(|error| ApiError::internal(format!("the game failed: {error}")))?,
        None => std::future::pending().await,
    }
}

async fn until(turn: Option<Instant>) {
    match turn {
        Some(turn) if turn <= Instant::now() => {}
        Some(turn) => tokio::time::sleep_until(turn.into()).await,
        None => std::future::pending().await,
    }
}

/// Moves a second, over the last second or so.
#[derive(Default)]
struct Rate {
    since: Option<(Instant, usize)>,
    last: f64,
}

impl Rate {
    fn count(&mut self, moves: usize) -> f64 {
        let now = Instant::now();
        let (began, first) = *self.since.get_or_insert((now, moves));
        let seconds = now.duration_since(began).as_secs_f64();
        if seconds >= 1.0 {
            self.last = moves.saturating_sub(first) as f64 / seconds;
            self.since = Some((now, moves));
        }
        self.last
    }
}

fn picture(frame: &Frame, rate: f64, pace: &Pace) -> Message {
    let mut value = json!(frame);
    value["type"] = "frame".into();
    value["rate"] = rate.into();
    value["paused"] = pace.paused.into();
    value["heard"] = pace.heard.into();
    say(&value)
}
