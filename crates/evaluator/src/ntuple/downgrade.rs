//! Tile-downgrading (Guei 2023): a rare huge tile is shown to the network as a smaller one it knows well.
//!
//! If some tile value below the largest is missing, every tile above the largest missing value can be halved without changing
//! which tiles merge next: the board then looks like one that the network met far more often.

use afterstate_board::Position;

/// Which boards are shown with smaller tiles: those with a tile of this exponent or more. Training has seen enough of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Downgrade(u8);

impl Downgrade {
    /// All boards are shown as they are.
    pub const NEVER: Self = Self(31);

    /// Boards with this tile or a larger one; 0 for none.
    pub fn from_tile(tile: u64) -> Self {
        if tile == 0 { Self::NEVER } else { Self(tile.next_power_of_two().trailing_zeros() as u8) }
    }

    /// The board as the network sees it: its largest tiles halved, again and again, while it has a large one and a gap below it.
    #[inline(always)]
    pub fn view<P: Position>(self, board: &P) -> P {
        if self == Self::NEVER || board.max_exponent() < self.0 { *board } else { self.lessen(*board) }
    }

    fn lessen<P: Position>(self, mut board: P) -> P {
        let mut present = (0..P::CELLS).fold(0u32, |set, cell| set | 1 << board.exponent(cell));
        while present >> self.0 != 0 {
            let gap = (1..present.ilog2()).rev().find(|e| present >> e & 1 == 0);
            let Some(gap) = gap else { break };
            for cell in 0..P::CELLS {
                let exponent = board.exponent(cell);
                if u32::from(exponent) > gap {
                    board = board.with_exponent(cell, exponent - 1);
                }
            }
            let below = (1 << gap) - 1;
            present = present & below | (present & !below) >> 1;
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
}
