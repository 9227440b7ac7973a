//! One tree for every Monte-Carlo search: descend, add a node, judge it, back the value up.
//!
//! Decision nodes (a player to move) and chance nodes (a move made, a spawn to come) are types of their own. Nodes hold
//! statistics only; positions are replayed on the way down, which is cheaper than fetching them from memory and lets several
//! positions share a node. How moves are selected and leaves are judged is up to [`Select`] and the caller: between
//! [`Tree::descend`] and [`Tree::backup`] a search may gather leaves of many trees and judge them in one batch.

use afterstate_board::{Afterstate, Direction, Directions, Position, Rng, Slides, Spawn, SpawnRule};

/// How a descent passes a chance node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spawns {
    /// A spawn is drawn by its probability; each has a node of its own.
    Sampled,
    /// A spawn is drawn by its probability; all share one node (an open loop).
    Pooled,
    /// The spawn is selected together with the move: children are (move, spawn) pairs, as in document S.
    Selected,
    /// Spawns take turns by their probabilities, and the value of a move is their mean, each by its probability.
    Explicit,
}

impl Spawns {
    /// The names of the kinds, for parameters.
    pub const NAMES: &[&str] = &["sampled", "pooled", "selected"];

    /// The kind of that name.
    pub fn named(name: &str) -> Self {
        match name {
            "pooled" => Self::Pooled,
            "selected" => Self::Selected,
            "explicit" => Self::Explicit,
            _ => Self::Sampled,
        }
    }
}

/// What is known of values that were backed up through a node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Statistics {
    pub visits: u32,
    pub total: f64,
}

impl Statistics {
    fn add(&mut self, value: f64) {
        self.visits += 1;
        self.total += value;
    }

    /// The mean value, if there is one.
    pub fn mean(&self) -> Option<f64> {
        (self.visits > 0).then(|| self.total / f64::from(self.visits))
    }
}

/// A move that was made; a spawn is to come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChanceNode {
    /// Values from before the move: its points are included.
    pub values: Statistics,
    /// Where its outcomes begin in the tree's list.
    outcomes: u32,
}

/// A position, or several that share a node; the player is to move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecisionNode {
    /// Values from here on.
    pub values: Statistics,
    /// The sum of their squares.
    squares: f64,
    /// By direction index.
    pub moves: [ChanceNode; 4],
    /// What the search was told when it first came here: how likely each move is to be the best, and the value.
    pub priors: [f32; 4],
    pub first: f32,
}

/// Stands for a node that does not exist yet.
const NONE: u32 = u32::MAX;

/// No tree grows beyond this many decision nodes: about 200 MiB.
const MAX_NODES: usize = 1 << 21;

impl DecisionNode {
    const NEW: Self = Self {
        values: Statistics { visits: 0, total: 0.0 },
        squares: 0.0,
        moves: [ChanceNode { values: Statistics { visits: 0, total: 0.0 }, outcomes: NONE }; 4],
        priors: [0.0; 4],
        first: 0.0,
    };

    fn add(&mut self, value: f64) {
        self.values.add(value);
        self.squares += value * value;
    }

    /// The standard deviation of the values seen here: what differences between moves are measured against.
    pub fn spread(&self) -> f64 {
        let n = f64::from(self.values.visits.max(1));
        let mean = self.values.total / n;
        (self.squares / n - mean * mean).max(0.0).sqrt()
    }
}

/// Which child of a node to visit next.
pub(crate) trait Select {
    /// How good it seems to visit a child by this move, or `None` for one that comes before all others.
    fn priority(&self, node: &DecisionNode, direction: Direction, child: Statistics) -> Option<f64>;
}

/// UCB1: the mean plus `c` standard deviations of the node's values, times `sqrt(ln N / n)`.
///
/// Measuring in standard deviations makes `c` independent of the evaluator's unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ucb1 {
    pub c: f64,
}

impl Select for Ucb1 {
    fn priority(&self, node: &DecisionNode, _: Direction, child: Statistics) -> Option<f64> {
        // Where all values are the same, visits alone decide.
        let unit = node.spread().max(1e-9);
        let width = (f64::from(node.values.visits).ln() / f64::from(child.visits)).sqrt();
        Some(child.mean()? + self.c * unit * width)
    }
}

/// What a descent must know of the game.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub rule: SpawnRule,
    pub spawns: Spawns,
    /// What the points of a move count for in the values.
    pub rewards: f64,
    /// No descent makes more moves than this.
    pub horizon: u32,
}

