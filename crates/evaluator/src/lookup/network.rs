//! The network: rows looked up and summed, ReLU, dense layers.

use std::io;

use afterstate_board::{Afterstate, Position, Rng, Size, Symmetry};

use super::places::{MOST_PLACES, Places};
use super::shape::{MOST_KEPT, MOST_OUTPUTS, MOST_WIDTH, Role, Shape, ShapeError};
use crate::dense::{Dense, layers_through};
use crate::floats::Floats;
use crate::ntuple::prefetch;
use crate::{Care, Evaluator, Judgement, MoveJudge, Scale, vectorised};

/// Boards whose rows are asked for before the first of them is needed.
const AHEAD: usize = 16;
/// Numbers summed side by side: four registers of eight.
const BLOCK: usize = 32;

/// A two-core network.
pub struct Network {
    shape: Shape,
    places: Places,
    /// For each cell of each place and each tile a vector: a row that was never learned is the sum of those of its tiles.
    cells: Vec<f32>,
    /// All rows, place by place.
    pub table: Floats,
    /// Added to the sum of the rows.
    pub bias: Vec<f32>,
    /// The dense layers.
    pub layers: Vec<Dense>,
}

impl Network {
    /// A network that knows nothing: small random numbers named by the seed.
    pub fn random(size: Size, shape: Shape, spread: f32, seed: u64) -> Result<Self, ShapeError> {
        let mut rng = Rng::stream(seed, 0, 0);
        let mut symmetric = |size: f32| (2.0 * rng.unit() as f32 - 1.0) * size;
        shape.check().map_err(ShapeError::Refused)?;
        let places = Places::new(size, &shape.places).map_err(|error| ShapeError::Refused(error.to_string()))?;
        let count: usize = places.tables().map(|(cells, _)| cells.len()).sum();
        let mut cells: Vec<f32> = (0..count * 16 * shape.width).map(|_| symmetric(spread)).collect();
        cells.chunks_exact_mut(shape.width).for_each(|vector| vector[..shape.directly()].fill(0.0));
        let mut sizes = vec![shape.width];
        sizes.extend(shape.hidden.iter().copied().chain([shape.role.outputs()]));
        let layer = |pair: &[usize]| {
            // He's initialisation, as for uniform numbers.
            let size = (6.0 / pair[0] as f32).sqrt() * if pair[1] == shape.role.outputs() { 0.3 } else { 0.7 };
            let weights = (0..pair[0] * pair[1]).map(|_| symmetric(size)).collect();
            Dense::new(pair[0], pair[1], weights, vec![0.0; pair[1]])
        };
        let layers = sizes.windows(2).map(layer).collect();
        let bias = vec![0.0; shape.width];
        Self::of_parts(shape, places, cells, bias, layers)
    }

    /// A network whose rows are all the sums of their cells' vectors.
    pub(super) fn of_parts(
        shape: Shape,
        places: Places,
        cells: Vec<f32>,
        bias: Vec<f32>,
        layers: Vec<Dense>,
    ) -> Result<Self, ShapeError> {
        let (rows, width) = (places.rows(), shape.width);
        if places.are_shared() && shape.role != Role::Value {
            return Err(ShapeError::Refused("places that share tables cannot tell one move from another".into()));
        }
        let memory = |source| ShapeError::Memory { rows, width, source };
        let table = Floats::zeroed(rows * width).map_err(memory)?;
        let mut network = Self { shape, places, cells, table, bias, layers };
        network.reset_rows();
        Ok(network)
    }

    /// Every row becomes the sum of its cells' vectors: the first digit's, then pairs with the second, and so on.
    fn reset_rows(&mut self) {
        let (width, mut from) = (self.shape.width, 0);
        for (cells, offset) in self.places.tables() {
            let table = &mut self.table[offset * width..];
            table[..width].fill(0.0);
            for (digit, _) in cells.iter().enumerate() {
                let vectors = &self.cells[(from + digit * 16) * width..][..16 * width];
                let below = 1usize << (4 * digit);
                // From the top down: the rows of tile 0 are those the others are made of.
                for tile in (0..16).rev() {
                    let vector = &vectors[tile * width..][..width];
                    let (lower, upper) = table.split_at_mut(if tile == 0 { 0 } else { tile * below * width });
                    for row in 0..below {
                        if tile == 0 {
                            upper[row * width..][..width].iter_mut().zip(vector).for_each(|(x, v)| *x += v);
                        } else {
                            let source = &lower[row * width..][..width];
                            let target = &mut upper[row * width..][..width];
                            target.iter_mut().zip(source.iter().zip(vector)).for_each(|(x, (s, v))| *x = s + v);
                        }
                    }
                }
            }
            from += cells.len() * 16;
        }
    }

