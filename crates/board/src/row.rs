//! One row of four nibbles slid both ways, for all 65,536 rows, worked out at compile time.

/// What sliding a row does.
///
/// A row in which two 32768s merge has no nibble result: it counts [`OVERFLOW`] points / 4 or more and its results are void.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
pub(crate) struct Row {
    /// The row slid left in the low half, slid right in the high half.
    pub results: u32,
    /// Points / 4 (the same both ways), plus [`LEFT_LEGAL`] and [`RIGHT_LEGAL`]. The tallies of four rows may be added up.
    pub tally: u32,
}

pub(crate) static ROWS: [Row; 1 << 16] = all_rows();

/// The part of a sum of four tallies that is points / 4.
pub(crate) const POINTS: u32 = (1 << 20) - 1;
/// The least points / 4 of a row whose result a nibble cannot hold. (Two merges of 16384s reach it too and are not void.)
pub(crate) const OVERFLOW: u32 = (1 << 16) / 4;
/// Sliding left changes the row.
const LEFT_LEGAL: u32 = 1 << 20;
/// Sliding right changes the row.
const RIGHT_LEGAL: u32 = 1 << 24;

/// Bit 0: some row of the summed tallies slides left; bit 1: some row slides right.
#[inline(always)]
pub(crate) const fn legal_bits(tallies: u32) -> u8 {
    // Up to four rows count into each three-bit field; adding 7 carries into its fourth bit if any did.
    let carried = (tallies & !POINTS) + 7 * (LEFT_LEGAL | RIGHT_LEGAL);
    (carried >> 23 & 1 | carried >> 26 & 2) as u8
}

/// Slides a row of nibbles towards the low end: (row, points / 4).
const fn slide_low(row: u16) -> (u16, u16) {
    let (mut result, mut filled, mut last, mut points) = (0u16, 0, 0, 0u16);
    let mut rest = row;
    while rest != 0 {
        let tile = rest & 15;
        rest >>= 4;
        if tile == 0 {
            continue;
        }
        if tile == last {
            // The tile above the last one filled; 15 + 1 overflows into a neighbour, which the points give away.
            result = result.wrapping_add(1 << (4 * (filled - 1)));
            points += 1 << (tile - 1);
            last = 0;
        } else {
            result |= tile << (4 * filled);
            filled += 1;
            last = tile;
        }
    }
    (result, points)
}

/// The four nibbles in reverse order.
const fn reverse(row: u16) -> u16 {
    row << 12 | (row & 0x00f0) << 4 | (row & 0x0f00) >> 4 | row >> 12
}

#[allow(long_running_const_eval, reason = "65,536 short loops, once a build")]
const fn all_rows() -> [Row; 1 << 16] {
    let mut rows = [Row { results: 0, tally: 0 }; 1 << 16];
    let mut i = 0;
    while i < 1 << 16 {
        let row = i as u16;
        let (left, points) = slide_low(row);
        let right = reverse(slide_low(reverse(row)).0);
        let flags = ((left != row) as u32 * LEFT_LEGAL) | ((right != row) as u32 * RIGHT_LEGAL);
        rows[i] = Row { results: left as u32 | (right as u32) << 16, tally: points as u32 | flags };
        i += 1;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::slide_line;

    /// Every row against the plain rule, both ways.
    #[test]
    fn all_rows_agree_with_the_plain_rule() {
        for row in 0..=u16::MAX {
            let entry = ROWS[usize::from(row)];
            let cells: [u8; 4] = std::array::from_fn(|i| (row >> (4 * i) & 15) as u8);
            let mut low = cells;
            let points = slide_line(&mut low);
            let mut high = cells;
            high.reverse();
            assert_eq!(slide_line(&mut high), points, "{cells:?}");
            high.reverse();

            assert_eq!((entry.tally & POINTS) * 4, points, "{cells:?}");
            let legal = u8::from(low != cells) | u8::from(high != cells) << 1;
            assert_eq!(legal_bits(entry.tally), legal, "{cells:?}");
            assert_eq!(legal_bits(4 * (entry.tally & !POINTS)), legal, "{cells:?}");
            let nibbles = |cells: [u8; 4]| cells.iter().rev().fold(0, |row, &e| row << 4 | u32::from(e));
            if low.iter().chain(&high).any(|&e| e > 15) {
                assert!(points / 4 >= OVERFLOW, "{cells:?} must be known to overflow");
            } else {
                assert_eq!(entry.results, nibbles(low) | nibbles(high) << 16, "{cells:?}");
            }
        }
    }
}
