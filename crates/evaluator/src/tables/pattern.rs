//! What a table is about: a row of large tiles that stays where it is, more of them below that only slide within their row, and a
//! tile to be built beside them.

use std::fmt;
use std::str::FromStr;

/// The first row of a 4x4 board and some cells of the second hold tiles of at least the goal, none of which merge; all other tiles
/// are below the goal. The first row never moves, and the large tiles of the second never leave it. To reach the goal is to merge a
/// tile of its value on a cell next to a large one.
///
/// Written as `6-128`: six large tiles, 128 to be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    large: u8,
    goal: u8,
}

/// Why there is no such pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no pattern: write LARGE-GOAL with 4 to 8 large tiles and a goal from 16 to 1024, such as 6-128")]
pub struct PatternError(String);

/// Where the large tiles of the second row may lie, as sets of columns; of two that mirror each other only one is listed.
const ARRANGEMENTS: [&[u8]; 5] =
    [&[0b0000], &[0b0001, 0b0010], &[0b0011, 0b0101, 0b1001, 0b0110], &[0b0111, 0b1011], &[0b1111]];

/// A set of columns as seen in a mirror.
const fn mirrored(columns: u8) -> u8 {
    columns.reverse_bits() >> 4
}

impl Pattern {
    /// The pattern of so many large tiles and the goal's exponent.
    pub fn new(large: u8, goal: u8) -> Option<Self> {
        let pattern = Self { large, goal };
        let fits = (4..=8).contains(&large) && (4..=10).contains(&goal);
        (fits && pattern.states() < 1 << 36).then_some(pattern)
    }

    /// The number of large tiles.
    pub const fn large(self) -> u8 {
        self.large
    }

    /// The exponent of the tile to be built.
    pub const fn goal(self) -> u8 {
        self.goal
    }

    /// Where the large tiles of the second row may lie, as sets of columns, up to mirroring.
    pub const fn arrangements(self) -> &'static [u8] {
        ARRANGEMENTS[self.large as usize - 4]
    }

    /// Which arrangement a set of columns is, and whether in a mirror; `None` if it has too many or too few.
    pub fn arrangement(self, columns: u8) -> Option<(usize, bool)> {
        let find = |columns: u8| self.arrangements().iter().position(|&known| known == columns);
        find(columns).map(|slot| (slot, false)).or_else(|| find(mirrored(columns)).map(|slot| (slot, true)))
    }

    /// True if a large tile lies on this cell in the arrangement.
    pub const fn is_large(self, slot: usize, cell: usize) -> bool {
        cell < 4 || cell < 8 && self.arrangements()[slot] >> (cell - 4) & 1 == 1
    }

    /// True if the goal counts when it is built on this cell while the large tiles of the second row lie on these columns.
    pub const fn is_goal_cell(cell: usize, columns: u8) -> bool {
        4 <= cell && cell < 8 || 8 <= cell && cell < 12 && columns >> (cell - 8) & 1 == 1
    }

    /// What the exponent on a cell is multiplied with in a state's index; the last cell is the unit.
    pub fn place(self, slot: usize, cell: usize) -> u64 {
        let after = (cell + 1..16).filter(|&other| !self.is_large(slot, other)).count();
        u64::from(self.goal).pow(after as u32)
    }

    /// The index of the first state of an arrangement.
    pub fn offset(self, slot: usize) -> u64 {
        slot as u64 * u64::from(self.goal).pow(16 - u32::from(self.large))
    }

    /// The number of ways to arrange the large tiles and to fill the other cells.
    pub fn states(self) -> u64 {
        self.offset(self.arrangements().len())
    }

    /// Which of those ways a board is, given as nibbles. Its large tiles must lie as the arrangement says.
    #[inline]
    pub fn index(self, slot: usize, nibbles: u64) -> u64 {
        let goal = u64::from(self.goal);
        let columns = self.arrangements()[slot];
        let fill = |index: u64, cell: usize| index * goal + (nibbles >> (4 * cell) & 15);
        let second = (4..8).filter(|cell| columns >> (cell - 4) & 1 == 0).fold(slot as u64, fill);
        (8..16).fold(second, fill)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.large, 1u32 << self.goal)
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let parts = text.split_once('-').and_then(|(large, goal)| {
            let goal = goal.parse::<u32>().ok().filter(|goal| goal.is_power_of_two())?;
            Self::new(large.parse().ok()?, goal.ilog2() as u8)
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
        let pattern: Pattern = "6-128".parse().unwrap();
        assert_eq!((pattern.large(), pattern.goal(), pattern.states()), (6, 7, 4 * 7u64.pow(10)));
        assert_eq!(pattern.to_string(), "6-128");
        for wrong in ["", "6", "6-100", "3-128", "9-64", "6-2048", "x-64", "6-128-1"] {
            assert!(wrong.parse::<Pattern>().unwrap_err().to_string().contains("is no pattern"), "{wrong}");
        }
    }

    #[test]
    fn every_arrangement_is_known_as_it_is_or_in_a_mirror() {
        for large in 4..=8 {
            let pattern = Pattern::new(large, 6).unwrap();
            for columns in 0..16u8 {
                let found = pattern.arrangement(columns);
                assert_eq!(found.is_some(), columns.count_ones() + 4 == u32::from(large));
                if let Some((slot, mirror)) = found {
                    assert_eq!(pattern.arrangements()[slot], if mirror { mirrored(columns) } else { columns });
                }
            }
        }
    }

    #[test]
    fn indices_are_all_states_once() {
        let pattern: Pattern = "8-16".parse().unwrap();
        let mut seen = vec![false; pattern.states() as usize];
        for code in 0..pattern.states() {
            let digit = |cell: u32| code / 4u64.pow(cell) % 4;
            let board = (0..8).fold(0xffff_ffff_u64, |board, cell| board | digit(cell) << (32 + 4 * cell));
            let index = pattern.index(0, board);
            let by_place: u64 = (8..16).map(|cell| pattern.place(0, cell) * (board >> (4 * cell) & 15)).sum();
            assert_eq!(index, by_place);
            assert!(!std::mem::replace(&mut seen[index as usize], true));
        }
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
