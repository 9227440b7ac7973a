//! The little drawing that figures need: text, lines, bars, marks and scales. Colours are classes, so that the style sheet around a
//! figure decides about light and dark; every series has a shape of its own, so that no colour is needed.

use std::fmt::Write as _;

/// The width of every figure.
pub const WIDTH: f64 = 560.0;

/// A drawing in progress.
pub struct Drawing {
    body: String,
    height: f64,
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// At most so many characters, with an ellipsis if some are left out.
pub fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

impl Drawing {
    pub fn new(height: f64) -> Self {
        Self { body: String::new(), height }
    }

    pub fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let _ =
            write!(self.body, "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>");
    }

    /// A bar of a series, with the text that a pointer resting on it shows.
    pub fn bar(&mut self, series: usize, (x, y): (f64, f64), (width, height): (f64, f64), tip: &str) {
        let (width, height, tip) = (width.max(0.5), height.max(0.5), escaped(tip));
        let _ = write!(
            self.body,
            "<rect class=\"s{series}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"2\"><title>{tip}</title></rect>"
        );
    }

    pub fn text(&mut self, class: &str, (x, y): (f64, f64), text: &str) {
        let _ = write!(self.body, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(text));
    }

    pub fn polyline(&mut self, series: usize, points: &[(f64, f64)]) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = write!(self.body, "<polyline class=\"l{series}\" points=\"{}\"/>", points.join(" "));
    }

    /// The mark of a series: circle, square, triangle, diamond and their hollow kin.
    pub fn mark(&mut self, series: usize, (x, y): (f64, f64), size: f64) {
        let class = if series < 4 { format!("s{series}") } else { format!("s{series} hollow") };
        let r = size;
        let _ = match series % 4 {
            0 => write!(self.body, "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r:.1}\"/>"),
            1 => write!(
                self.body,
                "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                x - 0.9 * r,
                y - 0.9 * r,
                1.8 * r,
                1.8 * r
            ),
            2 => write!(
                self.body,
                "<path class=\"{class}\" d=\"M{x:.1} {:.1}l{:.1} {:.1}h{:.1}z\"/>",
                y - 1.1 * r,
                1.1 * r,
                2.0 * r,
                -2.2 * r
            ),
            _ => write!(
                self.body,
                "<path class=\"{class}\" d=\"M{x:.1} {:.1}l{r1:.1} {r1:.1}l-{r1:.1} {r1:.1}l-{r1:.1} -{r1:.1}z\"/>",
                y - 1.2 * r,
                r1 = 1.2 * r
            ),
        };
    }

    /// The names of the series with their marks, in two columns; returns the height it took.
    pub fn legend(&mut self, labels: &[String], top: f64) -> f64 {
        let columns = if labels.len() > 1 { 2 } else { 1 };
        for (series, label) in labels.iter().enumerate() {
            let x = 14.0 + WIDTH / columns as f64 * (series % columns) as f64;
            let y = top + 10.0 + 18.0 * (series / columns) as f64;
            self.mark(series, (x, y), 4.5);
            self.text("label", (x + 12.0, y + 4.0), &shortened(label, 36));
        }
        18.0 * labels.len().div_ceil(columns) as f64 + 8.0
    }

    pub fn finish(self, title: &str) -> String {
        format!(
            "<svg class=\"figure\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"{}\" xmlns=\"http://www.w3.org/2000/svg\">{}</svg>",
            self.height,
            escaped(title),
            self.body
        )
    }
}

/// From numbers to places, along one axis.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Scale {
    /// From 0 on.
    pub fn linear(high: f64, from: f64, to: f64) -> Self {
        let high = if high > 0.0 { high } else { 1.0 };
        Self { low: 0.0, high, from, to, logarithmic: false }
    }

    /// Logarithmic if the numbers, all above 0, span more than a factor of 20; else linear from 0.
    pub fn fitting(numbers: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (low, high) =
            numbers.filter(|n| *n > 0.0).fold((f64::INFINITY, 0.0), |(low, high), n| (n.min(low), n.max(high)));
        if low.is_finite() && high / low > 20.0 {
            let (low, high) = (10f64.powf(low.log10().floor()), 10f64.powf((high.log10() * 2.0).ceil() / 2.0));
            return Self { low, high, from, to, logarithmic: true };
        }
        Self::linear(1.05 * high, from, to)
    }

    pub fn at(&self, number: f64) -> f64 {
        let share = if self.logarithmic {
            (number.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            number / self.high
        };
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// A handful of round numbers.
    pub fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let decades = (self.high / self.low).log10();
            let steps: &[f64] = if decades > 3.2 { &[1.0] } else { &[1.0, 3.0] };
            let powers = (0..=12).map(|power| self.low * 10f64.powi(power));
            return powers.flat_map(|p| steps.iter().map(move |s| p * s)).filter(|t| *t <= 1.001 * self.high).collect();
        }
        let rough = self.high / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|s| s * power).find(|s| *s >= rough).unwrap_or(rough);
        (0..=10).map(|i| f64::from(i) * step).filter(|t| *t <= 1.001 * self.high).collect()
    }
}

/// A number for an axis: `1,200`, `15k`, `1.2M`, `0.004`.
pub fn tick_text(number: f64) -> String {
    let trimmed = |n: f64, unit: &str| format!("{}{unit}", (n * 100.0).round() / 100.0);
    match number.abs() {
        n if n >= 1e6 => trimmed(number / 1e6, "M"),
        n if n >= 1e4 => trimmed(number / 1e3, "k"),
        n if n >= 1.0 || n == 0.0 => crate::grouped((number * 100.0).round() / 100.0),
        n if n >= 1e-4 => {
            let power = 10f64.powf(1.0 - n.log10().floor());
            ((number * power).round() / power).to_string()
        }
        _ => format!("{number:.1e}").replace("e-", "e−"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_keep_to_their_range_and_have_round_ticks() {
        let scale = Scale::fitting([300.0, 5000.0].into_iter(), 0.0, 100.0);
        assert!(!scale.logarithmic && scale.at(0.0) == 0.0 && scale.at(1e9) == 100.0);
        assert_eq!(scale.ticks(), [0.0, 2000.0, 4000.0]);
        let scale = Scale::fitting([300.0, 150_000.0].into_iter(), 100.0, 0.0);
        assert!(scale.logarithmic && scale.at(1.0) == 100.0);
        assert_eq!(scale.ticks().first(), Some(&100.0));
        assert!(Scale::fitting(std::iter::empty(), 0.0, 1.0).at(5.0).is_finite());
    }

    #[test]
    fn ticks_read_well() {
        assert_eq!([0.0, 1200.0, 15_000.0, 1_250_000.0].map(tick_text), ["0", "1,200", "15k", "1.25M"]);
        assert_eq!([0.004, 3.0 * 0.05, 0.00005].map(tick_text), ["0.004", "0.15", "5.0e−5"]);
    }
}
