//! The board on the screen: coloured tiles, or a ruled table where there is no colour.
//! Cells have fixed sizes, so that the board does not jump when its tiles grow.

use afterstate_board::Position;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position as At, Rect, Size};
use ratatui::style::Modifier;
use ratatui::widgets::Widget;

use super::palette::Palette;

/// Columns and rows of one cell, from the largest to the smallest. All hold the six digits of 131072.
pub const CELL_SIZES: [Size; 5] =
    [Size::new(16, 7), Size::new(12, 5), Size::new(8, 3), Size::new(7, 3), Size::new(7, 1)];

/// What a tile of that exponent is called in at most `width` columns: its number, or in units of 2^10 or 2^20 if that is too
/// long.
pub fn label(exponent: u8, width: usize) -> String {
    let full = match exponent {
        0 => String::new(),
        e => (1u64 << e.min(63)).to_string(),
    };
    match exponent {
        _ if full.len() <= width => full,
        20.. => format!("{}M", 1u64 << (exponent - 20).min(63)),
        _ => format!("{}K", 1u64 << exponent.saturating_sub(10)),
    }
}

/// Draws a position with cells of one size.
pub struct BoardView<'a, P> {
    pub position: &'a P,
    /// The cell of the tile that has just appeared.
    pub fresh: Option<usize>,
    pub cell: Size,
    pub palette: Palette,
}

/// The gap between cells. Two columns are about as wide as one row is high; rules need just one.
fn gap(palette: Palette) -> Size {
    if palette.is_coloured() { Size::new(2, 1) } else { Size::new(1, 1) }
}

/// The size of a whole board.
pub fn board_size<P: Position>(cell: Size, palette: Palette) -> Size {
    let gap = gap(palette);
    let (rows, columns) = (P::ROWS as u16, P::COLUMNS as u16);
    Size::new(columns * (cell.width + gap.width) + gap.width, rows * (cell.height + gap.height) + gap.height)
}

impl<P: Position> Widget for BoardView<'_, P> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let size = board_size::<P>(self.cell, self.palette);
        if area.width < size.width || area.height < size.height {
            return;
        }
        let area = Rect { width: size.width, height: size.height, ..area };
        buffer.set_style(area, self.palette.board());
        if !self.palette.is_coloured() {
            self.rule(area, buffer);
        }
        for index in 0..P::CELLS {
            self.tile(index, area, buffer);
        }
    }
}

impl<P: Position> BoardView<'_, P> {
    fn tile(&self, index: usize, area: Rect, buffer: &mut Buffer) {
        let gap = gap(self.palette);
        let (row, column) = ((index / P::COLUMNS) as u16, (index % P::COLUMNS) as u16);
        let rect = Rect {
            x: area.x + gap.width + column * (self.cell.width + gap.width),
            y: area.y + gap.height + row * (self.cell.height + gap.height),
            width: self.cell.width,
            height: self.cell.height,
        };
        let exponent = self.position.exponent(index);
        let style = self.palette.tile(exponent);
        buffer.set_style(rect, style);
        let text = label(exponent, usize::from(rect.width));
        let style = if self.fresh == Some(index) { style.add_modifier(Modifier::UNDERLINED) } else { style };
        let left = usize::from(rect.width).saturating_sub(text.len()).div_ceil(2) as u16;
        buffer.set_string(rect.x + left, rect.y + rect.height / 2, text, style);
    }

    /// Rules around all cells.
    fn rule(&self, area: Rect, buffer: &mut Buffer) {
        let (across, down) = (self.cell.width + 1, self.cell.height + 1);
        for y in 0..area.height {
            for x in 0..area.width {
                let symbol = match (x % across == 0, y % down == 0) {
                    (false, false) => continue,
                    (true, false) => "│",
                    (false, true) => "─",
                    (true, true) => corner((x == 0, x + 1 == area.width), (y == 0, y + 1 == area.height)),
                };
                if let Some(cell) = buffer.cell_mut(At::new(area.x + x, area.y + y)) {
                    cell.set_symbol(symbol);
                }
            }
        }
    }
}

