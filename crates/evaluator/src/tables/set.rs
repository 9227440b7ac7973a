//! Sets of tables: which ones belong together, where their files are, and what they say about a board.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use afterstate_board::{Position, Slides};

use super::{Pattern, Table};
use crate::ntuple::file::FileError;

/// A set of tables that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Set {
    /// The name in `set=NAME`.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Its tables.
    pub tables: &'static [Pattern],
    /// It comes with the program.
    pub is_shipped: bool,
}

/// The tables that are built, in the order in which the sets take them.
const BUILT: [Pattern; 11] = {
    const fn of(large: u8, goal: u8) -> Pattern {
        Pattern::new(large, goal).expect("there is such a pattern")
    }
    const fn wide(goal: u8) -> Pattern {
        Pattern::wide(goal).expect("there is such a pattern")
    }
    [of(5, 6), of(6, 6), of(6, 7), of(6, 8), of(5, 7), of(6, 9), of(5, 8), wide(8), of(5, 9), wide(9), wide(10)]
};

/// All sets, the smallest first.
pub const SETS: &[Set] = &[
    Set {
        name: "tiny",
        summary: "comes with the program: of the tables of small, the states that games meet",
        tables: BUILT.split_at(8).0,
        is_shipped: true,
    },
    Set {
        name: "small",
        summary: "goals up to 256 beside five large tiles, up to 512 beside six, 256 there wide too",
        tables: BUILT.split_at(8).0,
        is_shipped: false,
    },
    Set {
        name: "medium",
        summary: "small, and goal 512 beside five large tiles and (wide) beside six",
        tables: BUILT.split_at(10).0,
        is_shipped: false,
    },
    Set {
        name: "large",
        summary: "medium, and goal 1024 (wide) beside six large tiles",
        tables: &BUILT,
        is_shipped: false,
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

    /// The patterns of its tables.
    pub fn members(&self) -> impl Iterator<Item = Pattern> + use<> {
        self.tables.iter().copied()
    }

    /// One of its tables: from the program if the set comes with it, else from a folder.
    pub fn table(&self, folder: &Path, pattern: Pattern) -> Result<Table, SetError> {
        if self.is_shipped {
            let name = some_file_name(pattern);
            let at = self.members().position(|member| member == pattern);
            return match at.and_then(|at| SHIPPED.get(at)) {
                Some(bytes) => Ok(Table::embedded(&name, bytes)?),
                None => Err(SetError::Missing { path: name.into(), set: self.name }),
            };
        }
        let path = folder.join(file_name(pattern));
        if path.exists() { Ok(Table::open(&path)?) } else { Err(SetError::Missing { path, set: self.name }) }
    }

    /// The bytes of its files, within a tenth for those that are built.
    pub fn bytes(&self) -> u64 {
        if self.is_shipped {
            return SHIPPED.iter().map(|file| file.len() as u64).sum();
        }
        self.members().map(Table::expected_bytes).sum()
    }
}

/// The name of a table's file.
pub fn file_name(pattern: Pattern) -> String {
    format!("{pattern}-whole.safetensors")
}

/// The files of the set that comes with the program, in its order.
const SHIPPED: [&[u8]; 8] = [
    include_bytes!("../../tables/5-64.safetensors"),
    include_bytes!("../../tables/6-64.safetensors"),
    include_bytes!("../../tables/6-128.safetensors"),
    include_bytes!("../../tables/6-256.safetensors"),
    include_bytes!("../../tables/5-128.safetensors"),
    include_bytes!("../../tables/6-512.safetensors"),
    include_bytes!("../../tables/5-256.safetensors"),
    include_bytes!("../../tables/6w-256.safetensors"),
];

/// The name of the file of a table that knows some states alone.
pub fn some_file_name(pattern: Pattern) -> String {
    format!("{pattern}.safetensors")
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

/// What a table says about a position.
pub struct Advice<'a> {
    /// Who says it.
    pub table: &'a Table,
    /// The image of the board that it knows.
    pub image: usize,
    /// How often the goal is missed after each move, by direction index.
    pub failures: [f32; 4],
}

/// Large tiles in a row, each half of the one before, that are all there is to build on the way to a goal; the rest comes and goes.
pub const ROW: u8 = 6;

impl Advice<'_> {
    /// Is what the table builds all that is missing for the tile of this exponent? All six below it must be there, no two alike: else the second of
    /// the last would not set off all the others.
    pub fn is_last<P: Position>(&self, board: &P, goal: u8) -> bool {
        let pattern = self.table.pattern();
        let row = ((1 << ROW) - 1) << pattern.goal();
        pattern.large() == ROW
            && goal == pattern.goal() + ROW
            && board.exponents_present() >> pattern.goal() << pattern.goal() == row
    }

    /// How often the goal is missed after the best move.
    pub fn failure(&self) -> f32 {
        self.failures.iter().copied().fold(1.0, f32::min)
    }

    /// What comes first is preferred.
    fn rank(&self) -> (u8, f32) {
        (self.table.pattern().large(), self.failure())
    }
}

