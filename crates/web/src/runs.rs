//! Training runs: folders under the runs folder, by name. Each may hold a configuration, metrics that grow, and checkpoints.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use afterstate_evaluator::file::{MARK, Saved};
use afterstate_evaluator::{lookup, mlp, networks, ntuple};
use axum::Json;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path as UrlPath, State};
use axum::response::Response;
use serde_json::{Map, Value, json};

use crate::error::{ApiError, ApiResult};
use crate::state::Shared;
use crate::watch::say;

const CONFIG: &str = "config.toml";
const METRICS: &str = "metrics.jsonl";
const CHECKPOINTS: &str = "checkpoints";

/// Points of a curve that a page gets at most: more than it has pixels.
const MOST_POINTS: usize = 1_500;

/// How often the metrics of a run that is looked at are read again.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The folders that look like runs, by name.
fn folders(runs: &Path) -> Vec<(String, PathBuf)> {
    let mut found: Vec<(String, PathBuf)> = fs::read_dir(runs)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let path = entry.path();
            let is_run = path.is_dir() && (path.join(METRICS).is_file() || path.join(CONFIG).is_file());
            is_run.then(|| Some((entry.file_name().to_str()?.to_owned(), path)))?
        })
        .take(500)
        .collect();
    found.sort();
    found
}

fn find(runs: &Path, id: &str) -> ApiResult<PathBuf> {
    let found = folders(runs).into_iter().find(|(name, _)| name == id);
    found.map(|(_, path)| path).ok_or_else(|| ApiError::missing("there is no run of that name"))
}

/// The checkpoints of a run, the newest last.
fn checkpoints(run: &Path) -> Vec<(String, PathBuf)> {
    let mut found: Vec<(SystemTime, String, PathBuf)> = fs::read_dir(run.join(CHECKPOINTS))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let (path, name) = (entry.path(), entry.file_name().to_str()?.to_owned());
            let is_whole = path.is_file() && !name.ends_with(".tmp") && !name.starts_with('.');
            is_whole.then(|| Some((entry.metadata().ok()?.modified().ok()?, name, path)))?
        })
        .take(2_000)
        .collect();
    found.sort();
    found.into_iter().map(|(_, name, path)| (name, path)).collect()
}

/// The file of the model `RUN/CHECKPOINT`, if there is such a run with such a checkpoint.
pub(crate) fn model(runs: &Path, id: &str) -> Option<PathBuf> {
    let (run, checkpoint) = id.split_once('/')?;
    let folder = find(runs, run).ok()?;
    checkpoints(&folder).into_iter().find(|(name, _)| name == checkpoint).map(|(_, path)| path)
}

/// The end of a text file, from the first whole line on.
fn tail(path: &Path, most: u64) -> std::io::Result<String> {
    let mut file = fs::File::open(path)?;
    let size = file.metadata()?.len();
    let from = size.saturating_sub(most);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let first = if from > 0 { text.find('\n').map_or(text.len(), |at| at + 1) } else { 0 };
    Ok(text[first..].to_owned())
}

type Line = Map<String, Value>;

/// The whole lines of a metrics file. A last line without its end is still being written.
fn lines(text: &str) -> Vec<Line> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn kind(line: &Line) -> &str {
    line.get("kind").and_then(Value::as_str).unwrap_or("train")
}

/// The numbers of a line that make curves. Lines of evaluations share names with those of training but measure something else: they
/// are told apart as `evaluation/mean_score`. Lines of checkpoints only say what was saved.
fn numbers(line: &Line) -> Line {
    let kind = kind(line);
    let telling = line.iter().filter(|(name, value)| kind != "checkpoint" && *name != "time" && value.is_number());
    let named = |(name, value): (&String, &Value)| {
        let is_plain = kind == "train" || matches!(name.as_str(), "step" | "seconds");
        (if is_plain { name.clone() } else { format!("{kind}/{name}") }, value.clone())
    };
    telling.map(named).collect()
}

