//! The six figures of row T7: mean score, score distribution, tile counts, score by max tile, score by moves, time per game.

use super::svg::{Drawing, Scale, WIDTH, shortened, tick_text};
use super::{Figure, Report};
use crate::{Outcome, grouped};

/// Where the drawing begins, right of the names or the numbers of an axis.
const LEFT: f64 = 64.0;
const RIGHT: f64 = WIDTH - 24.0;
/// The names of agents stand above their rows.
const ROW: f64 = 46.0;
/// Points drawn of one agent at most; more would be one blot.
const MOST_POINTS: usize = 400;

pub fn all(report: &Report<'_>) -> Vec<Figure> {
    vec![mean(report), distribution(report), tiles(report), by_tile(report), by_moves(report), time(report)]
}

/// One horizontal bar a row: (label, value, interval, what is written beside it).
type Bar = (String, f64, Option<[f64; 2]>, String);

fn bars(rows: &[Bar], scale_end: f64, title: &str) -> String {
    let height = ROW * rows.len() as f64 + 34.0;
    let mut drawing = Drawing::new(height);
    let scale = Scale::linear(scale_end, 14.0, WIDTH - 200.0);
    for tick in scale.ticks() {
        let x = scale.at(tick);
        drawing.line("grid", (x, 4.0), (x, height - 26.0));
        drawing.text("tick middle", (x, height - 10.0), &tick_text(tick));
    }
    for (series, (label, value, interval, beside)) in rows.iter().enumerate() {
        let y = 6.0 + ROW * series as f64;
        drawing.text("label", (14.0, y + 11.0), &shortened(label, 70));
        drawing.bar(series, (14.0, y + 17.0), (scale.at(*value) - 14.0, 18.0), &format!("{label}: {beside}"));
        let mut end = scale.at(*value);
        if let Some([low, high]) = interval {
            let (low, high, middle) = (scale.at(*low), scale.at(*high), y + 26.0);
            drawing.line("whisker", (low, middle), (high, middle));
            drawing.line("whisker", (low, middle - 5.0), (low, middle + 5.0));
            drawing.line("whisker", (high, middle - 5.0), (high, middle + 5.0));
            end = end.max(high);
        }
        drawing.text("value", (end + 8.0, y + 30.0), beside);
    }
    drawing.finish(title)
}

fn mean(report: &Report<'_>) -> Figure {
    let title = "Mean score";
    let row = |(label, s): (String, &crate::Summary)| {
        let beside = s.score.ci95.map_or_else(String::new, |[low, high]| {
            format!(" ({}–{})", tick_text(low.round()), tick_text(high.round()))
        });
        (label, s.score.mean, s.score.ci95, format!("{}{beside}", grouped(s.score.mean)))
    };
    let rows: Vec<Bar> = report.labels().into_iter().zip(report.summaries()).map(row).collect();
    let end = rows.iter().map(|(_, mean, ci, _)| ci.map_or(*mean, |[_, high]| high)).fold(0.0, f64::max);
    Figure {
        id: "mean",
        title,
        caption: "The bar is the mean over all games, the whisker its 95% interval.",
        svg: bars(&rows, end, title),
    }
}

fn time(report: &Report<'_>) -> Figure {
    let title = "Time per game";
    let row = |(label, s): (String, &crate::Summary)| {
        let seconds = s.timing.seconds / s.games.max(1) as f64;
        let text = match seconds {
            s if s >= 100.0 => format!("{s:.0} s"),
            s if s >= 1.0 => format!("{s:.1} s"),
            s if s >= 1e-3 => format!("{:.1} ms", 1e3 * s),
            s => format!("{:.1} µs", 1e6 * s),
        };
        (label, seconds, None, format!("{text}, {} moves/s", tick_text(s.timing.moves_per_second.round())))
    };
    let rows: Vec<Bar> = report.labels().into_iter().zip(report.summaries()).map(row).collect();
    let end = rows.iter().map(|row| row.1).fold(0.0, f64::max);
    Figure {
        id: "time",
        title,
        caption: "Mean time of one game on one thread, in seconds.",
        svg: bars(&rows, end, title),
    }
}

