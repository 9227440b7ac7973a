//! A solved game: what every position is worth under perfect play, looked up in a file that the system maps into memory.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use afterstate_board::{Afterstate, Direction, MAX_SPAWN_KINDS, Position, Slides};
use memmap2::Mmap;

use super::coding::Coded;
use super::file::{Entry, Frame, HEADER, Writer};
use super::layers::{Climb, Descent, Rules};
use super::packed::{Shape, exponent, tile_sum};
use super::{Brief, Goal, Problem};

/// Why there is no solution to look into.
#[derive(Debug, thiserror::Error)]
pub enum SolutionError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// Not what it should be.
    #[error("{}: {reason} (remove it, then run `{command}`)", path.display())]
    Refused {
        /// Which file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
        /// What makes a good one.
        command: String,
    },
    /// Not solved yet.
    #[error("this board is not solved yet: run `{command}` first (there is no {})", path.display())]
    Missing {
        /// Where it would be.
        path: PathBuf,
        /// What solves it.
        command: String,
    },
    /// Solving in memory would take too much of it.
    #[error("there are more than {0} positions: too many to be solved on the spot")]
    TooMany(usize),
}

/// The keys and values of a layer.
type Layer<'a> = (Coded<'a>, &'a [[u8; 8]]);

/// A kind of spawn with its probability, and the layer that it leads to.
type Spawned<'a> = (u8, f64, Option<Layer<'a>>);

/// Where the bytes of a solution are.
enum Content {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

/// What every position of a game is worth under perfect play.
pub struct Solution {
    brief: Brief,
    rules: Rules,
    entries: Vec<Entry>,
    content: Content,
    path: PathBuf,
}

impl std::fmt::Debug for Solution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Solution").field("brief", &self.brief).finish_non_exhaustive()
    }
}

/// Maps a file, if it is there.
fn map(path: &Path, problem: &Problem) -> Result<Mmap, SolutionError> {
    let file = File::open(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => SolutionError::Missing { path: path.to_owned(), command: problem.command() },
        _ => SolutionError::Io { path: path.to_owned(), source },
    })?;
    // SAFETY: solutions are written under another name and then renamed, never changed in place; whoever truncates one while it is
    // in use ends this process, as with any mapped file.
    unsafe { Mmap::map(&file) }.map_err(|source| SolutionError::Io { path: path.to_owned(), source })
}

/// Checks all but the layers of a file, and that it solves this problem.
fn frame(file: &[u8], path: &Path, problem: &Problem) -> Result<Frame, SolutionError> {
    let refused = |reason| SolutionError::Refused { path: path.to_owned(), reason, command: problem.command() };
    let frame = Frame::read(file).map_err(refused)?;
    if frame.brief.problem != *problem {
        return Err(refused(format!("it solves {}, not {problem}", frame.brief.problem)));
    }
    Ok(frame)
}

impl Solution {
    /// Opens and checks the whole file.
    pub fn open(path: &Path, problem: &Problem) -> Result<Self, SolutionError> {
        Self::checked(Content::Mapped(map(path, problem)?), path, problem)
    }

    /// What a file says in brief, without a look at its layers.
    pub fn peek(path: &Path, problem: &Problem) -> Result<Brief, SolutionError> {
        Ok(frame(&map(path, problem)?, path, problem)?.brief)
    }

    /// A solution from the bytes of its file.
    pub fn from_bytes(bytes: Vec<u8>, problem: &Problem) -> Result<Self, SolutionError> {
        Self::checked(Content::Owned(bytes), Path::new("memory"), problem)
    }

    fn checked(content: Content, path: &Path, problem: &Problem) -> Result<Self, SolutionError> {
        let bytes = content.bytes();
        let Frame { brief, entries, index, crc } = frame(bytes, path, problem)?;
        let reason = if crc32fast::hash(&bytes[HEADER..index as usize]) != crc {
            "the checksum of its layers is wrong: it is damaged"
        } else if entries.iter().any(|entry| entry.keys(bytes).is_none()) {
            "the keys of a layer cannot be read: it is damaged"
        } else {
            return Ok(Self { brief, rules: Rules::new(*problem, 1), entries, content, path: path.to_owned() });
        };
        Err(SolutionError::Refused { path: path.to_owned(), reason: reason.into(), command: problem.command() })
    }

    /// Solves a game here and now, if it has at most `most` positions.
    pub fn in_memory(problem: &Problem, most: usize) -> Result<Self, SolutionError> {
        let rules = Rules::new(*problem, 1);
        let (mut climb, mut layers, mut states) = (Climb::new(&rules), Vec::new(), 0);
        while let Some((sum, keys)) = climb.climb() {
            states += keys.len();
            if states > most {
                return Err(SolutionError::TooMany(most));
            }
            layers.push((sum, keys, Vec::new()));
        }
        let mut descent = Descent::new(&rules);
        for (sum, keys, values) in layers.iter_mut().rev() {
            *values = descent.descend(*sum, keys.clone()).to_vec();
        }
        let mut bytes = Vec::new();
        let written = Writer::new(&mut bytes, &rules).and_then(|mut writer| {
            layers.iter().try_for_each(|(sum, keys, values)| writer.layer(*sum, keys, values))?;
            writer.finish()
        });
        written.map_err(|source| SolutionError::Io { path: "memory".into(), source })?;
        Self::from_bytes(bytes, problem)
    }

