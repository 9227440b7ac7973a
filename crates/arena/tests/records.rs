//! Records: what is written is read; what was damaged is noticed; what was cut off goes on.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use afterstate_agent::{Budget, Context, build_from_text};
use afterstate_arena::record::{Damage, Fault, Reader, Writer, read_header, salvage};
use afterstate_arena::{Evaluation, Game, Header, RecordError, Setup, Step, Trust, merge, read_results};
use afterstate_board::{Board, Direction, Grid, Position, Spawn, SpawnRule};
use tempfile::TempDir;

fn games<P: Position>(setup: &Setup, count: u64) -> Vec<Game<P>> {
    let mut games = Vec::new();
    let build = || build_from_text(&setup.agent, &Context { rule: setup.rule });
    let keep = |game, _: &_| {
        games.push(game);
        Ok(())
    };
    Evaluation { threads: 1, ..Evaluation::new(setup.clone(), count) }.run(build, keep).unwrap();
    games
}

fn write<P: Position>(path: &Path, setup: &Setup, games: &[Game<P>]) {
    let mut writer = Writer::create_new(path, &Header::new::<P>(setup.clone())).unwrap();
    games.iter().for_each(|game| writer.write(game).unwrap());
}

fn read<P: Position>(path: &Path) -> Result<Vec<Game<P>>, RecordError> {
    Reader::open(path)?.games::<P>()?.collect()
}

/// A folder with one small record, for breaking.
struct Fixture {
    folder: TempDir,
    setup: Setup,
    games: Vec<Game<Board>>,
    bytes: Vec<u8>,
    /// Where the header and each game end.
    ends: Vec<usize>,
}

impl Fixture {
    fn new() -> Self {
        let (folder, setup) = (tempfile::tempdir().unwrap(), Setup { move_limit: Some(12), ..Setup::new("random", 3) });
        let (games, path) = (games::<Board>(&setup, 4), folder.path().join("games"));
        let mut writer = Writer::create_new(&path, &Header::new::<Board>(setup.clone())).unwrap();
        let length = || fs::metadata(&path).unwrap().len() as usize;
        let mut ends = vec![length()];
        for game in &games {
            writer.write(game).unwrap();
            ends.push(length());
        }
        let bytes = fs::read(&path).unwrap();
        Self { folder, setup, games, bytes, ends }
    }

    fn header(&self) -> Header {
        Header::new::<Board>(self.setup.clone())
    }

    fn file(&self, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join("broken");
        fs::write(&path, bytes).unwrap();
        path
    }

    fn whole_games_in(&self, length: usize) -> usize {
        self.ends.iter().filter(|&&end| end <= length).count().saturating_sub(1)
    }
}

fn damage(error: RecordError) -> Damage {
    match error {
        RecordError::Damaged(damage) => damage,
        other => panic!("not damage: {other}"),
    }
}

fn round_trip<P: Position>(agent: &str, rule: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games");
    let setup = Setup { rule: rule.parse().unwrap(), move_limit: Some(400), ..Setup::new(agent, 11) };
    let games = games::<P>(&setup, 5);
    write(&path, &setup, &games);
    assert_eq!(read_header(&path).unwrap(), Header::new::<P>(setup));
    assert_eq!(read::<P>(&path).unwrap(), games);
}

#[test]
fn games_read_back_as_they_were() {
    round_trip::<Board>("greedy", "2:0.9,4:0.1");
    round_trip::<Board>("random", "2:0.7,4:0.1,8:0.1,1024:0.1");
    round_trip::<Grid<4, 4>>("random", "2:0.9,4:0.1");
    round_trip::<Grid<2, 2>>("random", "4:1");
    round_trip::<Grid<2, 3>>("random", "2:0.9,4:0.1");
    round_trip::<Grid<3, 3>>("greedy", "2:0.9,4:0.1");
    round_trip::<Grid<5, 5>>("random", "2:0.85,4:0.1,8:0.05");
}

#[test]
fn a_step_takes_one_byte_or_two() {
    let folder = tempfile::tempdir().unwrap();
    let size = |name: &str, rule: &str| {
        let path = folder.path().join(name);
        let setup = Setup { rule: rule.parse().unwrap(), move_limit: Some(100), ..Setup::new("random", 1) };
        write::<Grid<5, 5>>(&path, &setup, &[]);
        let empty = fs::metadata(&path).unwrap().len();
        fs::remove_file(&path).unwrap();
        write(&path, &setup, &games::<Grid<5, 5>>(&setup, 1));
        fs::metadata(&path).unwrap().len() - empty
    };
    let around = 8 + 24 + 25 + 4;
    assert_eq!(size("narrow", "2:0.9,4:0.1"), around + 100);
    assert_eq!(size("wide", "2:0.85,4:0.1,8:0.05"), around + 200);
}

