//! Records by id: those of the records folder, those uploaded, and those of the evaluations run here. A request never names a path.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use crate::engine;
use crate::error::{ApiError, ApiResult};
use crate::state::Shared;

/// One record that can be asked for.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub id: String,
    pub path: PathBuf,
    /// `folder`, `upload` or `evaluation`.
    pub origin: &'static str,
}

/// The records of a server. Those that are not the folder's live in a folder of their own that goes when the server does.
#[derive(Debug)]
pub(crate) struct Records {
    folder: PathBuf,
    own: tempfile::TempDir,
    uploads: Mutex<Vec<Record>>,
    next: AtomicU64,
    most: usize,
}

impl Records {
    pub fn new(folder: PathBuf, most: usize) -> std::io::Result<Self> {
        let own = tempfile::Builder::new().prefix("afterstate-").tempdir()?;
        Ok(Self { folder, own, uploads: Mutex::default(), next: AtomicU64::new(1), most })
    }

    /// A new file of our own, and the id it will have.
    pub fn fresh(&self, origin: &'static str) -> Record {
        let id = format!("{origin}-{}", self.next.fetch_add(1, Ordering::Relaxed));
        Record { path: self.own.path().join(format!("{id}.rec")), id, origin }
    }

    /// Keeps a record; the oldest goes when there are too many.
    pub fn keep(&self, record: Record) {
        if let Ok(mut kept) = self.uploads.lock() {
            if kept.len() >= self.most {
                let oldest = kept.remove(0);
                let _ = std::fs::remove_file(oldest.path);
            }
            kept.push(record);
        }
    }

    /// Everything that can be asked for. What cannot be read is not there.
    pub fn list(&self) -> Vec<Record> {
        let mut all: Vec<Record> = self.uploads.lock().map(|kept| kept.clone()).unwrap_or_default();
        let mut found: Vec<Record> = std::fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let path = entry.path();
                let is_record = path.extension().is_some_and(|end| end == "rec") && path.is_file();
                let id = format!("file-{}", path.file_stem()?.to_str()?);
                is_record.then_some(Record { id, path, origin: "folder" })
            })
            .take(1_000)
            .collect();
        found.sort_by(|a, b| a.id.cmp(&b.id));
        all.reverse();
        all.extend(found);
        all
    }

    pub fn find(&self, id: &str) -> ApiResult<Record> {
        let found = self.list().into_iter().find(|record| record.id == id);
        found.ok_or_else(|| ApiError::missing("there is no record of that id"))
    }
}

/// `GET /api/records`.
pub(crate) async fn list(State(shared): State<Shared>) -> Json<Value> {
    let entry = |record: Record| {
        let header = afterstate_arena::record::read_header(&record.path).ok()?;
        Some(json!({
            "id": record.id, "origin": record.origin, "agent": header.setup.agent, "size": header.size(),
            "spawn": header.setup.rule.to_string(), "seed": header.setup.seed,
        }))
    };
    let read = move || shared.records.list().into_iter().filter_map(entry).collect::<Vec<_>>();
    Json(json!(tokio::task::spawn_blocking(read).await.unwrap_or_default()))
}

/// `POST /api/records`: the bytes of a record file.
pub(crate) async fn upload(State(shared): State<Shared>, bytes: Bytes) -> ApiResult<Json<Value>> {
    let time = shared.limits.search_time;
    let keeper = Shared::clone(&shared);
    let read = move |_: &_| {
        let record = keeper.records.fresh("upload");
        let failed = |error: std::io::Error| ApiError::internal(format!("cannot keep the record: {error}"));
        std::fs::write(&record.path, &bytes).map_err(failed)?;
        match engine::record_list(&record.path) {
            Ok(found) => {
                keeper.records.keep(record.clone());
                Ok(described(&record, &found))
            }
            Err(error) => {
                let _ = std::fs::remove_file(&record.path);
                Err(error)
            }
        }
    };
    Ok(Json(shared.pool.run(time, read).await??))
}

fn described(record: &Record, (header, games): &(afterstate_arena::Header, Vec<Value>)) -> Value {
    json!({
        "id": record.id, "agent": header.setup.agent, "size": header.size(), "spawn": header.setup.rule.to_string(),
        "seed": header.setup.seed, "games": games,
    })
}

/// `GET /api/records/{id}`: its games, moves aside.
pub(crate) async fn games(State(shared): State<Shared>, Path(id): Path<String>) -> ApiResult<Json<Value>> {
    let record = shared.records.find(&id)?;
    let read = move |_: &_| engine::record_list(&record.path).map(|found| described(&record, &found));
    Ok(Json(shared.pool.run(shared.limits.search_time, read).await??))
}

/// `GET /api/records/{id}/games/{index}`: one game with the position after each move.
pub(crate) async fn game(
    State(shared): State<Shared>,
    Path((id, index)): Path<(String, u64)>,
) -> ApiResult<Json<Value>> {
    let record = shared.records.find(&id)?;
    let read = move |_: &_| engine::record_game(&record.path, index);
    Ok(Json(shared.pool.run(shared.limits.search_time, read).await??))
}

/// `GET /api/records/{id}/file`: the record itself, to keep.
pub(crate) async fn file(State(shared): State<Shared>, Path(id): Path<String>) -> ApiResult<impl IntoResponse> {
    let record = shared.records.find(&id)?;
    let path = record.path.clone();
    let bytes = tokio::task::spawn_blocking(move || std::fs::read(path)).await;
    let bytes = bytes.ok().and_then(Result::ok).ok_or_else(|| ApiError::missing("the record has gone"))?;
    let name: String = record.id.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    let disposition = format!("attachment; filename=\"{name}.rec\"");
    Ok((
        [(header::CONTENT_TYPE, "application/octet-stream".to_owned()), (header::CONTENT_DISPOSITION, disposition)],
        bytes,
    ))
}
