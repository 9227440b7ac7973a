//! What a person should hear when a run is resumed. The library never prints: it tells, and the command line shows.

use std::fmt;

/// Something that was found, or done, when a run was resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A checkpoint could not be used, and an earlier one is.
    PassedOver {
        /// Which.
        file: String,
        /// What is wrong with it.
        reason: String,
        /// The one that is used instead.
        used: String,
    },
    /// The best checkpoint is not what was written: a new best is looked for.
    BestLost {
        /// Which.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The list of checkpoints was damaged and was made again from the files.
    IndexRebuilt {
        /// What was wrong with it.
        reason: String,
        /// How many checkpoints were found.
        found: usize,
    },
    /// A whole checkpoint that the list did not know yet: the run was killed between the two.
    Adopted {
        /// Which.
        file: String,
    },
    /// The run ended before its first checkpoint.
    FromTheStart,
    /// Records of steps after the checkpoint were taken away; those steps come again.
    MetricsCut {
        /// Lines.
        lines: usize,
        /// The checkpoint's step.
        step: u64,
    },
    /// Half-written files of a killed run were removed.
    Swept {
        /// Which.
        files: Vec<String>,
    },
    /// The list of sessions was damaged and begins anew.
    ProvenanceLost {
        /// What was wrong with it.
        reason: String,
    },
    /// A setting that may change did.
    Changed {
        /// Which.
        key: String,
        /// Before.
        was: String,
        /// From now on.
        now: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PassedOver { file, reason, used } => {
                write!(f, "{file} cannot be used: {reason}; going back to {used} (what is left of it ends in .damaged)")
            }
            Self::BestLost { file, reason } => {
                write!(
                    f,
                    "{file} cannot be used: {reason}; a new best will be kept (what is left of it ends in .damaged)"
                )
            }
            Self::IndexRebuilt { reason, found } => {
                write!(f, "checkpoints.json was damaged: {reason}; made again from the {found} checkpoints found")
            }
            Self::Adopted { file } => write!(f, "{file} was whole but not listed yet, and is used"),
            Self::FromTheStart => write!(f, "no checkpoint was written yet: beginning at the start"),
            Self::MetricsCut { lines, step } => write!(f, "{lines} lines of metrics after step {step} were cut"),
            Self::Swept { files } => {
                write!(f, "half-written files of an interrupted run were removed: {}", files.join(", "))
            }
            Self::ProvenanceLost { reason } => write!(f, "provenance.json was damaged: {reason}; it begins anew"),
            Self::Changed { key, was, now } => write!(f, "{key} was {was} and is {now} from now on"),
        }
    }
}
