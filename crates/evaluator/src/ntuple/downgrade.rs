//! Tile-downgrading (Guei 2023): a rare huge tile is shown to the network as a smaller one it knows well.
//!
//! If some tile value below the largest is missing, every tile above the largest missing value can be halved without changing
//! which tiles merge next: the board then looks like one that the network met far more often.

use afterstate_board::Position;

/// Which boards are shown with smaller tiles: those with a tile of this exponent or more. Training has seen enough of the others.
///
/// Boards of one search are shown alike, as the position is that it begins at. Seen by itself, a board whose gap has been filled looks no
/// further along than before, and the same board without the last merge looks as if more than that were about to merge: who
/// compares the two never fills the gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Downgrade {
    least: u8,
    /// The gaps above which the tiles of the position were halved, one after the other, in five bits each from the lowest on.
    gaps: u128,
}

/// Room for so many gaps: each halves the largest tile.
const GAPS: u32 = 25;

impl Downgrade {
    /// All boards are shown as they are.
    pub const NEVER: Self = Self { least: 31, gaps: 0 };

    /// Boards with this tile or a larger one; 0 for none.
    pub fn from_tile(tile: u64) -> Self {
        if tile == 0 { Self::NEVER } else { Self { least: tile.next_power_of_two().trailing_zeros() as u8, gaps: 0 } }
    }

    /// The same for boards that come up in a search from this position.
    #[must_use]
    pub fn looking_from<P: Position>(self, root: &P) -> Self {
        let mut gaps = 0;
        if self != Self::NEVER && root.max_exponent() >= self.least {
            self.lessen(*root, |nth, gap| gaps |= u128::from(gap) << (5 * nth));
        }
        Self { gaps, ..self }
    }

    /// The board as the network sees it: its largest tiles halved, as those of the position were, and then again and again while it has a
    /// large one and a gap below it.
    #[inline(always)]
    pub fn view<P: Position>(self, board: &P) -> P {
        if self == Self::NEVER || board.max_exponent() < self.least { *board } else { self.lessened(*board) }
    }

    /// What was missing in the position that the search begins at, one after the other as its tiles are halved.
    pub fn gaps(self) -> impl Iterator<Item = u8> {
        let nth = move |nth: u32| (self.gaps >> (5 * nth) & 31) as u8;
        (0..GAPS).map(nth).take_while(|&gap| gap != 0)
    }

    /// Is a tile there that was missing in the position that the search begins at? Or one that is large even if its tiles are halved as those were?
    pub fn is_filled<P: Position>(self, board: &P) -> bool {
        let mut board = *board;
        for gap in self.gaps() {
            if board.exponents_present() >> gap & 1 == 1 {
                return true;
            }
            board = board.halved_above(gap);
        }
        board.max_exponent() >= self.least
    }

    #[inline(never)]
    fn lessened<P: Position>(self, mut board: P) -> P {
        self.gaps().for_each(|gap| board = board.halved_above(gap));
        self.lessen(board, |_, _| ())
    }

    /// Halves what is above the highest gap while there is a large tile and a gap; `each` hears of the gaps.
    #[inline(always)]
    fn lessen<P: Position>(self, mut board: P, mut each: impl FnMut(u32, u32)) -> P {
        if board.max_exponent() < self.least {
            return board;
        }
        // Bit 0 stands for empty cells, and is set so that it is no gap.
        let mut present = board.exponents_present() | 1;
        let mut nth = 0;
        while present >> self.least != 0 {
            let missing = !present & ((1 << present.ilog2()) - 1);
            if missing == 0 {
                break;
            }
            let gap = missing.ilog2();
            board = board.halved_above(gap as u8);
            let below = (1 << gap) - 1;
            present = present & below | (present & !below) >> 1;
            each(nth, gap);
            nth += 1;
        }
        board
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::board;

    #[test]
    fn tiles_above_the_gap_are_halved() {
        let huge = board!(32768 16384 4096 2048 / 2 4 8 16 / 0 0 0 0 / 0 0 0 2);
        let from = |tile| Downgrade::from_tile(tile);
        assert_eq!(from(32768).view(&huge), board!(16384 8192 4096 2048 / 2 4 8 16 / 0 0 0 0 / 0 0 0 2));
        assert_eq!(from(0).view(&huge), huge);
        assert_eq!(from(16384).view(&huge), board!(8192 4096 2048 1024 / 2 4 8 16 / 0 0 0 0 / 0 0 0 2));
        assert_eq!(from(2048).view(&huge), board!(1024 512 256 128 / 2 4 8 16 / 0 0 0 0 / 0 0 0 2));
        assert_eq!(from(128).view(&huge), board!(256 128 64 32 / 2 4 8 16 / 0 0 0 0 / 0 0 0 2));
        let low = board!(16384 4096 2 4 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0);
        assert_eq!(from(32768).view(&low), low);
        assert_eq!(from(16384).view(&low), board!(8192 4096 2 4 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0));
        let full = board!(32768 16384 8192 4096 / 256 512 1024 2048 / 128 64 32 16 / 2 4 8 2);
        assert_eq!(from(32768).view(&full), full);
    }

    /// 128 is missing at the root. To make one shows a second tile like the former 256, and is not taken back by what else is missing then.
    #[test]
    fn boards_of_one_search_are_seen_alike() {
        let root = board!(16384 8192 4096 2048 / 1024 512 256 64 / 64 2 0 0 / 0 0 0 0);
        let from = Downgrade::from_tile(16384);
        let focused = from.looking_from(&root);
        assert_eq!(focused.view(&root), from.view(&root));
        assert!(focused.gaps().eq([7]) && from.gaps().count() == 0);
        assert!(!focused.is_filled(&root) && from.is_filled(&root), "seen by itself, it has a large tile");
        let made = board!(16384 8192 4096 2048 / 1024 512 256 128 / 2 0 0 0 / 0 0 0 2);
        assert_eq!(focused.view(&made), board!(8192 4096 2048 1024 / 512 256 128 128 / 2 0 0 0 / 0 0 0 2));
        assert_eq!(from.view(&made), board!(8192 4096 2048 1024 / 512 256 128 64 / 2 0 0 0 / 0 0 0 2));
        assert!(focused.is_filled(&made));
        let merged = board!(32768 4096 2048 1024 / 512 256 64 64 / 2 0 0 0 / 0 0 0 2);
        assert!(focused.is_filled(&merged), "larger than what is halved to below a large one");
        // What is still too large afterwards is halved by its own gaps.
        let larger = board!(32768 2 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 2);
        assert_eq!(focused.view(&larger), board!(8192 2 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 2));
        // Without a large tile at the root boards are seen by themselves.
        let early = from.looking_from(&board!(8192 8192 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 2 2));
        assert_eq!((early, Downgrade::NEVER.looking_from(&root)), (from, Downgrade::NEVER));
        let far = board!(131072 2 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0);
        for from in [from, Downgrade::from_tile(2)] {
            assert_eq!(from.looking_from(&far).view(&far), from.view(&far));
        }
    }
}
