//! Which is better, and how sure? Two agents on the same games, compared pair by pair.
//!
//! Game `i` of a seed begins alike for every agent and draws from the same stream of spawns, so a pair shares some luck.

use serde::{Deserialize, Serialize};

use crate::interval::{Moments, Z95, mean_interval, sign_flip_p, sign_test_p};
use crate::{Outcome, Results};

/// What two agents' games on the same seed say about them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The first agent.
    pub a: String,
    /// The second agent.
    pub b: String,
    /// The seed of both.
    pub seed: u64,
    /// Number of pairs: games that both have played.
    pub games: u64,
    /// Mean score of A over the pairs.
    pub mean_a: f64,
    /// Mean score of B over the pairs.
    pub mean_b: f64,
    /// Mean of A's score less B's.
    pub difference: f64,
    /// The 95% interval of the difference (paired bootstrap); `None` for a single pair.
    pub ci95: Option<[f64; 2]>,
    /// How likely a difference at least this large is by chance, two-sided (random sign flips of the pairs).
    pub p_value: f64,
    /// How likely it is, knowing nothing else, that A is the better one: 1 - p/2 if A is ahead, p/2 if behind.
    pub probability_a_better: f64,
    /// Pairs in which A scored more.
    pub wins: u64,
    /// Pairs in which B scored more.
    pub losses: u64,
    /// Pairs with equal scores.
    pub ties: u64,
    /// How likely such a split of wins and losses is by chance, two-sided (sign test).
    pub sign_test_p: f64,
    /// True if chance is ruled out at the 95% level.
    pub sure: bool,
    /// If not sure: about how many games would show a difference of this size (95% level, 80% power).
    pub games_needed: Option<u64>,
    /// All of it in one sentence.
    pub verdict: String,
}

/// Why two sets of games cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// The games are not the same ones.
    #[error("games of {a} and {b} cannot be paired: {what} is {left} for the one and {right} for the other")]
    Different {
        /// The first agent.
        a: String,
        /// The second agent.
        b: String,
        /// Seed, size or rule.
        what: &'static str,
        /// Of the first.
        left: String,
        /// Of the second.
        right: String,
    },
    /// No game was played by both.
    #[error("{a} and {b} have no game in common")]
    NoPairs {
        /// The first agent.
        a: String,
        /// The second agent.
        b: String,
    },
}

/// The games that both have, in index order. Both slices are sorted.
fn pairs<'r>(a: &'r [Outcome], b: &'r [Outcome]) -> Vec<(&'r Outcome, &'r Outcome)> {
    let partner = |x: &Outcome| b.binary_search_by_key(&x.index, |y| y.index).ok().map(|at| &b[at]);
    a.iter().filter_map(|x| Some((x, partner(x)?))).collect()
}

/// Compares two agents over the games that both have played.
pub fn compare(a: &Results, b: &Results) -> Result<Comparison, CompareError> {
    let (first, second) = (&a.header().setup, &b.header().setup);
    let names = || (first.agent.clone(), second.agent.clone());
    for (what, left, right) in [
        ("the seed", first.seed.to_string(), second.seed.to_string()),
        ("the size", a.header().size(), b.header().size()),
        ("the spawn rule", first.rule.to_string(), second.rule.to_string()),
    ] {
        if left != right {
            let (a, b) = names();
            return Err(CompareError::Different { a, b, what, left, right });
        }
    }
    let pairs = pairs(a.outcomes(), b.outcomes());
    let (a, b) = names();
    if pairs.is_empty() {
        return Err(CompareError::NoPairs { a, b });
    }
    Ok(Comparison::of(a, b, first.seed, &pairs))
}

