//! Shards back together: several records of one run give the results of that run.

use std::collections::HashMap;
use std::path::Path;

use afterstate_board::Position;

use crate::record::{Damage, Reader, read_header};
use crate::{Game, Header, Outcome, RecordError, Results, Size, for_size};

/// What to do about damage in a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Fail.
    #[default]
    Strict,
    /// Take the whole games before it.
    Salvage,
}

/// Joined records.
#[derive(Clone, Debug)]
pub struct Merged {
    /// All games.
    pub results: Results,
    /// What was lost; empty unless salvaging.
    pub damages: Vec<Damage>,
}

/// Reads one record, of boards of any size, into results: [`merge`] of a single file.
pub fn read_results(path: &Path) -> Result<Results, RecordError> {
    let unknown = |reason| RecordError::UnknownSize { path: path.to_owned(), reason };
    let size = read_header(path)?.size().parse::<Size>().map_err(unknown)?;
    for_size!(size, P => Ok(merge::<P, _>(&[path], Trust::Strict, |_| Ok(()))?.results))
}

/// Joins records that have the same header.
///
/// A game that is in several must be the same game in all of them; `sink` sees it once. The results are those of one run of
/// all these games, to the byte, times aside.
pub fn merge<P: Position, Q: AsRef<Path>>(
    paths: &[Q],
    trust: Trust,
    mut sink: impl FnMut(&Game<P>) -> Result<(), RecordError>,
) -> Result<Merged, RecordError> {
    let mut header: Option<Header> = None;
    let mut outcomes: HashMap<u64, Outcome> = HashMap::new();
    let mut damages = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let reader = Reader::open(path)?;
        let first = header.get_or_insert_with(|| reader.header().clone());
        if let Some(difference) = first.difference(reader.header()) {
            return Err(RecordError::Different { path: path.to_owned(), difference });
        }
        for game in reader.games::<P>()? {
            let game = match game {
                Ok(game) => game,
                Err(RecordError::Damaged(damage)) if trust == Trust::Salvage => {
                    damages.push(damage);
                    break;
                }
                Err(error) => return Err(error),
            };
            let outcome = game.outcome();
            match outcomes.get(&game.index) {
                None => {
                    outcomes.insert(game.index, outcome);
                    sink(&game)?;
                }
                Some(known) if known.is_same_play(&outcome) => {}
                Some(_) => return Err(RecordError::Conflict { path: path.to_owned(), index: game.index }),
            }
        }
    }
    let results = Results::sorted(header.ok_or(RecordError::NoFile)?, outcomes.into_values().collect());
    Ok(Merged { results, damages })
}
