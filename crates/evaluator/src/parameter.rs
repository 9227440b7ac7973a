//! Parameters declared once: name, meaning, type, default and range. Command line, page, tuner and docs all read these rows.

use std::fmt;

/// What a parameter may hold, with its default.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A whole number. Without a default the parameter may be left unset.
    Integer {
        /// Taken when the parameter is not given.
        default: Option<u64>,
        /// The least value allowed.
        min: u64,
        /// The largest value allowed.
        max: u64,
    },
    /// A number.
    Number {
        /// Taken when the parameter is not given.
        default: f64,
        /// The least value allowed.
        min: f64,
        /// The largest value allowed.
        max: f64,
    },
    /// `true` or `false`.
    Switch {
        /// Taken when the parameter is not given.
        default: bool,
    },
    /// One of a few words.
    Choice {
        /// Taken when the parameter is not given; one of `options`.
        default: &'static str,
        /// The words allowed.
        options: &'static [&'static str],
    },
    /// Anything; who reads it says what is wrong with it.
    Text {
        /// Taken when the parameter is not given.
        default: &'static str,
        /// What is written there, in words.
        form: &'static str,
    },
    /// An evaluator, `NAME[@FILE]`; its own parameters are given as `eval.KEY=VALUE`.
    Evaluator {
        /// Taken when the parameter is not given.
        default: &'static str,
    },
}

/// One parameter of a catalogue row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// The key in `NAME:key=value`.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its type, default and range.
    pub kind: Kind,
}

/// A value that has passed its parameter's check.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of [`Kind::Integer`].
    Integer(Option<u64>),
    /// Of [`Kind::Number`].
    Number(f64),
    /// Of [`Kind::Switch`].
    Switch(bool),
    /// Of [`Kind::Choice`], [`Kind::Text`] or [`Kind::Evaluator`].
    Word(String),
}

impl Parameter {
    /// A whole number with a default.
    pub const fn integer(name: &'static str, summary: &'static str, default: u64, min: u64, max: u64) -> Self {
        Self { name, summary, kind: Kind::Integer { default: Some(default), min, max } }
    }

    /// A whole number that may be left unset.
    pub const fn optional(name: &'static str, summary: &'static str, min: u64, max: u64) -> Self {
        Self { name, summary, kind: Kind::Integer { default: None, min, max } }
    }

    /// A number with a default.
    pub const fn number(name: &'static str, summary: &'static str, default: f64, min: f64, max: f64) -> Self {
        Self { name, summary, kind: Kind::Number { default, min, max } }
    }

    /// The value when nothing is given.
    pub fn default_value(&self) -> Value {
        match self.kind {
            Kind::Integer { default, .. } => Value::Integer(default),
            Kind::Number { default, .. } => Value::Number(default),
            Kind::Switch { default } => Value::Switch(default),
            Kind::Choice { default, .. } | Kind::Text { default, .. } | Kind::Evaluator { default } => {
                Value::Word(default.to_owned())
            }
        }
    }

    /// Reads a value, or says what would be one.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        match self.kind {
            Kind::Integer { min, max, .. } => {
                let value = text.parse().ok().filter(|v| (min..=max).contains(v));
                value.map(|v| Value::Integer(Some(v))).ok_or_else(|| self.range())
            }
            Kind::Number { min, max, .. } => {
                let value = text.parse().ok().filter(|v| (min..=max).contains(v));
                value.map(Value::Number).ok_or_else(|| self.range())
            }
            Kind::Switch { .. } => text.parse().map(Value::Switch).map_err(|_| self.range()),
            Kind::Choice { options, .. } => {
                if options.contains(&text) {
                    Ok(Value::Word(text.to_owned()))
                } else {
                    Err(self.range())
                }
            }
            Kind::Text { .. } | Kind::Evaluator { .. } => Ok(Value::Word(text.to_owned())),
        }
    }

    /// What values are allowed, in words.
    pub fn range(&self) -> String {
        match self.kind {
            Kind::Integer { min, max: u64::MAX, .. } => format!("a whole number from {min}"),
            Kind::Integer { min, max, .. } => format!("a whole number from {min} to {max}"),
            Kind::Number { min, max, .. } => format!("a number from {min} to {max}"),
            Kind::Switch { .. } => "true or false".to_owned(),
            Kind::Choice { options, .. } => format!("one of {}", options.join(", ")),
            Kind::Text { form, .. } => form.to_owned(),
            Kind::Evaluator { .. } => "an evaluator, NAME[@FILE]".to_owned(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(Some(value)) => value.fmt(f),
            Self::Integer(None) => f.write_str("unset"),
            Self::Number(value) => value.fmt(f),
            Self::Switch(value) => value.fmt(f),
            Self::Word(word) => f.write_str(word),
        }
    }
}