#[test]
fn a_budget_is_part_of_the_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("games");
    let budget = Budget { depth: Some(3), nodes: None, time: Some(Duration::from_micros(1500)) };
    let setup = Setup { budget, move_limit: Some(9), ..Setup::new("greedy", u64::MAX) };
    write::<Board>(&path, &setup, &[]);
    assert_eq!(read_header(&path).unwrap().setup, setup);
    let other = Header::new::<Board>(Setup { budget: Budget::OWN, ..setup });
    let error = Writer::<Board>::resume(&path, &other).unwrap_err().to_string();
    assert!(error.contains("not of the same run: budget is"), "{error}");
}

#[test]
fn every_changed_byte_is_noticed() {
    let fixture = Fixture::new();
    for at in 0..fixture.bytes.len() {
        for change in [1 << (at % 8), 0xff] {
            let mut bytes = fixture.bytes.clone();
            bytes[at] ^= change;
            let path = fixture.file(&bytes);
            let error = read::<Board>(&path).expect_err(&format!("byte {at} was changed by {change:#x}"));
            assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
            if at >= fixture.ends[0] {
                let (whole, damage) = (fixture.whole_games_in(at), damage(error));
                assert_eq!(damage.game, Some(whole as u64 + 1));
                assert_eq!(damage.offset, fixture.ends[whole] as u64);
                let salvaged = salvage::<Board>(&path).unwrap();
                assert_eq!(salvaged.games, fixture.games[..whole]);
                assert_eq!(salvaged.damage, Some(damage));
                assert_eq!(salvaged.lost_bytes, (fixture.bytes.len() - fixture.ends[whole]) as u64);
            }
        }
    }
}

/// A file that ends where a game ends is a whole record of fewer games; every other cut is damage.
#[test]
fn every_cut_is_noticed_and_the_games_before_it_are_salvaged() {
    let fixture = Fixture::new();
    for length in 0..fixture.bytes.len() {
        let path = fixture.file(&fixture.bytes[..length]);
        let whole = fixture.whole_games_in(length);
        if fixture.ends.contains(&length) {
            assert_eq!(read::<Board>(&path).unwrap(), fixture.games[..whole]);
            continue;
        }
        let damage = damage(read::<Board>(&path).expect_err(&format!("cut at {length}")));
        assert!(matches!(damage.fault, Fault::CutOff { .. }), "{damage}");
        if length < fixture.ends[0] {
            assert_eq!((damage.offset, damage.game), (0, None));
            assert!(salvage::<Board>(&path).is_err());
        } else {
            assert_eq!((damage.offset, damage.game), (fixture.ends[whole] as u64, Some(whole as u64 + 1)));
            assert_eq!(salvage::<Board>(&path).unwrap().games, fixture.games[..whole]);
        }
    }
}

#[test]
fn garbage_behind_the_last_game_is_noticed() {
    let fixture = Fixture::new();
    for garbage in [&[0; 1][..], &[0; 8], &[0; 500], &[255; 500], b"and so on and so on\n", &fixture.bytes] {
        let path = fixture.file(&[&fixture.bytes, garbage].concat());
        let damage = damage(read::<Board>(&path).unwrap_err());
        assert_eq!((damage.offset, damage.game), (fixture.bytes.len() as u64, Some(5)));
        assert_eq!(salvage::<Board>(&path).unwrap().games, fixture.games);
    }
}

#[test]
fn foreign_files_are_named_as_such() {
    let fixture = Fixture::new();
    let error = |bytes: &[u8]| read::<Board>(&fixture.file(bytes)).unwrap_err();
    assert!(matches!(error(b"2 4 8 16\n"), RecordError::Foreign { .. }));
    assert!(matches!(error(b"\x89PNG\r\n\x1a\n and more"), RecordError::Foreign { .. }));
    assert!(matches!(damage(error(b"")).fault, Fault::CutOff { left: 0, .. }));
    let mut newer = fixture.bytes.clone();
    newer[8] = 2;
    assert!(error(&newer).to_string().contains("record format 2, but this program reads format 1"));
    let missing = read::<Board>(&fixture.folder.path().join("missing")).unwrap_err();
    assert!(missing.to_string().contains("missing: cannot open it: No such file"), "{missing}");
    let folder = read::<Board>(fixture.folder.path()).unwrap_err();
    assert!(folder.to_string().contains("cannot read it"), "{folder}");
    let size = read::<Grid<3, 3>>(&fixture.file(&fixture.bytes)).unwrap_err().to_string();
    assert!(size.ends_with("games on a 4x4 board, not 3x3"), "{size}");
}

