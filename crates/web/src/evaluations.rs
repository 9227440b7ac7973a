//! Evaluations run from the page: one at a time, in the order of asking, with progress, a way to cancel, and their games kept as a
//! record; and the report over any finished ones.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use afterstate_arena::report::{MOST_RESULTS, Report};
use afterstate_arena::{Evaluation, Results, Summary};
use axum::Json;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::agents::{Variant, Wanted};
use crate::engine;
use crate::error::{ApiError, ApiResult};
use crate::routes::Request;
use crate::state::Shared;
use crate::watch::say;

/// Pages hear of progress at most so often.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// How an evaluation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Standing {
    Waiting,
    Running,
    Done,
    Cancelled,
    Failed,
}

/// One evaluation, as the page sees it.
#[derive(Clone, Debug, Serialize)]
struct Entry {
    id: String,
    agent: String,
    size: String,
    spawn: String,
    seed: u64,
    standing: Standing,
    done: u64,
    games: u64,
    mean_score: f64,
    seconds_left: Option<f64>,
    error: Option<String>,
    summary: Option<Summary>,
    /// The record that holds its games.
    record: Option<String>,
    #[serde(skip)]
    results: Option<Arc<Results>>,
    #[serde(skip)]
    cancel: Arc<AtomicBool>,
}

struct Job {
    id: String,
    wanted: Wanted,
    evaluation: Evaluation,
}

#[derive(Default)]
struct Book {
    entries: Vec<Entry>,
    queue: VecDeque<Job>,
    running: bool,
}

/// All evaluations of a server.
#[derive(Default)]
pub(crate) struct Evaluations {
    book: Mutex<Book>,
    next: AtomicU64,
    changed: Notify,
}

impl Evaluations {
    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes an entry, if it is still there, and tells the pages.
    fn update(&self, id: &str, change: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.lock().entries.iter_mut().find(|entry| entry.id == id) {
            change(entry);
        }
        self.changed.notify_waiters();
    }

