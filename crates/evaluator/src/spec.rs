//! `NAME[:key=value,...]`: how agents and evaluators are named, and how their settings are checked against the parameter rows.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::parameter::{Parameter, Value};

/// Why a specification cannot be used. Every message is one line and says what to do.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// No row has that name.
    #[error("there is no {what} '{name}'{hint}")]
    UnknownName {
        /// `agent` or `evaluator`.
        what: &'static str,
        /// The name given.
        name: String,
        /// A likely name, ready to print.
        hint: String,
    },
    /// The row has no such parameter.
    #[error("{owner} has no parameter '{key}'{hint}")]
    UnknownKey {
        /// The agent or evaluator.
        owner: String,
        /// The key given.
        key: String,
        /// A likely key, ready to print.
        hint: String,
    },
    /// A value outside its range.
    #[error("{owner}: {key}={value} is not {expected}")]
    BadValue {
        /// The agent or evaluator.
        owner: String,
        /// The parameter.
        key: String,
        /// The text given.
        value: String,
        /// What is allowed.
        expected: String,
    },
    /// Not of the form `key=value`.
    #[error("'{0}' is not key=value (write NAME:key=value,key=value)")]
    NotAPair(String),
    /// The same key twice.
    #[error("{owner}: {key} is given twice")]
    Twice {
        /// The agent or evaluator.
        owner: String,
        /// The parameter.
        key: String,
    },
    /// A file that cannot be used.
    #[error("{owner}: {}: {reason}", file.display())]
    File {
        /// The agent or evaluator.
        owner: String,
        /// The file named.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Cannot be had here, or not yet.
    #[error("{owner}: {reason}")]
    Unavailable {
        /// The agent or evaluator.
        owner: String,
        /// Why, and what to do about it.
        reason: String,
    },
    /// Not offered for this board.
    #[error("{owner} cannot play a {rows}x{columns} board")]
    WrongSize {
        /// The agent or evaluator.
        owner: String,
        /// Rows of the board.
        rows: usize,
        /// Columns of the board.
        columns: usize,
    },
}

/// ` (did you mean 'x'?)` if a candidate is close, else ` (known: a, b, c)`.
pub fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let distance = |candidate: &&&str| strsim::damerau_levenshtein(word, candidate);
    match known.iter().min_by_key(distance) {
        None => " (it has none)".to_owned(),
        Some(best) if distance(&best) <= word.chars().count().max(3) / 3 + 1 => format!(" (did you mean '{best}'?)"),
        Some(_) => format!(" (known: {})", known.join(", ")),
    }
}

