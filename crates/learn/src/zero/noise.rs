//! Random numbers that make self-play explore.

use afterstate_board::Rng;

/// A number above 0 and below 1.
fn open_unit(rng: &mut Rng) -> f64 {
    rng.unit().max(1e-300)
}

/// Four numbers of Gumbel's distribution.
pub(super) fn gumbel(rng: &mut Rng) -> [f64; 4] {
    std::array::from_fn(|_| -(-open_unit(rng).ln()).max(1e-300).ln())
}

/// A number of the normal distribution (Box and Muller).
fn normal(rng: &mut Rng) -> f64 {
    (-2.0 * open_unit(rng).ln()).sqrt() * (std::f64::consts::TAU * rng.unit()).cos()
}

/// The logarithm of a number of the gamma distribution (Marsaglia and Tsang 2000): for a small shape the number itself may be too small
/// to be written.
fn log_gamma(shape: f64, rng: &mut Rng) -> f64 {
    if shape < 1.0 {
        return log_gamma(shape + 1.0, rng) + open_unit(rng).ln() / shape;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && open_unit(rng).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return (d * v).ln();
        }
    }
}

/// Mixes noise of Dirichlet's distribution into the chances of legal moves, those above 0.
pub(super) fn dirichlet(chances: &mut [f32; 4], alpha: f64, share: f64, rng: &mut Rng) {
    if share <= 0.0 {
        return;
    }
    let logs = chances.map(|chance| if chance > 0.0 { log_gamma(alpha, rng) } else { f64::NEG_INFINITY });
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights = logs.map(|log| (log - most).exp());
    let total: f64 = weights.iter().sum();
    for (chance, weight) in chances.iter_mut().zip(weights).filter(|(chance, _)| **chance > 0.0) {
        *chance = ((1.0 - share) * f64::from(*chance) + share * weight / total) as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_the_right_mean_and_spread() {
        let (mut rng, n) = (Rng::new(5), 40_000);
        for alpha in [0.03, 0.3, 2.0] {
            let (mut sum, mut square) = (0.0, 0.0);
            for _ in 0..n {
                let mut chances = [0.25f32, 0.25, 0.0, 0.5];
                dirichlet(&mut chances, alpha, 1.0, &mut rng);
                assert!((chances.iter().sum::<f32>() - 1.0).abs() < 1e-5 && chances[2] == 0.0);
                sum += f64::from(chances[0]);
                square += f64::from(chances[0]).powi(2);
            }
            let (mean, expected) = (sum / f64::from(n), 1.0 / 3.0);
            let variance = square / f64::from(n) - mean * mean;
            assert!((mean - expected).abs() < 0.01, "{alpha}: {mean}");
            let known = expected * (1.0 - expected) / (3.0 * alpha + 1.0);
            assert!((variance / known - 1.0).abs() < 0.05, "{alpha}: {variance}, {known}");
        }
    }

    #[test]
    fn gumbel_numbers_have_the_right_mean() {
        let mut rng = Rng::new(6);
        let mean: f64 = (0..20_000).map(|_| gumbel(&mut rng).iter().sum::<f64>()).sum::<f64>() / 80_000.0;
        assert!((mean - 0.577_215_66).abs() < 0.02, "{mean}");
    }
}