/// Several tables, asked together.
pub struct Tables {
    tables: Vec<Table>,
}

/// Sets in use: every thread of an evaluation asks for its own, and all share one.
static OPEN: Mutex<Vec<(PathBuf, &'static str, Weak<Tables>)>> = Mutex::new(Vec::new());

impl Tables {
    /// These tables.
    pub fn new(tables: impl IntoIterator<Item = Table>) -> Self {
        Self { tables: tables.into_iter().collect() }
    }

    /// Opens the tables of a set in a folder, or shares those that are open already.
    pub fn open(folder: &Path, set: &'static Set) -> Result<Arc<Self>, SetError> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(.., tables)| tables.strong_count() > 0);
        let known = open.iter().find(|(path, name, _)| path == folder && *name == set.name);
        if let Some(tables) = known.and_then(|(.., tables)| tables.upgrade()) {
            return Ok(tables);
        }
        let tables = set.members().map(|pattern| set.table(folder, pattern));
        let tables = Arc::new(Self::new(tables.collect::<Result<Vec<_>, _>>()?));
        open.push((folder.to_owned(), set.name, Arc::downgrade(&tables)));
        Ok(tables)
    }

    /// The tables that know a board, each with the image of the board that it knows.
    #[inline]
    pub fn matching(&self, images: &[u64; 8]) -> impl Iterator<Item = (&Table, usize)> {
        self.tables.iter().flat_map(|table| table.matching(images).map(move |image| (table, image)))
    }

    /// What the most promising table says about the moves of a position, if its way succeeds at least as often as `least` asks beside
    /// five large tiles and beside six.
    ///
    /// Tables beside five come first: they keep the sixth in order too.
    pub fn advice<P: Position>(&self, position: &P, slides: &Slides<P>, least: [f32; 2]) -> Option<Advice<'_>> {
        let images = position.images()?;
        let mut best: Option<Advice<'_>> = None;
        for (table, image) in self.matching(&images) {
            let after = |i: usize| slides.after[i].board().images().map(|after| after[image]);
            let failure = |i: usize| match after(i) {
                Some(after) if slides.legal.bits() >> i & 1 == 1 => table.failure_after(images[image], after),
                _ => 1.0,
            };
            let advice = Advice { table, image, failures: std::array::from_fn(failure) };
            let is_better = best.as_ref().is_none_or(|best| advice.rank() < best.rank());
            let success = 1.0 - advice.failure();
            if is_better && success > 0.0 && success >= least[usize::from(table.pattern().large() == 6)] {
                best = Some(advice);
            }
        }
        best
    }

    /// The probability that the goal is missed after this afterstate: the lowest that any table gives it, `None` if none knows it.
    #[inline]
    pub fn failure(&self, images: &[u64; 8]) -> Option<f32> {
        let known = |table: &Table| images.iter().filter_map(|&image| table.failure_of(image)).reduce(f32::min);
        self.tables.iter().filter_map(known).reduce(f32::min)
    }
}
