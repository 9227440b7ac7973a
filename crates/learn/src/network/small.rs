//! From a trained two-core network to one that fits into a repository: the rows that would be missed most, a byte a number; all
//! others as sums of vectors that are fitted to what was learned of them. Of a dense network all weights are needed.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use afterstate_agent::{BoxedAgent, Context, Decision, Spec, SpecError, build_with};
use afterstate_arena::{Ply, Setup, play_game};
use afterstate_board::{Position, Size};
use afterstate_evaluator::file::{Metadata, Saved};
use afterstate_evaluator::lookup::file::{FORMAT, Precision, describe, fit_cells, for_each_sum, read, rows, write};
use afterstate_evaluator::lookup::{Network, Role};
use afterstate_evaluator::mlp::{self, Mlp};

use crate::shrink::{ShrinkError, Shrunk, facts_of, write_file};

/// Room for the header.
const HEADER: usize = 4_096;

/// Games that are played to see which rows matter.
const GAMES: u64 = 200;

/// Packs the checkpoint of a learner into at most `limit` bytes.
pub fn shrink_lookup<P: Position>(from: &Path, to: &Path, limit: usize) -> Result<Shrunk, ShrinkError> {
    let saved = Saved::open(from, &FORMAT)?;
    let network = Arc::new(read(P::SIZE, &saved)?);
    let moved = rows(&saved)?;
    let met = met::<P>(&network)?;
    // A row that was never met still says a little about its cells.
    let weight = |row: u32| 0.01 + met[row as usize] as f32;
    let cost = costs(&network, &moved, &fit_cells(&network, &moved, weight), weight);
    let (kept, bytes) = chosen(&network, &moved, &cost, limit)?;
    let others: Vec<u32> = moved.iter().copied().filter(|row| kept.binary_search(row).is_err()).collect();
    let fitted = fit_cells(&network, &others, weight);
    let mut metadata: Metadata = describe(P::SIZE, &network);
    metadata.extend(facts_of(&saved));
    write_file(to, |out| write(out, &metadata, &network, &fitted, &kept, Precision::Byte, &[]))?;
    Ok(Shrunk { weights: moved.len(), kept: kept.len(), bytes })
}

/// Writes the network of a learner's checkpoint without what only learning needs.
pub fn shrink_mlp(size: Size, from: &Path, to: &Path, limit: usize) -> Result<Shrunk, ShrinkError> {
    let saved = Saved::open(from, &mlp::FORMAT)?;
    let network = Mlp::read(size, &saved)?;
    let (weights, bytes) = (network.parameters(), 4 * network.parameters());
    if bytes + HEADER > limit {
        let needed = bytes + HEADER;
        return Err(ShrinkError::Refused(format!(
            "all {weights} weights of a dense network are needed, {needed} bytes"
        )));
    }
    write_file(to, |out| network.write(size, out, facts_of(&saved), &[]))?;
    Ok(Shrunk { weights, kept: weights, bytes })
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

/// What leaving out each row would cost: how often it is met, times the square of what is wrong with the sum that would stand for it.
fn costs(network: &Network, moved: &[u32], fitted: &[f32], weight: impl Fn(u32) -> f32) -> Vec<f32> {
    let (width, mut costs) = (network.shape().width, Vec::with_capacity(moved.len()));
    for_each_sum(network.places(), width, fitted, moved, |row, sum| {
        let learned = &network.table[row as usize * width..][..width];
        let square: f32 = sum.iter().zip(learned).map(|(sum, x)| (sum - x).powi(2)).sum();
        costs.push(weight(row) * square);
    });
    costs
}

/// The moved rows that would be missed most, as many as fit, rising; and the bytes of the file's arrays.
fn chosen(network: &Network, moved: &[u32], cost: &[f32], limit: usize) -> Result<(Vec<u32>, usize), ShrinkError> {
    let width = network.shape().width;
    let dense: usize = network.layers.iter().map(|layer| 4 * layer.parameters()).sum();
    let always = HEADER + 4 * (network.cells().len() + width) + dense;
    let a_row = 8 + width;
    let fit = limit.saturating_sub(always) / a_row;
    if fit == 0 {
        return Err(ShrinkError::Refused(format!("nothing worth keeping fits into {limit} bytes")));
    }
    let mut ranked: Vec<(f32, u32)> = cost.iter().copied().zip(moved.iter().copied()).collect();
    ranked.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    ranked.truncate(fit);
    let mut kept: Vec<u32> = ranked.into_iter().map(|(_, row)| row).collect();
    kept.sort_unstable();
    let bytes = always - HEADER + a_row * kept.len();
    Ok((kept, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network;
    use afterstate_board::Board;
    use afterstate_evaluator::encode::Encoding;

    #[test]
    fn a_dense_network_keeps_its_weights_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
        let dense = Mlp::random(Board::SIZE, Encoding::OneHot, &[24, 12], Role::Moves, 100.0, 3).unwrap();
        let learner = network::Mlp::new(dense.clone());
        let facts = Metadata::from([("learner".to_owned(), "dqn".to_owned())]);
        let write = |out: &mut dyn std::io::Write| network::Network::<Board>::save(&learner, out, facts, &[]);
        write_file(&from, write).unwrap();
        let shrunk = shrink_mlp(Board::SIZE, &from, &to, 1 << 20).unwrap();
        assert_eq!(
            (shrunk.weights, shrunk.kept, shrunk.bytes),
            (dense.parameters(), dense.parameters(), 4 * dense.parameters())
        );
        let saved = Saved::open(&to, &mlp::FORMAT).unwrap();
        assert_eq!(Mlp::read(Board::SIZE, &saved).unwrap(), dense);
        assert_eq!(saved.metadata["learner"], "dqn");
        let [before, after] = [&from, &to].map(|path| std::fs::metadata(path).unwrap().len());
        assert!(2 * after < before, "{after} of {before} bytes");
        let refused = shrink_mlp(Board::SIZE, &from, &to, shrunk.bytes).unwrap_err().to_string();
        assert!(refused.contains("all 7"), "{refused}");
    }
}