    /// Board, goal, number of positions, value of a new game.
    pub const fn brief(&self) -> &Brief {
        &self.brief
    }

    /// Is this the file that was opened?
    pub(super) fn is_at(&self, path: &Path) -> bool {
        self.path == path
    }

    /// The bytes of its file.
    pub fn bytes(&self) -> &[u8] {
        self.content.bytes()
    }

    /// What a position is worth; `None` for one that no game from two tiles comes to.
    pub fn value<P: Position>(&self, position: &P) -> Option<f64> {
        debug_assert_eq!((P::ROWS, P::COLUMNS), (self.brief.problem.rows(), self.brief.problem.columns()));
        let key = Shape::pack(position)?;
        if self.rules.is_won(key) {
            return Some(1.0);
        }
        self.listed(key)
    }

    /// What a packed board is worth, if it is listed.
    fn listed(&self, key: u64) -> Option<f64> {
        let sum = tile_sum(key);
        let entry = &self.entries[self.entries.binary_search_by_key(&sum, |entry| entry.sum).ok()?];
        let (keys, values) = entry.keys(self.bytes())?;
        let at = keys.find(self.rules.shape().canonical(key))?;
        Some(f64::from_le_bytes(*values.get(at)?))
    }

    /// What each legal move of a position is worth, by direction index; `None` if a move leads to where no game comes.
    ///
    /// The quick twin of [`Solution::move_values`].
    pub fn listed_move_values<P: Position>(&self, position: &P) -> Option<[Option<f64>; 4]> {
        let key = Shape::pack(position)?;
        let sum = tile_sum(key);
        let kinds = self.brief.problem.rule().kinds();
        let layer = |exponent: u8| {
            let at = self.entries.binary_search_by_key(&(sum + (1 << exponent)), |entry| entry.sum).ok()?;
            self.entries[at].keys(self.bytes())
        };
        let mut layers = [const { None }; MAX_SPAWN_KINDS];
        for (slot, (exponent, p)) in layers.iter_mut().zip(kinds) {
            *slot = Some((exponent, p, layer(exponent)));
        }
        let mut values = [None; 4];
        for (direction, (after, reward)) in Direction::ALL.into_iter().zip(self.rules.shape().slides(key)) {
            if after != key {
                values[direction.index()] = Some(self.afterwards(after, reward, &layers)?);
            }
        }
        Some(values)
    }

    fn afterwards(&self, after: u64, reward: u32, layers: &[Option<Spawned<'_>>]) -> Option<f64> {
        if self.rules.is_won(after) {
            return Some(1.0);
        }
        let (mut total, mut empty) = (0.0, 0);
        for cell in (0..self.rules.shape().cells()).filter(|&cell| exponent(after, cell) == 0) {
            empty += 1;
            for &(spawn, p, layer) in layers.iter().flatten() {
                let board = after | u64::from(spawn) << (4 * cell);
                total += p * if spawn >= self.brief.problem.winning_exponent() {
                    1.0
                } else {
                    let (keys, values) = layer?;
                    f64::from_le_bytes(*values.get(keys.find(self.rules.shape().canonical(board))?)?)
                };
            }
        }
        let points = if self.brief.problem.goal() == Goal::Score { f64::from(reward) } else { 0.0 };
        Some(points + total / f64::from(empty))
    }

    /// What a move is worth: its points, if they count, and what may come after it.
    fn move_value<P: Position>(
        &self,
        after: &Afterstate<P>,
        reward: u32,
        value: &mut impl FnMut(&P) -> Option<f64>,
    ) -> Option<f64> {
        let problem = &self.brief.problem;
        if after.board().max_exponent() >= problem.winning_exponent() {
            return Some(1.0);
        }
        let points = if problem.goal() == Goal::Score { f64::from(reward) } else { 0.0 };
        let later =
            after.spawns(problem.rule()).try_fold(0.0, |sum, (spawn, p)| Some(sum + p * value(&after.place(spawn))?));
        Some(points + later?)
    }

    /// What each legal move is worth, by direction index; nothing for moves to positions that no game comes to.
    pub fn move_values<P: Position>(
        &self,
        slides: &Slides<P>,
        mut value: impl FnMut(&P) -> Option<f64>,
    ) -> [Option<f64>; 4] {
        let mut values = [None; 4];
        for (direction, slide) in slides.iter() {
            values[direction.index()] = self.move_value(&slide.after, slide.reward, &mut value);
        }
        values
    }
}

impl Content {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
        }
    }
}

impl Entry {
    /// The keys and the values of the layer.
    fn keys<'a>(&self, file: &'a [u8]) -> Option<Layer<'a>> {
        let layer = file.get(usize::try_from(self.offset).ok()?..)?;
        let (keys, rest) = layer.split_at_checked(usize::try_from(self.coded).ok()?)?;
        let values = rest.get(..8 * self.count as usize)?;
        Some((Coded::new(keys, self.count as usize)?, values.as_chunks().0))
    }
}
