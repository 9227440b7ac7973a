//! A beam that does not trust its luck: what is followed is followed with all its spawns, and a move is worth the mean over them.

use std::ops::Range;

use afterstate_board::{Afterstate, Direction, Position};

use super::{BATCH, Beam};
use crate::clock::Clock;
use crate::{Budget, Decision};

/// A move, and what is known of where it leads.
struct Node<P: Position> {
    after: Afterstate<P>,
    /// What its own points count for.
    reward: f64,
    /// What the evaluator says.
    worth: f64,
    /// How likely play gets here if every move on the way is the best by the evaluator.
    chance: f64,
    /// The positions after its spawns; none if it is not followed.
    spots: Range<usize>,
}

/// A position after a spawn.
struct Spot {
    /// The chance of the spawn.
    chance: f64,
    /// Its legal moves.
    moves: Range<usize>,
}

/// Everything looked at for one decision. What comes later lies behind it.
struct Tree<P: Position> {
    nodes: Vec<Node<P>>,
    spots: Vec<Spot>,
    lost: f64,
}

impl<P: Position> Tree<P> {
    /// What the first `count` moves are worth, means over all spawns that were followed.
    fn values(&self, count: usize) -> Vec<f64> {
        let mut values: Vec<f64> = self.nodes.iter().map(|node| node.worth).collect();
        for (i, node) in self.nodes.iter().enumerate().rev() {
            if !node.spots.is_empty() {
                let spots = &self.spots[node.spots.clone()];
                values[i] = spots.iter().map(|spot| spot.chance * self.best(spot, &values)).sum();
            }
        }
        (0..count).map(|i| self.nodes[i].reward + values[i]).collect()
    }

    fn best(&self, spot: &Spot, values: &[f64]) -> f64 {
        let worths = spot.moves.clone().map(|i| self.nodes[i].reward + values[i]);
        worths.reduce(f64::max).unwrap_or(self.lost)
    }
}

impl<P: Position> Beam<P> {
    /// Adds the legal moves of a position, not judged yet.
    fn add_moves(&self, position: &P, chance: f64, nodes: &mut Vec<Node<P>>) -> Range<usize> {
        let (begin, rewards) = (nodes.len(), f64::from(self.evaluator.scale().rewards));
        nodes.extend(position.slides().iter().map(|(_, slide)| Node {
            after: slide.after,
            reward: rewards * f64::from(slide.reward),
            worth: 0.0,
            chance,
            spots: 0..0,
        }));
        begin..nodes.len()
    }

    /// Judges the moves that were added; false if the time is up.
    fn judge(&self, nodes: &mut [Node<P>], clock: &mut Clock) -> bool {
        let mut values = [0.0; BATCH];
        for some in nodes.chunks_mut(BATCH) {
            if clock.is_up() {
                return false;
            }
            let boards: Vec<Afterstate<P>> = some.iter().map(|node| node.after).collect();
            self.evaluator.evaluate(&boards, &mut values[..boards.len()]);
            some.iter_mut().zip(values).for_each(|(node, value)| node.worth = f64::from(value));
        }
        true
    }

    /// The decision by means. A position is worth its best move; of each, that move alone is followed further, the likeliest `width` of a level.
    pub(super) fn decide_fairly(&self, position: &P, budget: &Budget, clock: &mut Clock) -> Decision {
        let legal = position.legal();
        let mut tree = Tree { nodes: Vec::new(), spots: Vec::new(), lost: f64::from(self.evaluator.scale().lost) };
        let first = self.add_moves(position, 1.0, &mut tree.nodes);
        // The first level is judged whatever the clock says: there must be a decision.
        self.judge(&mut tree.nodes, &mut Clock::until(None));
        let decision = |tree: &Tree<P>, nodes: u64, depth: u32| {
            let (mut values, mut found) = ([None; 4], tree.values(first.len()).into_iter());
            Direction::ALL.iter().filter(|&&d| legal.contains(d)).for_each(|d| values[d.index()] = found.next());
            Decision::best_of(values, legal, nodes, depth)
        };
        let (mut looked, mut beam) = (first.len() as u64, first.clone().collect::<Vec<usize>>());
        let mut best = decision(&tree, looked, 0);
        for depth in 1..=budget.depth.unwrap_or(super::DEFAULT_DEPTH as u32) {
            let (begin, mut followed) = (tree.nodes.len(), Vec::with_capacity(beam.len()));
            let spots = tree.spots.len();
            for &i in &beam {
                let (after, chance, from) = (tree.nodes[i].after, tree.nodes[i].chance, tree.spots.len());
                for (spawn, share) in after.spawns(&self.rule) {
                    let position = after.board().place(spawn);
                    let moves = self.add_moves(&position, chance * share, &mut tree.nodes);
                    tree.spots.push(Spot { chance: share, moves });
                }
                followed.push((i, from..tree.spots.len()));
            }
            let cost = (tree.nodes.len() - begin) as u64;
            let affordable = budget.nodes.is_none_or(|limit| looked + cost <= limit);
            if beam.is_empty() || !affordable || !self.judge(&mut tree.nodes[begin..], clock) {
                break;
            }
            followed.into_iter().for_each(|(i, spots)| tree.nodes[i].spots = spots);
            looked += cost;
            best = decision(&tree, looked, depth);
            let worth = |&i: &usize| tree.nodes[i].reward + tree.nodes[i].worth;
            let best_moves = tree.spots[spots..].iter().filter_map(|spot| {
                spot.moves.clone().reduce(|best, other| if worth(&other) > worth(&best) { other } else { best })
            });
            beam = best_moves.collect();
            // Of equals those that look worst: where a game may end it pays to look on.
            beam.sort_by(|a, b| {
                let (chance, value) =
                    (tree.nodes[*b].chance.total_cmp(&tree.nodes[*a].chance), worth(a).total_cmp(&worth(b)));
                chance.then(value)
            });
            beam.truncate(self.width);
        }
        best
    }
}
