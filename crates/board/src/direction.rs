//! The four directions a player can slide the tiles in, and small sets of them.

use std::fmt;
use std::str::FromStr;

/// A direction to slide all tiles in.
///
/// The numbering makes symmetry cheap: flipping bit 0 reverses a direction, flipping bit 1 transposes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Direction {
    /// Towards column 0.
    Left = 0,
    /// Towards the last column.
    Right = 1,
    /// Towards row 0.
    Up = 2,
    /// Towards the last row.
    Down = 3,
}

impl Direction {
    /// All four, in index order.
    pub const ALL: [Direction; 4] = [Self::Left, Self::Right, Self::Up, Self::Down];

    /// The position of this direction in [`Direction::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The direction with that index in [`Direction::ALL`]; only the two low bits count.
    pub const fn from_index(index: usize) -> Self {
        Self::ALL[index & 3]
    }

    /// The lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Right => "right",
            Self::Up => "up",
            Self::Down => "down",
        }
    }

    /// The other way along the same axis.
    pub const fn opposite(self) -> Self {
        Self::from_index(self.index() ^ 1)
    }

    /// The direction with rows and columns swapped: left for up, right for down.
    pub const fn transposed(self) -> Self {
        Self::from_index(self.index() ^ 2)
    }

    /// True for left and right.
    pub const fn is_horizontal(self) -> bool {
        (self as u8) < 2
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no direction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a direction (use left, right, up or down)")]
pub struct UnknownDirection(pub String);

impl FromStr for Direction {
    type Err = UnknownDirection;

    /// Reads a full name or its first letter, in either case.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let lower = text.trim().to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|d| lower == d.name() || lower == d.name()[..1])
            .ok_or_else(|| UnknownDirection(text.to_owned()))
    }
}

/// A set of directions: bit `i` stands for the direction of index `i`.
///
/// ```
/// use afterstate_board::{Direction, Directions};
/// let set: Directions = [Direction::Up, Direction::Left].into_iter().collect();
/// assert!(set.contains(Direction::Left) && !set.contains(Direction::Down));
/// assert_eq!(set.len(), 2);
/// assert_eq!(set.nth(1), Direction::Up);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Directions(u8);

/// `NTH[mask][k]`: the index of the k-th direction in the set.
const NTH: [[u8; 4]; 16] = {
    let mut table = [[0; 4]; 16];
    let mut mask = 0;
    while mask < 16 {
        let (mut bit, mut found) = (0, 0);
        while bit < 4 {
            if mask >> bit & 1 == 1 {
                table[mask][found] = bit as u8;
                found += 1;
            }
            bit += 1;
        }
        mask += 1;
    }
    table
};

impl Directions {
    /// No direction at all.
    pub const NONE: Self = Self(0);
    /// All four.
    pub const ALL: Self = Self(15);

    /// The set with these bits; only the four low bits count.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 15)
    }

    /// Bit `i` stands for the direction of index `i`.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// How many directions are in the set.
    pub const fn len(self) -> usize {
        // Counts packed into nibbles: faster than counting bits on a processor without that instruction.
        (0x4332_3221_3221_2110u64 >> (4 * self.0) & 15) as usize
    }

    /// True if no direction is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Is the direction in the set?
    pub const fn contains(self, direction: Direction) -> bool {
        self.0 >> direction.index() & 1 == 1
    }

    /// Adds a direction.
    pub const fn insert(&mut self, direction: Direction) {
        self.0 |= 1 << direction.index();
    }

    /// The `n`-th direction of the set in index order, `n < len()`.
    ///
    /// For a larger `n` the answer is some direction, not necessarily of the set.
    pub const fn nth(self, n: usize) -> Direction {
        Direction::from_index(NTH[self.0 as usize][n & 3] as usize)
    }

    /// The directions of the set in index order.
    pub fn iter(self) -> impl Iterator<Item = Direction> {
        Direction::ALL.into_iter().filter(move |&d| self.contains(d))
    }
}

impl FromIterator<Direction> for Directions {
    fn from_iter<I: IntoIterator<Item = Direction>>(iter: I) -> Self {
        iter.into_iter().fold(Self::NONE, |mut set, d| {
            set.insert(d);
            set
        })
    }
}