    /// A copy of its own.
    pub fn copied(&self) -> io::Result<Self> {
        Ok(Self {
            shape: self.shape.clone(),
            places: self.places.clone(),
            cells: self.cells.clone(),
            table: self.table.copied()?,
            bias: self.bias.clone(),
            layers: self.layers.clone(),
        })
    }

    /// Its shape.
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Its places.
    pub const fn places(&self) -> &Places {
        &self.places
    }

    /// The vector of each tile on each cell of each place.
    pub fn cells(&self) -> &[f32] {
        &self.cells
    }

    /// Number of numbers that can be learned.
    pub fn parameters(&self) -> usize {
        self.table.len() + self.bias.len() + self.layers.iter().map(Dense::parameters).sum::<usize>()
    }

    /// Asks for the rows of a board.
    #[inline(always)]
    pub fn ask_for(&self, rows: &[u32]) {
        for &row in rows {
            for line in (0..self.shape.width).step_by(16) {
                prefetch(&self.table, row as usize * self.shape.width + line);
            }
        }
    }

    /// Numbers that the dense layers compute for a board; the last [`Role::outputs`] of them are the network's outputs.
    pub fn kept(&self) -> usize {
        self.layers.iter().map(Dense::outputs).sum()
    }

    /// Everything for a board whose rows are known: their sum after ReLU (0 where it bypasses the dense layers), and the outputs of all dense
    /// layers one after another, the last of them with what is added directly.
    #[inline(always)]
    pub fn forward(&self, rows: &[u32], sum: &mut [f32], kept: &mut [f32]) {
        let width = self.shape.width;
        let mut from = 0;
        while from + BLOCK <= width {
            self.sum_block::<BLOCK>(rows, from, sum);
            from += BLOCK;
        }
        while from < width {
            self.sum_block::<8>(rows, from, sum);
            from += 8;
        }
        let direct = self.shape.directly();
        if direct == 0 {
            layers_through(&self.layers, &sum[..width], kept);
            return;
        }
        let mut raw = [0.0; MOST_OUTPUTS];
        raw[..direct].copy_from_slice(&sum[..direct]);
        sum[..direct].fill(0.0);
        layers_through(&self.layers, &sum[..width], kept);
        let from = self.kept() - direct;
        kept[from..].iter_mut().zip(raw).for_each(|(output, raw)| *output += raw);
    }

    /// One block of the sum of the rows, in registers.
    #[inline(always)]
    fn sum_block<const N: usize>(&self, rows: &[u32], from: usize, sum: &mut [f32]) {
        let mut block = [0.0f32; N];
        block.copy_from_slice(&self.bias[from..from + N]);
        for &row in rows {
            let row = &self.table[row as usize * self.shape.width + from..][..N];
            for lane in 0..N {
                block[lane] += row[lane];
            }
        }
        let direct = self.shape.directly().saturating_sub(from);
        for lane in 0..N {
            sum[from + lane] = if lane < direct { block[lane] } else { block[lane].max(0.0) };
        }
    }
}

vectorised! {
    /// The outputs for each board, one after another, and the symmetry that each was seen through.
    fn judge / portable_judge(network: &Network, encode: &mut dyn FnMut(usize, &mut [u32]), boards: usize, outputs: &mut [f32]) {
        let (count, places, end) = (network.shape.role.outputs(), network.places.count(), network.kept());
        let (mut sum, mut kept) = ([0.0; MOST_WIDTH], [0.0; MOST_KEPT]);
        let mut ahead = [[0u32; MOST_PLACES]; AHEAD];
        for from in (0..boards).step_by(AHEAD) {
            let many = AHEAD.min(boards - from);
            for (i, rows) in ahead[..many].iter_mut().enumerate() {
                encode(from + i, &mut rows[..places]);
                network.ask_for(&rows[..places]);
            }
            for (i, rows) in ahead[..many].iter().enumerate() {
                network.forward(&rows[..places], &mut sum, &mut kept);
                outputs[(from + i) * count..][..count].copy_from_slice(&kept[end - count..end]);
            }
        }
    }
}

