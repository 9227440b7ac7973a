//! Finished evaluations side by side: six figures (those of row T7), a table and a verdict, as one HTML file, Markdown or CSV.
//! The page shows the same figures.

mod figures;
mod html;
mod svg;

use std::fmt::Write as _;

use serde::Serialize;

use crate::{Comparison, Distance, Results, Summary, compare, grouped};

/// A figure: drawn once, shown on the page and in the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Figure {
    /// A short name for programs.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// How to read it.
    pub caption: &'static str,
    /// The drawing, which takes its colours from the style sheet around it.
    pub svg: String,
}

/// Evaluations to be shown together.
#[derive(Clone, Debug)]
pub struct Report<'r> {
    results: Vec<&'r Results>,
    summaries: Vec<Summary>,
}

/// The style sheet of the figures.
pub const FIGURE_STYLE: &str = include_str!("figures.css");

/// More evaluations than this cannot be told apart in one figure.
pub const MOST_RESULTS: usize = 8;

impl<'r> Report<'r> {
    /// Of the evaluations that have any games, the first [`MOST_RESULTS`].
    pub fn new(results: impl IntoIterator<Item = &'r Results>) -> Self {
        let results: Vec<&Results> =
            results.into_iter().filter(|r| !r.outcomes().is_empty()).take(MOST_RESULTS).collect();
        let summaries = results.iter().filter_map(|r| r.summary()).collect();
        Self { results, summaries }
    }

    /// True if there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// The evaluations in the order given.
    pub fn summaries(&self) -> &[Summary] {
        &self.summaries
    }

    /// What the evaluations are called in the figures: the agent, where that is not enough what sets them apart, and always that games are
    /// parts of games.
    pub fn labels(&self) -> Vec<String> {
        let same =
            |field: fn(&Summary) -> String| self.summaries.windows(2).all(|pair| field(&pair[0]) == field(&pair[1]));
        let (sizes, seeds) = (same(|s| s.size.clone()), same(|s| s.seed.to_string()));
        let rules = same(|s| s.rule.clone());
        let label = |(s, results): (&Summary, &&Results)| {
            let mut label = s.agent.clone();
            for (told, text) in [(sizes, s.size.clone()), (seeds, format!("seed {}", s.seed)), (rules, s.rule.clone())]
            {
                if !told {
                    let _ = write!(label, ", {text}");
                }
            }
            let setup = &results.header().setup;
            if !setup.starts.is_empty() {
                label += ", from given positions";
            }
            if let Some(sum) = setup.until {
                let _ = write!(label, ", until a sum of {sum}");
            }
            label
        };
        self.summaries.iter().zip(&self.results).map(label).collect()
    }

    /// Which of the two is better, if there are exactly two that can be paired.
    pub fn comparison(&self) -> Option<Comparison> {
        match self.results[..] {
            [a, b] => compare(a, b).ok(),
            _ => None,
        }
    }

    /// Is perfect play known for any of the games?
    fn knows_optimum(&self) -> bool {
        self.summaries.iter().any(|s| s.optimal.is_some())
    }

    /// What the column on perfect play says, if there is such a column.
    fn optimal_text(&self, summary: &Summary) -> Option<String> {
        let share = |distance: &Distance| format!("{:.1}% of {:.2}", 100.0 * distance.share, distance.optimum);
        self.knows_optimum().then(|| summary.optimal.as_ref().map_or_else(|| "-".to_owned(), share))
    }

    /// The six figures; none if there is nothing to show.
    pub fn figures(&self) -> Vec<Figure> {
        if self.is_empty() { Vec::new() } else { figures::all(self) }
    }

    /// One self-contained HTML file.
    pub fn html(&self) -> String {
        html::page(self)
    }

    /// A table for a document.
    pub fn markdown(&self) -> String {
        let (column, line) = if self.knows_optimum() { (" of optimal |", "---|") } else { ("", "") };
        let mut text = format!(
            "| agent | games | mean score (95%) | sd | median | max | moves | reach 2048 | s/game | moves/s |{column}\n|---|---|---|---|---|---|---|---|---|---|{line}\n",
        );
        for (s, label) in self.summaries.iter().zip(self.labels()) {
            let interval = interval_text(s.score.ci95);
            let reach = s.reach.get(&2048).map_or_else(|| "-".to_owned(), |rate| format!("{:.1}%", 100.0 * rate.rate));
            let optimal = self.optimal_text(s).map_or_else(String::new, |text| format!(" {text} |"));
            let _ = writeln!(
                text,
                "| `{}` | {} | {}{interval} | {} | {} | {} | {} | {reach} | {:.4} | {} |{optimal}",
                label.replace('|', "\\|"),
                grouped(s.games as f64),
                grouped(s.score.mean),
                grouped(s.score.sd),
                grouped(s.score.median),
                grouped(s.score.max as f64),
                grouped(s.moves.mean),
                s.timing.seconds / s.games as f64,
                grouped(s.timing.moves_per_second),
            );
        }
        if let Some(comparison) = self.comparison() {
            let _ = writeln!(text, "\n{}.", comparison.verdict);
        }
        text
    }

