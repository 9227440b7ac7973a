//! From a trained network to one that fits into a repository: the weights that learning touched most, rounded and compressed.

use std::io;
use std::path::Path;

use afterstate_board::Position;
use afterstate_evaluator::file::MARK;
use afterstate_evaluator::ntuple::file::{Dtype, FORMAT, FileError, GOAL, Metadata, Saved, TABLES, WHOLE};
use afterstate_evaluator::ntuple::packed::{Packed, pack};
use afterstate_evaluator::ntuple::{self};
use afterstate_evaluator::{lookup, mlp};

use crate::network::{shrink_lookup, shrink_mlp};
use crate::run::FolderError;
use crate::run::files::Folder;

/// Why a network cannot be made smaller.
#[derive(Debug, thiserror::Error)]
pub enum ShrinkError {
    /// The checkpoint.
    #[error(transparent)]
    File(#[from] FileError),
    /// The target.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Nothing fits.
    #[error("{0}")]
    Refused(String),
}

/// What became of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shrunk {
    /// Weights that are not zero, or rows of a two-core network that were ever learned.
    pub weights: usize,
    /// How many of them were kept.
    pub kept: usize,
    /// Bytes of the file's arrays.
    pub bytes: usize,
}

/// What is told on of where a network comes from.
pub(crate) fn facts_of(saved: &Saved) -> Metadata {
    let facts = ["learner", "games", "moves", "version", "named", "taught_by", GOAL, TABLES, WHOLE];
    facts.iter().filter_map(|&key| Some((key.to_owned(), saved.metadata.get(key)?.clone()))).collect()
}

/// Writes a file whole or not at all.
pub(crate) fn write_file(
    to: &Path,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> Result<(), ShrinkError> {
    let folder = Folder::create(to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")))?;
    let name = to.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    folder.replace(&name, write)?;
    Ok(())
}

/// Packs the checkpoint of a run into at most `limit` bytes. Of a `td` run: as many weights as fit, those with the largest sum of
/// absolute errors first (weights that games meet often, and early), in steps of `step` points. For a two-core network see
/// [`shrink_lookup`], for a dense one [`shrink_mlp`].
pub fn shrink<P: Position>(from: &Path, to: &Path, limit: usize, step: u32) -> Result<Shrunk, ShrinkError> {
    match Saved::metadata_of(from)?.get(MARK) {
        Some(mark) if mark == lookup::file::FORMAT.mark => return shrink_lookup::<P>(from, to, limit),
        Some(mark) if mark == mlp::FORMAT.mark => return shrink_mlp(P::SIZE, from, to, limit),
        _ => {}
    }
    let saved = Saved::open(from, &FORMAT)?;
    let network = ntuple::load::<P>(from)?;
    let weights = network.layout().weights();
    let coherence = saved
        .words("coherence", Dtype::F32, 2 * weights)?
        .ok_or_else(|| ShrinkError::Refused("only a checkpoint of a td run says which weights matter".into()))?;
    let errors =
        |index: usize| f32::from_bits(coherence.atomics()[2 * index + 1].load(std::sync::atomic::Ordering::Relaxed));
    // A stage may have begun with the weights of the next: what it has not corrected since matters as much as it does there.
    let alike = |index: usize| (index..weights).step_by(network.layout().stage_len());
    let touched = |index: usize| alike(index).map(errors).find(|&errors| errors > 0.0).unwrap_or(0.0);
    let live = |index: &usize| network.weights().atomics()[*index].load(std::sync::atomic::Ordering::Relaxed) != 0;
    let mut order: Vec<f32> = (0..weights).filter(live).map(touched).collect();
    order.sort_unstable_by(|a, b| b.total_cmp(a));
    let nonzero = order.len();
    let packed = |count: usize| {
        let least = order.get(count.saturating_sub(1)).copied().unwrap_or(f32::INFINITY);
        pack(&network, step, |index| touched(index) >= least)
    };
    let fits = |packed: &Packed| packed.bytes() <= limit;
    let mut best = packed(nonzero);
    // The size is close to proportional: a few corrected guesses find the most that fits.
    let mut count = nonzero;
    for _ in 0..6 {
        if fits(&best) && (count == nonzero || best.bytes() as f64 > 0.99 * limit as f64) {
            break;
        }
        count = ((count as f64 * 0.997 * limit as f64 / best.bytes() as f64) as usize).min(nonzero);
        best = packed(count);
    }
    if !fits(&best) || best.kept == 0 {
        return Err(ShrinkError::Refused(format!("nothing worth keeping fits into {limit} bytes")));
    }
    let facts = facts_of(&saved);
    write_file(to, |out| best.write(P::SIZE, out, network.layout(), &facts))?;
    Ok(Shrunk { weights: nonzero, kept: best.kept, bytes: best.bytes() })
}
