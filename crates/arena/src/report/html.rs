//! The report as one file that needs nothing else: no script, no font, no picture from elsewhere.

use std::fmt::Write as _;

use super::svg::escaped;
use super::{FIGURE_STYLE, Report, interval_text};
use crate::grouped;

/// What the text around the figures looks like.
const STYLE: &str = include_str!("report.css");

pub fn page(report: &Report<'_>) -> String {
    let mut body = String::from("<h1>Agents compared</h1>\n");
    if report.is_empty() {
        body.push_str("<p>There are no games to report.</p>\n");
    }
    if let Some(comparison) = report.comparison() {
        let _ = writeln!(body, "<p class=\"verdict\">{}.</p>", escaped(&comparison.verdict));
    }
    if !report.is_empty() {
        table(report, &mut body);
    }
    for figure in report.figures() {
        let (title, caption) = (escaped(figure.title), escaped(figure.caption));
        let _ = writeln!(body, "<figure><h2>{title}</h2>{}<figcaption>{caption}</figcaption></figure>", figure.svg);
    }
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Agents compared</title>\n<style>\n{STYLE}{FIGURE_STYLE}</style></head>\n<body>\n{body}</body></html>\n"
    )
}

fn table(report: &Report<'_>, body: &mut String) {
    let column = if report.knows_optimum() { "<th scope=\"col\">of optimal</th>" } else { "" };
    let _ = writeln!(
        body,
        "<div class=\"wide\"><table><thead><tr><th scope=\"col\">agent</th><th scope=\"col\">games</th><th scope=\"col\">mean score (95%)</th>\
         <th scope=\"col\">sd</th><th scope=\"col\">median</th><th scope=\"col\">max</th><th scope=\"col\">moves</th>\
         <th scope=\"col\">1024</th><th scope=\"col\">2048</th><th scope=\"col\">seconds</th>{column}</tr></thead><tbody>",
    );
    for (s, label) in report.summaries().iter().zip(report.labels()) {
        let reach =
            |tile: u64| s.reach.get(&tile).map_or_else(|| "–".to_owned(), |r| format!("{:.1}%", 100.0 * r.rate));
        let cells = [
            grouped(s.games as f64),
            grouped(s.score.mean) + &interval_text(s.score.ci95),
            grouped(s.score.sd),
            grouped(s.score.median),
            grouped(s.score.max as f64),
            grouped(s.moves.mean),
            reach(1024),
            reach(2048),
            format!("{:.4}", s.timing.seconds / s.games.max(1) as f64),
        ];
        let cells: String =
            cells.iter().chain(&report.optimal_text(s)).map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
        let _ = writeln!(body, "<tr><th scope=\"row\">{}</th>{cells}</tr>", escaped(&label));
    }
    body.push_str("</tbody></table></div>\n");
}