    /// Ends everything: the server stops.
    pub fn stop(&self) {
        let mut book = self.lock();
        book.queue.clear();
        book.entries.iter().for_each(|entry| entry.cancel.store(true, Ordering::Relaxed));
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EvaluationRequest {
    agent: String,
    games: u64,
    #[serde(default = "one")]
    seed: u64,
    #[serde(default)]
    size: Option<String>,
    #[serde(default)]
    spawn: Option<String>,
}

fn one() -> u64 {
    1
}

/// `POST /api/evaluations`.
pub(crate) async fn begin(
    State(shared): State<Shared>,
    Request(request): Request<EvaluationRequest>,
) -> ApiResult<(StatusCode, Json<Value>)> {
    let variant = Variant::read(request.size.as_deref(), request.spawn.as_deref())?;
    let most = shared.limits.evaluation_games;
    if request.games == 0 || request.games > most {
        return Err(ApiError::excessive(format!("games: 1 to {most} from the page (the command line plays more)")));
    }
    let wanted = shared.wanted(&request.agent, variant)?;
    // An agent that cannot be made is refused now, not when its turn comes.
    let tried = wanted.clone();
    shared.pool.run(shared.limits.search_time, move |_| engine::judge(&tried).map(drop)).await??;
    let evaluations = &shared.evaluations;
    let id = format!("e{}", 1 + evaluations.next.fetch_add(1, Ordering::Relaxed));
    // One core is left for everybody else.
    let threads = shared.limits.searches.saturating_sub(1).max(1);
    let evaluation = Evaluation { threads, ..Evaluation::new(wanted.setup(request.seed), request.games) };
    let entry = Entry {
        id: id.clone(),
        agent: wanted.name.clone(),
        size: variant.size.to_string(),
        spawn: variant.rule.to_string(),
        seed: request.seed,
        standing: Standing::Waiting,
        done: 0,
        games: request.games,
        mean_score: 0.0,
        seconds_left: None,
        error: None,
        summary: None,
        record: None,
        results: None,
        cancel: Arc::clone(&evaluation.cancel),
    };
    let start = {
        let mut book = evaluations.lock();
        if book.entries.len() >= shared.limits.evaluations {
            let most = shared.limits.evaluations;
            return Err(ApiError::too_many(format!("{most} evaluations are kept: remove one first")));
        }
        book.entries.push(entry);
        book.queue.push_back(Job { id: id.clone(), wanted, evaluation });
        !std::mem::replace(&mut book.running, true)
    };
    evaluations.changed.notify_waiters();
    if start {
        let shared = Shared::clone(&shared);
        std::thread::Builder::new()
            .name("evaluations".to_owned())
            .spawn(move || work(&shared))
            .map_err(|error| ApiError::internal(format!("cannot start a thread: {error}")))?;
    }
    Ok((StatusCode::ACCEPTED, Json(json!({"id": id}))))
}

/// Plays what is in the queue until it is empty.
fn work(shared: &Shared) {
    loop {
        let job = {
            let mut book = shared.evaluations.lock();
            match book.queue.pop_front() {
                Some(job) => job,
                None => {
                    book.running = false;
                    return;
                }
            }
        };
        if !job.evaluation.cancel.load(Ordering::Relaxed) {
            run(shared, &job);
        }
    }
}

fn run(shared: &Shared, job: &Job) {
    let (evaluations, id) = (&shared.evaluations, &job.id);
    evaluations.update(id, |entry| entry.standing = Standing::Running);
    let record = shared.records.fresh("evaluation");
    let mut told = std::time::Instant::now();
    let played = engine::evaluate(&job.wanted, &job.evaluation, &record.path, &mut |progress| {
        if told.elapsed() >= TELL_EVERY || progress.done == progress.total {
            told = std::time::Instant::now();
            evaluations.update(id, |entry| {
                entry.done = progress.done;
                entry.mean_score = progress.mean_score;
                entry.seconds_left = progress.remaining().map(|left| left.as_secs_f64());
            });
        }
    });
    let cancelled = job.evaluation.cancel.load(Ordering::Relaxed);
    let has_games = played.as_ref().is_ok_and(|results| !results.outcomes().is_empty());
    if has_games {
        shared.records.keep(record.clone());
    } else {
        let _ = std::fs::remove_file(&record.path);
    }
    evaluations.update(id, |entry| match played {
        Ok(results) => {
            entry.standing = if cancelled { Standing::Cancelled } else { Standing::Done };
            entry.done = results.outcomes().len() as u64;
            entry.summary = results.summary();
            entry.record = has_games.then(|| record.id.clone());
            entry.results = has_games.then(|| Arc::new(results));
        }
        Err(error) => (entry.standing, entry.error) = (Standing::Failed, Some(error)),
    });
}

/// `GET /api/evaluations`.
pub(crate) async fn list(State(shared): State<Shared>) -> Json<Value> {
    Json(json!(shared.evaluations.lock().entries))
}

/// `DELETE /api/evaluations/{id}`: cancels one that is under way, removes one that has ended.
pub(crate) async fn cancel(State(shared): State<Shared>, Path(id): Path<String>) -> ApiResult<Json<Value>> {
    let mut book = shared.evaluations.lock();
    let missing = || ApiError::missing("there is no evaluation of that id");
    let at = book.entries.iter().position(|entry| entry.id == id).ok_or_else(missing)?;
    book.entries[at].cancel.store(true, Ordering::Relaxed);
    if book.entries[at].standing != Standing::Running {
        book.entries.remove(at);
        book.queue.retain(|job| job.id != id);
    }
    drop(book);
    shared.evaluations.changed.notify_waiters();
    Ok(Json(json!({"id": id})))
}

/// `GET /api/live`, a socket: the evaluations again whenever something has changed.
pub(crate) async fn live(State(shared): State<Shared>, upgrade: WebSocketUpgrade) -> ApiResult<Response> {
    let place = shared.socket_place()?;
    Ok(upgrade.max_message_size(1024).on_upgrade(async move |mut socket| {
        let _place = place;
        loop {
            let changed = shared.evaluations.changed.notified();
            let entries = json!(shared.evaluations.lock().entries);
            if socket.send(say(&entries)).await.is_err() {
                return;
            }
            tokio::select! {
                () = changed => {}
                heard = socket.recv() => if !matches!(heard, Some(Ok(_))) { return },
            }
            tokio::time::sleep(TELL_EVERY / 2).await;
        }
    }))
}

/// Which evaluations and records a report is about: ids with commas between them.
#[derive(Debug, Deserialize)]
pub(crate) struct ReportQuery {
    ids: String,
}

async fn gathered(shared: &Shared, query: &ReportQuery) -> ApiResult<Vec<Arc<Results>>> {
    let ids: Vec<&str> = query.ids.split(',').filter(|id| !id.is_empty()).collect();
    if ids.is_empty() || ids.len() > MOST_RESULTS {
        return Err(ApiError::bad(format!("ids: 1 to {MOST_RESULTS} evaluations or records")));
    }
    let mut all = Vec::new();
    for id in ids {
        let known = shared.evaluations.lock().entries.iter().find(|entry| entry.id == id).map(|e| e.results.clone());
        all.push(match known {
            Some(Some(results)) => results,
            Some(None) => return Err(ApiError::bad(format!("evaluation {id} has no games yet"))),
            None => {
                let path = shared.records.find(id)?.path;
                let read = move |_: &_| engine::record_results(&path);
                Arc::new(shared.pool.run(shared.limits.search_time, read).await??)
            }
        });
    }
    Ok(all)
}

/// `GET /api/report?ids=...`: summaries, the verdict over two, and the six figures as SVG.
pub(crate) async fn report(State(shared): State<Shared>, Query(query): Query<ReportQuery>) -> ApiResult<Json<Value>> {
    let all = gathered(&shared, &query).await?;
    let drawn = shared.pool.run(shared.limits.search_time, move |_| {
        let report = Report::new(all.iter().map(Arc::as_ref));
        json!({
            "labels": report.labels(), "summaries": report.summaries(), "comparison": report.comparison(),
            "figures": report.figures(),
        })
    });
    Ok(Json(drawn.await?))
}

/// `GET /api/report.html?ids=...`: the same as one file.
pub(crate) async fn report_html(
    State(shared): State<Shared>,
    Query(query): Query<ReportQuery>,
) -> ApiResult<impl IntoResponse> {
    let all = gathered(&shared, &query).await?;
    let time = shared.limits.search_time;
    let page = shared.pool.run(time, move |_| Report::new(all.iter().map(Arc::as_ref)).html()).await?;
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"report.html\""),
    ];
    Ok((headers, page))
}
