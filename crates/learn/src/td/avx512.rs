//! Corrections of temporal coherence, eight weights at a time. [`super::lane::Tables::correct_coherently`] is the twin of this.

use std::arch::x86_64::*;
use std::sync::atomic::AtomicU32;

/// Corrects eight weights if they are eight different ones; if not, nothing is done, since each must see what the one before it did.
///
/// # Safety
///
/// Every index must be below the number of weights, and of pairs of sums.
#[target_feature(enable = "avx512f,avx512vl")]
#[inline]
pub(super) unsafe fn correct(
    weights: &[AtomicU32],
    coherence: &[[AtomicU32; 2]],
    indices: &[u32; 8],
    error: f32,
    change: f32,
    dither: f32,
) -> bool {
    // SAFETY: there are eight words to read.
    let narrow = unsafe { _mm256_loadu_si256(indices.as_ptr().cast()) };
    let [one, two, three, four] = [
        _mm256_alignr_epi32::<1>(narrow, narrow),
        _mm256_alignr_epi32::<2>(narrow, narrow),
        _mm256_alignr_epi32::<3>(narrow, narrow),
        _mm256_alignr_epi32::<4>(narrow, narrow),
    ]
    .map(|turned| _mm256_cmpeq_epi32_mask(narrow, turned));
    if one | two | three | four != 0 {
        return false;
    }
    let index = _mm512_cvtepu32_epi64(narrow);
    // SAFETY: the caller promises the indices. Other threads may read and write the same words: each is aligned and read and written
    // whole, as the loads and stores of the twin do, and a correction that is lost does no harm.
    let (weight, sums) = unsafe {
        let weight = _mm512_i64gather_epi32::<4>(index, weights.as_ptr().cast());
        (weight, _mm512_i64gather_epi64::<8>(index, coherence.as_ptr().cast()))
    };
    let sum = _mm256_castsi256_ps(_mm512_cvtepi64_epi32(sums));
    let size = _mm256_castsi256_ps(_mm512_cvtepi64_epi32(_mm512_srli_epi64::<32>(sums)));
    let unsigned = _mm256_castsi256_ps(_mm256_set1_epi32(i32::MAX));
    let rate = _mm256_div_ps(_mm256_and_ps(sum, unsigned), size);
    let fresh = _mm256_cmp_ps_mask::<_CMP_EQ_OQ>(size, _mm256_setzero_ps());
    let rate = _mm256_mask_mov_ps(rate, fresh, _mm256_set1_ps(1.0));
    let step = _mm256_add_ps(_mm256_mul_ps(_mm256_set1_ps(change), rate), _mm256_set1_ps(dither));
    let weight = _mm256_add_epi32(weight, _mm256_cvtps_epi32(step));
    let sum = _mm256_add_ps(sum, _mm256_set1_ps(error));
    let size = _mm256_add_ps(size, _mm256_set1_ps(error.abs()));
    let wide = |half: __m256| _mm512_cvtepu32_epi64(_mm256_castps_si256(half));
    let sums = _mm512_or_si512(wide(sum), _mm512_slli_epi64::<32>(wide(size)));
    // SAFETY: as above.
    unsafe {
        _mm512_i64scatter_epi32::<4>(weights.as_ptr().cast_mut().cast(), index, weight);
        _mm512_i64scatter_epi64::<8>(coherence.as_ptr().cast_mut().cast(), index, sums);
    }
    true
}
