//! Everything on the screen at one moment, and the one function that draws it.
//! A scene is plain data, so that any moment of any command can be drawn in a test.

use afterstate_board::Position;
use ratatui::Frame;
use ratatui::layout::{Rect, Size};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};

use super::board_view::BoardView;
use super::layout::arrange;
use super::palette::Palette;

/// What a key does: its name and its meaning.
pub type KeyHelp = (&'static str, &'static str);

/// One moment.
pub struct Scene<'a, P> {
    pub title: String,
    pub position: &'a P,
    /// The cell of the tile that has just appeared.
    pub fresh: Option<usize>,
    /// The lines beside the board, the most important first: a small screen cuts the last.
    pub panel: Vec<Line<'static>>,
    /// The bottom line.
    pub keys: &'static str,
    /// All keys, if they are to be shown.
    pub help: Option<&'static [KeyHelp]>,
}

/// Draws a scene, or says that the terminal is too small for it.
pub fn draw<P: Position>(frame: &mut Frame, palette: Palette, scene: Scene<'_, P>) {
    let area = frame.area();
    let places = match arrange::<P>(area, palette, scene.panel.len() as u16) {
        Ok(places) => places,
        Err(needed) => return draw_too_small(frame, needed),
    };
    frame.render_widget(Span::styled(scene.title, palette.title()), places.title);
    let board = BoardView { position: scene.position, fresh: scene.fresh, cell: places.cell, palette };
    frame.render_widget(board, places.board);
    frame.render_widget(Paragraph::new(scene.panel), places.panel);
    frame.render_widget(Span::styled(scene.keys, palette.quiet()), places.keys);
    if let Some(keys) = scene.help {
        draw_help(frame, palette, keys);
    }
}

fn draw_too_small(frame: &mut Frame, needed: Size) {
    let area = frame.area();
    let text = format!(
        "This terminal is too small: it has {}x{}, the board needs {}x{}. Make it larger, or press q.",
        area.width, area.height, needed.width, needed.height
    );
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), area);
}

fn draw_help(frame: &mut Frame, palette: Palette, keys: &[KeyHelp]) {
    let name_width = keys.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let line = |&(name, meaning): &KeyHelp| {
        Line::from(vec![Span::styled(format!(" {name:<name_width$}  "), palette.title()), Span::raw(meaning)])
    };
    let text: Text = keys.iter().map(line).collect();
    let (width, height) = (text.width() as u16 + 3, text.height() as u16 + 2);
    let area = frame.area();
    let (width, height) = (width.min(area.width), height.min(area.height));
    let area = Rect { x: (area.width - width) / 2, y: (area.height - height) / 2, width, height };
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(text).block(Block::bordered().title(" Keys ")), area);
}

#[cfg(test)]
pub mod tests {
    use afterstate_board::{Board, Grid, board};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::palette::Depth;
    use super::*;

    /// The screen as text, drawn by anything that draws on a frame.
    pub fn screen(width: u16, height: u16, draw: impl FnOnce(&mut Frame)) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(draw).unwrap();
        let buffer = terminal.backend().buffer();
        let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| line(y).trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }

    fn scene<P>(position: &P, help: bool) -> Scene<'_, P> {
        Scene {
            title: "afterstate".to_owned(),
            position,
            fresh: Some(0),
            panel: (1..=15).map(|n| Line::raw(format!("line {n}"))).collect(),
            keys: "q quit",
            help: help.then_some(&[("space", "pause"), ("q", "quit")]),
        }
    }

    #[test]
    fn everything_is_there_at_the_usual_size() {
        let board: Board = board!(2 4 8 16 / 131072 65536 0 0 / 0 0 0 0 / 0 0 0 2);
        for depth in [Depth::Plain, Depth::True] {
            let text = screen(80, 24, |frame| draw(frame, Palette::new(depth), scene(&board, false)));
            for part in ["afterstate", "131072", "65536", "16", "line 1", "line 15", "q quit"] {
                assert!(text.contains(part), "{part} is missing in\n{text}");
            }
        }
    }

    #[test]
    fn a_small_terminal_gets_a_message() {
        let board: Board = board!(2 4 8 16 / 0 0 0 0 / 0 0 0 0 / 0 0 0 2);
        let text = screen(40, 10, |frame| draw(frame, Palette::new(Depth::Plain), scene(&board, false)));
        assert!(text.contains("too small") && text.contains("40x10"), "{text}");
        assert!(!text.contains('│'));
        for (width, height) in [(1, 1), (2, 9), (30, 1)] {
            screen(width, height, |frame| draw(frame, Palette::new(Depth::Plain), scene(&board, true)));
        }
    }

    #[test]
    fn help_lies_over_the_board() {
        let board = board!(Grid<5, 5>: 2 4 8 16 32 / 0 0 0 0 0 / 0 0 0 0 0 / 0 0 0 0 0 / 0 0 0 0 33554432);
        let text = screen(80, 24, |frame| draw(frame, Palette::new(Depth::True), scene(&board, true)));
        assert!(text.contains("Keys") && text.contains("space  pause"), "{text}");
    }

    #[test]
    fn a_scene_without_colour_has_none() {
        let board: Board = board!(2 4 8 16 / 131072 65536 0 0 / 0 0 0 0 / 0 0 0 2);
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| draw(frame, Palette::new(Depth::Plain), scene(&board, true))).unwrap();
        let reset = ratatui::style::Color::Reset;
        assert!(terminal.backend().buffer().content().iter().all(|cell| cell.fg == reset && cell.bg == reset));
    }
}
