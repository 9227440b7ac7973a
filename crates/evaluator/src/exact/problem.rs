//! What is to be solved: a board, a spawn rule and a goal. Says at once what cannot be solved.

use std::fmt;
use std::str::FromStr;

use afterstate_board::{Position, SpawnRule};

/// What perfect play strives for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// The highest expected score.
    #[default]
    Score,
    /// The highest probability of reaching the tile of this exponent.
    Tile(u8),
}

/// A goal is `score` or a tile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no goal (use score, or a tile such as 512)")]
pub struct NoGoal(String);

impl Goal {
    /// What the values mean, for people.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Score => "points still to come, exact",
            Self::Tile(_) => "probability of reaching the goal, exact",
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Score => f.write_str("score"),
            Self::Tile(exponent) => write!(f, "{}", 1u64 << exponent),
        }
    }
}

impl FromStr for Goal {
    type Err = NoGoal;

    fn from_str(text: &str) -> Result<Self, NoGoal> {
        let tile = text.parse().ok().filter(|tile: &u64| tile.is_power_of_two() && (4..=1 << 17).contains(tile));
        match (text, tile) {
            ("score", _) => Ok(Self::Score),
            (_, Some(tile)) => Ok(Self::Tile(tile.trailing_zeros() as u8)),
            _ => Err(NoGoal(text.chars().take(20).collect())),
        }
    }
}

/// Why a game cannot be solved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemError {
    /// Too many positions.
    #[error("a {rows}x{columns} board has too many positions to be solved (2x2, 2x3, 2x4 and 3x3 can be)")]
    TooLarge {
        /// Its rows.
        rows: usize,
        /// Its columns.
        columns: usize,
    },
    /// Tiles beyond what a packed cell holds.
    #[error("tiles up to {tile} could appear, and solving knows them to 32768 (use a spawn rule with smaller tiles)")]
    TooHigh {
        /// The largest tile.
        tile: u64,
    },
    /// The board cannot hold the goal.
    #[error("no {rows}x{columns} board can reach {goal}: {most} is the largest tile there")]
    OutOfReach {
        /// Its rows.
        rows: usize,
        /// Its columns.
        columns: usize,
        /// The tile asked for.
        goal: u64,
        /// The largest possible.
        most: u64,
    },
}

/// A game to be solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    rows: usize,
    columns: usize,
    rule: SpawnRule,
    goal: Goal,
}

/// More cells than this have more positions than anyone could list.
const MOST_CELLS: usize = 9;
/// The longest row or column that tables of lines are made for.
const LONGEST_LINE: usize = 4;
/// The largest exponent that fits a packed cell.
const MOST_EXPONENT: usize = 15;

impl Problem {
    /// Checks whether such a game can be solved.
    pub fn new(rows: usize, columns: usize, rule: SpawnRule, goal: Goal) -> Result<Self, ProblemError> {
        let lines = [rows, columns].iter().all(|n| (1..=LONGEST_LINE).contains(n));
        if !lines || !(2..=MOST_CELLS).contains(&(rows * columns)) {
            return Err(ProblemError::TooLarge { rows, columns });
        }
        let problem = Self { rows, columns, rule, goal };
        let most = problem.largest_exponent();
        if most > MOST_EXPONENT {
            return Err(ProblemError::TooHigh { tile: 1 << most });
        }
        match goal {
            Goal::Tile(exponent) if usize::from(exponent) > most => {
                Err(ProblemError::OutOfReach { rows, columns, goal: 1 << exponent, most: 1 << most })
            }
            _ => Ok(problem),
        }
    }

    /// The game on boards of type `P`.
    pub fn of<P: Position>(rule: SpawnRule, goal: Goal) -> Result<Self, ProblemError> {
        Self::new(P::ROWS, P::COLUMNS, rule, goal)
    }

    /// No tile is larger: each exponent up to the largest that spawns needs a cell while the largest tile is being built.
    fn largest_exponent(&self) -> usize {
        self.cells() - 1 + usize::from(self.largest_spawn())
    }

    /// The largest exponent that spawns.
    pub(super) fn largest_spawn(&self) -> u8 {
        self.rule.kinds().map(|(exponent, _)| exponent).max().unwrap_or(0)
    }

    /// Number of rows.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// Number of cells.
    pub const fn cells(&self) -> usize {
        self.rows * self.columns
    }

    /// Which tiles spawn.
    pub const fn rule(&self) -> &SpawnRule {
        &self.rule
    }

    /// What perfect play strives for.
    pub const fn goal(&self) -> Goal {
        self.goal
    }

    /// The least exponent that ends the game with success; none on a board is that large if the goal is the score.
    pub(super) const fn winning_exponent(&self) -> u8 {
        match self.goal {
            Goal::Score => u8::MAX,
            Goal::Tile(exponent) => exponent,
        }
    }

    /// The name of the file that holds the solution: board, goal and spawn rule.
    pub fn file_name(&self) -> String {
        let rule = self.rule.to_string().replace(':', "@").replace(',', "-");
        format!("{}x{}-{}-{rule}.solved", self.rows, self.columns, self.goal)
    }

    /// The command that solves it.
    pub fn command(&self) -> String {
        let mut command = format!("afterstate solve --size {}x{}", self.rows, self.columns);
        if self.goal != Goal::Score {
            command += &format!(" --goal {}", self.goal);
        }
        if self.rule != SpawnRule::CLASSIC {
            command += &format!(" --spawn {}", self.rule);
        }
        command
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}, goal {}, spawns {}", self.rows, self.columns, self.goal, self.rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_read_back() {
        for text in ["score", "4", "512", "2048"] {
            assert_eq!(text.parse::<Goal>().unwrap().to_string(), text);
        }
        for text in ["", "0", "2", "48", "points", "-4"] {
            assert!(text.parse::<Goal>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_solved_is_said() {
        let error = |rows, columns, rule: &str, goal: &str| {
            let problem = Problem::new(rows, columns, rule.parse().unwrap(), goal.parse().unwrap());
            problem.unwrap_err().to_string()
        };
        assert!(error(4, 4, "2:1", "score").starts_with("a 4x4 board has too many positions"));
        assert!(error(1, 9, "2:1", "score").contains("too many positions"));
        assert!(error(3, 3, "2:0.5,256:0.5", "score").starts_with("tiles up to 65536 could appear"));
        assert_eq!(error(2, 2, "2:0.9,4:0.1", "64"), "no 2x2 board can reach 64: 32 is the largest tile there");
    }

    #[test]
    fn names_and_commands_tell_problems_apart() {
        let classic = Problem::new(3, 3, SpawnRule::CLASSIC, Goal::Score).unwrap();
        assert_eq!(classic.file_name(), "3x3-score-2@0.9-4@0.1.solved");
        assert_eq!(classic.command(), "afterstate solve --size 3x3");
        let other = Problem::new(2, 4, "2:1".parse().unwrap(), Goal::Tile(6)).unwrap();
        assert_eq!(other.file_name(), "2x4-64-2@1.solved");
        assert_eq!(other.command(), "afterstate solve --size 2x4 --goal 64 --spawn 2:1");
    }
}
