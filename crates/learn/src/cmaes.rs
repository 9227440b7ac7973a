//! CMA-ES: the evolution strategy that adapts its own covariance matrix, after N. Hansen, "The CMA Evolution Strategy: A
//! Tutorial" (arXiv:1604.00772), with positive weights only.
//!
//! Ours, because its whole state must be saved between two generations and the crates at hand keep theirs to themselves; see
//! docs/decisions/0002-cma-es.md.

use afterstate_board::Rng;
use serde::{Deserialize, Serialize};

/// A normal distribution that moves towards better candidates. Lower costs are better.
///
/// ```
/// use afterstate_board::Rng;
/// use afterstate_learn::CmaEs;
///
/// let (mut search, mut rng) = (CmaEs::new(vec![1.0; 3], 0.5, 10), Rng::new(1));
/// for _ in 0..100 {
///     let candidates = search.ask(&mut rng);
///     let costs: Vec<f64> = candidates.iter().map(|x| x.iter().map(|x| x * x).sum()).collect();
///     search.tell(&candidates, &costs);
/// }
/// assert!(search.mean().iter().all(|x| x.abs() < 1e-6));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CmaEs {
    population: usize,
    generation: u64,
    mean: Vec<f64>,
    sigma: f64,
    /// Row by row; the distribution's covariance is `sigma^2` times this.
    covariance: Vec<Vec<f64>>,
    /// The smoothed steps of the mean, as they are and with the covariance divided out.
    path: Vec<f64>,
    white_path: Vec<f64>,
}

/// The strategy parameters that the tutorial derives from dimension and population (its table 1).
struct Rates {
    /// Of the best candidates, best first; they sum to 1.
    weights: Vec<f64>,
    effective: f64,
    sigma: f64,
    sigma_damping: f64,
    path: f64,
    rank_one: f64,
    rank_many: f64,
    /// The expected length of a standard normal vector.
    length: f64,
}

impl Rates {
    fn new(dimension: usize, population: usize) -> Self {
        let n = dimension as f64;
        let raw = |i: usize| ((population as f64 + 1.0) / 2.0).ln() - (i as f64 + 1.0).ln();
        let total: f64 = (0..population / 2).map(raw).sum();
        let weights: Vec<f64> = (0..population / 2).map(|i| raw(i) / total).collect();
        let effective = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
        let sigma = (effective + 2.0) / (n + effective + 5.0);
        let rank_one = 2.0 / ((n + 1.3).powi(2) + effective);
        let rank_many = 2.0 * (effective - 2.0 + 1.0 / effective) / ((n + 2.0).powi(2) + effective);
        Self {
            weights,
            effective,
            sigma,
            sigma_damping: 1.0 + 2.0 * (((effective - 1.0) / (n + 1.0)).sqrt() - 1.0).max(0.0) + sigma,
            path: (4.0 + effective / n) / (n + 4.0 + 2.0 * effective / n),
            rank_one,
            rank_many: rank_many.min(1.0 - rank_one),
            length: n.sqrt() * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)),
        }
    }
}

impl CmaEs {
    /// A round distribution of width `sigma` about `mean`. Needs one dimension and four candidates at least.
    pub fn new(mean: Vec<f64>, sigma: f64, population: usize) -> Self {
        assert!(!mean.is_empty() && population >= 4, "nothing to search, or too few candidates to rank");
        let n = mean.len();
        let covariance = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
        Self { population, generation: 0, sigma, covariance, path: vec![0.0; n], white_path: vec![0.0; n], mean }
    }

    /// The usual number of candidates for a number of dimensions.
    pub fn usual_population(dimension: usize) -> usize {
        4 + (3.0 * (dimension as f64).ln()) as usize
    }

    /// The centre of the distribution: the best guess, better than any single candidate when costs are noisy.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The overall width of the distribution.
    pub const fn sigma(&self) -> f64 {
        self.sigma
    }

