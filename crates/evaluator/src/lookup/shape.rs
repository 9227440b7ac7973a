//! What a two-core network may look like.

use std::io;

use afterstate_board::Directions;

use crate::Judgement;

/// The widest rows.
pub const MOST_WIDTH: usize = 256;
/// The most outputs of all dense layers together.
pub const MOST_KEPT: usize = 1_024;
/// The most outputs of a network.
pub(super) const MOST_OUTPUTS: usize = 6;

/// What the outputs of a network are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// One: the value of an afterstate.
    Value,
    /// Four: the value of each move of a position.
    Moves,
    /// Five: the preference for each move of a position as a logit, then the value of the position.
    Policy,
    /// Six: as [`Role::Policy`], but that value is the learner's own business, then the value of the board as an afterstate.
    Actor,
}

impl Role {
    const NAMES: [(Self, &'static str); 4] =
        [(Self::Value, "value"), (Self::Moves, "moves"), (Self::Policy, "policy"), (Self::Actor, "actor")];

    /// Number of outputs.
    pub const fn outputs(self) -> usize {
        match self {
            Self::Value => 1,
            Self::Moves => 4,
            Self::Policy => 5,
            Self::Actor => 6,
        }
    }

    /// Are its first four outputs logits?
    pub const fn has_logits(self) -> bool {
        matches!(self, Self::Policy | Self::Actor)
    }

    /// What an afterstate is worth, in outputs. A network that knows positions only takes it for one: its value, or that of the best of
    /// the moves allowed, 0 if there is none.
    pub fn worth(self, outputs: &[f32], legal: Directions) -> f32 {
        match self {
            Self::Value => outputs[0],
            Self::Policy => outputs[4],
            Self::Actor => outputs[5],
            Self::Moves => legal.iter().map(|d| outputs[d.index()]).reduce(f32::max).unwrap_or(0.0),
        }
    }

    /// The outputs of a network that judges moves, in points where they are values.
    pub fn judgement(self, outputs: &[f32], unit: f32) -> Judgement {
        let moves = [outputs[0], outputs[1], outputs[2], outputs[3]];
        match self {
            Self::Policy => Judgement { moves, value: Some(outputs[4] * unit) },
            Self::Actor => Judgement { moves, value: None },
            _ => Judgement { moves: moves.map(|value| value * unit), value: None },
        }
    }

    /// Its name in files.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(role, _)| *role == self).map_or("", |(_, name)| name)
    }

    /// The role of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(role, _)| *role)
    }
}

/// The shape of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The places, as [`super::Places::new`] reads them.
    pub places: String,
    /// Numbers in a row: a multiple of 8.
    pub width: usize,
    /// Outputs of the dense layers before the last.
    pub hidden: Vec<usize>,
    /// Are the first numbers of the sum of the rows, one for each output, added to the outputs as they are? The dense layers see the others.
    pub direct: bool,
    /// What the outputs are.
    pub role: Role,
    /// Points that an output of 1 stands for, where it is a value.
    pub unit: f32,
    /// What the points of a move count for beside its values: 1 if values are points still to come, 0 if they judge the board alone.
    pub rewards: f32,
}

impl Shape {
    /// How many numbers of the sum of the rows bypass the dense layers.
    pub const fn directly(&self) -> usize {
        if self.direct { self.role.outputs() } else { 0 }
    }

    /// What is wrong with it, if anything.
    pub fn check(&self) -> Result<(), String> {
        let kept: usize = self.hidden.iter().sum::<usize>() + self.role.outputs();
        if self.width == 0 || self.width > MOST_WIDTH || !self.width.is_multiple_of(8) {
            return Err(format!("a width of {} is not a multiple of 8 up to {MOST_WIDTH}", self.width));
        }
        if self.hidden.contains(&0) || kept > MOST_KEPT || self.hidden.len() > 8 {
            return Err(format!("hidden layers {:?} are not up to 8 of {MOST_KEPT} numbers in all", self.hidden));
        }
        if !(self.unit > 0.0 && self.unit.is_finite()) {
            return Err(format!("a unit of {} points makes no sense", self.unit));
        }
        Ok(())
    }
}

/// Why there is no such network.
#[derive(Debug, thiserror::Error)]
pub enum ShapeError {
    /// Its shape makes no sense.
    #[error("{0}")]
    Refused(String),
    /// There is no memory for it.
    #[error("cannot get memory for {rows} rows of {width} numbers: {source}")]
    Memory {
        /// Rows of all tables.
        rows: usize,
        /// Numbers a row.
        width: usize,
        /// What the system said.
        source: io::Error,
    },
}
