//! PUCT (row Z3): tree search in which a network says which moves are worth a look, and what a position is worth. One search serves the
//! agent, which judges a leaf at a time, and self-play, which judges the leaves of many games in one batch.

mod agent;
mod gumbel;

pub(crate) use agent::row;

use afterstate_board::{Direction, Directions, Position, Rng, SpawnRule};

use crate::tree::{DecisionNode, Rules, Select, Spawns, Statistics, Tree};

/// How a search goes about its work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PuctOptions {
    /// How much priors count beside values (1.5 in document Z).
    pub c: f64,
    /// Average over spawns by their probabilities instead of drawing them.
    pub explicit: bool,
    /// Share the simulations among the root's moves by sequential halving (Danihelka et al. 2022), for this many of them in all.
    pub gumbel: Option<u32>,
    /// What the points of a move count for in the values.
    pub rewards: f64,
    /// Which tiles spawn.
    pub rule: SpawnRule,
}

/// What a search knows of a position at first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// How likely each move is to be the best; 0 for illegal ones.
    pub moves: [f32; 4],
    /// The value of the position.
    pub value: f32,
}

/// The softmax of logits over legal moves; exactly 0 for others.
pub fn masked_softmax(logits: &[f32; 4], legal: Directions) -> [f32; 4] {
    let most = legal.iter().map(|d| logits[d.index()]).fold(f32::NEG_INFINITY, f32::max);
    let mut chances = [0.0; 4];
    legal.iter().for_each(|d| chances[d.index()] = (logits[d.index()] - most).exp());
    let total: f32 = chances.iter().sum();
    chances.map(|chance| chance / total.max(f32::MIN_POSITIVE))
}

/// All legal moves alike.
pub(crate) fn evenly(legal: Directions) -> [f32; 4] {
    let each = 1.0 / legal.len().max(1) as f32;
    Direction::ALL.map(|d| if legal.contains(d) { each } else { 0.0 })
}

/// Mean value of a move, on a scale from the worst to the best move of the root, plus its prior as long as it was visited less than others.
///
/// A scale over all values met (Schrittwieser et al. 2020) would be spoilt by the first leaf at which the game is over: moves that differ
/// by a hundred points in twenty thousand would all seem the same.
#[derive(Clone, Copy, Debug)]
struct Selection {
    c: f64,
    low: f64,
    high: f64,
    gumbel: bool,
}

impl Selection {
    fn scaled(&self, value: f64) -> f64 {
        if self.high > self.low { (value - self.low) / (self.high - self.low) } else { 0.5 }
    }
}

impl Select for Selection {
    fn priority(&self, node: &DecisionNode, direction: Direction, child: Statistics) -> Option<f64> {
        if self.gumbel {
            return Some(gumbel::below(node, direction, |value| self.scaled(value)));
        }
        let value = child.mean().or_else(|| node.values.mean()).unwrap_or_else(|| f64::from(node.first));
        let visits = f64::from(node.moves.iter().map(|chance| chance.values.visits).sum::<u32>());
        let prior = f64::from(node.priors[direction.index()]);
        Some(self.scaled(value) + self.c * prior * (visits + 1.0).sqrt() / f64::from(1 + child.visits))
    }
}

/// A search from one position.
#[derive(Debug)]
pub struct Puct {
    options: PuctOptions,
    rules: Rules,
    selection: Selection,
    tree: Tree,
    legal: Directions,
    /// What is added to the logarithm of the root's priors when sequential halving compares moves.
    noise: [f64; 4],
    halving: gumbel::Halving,
}

impl Puct {
    /// A search that has not begun.
    pub fn new(options: PuctOptions) -> Self {
        let spawns = if options.explicit { Spawns::Explicit } else { Spawns::Sampled };
        let rules = Rules { rule: options.rule, spawns, rewards: options.rewards, horizon: u32::MAX };
        let gumbel = options.gumbel.is_some();
        let selection = Selection { c: options.c, low: 0.0, high: 0.0, gumbel };
        Self {
            options,
            rules,
            selection,
            tree: Tree::default(),
            legal: Directions::ALL,
            noise: [0.0; 4],
            halving: gumbel::Halving::default(),
        }
    }

