//! What a table is about: a block of large tiles in a corner that stays where it is, and a tile to be built beside it.

use std::fmt;
use std::str::FromStr;

/// Five or six large tiles fill the upper left corner of a 4x4 board, three in the first row and the others in the second, and stay
/// there; no two of them merge. The tiles on the other cells are below the goal, the smaller the further they are from where it
/// is built. To reach the goal is to line up what makes it: half of it, a quarter and so on down to a pair, each beside the next, so
/// that one merge sets off the others.
///
/// Written as `6-512`: six large tiles, 512 to be built. A wide pattern, `6w-512`, lets tiles up to half of the goal lie nearly anywhere and ends
/// with a pair of halves beside the last of the large tiles; it is worth its size where there is hardly room for the goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern {
    large: u8,
    goal: u8,
    is_wide: bool,
}

/// Why there is no such pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no pattern: write LARGE-GOAL with 5 or 6 large tiles (6w for a wide one) and a goal from 64 to 2048, such as 6-512"
)]
pub struct PatternError(String);

/// What a board must hold somewhere: the bits of some cells, and their values there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    mask: u64,
    value: u64,
}

impl Demand {
    fn of(cells: &[(usize, u8)]) -> Self {
        let fill = |demand: Self, &(cell, exponent): &(usize, u8)| Self {
            mask: demand.mask | 15 << (4 * cell),
            value: demand.value | u64::from(exponent) << (4 * cell),
        };
        cells.iter().fold(Self { mask: 0, value: 0 }, fill)
    }

    /// True if the board, given as nibbles, holds it.
    #[inline]
    pub const fn is_met(self, nibbles: u64) -> bool {
        nibbles & self.mask == self.value
    }

    /// The part of it that lies on some cells, given as a set of nibbles.
    pub const fn within(self, cells: u64) -> Self {
        Self { mask: self.mask & cells, value: self.value & cells }
    }
}

/// Demands of which one is enough.
pub type Goals = Vec<Demand>;

/// The cells of the block, as bits.
const BLOCKS: [u16; 2] = [0b0000_0000_0011_0111, 0b0000_0000_0111_0111];

/// The same, as nibbles.
const BLOCK_NIBBLES: [u64; 2] = [nibbles_of(BLOCKS[0]), nibbles_of(BLOCKS[1])];

/// A set of cells with all bits of each.
const fn nibbles_of(cells: u16) -> u64 {
    let (mut nibbles, mut cell) = (0, 0);
    while cell < 16 {
        nibbles |= (cells as u64 >> cell & 1) * (15 << (4 * cell));
        cell += 1;
    }
    nibbles
}

impl Pattern {
    /// The pattern of so many large tiles and the goal's exponent.
    pub const fn new(large: u8, goal: u8) -> Option<Self> {
        let fits = 5 <= large && large <= 6 && 6 <= goal && goal <= 11;
        if fits { Some(Self { large, goal, is_wide: false }) } else { None }
    }

    /// The wide one of six large tiles and the goal's exponent.
    pub const fn wide(goal: u8) -> Option<Self> {
        match Self::new(6, goal) {
            Some(narrow) => Some(Self { is_wide: true, ..narrow }),
            None => None,
        }
    }

    /// True if it is a wide one.
    pub const fn is_wide(self) -> bool {
        self.is_wide
    }

    /// The number of large tiles.
    pub const fn large(self) -> u8 {
        self.large
    }

    /// The exponent of the tile to be built.
    pub const fn goal(self) -> u8 {
        self.goal
    }

    /// The cells of the large tiles, as bits.
    pub const fn block(self) -> u16 {
        BLOCKS[self.large as usize - 5]
    }

    /// The cells of the large tiles, as nibbles.
    pub const fn block_nibbles(self) -> u64 {
        BLOCK_NIBBLES[self.large as usize - 5]
    }

    /// True if a large tile lies on this cell.
    pub const fn is_large(self, cell: usize) -> bool {
        self.block() >> cell & 1 == 1
    }

    /// How many exponents, from 0 on, a cell may hold; 1 for a large one, which is not looked at.
    pub const fn exponents(self, cell: usize) -> u64 {
        let goal = self.goal as u64;
        match (self.large, cell) {
            _ if self.is_large(cell) => 1,
            (_, 0..12) if self.is_wide => goal,
            _ if self.is_wide => goal - 1,
            (5, 6) | (6, 8) => goal,
            (5, 0..12) | (6, 9) => goal - 1,
            (5, 12..15) | (6, 0..12) => goal - 2,
            _ => goal - 3,
        }
    }

    /// What the exponent on a cell is multiplied with in a state's index; the last cell is the unit.
    pub fn place(self, cell: usize) -> u64 {
        (cell + 1..16).map(|other| self.exponents(other)).product()
    }

    /// The number of ways to fill the cells beside the block.
    pub fn states(self) -> u64 {
        (0..16).map(|cell| self.exponents(cell)).product()
    }

