//! `replay`: recorded games, on the whole screen or as text.

use std::io::Write;
use std::path::PathBuf;

use afterstate_arena::record::{Reader, read_header};
use afterstate_arena::{Game, Header, RecordError, Step};
use afterstate_board::{Position, notation};
use anyhow::anyhow;
use clap::Args;
use serde::Serialize;

use crate::failure::{OrUsage, Outcome};
use crate::interrupt;
use crate::size::{Size, for_size};
use crate::tui::panel::grouped;
use crate::tui::replay::film::Film;
use crate::tui::speed::Speed;
use crate::tui::{TerminalStyle, replay, text};

/// Step through recorded games, forwards and backwards
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  afterstate eval --agent greedy --games 20 --records games.rec
  afterstate replay games.rec
  afterstate replay games.rec --game 3 --at 100 --plain
  afterstate replay games.rec --json --game 0
  afterstate replay games.rec --sum 12288 --sum 14336 > late.txt

Keys: left and right step, PgUp and PgDn ten moves, Home and End, space plays, + and - speed, up and down other games, q quit.
Without a terminal, and with --plain, a record of several games is listed, a single game is printed move by move.")]
pub struct ReplayArgs {
    /// A record file written by `eval --records`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The game of this index (the first on the screen)
    #[arg(long, value_name = "I")]
    game: Option<u64>,
    /// The position after N moves
    #[arg(long, value_name = "N")]
    at: Option<usize>,
    /// Print the position of each game in which the tiles first add up to S or more, one a line: a file for --starts
    #[arg(long = "sum", value_name = "S", conflicts_with = "at")]
    sums: Vec<u64>,
    /// Print the position of each game in which tile T, or a larger one, is first there, one a line: a file for --starts
    #[arg(long = "tile", value_name = "T", conflicts_with = "at")]
    tiles: Vec<u64>,
    /// Moves a second when it plays by itself; 0 is as fast as it goes
    #[arg(long, value_name = "RATE", default_value = "5", allow_negative_numbers = true)]
    speed: Speed,
    /// Print even on a terminal
    #[arg(long)]
    plain: bool,
    /// Take the whole games of a damaged file instead of refusing it
    #[arg(long)]
    salvage: bool,
}

pub fn run(args: &ReplayArgs, style: TerminalStyle, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let header = read_header(&args.file)?;
    let size: Size = header.size().parse()?;
    for_size!(size, P => replay_all::<P>(args, &header, style, out))
}

fn replay_all<P: Position>(
    args: &ReplayArgs,
    header: &Header,
    style: TerminalStyle,
    out: &mut dyn Write,
) -> anyhow::Result<Outcome> {
    let is_full_screen = args.wanted().is_empty() && style.full_screen(args.plain);
    let games = load::<P>(args, is_full_screen)?;
    let number = match args.game {
        None => 0,
        Some(index) => {
            games.iter().position(|game| game.index == index).ok_or_else(|| missing(args, index)).or_usage()?
        }
    };
    let Some(chosen) = games.get(number) else {
        return Err(anyhow!("{}: no games in it", args.file.display()));
    };
    if is_full_screen {
        let title = format!("{}   {}   seed {}", args.file.display(), header.setup.agent, header.setup.seed);
        replay::run(&games, number, args.at.unwrap_or(0), &title, args.speed, style.color)?;
        return Ok(if interrupt::requested() { Outcome::Interrupted } else { Outcome::Done });
    }
    let wanted = args.wanted();
    if !wanted.is_empty() {
        print_first(&games, &wanted, style.json, out)?;
        return Ok(Outcome::Done);
    }
    match args.at {
        Some(at) => print_position(chosen, at, style.json, out)?,
        None if style.json => print_json(&games, header, out)?,
        None if args.game.is_none() && games.len() > 1 => print_list(&games, header, out)?,
        None => print_moves(chosen, out)?,
    }
    Ok(Outcome::Done)
}