/// Puts a payload into a frame that is correct in itself.
fn framed(payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u32;
    let mut frame = [&length.to_le_bytes()[..], &(!length).to_le_bytes(), payload].concat();
    frame.extend(crc32fast::hash(&frame).to_le_bytes());
    frame
}

/// Frames whose checksums are right, written by a wrong program.
#[test]
fn games_against_the_rules_are_refused() {
    let fixture = Fixture::new();
    let (header, payload) =
        (&fixture.bytes[..fixture.ends[0]], &fixture.bytes[fixture.ends[0] + 8..fixture.ends[1] - 4]);
    let read_one = |payload: &[u8]| read::<Board>(&fixture.file(&[header, &framed(payload)].concat()));
    let fault = |payload: &[u8]| damage(read_one(payload).unwrap_err()).fault;
    let changed = |at: usize, value: u8| {
        let mut payload = payload.to_vec();
        payload[at] = value;
        fault(&payload)
    };
    assert!(matches!(fault(&[]), Fault::Length(0)));
    assert!(matches!(fault(&payload[..39]), Fault::Length(39)));
    assert!(matches!(changed(8, payload[8] ^ 4), Fault::Replay(_)), "score");
    assert!(matches!(changed(23, 0xff), Fault::Seconds));
    assert!(matches!(changed(24, 18), Fault::Tile { cell: 1, exponent: 18 }));
    assert!(matches!(changed(45, 128), Fault::Code { ply: 6, code: 128 }));
    // Another first step is illegal, or leads elsewhere than the rest of the game needs; a few are games of their own.
    let refused = (0..128).filter(|&code| {
        let mut other = payload.to_vec();
        other[40] = code;
        match read_one(&other) {
            Ok(games) => {
                assert_eq!(games[0] == fixture.games[0], code == payload[40]);
                false
            }
            Err(error) => matches!(damage(error).fault, Fault::Replay(_)),
        }
    });
    assert!(refused.count() > 100);

    let absurd = [&u32::MAX.to_le_bytes()[..], &0u32.to_le_bytes(), &[0; 100]].concat();
    let absurd = damage(read::<Board>(&fixture.file(&[header, &absurd].concat())).unwrap_err()).fault;
    assert!(matches!(absurd, Fault::Length(u32::MAX)));
    let large = 200u32 << 20;
    let large = [&large.to_le_bytes()[..], &(!large).to_le_bytes(), &[0; 100]].concat();
    let large = damage(read::<Board>(&fixture.file(&[header, &large].concat())).unwrap_err()).fault;
    assert!(
        matches!(large, Fault::CutOff { left: 108, .. }),
        "nothing is reserved for bytes that are not there: {large}"
    );
}

#[test]
fn what_the_format_cannot_hold_is_refused() {
    let fixture = Fixture::new();
    let path = fixture.folder.path().join("new");
    let mut writer = Writer::<Board>::create_new(&path, &fixture.header()).unwrap();
    let mut game = fixture.games[0].clone();
    game.steps[4] = Step { direction: Direction::Up, spawn: Spawn { cell: 0, exponent: 3 } };
    let error = writer.write(&game).unwrap_err().to_string();
    assert!(error.contains("game 0 cannot be written: ply 5: exponent 3 in cell 0 is not a spawn of rule"), "{error}");
    writer.write(&fixture.games[1]).unwrap();
    assert_eq!(read::<Board>(&path).unwrap(), fixture.games[1..2]);
}