/// One move of a descent.
#[derive(Clone, Copy, Debug)]
struct Step {
    node: u32,
    direction: Direction,
    gain: f64,
    /// Outcomes of the move, if values are means over them.
    slots: u32,
}

/// The best of some children so far; unvisited ones are drawn evenly.
struct Favourite<T> {
    best: Option<(f64, T)>,
    fresh: u32,
}

impl<T> Favourite<T> {
    fn consider(&mut self, priority: Option<f64>, child: T, rng: &mut Rng) {
        match priority {
            None => {
                self.fresh += 1;
                if self.fresh == 1 || rng.below(self.fresh) == 0 {
                    self.best = Some((f64::INFINITY, child));
                }
            }
            Some(priority) => {
                if self.best.as_ref().is_none_or(|(best, _)| priority > *best) {
                    self.best = Some((priority, child));
                }
            }
        }
    }
}

/// The tree and the path of the descent under way.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: Vec<DecisionNode>,
    /// Decision nodes by spawn, for one chance node after the other.
    outcomes: Vec<u32>,
    path: Vec<Step>,
    /// The node at the end of the path, if the tree holds it.
    leaf: u32,
}

impl Tree {
    /// Only a root.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.nodes.push(DecisionNode::NEW);
        self.outcomes.clear();
    }

    /// The root.
    pub fn root(&self) -> &DecisionNode {
        &self.nodes[0]
    }

    /// Moves made in the last descent.
    pub fn depth(&self) -> u32 {
        self.path.len() as u32
    }

    /// The root, to be told what a search knows of it before it begins.
    pub fn root_mut(&mut self) -> &mut DecisionNode {
        &mut self.nodes[0]
    }

    /// The node at the end of the last descent, if the tree holds it.
    pub fn leaf_mut(&mut self) -> Option<&mut DecisionNode> {
        self.nodes.get_mut(self.leaf as usize)
    }

    /// Walks from the root to a position that has no node yet, to the horizon or to the end of the game; adds a node for a new
    /// position. Its value must be backed up next.
    pub fn descend<P: Position>(&mut self, root: &P, rules: &Rules, select: &impl Select, rng: &mut Rng) -> P {
        self.descend_by(None, root, rules, select, rng)
    }

    /// [`Tree::descend`] with the first move given.
    pub fn descend_by<P: Position>(
        &mut self,
        first: Option<Direction>,
        root: &P,
        rules: &Rules,
        select: &impl Select,
        rng: &mut Rng,
    ) -> P {
        self.path.clear();
        let (mut position, mut node) = (*root, 0);
        loop {
            self.leaf = node;
            let slides = position.slides();
            if slides.legal.is_empty() || self.depth() >= rules.horizon {
                return position;
            }
            let (direction, selected) = match rules.spawns {
                Spawns::Selected => self.select_pair(node, &slides, rules, select, rng),
                _ if first.is_some() && self.depth() == 0 => (first.unwrap_or(Direction::Left), None),
                _ => (self.select_move(node, slides.legal, select, rng), None),
            };
            let gain = rules.rewards * f64::from(slides.reward[direction.index()]);
            let after = &slides.after[direction.index()];
            let explicit = rules.spawns == Spawns::Explicit;
            let slots = if explicit { after.empty_count() * rules.rule.len() as u32 } else { 0 };
            self.path.push(Step { node, direction, gain, slots });
            let selected = if explicit { Some(self.turn(node, direction, slots, &rules.rule)) } else { selected };
            let slot;
            (position, slot) = match (rules.spawns, selected) {
                (Spawns::Pooled, _) => (after.sample(&rules.rule, rng), 0),
                (_, Some(slot)) => (placed(after, slot, &rules.rule), slot),
                (_, None) => drawn(after, &rules.rule, rng),
            };
            let outcome = self.outcomes_of(node, direction, after, rules) + slot as usize;
            node = self.outcomes[outcome];
            if node == NONE {
                self.grow(outcome);
                return position;
            }
        }
    }

    /// The spawn whose turn it is: the one that is furthest behind its probability.
    fn turn(&self, node: u32, direction: Direction, slots: u32, rule: &SpawnRule) -> u32 {
        let chance = &self.nodes[node as usize].moves[direction.index()];
        let due = f64::from(chance.values.visits + 1);
        let behind = |slot: u32| {
            let child = if chance.outcomes == NONE { NONE } else { self.outcomes[(chance.outcomes + slot) as usize] };
            let visits = self.nodes.get(child as usize).map_or(0, |child| child.values.visits);
            due * probability(slot, slots, rule) - f64::from(visits)
        };
        let further = |best: (u32, f64), slot| if behind(slot) > best.1 + 1e-12 { (slot, behind(slot)) } else { best };
        (1..slots).fold((0, behind(0)), further).0
    }

    /// [`Tree::backup`] where the value of a move is the mean over its outcomes, each by its probability.
    pub fn backup_means(&mut self, value: f64, rule: &SpawnRule) {
        if self.leaf != NONE {
            self.nodes[self.leaf as usize].add(value);
        }
        for at in (0..self.path.len()).rev() {
            let Step { node, direction, gain, slots } = self.path[at];
            let from = self.nodes[node as usize].moves[direction.index()].outcomes as usize;
            let (mut sum, mut weight) = (0.0, 0.0);
            for (slot, &child) in self.outcomes[from..from + slots as usize].iter().enumerate() {
                if let Some(mean) = self.nodes.get(child as usize).and_then(|child| child.values.mean()) {
                    let p = probability(slot as u32, slots, rule);
                    (sum, weight) = (sum + p * mean, weight + p);
                }
            }
            let node = &mut self.nodes[node as usize];
            let chance = &mut node.moves[direction.index()].values;
            chance.visits += 1;
            let mean = if weight > 0.0 { sum / weight } else { value };
            let (before, now) = (chance.total, f64::from(chance.visits) * (gain + mean));
            chance.total = now;
            node.values.visits += 1;
            node.values.total += now - before;
        }
    }

    /// Adds a value at the leaf of the last descent to every node on the path; returns it as seen from the root.
    pub fn backup(&mut self, value: f64) -> f64 {
        if self.leaf != NONE {
            self.nodes[self.leaf as usize].add(value);
        }
        self.path.iter().rev().fold(value, |value, step| {
            let value = step.gain + value;
            let node = &mut self.nodes[step.node as usize];
            node.add(value);
            node.moves[step.direction.index()].values.add(value);
            value
        })
    }

    fn select_move(&self, node: u32, legal: Directions, select: &impl Select, rng: &mut Rng) -> Direction {
        let node = &self.nodes[node as usize];
        let mut favourite = Favourite { best: None, fresh: 0 };
        for direction in legal.iter() {
            favourite.consider(select.priority(node, direction, node.moves[direction.index()].values), direction, rng);
        }
        favourite.best.map_or(legal.nth(0), |(_, direction)| direction)
    }

    /// Selects among all (move, spawn) pairs.
    fn select_pair<P: Position>(
        &self,
        node: u32,
        slides: &Slides<P>,
        rules: &Rules,
        select: &impl Select,
        rng: &mut Rng,
    ) -> (Direction, Option<u32>) {
        let node = &self.nodes[node as usize];
        let mut favourite = Favourite { best: None, fresh: 0 };
        for (direction, slide) in slides.iter() {
            let gain = rules.rewards * f64::from(slide.reward);
            let outcomes = node.moves[direction.index()].outcomes;
            for slot in 0..slide.after.empty_count() * rules.rule.len() as u32 {
                let child = if outcomes == NONE { NONE } else { self.outcomes[(outcomes + slot) as usize] };
                let mut values = self.nodes.get(child as usize).map_or(Statistics::default(), |child| child.values);
                values.total += gain * f64::from(values.visits);
                favourite.consider(select.priority(node, direction, values), (direction, Some(slot)), rng);
            }
        }
        favourite.best.map_or((slides.legal.nth(0), Some(0)), |(_, pair)| pair)
    }

    /// Where the outcomes of a move begin; makes room for them at first.
    fn outcomes_of<P: Position>(
        &mut self,
        node: u32,
        direction: Direction,
        after: &Afterstate<P>,
        rules: &Rules,
    ) -> usize {
        let chance = &mut self.nodes[node as usize].moves[direction.index()];
        if chance.outcomes == NONE {
            chance.outcomes = self.outcomes.len() as u32;
            let count =
                if rules.spawns == Spawns::Pooled { 1 } else { after.empty_count() as usize * rules.rule.len() };
            self.outcomes.resize(self.outcomes.len() + count, NONE);
        }
        chance.outcomes as usize
    }

    /// Adds a node for an outcome, unless the tree is full.
    fn grow(&mut self, outcome: usize) {
        self.leaf = NONE;
        if self.nodes.len() < MAX_NODES {
            self.leaf = self.nodes.len() as u32;
            self.outcomes[outcome] = self.leaf;
            self.nodes.push(DecisionNode::NEW);
        }
    }
}

