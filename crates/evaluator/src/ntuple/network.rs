//! A network in memory, ready to judge boards.
//!
//! Weights are whole numbers of [`UNIT`] points. Their sums are exact whatever the order, an addition takes its operand straight
//! from memory, and a correction that is the same for all weights of a board is one whole number: a tenth fewer instructions
//! than with floating-point weights, which are not more precise at these sizes.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use afterstate_board::{Afterstate, Position, Slides};

use super::{Downgrade, Layout, Words};
use crate::{Care, Evaluator};

/// What a weight of 1 is worth, in points: a power of two, so that nothing is lost on the way to a floating-point value.
pub const UNIT: f32 = 1.0 / 1024.0;

/// The sum of the weights looked up, in points. The twin of [`sum_unchecked`].
pub fn sum(weights: &[AtomicU32], indices: &[u32]) -> f32 {
    let weight = |&index: &u32| weights[index as usize].load(Relaxed);
    points(indices.iter().map(weight).fold(0, u32::wrapping_add))
}

/// A sum of weights in points.
#[inline(always)]
pub(super) fn points(sum: u32) -> f32 {
    sum.cast_signed() as f32 * UNIT
}

/// [`sum`] without looking at the indices: a comparison and a branch less for each of 32 or more look-ups a board.
///
/// # Safety
///
/// Every index must be below the number of weights.
#[inline(always)]
pub unsafe fn sum_unchecked(weights: &[AtomicU32], indices: &[u32]) -> f32 {
    // SAFETY: the caller promises it.
    let weight = |index: u32| unsafe { weights.get_unchecked(index as usize) }.load(Relaxed);
    let mut sum = 0u32;
    let (eights, rest) = indices.as_chunks::<8>();
    for eight in eights {
        for &index in eight {
            sum = sum.wrapping_add(weight(index));
        }
    }
    rest.iter().for_each(|&index| sum = sum.wrapping_add(weight(index)));
    points(sum)
}

/// An n-tuple network. Clones share the weights.
#[derive(Clone)]
pub struct Network {
    layout: Arc<Layout>,
    weights: Arc<Words>,
    /// Boards with a tile of this exponent or more are shown with their largest tiles halved.
    downgrade: Downgrade,
    goal: Option<Goal>,
}

/// The tile whose chance a network's values are, in shares of the tile itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// Its exponent.
    pub exponent: u8,
    /// Boards whose tiles add up to less were not learned.
    pub from: u64,
    /// Learned up to the goal itself; else only to where endgame tables play the rest.
    pub is_whole: bool,
}

impl Network {
    /// The network of these weights, one for each of the layout's; what lies beyond them is not looked at.
    pub fn new(layout: Layout, weights: Words) -> Self {
        assert!(layout.weights() <= weights.atomics().len(), "the layout needs more weights than there are");
        Self::sharing(layout, Arc::new(weights))
    }

    pub(super) fn sharing(layout: Layout, weights: Arc<Words>) -> Self {
        Self { layout: Arc::new(layout), weights, downgrade: Downgrade::NEVER, goal: None }
    }

    pub(super) fn weak(&self) -> Weak<Words> {
        Arc::downgrade(&self.weights)
    }

    /// The same weights under another layout, which needs no more of them.
    #[must_use]
    pub fn with_layout(self, layout: Layout) -> Self {
        assert!(layout.weights() <= self.weights.atomics().len(), "the layout needs more weights than there are");
        Self { layout: Arc::new(layout), ..self }
    }

    /// The same network with tile-downgrading of boards that have this tile or a larger one; 0 for none.
    #[must_use]
    pub fn downgrading(self, tile: u64) -> Self {
        Self { downgrade: Downgrade::from_tile(tile), ..self }
    }

    /// The same network, if its values are the chance of a tile.
    #[must_use]
    pub fn for_goal(self, goal: Option<Goal>) -> Self {
        Self { goal, ..self }
    }

    /// The tile whose chance its values are; `None` if they are points.
    pub const fn goal(&self) -> Option<Goal> {
        self.goal
    }

    /// Which boards it sees with smaller tiles.
    pub fn downgrade(&self) -> Downgrade {
        self.downgrade
    }

    /// What is looked up.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The weights.
    pub fn weights(&self) -> &Words {
        &self.weights
    }

    /// The value of a board.
    #[inline(always)]
    pub fn board_value<P: Position>(&self, board: &P) -> f32 {
        // SAFETY: there are as many weights as the layout counts (asserted when the network was made).
        unsafe { self.layout.value_unchecked(&self.downgrade.view(board), self.weights.atomics()) }
    }
}

/// Moves this far below the best, in points, are hardly ever better on a closer look. Values are good enough for 4s to matter: see
/// docs/methods/ntuple.md.
const CARE: Care = Care { margin: 2_000.0, rare: 2, room: 6 };

impl<P: Position> Evaluator<P> for Network {
    fn evaluate(&self, boards: &[Afterstate<P>], values: &mut [f32]) {
        for (board, value) in boards.iter().zip(values) {
            *value = self.board_value(board.board());
        }
    }

    fn value(&self, board: &Afterstate<P>) -> f32 {
        self.board_value(board.board())
    }

    fn slide_values(&self, slides: &Slides<P>) -> [f32; 4] {
        let mut boards = [P::empty(); 4];
        slides.iter().for_each(|(d, slide)| boards[d.index()] = self.downgrade.view(slide.after.board()));
        // SAFETY: there are as many weights as the layout counts (asserted when the network was made).
        unsafe { self.layout.values_unchecked(&boards, slides.legal, self.weights.atomics()) }
    }

    fn care(&self) -> Care {
        CARE
    }

    fn look_from(&mut self, root: &P) -> bool {
        let before = self.downgrade;
        self.downgrade = before.looking_from(root);
        self.downgrade != before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{random_boards, twin};
    use afterstate_board::{Board, Grid, Rng, board};

    /// The value by definition: every pattern, every symmetry, tile by tile.
    fn naive(network: &Network, board: &Board) -> f32 {
        let (layout, weights) = (network.layout(), network.weights().atomics());
        let mut indices = vec![0; layout.features()];
        layout.plain_indices(board, &mut indices);
        sum(weights, &indices)
    }

    #[test]
    fn values_equal_the_definition() {
        let huge = board!(131072 65536 32768 16384 / 2 4 8 131072 / 0 0 0 2 / 65536 0 0 0);
        for stages in [&[][..], &[10, 14]] {
            let layout = Layout::new::<Board>("0123 01245 569a", stages).unwrap();
            let mut words = Words::zeroed(layout.weights()).unwrap();
            let mut rng = Rng::new(3);
            words.exclusive().iter_mut().for_each(|word| *word = rng.next_u32() >> 8);
            let network = Network::new(layout, words);
            for board in random_boards(1_000).chain([huge]) {
                let value = network.board_value(&board);
                assert_eq!(value, naive(&network, &board), "{board}");
                let mut indices = vec![0; network.layout.features()];
                network.layout.indices(&board, &mut indices);
                // SAFETY: these are the indices of the network's own layout.
                let one = unsafe { sum_unchecked(network.weights.atomics(), &indices) };
                assert_eq!(one, value, "{board}");
                assert_eq!(value, network.board_value::<Grid<4, 4>>(&twin(&board)), "{board}");
                let slides = board.slides();
                let four = Evaluator::<Board>::slide_values(&network, &slides);
                for (direction, slide) in slides.iter() {
                    assert_eq!(four[direction.index()], network.board_value(slide.after.board()));
                }
            }
        }
    }
}