    /// Begins at a position that is not over, with what is known of it. `noise` is what makes self-play explore: for sequential halving
    /// numbers drawn from Gumbel's distribution, else nothing (mix noise into the priors instead).
    pub fn begin<P: Position>(&mut self, root: &P, prior: &Prior, noise: [f64; 4]) {
        self.tree.clear();
        self.legal = root.legal();
        self.noise = noise;
        let node = self.tree.root_mut();
        (node.priors, node.first) = (prior.moves, prior.value);
        (self.selection.low, self.selection.high) = (0.0, 0.0);
        if let Some(simulations) = self.options.gumbel {
            self.halving = gumbel::Halving::new(self.legal, simulations);
        }
    }

    /// Walks to a leaf. It must be judged and told next, by [`Puct::tell`], or by [`Puct::end`] if no move is legal there.
    pub fn descend<P: Position>(&mut self, root: &P, rng: &mut Rng) -> P {
        let first = self.options.gumbel.and_then(|_| {
            let selection = self.selection;
            self.halving.next(self.tree.root(), &self.noise, |value| selection.scaled(value))
        });
        self.tree.descend_by(first, root, &self.rules, &self.selection, rng)
    }

    /// What the leaf of the last descent was judged to be.
    pub fn tell(&mut self, prior: &Prior) {
        if let Some(leaf) = self.tree.leaf_mut() {
            (leaf.priors, leaf.first) = (prior.moves, prior.value);
        }
        self.back_up(f64::from(prior.value));
    }

    /// The game is over at the leaf of the last descent.
    pub fn end(&mut self, value: f64) {
        self.back_up(value);
    }

    fn back_up(&mut self, value: f64) {
        if self.options.explicit {
            self.tree.backup_means(value, &self.options.rule);
        } else {
            self.tree.backup(value);
        }
        let means = || self.tree.root().moves.iter().filter_map(|chance| chance.values.mean());
        self.selection.low = means().fold(f64::INFINITY, f64::min);
        self.selection.high = means().fold(f64::NEG_INFINITY, f64::max);
    }

    /// How often each move of the root was tried.
    pub fn visits(&self) -> [u32; 4] {
        self.tree.root().moves.map(|chance| chance.values.visits)
    }

    /// The value of each move of the root that was tried.
    pub fn values(&self) -> [Option<f64>; 4] {
        self.tree.root().moves.map(|chance| chance.values.mean())
    }

    /// The value of the root: the mean over all simulations.
    pub fn value(&self) -> f64 {
        self.tree.root().values.mean().unwrap_or_else(|| f64::from(self.tree.root().first))
    }

    /// Moves made in the last descent.
    pub fn depth(&self) -> u32 {
        self.tree.depth()
    }

    /// The move to play: the most visited, of equals the one of the higher value; by sequential halving, the one that was left.
    pub fn best(&self) -> Direction {
        let root = self.tree.root();
        if self.options.gumbel.is_some() {
            return self.halving.best(root, &self.noise, |value| self.selection.scaled(value));
        }
        let rank = |d: &Direction| {
            let values = root.moves[d.index()].values;
            (values.visits, values.mean().unwrap_or(f64::NEG_INFINITY))
        };
        let better = |a: Direction, b: Direction| if rank(&b) > rank(&a) { b } else { a };
        self.legal.iter().reduce(better).unwrap_or(Direction::Left)
    }

    /// How likely the search thinks each move to be the best: what a policy learns from.
    pub fn improved(&self) -> [f32; 4] {
        let root = self.tree.root();
        if self.options.gumbel.is_some() {
            return gumbel::improved(root, self.legal, |value| self.selection.scaled(value));
        }
        let all: u32 = root.moves.iter().map(|chance| chance.values.visits).sum();
        if all == 0 {
            return root.priors;
        }
        root.moves.map(|chance| chance.values.visits as f32 / all as f32)
    }
}
