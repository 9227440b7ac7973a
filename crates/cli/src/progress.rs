//! Progress on standard error: a live bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use afterstate_arena::{Progress, grouped};
use indicatif::{ProgressBar, ProgressStyle};

/// How often a line is written where no bar can be drawn.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows how far an evaluation has come.
pub struct Meter {
    agent: String,
    bar: Option<ProgressBar>,
    last_line: Instant,
}

impl Meter {
    pub fn new(agent: &str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{prefix} [{bar:24}] {pos}/{len} {msg}");
            ProgressBar::new(0)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "))
                .with_prefix(agent.to_owned())
        });
        Self { agent: agent.to_owned(), bar, last_line: Instant::now() }
    }

    pub fn show(&mut self, progress: &Progress) {
        match &self.bar {
            Some(bar) => {
                bar.set_length(progress.total);
                bar.set_position(progress.done);
                bar.set_message(describe(progress));
            }
            None if self.last_line.elapsed() >= LINE_EVERY => {
                crate::failure::complain!("{} {}/{} {}", self.agent, progress.done, progress.total, describe(progress));
                self.last_line = Instant::now();
            }
            None => {}
        }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn describe(progress: &Progress) -> String {
    let rate = progress.moves as f64 / progress.elapsed.as_secs_f64().max(1e-9);
    let left = progress.remaining().map_or_else(|| "?".to_owned(), duration);
    format!("mean {}, {} moves/s, {left} left", grouped(progress.mean_score), grouped(rate))
}

/// `12 s`, `3 min 20 s`, `2 h 05 min`.
pub fn duration(d: Duration) -> String {
    match d.as_secs() {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} min {:02} s", s / 60, s % 60),
        s => format!("{} h {:02} min", s / 3600, s % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        let text = |s| duration(Duration::from_secs(s));
        assert_eq!((text(12), text(200), text(7500)), ("12 s".into(), "3 min 20 s".into(), "2 h 05 min".into()));
    }
}
