//! What `watch` shows of a moment.

use afterstate_board::Position;
use ratatui::text::{Line, Span};

use super::desk::{Control, Moment, Thought};
use super::{LONG_THOUGHT, Palette};
use crate::tui::panel::{fact, grouped, move_values};
use crate::tui::scene::{KeyHelp, Scene};
use crate::tui::text;

const KEYS: &str = "space pause   n step   + - speed   r new game   ? keys   q quit";

const HELP: &[KeyHelp] = &[
    ("space", "pause, continue"),
    ("n, right", "one move, then pause"),
    ("+, up", "faster, up to as fast as it goes"),
    ("-, down", "slower, down to one move a second"),
    ("r", "new game: the next of this seed"),
    ("?", "these keys"),
    ("q, Esc", "quit"),
];

/// All that one picture needs.
pub struct View<'a, P> {
    pub moment: &'a Moment<P>,
    pub control: &'a Control,
    pub label: &'a str,
    pub unit: &'a str,
    pub seed: u64,
    /// Measured moves a second.
    pub rate: Option<f64>,
    pub is_helping: bool,
    pub palette: Palette,
}

impl<'a, P: Position> View<'a, P> {
    pub fn scene(&self) -> Scene<'a, P> {
        let size = text::size::<P>();
        let Moment { game, position, last, .. } = self.moment;
        Scene {
            title: format!("afterstate watch   {size}   seed {}   game {game}   {}", self.seed, self.label),
            position,
            fresh: last.map(|ply| usize::from(ply.spawn.cell)),
            panel: self.panel(),
            keys: KEYS,
            help: self.is_helping.then_some(HELP),
        }
    }

    fn panel(&self) -> Vec<Line<'static>> {
        let (moment, palette) = (self.moment, self.palette);
        let rate = self.rate.map_or_else(|| "-".to_owned(), rate_text);
        let last = moment.last.map_or_else(|| "-".to_owned(), |ply| format!("{} +{}", ply.direction, ply.reward));
        let mut lines = vec![
            self.status(),
            Line::default(),
            fact(palette, "Score", grouped(moment.score)),
            fact(palette, "Moves", grouped(moment.moves)),
            fact(palette, "Max tile", text::max_tile(&moment.position).to_string()),
            fact(palette, "Last move", last),
            fact(palette, "Speed", self.control.speed.to_string()),
            fact(palette, "Measured", rate),
            Line::default(),
        ];
        lines.extend(self.thought_lines());
        lines
    }

    fn status(&self) -> Line<'static> {
        let palette = self.palette;
        let thinking = self.moment.thinking.map(|since| since.elapsed()).filter(|time| *time > LONG_THOUGHT);
        let (text, style) = match (self.moment.is_over, self.control.next_game, thinking) {
            (_, Some(_), Some(_)) => ("new game after this thought".to_owned(), palette.quiet()),
            (true, ..) => ("Game over. r: new game".to_owned(), palette.bad()),
            (_, _, Some(time)) => (format!("thinking {:.1} s", time.as_secs_f64()), palette.strong()),
            _ if self.control.is_paused => ("paused".to_owned(), palette.strong()),
            _ => ("playing".to_owned(), palette.good()),
        };
        Line::from(Span::styled(text, style))
    }

    fn thought_lines(&self) -> Vec<Line<'static>> {
        let Some(Thought { decision, legal, number }) = &self.moment.thought else {
            // As many lines as there will be, so that the picture does not jump.
            return vec![Line::default(); 7];
        };
        let remark = |text: String| Line::from(Span::styled(text, self.palette.quiet()));
        let mut lines =
            vec![remark(format!("Values for move {}", grouped(*number))), remark(format!("({})", self.unit))];
        lines.extend(move_values(self.palette, decision, *legal));
        lines.push(fact(self.palette, "Depth", format!("{}, nodes {}", decision.depth, grouped(decision.nodes))));
        lines
    }
}

fn rate_text(rate: f64) -> String {
    let number = if rate < 100.0 { format!("{rate:.1}") } else { grouped(rate.round() as u64) };
    format!("{number} moves/s")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use afterstate_agent::Decision;
    use afterstate_board::{Board, Directions, board};

    use super::*;
    use crate::tui::palette::Depth;
    use crate::tui::scene::draw;
    use crate::tui::scene::tests::screen;
    use crate::tui::speed::Speed;

    fn moment() -> Moment<Board> {
        let mut moment = Moment::new(7);
        moment.position = board!(2 4 8 16 / 131072 65536 0 0 / 0 0 0 0 / 0 0 0 2);
        moment.score = 1_234_567;
        let decision = Decision::best_of([Some(1.5), Some(2.5), Some(99.0), None], Directions::from_bits(7), 12_345, 3);
        moment.thought = Some(Thought { decision, legal: Directions::from_bits(7), number: 1001 });
        moment
    }

    fn picture(moment: &Moment<Board>, control: &Control) -> String {
        let palette = Palette::new(Depth::Plain);
        let view = View {
            moment,
            control,
            label: "greedy",
            unit: "points",
            seed: 42,
            rate: Some(12_345.6),
            is_helping: false,
            palette,
        };
        screen(80, 24, |frame| draw(frame, palette, view.scene()))
    }

    #[test]
    fn a_running_game_shows_all_there_is_to_know() {
        let text = picture(&moment(), &Control::new(Speed::FULL));
        let parts = [
            "seed 42",
            "game 7",
            "1,234,567",
            "131072",
            "12,346 moves/s",
            "as fast as it goes",
            "for move 1,001",
            "(points)",
        ];
        for part in parts.iter().chain(&["> up", " 99.000", "not legal", "3, nodes 12,345", "playing"]) {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
    }

    #[test]
    fn the_status_says_what_is_going_on() {
        let (mut moment, mut control) = (moment(), Control::new(Speed::FULL));
        control.is_paused = true;
        assert!(picture(&moment, &control).contains("paused"));
        moment.thinking = Instant::now().checked_sub(Duration::from_secs(2));
        assert!(picture(&moment, &control).contains("thinking 2."));
        control.next_game = Some(8);
        assert!(picture(&moment, &control).contains("new game after this thought"));
        (moment.thinking, moment.is_over, control.next_game) = (None, true, None);
        assert!(picture(&moment, &control).contains("Game over"));
    }
}