/// The crossing of two rules, by whether it is the first or last in its row and column.
fn corner(x: (bool, bool), y: (bool, bool)) -> &'static str {
    match (x, y) {
        ((true, _), (true, _)) => "┌",
        ((_, true), (true, _)) => "┐",
        ((true, _), (_, true)) => "└",
        ((_, true), (_, true)) => "┘",
        ((true, _), _) => "├",
        ((_, true), _) => "┤",
        (_, (true, _)) => "┬",
        (_, (_, true)) => "┴",
        _ => "┼",
    }
}

#[cfg(test)]
mod tests {
    use afterstate_board::{Board, Grid, board};

    use super::super::palette::Depth;
    use super::*;

    fn render<P: Position>(position: &P, cell: Size, depth: Depth) -> Buffer {
        let palette = Palette::new(depth);
        let size = board_size::<P>(cell, palette);
        let mut buffer = Buffer::empty(Rect::new(0, 0, size.width, size.height));
        BoardView { position, fresh: None, cell, palette }.render(buffer.area, &mut buffer);
        buffer
    }

    fn lines(buffer: &Buffer) -> Vec<String> {
        let line = |y| (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect();
        (0..buffer.area.height).map(line).collect()
    }

    #[test]
    fn without_colour_the_board_is_a_ruled_table() {
        let board = board!(Grid<2, 2>: 2 0 / 16 32);
        let drawn = lines(&render(&board, Size::new(7, 1), Depth::Plain));
        assert_eq!(
            drawn,
            ["┌───────┬───────┐", "│   2   │       │", "├───────┼───────┤", "│   16  │   32  │", "└───────┴───────┘"]
        );
    }

    #[test]
    fn the_largest_tiles_fit_into_every_cell() {
        let board: Board = board!(65536 131072 0 0 / 0 0 0 0 / 0 0 0 0 / 0 0 0 131072);
        for cell in CELL_SIZES {
            for depth in [Depth::Plain, Depth::Sixteen, Depth::Indexed, Depth::True] {
                let text = lines(&render(&board, cell, depth)).join("\n");
                assert_eq!(text.matches("131072").count(), 2, "{cell} {depth:?}");
                assert_eq!(text.matches("65536").count(), 1, "{cell} {depth:?}");
            }
        }
    }

    #[test]
    fn labels_never_outgrow_their_cell() {
        assert_eq!(label(0, 7), "");
        assert_eq!(label(17, 6), "131072");
        assert_eq!(label(17, 5), "128K");
        assert_eq!(label(26, 7), "64M");
        assert!((0..=30).all(|exponent| label(exponent, 7).len() <= 7));
    }

    #[test]
    fn tiles_have_their_colour_up_to_their_edges() {
        let buffer = render(&board!(Grid<2, 2>: 2 0 / 0 2048), Size::new(8, 3), Depth::True);
        let palette = Palette::new(Depth::True);
        let bg = |x, y| Some(buffer[(x, y)].bg);
        assert_eq!(bg(0, 0), palette.board().bg);
        assert_eq!((bg(2, 1), bg(9, 3)), (palette.tile(1).bg, palette.tile(1).bg));
        assert_eq!(bg(10, 1), palette.board().bg);
        assert_eq!((bg(12, 5), bg(19, 7)), (palette.tile(11).bg, palette.tile(11).bg));
    }

    #[test]
    fn a_board_that_does_not_fit_is_not_drawn() {
        let board = board!(Grid<2, 2>: 2 0 / 0 2);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 5, 2));
        let palette = Palette::new(Depth::Plain);
        BoardView { position: &board, fresh: None, cell: CELL_SIZES[0], palette }.render(buffer.area, &mut buffer);
        assert_eq!(buffer, Buffer::empty(buffer.area));
    }
}