    /// Half the highest sum of the states that a table lists. To hold an eighth more than the goal's sum is to have failed, nearly always: the cells of a
    /// wide pattern could hold far more.
    pub const fn most_layer(self) -> u32 {
        if self.is_wide { 9 << (self.goal - 4) } else { u32::MAX }
    }

    /// The number of states that a table lists.
    pub fn listed(self) -> u64 {
        // By half the sum, the ways to fill the cells so far.
        let mut ways = vec![1u64];
        for cell in 0..16 {
            let largest = 1 << (self.exponents(cell) - 1) >> 1;
            let mut more = vec![0; ways.len() + largest];
            for exponent in 0..self.exponents(cell) {
                ways.iter().enumerate().for_each(|(sum, count)| more[sum + (1 << exponent >> 1)] += count);
            }
            ways = more;
        }
        ways.iter().take(self.most_layer().saturating_add(1) as usize).sum()
    }

    /// Which of those ways a board is, given as nibbles; `None` if a tile is too large for its cell.
    #[inline]
    pub fn index(self, nibbles: u64) -> Option<u64> {
        (0..16).filter(|&cell| !self.is_large(cell)).try_fold(0, |index, cell| {
            let (exponent, count) = (nibbles >> (4 * cell) & 15, self.exponents(cell));
            (exponent < count).then_some(index * count + exponent)
        })
    }

    /// What lines up to the goal, each of them enough.
    pub fn goals(self) -> Goals {
        let [half, quarter, eighth, sixteenth] = [1, 2, 3, 4].map(|less| self.goal - less);
        if self.is_wide {
            [(7, 3), (7, 11), (10, 9), (10, 11)].map(|(a, b)| Demand::of(&[(a, half), (b, half)])).into()
        } else if self.large == 5 {
            let pair = |a: usize, b: usize| Demand::of(&[(6, half), (a, quarter), (b, quarter)]);
            let column = Demand::of(&[(6, half), (3, quarter), (7, eighth), (11, eighth)]);
            vec![pair(7, 3), pair(7, 11), pair(10, 9), pair(10, 11), column]
        } else {
            let row = [(8, half), (9, quarter), (10, eighth)];
            let pair = |a: usize, b: usize| Demand::of(&[row[0], row[1], row[2], (a, sixteenth), (b, sixteenth)]);
            let full = Demand::of(&[row[0], row[1], row[2], (11, eighth)]);
            vec![full, pair(11, 7), pair(11, 15), pair(14, 13), pair(14, 15)]
        }
    }

    /// True if the large tiles of a board, given as nibbles, lie as the pattern says: large enough, none beside its equal, and those next
    /// to where the goal is built in the order in which they will merge.
    #[inline]
    pub fn is_block(self, nibbles: u64) -> bool {
        let tile = |cell: u32| nibbles >> (4 * cell) & 15;
        let block = self.block();
        at_least(nibbles, self.goal) & block == block
            && !can_merge(nibbles, block)
            && match self.large {
                5 => tile(4) > tile(5) && tile(5) != tile(2),
                _ if self.is_wide => tile(6) == u64::from(self.goal),
                _ => tile(2) > tile(6) && tile(4).min(tile(5)).min(tile(6)) == u64::from(self.goal),
            }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}-{}", self.large, if self.is_wide { "w" } else { "" }, 1u32 << self.goal)
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let parts = text.split_once('-').and_then(|(large, goal)| {
            let goal = goal.parse::<u32>().ok().filter(|goal| goal.is_power_of_two())?;
            let goal = goal.ilog2() as u8;
            if large == "6w" { Self::wide(goal) } else { Self::new(large.parse().ok()?, goal) }
        });
        parts.ok_or_else(|| PatternError(text.to_owned()))
    }
}

/// Which of the sixteen nibbles are at least `least`, as a set of bits.
#[inline]
pub(crate) fn at_least(nibbles: u64, least: u8) -> u16 {
    const BYTES: u64 = 0x0101_0101_0101_0101;
    let carry = u64::from(16 - least) * BYTES;
    let even = (nibbles & (15 * BYTES)).wrapping_add(carry) >> 4 & BYTES;
    let odd = ((nibbles >> 4) & (15 * BYTES)).wrapping_add(carry) >> 4 & BYTES;
    // One pair of bits a byte, gathered into sixteen bits in a row.
    let pairs = even | odd << 1;
    let pairs = (pairs | pairs >> 6) & 0x000f_000f_000f_000f;
    let pairs = (pairs | pairs >> 12) & 0x0000_00ff_0000_00ff;
    (pairs | pairs >> 24) as u16
}

