//! What `play` shows of a game.

use afterstate_board::Position;
use ratatui::text::{Line, Span};

use super::{Note, Play};
use crate::tui::panel::{fact, grouped, move_values};
use crate::tui::scene::{KeyHelp, Scene};
use crate::tui::text;

const KEYS: &str = "arrows move   u undo   y redo   t hint   n new game   i keys   q quit";

const HELP: &[KeyHelp] = &[
    ("arrows", "move; also w a s d and h j k l"),
    ("u", "undo, as often as you like"),
    ("y", "redo"),
    ("t, H", "a hint"),
    ("T", "hints on every move, on or off"),
    ("n", "new game"),
    ("i, ?", "these keys"),
    ("q, Esc", "quit"),
];

pub fn scene<'a, P: Position>(play: &'a Play<'_, P>) -> Scene<'a, P> {
    let state = &*play.state;
    let size = text::size::<P>();
    Scene {
        title: format!("afterstate play   {size}   seed {}   game {}   {}", state.seed(), state.game(), play.label),
        position: state.live().position(),
        fresh: state.fresh(),
        panel: panel(play),
        keys: KEYS,
        help: play.is_helping.then_some(HELP),
    }
}

fn panel<P: Position>(play: &Play<'_, P>) -> Vec<Line<'static>> {
    let (live, palette) = (play.state.live(), play.palette);
    let mut lines = vec![
        status(play),
        Line::default(),
        fact(palette, "Score", grouped(live.score())),
        fact(palette, "Best", grouped(play.state.best().score())),
        fact(palette, "Moves", grouped(live.steps().len() as u64)),
        fact(palette, "Max tile", text::max_tile(live.position()).to_string()),
        fact(palette, "Hints", if play.is_coached { "always" } else { "when asked" }.to_owned()),
        Line::default(),
    ];
    lines.extend(hint_lines(play));
    lines
}

fn status<P: Position>(play: &Play<'_, P>) -> Line<'static> {
    let palette = play.palette;
    let (text, style) = match &play.note {
        Note::ConfirmNew => ("Press n again to give up".to_owned(), palette.strong()),
        Note::Goal(tile) => (format!("{tile}! Well done. Go on?"), palette.good()),
        Note::Illegal(direction) => (format!("{direction} changes nothing"), palette.quiet()),
        Note::NothingToUndo => ("nothing to undo".to_owned(), palette.quiet()),
        Note::NothingToRedo => ("nothing to redo".to_owned(), palette.quiet()),
        Note::HintsFailed => ("the hint agent has failed".to_owned(), palette.bad()),
        Note::None if play.state.live().is_over() => ("Game over. n: new, u: undo".to_owned(), palette.bad()),
        Note::None => ("your move".to_owned(), palette.good()),
    };
    Line::from(Span::styled(text, style))
}

/// Always as many lines, so that the picture does not jump when a hint arrives.
fn hint_lines<P: Position>(play: &Play<'_, P>) -> Vec<Line<'static>> {
    let palette = play.palette;
    let remark = |text: String| Line::from(Span::styled(text, palette.quiet()));
    let Some(decision) = &play.hint else {
        let text = if play.thinker.is_thinking() { "thinking ..." } else { "" };
        let mut lines = vec![remark(text.to_owned())];
        lines.resize(7, Line::default());
        return lines;
    };
    let mut lines = vec![remark("Values of the moves".to_owned()), remark(format!("({})", play.unit))];
    lines.extend(move_values(palette, decision, play.state.live().position().legal()));
    lines.push(fact(palette, "Depth", format!("{}, nodes {}", decision.depth, grouped(decision.nodes))));
    lines
}
