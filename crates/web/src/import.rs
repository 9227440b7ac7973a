//! `POST /api/import`: a game as text, in whatever form it is recognised. A form counts as recognised if every move of the game is
//! legal and every new tile falls on an empty cell: a wrong guess does not survive many moves.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;

use crate::agents::Variant;
use crate::engine;
use crate::error::{ApiError, ApiResult};
use crate::routes::Request;
use crate::state::Shared;

/// The steps of a game and where it begins, in the page's own notation.
struct Found {
    size: String,
    start: String,
    steps: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ImportRequest {
    text: String,
}

pub(crate) async fn import(
    State(shared): State<Shared>,
    Request(request): Request<ImportRequest>,
) -> ApiResult<Json<Value>> {
    let most = shared.limits.game_moves;
    let read = move |_: &_| {
        let text = request.text.trim();
        if text.is_empty() {
            return Err(ApiError::bad("there is no text to load"));
        }
        if text.starts_with('{') { film(&from_json(text)?, most) } else { from_replay(text, most) }
    };
    Ok(Json(shared.pool.run(shared.limits.search_time, read).await??))
}

fn film(found: &Found, most: usize) -> ApiResult<Value> {
    if found.steps.len() > 3 * most {
        return Err(ApiError::excessive(format!("a game here has at most {most} moves")));
    }
    engine::film(Variant::read(Some(&found.size), None)?, &found.start, &found.steps)
}

/// What `replay --json` prints (its first game), or one game of it, or what the page's own interface calls a film.
fn from_json(text: &str) -> ApiResult<Found> {
    let unknown =
        || ApiError::bad("this JSON is not a game: paste what `afterstate replay FILE --game I --json` prints");
    let whole: Value = serde_json::from_str(text).map_err(|error| ApiError::bad(format!("not JSON: {error}")))?;
    let game = whole.get("games").and_then(|games| games.get(0)).unwrap_or(&whole);
    let size = whole.get("size").and_then(Value::as_str).unwrap_or("4x4").to_owned();
    let start = game.get("start").and_then(Value::as_str).ok_or_else(unknown)?.to_owned();
    let steps = match game.get("steps") {
        Some(Value::String(steps)) => steps.clone(),
        Some(Value::Array(steps)) => steps.iter().map(step).collect::<Option<String>>().ok_or_else(unknown)?,
        _ => return Err(unknown()),
    };
    Ok(Found { size, start, steps })
}

fn step(value: &Value) -> Option<String> {
    let direction = value.get("direction")?.as_str()?.get(..1)?;
    let cell = char::from_digit(u32::try_from(value.get("cell")?.as_u64()?).ok()?, 36)?;
    let tile = value.get("tile")?.as_u64().filter(|tile| tile.is_power_of_two())?;
    Some(format!("{direction}{cell}{}", char::from_digit(tile.trailing_zeros(), 36)?))
}

/// A replay of the public site 2048verse, in its newer or its older form.
fn from_replay(text: &str, most: usize) -> ApiResult<Value> {
    from_triples(text, most).map_or_else(|| from_symbols(text, most), Ok)
}

/// How three symbols of seven bits make the number of a step: what is not documented, and so is tried.
#[derive(Clone, Copy)]
struct Reading {
    zero: u32,
    last_symbol_first: bool,
    /// The ten bits that count are the highest of the 21, not the lowest.
    high: bool,
    /// The least exponent that the two bits of the tile stand for when they are 0.
    least: u32,
    transposed: bool,
}

/// Three symbols a step, as the newer replays of 2048verse have it: `4x4-..._` and then, for each step, three bits of the row, three of
/// the column, two of the tile and two of the move (up, down, left, right), the first two being the starting tiles.
fn from_triples(text: &str, most: usize) -> Option<Value> {
    /// So many steps tell whether a reading is right.
    const PROBE: usize = 40;
    let (header, body) = text.split_once('_')?;
    let size: afterstate_arena::Size = header.split('-').next()?.parse().ok()?;
    let symbols: Vec<u32> = body.chars().map(u32::from).collect();
    let (low, high) = (*symbols.iter().min()?, *symbols.iter().max()?);
    // Two starting tiles and ten moves: fewer would prove nothing.
    if symbols.len() < 36 || !symbols.len().is_multiple_of(3) || high - low > 127 {
        return None;
    }
    let triples = symbols.as_chunks::<3>().0;
    let each = |bit: u32| move |n: u32| n >> bit & 1 == 1;
    for (zero, kind) in (high.saturating_sub(127)..=low).flat_map(|zero| (0..16).map(move |kind| (zero, kind))) {
        let (last_symbol_first, is_high, four, transposed) =
            (each(0)(kind), each(1)(kind), each(2)(kind), each(3)(kind));
        let reading = Reading { zero, last_symbol_first, high: is_high, least: u32::from(!four), transposed };
        let fits = |triples| reading.game(size, triples).and_then(|found| film(&found, most).ok());
        if fits(&triples[..triples.len().min(PROBE)]).is_some()
            && let Some(film) = fits(triples)
        {
            return Some(film);
        }
    }
    None
}

impl Reading {
    /// The cell, the exponent and the move of a step.
    fn step(&self, size: afterstate_arena::Size, triple: [u32; 3]) -> Option<(u32, u32, char)> {
        let [a, b, c] = triple.map(|symbol| symbol - self.zero);
        let number = if self.last_symbol_first { c << 14 | b << 7 | a } else { a << 14 | b << 7 | c };
        let bits = if self.high { number >> 11 } else { number & 1023 };
        let (y, x) = (bits >> 7 & 7, bits >> 4 & 7);
        let (row, column) = if self.transposed { (x, y) } else { (y, x) };
        let inside = (row as usize) < size.rows && (column as usize) < size.columns;
        // Larger new tiles would make a wrong reading look right.
        let exponent = self.least + (bits >> 2 & 3);
        (inside && matches!(exponent, 1 | 2))
            .then(|| (row * size.columns as u32 + column, exponent, ['u', 'd', 'l', 'r'][(bits & 3) as usize]))
    }

