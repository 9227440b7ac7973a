//! Where games that do not begin at the beginning begin: positions of earlier games, kept by tile sum, every sum drawn as often.
//!
//! Few games get to the latest positions, so that a network that only plays whole games learns nothing there, and few games get
//! there. A game that began late and got further hands its own positions on, which carries the learner round.

use std::collections::{BTreeMap, VecDeque};

use afterstate_board::{Position, Rng};

/// Positions kept of each tile sum.
const KEPT: usize = 256;

pub(super) struct Carousel<P> {
    /// Sums are told apart in steps of this.
    step: u64,
    /// The positions of each sum, the oldest first.
    stops: BTreeMap<u64, VecDeque<P>>,
}

impl<P: Position> Carousel<P> {
    /// The least merge after which a position is worth keeping once there is a `tile`.
    pub const fn least_merge(tile: u32) -> u32 {
        if tile < 16 { 4 } else { tile / 4 }
    }

    pub fn new(tile: u32) -> Self {
        Self { step: u64::from(Self::least_merge(tile)), stops: BTreeMap::new() }
    }

    pub fn add(&mut self, position: P) {
        let stop = self.stops.entry(position.tile_sum() / self.step).or_default();
        stop.push_back(position);
        if stop.len() > KEPT {
            stop.pop_front();
        }
    }

    /// Any of the positions: first a sum, then one of its positions.
    pub fn draw(&self, dice: &mut Rng) -> Option<P> {
        let stop = self.stops.values().nth(dice.below(self.stops.len().max(1) as u32) as usize)?;
        Some(stop[dice.below(stop.len() as u32) as usize])
    }

    /// All positions, by sum and age: adding them in this order to an empty carousel makes the same one.
    pub fn positions(&self) -> impl Iterator<Item = &P> {
        self.stops.values().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::{Board, board};

    #[test]
    fn sums_are_drawn_alike_and_old_positions_go() {
        let mut carousel: Carousel<Board> = Carousel::new(8192);
        let mut dice = Rng::new(1);
        assert_eq!(carousel.draw(&mut dice), None);
        let early = board!(8192 0 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 2);
        let late = board!(16384 8192 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 2);
        (0..300).for_each(|_| carousel.add(early));
        carousel.add(late);
        assert_eq!(carousel.positions().count(), KEPT + 1);
        let lates = (0..1_000).filter(|_| carousel.draw(&mut dice) == Some(late)).count();
        assert!((400..600).contains(&lates), "{lates} of 1,000 draws");
        (0..KEPT).for_each(|_| carousel.add(board!(8192 2 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 2)));
        assert!(carousel.positions().all(|position| *position != early));
    }
}