/// The numbers of a metrics file: each field with its value by line, null where a line has none.
fn columns(text: &str) -> (usize, Map<String, Value>) {
    let lines = lines(text);
    // Each kind is thinned by itself, or the few evaluations would get lost among the rest.
    let mut kinds: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, line) in lines.iter().enumerate().filter(|(_, line)| kind(line) != "checkpoint") {
        kinds.entry(kind(line)).or_default().push(place);
    }
    let mut kept: Vec<usize> = Vec::new();
    for places in kinds.values() {
        // The last line always counts: it is where the run is now.
        kept.extend(places.iter().rev().step_by(places.len().div_ceil(MOST_POINTS).max(1)));
    }
    kept.sort_unstable();
    let kept: Vec<Line> = kept.into_iter().map(|place| numbers(&lines[place])).collect();
    let mut fields: Vec<&String> = kept.iter().flat_map(Line::keys).collect();
    fields.sort_unstable();
    fields.dedup();
    let column = |field: &String| kept.iter().map(|line| line.get(field).cloned()).collect();
    (lines.len(), fields.into_iter().take(64).map(|field| (field.clone(), column(field))).collect())
}

fn seconds_ago(path: &Path) -> Option<u64> {
    let modified = fs::metadata(path).ok()?.modified().ok()?;
    Some(SystemTime::now().duration_since(modified).map_or(0, |age| age.as_secs()))
}

/// The evaluator that reads files of this mark.
fn evaluator(mark: &str) -> Option<&'static str> {
    let own = [(ntuple::file::FORMAT.mark, "ntuple"), (lookup::file::FORMAT.mark, "lookup"), (mlp::FORMAT.mark, "mlp")];
    let published = networks::ROWS.iter().map(|row| (row.mark, row.name));
    own.into_iter().chain(published).find(|(known, _)| *known == mark).map(|(_, name)| name)
}

/// The agent that plays a checkpoint, up to its file's name, as `afterstate train` names it at its end: which network is in it, who trained
/// it and whether it judges moves is written in it. `None` if it is no network that is known here.
fn player(checkpoint: &Path) -> Option<String> {
    let metadata = Saved::metadata_of(checkpoint).ok()?;
    let fact = |key: &str| metadata.get(key).map_or("", String::as_str);
    if metadata.contains_key(ntuple::file::GOAL) {
        return Some(match fact(ntuple::file::TABLES) {
            "" => "tables:late=".into(),
            set => format!("tables:set={set},late="),
        });
    }
    let agent = match (fact("learner"), fact("outputs")) {
        ("zero", _) => "puct:simulations=50,",
        (_, "moves" | "policy" | "actor") => "policy:",
        _ => "greedy:",
    };
    Some(format!("{agent}eval={}@", evaluator(fact(MARK))?))
}

/// The checkpoints of a run, the newest last, with the agents that play them.
fn offered(id: &str, run: &Path) -> Vec<Value> {
    let offer = |(name, path): (String, PathBuf)| {
        let agent = player(&path).map(|agent| format!("{agent}{id}/{name}"));
        json!({"name": name, "agent": agent})
    };
    checkpoints(run).into_iter().map(offer).collect()
}

fn describe(id: &str, run: &Path, most: u64) -> Value {
    let config = fs::read_to_string(run.join(CONFIG)).unwrap_or_default();
    let config: String = config.chars().take(64 << 10).collect();
    let (lines, metrics) = columns(&tail(&run.join(METRICS), most).unwrap_or_default());
    json!({
        "id": id, "config": config, "lines": lines, "metrics": metrics, "checkpoints": offered(id, run),
        "seconds_ago": seconds_ago(&run.join(METRICS)),
    })
}

/// `GET /api/runs`.
pub(crate) async fn list(State(shared): State<Shared>) -> Json<Value> {
    let read = move || {
        let entry = |(id, path): (String, PathBuf)| {
            let end = tail(&path.join(METRICS), 64 << 10).unwrap_or_default();
            // Of each number the last: no line has them all.
            let last: Line = lines(&end).iter().flat_map(numbers).collect();
            let ago = seconds_ago(&path.join(METRICS));
            json!({"id": id, "last": last, "checkpoints": offered(&id, &path), "seconds_ago": ago})
        };
        folders(&shared.runs).into_iter().map(entry).collect::<Vec<_>>()
    };
    Json(json!(tokio::task::spawn_blocking(read).await.unwrap_or_default()))
}

