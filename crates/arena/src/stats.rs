//! How good? The summary of a set of games: what tables and scripts show.

use std::collections::BTreeMap;
use std::fmt;

use afterstate_evaluator::exact::{self, Goal, Problem};
use serde::{Deserialize, Serialize};

use crate::interval::{Moments, mean_interval, wilson};
use crate::{Header, Outcome, Results};

/// Centre and spread of a quantity over the games.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The 95% interval of the mean, see [`mean_interval`]; `None` for a single game.
    pub ci95: Option<[f64; 2]>,
    /// The standard deviation; 0 for a single game.
    pub sd: f64,
    /// The median.
    pub median: f64,
    /// The least value.
    pub min: u64,
    /// The largest value.
    pub max: u64,
}

/// A share of the games.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// The share.
    pub rate: f64,
    /// Its 95% interval, see [`wilson`].
    pub ci95: [f64; 2],
}

/// How many games came as far as they were to be played, and could have gone on. Those that a limit on moves ended are not told apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Until {
    /// What the tiles had to add up to.
    pub sum: u64,
    /// The share of the games in which they did.
    pub reached: Rate,
}

/// How long it took; the only part that differs from run to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// Time spent in the games, added up over all threads.
    pub seconds: f64,
    /// Moves per second of that time: the speed of one thread.
    pub moves_per_second: f64,
}

/// How far from perfect play, where that is known: on small boards.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distance {
    /// The expected score of perfect play.
    pub optimum: f64,
    /// The mean score as a share of it.
    pub share: f64,
    /// The 95% interval of the share; `None` for a single game.
    pub ci95: Option<[f64; 2]>,
}

/// Everything that is told about the games of one agent.
///
/// Serialised, it keeps tiles in numerical order; through a `serde_json::Value` only with its feature `preserve_order`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The agent's specification.
    pub agent: String,
    /// The size of the board: `4x4`.
    pub size: String,
    /// The spawn rule: `2:0.9,4:0.1`.
    pub rule: String,
    /// How many games.
    pub games: u64,
    /// Their seed.
    pub seed: u64,
    /// How many of them a limit ended before their end.
    pub unfinished: u64,
    /// Of games that end when their tiles add up to a given sum: the share that came so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// Points per game.
    pub score: Spread,
    /// How the mean score compares with perfect play, if its solution is here or quick to find.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimal: Option<Distance>,
    /// Moves per game.
    pub moves: Spread,
    /// Share of the games that reached a tile.
    pub reach: BTreeMap<u64, Rate>,
    /// How many games had which largest tile at their end.
    pub max_tile: BTreeMap<u64, u64>,
    /// Changes exactly when the course of some game changes; see [`Results::fingerprint`].
    pub fingerprint: String,
    /// How long it took.
    pub timing: Timing,
}

impl Spread {
    /// Of at least one value.
    fn of(values: impl Iterator<Item = u64>) -> Self {
        let values: Vec<i64> = values.map(|value| i64::try_from(value).unwrap_or(i64::MAX)).collect();
        let (Moments { mean, sd }, ci95) = (Moments::of(&values), mean_interval(&values));
        let mut sorted = values;
        sorted.sort_unstable();
        let at = |i: usize| sorted[i].cast_unsigned();
        let (last, middle) = (sorted.len() - 1, sorted.len() / 2);
        let median = (at(last / 2) + at(middle)) as f64 / 2.0;
        Self { mean, ci95, sd, median, min: at(0), max: at(last) }
    }
}

impl Rate {
    fn of(hits: u64, of: u64) -> Self {
        Self { rate: hits as f64 / of as f64, ci95: wilson(hits, of) }
    }
}

impl Distance {
    /// Only whole games from two random tiles can be compared with the value of such a game.
    fn of(header: &Header, score: &Spread) -> Option<Self> {
        let setup = &header.setup;
        if !setup.starts.is_empty() || setup.move_limit.is_some() || setup.until.is_some() {
            return None;
        }
        let problem = Problem::new(header.rows, header.columns, setup.rule, Goal::Score).ok()?;
        let optimum = exact::known(&problem, &exact::folder())?.start_value;
        let share = |mean: f64| mean / optimum;
        Some(Self { optimum, share: share(score.mean), ci95: score.ci95.map(|ends| ends.map(share)) })
    }
}

impl fmt::Display for Distance {
    /// `96.3% of optimal 66.96 (95%: 95.1 to 97.4%)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1}% of optimal {:.2}", 100.0 * self.share, self.optimum)?;
        self.ci95.map_or(Ok(()), |[low, high]| write!(f, " (95%: {:.1} to {:.1}%)", 100.0 * low, 100.0 * high))
    }
}

impl Timing {
    fn of(outcomes: &[Outcome]) -> Self {
        let seconds: f64 = outcomes.iter().map(|outcome| outcome.seconds).sum();
        let moves: u64 = outcomes.iter().map(|outcome| outcome.moves).sum();
        Self { seconds, moves_per_second: if seconds > 0.0 { moves as f64 / seconds } else { 0.0 } }
    }
}

impl Results {
    /// The summary of these games; `None` if there are none.
    pub fn summary(&self) -> Option<Summary> {
        let (header, outcomes) = (self.header(), self.outcomes());
        if outcomes.is_empty() {
            return None;
        }
        let score = Spread::of(outcomes.iter().map(|outcome| outcome.score));
        let unfinished = outcomes.iter().filter(|outcome| !outcome.over).count() as u64;
        Some(Summary {
            optimal: Distance::of(header, &score),
            agent: header.setup.agent.clone(),
            size: header.size(),
            rule: header.setup.rule.to_string(),
            games: outcomes.len() as u64,
            seed: header.setup.seed,
            unfinished,
            until: header.setup.until.map(|sum| Until { sum, reached: Rate::of(unfinished, outcomes.len() as u64) }),
            score,
            moves: Spread::of(outcomes.iter().map(|outcome| outcome.moves)),
            reach: self.reach(),
            max_tile: self.max_tile(),
            fingerprint: format!("{:016x}", self.fingerprint()),
            timing: Timing::of(outcomes),
        })
    }

    fn max_tile(&self) -> BTreeMap<u64, u64> {
        let mut counts = BTreeMap::new();
        for outcome in self.outcomes() {
            *counts.entry(1 << outcome.max_exponent).or_insert(0) += 1;
        }
        counts
    }

    /// On 4x4 always 128 to 131072, so that tables line up; else from the tile that all games reached to the first that none
    /// did.
    fn reach(&self) -> BTreeMap<u64, Rate> {
        let exponents = || self.outcomes().iter().map(|outcome| outcome.max_exponent);
        let tiles = match (self.header().rows, self.header().columns) {
            (4, 4) => 7..=17,
            _ => exponents().min().unwrap_or(0).max(1)..=exponents().max().unwrap_or(0) + 1,
        };
        let n = self.outcomes().len() as u64;
        let rate = |exponent: u8| {
            let hits = exponents().filter(|&max| max >= exponent).count() as u64;
            Rate::of(hits, n)
        };
        tiles.map(|exponent| (1 << exponent, rate(exponent))).collect()
    }
}
