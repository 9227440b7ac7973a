//! The settings of a learner: a preset, then a TOML file, then `--set key=value`; every mistake is told by key and place.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// The settings of a learner, as one flat or nested struct. Fields are keys of the TOML file and of `--set`, and all of them are
/// written out (no `skip_serializing_if`, no maps), for a key that does not appear in the defaults is taken for a mistake. An
/// `Option` needs `#[serde(default)]`, since TOML has no word for none. No field may be called `learner`.
pub trait Config: Clone + PartialEq + Serialize + DeserializeOwned {
    /// The learner's name, kept in `config.toml` as `learner`.
    const LEARNER: &'static str;
    /// How the names of its checkpoints end, without the dot.
    const EXTENSION: &'static str;
    /// The keys (dotted) that may change when a run is resumed; a table's key stands for all within.
    const CHANGEABLE: &'static [&'static str];

    /// How many of the last checkpoints to keep, beside the best; at least 1.
    fn keep(&self) -> usize {
        3
    }

    /// What the types cannot say: ranges, and what must go together. The reason names the key.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// How a run begins.
#[derive(Clone, Copy, Debug)]
pub enum Start<'a, C> {
    /// With these settings, in a new folder.
    New(&'a C),
    /// Where the folder's last checkpoint stands, with some settings changed.
    Resume {
        /// A TOML file of changes.
        file: Option<&'a Path>,
        /// `key=value`.
        sets: &'a [String],
    },
}

/// A run that has a name.
pub struct Preset<C> {
    /// The name in `--preset NAME`.
    pub name: &'static str,
    /// What it is and what it reached, in one line.
    pub summary: &'static str,
    /// How it differs from the usual settings.
    pub settings: fn(C) -> C,
}

/// The first complaint about numbers that must be within bounds, both allowed.
pub(crate) fn within(bounds: &[(&str, f64, f64, f64)]) -> Result<(), String> {
    match bounds.iter().find(|(_, value, low, high)| !(*low..=*high).contains(value)) {
        None => Ok(()),
        Some((key, value, low, high)) => Err(format!("{key} = {value} is not from {low} to {high}")),
    }
}

/// Why settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("{}: {reason}", path.display())]
    Syntax {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and in which line.
        reason: String,
    },
    /// An override without a value.
    #[error("--set {0}: write it as key=value")]
    NotAPair(String),
    /// There is no such setting.
    #[error("{place}: there is no setting '{key}'{hint}")]
    UnknownKey {
        /// The file, or the override.
        place: String,
        /// What was asked for.
        key: String,
        /// The nearest name, or all of them.
        hint: String,
    },
    /// The value does not fit its key.
    #[error("{place}: {key} cannot be {value}: {reason}")]
    WrongValue {
        /// The file, or the override.
        place: String,
        /// Which setting.
        key: String,
        /// What was given.
        value: String,
        /// What was expected.
        reason: String,
    },
    /// The file is for another learner.
    #[error("{place} is for the learner '{found}', not for '{wanted}' (choose the learner or the file to match)")]
    OtherLearner {
        /// The file.
        place: String,
        /// Whom it is for.
        found: String,
        /// Who asked.
        wanted: &'static str,
    },
    /// The values do not make sense, alone or together.
    #[error("{0}")]
    Refused(String),
    /// The settings cannot be written down.
    #[error("these settings cannot be kept: {0}")]
    Unwritable(String),
}

/// One setting that someone gave.
struct Given {
    place: String,
    /// The parts of a dotted key.
    key: Vec<String>,
    value: Value,
}