/// `GET /api/runs/{id}`.
pub(crate) async fn show(State(shared): State<Shared>, UrlPath(id): UrlPath<String>) -> ApiResult<Json<Value>> {
    let path = find(&shared.runs, &id)?;
    let most = shared.limits.metrics_bytes;
    let read = tokio::task::spawn_blocking(move || describe(&id, &path, most)).await;
    Ok(Json(read.map_err(|_| ApiError::internal("the run cannot be read"))?))
}

/// `GET /api/runs/{id}/live`, a socket: the run again whenever its metrics have changed.
pub(crate) async fn live(
    State(shared): State<Shared>,
    UrlPath(id): UrlPath<String>,
    upgrade: WebSocketUpgrade,
) -> ApiResult<Response> {
    let path = find(&shared.runs, &id)?;
    let place = shared.socket_place()?;
    let most = shared.limits.metrics_bytes;
    Ok(upgrade.max_message_size(1024).on_upgrade(async move |mut socket| {
        let _place = place;
        let mut known = None;
        loop {
            let now = fs::metadata(path.join(METRICS)).ok().map(|m| (m.len(), m.modified().ok()));
            if now != known {
                known = now;
                let (id, path) = (id.clone(), path.clone());
                let Ok(run) = tokio::task::spawn_blocking(move || describe(&id, &path, most)).await else { return };
                if socket.send(say(&run)).await.is_err() {
                    return;
                }
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => {}
                heard = socket.recv() => if !matches!(heard, Some(Ok(_))) { return },
            }
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_columns_and_half_lines_wait() {
        let text = "{\"step\":1,\"loss\":2.5,\"note\":\"x\"}\nnot json\n{\"step\":2}\n{\"step\":3,\"lo";
        let (lines, columns) = columns(text);
        assert_eq!(lines, 2);
        assert_eq!(Value::Object(columns), json!({"step": [1, 2], "loss": [2.5, null]}));
    }

    #[test]
    fn evaluations_have_curves_of_their_own_and_checkpoints_none() {
        let text = "{\"kind\":\"train\",\"step\":1,\"time\":9,\"score\":2}\n\
                    {\"kind\":\"evaluation\",\"step\":1,\"score\":3}\n\
                    {\"kind\":\"checkpoint\",\"step\":1,\"crc32\":7,\"bytes\":8}\n";
        let (lines, columns) = columns(text);
        assert_eq!(lines, 3);
        let expected = json!({"step": [1, 1], "score": [2, null], "evaluation/score": [null, 3]});
        assert_eq!(Value::Object(columns), expected);
    }

    #[test]
    fn long_metrics_are_thinned_and_keep_their_end() {
        let text: String = (0..10_000).map(|i| format!("{{\"step\":{i}}}\n")).collect();
        let (lines, columns) = columns(&text);
        let steps = columns["step"].as_array().unwrap();
        assert!(lines == 10_000 && steps.len() <= MOST_POINTS && steps.last() == Some(&json!(9_999)));
    }

    #[test]
    fn models_are_found_by_name_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("a");
        fs::create_dir_all(run.join(CHECKPOINTS)).unwrap();
        fs::write(run.join(CONFIG), "").unwrap();
        fs::write(run.join(CHECKPOINTS).join("10.bin"), "x").unwrap();
        fs::write(folder.path().join("secret"), "x").unwrap();
        assert!(model(folder.path(), "a/10.bin").is_some());
        for bad in
            ["a/../../secret", "../a/10.bin", "a/", "a", "", "/etc/passwd", "a/11.bin", "a/./10.bin", "./a/10.bin"]
        {
            assert_eq!(model(folder.path(), bad), None, "{bad}");
        }
    }
}
