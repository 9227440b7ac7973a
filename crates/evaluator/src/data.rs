//! Where tables live that are too large for the repository: built once by a command, found by every agent.

use std::env;
use std::path::PathBuf;

/// Names the folder of tables when it is not in the usual place.
pub const DATA_VARIABLE: &str = "AFTERSTATE_DATA";

/// The folder of tables: `$AFTERSTATE_DATA`, else `afterstate` in the user's data folder, else `afterstate-data` here.
pub fn data_folder() -> PathBuf {
    let named = |variable: &str| env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    named(DATA_VARIABLE)
        .or_else(|| named("XDG_DATA_HOME").map(|folder| folder.join("afterstate")))
        .or_else(|| named("HOME").map(|home| home.join(".local/share/afterstate")))
        .unwrap_or_else(|| PathBuf::from("afterstate-data"))
}
