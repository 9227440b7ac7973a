//! From a trained two-core network to one that fits into a repository: the rows that games meet most often, a byte a number; all
//! others as sums of vectors that are fitted to what was learned of them.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use afterstate_agent::{BoxedAgent, Context, Decision, Spec, SpecError, build_with};
use afterstate_arena::{Ply, Setup, play_game};
use afterstate_board::Position;
use afterstate_evaluator::file::{Metadata, Saved};
use afterstate_evaluator::lookup::file::{FORMAT, Precision, describe, fit_cells, read, rows, write};
use afterstate_evaluator::lookup::{Network, Role};

use crate::run::files::Folder;
use crate::shrink::{ShrinkError, Shrunk};

/// Room for the header.
const HEADER: usize = 4_096;

/// Games that are played to see which rows matter.
const GAMES: u64 = 200;

/// Packs the checkpoint of a learner into at most `limit` bytes.
pub fn shrink_lookup<P: Position>(from: &Path, to: &Path, limit: usize) -> Result<Shrunk, ShrinkError> {
    let saved = Saved::open(from, &FORMAT)?;
    let network = Arc::new(read::<P>(&saved)?);
    let moved = rows(&saved)?;
    let met = met::<P>(&network)?;
    let (kept, bytes) = chosen(&network, &moved, &met, limit)?;
    // A row that was never met still says a little about its cells.
    let fitted = fit_cells(&network, &moved, |row| 0.01 + met[row as usize] as f32);
    let facts = ["learner", "games", "moves", "version", "named", "taught_by"];
    let mut metadata: Metadata = describe::<P>(&network);
    metadata.extend(facts.iter().filter_map(|&key| Some((key.to_owned(), saved.metadata.get(key)?.clone()))));
    let folder = Folder::create(to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))?;
    let name = to.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let write = |out: &mut dyn io::Write| write(out, &metadata, &network, &fitted, &kept, Precision::Byte, &[]);
    folder.replace(&name, write)?;
    Ok(Shrunk { weights: moved.len(), kept: kept.len(), bytes })
}

/// How often each row is looked up in games that the network plays.
fn met<P: Position>(network: &Arc<Network>) -> Result<Vec<u32>, ShrinkError> {
    let mut met = vec![0u32; network.places().rows()];
    let mut looked_up = vec![0; network.places().count()];
    let refused = |error: String| ShrinkError::Refused(error);
    let values = network.shape().role == Role::Value;
    let text = if values { "greedy" } else { "policy" };
    let spec: Spec = text.parse().map_err(|error: SpecError| refused(error.to_string()))?;
    let mut agent: BoxedAgent<P> = build_with(&spec, &Context::default(), || Box::new(network.clone()))
        .map_err(|error| refused(error.to_string()))?;
    let setup = Setup::new(text, 0);
    for game in 0..GAMES {
        let mut count = |board: &P| {
            network.places().encode(board, &mut looked_up);
            looked_up.iter().for_each(|&row| met[row as usize] += 1);
        };
        let watch = |ply: &Ply<P>, _: &Decision| {
            if values {
                ply.before.slides().iter().for_each(|(_, slide)| count(slide.after.board()));
            } else {
                count(&ply.before);
            }
            ControlFlow::Continue(())
        };
        play_game(&mut *agent, &setup, game, watch).map_err(|error| refused(error.to_string()))?;
    }
    Ok(met)
}

/// The moved rows that were met most often, as many as fit, rising; and the bytes of the file's arrays.
fn chosen(network: &Network, moved: &[u32], met: &[u32], limit: usize) -> Result<(Vec<u32>, usize), ShrinkError> {
    let width = network.shape().width;
    let dense: usize = network.layers.iter().map(|layer| 4 * layer.parameters()).sum();
    let always = HEADER + 4 * (network.cells().len() + width) + dense;
    let a_row = 8 + width;
    let fit = limit.saturating_sub(always) / a_row;
    if fit == 0 {
        return Err(ShrinkError::Refused(format!("nothing worth keeping fits into {limit} bytes")));
    }
    let mut kept = moved.to_vec();
    kept.sort_unstable_by_key(|&row| (std::cmp::Reverse(met[row as usize]), row));
    kept.truncate(fit);
    kept.sort_unstable();
    let bytes = always - HEADER + a_row * kept.len();
    Ok((kept, bytes))
}