/// The probability of the spawn of a slot, of so many.
fn probability(slot: u32, slots: u32, rule: &SpawnRule) -> f64 {
    let kinds = rule.len() as u32;
    rule.kind((slot % kinds) as usize).1 / f64::from((slots / kinds).max(1))
}

/// The position after the spawn of a slot: slots count the kinds of the first empty cell, then of the next.
fn placed<P: Position>(after: &Afterstate<P>, slot: u32, rule: &SpawnRule) -> P {
    let kinds = rule.len() as u32;
    let cell = after.board().nth_empty(slot / kinds) as u8;
    after.place(Spawn { cell, exponent: rule.kind((slot % kinds) as usize).0 })
}

/// A position drawn by the spawn rule, and its slot.
fn drawn<P: Position>(after: &Afterstate<P>, rule: &SpawnRule, rng: &mut Rng) -> (P, u32) {
    let (index, exponent) = rule.sample(after.empty_count(), rng);
    let kind = rule.kind_of(exponent).unwrap_or(0) as u32;
    let slot = index * rule.len() as u32 + kind;
    (placed(after, slot, rule), slot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::{Board, board};

    fn start() -> Board {
        board!(2 0 0 4 / 0 2 0 0 / 8 0 16 0 / 0 0 0 2)
    }

    fn grown(spawns: Spawns, simulations: u32) -> Tree {
        let rules = Rules { rule: SpawnRule::CLASSIC, spawns, rewards: 1.0, horizon: u32::MAX };
        let mut tree = Tree::default();
        let mut rng = Rng::new(3);
        tree.clear();
        for _ in 0..simulations {
            let leaf = tree.descend(&start(), &rules, &Ucb1 { c: 1.0 }, &mut rng);
            tree.backup(f64::from(leaf.empty_count()));
        }
        tree
    }

    #[test]
    fn visits_of_a_node_are_those_of_its_moves_and_its_own() {
        for spawns in [Spawns::Sampled, Spawns::Pooled, Spawns::Selected] {
            let tree = grown(spawns, 3_000);
            assert_eq!(tree.root().values.visits, 3_000);
            for (i, node) in tree.nodes.iter().enumerate() {
                let moves: u32 = node.moves.iter().map(|chance| chance.values.visits).sum();
                let own = node.values.visits - moves;
                assert!(if i == 0 { own == 0 } else { own >= 1 }, "{spawns:?} node {i}: {own} of its own");
            }
        }
    }

    #[test]
    fn values_of_a_move_are_those_of_its_outcomes_and_its_points() {
        for spawns in [Spawns::Sampled, Spawns::Selected] {
            let tree = grown(spawns, 3_000);
            for (direction, slide) in start().slides().iter() {
                let chance = &tree.root().moves[direction.index()];
                let slots = slide.after.empty_count() * 2;
                let outcomes = &tree.outcomes[chance.outcomes as usize..(chance.outcomes + slots) as usize];
                let children = outcomes.iter().filter(|&&id| id != NONE).map(|&id| tree.nodes[id as usize].values);
                let (visits, total) = children.fold((0, 0.0), |(n, sum), v| (n + v.visits, sum + v.total));
                assert_eq!(visits, chance.values.visits);
                let expected = total + f64::from(slide.reward) * f64::from(visits);
                assert!((chance.values.total - expected).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn slots_cover_all_spawns_once() {
        let after = start().slides().after[0];
        let slots = after.empty_count() * 2;
        let placed: Vec<Board> = (0..slots).map(|slot| placed(&after, slot, &SpawnRule::CLASSIC)).collect();
        let expected: Vec<Board> = after.spawns(&SpawnRule::CLASSIC).map(|(spawn, _)| after.place(spawn)).collect();
        assert_eq!(placed, expected);
    }

    #[test]
    fn the_spread_is_the_standard_deviation() {
        let mut node = DecisionNode::NEW;
        [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().for_each(|value| node.add(value));
        assert!((node.spread() - 2.0).abs() < 1e-12);
    }
}