/// A band of small columns for each agent, all on one axis: (label, columns of (x, width, share of the highest, tip)).
fn distribution(report: &Report<'_>) -> Figure {
    const BINS: usize = 48;
    let title = "Score distribution";
    let scores = || report.results.iter().flat_map(|r| r.outcomes()).map(|o| o.score as f64);
    let scale = Scale::fitting(scores(), 14.0, RIGHT);
    let band = ROW + 34.0;
    let height = band * report.results.len() as f64 + 34.0;
    let mut drawing = Drawing::new(height);
    for tick in scale.ticks() {
        let x = scale.at(tick);
        drawing.line("grid", (x, 4.0), (x, height - 26.0));
        drawing.text("tick middle", (x, height - 10.0), &tick_text(tick));
    }
    let width = (RIGHT - 14.0) / BINS as f64;
    for (series, (results, label)) in report.results.iter().zip(report.labels()).enumerate() {
        let bottom = band * (series + 1) as f64;
        drawing.text("label", (14.0, bottom - band + 17.0), &shortened(&label, 70));
        let mut counts = [0u32; BINS];
        for outcome in results.outcomes() {
            let bin = ((scale.at(outcome.score as f64) - 14.0) / width) as usize;
            counts[bin.min(BINS - 1)] += 1;
        }
        let highest = f64::from(counts.iter().copied().max().unwrap_or(1).max(1));
        for (bin, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            let tall = f64::from(count) / highest * (band - 26.0);
            let games = if count == 1 { "1 game".to_owned() } else { format!("{count} games") };
            drawing.bar(series, (14.0 + width * bin as f64 + 0.5, bottom - tall), (width - 1.0, tall), &games);
        }
        if let Some(summary) = results.summary() {
            let x = scale.at(summary.score.median);
            drawing.line("whisker", (x, bottom - band + 24.0), (x, bottom + 2.0));
        }
        drawing.line("axis", (14.0, bottom), (RIGHT, bottom));
    }
    let caption = "How many games ended with which score, each agent on its own line; the upright line is the median.";
    Figure { id: "distribution", title, caption, svg: drawing.finish(title) }
}

/// The exponents from the least to the largest max tile of any game.
fn exponents(report: &Report<'_>) -> Vec<u8> {
    let all = || report.results.iter().flat_map(|r| r.outcomes()).map(|o| o.max_exponent);
    (all().min().unwrap_or(1)..=all().max().unwrap_or(1)).collect()
}

fn tiles(report: &Report<'_>) -> Figure {
    let title = "Largest tile";
    let exponents = exponents(report);
    let band = ROW + 52.0;
    let height = band * report.results.len() as f64 + 30.0;
    let mut drawing = Drawing::new(height);
    let width = (RIGHT - 14.0) / exponents.len() as f64;
    for (series, (results, label)) in report.results.iter().zip(report.labels()).enumerate() {
        let bottom = band * (series + 1) as f64;
        drawing.text("label", (14.0, bottom - band + 17.0), &shortened(&label, 70));
        let games = results.outcomes().len() as f64;
        for (column, &exponent) in exponents.iter().enumerate() {
            let count = results.outcomes().iter().filter(|o| o.max_exponent == exponent).count();
            let x = 14.0 + width * column as f64;
            if count > 0 {
                let share = count as f64 / games;
                let tall = share * (band - 42.0);
                let thick = (width * 0.72).min(64.0);
                let tip = format!("{}: {count} games, {:.1}%", 1u64 << exponent, 100.0 * share);
                drawing.bar(series, (x + (width - thick) / 2.0, bottom - tall), (thick, tall), &tip);
                drawing.text("value middle", (x + width / 2.0, bottom - tall - 4.0), &grouped(count as f64));
            }
        }
        drawing.line("axis", (14.0, bottom), (RIGHT, bottom));
    }
    for (column, &exponent) in exponents.iter().enumerate() {
        let x = 14.0 + width * (column as f64 + 0.5);
        drawing.text("tick middle", (x, height - 12.0), &(1u64 << exponent).to_string());
    }
    let caption = "Number of games by the largest tile on their last board.";
    Figure { id: "tiles", title, caption, svg: drawing.finish(title) }
}

