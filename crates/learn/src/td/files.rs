//! Where games begin that begin at positions of files: at those of the last file first, and further back as games come to something.

use std::path::Path;

use afterstate_arena::read_starts;
use afterstate_board::{Position, Rng};

use super::TdError;
use super::lane::Outcome;
use super::stream;

/// Games by which it is told whether enough come to something.
const ENOUGH: u64 = 5_000;

/// How far games from several files have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reached {
    /// Files, counted from the last, from which games come to something. They are in use, and so is the one before them ...
    pub passed: u64,
    /// ... of which there were so many games since this was last told ...
    pub games: u64,
    /// ... and so many of them came to something.
    pub came: u64,
}

impl Reached {
    pub const KEY: &str = "reached";

    pub fn text(self) -> String {
        format!("{} {} {}", self.passed, self.games, self.came)
    }

    /// What [`Reached::text`] wrote in a run with so many files.
    pub fn read(text: &str, files: usize) -> Option<Self> {
        let numbers: Vec<u64> = text.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let [passed, games, came] = numbers[..] else { return None };
        let is_possible = passed <= files as u64 && games < ENOUGH && came <= games;
        is_possible.then_some(Self { passed, games, came })
    }
}

/// The files, the earliest positions first.
pub(super) struct Files<P> {
    files: Vec<Vec<P>>,
    seed: u64,
    /// The share of a file's games that must come to something to pass it.
    pass: f64,
}

impl<P: Position> Files<P> {
    pub fn read<'a>(paths: impl Iterator<Item = &'a str>, seed: u64, pass: f64) -> Result<Self, TdError> {
        let paths: Vec<&str> = paths.collect();
        let files = paths.iter().map(|path| read_starts(Path::new(path))).collect::<Result<_, _>>()?;
        let files = Self { files, seed, pass };
        let falls = (1..paths.len()).find(|&file| files.least(file) < files.least(file - 1));
        match falls {
            None => Ok(files),
            Some(file) => Err(TdError::Order { before: paths[file - 1].into(), after: paths[file].into() }),
        }
    }

    pub const fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub fn positions(&self) -> impl Iterator<Item = &P> {
        self.files.iter().flatten()
    }

    /// The position of a file whose tiles add up to least.
    pub fn earliest(&self, file: usize) -> &P {
        self.files[file].iter().min_by_key(|position| position.tile_sum()).expect("a file without positions is refused")
    }

    fn least(&self, file: usize) -> u64 {
        self.earliest(file).tile_sum()
    }

    /// Files in use, counted from the last.
    fn used(&self, reached: Reached) -> usize {
        self.files.len().min(reached.passed as usize + 1)
    }

    /// The earliest file in use.
    pub fn first(&self, reached: Reached) -> usize {
        self.files.len() - self.used(reached)
    }

    /// The least sum of tiles from which games come to something.
    pub fn known(&self, reached: Reached) -> u64 {
        let passed = self.files.len().min(reached.passed.max(1) as usize);
        if passed == 0 { 0 } else { self.least(self.files.len() - passed) }
    }

    /// The file of a game: the first in use for half of the games, any for the others. And the dice to choose a position of it.
    fn file(&self, game: u64, reached: Reached) -> (usize, Rng) {
        let mut dice = Rng::stream(self.seed, game, stream::START);
        let used = self.used(reached) as u32;
        let file = if used <= 1 || dice.below(2) == 0 { used } else { 1 + dice.below(used) };
        (self.files.len() - file as usize, dice)
    }

    /// The position that a game begins at; `None` without any file.
    pub fn position(&self, game: u64, reached: Reached) -> Option<P> {
        let (file, mut dice) = self.file(game, reached);
        self.files.get(file).map(|positions| positions[dice.below(positions.len() as u32) as usize])
    }

    /// Takes note of how games ended. Is this what passes the first file in use: enough of its games come to something?
    pub fn count(&self, reached: &mut Reached, outcomes: &[Outcome<P>]) -> bool {
        if reached.passed as usize >= self.files.len() {
            return false;
        }
        let (before, first) = (*reached, self.first(*reached));
        for outcome in outcomes.iter().filter(|outcome| self.file(outcome.game, before).0 == first) {
            reached.games += 1;
            reached.came += u64::from(outcome.played.score > 0);
        }
        if reached.games < ENOUGH {
            return false;
        }
        let passes = reached.came as f64 >= self.pass * reached.games as f64;
        *reached = Reached { passed: reached.passed + u64::from(passes), ..Reached::default() };
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::super::lane::Played;
    use super::*;
    use afterstate_board::Board;

    /// Games as they end when so many of ten come to something.
    fn games(numbers: std::ops::Range<u64>, of_ten: u64) -> Vec<Outcome<Board>> {
        let played = |came| Played { score: came, moves: 1, largest: 1, restarted: false };
        numbers.map(|game| Outcome { game, played: played(u64::from(game % 10 < of_ten)), late: None }).collect()
    }

    #[test]
    fn files_are_passed_from_the_last_on_when_enough_of_their_games_come_to_something() {
        let folder = tempfile::tempdir().unwrap();
        let [early, late] =
            [("early.txt", "0000000000000011\n"), ("late.txt", "0000000000000022\n")].map(|(name, text)| {
                let path = folder.path().join(name);
                std::fs::write(&path, text).unwrap();
                path.display().to_string()
            });
        let read = |paths: [&str; 2]| Files::<Board>::read(paths.into_iter(), 1, 0.3);
        assert!(matches!(read([&late, &early]), Err(TdError::Order { .. })));
        let files = read([&early, &late]).unwrap();
        let mut reached = Reached::default();
        let start = |game, reached| files.position(game, reached).unwrap().tile_sum();
        assert!((0..100).all(|game| start(game, reached) == 8), "all games begin at the last file");
        assert!(!files.count(&mut reached, &games(0..4_999, 10)), "too few to tell");
        assert!(files.count(&mut reached, &games(0..1, 10)));
        let mut reached = Reached::default();
        assert!(!files.count(&mut reached, &games(0..5_000, 2)));
        assert_eq!(reached, Reached::default(), "counted anew");
        assert!(files.count(&mut reached, &games(0..5_000, 3)));
        assert_eq!((reached.passed, files.first(reached), files.known(reached)), (1, 0, 8));
        // Half of the games begin at the first file in use, the others at any.
        let early = (0..10_000).filter(|&game| start(game, reached) == 4).count();
        assert!((7_200..7_800).contains(&early), "{early}");
        // Those from others do not count.
        let others: Vec<_> =
            games(0..30_000, 10).into_iter().filter(|outcome| start(outcome.game, reached) == 8).collect();
        assert!(others.len() > 5_000 && !files.count(&mut reached, &others));
        assert!(!files.count(&mut reached, &games(0..10_000, 2)));
        assert!(files.count(&mut reached, &games(0..10_000, 3)));
        assert_eq!((reached.passed, files.known(reached)), (2, 4));
        assert!(!files.count(&mut reached, &games(0..10_000, 10)), "there is no file left to pass");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let reached = Reached { passed: 2, games: 3_000, came: 1_200 };
        assert_eq!(Reached::read(&reached.text(), 3), Some(reached));
        assert_eq!(Reached::read(&reached.text(), 1), None, "more files than there are");
        for text in ["", "1 2", "1 2 3", "0 5000 0", "-1 0 0", "18446744073709551616 0 0", "0 0 0 0"] {
            assert_eq!(Reached::read(text, 3), None, "{text}");
        }
    }
}
