//! Where board, panel, title and keys go on a terminal of any size, and when it is too small for them.
//! The largest board wins that leaves room for the panel beside or below it.

use afterstate_board::Position;
use ratatui::layout::{Rect, Size};

use super::board_view::{CELL_SIZES, board_size};
use super::palette::Palette;

/// The panel is never narrower than this.
pub const PANEL_WIDTH: u16 = 28;
/// Nor wider, beside the board.
const WIDEST_PANEL: u16 = 34;
/// Status, a gap, score and moves: less is not worth drawing.
const FEWEST_LINES: u16 = 4;
/// Between board and panel.
const GAP: u16 = 2;
/// Title and keys.
const EDGES: u16 = 2;

/// The places of everything on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    pub title: Rect,
    pub board: Rect,
    pub panel: Rect,
    pub keys: Rect,
    /// The size of one cell of the board.
    pub cell: Size,
}

/// Finds the places, or says how large the terminal must be for the smallest drawing.
pub fn arrange<P: Position>(area: Rect, palette: Palette, panel_lines: u16) -> Result<Places, Size> {
    let sized = CELL_SIZES.map(|cell| (cell, board_size::<P>(cell, palette)));
    let room = Size::new(area.width, area.height.saturating_sub(EDGES));
    let beside =
        |board: Size| board.width + GAP + PANEL_WIDTH <= room.width && board.height.max(panel_lines) <= room.height;
    let below = |board: Size, lines| board.width.max(PANEL_WIDTH) <= room.width && board.height + lines <= room.height;
    let is_good = |(_, board): &&(Size, Size)| beside(*board) || below(*board, panel_lines);
    let is_fair = |(_, board): &&(Size, Size)| below(*board, FEWEST_LINES);
    let Some(&(cell, board)) = sized.iter().find(is_good).or_else(|| sized.iter().find(is_fair)) else {
        let smallest = sized[sized.len() - 1].1;
        return Err(Size::new(smallest.width.max(PANEL_WIDTH), smallest.height + FEWEST_LINES + EDGES));
    };
    let (board, panel) = if beside(board) { place_beside(area, board, panel_lines) } else { place_below(area, board) };
    let line = Rect { x: area.x + 1, width: area.width - 1, height: 1, ..area };
    let (title, keys) = (line, Rect { y: area.bottom() - 1, ..line });
    Ok(Places { title, board, panel, keys, cell })
}

fn place_beside(area: Rect, board: Size, panel_lines: u16) -> (Rect, Rect) {
    let panel = (area.width - board.width - GAP).min(WIDEST_PANEL);
    let height = board.height.max(panel_lines);
    let left = area.x + (area.width - board.width - GAP - panel) / 2;
    let top = area.y + 1 + (area.height - EDGES - height) / 2;
    let place = |x, width, height| Rect { x, y: top, width, height };
    (place(left, board.width, board.height), place(left + board.width + GAP, panel, height))
}

fn place_below(area: Rect, board: Size) -> (Rect, Rect) {
    let left = area.x + (area.width - board.width) / 2;
    let top = area.y + 1;
    let bottom = area.bottom() - 1;
    let under = top + board.height;
    let board = Rect { x: left, y: top, width: board.width, height: board.height };
    let start = left.min(area.right() - PANEL_WIDTH);
    (board, Rect { x: start, y: under, width: area.right() - start, height: bottom - under })
}

#[cfg(test)]
mod tests {
    use afterstate_board::{Board, Grid};

    use super::super::palette::Depth;
    use super::*;

    const COLOURS: Palette = Palette::new(Depth::True);

    fn at<P: Position>(width: u16, height: u16) -> Result<Places, Size> {
        arrange::<P>(Rect::new(0, 0, width, height), COLOURS, 15)
    }

    #[test]
    fn usual_terminals_have_the_panel_beside_the_board() {
        for places in [at::<Board>(80, 24), at::<Board>(120, 40), at::<Grid<5, 5>>(80, 24), at::<Grid<2, 2>>(80, 24)] {
            let places = places.unwrap();
            assert!(places.panel.x > places.board.right() && places.cell.height >= 3, "{places:?}");
        }
        assert!(at::<Board>(120, 40).unwrap().cell.height > at::<Board>(80, 24).unwrap().cell.height);
    }

    #[test]
    fn a_narrow_terminal_has_it_below() {
        let places = at::<Board>(45, 40).unwrap();
        assert!(places.panel.y >= places.board.bottom());
    }

    #[test]
    fn the_size_asked_for_is_enough_and_one_less_is_not() {
        let needed = at::<Board>(1, 1).unwrap_err();
        assert!(at::<Board>(needed.width, needed.height).is_ok());
        assert_eq!(at::<Board>(needed.width - 1, needed.height), Err(needed));
        assert_eq!(at::<Board>(needed.width, needed.height - 1), Err(needed));
    }

    /// Any size at all: places lie inside the screen and do not overlap.
    fn check<P: Position>() {
        for (width, height) in (0..130).flat_map(|w| (0..45).map(move |h| (w, h))) {
            let area = Rect::new(0, 0, width, height);
            for lines in [5, 15, 20] {
                let Ok(places) = arrange::<P>(area, COLOURS, lines) else { continue };
                let all = [places.title, places.board, places.panel, places.keys];
                assert!(all.iter().all(|r| area.union(*r) == area), "{width}x{height}: {places:?}");
                let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
                assert!(pairs.iter().all(|&(a, b)| !all[a].intersects(all[b])), "{width}x{height}: {places:?}");
            }
        }
    }

    #[test]
    fn nothing_overlaps_on_any_screen() {
        check::<Grid<2, 2>>();
        check::<Board>();
        check::<Grid<5, 5>>();
    }
}