fn by_tile(report: &Report<'_>) -> Figure {
    let title = "Score by largest tile";
    let exponents = exponents(report);
    let height = 330.0;
    let mut drawing = Drawing::new(height);
    let top = drawing.legend(&report.labels(), 2.0) + 8.0;
    let bottom = height - 30.0;
    let scores = || report.results.iter().flat_map(|r| r.outcomes()).map(|o| o.score as f64);
    let scale = Scale::fitting(scores(), bottom, top);
    upright_axis(&mut drawing, &scale);
    let width = (RIGHT - LEFT) / exponents.len() as f64;
    let at = |column: usize| LEFT + width * (column as f64 + 0.5);
    for (column, &exponent) in exponents.iter().enumerate() {
        drawing.text("tick middle", (at(column), height - 10.0), &(1u64 << exponent).to_string());
    }
    for (series, results) in report.results.iter().enumerate() {
        let mut points = Vec::new();
        for (column, &exponent) in exponents.iter().enumerate() {
            let of_tile: Vec<f64> =
                results.outcomes().iter().filter(|o| o.max_exponent == exponent).map(|o| o.score as f64).collect();
            if of_tile.is_empty() {
                continue;
            }
            let (low, high) = of_tile.iter().fold((f64::INFINITY, 0.0f64), |(l, h), &s| (l.min(s), h.max(s)));
            // Agents side by side within the column, so that their spans do not hide each other.
            let x = at(column) + (series as f64 - (report.results.len() - 1) as f64 / 2.0) * 9.0;
            drawing.line(&format!("span l{series}"), (x, scale.at(low)), (x, scale.at(high)));
            points.push((x, scale.at(of_tile.iter().sum::<f64>() / of_tile.len() as f64)));
        }
        drawing.polyline(series, &points);
        points.into_iter().for_each(|point| drawing.mark(series, point, 4.5));
    }
    let caption =
        "Mean score of the games that ended with a tile; the upright lines reach from their worst to their best.";
    Figure { id: "by-tile", title, caption, svg: drawing.finish(title) }
}

fn upright_axis(drawing: &mut Drawing, scale: &Scale) {
    for tick in scale.ticks() {
        let y = scale.at(tick);
        drawing.line("grid", (LEFT, y), (RIGHT, y));
        drawing.text("tick end", (LEFT - 8.0, y + 4.0), &tick_text(tick));
    }
}

fn by_moves(report: &Report<'_>) -> Figure {
    let title = "Score by moves";
    let height = 350.0;
    let mut drawing = Drawing::new(height);
    let top = drawing.legend(&report.labels(), 2.0) + 8.0;
    let bottom = height - 30.0;
    let outcomes = || report.results.iter().flat_map(|r| r.outcomes());
    let across = Scale::fitting(outcomes().map(|o| o.moves as f64), LEFT, RIGHT);
    let up = Scale::fitting(outcomes().map(|o| o.score as f64), bottom, top);
    upright_axis(&mut drawing, &up);
    for tick in across.ticks() {
        drawing.text("tick middle", (across.at(tick), height - 10.0), &tick_text(tick));
    }
    for (series, results) in report.results.iter().enumerate() {
        let every = results.outcomes().len().div_ceil(MOST_POINTS).max(1);
        for Outcome { moves, score, .. } in results.outcomes().iter().step_by(every) {
            drawing.mark(series, (across.at(*moves as f64), up.at(*score as f64)), 3.0);
        }
    }
    let caption = "Every game as a mark: how long it lasted and what it scored.";
    Figure { id: "by-moves", title, caption, svg: drawing.finish(title) }
}
