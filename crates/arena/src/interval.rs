//! How far off may a number be? 95% intervals for rates and means, the same to the bit on every run.

use afterstate_board::Rng;

use crate::stream;

/// The two-sided 95% point of the normal distribution.
pub const Z95: f64 = 1.959_963_984_540_054;

/// Up to this many values a mean is resampled; beyond, the normal approximation is as good and far cheaper.
pub const BOOTSTRAP_LIMIT: usize = 20_000;

/// How often values are resampled.
pub const RESAMPLES: usize = 4_000;

/// Wilson's score interval for `hits` of `n`: sound for rates near 0 and 1, and for a single try.
///
/// ```
/// let [low, high] = afterstate_arena::interval::wilson(0, 10);
/// assert!(low == 0.0 && (high - 0.2775).abs() < 1e-4);
/// ```
pub fn wilson(hits: u64, n: u64) -> [f64; 2] {
    if n == 0 {
        return [0.0, 1.0];
    }
    let (hits, n) = (hits.min(n) as f64, n as f64);
    let (rate, z2) = (hits / n, Z95 * Z95);
    let centre = (rate + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let reach = Z95 / (1.0 + z2 / n) * (rate * (1.0 - rate) / n + z2 / (4.0 * n * n)).sqrt();
    // At the ends the bound is exactly 0 or 1, which rounding may miss.
    let low = if hits == 0.0 { 0.0 } else { (centre - reach).max(0.0) };
    let high = if hits == n { 1.0 } else { (centre + reach).min(1.0) };
    [low, high]
}

/// Mean and spread of whole numbers, from exact sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// The mean; 0 of no values.
    pub mean: f64,
    /// The standard deviation of a sample; 0 of fewer than two values.
    pub sd: f64,
}

impl Moments {
    /// Mean and spread of the values.
    pub fn of(values: &[i64]) -> Self {
        if values.is_empty() {
            return Self { mean: 0.0, sd: 0.0 };
        }
        let n = values.len() as i128;
        let sum: i128 = values.iter().map(|&v| i128::from(v)).sum();
        // Squares of distances from a whole number near the mean: small enough to add up exactly.
        let centre = sum / n;
        let squares: i128 = values.iter().map(|&v| (i128::from(v) - centre).pow(2)).sum();
        let rest = (sum - centre * n) as f64;
        let variance = (squares as f64 - rest * rest / n as f64) / (n - 1).max(1) as f64;
        Self { mean: sum as f64 / n as f64, sd: variance.max(0.0).sqrt() }
    }
}

/// The 95% interval of a mean; `None` for fewer than two values, which say nothing about their spread.
///
/// Up to [`BOOTSTRAP_LIMIT`] values it is the bootstrap percentile interval with fixed random numbers, its tails widened for
/// small samples as Student's t asks (the "expanded percentile interval" of Hesterberg, "What Teachers Should Know About the
/// Bootstrap", 2015); beyond, mean and normal quantile.
pub fn mean_interval(values: &[i64]) -> Option<[f64; 2]> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    if n > BOOTSTRAP_LIMIT {
        let Moments { mean, sd } = Moments::of(values);
        let reach = Z95 * sd / (n as f64).sqrt();
        return Some([mean - reach, mean + reach]);
    }
    let mut sums = resampled_sums(values);
    sums.sort_unstable();
    let z = student95(n - 1) * (n as f64 / (n - 1) as f64).sqrt();
    let below = (normal_tail(z) * RESAMPLES as f64) as usize;
    Some([sums[below] as f64 / n as f64, sums[RESAMPLES - 1 - below] as f64 / n as f64])
}

/// The sums of [`RESAMPLES`] samples of the same size, drawn with replacement.
fn resampled_sums(values: &[i64]) -> Vec<i64> {
    let mut rng = Rng::stream(0, 0, stream::BOOTSTRAP);
    let n = values.len() as u32;
    (0..RESAMPLES).map(|_| (0..n).map(|_| values[rng.below(n) as usize]).sum()).collect()
}

/// How likely differences at least this far from 0 on average are if only chance decided who of each pair was better.
///
/// Flips the sign of each difference at random (the exact idea for any sample size, so that two games prove nothing); beyond
/// [`BOOTSTRAP_LIMIT`] values the normal approximation.
pub fn sign_flip_p(differences: &[i64]) -> f64 {
    let n = differences.len();
    if n > BOOTSTRAP_LIMIT {
        let Moments { mean, sd } = Moments::of(differences);
        let z = if sd > 0.0 { mean.abs() * (n as f64).sqrt() / sd } else { 0.0 };
        return if mean != 0.0 && sd == 0.0 { 0.0 } else { 2.0 * normal_tail(z) };
    }
    let observed = differences.iter().sum::<i64>().abs();
    let mut rng = Rng::stream(0, 1, stream::BOOTSTRAP);
    let mut flipped_sum = || {
        let flip = |chunk: &[i64]| {
            let signs = rng.next_u64();
            chunk.iter().enumerate().map(|(i, &d)| d * (1 - 2 * (signs >> i & 1) as i64)).sum::<i64>()
        };
        differences.chunks(64).map(flip).sum::<i64>()
    };
    let as_far = (0..RESAMPLES).filter(|_| flipped_sum().abs() >= observed).count();
    (1 + as_far) as f64 / (1 + RESAMPLES) as f64
}