impl Network {
    /// The outputs for each board, [`Role::outputs`] of them one after another, moves in the order of the board's own directions.
    pub fn judge_boards<'b, P: Position>(
        &self,
        boards: impl ExactSizeIterator<Item = &'b P> + Clone,
        outputs: &mut [f32],
    ) {
        let (count, many) = (self.shape.role.outputs(), boards.len());
        assert_eq!(outputs.len(), many * count, "as many outputs as boards need");
        let mut symmetries = Vec::with_capacity(if count == 1 { 0 } else { many });
        let mut waiting = boards;
        let mut encode = |_: usize, rows: &mut [u32]| {
            if let Some(board) = waiting.next() {
                let symmetry = self.places.encode(board, rows);
                if count > 1 {
                    symmetries.push(symmetry);
                }
            }
        };
        judge(self, &mut encode, many, outputs);
        for (symmetry, outputs) in symmetries.iter().zip(outputs.chunks_exact_mut(count)) {
            unturn(*symmetry, outputs);
        }
    }
}

/// From the moves of the frame to those of the board; what follows them stays.
pub fn unturn<T: Copy>(symmetry: Symmetry, outputs: &mut [T]) {
    if let Some(moves) = outputs.first_chunk_mut::<4>() {
        let of_frame = *moves;
        for (direction, value) in afterstate_board::Direction::ALL.into_iter().zip(moves) {
            *value = of_frame[symmetry.direction(direction).index()];
        }
    }
}

/// From the moves of the board to those of its frame: undoes [`unturn`].
pub fn turn<T: Copy>(symmetry: Symmetry, outputs: &mut [T]) {
    unturn(symmetry.inverse(), outputs);
}

/// Moves this far below the best, in points, are hardly ever better on a closer look: as for n-tuple networks.
const CLEAR: f32 = 2_000.0;

impl<P: Position> Evaluator<P> for Network {
    /// Points still to come. A network that judges moves says what the board would be worth to a player to move.
    fn evaluate(&self, boards: &[Afterstate<P>], values: &mut [f32]) {
        let unit = self.shape.unit;
        if self.shape.role == Role::Value {
            self.judge_boards(boards.iter().map(Afterstate::board), values);
            values.iter_mut().for_each(|value| *value *= unit);
            return;
        }
        let count = self.shape.role.outputs();
        let mut outputs = vec![0.0; count * boards.len()];
        self.judge_boards(boards.iter().map(Afterstate::board), &mut outputs);
        for ((outputs, board), value) in outputs.chunks_exact(count).zip(boards).zip(values) {
            *value = unit * self.shape.role.worth(outputs, board.board().legal());
        }
    }

    fn scale(&self) -> Scale {
        Scale::of_network(self.shape.rewards)
    }

    fn care(&self) -> Care {
        if self.shape.role == Role::Value { Care { margin: CLEAR, ..Care::USUAL } } else { Care::USUAL }
    }

    fn moves(&self) -> Option<&dyn MoveJudge<P>> {
        (self.shape.role != Role::Value).then_some(self as &dyn MoveJudge<P>)
    }
}

impl<P: Position> MoveJudge<P> for Network {
    fn judge(&self, positions: &[P], judgements: &mut [Judgement]) {
        let count = self.shape.role.outputs();
        let mut outputs = vec![0.0; count * positions.len()];
        self.judge_boards(positions.iter(), &mut outputs);
        for (judgement, outputs) in judgements.iter_mut().zip(outputs.chunks_exact(count)) {
            *judgement = self.shape.role.judgement(outputs, self.shape.unit);
        }
    }