    /// How many generations have been told.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Draws the candidates of the next generation.
    pub fn ask(&self, rng: &mut Rng) -> Vec<Vec<f64>> {
        let n = self.mean.len();
        let (lengths, axes) = self.principal_axes();
        let draw = |rng: &mut Rng| {
            let z: Vec<f64> = (0..n).map(|axis| normal(rng) * lengths[axis]).collect();
            let step = |i: usize| (0..n).map(|axis| axes[i][axis] * z[axis]).sum::<f64>();
            (0..n).map(|i| self.mean[i] + self.sigma * step(i)).collect()
        };
        (0..self.population).map(|_| draw(rng)).collect()
    }

    /// Moves the distribution, given the cost of each candidate; a cost that is no number counts as the worst.
    pub fn tell(&mut self, candidates: &[Vec<f64>], costs: &[f64]) {
        let (n, rates) = (self.mean.len(), Rates::new(self.mean.len(), self.population));
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        let cost = |i: usize| if costs[i].is_nan() { f64::INFINITY } else { costs[i] };
        order.sort_by(|&a, &b| cost(a).total_cmp(&cost(b)));
        let difference = |&i: &usize| (0..n).map(|d| (candidates[i][d] - self.mean[d]) / self.sigma).collect();
        let steps: Vec<Vec<f64>> = order.iter().take(rates.weights.len()).map(difference).collect();
        let weighted = rates.weights.iter().zip(&steps);
        let step: Vec<f64> = (0..n).map(|d| weighted.clone().map(|(w, step)| w * step[d]).sum()).collect();

        let white = self.whitened(&step);
        let keep = 1.0 - rates.sigma;
        let gain = (rates.sigma * (2.0 - rates.sigma) * rates.effective).sqrt();
        mix(&mut self.white_path, keep, &white, gain);
        let length = self.white_path.iter().map(|x| x * x).sum::<f64>().sqrt() / rates.length;

        // A path that is too long says that sigma is growing: hold the covariance back meanwhile.
        let settled = 1.0 - keep.powi(2 * (self.generation as i32).saturating_add(1));
        let holds = length / settled.sqrt() >= 1.4 + 2.0 / (n as f64 + 1.0);
        let gain = if holds { 0.0 } else { (rates.path * (2.0 - rates.path) * rates.effective).sqrt() };
        mix(&mut self.path, 1.0 - rates.path, &step, gain);

        let lost = if holds { rates.rank_one * rates.path * (2.0 - rates.path) } else { 0.0 };
        for i in 0..n {
            for j in 0..n {
                let many: f64 = weighted.clone().map(|(w, step)| w * step[i] * step[j]).sum();
                let old = (1.0 - rates.rank_one - rates.rank_many + lost) * self.covariance[i][j];
                self.covariance[i][j] = old + rates.rank_one * self.path[i] * self.path[j] + rates.rank_many * many;
            }
        }
        mix(&mut self.mean, 1.0, &step, self.sigma);
        self.sigma *= ((rates.sigma / rates.sigma_damping) * (length - 1.0)).min(1.0).exp();
        self.generation += 1;
    }

    /// `step` seen where the distribution is round: multiplied by the inverse root of the covariance.
    fn whitened(&self, step: &[f64]) -> Vec<f64> {
        let n = step.len();
        let (lengths, axes) = self.principal_axes();
        let along: Vec<f64> =
            (0..n).map(|axis| (0..n).map(|i| axes[i][axis] * step[i]).sum::<f64>() / lengths[axis]).collect();
        (0..n).map(|i| (0..n).map(|axis| axes[i][axis] * along[axis]).sum()).collect()
    }

    /// The half-axes of the covariance: their lengths, and their directions as columns.
    fn principal_axes(&self) -> (Vec<f64>, Vec<Vec<f64>>) {
        let (values, vectors) = symmetric_eigen(self.covariance.clone());
        (values.into_iter().map(|value| value.max(1e-20).sqrt()).collect(), vectors)
    }
}

/// `path = keep * path + gain * step`.
fn mix(path: &mut [f64], keep: f64, step: &[f64], gain: f64) {
    path.iter_mut().zip(step).for_each(|(p, s)| *p = keep * *p + gain * s);
}

/// A draw from the standard normal distribution (Box and Muller).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.unit()).cos()
}