/// True if two neighbouring cells of the set hold equal tiles.
#[inline]
pub(crate) fn can_merge(nibbles: u64, cells: u16) -> bool {
    let equal = |shift: u32| {
        let differ = nibbles ^ nibbles >> (4 * shift);
        !at_least(differ, 1) & cells & cells >> shift
    };
    // The last cell of a row and the first of the next are no neighbours.
    equal(1) & 0x7777 != 0 || equal(4) & 0x0fff != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_written_and_read() {
        let pattern: Pattern = "6-512".parse().unwrap();
        assert_eq!((pattern.large(), pattern.goal(), pattern.states()), (6, 9, 9 * 8 * 7u64.pow(4) * 6u64.pow(4)));
        assert_eq!(pattern.to_string(), "6-512");
        assert_eq!("5-128".parse::<Pattern>().unwrap().states(), 7 * 6u64.pow(6) * 5u64.pow(3) * 4);
        let wide: Pattern = "6w-512".parse().unwrap();
        assert_eq!((wide.large(), wide.goal(), wide.states()), (6, 9, 9u64.pow(6) * 8u64.pow(4)));
        assert_eq!((wide.to_string(), wide.most_layer()), ("6w-512".into(), 288));
        for wrong in ["", "5w-512", "w-512", "6", "6-100", "4-128", "7-64", "6-4096", "5-32", "x-64", "6-128-1"] {
            assert!(wrong.parse::<Pattern>().unwrap_err().to_string().contains("is no pattern"), "{wrong}");
        }
    }

    #[test]
    fn indices_are_all_states_once() {
        let pattern: Pattern = "6-64".parse().unwrap();
        let mut seen = vec![false; pattern.states() as usize];
        for code in 0..pattern.states() {
            let digit = |cell: usize| code / pattern.place(cell) % pattern.exponents(cell);
            let board = (0..16).fold(0u64, |board, cell| board | digit(cell) << (4 * cell));
            assert_eq!(pattern.index(board), Some(code));
            assert!(!std::mem::replace(&mut seen[code as usize], true));
        }
        assert_eq!(pattern.index(3 << 60), None, "too large for the last row");
    }

    #[test]
    fn a_goal_is_a_line_that_merges_into_it() {
        let six: Pattern = "6-512".parse().unwrap();
        let is_goal = |pattern: Pattern, board: u64| pattern.goals().iter().any(|goal| goal.is_met(board));
        assert!(is_goal(six, 0x0000_6678_0000_0000) && is_goal(six, 0x0550_0678_0000_0000));
        assert!(!is_goal(six, 0x0000_0678_0000_0000) && !is_goal(six, 0x0000_6687_0000_0000));
        let five: Pattern = "5-128".parse().unwrap();
        assert!(is_goal(five, 0x0000_0550_0600_0000) && is_goal(five, 0x0000_4000_4600_5000));
        assert!(!is_goal(five, 0x0000_0550_0500_0000));
        let wide: Pattern = "6w-512".parse().unwrap();
        assert!(is_goal(wide, 0x0000_0880_0000_0000) && is_goal(wide, 0x0000_0000_8000_8000));
        assert!(!is_goal(wide, 0x0000_0088_0000_0000), "too far from the last large tile");
        // All of them can be stored.
        for pattern in [six, five, wide, "5-64".parse().unwrap(), "6-64".parse().unwrap()] {
            assert!(pattern.goals().iter().all(|goal| pattern.index(goal.value).is_some()), "{pattern}");
        }
    }

    #[test]
    fn blocks_are_told_from_other_boards() {
        let six: Pattern = "6-512".parse().unwrap();
        // 16384 8192 1024 / 4096 2048 512.
        assert!(six.is_block(0x0000_0000_09bc_0ade));
        let wide: Pattern = "6w-512".parse().unwrap();
        assert!(wide.is_block(0x0000_0000_09bc_0ade) && !wide.is_block(0x0000_0000_0b9c_0ade), "512 is the last");
        assert!(!"6-256".parse::<Pattern>().unwrap().is_block(0x0000_0000_09bc_0ade), "the goal has no twin");
        assert!(!six.is_block(0x0000_0000_09bc_0ad0), "a hole");
        assert!(!six.is_block(0x0000_0000_09be_0ade), "two that merge");
        assert!("5-128".parse::<Pattern>().unwrap().is_block(0x0000_0000_06bc_0ade));
    }

    #[test]
    fn sets_of_large_tiles_agree_with_a_plain_count() {
        let mut word = 0x0123_4567_89ab_cdef_u64;
        for _ in 0..1000 {
            word = word.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
            for least in 1..16 {
                let plain = (0..16).filter(|cell| word >> (4 * cell) & 15 >= u64::from(least));
                assert_eq!(at_least(word, least), plain.fold(0, |set, cell| set | 1 << cell), "{word:x} {least}");
            }
            let at = |cell: usize| word >> (4 * cell) & 15;
            let set = (word >> 7) as u16;
            let has = |cell: usize| set >> cell & 1 == 1;
            let right = (0..16).any(|c| c % 4 < 3 && has(c) && has(c + 1) && at(c) == at(c + 1));
            let below = (0..12).any(|c| has(c) && has(c + 4) && at(c) == at(c + 4));
            assert_eq!(can_merge(word, set), right || below, "{word:x} {set:x}");
        }
    }
}
