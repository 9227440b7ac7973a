//! What appears after a move: the spawn rule as data, and the outcomes of a spawn with their probabilities.

use std::fmt;
use std::str::FromStr;

use crate::Rng;

/// A new tile: where and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Spawn {
    /// Index of the cell, row by row from the top left.
    pub cell: u8,
    /// The tile's exponent: 1 for a 2, 2 for a 4.
    pub exponent: u8,
}

/// At most this many different tiles may spawn.
pub const MAX_SPAWN_KINDS: usize = 4;

/// Which tiles spawn, and how often. The cell is always uniform over the empty ones.
///
/// ```
/// use afterstate_board::SpawnRule;
/// assert_eq!(SpawnRule::CLASSIC.kinds().collect::<Vec<_>>(), [(1, 0.9), (2, 0.1)]);
/// let with_eights: SpawnRule = "2:0.85,4:0.1,8:0.05".parse().unwrap();
/// assert_eq!(with_eights.len(), 3);
/// assert_eq!(with_eights.to_string(), "2:0.85,4:0.1,8:0.05");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpawnRule {
    exponents: [u8; MAX_SPAWN_KINDS],
    probabilities: [f64; MAX_SPAWN_KINDS],
    /// `below[k]`: a fraction of [`DRAW_BITS`] bits under this and not under `below[k - 1]` means kind `k`.
    below: [u32; MAX_SPAWN_KINDS],
    len: u8,
}

/// Random numbers are used as fractions of this many bits, so that their product with any number of cells up to 16 fits a
/// 32-bit lane of a vector.
pub(crate) const DRAW_BITS: u32 = 28;

/// The fraction that a 32-bit random number stands for.
#[inline(always)]
pub(crate) const fn fraction(random: u32) -> u32 {
    random >> (32 - DRAW_BITS)
}

/// Why a text is not a spawn rule.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpawnRuleError {
    /// One entry cannot be read.
    #[error("spawn rule: '{0}' is not TILE:PROBABILITY (for example 2:0.9)")]
    Entry(String),
    /// The tile is not a power of two that may spawn.
    #[error("spawn rule: {0} is not a tile that can spawn (use 2, 4, 8 ... 1024)")]
    Tile(u64),
    /// A tile is named twice.
    #[error("spawn rule: tile {0} is named twice")]
    Twice(u64),
    /// A probability is not above 0 and at most 1.
    #[error("spawn rule: {0} is not a probability above 0")]
    Probability(f64),
    /// The probabilities do not add up.
    #[error("spawn rule: the probabilities add up to {0}, not to 1")]
    Sum(f64),
    /// Too many or no entries.
    #[error("spawn rule: {0} kinds of tiles (use 1 to {MAX_SPAWN_KINDS})")]
    Count(usize),
}

impl SpawnRule {
    /// 2 with probability 0.9, 4 with 0.1: the rule of the original game.
    pub const CLASSIC: Self = Self {
        exponents: [1, 2, 0, 0],
        probabilities: [0.9, 0.1, 0.0, 0.0],
        below: [241_591_910, 1 << DRAW_BITS, 1 << DRAW_BITS, 1 << DRAW_BITS],
        len: 2,
    };

    /// Checks and prepares a rule given as (exponent, probability) pairs.
    pub fn new(kinds: &[(u8, f64)]) -> Result<Self, SpawnRuleError> {
        if kinds.is_empty() || kinds.len() > MAX_SPAWN_KINDS {
            return Err(SpawnRuleError::Count(kinds.len()));
        }
        let mut rule = Self {
            exponents: [0; MAX_SPAWN_KINDS],
            probabilities: [0.0; MAX_SPAWN_KINDS],
            below: [1 << DRAW_BITS; MAX_SPAWN_KINDS],
            len: kinds.len() as u8,
        };
        let mut sum = 0.0;
        for (k, &(exponent, probability)) in kinds.iter().enumerate() {
            if !(1..=10).contains(&exponent) {
                return Err(SpawnRuleError::Tile(1u64 << exponent.min(63)));
            }
            if rule.exponents[..k].contains(&exponent) {
                return Err(SpawnRuleError::Twice(1 << exponent));
            }
            if !(probability > 0.0 && probability <= 1.0) {
                return Err(SpawnRuleError::Probability(probability));
            }
            sum += probability;
            rule.exponents[k] = exponent;
            rule.probabilities[k] = probability;
            if k + 1 < kinds.len() {
                rule.below[k] = (sum * f64::from(1u32 << DRAW_BITS)).round() as u32;
            }
        }
        if (sum - 1.0).abs() > 1e-9 {
            return Err(SpawnRuleError::Sum(sum));
        }
        Ok(rule)
    }