#[test]
fn an_existing_file_is_never_replaced() {
    let fixture = Fixture::new();
    let path = fixture.file(b"precious");
    assert!(matches!(Writer::<Board>::create_new(&path, &fixture.header()), Err(RecordError::Exists { .. })));
    assert!(matches!(Writer::<Board>::resume(&path, &fixture.header()), Err(RecordError::Foreign { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"precious");
    let nowhere = fixture.folder.path().join("no/such/folder/games");
    let error = Writer::<Board>::create_new(&nowhere, &fixture.header()).unwrap_err().to_string();
    assert!(error.contains("no/such/folder/games: cannot create it"), "{error}");
}

#[test]
fn two_writers_do_not_share_a_file() {
    let fixture = Fixture::new();
    let path = fixture.folder.path().join("games");
    let resumed = Writer::<Board>::resume(&path, &fixture.header()).unwrap();
    assert!(matches!(Writer::<Board>::resume(&path, &fixture.header()), Err(RecordError::Busy { .. })));
    drop(resumed);
    Writer::<Board>::resume(&path, &fixture.header()).unwrap();
}

#[test]
fn only_the_same_run_is_resumed() {
    let fixture = Fixture::new();
    let path = fixture.folder.path().join("games");
    let error = |setup: Setup| Writer::<Board>::resume(&path, &Header::new::<Board>(setup)).unwrap_err().to_string();
    let setup = || fixture.setup.clone();
    assert!(error(Setup { seed: 4, ..setup() }).ends_with("not of the same run: seed is 3, not 4"));
    assert!(error(Setup { agent: "greedy".into(), ..setup() }).ends_with("agent is \"random\", not \"greedy\""));
    assert!(error(Setup { rule: SpawnRule::new(&[(1, 1.0)]).unwrap(), ..setup() }).contains("rule is \"2:0.9,4:0.1\""));
    assert!(error(Setup { move_limit: None, ..setup() }).ends_with("move_limit is 12, not unset"));
}

/// Wherever a run is killed, going on gives the record and the summary of a run that was not.
#[test]
fn a_killed_run_goes_on() {
    let fixture = Fixture::new();
    let whole = read_results(&fixture.folder.path().join("games")).unwrap();
    for length in (fixture.ends[0]..fixture.bytes.len()).chain([0]) {
        let path = fixture.file(&fixture.bytes[..length]);
        let resumed = Writer::<Board>::resume(&path, &fixture.header()).unwrap();
        let mut writer = resumed.writer;
        let kept = fixture.whole_games_in(length);
        assert_eq!(resumed.outcomes, whole.outcomes()[..kept]);
        assert_eq!(resumed.dropped_bytes, if length == 0 { 0 } else { (length - fixture.ends[kept]) as u64 });
        let played: BTreeSet<u64> = resumed.outcomes.iter().map(|outcome| outcome.index).collect();
        for game in fixture.games.iter().filter(|game| !played.contains(&game.index)) {
            writer.write(game).unwrap();
        }
        assert_eq!(fs::read(&path).unwrap(), fixture.bytes);
    }
}

/// Dropping everything behind a damaged length would lose the games after it.
#[test]
fn damage_in_the_middle_is_not_resumed() {
    let fixture = Fixture::new();
    for at in fixture.ends[1]..fixture.ends[2] {
        let mut bytes = fixture.bytes.clone();
        bytes[at] ^= 0x40;
        let path = fixture.file(&bytes);
        let damage = damage(Writer::<Board>::resume(&path, &fixture.header()).unwrap_err());
        assert_eq!((damage.offset, damage.game), (fixture.ends[1] as u64, Some(2)));
        assert_eq!(fs::read(&path).unwrap(), bytes, "the file stays as it was");
    }
}

#[test]
fn merging_joins_shards_and_notices_contradictions() {
    let fixture = Fixture::new();
    let at = |name: &str| fixture.folder.path().join(name);
    let (all, even, odd) = (at("games"), at("even"), at("odd"));
    let part = |rest: u64| fixture.games.iter().filter(|game| game.index % 2 == rest).cloned().collect::<Vec<_>>();
    write(&even, &fixture.setup, &part(0));
    write(&odd, &fixture.setup, &part(1));
    let mut seen = Vec::new();
    let collect = |game: &Game<Board>| {
        seen.push(game.index);
        Ok(())
    };
    let merged = merge(&[&odd, &even, &all], Trust::Strict, collect).unwrap();
    assert_eq!(merged.results, read_results(&all).unwrap());
    seen.sort_unstable();
    assert_eq!(seen, [0, 1, 2, 3], "each game once");

    let mut other = fixture.games[2].clone();
    other.index = 1;
    let lie = at("lie");
    write(&lie, &fixture.setup, &[other]);
    let join = |paths: &[&PathBuf], trust| merge::<Board, _>(paths, trust, |_| Ok(()));
    let error = join(&[&all, &lie], Trust::Strict).unwrap_err();
    assert!(matches!(&error, RecordError::Conflict { path, index: 1 } if *path == lie), "{error}");
    let foreign = at("foreign");
    write::<Board>(&foreign, &Setup { seed: 9, ..fixture.setup.clone() }, &[]);
    let error = join(&[&all, &foreign], Trust::Strict).unwrap_err().to_string();
    assert!(error.ends_with("foreign: not of the same run: seed is 9, not 3"), "{error}");
    assert!(matches!(join(&[], Trust::Strict), Err(RecordError::NoFile)));

    let cut = fixture.file(&fixture.bytes[..fixture.bytes.len() - 1]);
    assert!(matches!(join(&[&cut], Trust::Strict), Err(RecordError::Damaged(_))));
    let salvaged = join(&[&cut, &even], Trust::Salvage).unwrap();
    assert_eq!((salvaged.results.outcomes().len(), salvaged.damages.len()), (3, 1));
}
