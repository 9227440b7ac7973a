//! The lines beside the board: facts with their names, and what an agent thinks of the four moves.

use afterstate_agent::Decision;
use afterstate_board::{Direction, Directions};
use ratatui::text::{Line, Span};

use super::palette::Palette;

/// The length of the bar of the best move.
const BAR: usize = 8;

/// A number with commas: `1,234,567`.
pub fn grouped(number: u64) -> String {
    afterstate_arena::grouped(number as f64)
}

/// A named fact.
pub fn fact(palette: Palette, name: &'static str, value: String) -> Line<'static> {
    Line::from(vec![Span::styled(format!("{name:<10}"), palette.quiet()), Span::raw(value)])
}

/// The four moves with their values, the chosen one marked. Bars span the range from the worst to the best move.
pub fn move_values(palette: Palette, decision: &Decision, legal: Directions) -> Vec<Line<'static>> {
    let known = || decision.values.iter().flatten().copied().filter(|v| v.is_finite());
    let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max));
    let mut values = compact(decision.values);
    let mut line = |direction: Direction| {
        let is_best = decision.direction == Some(direction);
        let value = decision.values[direction.index()];
        let name = format!("{} {:<5} ", if is_best { '>' } else { ' ' }, direction.name());
        let style = if is_best { palette.strong() } else { palette.quiet() };
        let bar = value.map_or(0, |value| bar_length(value, low, high));
        let text = match values[direction.index()].take() {
            Some(text) => format!("{text:>9}"),
            None if legal.contains(direction) => visits(decision, direction),
            None => "not legal".to_owned(),
        };
        Line::from(vec![
            Span::styled(name, style),
            Span::styled(format!("{:<BAR$} ", "█".repeat(bar)), palette.bar()),
            Span::styled(text, style),
        ])
    };
    Direction::ALL.into_iter().map(&mut line).collect()
}

/// Worst 1, best all, in between in proportion.
fn bar_length(value: f64, low: f64, high: f64) -> usize {
    if !value.is_finite() {
        return 0;
    }
    let share = if high > low { (value - low) / (high - low) } else { 1.0 };
    1 + (share * (BAR - 1) as f64).round() as usize
}

fn visits(decision: &Decision, direction: Direction) -> String {
    match decision.visits[direction.index()] {
        0 => "legal".to_owned(),
        visits => format!("{} visits", grouped(visits)),
    }
}

/// Values in few characters, all with as many decimals as the largest leaves room for: what is close looks close.
pub fn compact(values: [Option<f64>; 4]) -> [Option<String>; 4] {
    let largest = values.iter().flatten().filter(|v| v.is_finite()).fold(0.0, |largest: f64, v| largest.max(v.abs()));
    let text = |value: f64| match largest {
        1e9.. => format!("{value:.3e}"),
        1e5.. => format!("{value:.0}"),
        100.0.. => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    };
    values.map(|value| value.map(text))
}

#[cfg(test)]
mod tests {
    use super::super::palette::Depth;
    use super::*;

    const PALETTE: Palette = Palette::new(Depth::Plain);

    #[test]
    fn the_chosen_move_is_marked_and_has_the_longest_bar() {
        let legal: Directions = [Direction::Left, Direction::Up, Direction::Down].into_iter().collect();
        let decision = Decision::best_of([Some(1.0), None, Some(123.25), Some(-7.0)], legal, 3, 1);
        let text: Vec<String> = move_values(PALETTE, &decision, legal).iter().map(Line::to_string).collect();
        let expected = [
            "  left  █              1.0",
            "  right          not legal",
            "> up    ████████     123.2",
            "  down  █             -7.0",
        ];
        assert_eq!(text, expected);
    }

    #[test]
    fn agents_without_values_and_odd_values_are_shown() {
        let decision = Decision { direction: Some(Direction::Left), ..Decision::default() };
        let text =
            |d: &Decision| move_values(PALETTE, d, Directions::ALL).iter().map(Line::to_string).collect::<String>();
        assert_eq!(text(&decision).matches("legal").count(), 4);
        let odd =
            Decision { values: [Some(f64::NAN), Some(f64::INFINITY), Some(f64::MIN), Some(f64::MAX)], ..decision };
        assert!(text(&odd).contains("NaN") && text(&odd).contains("inf"), "{}", text(&odd));
    }

    #[test]
    fn values_are_short() {
        let text = |value| compact([None, Some(value), None, None])[1].clone().unwrap_or_default();
        for value in [0.0, -0.123_456, 99.999_9, -12_345.678, 123_456.7, -1e8, -1e300, f64::NEG_INFINITY] {
            assert!(text(value).len() <= 10, "{}", text(value));
        }
        let close = compact([Some(123_456.0), Some(99.5), None, Some(0.01)]);
        assert_eq!(close.map(Option::unwrap_or_default), ["123456", "100", "", "0"]);
    }
}