impl Comparison {
    fn of(a: String, b: String, seed: u64, pairs: &[(&Outcome, &Outcome)]) -> Self {
        let score = |outcome: &Outcome| i64::try_from(outcome.score).unwrap_or(i64::MAX);
        let mean = |side: fn(&(&Outcome, &Outcome)) -> u64| {
            pairs.iter().map(|pair| u128::from(side(pair))).sum::<u128>() as f64 / pairs.len() as f64
        };
        let differences: Vec<i64> = pairs.iter().map(|(x, y)| score(x) - score(y)).collect();
        let count = |wanted: fn(i64) -> bool| differences.iter().filter(|&&d| wanted(d)).count() as u64;
        let (wins, losses) = (count(|d| d > 0), count(|d| d < 0));
        let Moments { mean: difference, sd } = Moments::of(&differences);
        let p_value = sign_flip_p(&differences);
        let sure = p_value < 0.05;
        let mut comparison = Self {
            a,
            b,
            seed,
            games: pairs.len() as u64,
            mean_a: mean(|pair| pair.0.score),
            mean_b: mean(|pair| pair.1.score),
            difference,
            ci95: mean_interval(&differences),
            p_value,
            probability_a_better: if difference > 0.0 { 1.0 - p_value / 2.0 } else { p_value / 2.0 },
            wins,
            losses,
            ties: count(|d| d == 0),
            sign_test_p: sign_test_p(wins, losses),
            sure,
            games_needed: if sure { None } else { games_needed(difference, sd, pairs.len() as u64) },
            verdict: String::new(),
        };
        if difference == 0.0 {
            comparison.probability_a_better = 0.5;
        }
        comparison.verdict = comparison.sentence();
        comparison
    }

    /// The winner first, so that nobody has to think about signs.
    fn sentence(&self) -> String {
        let ahead = self.difference >= 0.0;
        let (better, worse) = if ahead { (&self.a, &self.b) } else { (&self.b, &self.a) };
        let more = grouped(self.difference.abs());
        let interval = self.ci95.map(|[low, high]| if ahead { [low, high] } else { [-high, -low] });
        let range = interval.map(|[low, high]| format!("95% interval {} to {}", grouped(low), grouped(high)));
        let games = if self.games == 1 { "1 game".to_owned() } else { format!("{} games", grouped(self.games as f64)) };
        if self.sure {
            let level = if self.p_value < 0.001 {
                "99.9%"
            } else if self.p_value < 0.01 {
                "99%"
            } else {
                "95%"
            };
            let range = range.unwrap_or_default();
            return format!("{better} scores {more} more than {worse} ({range}); sure beyond {level} after {games}");
        }
        if self.difference == 0.0 {
            return format!("no difference shown: {} and {} score the same on average over {games}", self.a, self.b);
        }
        let range = range.map(|range| format!(" ({range})")).unwrap_or_default();
        let needed = match self.games_needed {
            Some(needed) => format!("; a difference of this size takes about {} games to show", grouped(needed as f64)),
            None => String::new(),
        };
        format!(
            "no difference shown: {better} scores {more} more than {worse} over {games}{range}, which may be chance{needed}"
        )
    }
}

/// Games to show this difference at the 95% level with 80% power; at least one more than were not enough.
fn games_needed(difference: f64, sd: f64, played: u64) -> Option<u64> {
    const POWER80: f64 = 0.841_621_233_572_914;
    if difference == 0.0 || sd == 0.0 {
        return None;
    }
    let needed = ((Z95 + POWER80) * sd / difference).powi(2).ceil();
    Some((needed as u64).max(played.saturating_add(1)))
}

/// A number for people: whole, or with one decimal if small, and commas between thousands.
///
/// ```
/// assert_eq!(afterstate_arena::grouped(1_234_567.0), "1,234,567");
/// ```
pub fn grouped(number: f64) -> String {
    let text =
        if number.abs() < 100.0 && number.fract() != 0.0 { format!("{number:.1}") } else { format!("{number:.0}") };
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let (whole, decimals) = digits.split_once('.').map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
    let mut out = sign.to_owned();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + &decimals.map_or_else(String::new, |decimals| format!(".{decimals}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_for_people() {
        for (number, text) in [
            (0.0, "0"),
            (7.25, "7.2"),
            (999.6, "1,000"),
            (-1234.4, "-1,234"),
            (1_234_567.0, "1,234,567"),
            (-0.5, "-0.5"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    /// Textbook: (1.96 + 0.84)^2 = 7.85 games per squared ratio of spread and difference.
    #[test]
    fn the_number_of_games_follows_from_spread_and_difference() {
        assert_eq!(games_needed(100.0, 1000.0, 10), Some(785));
        assert_eq!(games_needed(100.0, 100.0, 50), Some(51));
        assert_eq!(games_needed(0.0, 100.0, 50), None);
        assert_eq!(games_needed(1e-300, 1e9, 50), Some(u64::MAX));
    }
}
