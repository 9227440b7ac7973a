//! Sets of tables: which ones belong together, where their files are, and what they say about a board.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::pattern::at_least;
use super::{Pattern, Table, Width};
use crate::ntuple::file::FileError;

/// A set of tables that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set {
    /// The name in `set=NAME`.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Its tables: large tiles, exponent of the goal, and how the numbers are kept.
    pub tables: &'static [(u8, u8, Width)],
    /// Rounded and compressed, as a file to ship.
    pub is_packed: bool,
}

use Width::{Coarse, Fine};

/// The tables that are built, in the order in which the sets take them.
const BUILT: [(u8, u8, Width); 10] = [
    (8, 6, Fine),
    (8, 7, Fine),
    (7, 6, Fine),
    (7, 7, Fine),
    (6, 6, Coarse),
    (8, 8, Fine),
    (7, 8, Coarse),
    (6, 7, Coarse),
    (6, 8, Coarse),
    (5, 6, Coarse),
];

/// All sets, the smallest first.
pub const SETS: &[Set] = &[
    Set {
        name: "tiny",
        summary: "comes with the program: 64 beside seven and eight large tiles, rounded",
        tables: &[(8, 6, Coarse), (7, 6, Coarse)],
        is_packed: true,
    },
    Set {
        name: "small",
        summary: "goals 64 and 128 beside seven and eight large tiles, 64 beside six",
        tables: BUILT.split_at(5).0,
        is_packed: false,
    },
    Set {
        name: "medium",
        summary: "goals up to 256 beside seven and eight large tiles, up to 128 beside six",
        tables: BUILT.split_at(8).0,
        is_packed: false,
    },
    Set {
        name: "large",
        summary: "goals up to 256 beside six large tiles and more, 64 beside five",
        tables: &BUILT,
        is_packed: false,
    },
];

/// Their names.
pub const SET_NAMES: [&str; SETS.len()] = {
    let mut names = [""; SETS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = SETS[i].name;
        i += 1;
    }
    names
};

impl Set {
    /// The set of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        SETS.iter().find(|set| set.name == name)
    }

    /// The patterns of its tables, and how their numbers are kept.
    pub fn members(&self) -> impl Iterator<Item = (Pattern, Width)> + use<> {
        self.tables.iter().filter_map(|&(large, goal, width)| Some((Pattern::new(large, goal)?, width)))
    }

    /// One of its tables: from the program if the set comes with it, else from a folder.
    pub fn table(&self, folder: &Path, pattern: Pattern, width: Width) -> Result<Table, SetError> {
        if self.is_packed {
            return Ok(shipped(pattern)?);
        }
        let path = folder.join(file_name(pattern, width));
        if path.exists() { Ok(Table::open(&path)?) } else { Err(SetError::Missing { path, set: self.name }) }
    }

    /// The bytes of its numbers.
    pub fn bytes(&self) -> u64 {
        self.members().map(|(pattern, width)| pattern.states() * width.bytes()).sum()
    }
}

/// The name of a table's file.
pub fn file_name(pattern: Pattern, width: Width) -> String {
    format!("{pattern}-{}bit.safetensors", 8 * width.bytes())
}

/// A table that comes with the program.
fn shipped(pattern: Pattern) -> Result<Table, FileError> {
    let bytes: &[u8] = if pattern.large() == 8 {
        include_bytes!("../../tables/8-64-8bit.safetensors")
    } else {
        include_bytes!("../../tables/7-64-8bit.safetensors")
    };
    Table::embedded(&file_name(pattern, Coarse), bytes)
}

/// Why a set cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// A table has not been built.
    #[error("table {} is not there: build it with `afterstate tables build --preset {set}`", path.display())]
    Missing {
        /// Where it should be.
        path: PathBuf,
        /// The set it belongs to.
        set: &'static str,
    },
    /// A file that is no whole table.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Several tables, asked together.
pub struct Tables {
    /// By goal, each with the tables for four to eight large tiles.
    goals: Vec<(u8, [Option<Table>; 5])>,
}

/// Sets in use: every thread of an evaluation asks for its own, and all share one.
static OPEN: Mutex<Vec<(PathBuf, &'static str, Weak<Tables>)>> = Mutex::new(Vec::new());

impl Tables {
    /// These tables.
    pub fn new(tables: impl IntoIterator<Item = Table>) -> Self {
        let mut goals: Vec<(u8, [Option<Table>; 5])> = Vec::new();
        for table in tables {
            let (goal, slot) = (table.pattern().goal(), usize::from(table.pattern().large() - 4));
            let found = goals.iter().position(|(known, _)| *known == goal);
            let at = found.unwrap_or_else(|| {
                goals.push((goal, [const { None }; 5]));
                goals.len() - 1
            });
            goals[at].1[slot] = Some(table);
        }
        Self { goals }
    }

    /// Opens the tables of a set in a folder, or shares those that are open already.
    pub fn open(folder: &Path, set: &'static Set) -> Result<Arc<Self>, SetError> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(.., tables)| tables.strong_count() > 0);
        let known = open.iter().find(|(path, name, _)| path == folder && *name == set.name);
        if let Some(tables) = known.and_then(|(.., tables)| tables.upgrade()) {
            return Ok(tables);
        }
        let table = |(pattern, width)| set.table(folder, pattern, width);
        let tables = Arc::new(Self::new(set.members().map(table).collect::<Result<Vec<_>, _>>()?));
        open.push((folder.to_owned(), set.name, Arc::downgrade(&tables)));
        Ok(tables)
    }

    /// The tables that know a board: each with the image of the board that it knows.
    #[inline]
    pub fn matching(&self, images: &[u64; 8]) -> impl Iterator<Item = (&Table, usize)> {
        self.goals.iter().filter_map(|(goal, tables)| {
            let large = at_least(images[0], *goal).count_ones() as usize;
            let table = tables.get(large.wrapping_sub(4))?.as_ref()?;
            Some((table, table.matching(images)?))
        })
    }

    /// The probability that some goal is missed after this afterstate: the highest that any table gives it, 0 if none knows it.
    #[inline]
    pub fn failure(&self, images: &[u64; 8]) -> f32 {
        self.matching(images).fold(0.0, |worst, (table, image)| worst.max(table.failure_after(images[image])))
    }
}
