//! Boards as the inputs of networks: for training and playing alike.

use afterstate_board::{Position, Size, Symmetry};

use crate::ntuple::CAP;

/// Tiles told apart by [`Encoding::OneHot`]: none, and 2 to 131072.
const KINDS: usize = 18;

/// The largest exponent, which [`Encoding::Exponents`] makes 1.
const LARGEST: f32 = 17.0;

/// How tiles become numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// One number a cell: the exponent over 17.
    Exponents,
    /// Eighteen numbers a cell: 1 for the tile that is there, 0 for the others.
    OneHot,
    /// Sixteen numbers a cell, as the published networks have it: tiles above 32768 look like 32768.
    OneHot16,
}

impl Encoding {
    /// The names of all of them.
    pub const NAMES: &'static [&'static str] = &["exponents", "one-hot", "one-hot-16"];

    /// Its name in files and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exponents => Self::NAMES[0],
            Self::OneHot => Self::NAMES[1],
            Self::OneHot16 => Self::NAMES[2],
        }
    }

    /// The encoding of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Exponents, Self::OneHot, Self::OneHot16].into_iter().find(|encoding| encoding.name() == name)
    }

    /// Numbers for a cell.
    pub const fn planes(self) -> usize {
        match self {
            Self::Exponents => 1,
            Self::OneHot => KINDS,
            Self::OneHot16 => 16,
        }
    }

    /// Numbers for a board of that size.
    pub const fn inputs(self, size: Size) -> usize {
        self.planes() * size.cells()
    }

    /// Writes the numbers of a board as it lies, cell by cell.
    pub fn write<P: Position>(self, board: &P, inputs: &mut [f32]) {
        match self {
            Self::Exponents => {
                for (cell, input) in inputs.iter_mut().enumerate() {
                    *input = f32::from(board.exponent(cell)) / LARGEST;
                }
            }
            Self::OneHot | Self::OneHot16 => {
                inputs.fill(0.0);
                let kinds = self.planes();
                for (cell, inputs) in inputs.chunks_exact_mut(kinds).enumerate() {
                    inputs[index_of(board, cell, kinds)] = 1.0;
                }
            }
        }
    }
}

/// Which of so many kinds of tile is in a cell, 0 for none; the last kind stands for all larger tiles too.
#[inline]
pub fn index_of<P: Position>(board: &P, cell: usize, kinds: usize) -> usize {
    usize::from(board.exponent(cell)).min(kinds - 1)
}

/// The symmetry that turns a board into its frame: the image whose tiles, read from the last cell back to the first, are the largest
/// (those above 32768 count as 32768). All images of a board have the same frame.
pub fn frame_of<P: Position>(board: &P) -> Symmetry {
    if let Some(images) = board.images() {
        let largest = (1..8).fold(0, |best, i| if images[i] > images[best] { i } else { best });
        return Symmetry::ALL[largest];
    }
    let digit =
        |symmetry: Symmetry, cell: usize| board.exponent(symmetry.inverse().cell(cell, P::ROWS, P::COLUMNS)).min(CAP);
    let key = |symmetry: Symmetry| (0..P::CELLS).rev().map(move |cell| digit(symmetry, cell));
    let larger = |best: Symmetry, &other: &Symmetry| if key(other).gt(key(best)) { other } else { best };
    Symmetry::of_shape(P::ROWS, P::COLUMNS).iter().fold(Symmetry::IDENTITY, larger)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{random_boards, twin};
    use afterstate_board::{Board, board};

    #[test]
    fn numbers_by_hand() {
        let board: Board = board!(2 0 0 131072 / 0 0 0 0 / 0 0 0 0 / 0 0 0 4);
        let mut exponents = [9.0; 16];
        Encoding::Exponents.write(&board, &mut exponents);
        assert_eq!((exponents[0], exponents[1], exponents[3], exponents[15]), (1.0 / 17.0, 0.0, 1.0, 2.0 / 17.0));
        let mut planes = vec![9.0; Encoding::OneHot.inputs(Board::SIZE)];
        Encoding::OneHot.write(&board, &mut planes);
        assert_eq!(planes.iter().sum::<f32>(), 16.0);
        assert_eq!((planes[1], planes[18], planes[3 * 18 + 17], planes[15 * 18 + 2]), (1.0, 1.0, 1.0, 1.0));
        let mut planes = vec![9.0; Encoding::OneHot16.inputs(Board::SIZE)];
        Encoding::OneHot16.write(&board, &mut planes);
        assert_eq!((planes[1], planes[3 * 16 + 15], planes.iter().sum::<f32>()), (1.0, 1.0, 16.0));
        for name in Encoding::NAMES {
            assert_eq!(Encoding::named(name).map(Encoding::name), Some(*name));
        }
    }

    #[test]
    fn all_images_have_one_frame() {
        for board in random_boards(300) {
            let frame = board.transformed(frame_of(&board));
            assert_eq!(frame_of(&twin(&board)), frame_of(&board));
            // Tiles above 32768 look alike to the frame, so only narrow boards have exactly one.
            if board.is_narrow() {
                for symmetry in Symmetry::ALL {
                    let image = board.transformed(symmetry);
                    assert_eq!(image.transformed(frame_of(&image)), frame);
                }
            }
        }
    }
}
