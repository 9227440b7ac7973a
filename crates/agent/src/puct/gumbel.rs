//! Policy improvement by planning with few simulations (Danihelka, Guez, Schrittwieser and Silver 2022): values of moves that were not
//! tried are completed, moves of the root are halved again and again, and below it visits follow the improved policy.

use afterstate_board::{Direction, Directions};

use crate::tree::DecisionNode;

/// How much values count beside priors: `(VISITS + most visits) * SCALE` times a value between 0 and 1.
const VISITS: f64 = 50.0;
const SCALE: f64 = 0.1;

/// The value of each move between 0 and 1, in units of logits. A move that was not tried is worth what the node is thought to be.
fn completed(node: &DecisionNode, scaled: &impl Fn(f64) -> f64) -> [f64; 4] {
    let most = f64::from(node.moves.iter().map(|chance| chance.values.visits).max().unwrap_or(0));
    let (mut sum, mut weight) = (0.0, 0.0);
    for (chance, prior) in node.moves.iter().zip(node.priors) {
        if let Some(mean) = chance.values.mean() {
            (sum, weight) = (sum + f64::from(prior) * mean, weight + f64::from(prior));
        }
    }
    let visits = f64::from(node.moves.iter().map(|chance| chance.values.visits).sum::<u32>());
    let tried = if weight > 0.0 { sum / weight } else { f64::from(node.first) };
    let thought = (f64::from(node.first) + visits * tried) / (1.0 + visits);
    node.moves.map(|chance| (VISITS + most) * SCALE * scaled(chance.values.mean().unwrap_or(thought)))
}

fn logit(prior: f32) -> f64 {
    f64::from(prior.max(1e-9)).ln()
}

/// The policy that values make of the priors.
pub(super) fn improved(node: &DecisionNode, legal: Directions, scaled: impl Fn(f64) -> f64) -> [f32; 4] {
    let values = completed(node, &scaled);
    let logits: [f32; 4] = std::array::from_fn(|i| (logit(node.priors[i]) + values[i]) as f32);
    super::masked_softmax(&logits, legal)
}

/// The priority of a move below the root: how far its visits are behind the improved policy.
pub(super) fn below(node: &DecisionNode, direction: Direction, scaled: impl Fn(f64) -> f64) -> f64 {
    let legal = Direction::ALL.into_iter().filter(|d| node.priors[d.index()] > 0.0).collect();
    let visits: u32 = node.moves.iter().map(|chance| chance.values.visits).sum();
    let own = node.moves[direction.index()].values.visits;
    f64::from(improved(node, legal, scaled)[direction.index()]) - f64::from(own) / f64::from(1 + visits)
}

/// Sequential halving of the root's moves.
#[derive(Clone, Debug, Default)]
pub(super) struct Halving {
    left: Vec<Direction>,
    /// Simulations for each of these in this phase, those given so far, and those that are left for the phases to come.
    each: u32,
    given: u32,
    rest: u32,
    phases: u32,
}

impl Halving {
    pub fn new(legal: Directions, simulations: u32) -> Self {
        let left: Vec<Direction> = legal.iter().collect();
        let phases = (left.len().max(2) as u32).next_power_of_two().trailing_zeros();
        let mut halving = Self { left, each: 0, given: 0, rest: simulations, phases };
        halving.begin_phase();
        halving
    }

    fn begin_phase(&mut self) {
        let share = self.rest / self.phases.max(1);
        self.each = (share / self.left.len().max(1) as u32).max(1);
        self.given = 0;
        self.rest = self.rest.saturating_sub(self.each * self.left.len() as u32);
        self.phases = self.phases.saturating_sub(1);
    }

    fn score(node: &DecisionNode, d: Direction, noise: &[f64; 4], values: &[f64; 4]) -> f64 {
        noise[d.index()] + logit(node.priors[d.index()]) + values[d.index()]
    }

    /// The move whose turn it is.
    pub fn next(&mut self, root: &DecisionNode, noise: &[f64; 4], scaled: impl Fn(f64) -> f64) -> Option<Direction> {
        if self.given >= self.each * self.left.len() as u32 {
            if self.left.len() > 1 {
                let values = completed(root, &scaled);
                let score = |d: &Direction| Self::score(root, *d, noise, &values);
                self.left.sort_by(|a, b| score(b).total_cmp(&score(a)));
                self.left.truncate(self.left.len().div_ceil(2));
            }
            self.begin_phase();
        }
        let turn = self.left.get((self.given as usize) % self.left.len().max(1)).copied();
        self.given += 1;
        turn
    }

    /// The best of those that are left.
    pub fn best(&self, root: &DecisionNode, noise: &[f64; 4], scaled: impl Fn(f64) -> f64) -> Direction {
        let values = completed(root, &scaled);
        let score = |d: &Direction| (root.moves[d.index()].values.visits, Self::score(root, *d, noise, &values));
        let better = |a: Direction, b: Direction| if score(&b) > score(&a) { b } else { a };
        self.left.iter().copied().reduce(better).unwrap_or(Direction::Left)
    }
}