/// The games of the file; only the wanted one unless the others are a key press away.
fn load<P: Position>(args: &ReplayArgs, all: bool) -> anyhow::Result<Vec<Game<P>>> {
    let mut games = Vec::new();
    for game in Reader::open(&args.file)?.games::<P>()? {
        match game {
            Ok(game) if all || args.game.is_none_or(|index| index == game.index) => games.push(game),
            Ok(_) => {}
            Err(error @ RecordError::Damaged(_)) if args.salvage => {
                crate::failure::complain!("{error}");
                break;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(games)
}

fn missing(args: &ReplayArgs, index: u64) -> anyhow::Error {
    anyhow!("{}: no game with index {index} in it (without --game all games are listed)", args.file.display())
}

/// One move as JSON.
#[derive(Serialize)]
struct StepReport {
    direction: &'static str,
    cell: u8,
    tile: u64,
}

impl From<Step> for StepReport {
    fn from(step: Step) -> Self {
        Self { direction: step.direction.name(), cell: step.spawn.cell, tile: 1 << step.spawn.exponent.min(63) }
    }
}

/// One game as JSON.
#[derive(Serialize)]
struct GameReport {
    game: u64,
    score: u64,
    moves: u64,
    max_tile: u64,
    over: bool,
    start: String,
    board: String,
    steps: Vec<StepReport>,
}

/// A position of a game as JSON.
#[derive(Serialize)]
struct PositionReport {
    game: u64,
    at: usize,
    score: u64,
    board: String,
    over: bool,
    /// The move that led here.
    last: Option<StepReport>,
    /// The move that leads on.
    next: Option<StepReport>,
}

/// Written game by game: a record may hold more of them than a document should.
fn print_json<P: Position>(games: &[Game<P>], header: &Header, out: &mut dyn Write) -> anyhow::Result<()> {
    let setup = &header.setup;
    let agent = serde_json::to_string(&setup.agent)?;
    write!(out, "{{\"agent\":{agent},\"size\":\"{}\",\"seed\":{},\"games\":[", header.size(), setup.seed)?;
    for (number, game) in games.iter().enumerate() {
        let report = GameReport {
            game: game.index,
            score: game.score,
            moves: game.moves(),
            max_tile: text::max_tile(&game.last),
            over: game.is_over(),
            start: notation::digits(&game.start, ""),
            board: notation::digits(&game.last, ""),
            steps: game.steps.iter().copied().map(StepReport::from).collect(),
        };
        write!(out, "{}\n{}", if number == 0 { "" } else { "," }, serde_json::to_string(&report)?)?;
    }
    writeln!(out, "\n]}}")?;
    Ok(())
}

fn print_position<P: Position>(game: &Game<P>, at: usize, json: bool, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut film = Film::new(game);
    if at > film.end() {
        return Err(anyhow!("--at {at}: game {} has {} moves", game.index, film.end())).or_usage();
    }
    film.seek(at);
    let still = film.still();
    let (last, next) = (film.last_step(), film.next_step());
    if json {
        let board = notation::digits(&still.position, "");
        let (last, next) = (last.map(StepReport::from), next.map(StepReport::from));
        let (score, over) = (still.score, still.position.is_over());
        return text::json_line(out, &PositionReport { game: game.index, at, score, board, over, last, next });
    }
    let (score, end) = (grouped(still.score), film.end());
    writeln!(out, "game {}, move {at} of {end}, score {score}\n{}", game.index, text::table(&still.position))?;
    if let Some(step) = last {
        writeln!(out, "last move {}, new tile {}", step.direction, text::spawn::<P>(step.spawn))?;
    }
    if let Some(step) = next {
        writeln!(out, "next move {}", step.direction)?;
    }
    Ok(())
}

/// Where each game first reaches each sum of tiles, the games that fall short left out.
/// What a position that is asked for has.
#[derive(Clone, Copy)]
enum Wanted {
    /// Tiles that add up to so much.
    Sum(u64),
    /// A tile as large as this.
    Tile(u64),
}

impl ReplayArgs {
    fn wanted(&self) -> Vec<Wanted> {
        let sums = self.sums.iter().map(|&sum| Wanted::Sum(sum));
        sums.chain(self.tiles.iter().map(|&tile| Wanted::Tile(tile))).collect()
    }
}

impl Wanted {
    fn is_met<P: Position>(self, position: &P) -> bool {
        match self {
            Self::Sum(sum) => position.tile_sum() >= sum,
            Self::Tile(tile) => 1 << position.max_exponent() >= tile,
        }
    }
}

/// The first position of each game that has what is wanted, and in which the game goes on.
fn print_first<P: Position>(
    games: &[Game<P>],
    wanted: &[Wanted],
    json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let first = |game: &Game<P>, wanted: Wanted| {
        let mut positions = game.plies().filter_map(Result::ok).map(|ply| ply.position);
        positions.find(|position| wanted.is_met(position) && !position.is_over())
    };
    let found: Vec<String> = wanted
        .iter()
        .flat_map(|&wanted| games.iter().filter_map(move |game| first(game, wanted)))
        .map(|position| notation::digits(&position, ""))
        .collect();
    if json {
        return text::json_line(out, &found);
    }
    found.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    Ok(())
}

fn print_list<P: Position>(games: &[Game<P>], header: &Header, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(out, "{} on {}, seed {}\n", header.setup.agent, header.size(), header.setup.seed)?;
    writeln!(out, "{:>8}  {:>10}  {:>7}  {:>8}", "game", "score", "moves", "max tile")?;
    for game in games {
        let (index, score, moves) = (game.index, grouped(game.score), grouped(game.moves()));
        let end = if game.is_over() { "" } else { "  stopped" };
        writeln!(out, "{index:>8}  {score:>10}  {moves:>7}  {:>8}{end}", text::max_tile(&game.last))?;
    }
    writeln!(out, "\n{} games; --game I prints one of them move by move", grouped(games.len() as u64))?;
    Ok(())
}

fn print_moves<P: Position>(game: &Game<P>, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut film = Film::new(game);
    writeln!(out, "game {}\n{}\n", game.index, text::table(&game.start))?;
    writeln!(out, "{:>6}  {:<5}  {:>7}  {:<23}  {:>9}  board", "move", "", "points", "new tile", "score")?;
    for at in 1..=film.end() {
        film.seek(at);
        let (still, reward) = (film.still(), format!("+{}", film.reward()));
        if let Some(Step { direction, spawn }) = film.last_step() {
            let (spawn, score) = (text::spawn::<P>(spawn), grouped(still.score));
            writeln!(out, "{at:>6}  {direction:<5}  {reward:>7}  {spawn:<23}  {score:>9}  {}", still.position)?;
        }
    }
    let (score, moves) = (grouped(game.score), text::moves(game.moves()));
    writeln!(out, "\n{}\nscore {score}, {moves}, max tile {}", text::table(&game.last), text::max_tile(&game.last))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use afterstate_arena::Setup;
    use afterstate_arena::record::Writer;
    use afterstate_board::Board;
    use clap::Parser;

    use super::*;
    use crate::tui::replay::film::tests::game;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: ReplayArgs,
    }

    fn printed(words: &str, json: bool) -> anyhow::Result<String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("games.rec");
        let mut writer = Writer::<Board>::create_new(&file, &Header::new::<Board>(Setup::new("first", 1))).unwrap();
        for index in 0..3 {
            writer.write(&game(index)).unwrap();
        }
        drop(writer);
        let words = ["replay", file.to_str().unwrap()].into_iter().chain(words.split_whitespace());
        let args = Cli::try_parse_from(words).unwrap().args;
        let mut out = Vec::new();
        run(&args, TerminalStyle { color: false, interactive: false, json }, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn several_games_are_listed_and_one_is_printed() {
        let list = printed("", false).unwrap();
        assert!(list.contains("3 games") && list.contains("first on 4x4, seed 1"), "{list}");
        let moves = printed("--game 1", false).unwrap();
        assert!(moves.starts_with("game 1\n") && moves.contains(&game::<Board>(1).last.to_string()), "{moves}");
    }

    #[test]
    fn positions_are_found_by_their_largest_tile() {
        let boards = |words: &str| -> Vec<Board> {
            printed(words, false).unwrap().lines().map(|line| line.parse().unwrap()).collect()
        };
        let tiles = boards("--tile 16");
        assert_eq!((tiles.len(), boards("--sum 40 --tile 16").len()), (3, 6));
        assert!(tiles.iter().all(|board| board.max_exponent() == 4), "{tiles:?}");
        assert!(boards("--tile 131072").is_empty());
    }

    #[test]
    fn a_position_is_printed_if_there_is_one() {
        let text = printed("--game 2 --at 3", false).unwrap();
        assert!(text.contains("game 2, move 3 of ") && text.contains("next move "), "{text}");
        let at: serde_json::Value = serde_json::from_str(&printed("--at 0", true).unwrap()).unwrap();
        assert_eq!(at["board"].as_str().unwrap().parse(), Ok(game::<Board>(0).start));
        assert!(at["last"].is_null() && at["next"].is_object());
        for bad in ["--at 99999", "--game 9", "--game 9 --at 1"] {
            assert!(printed(bad, false).unwrap_err().is::<crate::failure::Usage>(), "{bad}");
        }
    }

    #[test]
    fn positions_are_found_by_the_sum_of_their_tiles() {
        let text = printed("--sum 40 --sum 1000000", false).unwrap();
        let boards: Vec<Board> = text.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(boards.len(), 3, "every game passes 40, none a million");
        assert!(boards.iter().all(|board| (40..44).contains(&board.tile_sum())), "{text}");
    }

    #[test]
    fn games_as_json_hold_every_step() {
        let all: serde_json::Value = serde_json::from_str(&printed("", true).unwrap()).unwrap();
        assert_eq!(all["games"].as_array().unwrap().len(), 3);
        let one: serde_json::Value = serde_json::from_str(&printed("--game 1", true).unwrap()).unwrap();
        let expected = game::<Board>(1);
        assert_eq!(one["games"][0]["steps"].as_array().unwrap().len(), expected.steps.len());
        assert_eq!(one["games"][0]["score"], expected.score);
        assert_eq!(one["agent"], "first");
    }
}
