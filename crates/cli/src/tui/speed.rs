//! How fast moves follow each other, and the steps in which the keys change it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Moves a second, or as many as possible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed(Option<f64>);

/// The speeds that the keys stop at.
const LADDER: [f64; 10] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];
/// Slower is a pause, faster is as fast as possible.
const RANGE: std::ops::RangeInclusive<f64> = 0.01..=1e6;

impl Speed {
    pub const FULL: Self = Self(None);

    /// Moves a second; `None` for as many as possible.
    pub const fn per_second(self) -> Option<f64> {
        self.0
    }

    /// The time from move to move; `None` for no wait at all.
    pub fn interval(self) -> Option<Duration> {
        self.0.map(|rate| Duration::from_secs_f64(1.0 / rate))
    }

    /// The next step up.
    pub fn faster(self) -> Self {
        Self(self.0.and_then(|rate| LADDER.into_iter().find(|&step| step > rate)))
    }

    /// The next step down; the slowest stays.
    pub fn slower(self) -> Self {
        let rate = self.0.unwrap_or(f64::INFINITY);
        Self(LADDER.into_iter().rev().find(|&step| step < rate).or(self.0))
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(rate) => write!(f, "{rate} moves/s"),
            None => f.write_str("as fast as it goes"),
        }
    }
}

impl FromStr for Speed {
    type Err = String;

    /// Moves a second; 0 means as fast as possible.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim().parse::<f64>() {
            Ok(0.0) => Ok(Self::FULL),
            Ok(rate) if RANGE.contains(&rate) => Ok(Self(Some(rate))),
            _ => Err(format!(
                "give moves a second from {} to {}, or 0 for as fast as possible",
                RANGE.start(),
                RANGE.end()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_climb_the_ladder_and_stop_at_its_ends() {
        let mut speed: Speed = "1".parse().unwrap();
        assert_eq!(speed.slower(), speed);
        let mut climbed = vec![speed];
        while speed != Speed::FULL {
            speed = speed.faster();
            climbed.push(speed);
        }
        assert_eq!(climbed.len(), LADDER.len() + 1);
        assert_eq!(speed.faster(), Speed::FULL);
        for &expected in climbed.iter().rev().skip(1) {
            speed = speed.slower();
            assert_eq!(speed, expected);
        }
    }

    #[test]
    fn speeds_between_the_steps_join_the_ladder() {
        let odd = Speed(Some(7.0));
        assert_eq!((odd.faster(), odd.slower()), (Speed(Some(10.0)), Speed(Some(5.0))));
        assert_eq!(Speed(Some(0.5)).slower(), Speed(Some(0.5)));
        assert_eq!(Speed(Some(5000.0)).faster(), Speed::FULL);
    }

    #[test]
    fn only_sensible_speeds_are_read() {
        assert_eq!("0".parse(), Ok(Speed::FULL));
        assert_eq!("2.5".parse(), Ok(Speed(Some(2.5))));
        for bad in ["", "fast", "-1", "NaN", "inf", "1e-9", "1e9"] {
            assert!(bad.parse::<Speed>().is_err(), "{bad}");
        }
    }
}
