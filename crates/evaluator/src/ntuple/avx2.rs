//! The indices of all symmetries at once, four in a register. [`super::Layout::image_indices`] is the twin of this.

use std::arch::x86_64::*;

use super::layout::Table;

/// The four images of one orientation: as it is, each row mirrored, the rows in reverse order, both.
#[target_feature(enable = "avx2")]
#[inline]
fn images(nibbles: u64) -> __m256i {
    let board = _mm256_set1_epi64x(nibbles.cast_signed());
    let low = _mm256_set1_epi8(0x0f);
    let swapped = _mm256_or_si256(
        _mm256_slli_epi16::<4>(_mm256_and_si256(board, low)),
        _mm256_and_si256(_mm256_srli_epi16::<4>(board), low),
    );
    // With the nibbles of each byte swapped, mirroring a row is a swap of its two bytes.
    let chosen = _mm256_blend_epi32::<0b1100_1100>(board, swapped);
    let order = _mm256_setr_epi8(
        0, 1, 2, 3, 4, 5, 6, 7, // as it is
        9, 8, 11, 10, 13, 12, 15, 14, // rows mirrored
        6, 7, 4, 5, 2, 3, 0, 1, // rows in reverse order
        15, 14, 13, 12, 11, 10, 9, 8, // both
    );
    _mm256_shuffle_epi8(chosen, order)
}

/// What a 4x4 board looks up, given its nibbles and those of its transpose; `base` is where its stage begins.
#[target_feature(enable = "avx2")]
#[inline]
pub(super) fn indices(tables: &[Table], nibbles: u64, transposed: u64, base: u32, indices: &mut [u32]) {
    let (upright, lying) = (images(nibbles), images(transposed));
    let base = _mm256_set1_epi32(base.cast_signed());
    for (table, slots) in tables.iter().zip(indices.as_chunks_mut::<8>().0) {
        let part = |shift: u32, mask: u64| {
            let (shift, mask) = (_mm_cvtsi32_si128(shift.cast_signed()), _mm256_set1_epi64x(mask.cast_signed()));
            let of = |images| _mm256_and_si256(_mm256_srl_epi64(images, shift), mask);
            (of(upright), of(lying))
        };
        let [one, two] = table.first;
        let ((a, b), (c, d)) = (part(one.shift, one.mask), part(two.shift, two.mask));
        let (mut first, mut second) = (_mm256_or_si256(a, c), _mm256_or_si256(b, d));
        for run in &table.others {
            let (a, b) = part(run.shift, run.mask);
            (first, second) = (_mm256_or_si256(first, a), _mm256_or_si256(second, b));
        }
        let halves = _mm256_shuffle_ps::<0b10_00_10_00>(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second));
        let ordered = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_castps_si256(halves));
        let offset = _mm256_add_epi32(base, _mm256_set1_epi32(table.offset.cast_signed()));
        // SAFETY: the eight slots are 32 bytes, and the store needs no alignment.
        unsafe { _mm256_storeu_si256(slots.as_mut_ptr().cast(), _mm256_add_epi32(ordered, offset)) };
    }
}