/// The settings to use: `base`, then what the file says, then the overrides (`key=value`, dotted keys reach into tables), the last
/// word on a key being the one that counts.
pub fn resolve<C: Config>(base: C, file: Option<&Path>, sets: &[String]) -> Result<C, ConfigError> {
    let defaults = tree(&base)?;
    let mut given = Vec::new();
    if let Some(path) = file {
        let source = fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        let table = json(toml::Value::Table(table::<C>(&source, path)?));
        flatten(table, &defaults, &path.display().to_string(), &mut Vec::new(), &mut given);
    }
    for set in sets {
        given.push(parse_set(set, &defaults)?);
    }
    for one in &mut given {
        let expected = find(&defaults, one)?;
        one.value = coerce(one.value.take(), expected);
    }
    let config: C = build(&defaults, &given)?;
    config.check().map_err(ConfigError::Refused)?;
    Ok(config)
}

/// As it is kept: the learner's name, then all settings.
pub(crate) fn to_toml<C: Config>(config: &C) -> Result<String, ConfigError> {
    let text = toml::to_string_pretty(config).map_err(|error| ConfigError::Unwritable(error.to_string()))?;
    Ok(format!("learner = \"{}\"\n{text}", C::LEARNER))
}

/// What was kept, to the last bit; unlike [`resolve`], nothing may be missing.
pub(crate) fn from_toml<C: Config>(source: &str, path: &Path) -> Result<C, ConfigError> {
    let syntax = |error: toml::de::Error| ConfigError::Syntax { path: path.to_owned(), reason: one_line(&error) };
    table::<C>(source, path)?.try_into().map_err(syntax)
}

/// Whose settings these are.
pub(crate) fn learner_in(source: &str, path: &Path) -> Result<Option<String>, ConfigError> {
    Ok(parse(source, path)?.get("learner").and_then(toml::Value::as_str).map(str::to_owned))
}

/// The keys in which two configurations differ, with both values.
pub(crate) fn differences<C: Config>(was: &C, now: &C) -> Result<Vec<(String, String, String)>, ConfigError> {
    let (was, now) = (leaves(&tree(was)?), leaves(&tree(now)?));
    let value_of = |all: &[(String, Value)], key: &str| {
        all.iter().find(|(k, _)| k == key).map_or(Value::Null, |(_, value)| value.clone())
    };
    let mut keys: Vec<&String> = was.iter().map(|(key, _)| key).collect();
    keys.extend(now.iter().map(|(key, _)| key).filter(|key| !was.iter().any(|(k, _)| k == *key)));
    let rows = keys.into_iter().map(|key| (key.clone(), value_of(&was, key), value_of(&now, key)));
    Ok(rows.filter(|(_, was, now)| was != now).map(|(key, was, now)| (key, shown(&was), shown(&now))).collect())
}

fn tree<C: Config>(config: &C) -> Result<Value, ConfigError> {
    serde_json::to_value(config).map_err(|error| ConfigError::Unwritable(error.to_string()))
}

fn parse(source: &str, path: &Path) -> Result<toml::Table, ConfigError> {
    let syntax = |error: toml::de::Error| {
        let line = error.span().map_or(0, |span| source[..span.start.min(source.len())].matches('\n').count());
        ConfigError::Syntax { path: path.to_owned(), reason: format!("line {}: {}", line + 1, one_line(&error)) }
    };
    source.parse::<toml::Table>().map_err(syntax)
}

fn one_line(error: &toml::de::Error) -> String {
    error.message().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The settings alone. That a file may say whom it is for lets the `config.toml` of one run be the start of another.
fn table<C: Config>(source: &str, path: &Path) -> Result<toml::Table, ConfigError> {
    let mut table = parse(source, path)?;
    match table.remove("learner") {
        Some(found) if found.as_str() != Some(C::LEARNER) => {
            let found = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
            Err(ConfigError::OtherLearner { place: path.display().to_string(), found, wanted: C::LEARNER })
        }
        _ => Ok(table),
    }
}

fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(truth) => truth.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(json).collect(),
        toml::Value::Table(table) => Value::Object(table.into_iter().map(|(key, value)| (key, json(value))).collect()),
    }
}