    fn game(&self, size: afterstate_arena::Size, triples: &[[u32; 3]]) -> Option<Found> {
        let mut start = vec![0; size.cells()];
        let (tiles, steps) = triples.split_at_checked(2)?;
        for &triple in tiles {
            let (cell, exponent, _) = self.step(size, triple)?;
            start[cell as usize] = exponent;
        }
        let start: String = start.iter().filter_map(|e| char::from_digit(*e, 36)).collect();
        let text = |&triple: &[u32; 3]| {
            let (cell, exponent, direction) = self.step(size, triple)?;
            Some(format!("{direction}{}{exponent}", char::from_digit(cell, 36)?))
        };
        Some(Found { size: size.to_string(), start, steps: steps.iter().map(text).collect::<Option<String>>()? })
    }
}

/// One symbol a step, as the older replays of the public site 2048verse have it: after a header of 7 characters, seven bits each
/// (two of the move, one for a 4, two and two of the cell), the first two being the starting tiles. Which symbol stands for 0 is
/// not documented, so every beginning of a run of 128 code points is tried.
fn from_symbols(text: &str, most: usize) -> ApiResult<Value> {
    const HEADER: usize = 7;
    let unknown = || ApiError::bad("this text is no replay that is known here");
    let symbols: Vec<u32> = text.chars().skip(HEADER).map(u32::from).collect();
    let (Some(&low), Some(&high)) = (symbols.iter().min(), symbols.iter().max()) else { return Err(unknown()) };
    // Two starting tiles and ten moves: fewer would prove nothing.
    if symbols.len() < 12 || high - low > 127 {
        return Err(unknown());
    }
    for zero in high.saturating_sub(127)..=low {
        for transposed in [false, true] {
            let found = decode(symbols.iter().map(|symbol| symbol - zero), transposed);
            if let Some(film) = found.and_then(|found| film(&found, most).ok()) {
                return Ok(film);
            }
        }
    }
    Err(unknown())
}

fn decode(mut codes: impl Iterator<Item = u32>, transposed: bool) -> Option<Found> {
    let cell = |code: u32| {
        let (x, y) = (code >> 2 & 3, code & 3);
        if transposed { 4 * x + y } else { 4 * y + x }
    };
    let exponent = |code: u32| 1 + (code >> 4 & 1);
    let mut start = [0; 16];
    for code in [codes.next()?, codes.next()?] {
        start[cell(code) as usize] = exponent(code);
    }
    let start: String = start.iter().filter_map(|e| char::from_digit(*e, 36)).collect();
    let step = |code: u32| {
        let direction = ['u', 'r', 'd', 'l'][(code >> 5 & 3) as usize];
        Some(format!("{direction}{}{}", char::from_digit(cell(code), 36)?, exponent(code)))
    };
    Some(Found { size: "4x4".to_owned(), start, steps: codes.map(step).collect::<Option<String>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_arena::{Live, Step};
    use afterstate_board::{Board, Position, SpawnRule};

    fn live() -> Live<Board> {
        let mut live = Live::<Board>::new(SpawnRule::CLASSIC, 5, 0);
        while let Some(direction) = live.position().legal().iter().next() {
            live.play(direction);
        }
        live
    }

    fn symbols(live: &Live<Board>, zero: u32) -> String {
        let code = |direction: u32, cell: u32, exponent: u32| {
            char::from_u32(zero + (direction << 5 | (exponent - 1) << 4 | (cell % 4) << 2 | (cell / 4))).unwrap()
        };
        let start = live.start();
        let tiles = (0..16).filter(|&cell| start.exponent(cell) > 0);
        let tiles: String = tiles.map(|cell| code(0, cell as u32, start.exponent(cell).into())).collect();
        let step = |step: &Step| {
            let direction = [3, 1, 0, 2][step.direction.index()];
            code(direction, step.spawn.cell.into(), step.spawn.exponent.into())
        };
        let steps: String = live.steps().iter().map(step).collect();
        format!("header.{tiles}{steps}")
    }

    #[test]
    fn games_of_one_symbol_a_step_are_recognised_whatever_the_first_symbol() {
        let live = live();
        for zero in [33, 0xA1, 0x4E00] {
            let film = from_symbols(&symbols(&live, zero), 10_000).unwrap();
            assert_eq!(film["scores"].as_array().unwrap().last().unwrap(), live.score(), "{zero}");
        }
        let mut wrong: Vec<char> = symbols(&live, 33).chars().collect();
        wrong.swap(20, 40);
        wrong.swap(21, 60);
        assert!(from_symbols(&wrong.iter().collect::<String>(), 10_000).is_err());
    }

    fn triples(live: &Live<Board>, zero: u32, last_first: bool, shift: u32) -> String {
        let code = |direction: u32, cell: u32, exponent: u32| {
            let bits = (cell / 4) << 7 | (cell % 4) << 4 | (exponent - 1) << 2 | direction;
            let number = bits << shift;
            let mut symbols = [number >> 14, number >> 7 & 127, number & 127];
            if last_first {
                symbols.reverse();
            }
            symbols.map(|symbol| char::from_u32(zero + symbol).unwrap())
        };
        let start = live.start();
        let tiles = (0..16).filter(|&cell| start.exponent(cell) > 0);
        let tiles = tiles.map(|cell| code(0, cell as u32, start.exponent(cell).into()));
        let step = |step: &Step| {
            code([2, 3, 0, 1][step.direction.index()], step.spawn.cell.into(), step.spawn.exponent.into())
        };
        format!("4x4-classic_{}", tiles.chain(live.steps().iter().map(step)).flatten().collect::<String>())
    }

    #[test]
    fn games_of_three_symbols_a_step_are_recognised() {
        let live = live();
        for (zero, last_first, shift) in [(33, false, 0), (0xA1, true, 0), (40, false, 11)] {
            let film = from_replay(&triples(&live, zero, last_first, shift), 10_000).unwrap();
            assert_eq!(film["scores"].as_array().unwrap().last().unwrap(), live.score(), "{zero}");
        }
        let mut cut = triples(&live, 33, false, 0);
        cut.truncate(cut.len() - 1);
        assert!(from_replay(&cut, 10_000).is_err());
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "hello",
            "just some words that are no replay at all",
            "\u{1F600}abcdefghijklmnopqrstuvwxyz",
            "{}",
            "{\"start\":1}",
        ] {
            let result =
                if text.starts_with('{') { from_json(text).map(|_| Value::Null) } else { from_replay(text, 100) };
            assert_eq!(result.unwrap_err().status, 400, "{text}");
        }
    }

    #[test]
    fn what_replay_prints_is_read() {
        let json = r#"{"agent":"x","size":"4x4","games":[{"start":"1000000000000001","steps":[{"direction":"left","cell":2,"tile":4}]}]}"#;
        let found = from_json(json).unwrap();
        assert_eq!((found.start.as_str(), found.steps.as_str()), ("1000000000000001", "l22"));
        let film = film(&found, 10).unwrap();
        assert_eq!(film["boards"][1], "1020000000001000");
    }
}