    /// One line a game, for other programs.
    pub fn csv(&self) -> String {
        let mut text = String::from("agent,size,spawn,seed,game,score,moves,max_tile,over,seconds\n");
        for results in &self.results {
            let (header, setup) = (results.header(), &results.header().setup);
            for o in results.outcomes() {
                let _ = writeln!(
                    text,
                    "{},{},{},{},{},{},{},{},{},{}",
                    quoted(&setup.agent),
                    header.size(),
                    quoted(&setup.rule.to_string()),
                    setup.seed,
                    o.index,
                    o.score,
                    o.moves,
                    1u64 << o.max_exponent,
                    o.over,
                    o.seconds,
                );
            }
        }
        text
    }
}

/// ` (900 to 1,100)`.
fn interval_text(ci95: Option<[f64; 2]>) -> String {
    ci95.map_or_else(String::new, |[low, high]| format!(" ({} to {})", grouped(low), grouped(high)))
}

/// A CSV field: quoted if need be, and never one that a spreadsheet takes for a formula.
fn quoted(field: &str) -> String {
    let guarded = if field.starts_with(['=', '+', '-', '@']) { format!("'{field}") } else { field.to_owned() };
    if guarded.contains([',', '"', '\n']) { format!("\"{}\"", guarded.replace('"', "\"\"")) } else { guarded }
}

#[cfg(test)]
mod tests {
    use afterstate_agent::{Context, build_from_text};
    use afterstate_board::Board;

    use super::*;
    use crate::{Evaluation, Setup};

    fn results(agent: &str, games: u64, seed: u64) -> Results {
        let evaluation = Evaluation::new(Setup::new(agent, seed), games);
        let build = || build_from_text::<Board>(agent, &Context::default());
        evaluation.run(build, |_, _| Ok(())).unwrap()
    }

    #[test]
    fn a_report_has_all_six_figures_and_every_agent() {
        let (a, b) = (results("random", 20, 1), results("greedy:eval=heuristic", 20, 1));
        let report = Report::new([&a, &b]);
        let figures = report.figures();
        assert_eq!(figures.len(), 6);
        for figure in &figures {
            assert!(figure.svg.starts_with("<svg") && figure.svg.ends_with("</svg>"), "{}", figure.id);
            assert!(!figure.svg.contains("NaN") && !figure.svg.contains("inf"), "{}: {}", figure.id, figure.svg);
        }
        let html = report.html();
        assert!(html.contains("random") && html.contains("greedy:eval=heuristic") && html.contains("sure beyond"));
        for from_outside in ["<script", "src=", "href=\"http", "@import", "url("] {
            assert!(!html.contains(from_outside), "{from_outside}");
        }
        assert_eq!(report.csv().lines().count(), 1 + 40);
        assert_eq!(report.markdown().lines().filter(|line| line.starts_with("| `")).count(), 2);
    }

    #[test]
    fn one_game_and_no_game_are_reports_too() {
        let one = results("random", 1, 1);
        assert_eq!(Report::new([&one]).figures().len(), 6);
        let none = Results::new(one.header().clone(), []).unwrap();
        let empty = Report::new([&none]);
        assert!(empty.is_empty() && empty.figures().is_empty() && empty.html().contains("no games"));
    }

    #[test]
    fn labels_say_what_differs_and_no_more() {
        let (a, b) = (results("random", 2, 1), results("random", 2, 2));
        assert_eq!(Report::new([&a, &b]).labels(), ["random, seed 1", "random, seed 2"]);
        assert_eq!(Report::new([&a]).labels(), ["random"]);
        let mut header = a.header().clone();
        (header.setup.starts, header.setup.until) = (vec!["1000000000000001".into()], Some(64));
        let part = Results::new(header, a.outcomes().to_vec()).unwrap();
        let labels = ["random", "random, from given positions, until a sum of 64"];
        assert_eq!(Report::new([&a, &part]).labels(), labels);
    }

    #[test]
    fn names_cannot_break_out_of_the_file() {
        let mut header = results("random", 1, 1).header().clone();
        header.setup.agent = "<script>alert(1)</script>\"&".to_owned();
        let bad = Results::new(header, results("random", 3, 1).outcomes().to_vec()).unwrap();
        let html = Report::new([&bad]).html();
        assert!(!html.contains("<script") && html.contains("&lt;script&gt;"));
        assert_eq!(quoted("=1+1"), "'=1+1");
        assert_eq!(quoted("a,\"b"), "\"a,\"\"b\"");
    }
}