/// A tree of settings as single ones: tables are entered wherever the defaults have one too.
fn flatten(value: Value, defaults: &Value, place: &str, key: &mut Vec<String>, given: &mut Vec<Given>) {
    match (value, defaults) {
        (Value::Object(table), Value::Object(known)) => {
            for (name, value) in table {
                let below = known.get(&name).unwrap_or(&Value::Null);
                key.push(name);
                flatten(value, below, place, key, given);
                key.pop();
            }
        }
        (value, _) => given.push(Given { place: place.to_owned(), key: key.clone(), value }),
    }
}

/// A value is TOML; what is not, or what stands where a text belongs, is a text, so that nobody need quote in a shell.
fn parse_set(set: &str, defaults: &Value) -> Result<Given, ConfigError> {
    let (key, text) = set.split_once('=').ok_or_else(|| ConfigError::NotAPair(set.to_owned()))?;
    let (key, text) = (key.trim(), text.trim());
    if key.is_empty() {
        return Err(ConfigError::NotAPair(set.to_owned()));
    }
    let key: Vec<String> = key.split('.').map(str::to_owned).collect();
    let mut given = Given { place: format!("--set {set}"), key, value: Value::Null };
    let value = text.parse::<toml::Value>().ok().map(json);
    given.value = match (value, find(defaults, &given)?) {
        (Some(Value::String(text)), _) => text.into(),
        (_, Value::String(_)) => text.into(),
        (Some(value), _) => value,
        // The way back to "not set", which TOML has no word for.
        (None, _) if text == "none" => Value::Null,
        (None, _) => text.into(),
    };
    Ok(given)
}

/// What the defaults have under a key; `Null` below a setting that is not set.
fn find<'d>(defaults: &'d Value, given: &Given) -> Result<&'d Value, ConfigError> {
    let mut at = defaults;
    for part in &given.key {
        at = match at {
            Value::Object(table) if table.contains_key(part) => &table[part],
            Value::Null => return Ok(&Value::Null),
            _ => return Err(unknown(defaults, given, &given.key.join("."))),
        };
    }
    Ok(at)
}

fn unknown(known: &Value, given: &Given, key: &str) -> ConfigError {
    let names: Vec<String> = leaves(known).into_iter().map(|(name, _)| name).collect();
    let near = afterstate_evaluator::hint(key, names.iter().map(String::as_str));
    let elsewhere = names.iter().find(|name| name.rsplit('.').next() == key.rsplit('.').next());
    let hint = match elsewhere {
        Some(name) if near.starts_with(" (known") => format!(" (did you mean '{name}'?)"),
        _ => near,
    };
    ConfigError::UnknownKey { place: given.place.clone(), key: key.to_owned(), hint }
}

/// `1e6` is how people write a million games; a whole number is a number.
fn coerce(value: Value, expected: &Value) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match (value.as_f64(), expected) {
        (Some(number), Value::Number(kind)) if value.is_f64() && !kind.is_f64() => {
            let whole = number.fract() == 0.0 && number.abs() <= EXACT;
            if whole { Value::from(number as i64) } else { value }
        }
        _ => value,
    }
}

/// All given settings at once, for some fit only together; if that fails, the first that does not fit alone is to blame.
fn build<C: Config>(defaults: &Value, given: &[Given]) -> Result<C, ConfigError> {
    let read = |given: &[Given]| {
        let mut whole = defaults.clone();
        given.iter().for_each(|one| put(&mut whole, &one.key, one.value.clone()));
        serde_json::from_value::<C>(whole)
    };
    let config = match read(given) {
        Ok(config) => config,
        Err(error) => {
            let alone = given.iter().find_map(|one| Some((one, read(std::slice::from_ref(one)).err()?)));
            return Err(match alone {
                Some((one, error)) => wrong(one, find(defaults, one)?, &error),
                None => ConfigError::Refused(in_words(&error.to_string())),
            });
        }
    };
    // What the learner did not take up is a key within a list, or within a table that was not set, that it does not have.
    let taken = tree(&config)?;
    for one in given {
        let at = one.key.iter().try_fold(&taken, |at, part| at.get(part));
        if let Some((below, known)) = not_taken(&one.value, at) {
            let hint = afterstate_evaluator::hint(below.rsplit('.').next().unwrap_or(""), known);
            return Err(ConfigError::UnknownKey { place: one.place.clone(), key: one.key.join(".") + &below, hint });
        }
    }
    Ok(config)
}

