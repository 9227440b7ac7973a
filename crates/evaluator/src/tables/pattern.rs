//! What a table is about: a block of large tiles in a corner that stays where it is, and a tile to be built beside it.

use std::fmt;
use std::str::FromStr;

/// Five or six large tiles fill the upper left corner of a 4x4 board, three in the first row and the others in the second, and stay
/// there; no two of them merge. The tiles on the other cells are below the goal, the smaller the further they are from where it
/// is built. To reach the goal is to line up what makes it: half of it, a quarter and so on down to a pair, each beside the next, so
/// that one merge sets off the others.
///
/// Written as `6-512`: six large tiles, 512 to be built. A wide pattern, `6w-512`, lets tiles up to half of the goal lie nearly anywhere and ends
/// with a pair of halves beside the last of the large tiles; it is worth its size where there is hardly room for the goal. In a split one, `6t-512`, four of
/// the six fill the corner and two lie one above the other at the opposite edge, with a column between, so that a T is left free; the two may slide
/// down along their edge, `6t1-512` and `6t2-512`, and up again. In `5t-512` (and `5t1-512`) one lies there, below which the sixth is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern {
    large: u8,
    goal: u8,
    shape: Shape,
}

/// How the large tiles lie, and how large the others may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Shape {
    Narrow,
    Wide,
    /// With so many cells above those at the edge.
    Split(u8),
}

/// The number of ways in which five and six large tiles of a split pattern may lie.
const WAYS: [u8; 2] = [2, 3];

/// Why there is no such pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is no pattern: write LARGE-GOAL with 5 or 6 large tiles (6w for a wide one, 5t or 6t for a split one) and a goal from 64 to 2048, such as 6-512"
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

/// The cells of the block of five large tiles and of that of six, and those of split ones by the cells above the tiles at the edge, as bits.
const BLOCKS: [u16; 7] = {
    let corner = 0b0011_0011;
    let [five, six] = [0b0000_1000, 0b1000_1000];
    [0b0011_0111, 0b0111_0111, corner | five, corner | five << 4, corner | six, corner | six << 4, corner | six << 8]
};

/// The same, as nibbles.
const BLOCK_NIBBLES: [u64; BLOCKS.len()] = {
    let (mut nibbles, mut i) = ([0; BLOCKS.len()], 0);
    while i < BLOCKS.len() {
        nibbles[i] = nibbles_of(BLOCKS[i]);
        i += 1;
    }
    nibbles
};