/// A name with settings, as written; nothing is checked yet.
///
/// ```
/// use afterstate_evaluator::Spec;
/// let spec: Spec = "greedy:eval=empty,eval.weight=2".parse().unwrap();
/// assert_eq!(spec.name, "greedy");
/// assert_eq!(spec.to_string(), "greedy:eval=empty,eval.weight=2");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The row's name.
    pub name: String,
    /// The settings in the order given.
    pub pairs: Vec<(String, String)>,
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let name = name.trim().to_owned();
        let mut pairs: Vec<(String, String)> = Vec::new();
        for pair in rest.split(',').filter(|pair| !pair.trim().is_empty()) {
            let (key, value) = pair.split_once('=').ok_or_else(|| SpecError::NotAPair(pair.trim().to_owned()))?;
            let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
            if pairs.iter().any(|(k, _)| *k == key) {
                return Err(SpecError::Twice { owner: name, key });
            }
            pairs.push((key, value));
        }
        Ok(Self { name, pairs })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (i, (key, value)) in self.pairs.iter().enumerate() {
            write!(f, "{}{key}={value}", if i == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

impl Spec {
    /// The specification of the evaluator inside: `eval=NAME[@FILE]` (or `default`) and all `eval.KEY=VALUE`.
    pub fn evaluator(&self, default: &str) -> Self {
        let given = self.pairs.iter().find(|(key, _)| key == "eval");
        let inner = self.pairs.iter().filter_map(|(key, value)| Some((key.strip_prefix("eval.")?, value)));
        Self {
            name: given.map_or(default, |(_, value)| value).to_owned(),
            pairs: inner.map(|(key, value)| (key.to_owned(), value.clone())).collect(),
        }
    }

    /// Splits `NAME@FILE`.
    pub fn file(&self) -> (&str, Option<PathBuf>) {
        self.name.split_once('@').map_or((&self.name, None), |(name, file)| (name, Some(PathBuf::from(file))))
    }

    /// Checks every setting against the parameters of its row and fills in the defaults.
    pub fn settings(&self, parameters: &[Parameter]) -> Result<Settings, SpecError> {
        let owner = || self.name.clone();
        let nested = parameters.iter().any(|p| p.name == "eval");
        let mut values: Vec<(&'static str, Value)> = parameters.iter().map(|p| (p.name, p.default_value())).collect();
        for (key, text) in self.pairs.iter().filter(|(key, _)| !(nested && key.starts_with("eval."))) {
            let index = parameters.iter().position(|p| p.name == key).ok_or_else(|| SpecError::UnknownKey {
                owner: owner(),
                key: key.clone(),
                hint: hint(key, parameters.iter().map(|p| p.name)),
            })?;
            values[index].1 = parameters[index].read(text).map_err(|expected| SpecError::BadValue {
                owner: owner(),
                key: key.clone(),
                value: text.clone(),
                expected,
            })?;
        }
        Ok(Settings { values })
    }
}

/// The checked settings of one row. A getter panics if the row does not declare the parameter with that type: a mistake in the
/// row, which the catalogue's tests would meet at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    values: Vec<(&'static str, Value)>,
}

impl Settings {
    fn get(&self, name: &str) -> &Value {
        let found = self.values.iter().find(|(key, _)| *key == name);
        &found.unwrap_or_else(|| panic!("parameter '{name}' is not declared")).1
    }

    /// A whole number that may be unset.
    pub fn optional(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Value::Integer(value) => *value,
            other => panic!("parameter '{name}' is {other}, not a whole number"),
        }
    }

    /// A whole number that has a default.
    pub fn integer(&self, name: &str) -> u64 {
        self.optional(name).unwrap_or_else(|| panic!("parameter '{name}' has no default"))
    }

    /// A number.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Value::Number(value) => *value,
            other => panic!("parameter '{name}' is {other}, not a number"),
        }
    }

    /// A switch.
    pub fn switch(&self, name: &str) -> bool {
        match self.get(name) {
            Value::Switch(value) => *value,
            other => panic!("parameter '{name}' is {other}, not a switch"),
        }
    }

    /// A word: a choice or an evaluator.
    pub fn word(&self, name: &str) -> &str {
        match self.get(name) {
            Value::Word(word) => word,
            other => panic!("parameter '{name}' is {other}, not a word"),
        }
    }

    /// Every parameter with its value, in the row's order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static PARAMETERS: [Parameter; 2] =
        [Parameter::integer("depth", "plies", 3, 1, 9), Parameter::number("weight", "of it", 1.0, -2.0, 2.0)];

    fn error(text: &str) -> String {
        match text.parse::<Spec>().and_then(|spec| spec.settings(&PARAMETERS)) {
            Ok(settings) => panic!("{settings:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn settings_are_read_over_defaults() {
        let settings = "x:weight=-1.5".parse::<Spec>().unwrap().settings(&PARAMETERS).unwrap();
        assert_eq!((settings.integer("depth"), settings.number("weight")), (3, -1.5));
    }

    #[test]
    fn errors_are_one_clear_line() {
        assert_eq!(error("x:dept=3"), "x has no parameter 'dept' (did you mean 'depth'?)");
        assert_eq!(error("x:colour=3"), "x has no parameter 'colour' (known: depth, weight)");
        assert_eq!(error("x:depth=-1"), "x: depth=-1 is not a whole number from 1 to 9");
        assert_eq!(error("x:depth=10"), "x: depth=10 is not a whole number from 1 to 9");
        assert_eq!(error("x:weight=NaN"), "x: weight=NaN is not a number from -2 to 2");
        assert_eq!(error("x:depth"), "'depth' is not key=value (write NAME:key=value,key=value)");
        assert_eq!(error("x:depth=1,depth=2"), "x: depth is given twice");
    }
}