fn put(tree: &mut Value, key: &[String], value: Value) {
    let Some((first, rest)) = key.split_first() else {
        *tree = value;
        return;
    };
    if !tree.is_object() {
        *tree = Value::Object(Map::new());
    }
    put(&mut tree[first.as_str()], rest, value);
}

/// The key, below this one, of something given that is not there, and what is there instead.
fn not_taken<'t>(given: &Value, taken: Option<&'t Value>) -> Option<(String, Vec<&'t str>)> {
    match (given, taken) {
        (_, None) => Some((String::new(), Vec::new())),
        (Value::Object(given), Some(Value::Object(taken))) => given.iter().find_map(|(key, value)| {
            let (below, known) = not_taken(value, taken.get(key))?;
            let known = if taken.contains_key(key) { known } else { taken.keys().map(String::as_str).collect() };
            Some((format!(".{key}{below}"), known))
        }),
        (Value::Array(given), Some(Value::Array(taken))) => {
            given.iter().zip(taken).find_map(|(given, taken)| not_taken(given, Some(taken)))
        }
        _ => None,
    }
}

fn wrong(given: &Given, expected: &Value, error: &serde_json::Error) -> ConfigError {
    let reason = match (kind(expected), kind(&given.value)) {
        _ if expected.is_object() && !given.value.is_object() => {
            let keys: Vec<String> = leaves(expected).into_iter().map(|(key, _)| key).collect();
            format!("expected a table with {}", keys.join(", "))
        }
        (Some(wanted), found) if Some(wanted) != found => format!("expected {wanted}, as in {}", shown(expected)),
        _ => in_words(&error.to_string()),
    };
    ConfigError::WrongValue { place: given.place.clone(), key: given.key.join("."), value: shown(&given.value), reason }
}

fn kind(value: &Value) -> Option<&'static str> {
    match value {
        Value::Bool(_) => Some("true or false"),
        Value::Number(number) if number.is_f64() => Some("a number"),
        Value::Number(_) => Some("a whole number"),
        Value::String(_) => Some("a text"),
        Value::Array(_) => Some("a list"),
        Value::Null | Value::Object(_) => None,
    }
}

/// The reader's names of types are those of a programmer.
fn in_words(message: &str) -> String {
    const WORDS: [(&str, &str); 7] = [
        ("expected u64", "expected a whole number from 0"),
        ("expected usize", "expected a whole number from 0"),
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u16", "expected a whole number from 0 to 65535"),
        ("expected u8", "expected a whole number from 0 to 255"),
        ("expected f64", "expected a number"),
        ("expected f32", "expected a number"),
    ];
    WORDS.iter().fold(message.to_owned(), |text, (name, words)| text.replace(name, words))
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        // A number of single precision looks odd in double.
        Value::Number(number) if number.as_f64().is_some_and(|n| number.is_f64() && f64::from(n as f32) == n) => {
            (number.as_f64().unwrap_or_default() as f32).to_string()
        }
        other => other.to_string(),
    }
}

/// Every setting with its dotted key.
fn leaves(tree: &Value) -> Vec<(String, Value)> {
    match tree {
        Value::Object(table) => {
            let below = |(name, value): (&String, &Value)| match value {
                Value::Object(_) => leaves(value).into_iter().map(|(key, v)| (format!("{name}.{key}"), v)).collect(),
                _ => vec![(name.clone(), value.clone())],
            };
            table.iter().flat_map(below).collect()
        }
        _ => Vec::new(),
    }
}
