//! Tile-downgrading (Guei 2023): a rare huge tile is shown to the network as a smaller one it knows well.
//!
//! If some tile value below the largest is missing, every tile above the largest missing value can be halved without changing
//! which tiles merge next: the board then looks like one that the network met far more often.

use afterstate_board::Position;

/// The board with its largest tiles halved, if it has a tile of this exponent or more and a gap below it. Training has seen enough of
/// the others.
pub(super) fn downgrade<P: Position>(board: &P, least: u8) -> Option<P> {
    let largest = board.max_exponent();
    if largest < least {
        return None;
    }
    let present = (0..P::CELLS).fold(0u32, |set, cell| set | 1 << board.exponent(cell));
    let gap = (1..largest).rev().find(|&e| present >> e & 1 == 0)?;
    let halve = |lesser: P, cell: usize| {
        let exponent = lesser.exponent(cell);
        if exponent > gap { lesser.with_exponent(cell, exponent - 1) } else { lesser }
    };
    Some((0..P::CELLS).fold(*board, halve))
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::board;

    #[test]
    fn tiles_above_the_gap_are_halved() {
        let huge = board!(32768 16384 4096 2048 / 2 4 8 16 / 0 0 0 0 / 0 0 0 2);
        assert_eq!(downgrade(&huge, 15), Some(board!(16384 8192 4096 2048 / 2 4 8 16 / 0 0 0 0 / 0 0 0 2)));
        let low = board!(16384 4096 2 4 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0);
        assert_eq!(downgrade(&low, 15), None);
        assert_eq!(downgrade(&low, 14), Some(board!(8192 4096 2 4 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0)));
        let full = board!(32768 16384 8192 4096 / 256 512 1024 2048 / 128 64 32 16 / 2 4 8 2);
        assert_eq!(downgrade(&full, 15), None);
    }
}
