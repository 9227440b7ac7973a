//! The order in which a whole table lists its states: by the sum of their tiles, the highest first, as they are computed. A state is a pair of
//! fillings, that of the last row and that of the cells above it.

use std::ops::Range;

use super::Pattern;

/// The cells of the upper half come before this one.
pub const CUT: usize = 12;

/// The fillings of some cells by layers: a layer is half the sum of the tiles.
pub struct Ranks {
    /// By code, the layer and the rank in it. Those of a layer are in the order of their codes.
    ranks: Vec<(u32, u32)>,
    /// Where each layer begins when all are listed, and at last the end.
    starts: Vec<u32>,
}

impl Ranks {
    /// Those of the free ones of these cells; the last counts fastest.
    pub fn new(pattern: Pattern, cells: Range<usize>) -> Self {
        let mut layers = vec![0u32];
        for cell in cells {
            let tiles = |layer: u32| (0..pattern.exponents(cell)).map(move |exponent| layer + (1 << exponent >> 1));
            layers = layers.into_iter().flat_map(tiles).collect();
        }
        let last = layers.iter().copied().max().unwrap_or(0) as usize;
        let mut starts = vec![0; last + 2];
        let rank = |layer: u32| {
            let count = &mut starts[layer as usize + 1];
            *count += 1;
            (layer, *count - 1)
        };
        let ranks = layers.into_iter().map(rank).collect();
        (0..=last).for_each(|layer| starts[layer + 1] += starts[layer]);
        Self { ranks, starts }
    }

    /// The layer of a filling, and its rank in it.
    #[inline]
    pub fn rank(&self, code: u32) -> (u32, u32) {
        self.ranks[code as usize]
    }

    /// The number of layers.
    pub fn layers(&self) -> u32 {
        self.starts.len() as u32 - 1
    }

    /// Where the fillings of some layers are when all are listed.
    pub fn range(&self, layers: Range<u32>) -> Range<usize> {
        let at = |layer: u32| self.starts[layer.min(self.layers()) as usize] as usize;
        at(layers.start)..at(layers.end)
    }

    /// The number of fillings in a layer.
    pub fn count(&self, layer: u32) -> usize {
        self.range(layer..layer + 1).len()
    }
}

/// Where each state of a pattern is.
pub struct Order {
    /// The cells above the last row.
    pub upper: Ranks,
    /// The last row.
    pub lower: Ranks,
    /// By layers of the upper half and of the lower, where the states of both begin.
    groups: Vec<u64>,
    /// The number of states in each layer.
    counts: Vec<u64>,
    /// Fillings of the last row.
    below: u64,
    states: u64,
}

impl Order {
    /// That of a pattern.
    pub fn new(pattern: Pattern) -> Self {
        let (upper, lower) = (Ranks::new(pattern, 0..CUT), Ranks::new(pattern, CUT..16));
        let (above, below) = (upper.layers(), lower.layers());
        let mut groups = vec![0; (above * below) as usize];
        let mut counts = vec![0; (above + below - 1) as usize];
        let (mut states, mut listed) = (0, 0);
        let (layers, most) = (above + below - 1, pattern.most_layer().min(above + below - 2));
        // What the table does not list comes last.
        for layer in (0..=most).rev().chain(most + 1..layers) {
            let start = states;
            for a in (layer + 1).saturating_sub(below)..above.min(layer + 1) {
                groups[(a * below + layer - a) as usize] = states;
                states += (upper.count(a) * lower.count(layer - a)) as u64;
            }
            counts[layer as usize] = states - start;
            listed = if layer <= most { states } else { listed };
        }
        Self { upper, lower, groups, counts, below: pattern.place(CUT - 1), states: listed }
    }

    /// The number of states that a table lists.
    pub const fn states(&self) -> u64 {
        self.states
    }

    /// The number of states in a layer.
    pub fn count(&self, layer: u32) -> usize {
        self.counts.get(layer as usize).map_or(0, |&count| count as usize)
    }

    /// Where the states begin that have these layers above and below.
    #[inline]
    pub fn group(&self, above: u32, below: u32) -> u64 {
        self.groups[(above * self.lower.layers() + below) as usize]
    }

    /// Where the state with this index is; `None` if the table does not list it.
    #[inline]
    pub fn place(&self, index: u64) -> Option<usize> {
        let ((above, a), (below, b)) =
            (self.upper.rank((index / self.below) as u32), self.lower.rank((index % self.below) as u32));
        let place = self.group(above, below) + u64::from(a) * self.lower.count(below) as u64 + u64::from(b);
        (place < self.states).then_some(place as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every state has a place of its own, and the sums fall from place to place.
    #[test]
    fn states_are_in_the_order_of_their_sums() {
        for name in ["6-64", "5-64"] {
            let pattern: Pattern = name.parse().unwrap();
            let order = Order::new(pattern);
            assert_eq!(order.states(), pattern.states());
            assert_eq!(order.states(), pattern.listed());
            let sum = |index: u64| {
                let tile = |cell: usize| 1u32 << (index / pattern.place(cell) % pattern.exponents(cell)) >> 1;
                (0..16).map(tile).sum::<u32>()
            };
            let mut sums = vec![u32::MAX; order.states() as usize];
            for index in 0..pattern.states() {
                let place = order.place(index).unwrap();
                assert_eq!(std::mem::replace(&mut sums[place], sum(index)), u32::MAX, "{name}: {place} is taken");
            }
            assert!(sums.is_sorted_by(|a, b| a >= b), "{name}");
        }
    }

    /// A table that leaves out high sums lists the others as if it did not.
    #[test]
    fn high_sums_are_not_listed() {
        let pattern: Pattern = "6w-64".parse().unwrap();
        let order = Order::new(pattern);
        assert!(order.states() == pattern.listed() && pattern.listed() < pattern.states());
        let places: Vec<usize> = (0..pattern.states()).filter_map(|index| order.place(index)).collect();
        assert_eq!(places.len() as u64, pattern.listed());
        assert!(places.iter().all(|&place| (place as u64) < pattern.listed()));
        let place = |board: u64| order.place(pattern.index(board).unwrap());
        // 32 + 32 + 8, and 2 more.
        assert!(place(0x0000_0000_5000_5000 | 3 << 32).is_some());
        assert_eq!(place(0x0000_0000_5000_5000 | 3 << 32 | 1 << 60), None);
    }
}