/// Two-sided sign test: how likely is a split at least this uneven if each were as likely to win?
pub fn sign_test_p(wins: u64, losses: u64) -> f64 {
    let (n, fewer) = (wins + losses, wins.min(losses));
    if n > 1_000 {
        let z = ((n as f64 / 2.0 - fewer as f64 - 0.5) / (n as f64 / 4.0).sqrt()).max(0.0);
        return 2.0 * normal_tail(z);
    }
    let mut term = 0.5f64.powi(n as i32);
    let mut tail = 0.0;
    for k in 0..=fewer {
        tail += term;
        term *= (n - k) as f64 / (k + 1) as f64;
    }
    (2.0 * tail).min(1.0)
}

/// The chance that a standard normal number exceeds `z >= 0`.
pub fn normal_tail(z: f64) -> f64 {
    let density = (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    if z < 3.0 {
        // The power series of the area from 0 to z: z + z^3/3 + z^5/15 + ...
        let (mut term, mut area, mut odd) = (z, z, 3.0);
        while term > 1e-18 * area {
            term *= z * z / odd;
            area += term;
            odd += 2.0;
        }
        return 0.5 - density * area;
    }
    // Laplace's continued fraction: density / (z + 1/(z + 2/(z + ...))).
    let fraction = (1..=60).rev().fold(z, |below, k| z + f64::from(k) / below);
    density / fraction
}

/// The two-sided 95% point of Student's t: Fisher's expansion about the normal one. Far too small for one or two degrees of
/// freedom, where the true value too lies beyond all resamples.
fn student95(freedom: usize) -> f64 {
    let (z, v) = (Z95, freedom as f64);
    let z2 = z * z;
    let first = z * (z2 + 1.0) / 4.0;
    let second = z * (5.0 * z2 * z2 + 16.0 * z2 + 3.0) / 96.0;
    let third = z * (3.0 * z2.powi(3) + 19.0 * z2 * z2 + 17.0 * z2 - 15.0) / 384.0;
    z + first / v + second / (v * v) + third / v.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, within: f64) -> bool {
        (a - b).abs() <= within
    }

    /// Wilson 1927 by hand, and the values that textbooks give.
    #[test]
    fn wilson_matches_known_values() {
        for (hits, n, low, high) in [
            (8, 10, 0.4902, 0.9433),
            (50, 100, 0.4038, 0.5962),
            (1, 1, 0.2065, 1.0),
            (0, 10, 0.0, 0.2775),
            (0, 0, 0.0, 1.0),
        ] {
            let [l, h] = wilson(hits, n);
            assert!(close(l, low, 5e-5) && close(h, high, 5e-5), "{hits}/{n}: {l} {h}");
        }
    }

    #[test]
    fn normal_tail_matches_known_values() {
        for (z, tail) in [
            (0.0, 0.5),
            (1.0, 0.158_655_253_931_457),
            (Z95, 0.025),
            (2.999, 0.001_354_336_533_727),
            (3.0, 0.001_349_898_031_630_1),
            (6.0, 9.865_876_45e-10),
        ] {
            assert!((normal_tail(z) / tail - 1.0).abs() < 1e-9, "{z}: {}", normal_tail(z));
        }
    }

    #[test]
    fn student_matches_tables() {
        for (freedom, value) in [(4, 2.776), (9, 2.262), (29, 2.045), (1000, 1.962)] {
            assert!(close(student95(freedom), value, 0.02), "{freedom}: {}", student95(freedom));
        }
    }

    #[test]
    fn moments_are_exact_for_large_and_negative_numbers() {
        assert_eq!(Moments::of(&[2, 4, 4, 4, 5, 5, 7, 9]), Moments { mean: 5.0, sd: (32.0f64 / 7.0).sqrt() });
        let far = 1 << 40;
        assert_eq!(Moments::of(&[far + 1, far + 2, far + 3]), Moments { mean: far as f64 + 2.0, sd: 1.0 });
        assert_eq!(Moments::of(&[-3, 3]), Moments { mean: 0.0, sd: 18f64.sqrt() });
        assert_eq!(Moments::of(&[7]), Moments { mean: 7.0, sd: 0.0 });
    }

    /// For many values of a known spread the bootstrap must agree with the normal approximation.
    #[test]
    fn bootstrap_agrees_with_theory() {
        let values: Vec<i64> = (0..1000).map(|i| i * 7919 % 1000).collect(); // 0..1000 in some order: sd 288.8
        let [low, high] = mean_interval(&values).unwrap();
        let reach = Z95 * 288.8 / 1000f64.sqrt();
        assert!(close(low, 499.5 - reach, 1.5) && close(high, 499.5 + reach, 1.5), "{low} {high}");
        let five = mean_interval(&[1, 2, 3, 4, 5]).unwrap(); // Student: 3 +- 1.96, but never beyond the values
        assert!(five[0] < 1.7 && five[1] > 4.3 && five[0] >= 1.0 && five[1] <= 5.0, "{five:?}");
        assert_eq!(mean_interval(&[4, 4, 4]), Some([4.0, 4.0]));
        assert_eq!(mean_interval(&[4]), None);
        assert_eq!(mean_interval(&values), mean_interval(&values));
    }

    /// Nine heads of ten: 2 * (1 + 10) / 1024.
    #[test]
    fn sign_tests_match_known_values() {
        assert!(close(sign_test_p(9, 1), 22.0 / 1024.0, 1e-12));
        assert_eq!(sign_test_p(5, 5), 1.0);
        assert_eq!(sign_test_p(0, 0), 1.0);
        assert!(close(sign_test_p(530, 470), sign_test_p(531, 470), 0.006), "exact and approximate meet");
        assert!(close(sign_flip_p(&[5; 4]), 2.0 / 16.0, 0.02), "only all plus and all minus are as far");
        assert_eq!(sign_flip_p(&[5]), 1.0);
        assert_eq!(sign_flip_p(&[0; 10]), 1.0);
        assert!(sign_flip_p(&[5; 40]) < 0.001);
    }
}