/// The four tiles of a split pattern that stay in their corner: all others may slide along the opposite edge.
const CORNER: u64 = nibbles_of(0b0011_0011);

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
        if fits { Some(Self { large, goal, shape: Shape::Narrow }) } else { None }
    }

    /// The wide one of six large tiles and the goal's exponent.
    pub const fn wide(goal: u8) -> Option<Self> {
        match Self::new(6, goal) {
            Some(narrow) => Some(Self { shape: Shape::Wide, ..narrow }),
            None => None,
        }
    }

    /// The split one of so many large tiles and the goal's exponent, with so many cells above those at the edge.
    pub const fn split(large: u8, goal: u8, above: u8) -> Option<Self> {
        match Self::new(large, goal) {
            Some(narrow) if goal <= 10 && above < WAYS[large as usize - 5] => {
                Some(Self { shape: Shape::Split(above), ..narrow })
            }
            _ => None,
        }
    }

    /// The ways in which the large tiles may lie while the same goal is built: other patterns that moves lead to and back.
    pub fn ways(self) -> impl Iterator<Item = Self> + Clone {
        let ways = if self.is_split() { 0..WAYS[self.large as usize - 5] } else { 0..1 };
        ways.map(move |above| Self { shape: if self.is_split() { Shape::Split(above) } else { self.shape }, ..self })
    }

    /// Which of them this is.
    pub const fn way(self) -> usize {
        match self.shape {
            Shape::Split(above) => above as usize,
            _ => 0,
        }
    }

    /// True if one or two of the large tiles lie apart.
    pub const fn is_split(self) -> bool {
        matches!(self.shape, Shape::Split(_))
    }

    /// True if tiles up to half of the goal may lie nearly anywhere.
    pub const fn is_wide(self) -> bool {
        matches!((self.shape, self.large), (Shape::Wide, _) | (Shape::Split(_), 6))
    }

    /// The number of large tiles.
    pub const fn large(self) -> u8 {
        self.large
    }

    /// The exponent of the tile to be built.
    pub const fn goal(self) -> u8 {
        self.goal
    }

    const fn shape_number(self) -> usize {
        match self.shape {
            Shape::Split(above) => 2 + (self.large as usize - 5) * WAYS[0] as usize + above as usize,
            _ => self.large as usize - 5,
        }
    }

    /// The cells of the large tiles, as bits.
    pub const fn block(self) -> u16 {
        BLOCKS[self.shape_number()]
    }

    /// The cells of the large tiles, as nibbles.
    pub const fn block_nibbles(self) -> u64 {
        BLOCK_NIBBLES[self.shape_number()]
    }

    /// The cell where a large tile lies in the first of the [`Pattern::ways`].
    pub const fn home(self, cell: usize) -> usize {
        if self.is_split() && cell % 4 == 3 { cell.wrapping_sub(4 * self.way()) } else { cell }
    }

    /// Where a move has led from a board of this pattern, both given as nibbles: how the large tiles lie now, and which state that is. `None` if it breaks
    /// the pattern.
    #[inline]
    pub fn after(self, board: u64, after: u64) -> Option<(Self, u64)> {
        let way = if (board ^ after) & self.block_nibbles() == 0 {
            self
        } else {
            let apart = (board & self.block_nibbles() & !CORNER) >> (16 * self.way());
            let lies = |way: &Self| after & way.block_nibbles() == board & CORNER | apart << (16 * way.way());
            self.ways().filter(|way| way.is_split()).find(lies)?
        };
        way.index(after).map(|index| (way, index))
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
            (_, 0..12) if self.is_wide() => goal,
            _ if self.is_wide() => goal - 1,
            _ if self.is_split() && cell == self.last() + 4 => goal,
            _ if self.is_split() && cell < 12 => goal - 1,
            _ if self.is_split() && cell > 12 => goal - 2,
            _ if self.is_split() => goal - 3,
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
        if self.is_wide() { 9 << (self.goal - 4) } else { u32::MAX }
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
        let holds =
            |exponent: u8| move |&cell: &usize| !self.is_large(cell) && self.exponents(cell) > u64::from(exponent);
        let pairs = |end: usize, exponent: u8| {
            let two = move |a: usize| {
                beside(a).filter(move |b| *b != end && holds(exponent)(b)).map(move |b| [(a, exponent), (b, exponent)])
            };
            beside(end).filter(holds(exponent)).flat_map(two)
        };
        if self.is_wide() {
            pairs(self.last(), half).map(|two| Demand::of(&two)).collect()
        } else if self.is_split() {
            let end = self.last() + 4;
            pairs(end, quarter).map(|[a, b]| Demand::of(&[(end, half), a, b])).collect()
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

    /// The cell of the large tile beside which the goal is built, where the pattern names one: in a wide pattern the goal's twin.
    const fn last(self) -> usize {
        match self.shape {
            Shape::Split(above) => 4 * (above + self.large - 5) as usize + 3,
            _ => 6,
        }
    }

    /// True if the large tiles of a board, given as nibbles, lie as the pattern says: large enough, none beside its equal, and those next
    /// to where the goal is built in the order in which they will merge.
    #[inline]
    pub fn is_block(self, nibbles: u64) -> bool {
        let tile = |cell: usize| nibbles >> (4 * cell) & 15;
        let block = self.block();
        at_least(nibbles, self.goal) & block == block
            && !can_merge(nibbles, block)
            && match self.large {
                5 if self.is_split() => true,
                5 => tile(4) > tile(5) && tile(5) != tile(2),
                _ if self.is_wide() => tile(self.last()) == u64::from(self.goal),
                _ => tile(2) > tile(6) && tile(4).min(tile(5)).min(tile(6)) == u64::from(self.goal),
            }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = match self.shape {
            Shape::Narrow => String::new(),
            Shape::Wide => "w".into(),
            Shape::Split(0) => "t".into(),
            Shape::Split(above) => format!("t{above}"),
        };
        write!(f, "{}{shape}-{}", self.large, 1u32 << self.goal)
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let parts = text.split_once('-').and_then(|(large, goal)| {
            let goal = goal.parse::<u32>().ok().filter(|goal| goal.is_power_of_two())?;
            let goal = goal.ilog2() as u8;
            match large {
                "6w" => Self::wide(goal),
                "5t" => Self::split(5, goal, 0),
                "5t1" => Self::split(5, goal, 1),
                "6t" => Self::split(6, goal, 0),
                "6t1" => Self::split(6, goal, 1),
                "6t2" => Self::split(6, goal, 2),
                _ => Self::new(large.parse().ok()?, goal),
            }
        });
        parts.ok_or_else(|| PatternError(text.to_owned()))
    }
}

/// The cells next to one.
fn beside(cell: usize) -> impl Iterator<Item = usize> {
    let near = [(cell >= 4, -4), (cell < 12, 4), (!cell.is_multiple_of(4), -1), (cell % 4 < 3, 1)];
    near.into_iter().filter(|&(exists, _)| exists).map(move |(_, step)| cell.wrapping_add_signed(step))
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
        for (above, name) in ["6t-512", "6t1-512", "6t2-512"].into_iter().enumerate() {
            let split: Pattern = name.parse().unwrap();
            assert_eq!((split.large(), split.goal(), split.way(), split.to_string()), (6, 9, above, name.into()));
            assert_eq!((split.block().count_ones(), split.ways().nth(above)), (6, Some(split)));
            assert_eq!((0..16).filter(|&cell| split.is_large(cell)).map(|cell| split.home(cell)).sum::<usize>(), 20);
        }
        let five: Pattern = "5t1-512".parse().unwrap();
        assert_eq!((five.large(), five.way(), five.to_string(), five.block()), (5, 1, "5t1-512".into(), 0b1011_0011));
        assert_eq!(five.states(), 9 * 8u64.pow(6) * 7u64.pow(3) * 6);
        for wrong in [
            "6t3-512", "5t2-512", "6t-2048", "", "5w-512", "w-512", "6", "6-100", "4-128", "7-64", "6-4096", "5-32",
            "x-64", "6-128-1",
        ] {
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
        assert_eq!(wide.goals().len(), 4);
        let split: Pattern = "6t-512".parse().unwrap();
        assert!(is_goal(split, 0x0000_0000_0800_0800) && is_goal(split, 0x0000_8800_0000_0000));
        assert!(!is_goal(split, 0x0000_0880_0000_0000), "not beside the last large tile");
        let slid: Pattern = "6t1-512".parse().unwrap();
        assert!(is_goal(slid, 0x0000_0880_0000_0000) && !is_goal(slid, 0x0000_0000_0800_0800));
        let [apart, down]: [Pattern; 2] = ["5t-512", "5t1-512"].map(|name| name.parse().unwrap());
        assert!(is_goal(apart, 0x0000_0000_8700_0700) && is_goal(apart, 0x0000_7700_8000_0000));
        assert!(!is_goal(apart, 0x0000_0000_7800_0700) && is_goal(down, 0x0000_8770_0000_0000));
        assert_eq!((apart.goals().len(), down.goals().len()), (3, 2));
        // All of them can be stored.
        for pattern in [six, five, wide, split, slid, apart, down, "5-64".parse().unwrap(), "6-64".parse().unwrap()] {
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
        let split: Pattern = "6t-512".parse().unwrap();
        assert!(split.is_block(0x0000_0000_90cb_a0ed) && !split.is_block(0x0000_0000_a0cb_90ed));
        assert!("6t2-512".parse::<Pattern>().unwrap().is_block(0x9000_a000_00cb_00ed));
        assert!("5t-512".parse::<Pattern>().unwrap().is_block(0x0000_0000_00cb_a0ed));
    }

    /// The two at the edge may slide; nothing else may move.
    #[test]
    fn moves_lead_from_one_way_to_another() {
        let [split, slid]: [Pattern; 2] = ["6t-512", "6t2-512"].map(|name| name.parse().unwrap());
        let (board, down) = (0x0000_0000_90cb_a0ed, 0x9000_a000_00cb_00ed);
        let index = |pattern: Pattern, board: u64| pattern.index(board).unwrap();
        assert_eq!(split.after(board, down | 1 << 32), Some((slid, index(slid, down | 1 << 32))));
        assert_eq!(slid.after(down, board), Some((split, index(split, board))));
        assert_eq!(split.after(board, board), Some((split, index(split, board))));
        assert_eq!(split.after(board, 0xa000_9000_00cb_00ed), None, "in another order");
        assert_eq!(split.after(board, 0x00cb_00ed_9000_a000), None, "all of them");
        assert_eq!(split.after(board, board | 9 << 60), None, "too large");
        let [five, down]: [Pattern; 2] = ["5t-512", "5t1-512"].map(|name| name.parse().unwrap());
        assert_eq!(five.after(0x00cb_a0ed, 0xa0cb_00ed | 1 << 32), Some((down, index(down, 1 << 32))));
        assert_eq!(five.after(0x00cb_a0ed, 0xa000_00cb_00ed), None, "too far");
        let six: Pattern = "6-512".parse().unwrap();
        assert_eq!(six.after(0x09bc_0ade, 0x09bc_0ade), Some((six, 0)));
        assert_eq!(six.after(0x09bc_0ade, 0x9bc0_ade0), None);
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