    /// How many different tiles may spawn.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a rule is never empty")]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// The `k`-th kind as (exponent, probability), `k < len()`.
    #[inline]
    pub const fn kind(&self, k: usize) -> (u8, f64) {
        (self.exponents[k], self.probabilities[k])
    }

    /// The kinds as (exponent, probability), in the order they were given.
    #[inline]
    pub fn kinds(&self) -> impl Iterator<Item = (u8, f64)> + '_ {
        (0..self.len()).map(|k| self.kind(k))
    }

    /// For a batch of draws: the exponents with the upper bounds of their fractions.
    #[inline]
    pub(crate) fn bounds(&self) -> impl Iterator<Item = (u8, u32)> + '_ {
        (0..self.len()).map(|k| (self.exponents[k], self.below[k]))
    }

    /// Which kind has that exponent?
    pub fn kind_of(&self, exponent: u8) -> Option<usize> {
        self.exponents[..self.len()].iter().position(|&e| e == exponent)
    }

    /// Draws the index of one of `empty` cells and an exponent from a single 32-bit random number.
    ///
    /// The high part of `random x empty` is the cell, the low part a fresh fraction that picks the kind; both are off by at
    /// most `empty / 2^28`.
    #[inline]
    pub const fn draw(&self, empty: u32, random: u32) -> (u32, u8) {
        let product = fraction(random) as u64 * empty as u64;
        let fraction = product as u32 & ((1 << DRAW_BITS) - 1);
        let mut kind = 0;
        while kind + 1 < self.len as usize && fraction >= self.below[kind] {
            kind += 1;
        }
        ((product >> DRAW_BITS) as u32, self.exponents[kind])
    }

    /// Draws from a generator; see [`SpawnRule::draw`].
    #[inline]
    pub fn sample(&self, empty: u32, rng: &mut Rng) -> (u32, u8) {
        self.draw(empty, rng.next_u32())
    }
}

impl Default for SpawnRule {
    fn default() -> Self {
        Self::CLASSIC
    }
}

impl fmt::Display for SpawnRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, (exponent, probability)) in self.kinds().enumerate() {
            let comma = if k == 0 { "" } else { "," };
            write!(f, "{comma}{}:{probability}", 1u32 << exponent)?;
        }
        Ok(())
    }
}

impl FromStr for SpawnRule {
    type Err = SpawnRuleError;

    /// Reads `TILE:PROBABILITY` pairs, separated by commas.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut kinds = Vec::new();
        for entry in text.split(',') {
            let bad = || SpawnRuleError::Entry(entry.to_owned());
            let (tile, probability) = entry.split_once(':').ok_or_else(bad)?;
            let tile: u64 = tile.trim().parse().map_err(|_| bad())?;
            let probability: f64 = probability.trim().parse().map_err(|_| bad())?;
            if !tile.is_power_of_two() {
                return Err(SpawnRuleError::Tile(tile));
            }
            kinds.push((tile.trailing_zeros() as u8, probability));
        }
        Self::new(&kinds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classic_is_what_new_makes_of_it() {
        assert_eq!(SpawnRule::new(&[(1, 0.9), (2, 0.1)]).unwrap(), SpawnRule::CLASSIC);
        assert_eq!("2:0.9,4:0.1".parse(), Ok(SpawnRule::CLASSIC));
    }

    #[test]
    fn bad_rules_are_refused_with_a_reason() {
        let error = |text: &str| text.parse::<SpawnRule>().unwrap_err().to_string();
        assert_eq!(error("2"), "spawn rule: '2' is not TILE:PROBABILITY (for example 2:0.9)");
        assert_eq!(error("3:1"), "spawn rule: 3 is not a tile that can spawn (use 2, 4, 8 ... 1024)");
        assert_eq!(error("1:1"), "spawn rule: 1 is not a tile that can spawn (use 2, 4, 8 ... 1024)");
        assert_eq!(error("2:0.5"), "spawn rule: the probabilities add up to 0.5, not to 1");
        assert_eq!(error("2:0.5,2:0.5"), "spawn rule: tile 2 is named twice");
        assert_eq!(error("2:NaN"), "spawn rule: NaN is not a probability above 0");
        assert_eq!(error("2:0.2,4:0.2,8:0.2,16:0.2,32:0.2"), "spawn rule: 5 kinds of tiles (use 1 to 4)");
    }

    #[test]
    fn draw_covers_the_whole_range() {
        assert_eq!(SpawnRule::CLASSIC.draw(3, 0), (0, 1));
        assert_eq!(SpawnRule::CLASSIC.draw(3, u32::MAX), (2, 2));
        assert_eq!(SpawnRule::CLASSIC.draw(1, (241_591_910 << 4) - 1), (0, 1));
        assert_eq!(SpawnRule::CLASSIC.draw(1, 241_591_910 << 4), (0, 2));
    }
}
