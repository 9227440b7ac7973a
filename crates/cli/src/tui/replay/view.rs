//! What `replay` shows of a moment of a recorded game.

use afterstate_board::Position;
use ratatui::text::{Line, Span};

use super::Replay;
use super::film::Still;
use crate::tui::panel::{fact, grouped};
use crate::tui::scene::{KeyHelp, Scene};
use crate::tui::text;

const KEYS: &str = "left right step   space play   + - speed   up down game   ? keys   q quit";

const HELP: &[KeyHelp] = &[
    ("right, left", "one move on, one back"),
    ("PgDn, PgUp", "ten moves on, ten back"),
    ("Home, End", "first position, last position"),
    ("space", "play, stop"),
    ("+, -", "faster, slower"),
    ("down, up", "next game of the file, previous; also ] ["),
    ("?", "these keys"),
    ("q, Esc", "quit"),
];

pub fn scene<'a, P: Position>(replay: &Replay<'_, P>, still: &'a Still<P>) -> Scene<'a, P> {
    let size = text::size::<P>();
    Scene {
        title: format!("afterstate replay   {size}   {}", replay.title),
        position: &still.position,
        fresh: replay.film.last_step().map(|step| usize::from(step.spawn.cell)),
        panel: panel(replay, still),
        keys: KEYS,
        help: replay.is_helping.then_some(HELP),
    }
}

fn panel<P: Position>(replay: &Replay<'_, P>, still: &Still<P>) -> Vec<Line<'static>> {
    let (film, palette) = (&replay.film, replay.palette);
    let none = || "-".to_owned();
    let last = film.last_step().map_or_else(none, |step| format!("{} +{}", step.direction, grouped(film.reward())));
    let spawn = film.last_step().map_or_else(none, |step| text::spawn::<P>(step.spawn));
    let next = film.next_step().map_or_else(none, |step| step.direction.to_string());
    let count = |at: usize, of: usize| format!("{} of {}", grouped(at as u64), grouped(of as u64));
    vec![
        status(replay),
        Line::default(),
        fact(palette, "Move", count(film.at(), film.end())),
        fact(palette, "Score", grouped(still.score)),
        fact(palette, "Max tile", text::max_tile(&still.position).to_string()),
        fact(palette, "Last move", last),
        fact(palette, "New tile", spawn),
        fact(palette, "Next move", next),
        Line::default(),
        fact(palette, "Game", format!("{}, index {}", count(replay.number + 1, replay.games.len()), film.game.index)),
        fact(palette, "Result", format!("{} points", grouped(film.game.score))),
        fact(palette, "Speed", replay.speed.to_string()),
    ]
}

fn status<P: Position>(replay: &Replay<'_, P>) -> Line<'static> {
    let (film, palette) = (&replay.film, replay.palette);
    let (text, style) = match () {
        () if replay.is_playing => ("playing", palette.good()),
        () if film.is_at_end() && film.fault.is_some() => ("the record breaks off here", palette.bad()),
        () if film.is_at_end() && film.still().position.is_over() => ("end: no move is left", palette.bad()),
        () if film.is_at_end() => ("end: stopped here", palette.strong()),
        () => ("stopped", palette.strong()),
    };
    Line::from(Span::styled(text, style))
}
