//! The random numbers of the laboratory: one fast generator whose streams are the same on every machine.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// xoshiro256++ behind the few methods that games need.
///
/// ```
/// use afterstate_board::Rng;
/// let mut a = Rng::stream(7, 3, 0);
/// let mut b = Rng::stream(7, 3, 0);
/// assert_eq!(a.next_u64(), b.next_u64());
/// assert_ne!(Rng::stream(7, 3, 1).next_u64(), Rng::stream(7, 3, 0).next_u64());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(Xoshiro256PlusPlus);

/// One round of the SplitMix64 finaliser: a bijection that scatters close numbers.
const fn scatter(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Rng {
    /// A generator for that seed.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// The generator of one purpose within one game of one seed: streams do not depend on who asks, or when.
    pub fn stream(seed: u64, game: u64, purpose: u64) -> Self {
        Self::new(scatter(scatter(scatter(seed) ^ game) ^ purpose))
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// The next 32 random bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// A whole number from 0 to `n - 1`, by multiply and shift (bias below `n / 2^32`); 0 for `n = 0`.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.next_u32()) * u64::from(n)) >> 32) as u32
    }

    /// A number from the half-open unit interval with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The streams are part of the record format: a change here makes old seeds name other games.
    #[test]
    fn streams_never_change() {
        let mut rng = Rng::stream(1, 2, 3);
        let first: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        assert_eq!(first, [5_298_041_080_994_355_231, 17_864_264_540_299_904_093, 12_163_302_920_390_429_877]);
    }

    #[test]
    fn below_is_in_range_and_uniform() {
        let mut rng = Rng::new(5);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[rng.below(7) as usize] += 1;
        }
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi2 < 22.5, "chi-square {chi2} with 6 degrees of freedom"); // P < 0.001
    }
}