    fn are_logits(&self) -> bool {
        self.shape.role.has_logits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random_boards;
    use afterstate_board::{Board, Direction, board};

    fn shape(width: usize, role: Role) -> Shape {
        let places = "cdef 37bf 569a 0145".into();
        Shape { places, width, hidden: vec![32], direct: false, role, unit: 100.0, rewards: 1.0 }
    }

    fn network(width: usize, role: Role) -> Network {
        Network::random(Board::SIZE, shape(width, role), 0.3, 1).unwrap()
    }

    #[test]
    fn batches_of_all_sizes_equal_the_portable_twin_one_by_one() {
        let extreme = [board!(131072 65536 32768 16384 / 2 4 8 131072 / 0 0 0 2 / 65536 0 0 0), Board::empty()];
        let boards: Vec<Board> = random_boards(1_000).chain(extreme).collect();
        for (width, role, direct) in [(8, Role::Value, true), (40, Role::Policy, false), (64, Role::Moves, true)] {
            let shape = Shape { direct, ..shape(width, role) };
            let (mut network, count) = (Network::random(Board::SIZE, shape, 0.3, 1).unwrap(), role.outputs());
            network.table.iter_mut().enumerate().for_each(|(i, x)| *x += 0.1 * (i as f32).sin());
            let mut singly = Vec::new();
            for board in &boards {
                let (mut outputs, mut seen) = (vec![0.0; count], Symmetry::IDENTITY);
                let mut encode = |_: usize, rows: &mut [u32]| seen = network.places.encode_plainly(board, rows);
                portable_judge(&network, &mut encode, 1, &mut outputs);
                unturn(seen, &mut outputs);
                singly.extend(outputs);
            }
            for size in [1, 2, 15, 16, 17, 100, 1_002] {
                let mut outputs = vec![0.0; size * count];
                network.judge_boards(boards[..size].iter(), &mut outputs);
                assert_eq!(outputs, singly[..size * count], "{width} {role:?} {size}");
            }
        }
    }

    #[test]
    fn moves_turn_with_the_board() {
        let network = network(16, Role::Policy);
        for board in random_boards(200) {
            let judged = |board: &Board| {
                let mut outputs = [0.0; 5];
                network.judge_boards([board].into_iter(), &mut outputs);
                outputs
            };
            let own = judged(&board);
            for symmetry in Symmetry::ALL {
                let mut there = own;
                turn(symmetry, &mut there);
                unturn(symmetry, &mut there);
                assert_eq!(there, own);
            }
            for symmetry in Symmetry::ALL {
                let image = board.transformed(symmetry);
                let turned = judged(&image);
                assert_eq!(turned[4], own[4]);
                // Of a board that looks the same from two sides, either side may be meant.
                if Symmetry::ALL.iter().all(|&s| s == Symmetry::IDENTITY || board.transformed(s) != board) {
                    for d in Direction::ALL {
                        assert_eq!(turned[symmetry.direction(d).index()], own[d.index()], "{board} {symmetry:?} {d}");
                    }
                }
            }
        }
    }

    #[test]
    fn direct_numbers_are_added_and_nothing_else_hears_of_them() {
        for role in [Role::Value, Role::Moves] {
            let count = role.outputs();
            let mut network = Network::random(Board::SIZE, Shape { direct: true, ..shape(16, role) }, 0.3, 1).unwrap();
            let before = network.copied().unwrap();
            for row in network.table.chunks_exact_mut(16) {
                assert!(row[..count].iter().all(|&x| x == 0.0), "they begin at 0");
                row[..count].iter_mut().enumerate().for_each(|(k, x)| *x = -0.5 - k as f32);
            }
            for board in random_boards(100) {
                let judged = |network: &Network| {
                    let (mut rows, mut sum, mut kept) = ([0; 4], [0.0; 16], [0.0; 36]);
                    network.places.encode(&board, &mut rows);
                    network.forward(&rows, &mut sum, &mut kept[..network.kept()]);
                    (sum, kept)
                };
                let ((sum, kept), (old_sum, old_kept)) = (judged(&network), judged(&before));
                assert!(sum == old_sum && kept[..32] == old_kept[..32]);
                for k in 0..count {
                    assert_eq!(kept[32 + k], old_kept[32 + k] + 4.0 * (-0.5 - k as f32));
                }
            }
        }
    }

    #[test]
    fn unlearned_rows_are_sums_of_their_cells() {
        let network = network(8, Role::Value);
        let row = 0x1a2f;
        for lane in 0..8 {
            let cell = |digit: usize| network.cells[(digit * 16 + (row >> (4 * digit) & 15)) * 8 + lane];
            let sum = cell(0) + cell(1) + cell(2) + cell(3);
            assert!((network.table[row * 8 + lane] - sum).abs() < 1e-6);
        }
    }

    #[test]
    fn shapes_without_sense_are_refused() {
        let shape = |width: usize, hidden: &[usize], unit: f32| {
            let shape = Shape {
                places: "01".into(),
                width,
                hidden: hidden.to_vec(),
                direct: false,
                role: Role::Value,
                unit,
                rewards: 1.0,
            };
            Network::random(Board::SIZE, shape, 0.1, 1).is_ok()
        };
        assert!(shape(8, &[], 1.0) && shape(256, &[32, 32], 1.0));
        assert!(!shape(0, &[], 1.0) && !shape(12, &[], 1.0) && !shape(264, &[], 1.0));
        assert!(!shape(8, &[0], 1.0) && !shape(8, &[2_000], 1.0) && !shape(8, &[], f32::NAN) && !shape(8, &[], 0.0));
    }
}
