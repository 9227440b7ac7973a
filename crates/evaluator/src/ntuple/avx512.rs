//! What a board looks up, the indices of its eight images in one register, and the sum of it, which gathers fetch by eights.
//! [`super::Layout::plain_indices`] is the twin of the one, [`super::sum`] over it that of the other.

use std::arch::x86_64::*;
use std::sync::atomic::AtomicU32;

use super::layout::Table;

/// Does the processor have what is used here?
pub(super) fn is_there() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")
}

/// Is this a processor that gathers faster than it loads one by one? Those of AMD do it by microcode, which has not been
/// measured here.
pub(super) fn gathers_well() -> bool {
    let leaf = __cpuid(0);
    let is_intel = [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes).as_flattened() == b"GenuineIntel";
    is_intel && is_there()
}

/// All images of a 4x4 board, in the order of `Symmetry::ALL`.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn images(nibbles: u64, transposed: u64) -> __m512i {
    let upright = _mm512_set1_epi64(nibbles.cast_signed());
    let board = _mm512_mask_set1_epi64(upright, 0b1111_0000, transposed.cast_signed());
    let low = _mm512_set1_epi8(0x0f);
    let swapped = _mm512_or_si512(
        _mm512_slli_epi16::<4>(_mm512_and_si512(board, low)),
        _mm512_and_si512(_mm512_srli_epi16::<4>(board), low),
    );
    // With the nibbles of each byte swapped, mirroring a row is a swap of its two bytes.
    let chosen = _mm512_mask_mov_epi64(board, 0b1010_1010, swapped);
    let order = _mm512_broadcast_i64x4(_mm256_setr_epi8(
        0, 1, 2, 3, 4, 5, 6, 7, // as it is
        9, 8, 11, 10, 13, 12, 15, 14, // rows mirrored
        6, 7, 4, 5, 2, 3, 0, 1, // rows in reverse order
        15, 14, 13, 12, 11, 10, 9, 8, // both
    ));
    _mm512_shuffle_epi8(chosen, order)
}

/// Where each image looks up a table.
#[target_feature(enable = "avx512f")]
#[inline]
fn places(table: &Table, images: __m512i) -> __m512i {
    let part = |shift: u32, mask: u64| {
        let shift = _mm_cvtsi32_si128(shift.cast_signed());
        _mm512_and_si512(_mm512_srl_epi64(images, shift), _mm512_set1_epi64(mask.cast_signed()))
    };
    let [one, two] = table.first;
    let mut index = _mm512_or_si512(part(one.shift, one.mask), part(two.shift, two.mask));
    for run in &table.others {
        index = _mm512_or_si512(index, part(run.shift, run.mask));
    }
    index
}

/// What a 4x4 board looks up, given its nibbles and those of its transpose; `base` is where its stage begins.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
pub(super) fn indices(tables: &[Table], nibbles: u64, transposed: u64, base: u32, indices: &mut [u32]) {
    let images = images(nibbles, transposed);
    for (table, slots) in tables.iter().zip(indices.as_chunks_mut::<8>().0) {
        let begins = _mm256_set1_epi32((base + table.offset).cast_signed());
        let eight = _mm256_add_epi32(_mm512_cvtepi64_epi32(places(table, images)), begins);
        // SAFETY: the eight slots are 32 bytes, and the store needs no alignment.
        unsafe { _mm256_storeu_si256(slots.as_mut_ptr().cast(), eight) };
    }
}

/// The sum of what a 4x4 board looks up, given its nibbles and those of its transpose; `base` is where its stage begins.
///
/// # Safety
///
/// There must be as many weights as the tables look up, from `base` on.
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) unsafe fn sum(tables: &[Table], nibbles: u64, transposed: u64, base: usize, weights: &[AtomicU32]) -> u32 {
    let images = images(nibbles, transposed);
    let mut sum = _mm256_setzero_si256();
    for table in tables {
        let index = places(table, images);
        // SAFETY: the caller promises that the weights are there. Other threads may write to them: each is an aligned word that an
        // instruction reads whole, as the loads of the twin do, and the compiler knows nothing of what it reads.
        let eight = unsafe {
            let table = weights.as_ptr().add(base + table.offset as usize);
            _mm512_i64gather_epi32::<4>(index, table.cast())
        };
        sum = _mm256_add_epi32(sum, eight);
    }
    across(sum)
}

/// The sum of all eight.
#[target_feature(enable = "avx512f")]
#[inline]
fn across(eight: __m256i) -> u32 {
    let four = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256::<1>(eight));
    let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
    let one = _mm_add_epi32(two, _mm_shuffle_epi32::<0b10_11_00_01>(two));
    _mm_cvtsi128_si32(one).cast_unsigned()
}