/// Eigenvalues and eigenvectors (as columns) of a symmetric matrix by Jacobi's rotations: slow in high dimensions, exact enough
/// in all.
fn symmetric_eigen(mut a: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = a.len();
    let mut vectors: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    for _ in 0..60 {
        let off: f64 = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j] * a[i][j]).sum();
        if off == 0.0 {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut a, &mut vectors, p, q);
            }
        }
    }
    ((0..n).map(|i| a[i][i]).collect(), vectors)
}

/// Makes `a[p][q]` zero by turning the plane of the two axes.
fn rotate(a: &mut [Vec<f64>], vectors: &mut [Vec<f64>], p: usize, q: usize) {
    if a[p][q].abs() <= 1e-18 * (a[p][p] * a[q][q]).abs().sqrt() {
        (a[p][q], a[q][p]) = (0.0, 0.0);
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let tangent = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    let turn = |row: &mut Vec<f64>| {
        let (x, y) = (row[p], row[q]);
        (row[p], row[q]) = (cosine * x - sine * y, sine * x + cosine * y);
    };
    a.iter_mut().for_each(turn);
    vectors.iter_mut().for_each(turn);
    let (upper, lower) = a.split_at_mut(q);
    for (x, y) in upper[p].iter_mut().zip(&mut lower[0]) {
        (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Generations until the cost falls below 1e-9.
    fn generations(start: Vec<f64>, sigma: f64, limit: u64, cost: impl Fn(&[f64]) -> f64) -> u64 {
        let population = CmaEs::usual_population(start.len());
        let (mut search, mut rng) = (CmaEs::new(start, sigma, population), Rng::new(3));
        while cost(search.mean()) > 1e-9 {
            assert!(search.generation() < limit, "cost {} after {limit} generations", cost(search.mean()));
            let candidates = search.ask(&mut rng);
            let costs: Vec<f64> = candidates.iter().map(|x| cost(x)).collect();
            search.tell(&candidates, &costs);
        }
        search.generation()
    }

    #[test]
    fn a_sphere_is_easy() {
        generations(vec![3.0; 10], 1.0, 250, |x| x.iter().map(|x| x * x).sum());
    }

    #[test]
    fn a_stretched_and_turned_bowl_is_learned() {
        let cost = |x: &[f64]| 1e6 * (x[0] + x[1]).powi(2) + (x[0] - x[1]).powi(2) + 1e3 * x[2].powi(2);
        generations(vec![1.0; 3], 0.5, 250, cost);
    }

    #[test]
    fn the_banana_valley_is_followed() {
        let term = |p: &[f64]| 100.0 * (p[1] - p[0] * p[0]).powi(2) + (1.0 - p[0]).powi(2);
        generations(vec![0.0; 6], 0.3, 600, |x| x.windows(2).map(term).sum());
    }

    #[test]
    fn eigenvectors_rebuild_the_matrix() {
        let mut rng = Rng::new(9);
        let n = 7;
        let half: Vec<Vec<f64>> = (0..n).map(|_| (0..n).map(|_| normal(&mut rng)).collect()).collect();
        let product = |i: usize, j: usize| (0..n).map(|k| half[i][k] * half[j][k]).sum::<f64>();
        let matrix: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| product(i, j)).collect()).collect();
        let (values, vectors) = symmetric_eigen(matrix.clone());
        for i in 0..n {
            for j in 0..n {
                let rebuilt: f64 = (0..n).map(|k| vectors[i][k] * values[k] * vectors[j][k]).sum();
                assert!((rebuilt - matrix[i][j]).abs() < 1e-9, "{rebuilt}, {}", matrix[i][j]);
            }
        }
    }

    #[test]
    fn saved_and_read_back_it_goes_on_as_before() {
        let mut search = CmaEs::new(vec![1.0, -2.0], 0.7, 6);
        let step = |search: &mut CmaEs, seed: u64| {
            let candidates = search.ask(&mut Rng::new(seed));
            let costs: Vec<f64> = candidates.iter().map(|x| x[0].hypot(x[1])).collect();
            search.tell(&candidates, &costs);
        };
        (0..5).for_each(|seed| step(&mut search, seed));
        let text = serde_json::to_string(&search).unwrap();
        let mut copy: CmaEs = serde_json::from_str(&text).unwrap();
        (5..9).for_each(|seed| (step(&mut search, seed), step(&mut copy, seed)).0);
        assert_eq!(search, copy);
    }
}
