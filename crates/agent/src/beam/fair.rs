//! A beam that does not trust its luck: what is followed is followed with all its spawns, and a move is worth the mean over them.

use std::ops::Range;

use afterstate_board::{Afterstate, Direction, Position, Slides};

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
    /// How likely play gets here after its first move, if each further one is the best by the evaluator.
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

    /// What a move is worth by the evaluator alone.
    fn alone(&self, i: usize) -> f64 {
        self.nodes[i].reward + self.nodes[i].worth
    }

    /// Of some positions the best move each by the evaluator: the likeliest `width` of them, of equals those that look worst, where a
    /// game may end and it pays to look on.
    fn next_beam(&self, spots: Range<usize>, width: usize) -> Vec<usize> {
        let better = |best: usize, other: usize| if self.alone(other) > self.alone(best) { other } else { best };
        let mut beam: Vec<usize> =
            self.spots[spots].iter().filter_map(|spot| spot.moves.clone().reduce(better)).collect();
        let chance = |i: usize| self.nodes[i].chance;
        beam.sort_by(|&a, &b| chance(b).total_cmp(&chance(a)).then(self.alone(a).total_cmp(&self.alone(b))));
        beam.truncate(width);
        beam
    }
}

impl<P: Position> Beam<P> {
    /// Adds the legal moves of a position, not judged yet.
    fn add_moves(&self, slides: &Slides<P>, chance: f64, nodes: &mut Vec<Node<P>>) -> Range<usize> {
        let (begin, rewards) = (nodes.len(), f64::from(self.evaluator.scale().rewards));
        nodes.extend(slides.iter().map(|(_, slide)| Node {
            after: slide.after,
            reward: rewards * f64::from(slide.reward),
            worth: 0.0,
            chance,
            spots: 0..0,
        }));
        begin..nodes.len()
    }

    /// Judges as many moves as an evaluator gets at once.
    fn judge(&self, nodes: &mut [Node<P>]) {
        let mut values = [0.0; BATCH];
        let boards: Vec<Afterstate<P>> = nodes.iter().map(|node| node.after).collect();
        self.evaluator.evaluate(&boards, &mut values[..boards.len()]);
        nodes.iter_mut().zip(values).for_each(|(node, value)| node.worth = f64::from(value));
    }

    /// Follows some moves by one spawn, and judges the moves after it; false if time or slides do not suffice: then nothing has changed that
    /// [`Tree::values`] looks at.
    fn follow(&self, beam: &[usize], most: u64, tree: &mut Tree<P>, clock: &mut Clock) -> bool {
        let (begin, mut followed) = (tree.nodes.len(), Vec::with_capacity(beam.len()));
        for &i in beam {
            let (after, chance, first) = (tree.nodes[i].after, tree.nodes[i].chance, tree.spots.len());
            for (spawn, share) in after.spawns(&self.rule) {
                let slides = after.board().place(spawn).slides();
                let moves = self.add_moves(&slides, chance * share, &mut tree.nodes);
                tree.spots.push(Spot { chance: share, moves });
            }
            followed.push((i, first..tree.spots.len()));
            if tree.nodes.len() as u64 > most || clock.is_up() {
                return false;
            }
        }
        for some in tree.nodes[begin..].chunks_mut(BATCH) {
            if clock.is_up() {
                return false;
            }
            self.judge(some);
        }
        followed.into_iter().for_each(|(i, spots)| tree.nodes[i].spots = spots);
        true
    }

    /// The decision by means: all first moves are followed, then the `width` of each level that [`Tree::next_beam`] names.
    pub(super) fn decide_fairly(&self, slides: &Slides<P>, budget: &Budget, clock: &mut Clock) -> Decision {
        let mut tree = Tree { nodes: Vec::new(), spots: Vec::new(), lost: f64::from(self.evaluator.scale().lost) };
        let first = self.add_moves(slides, 1.0, &mut tree.nodes);
        // Whatever the clock says: there must be a decision.
        self.judge(&mut tree.nodes);
        let (mut depth, mut looked, mut beam) = (0, tree.nodes.len(), first.clone().collect::<Vec<usize>>());
        let most = budget.nodes.unwrap_or(u64::MAX);
        while !beam.is_empty() && depth < budget.depth.unwrap_or(super::DEFAULT_DEPTH as u32) {
            let known = tree.spots.len();
            if !self.follow(&beam, most, &mut tree, clock) {
                break;
            }
            (depth, looked) = (depth + 1, tree.nodes.len());
            beam = tree.next_beam(known..tree.spots.len(), self.width);
        }
        let mut found = tree.values(first.len()).into_iter();
        let values = Direction::ALL.map(|d| slides.legal.contains(d).then(|| found.next()).flatten());
        Decision::best_of(values, slides.legal, looked as u64, depth)
    }
}
