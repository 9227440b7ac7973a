//! Shifting the block and moving back: what is left to do where no move stays within the pattern.

use afterstate_board::{Board, Direction, Position, Spawn};

use super::Pattern;

/// The block as tiles that no line holds twice, larger than any that a pattern leaves free.
const BLOCK: u64 = 0x0000_0000_0cde_0def;

/// The moves that can shift the block.
pub const SHIFTS: [Direction; 2] = [Direction::Right, Direction::Down];

/// The failure of shifting the block by a move and moving back at once: the spawn in between must not take its place. `None` if the
/// move does not shift it. The board is given as nibbles, those of the block are not looked at; `failure` is that of an afterstate by
/// its index.
pub fn failure_of_shift(pattern: Pattern, nibbles: u64, shift: Direction, failure: impl Fn(u64) -> f32) -> Option<f32> {
    let cells = pattern.block_nibbles();
    let board = Board::from_nibbles(nibbles & !cells | BLOCK & cells);
    let shifted = board.slide(shift)?.after;
    if (shifted.board().nibbles() ^ board.nibbles()) & cells == 0 {
        return None;
    }
    let back = |spawn: Spawn| {
        let back = shifted.place(spawn).slide(shift.opposite())?.after.board().nibbles();
        let stands = (back ^ board.nibbles()) & cells == 0;
        pattern.index(back).filter(|_| stands).map(&failure)
    };
    let mean = |exponent: u8| {
        let empty = (0..16).filter(|&cell| shifted.board().exponent(cell) == 0);
        let sum: f32 = empty.map(|cell| back(Spawn { cell: cell as u8, exponent }).unwrap_or(1.0)).sum();
        sum / shifted.empty_count() as f32
    };
    Some(0.9 * mean(1) + 0.1 * mean(2))
}
