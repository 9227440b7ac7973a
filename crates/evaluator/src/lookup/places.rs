//! The encoder of the two-core network, for training and playing alike: a board is turned into a frame of its own, and the tiles on each
//! of a few places name a row of that place's table.
//!
//! The frame is the image of the board whose tiles, read from the last cell back to the first, are the largest: the largest corner
//! comes last, the larger of its neighbours beside it. A board and its images look up the same rows, so that whatever is learned about
//! one holds for all eight, and each place still knows where it lies.
//!
//! Or places that symmetry makes equal share a table, each read in the way that gives the lowest row: a fifth of the rows, for small files.

use std::fmt;
use std::ops::Range;

use afterstate_board::{Position, Size, Symmetry};

use crate::encode::frame_of;
use crate::ntuple::{CAP, Layout, LayoutError, MOST_FEATURES, Pattern, Run, Stages};

/// The most places of a network.
pub const MOST_PLACES: usize = 64;

/// The most rows of all tables together.
const MOST_ROWS: usize = 1 << 27;

/// The list of places with every row, every column and every square of four cells: 17 places on a 4x4 board.
pub const LINES_SQUARES: &str = "lines-squares";

/// The same places, but those that symmetry makes equal share a table: five tables on a 4x4 board.
pub const SHARED_LINES_SQUARES: &str = "shared-lines-squares";

/// What a list of places that share tables begins with.
const SHARED: &str = "shared";

#[derive(Clone, Debug)]
struct Place {
    pattern: Pattern,
    /// Is it read from the frame with rows and columns swapped, where it is in fewer pieces?
    across: bool,
    first: [Run; 2],
    others: Vec<Run>,
    /// Where its table begins.
    offset: u32,
}

/// The places of a network, for boards of one shape.
#[derive(Clone, Debug)]
pub struct Places {
    /// Read from the frame, a table each; none if tables are shared.
    places: Vec<Place>,
    shared: Option<Shared>,
    /// The cells of each table, and its first row.
    tables: Vec<(Pattern, usize)>,
    rows: usize,
}

/// Places that share tables.
#[derive(Clone, Debug)]
struct Shared {
    /// One pattern for each table: its eight images are all readings of all its places.
    layout: Layout,
    /// For each place the readings of it, by number: the first two, and any others. The places of a table follow each other.
    readings: Vec<([u8; 2], Vec<u8>)>,
    /// The first place of each table.
    firsts: Vec<usize>,
}

impl Shared {
    fn new(size: Size, patterns: &str) -> Result<Self, LayoutError> {
        let layout = Layout::of_size(size, patterns, Stages::NONE)?;
        let symmetries = Symmetry::of_shape(size.rows, size.columns);
        let mut places: Vec<(usize, Vec<usize>, Vec<u8>)> = Vec::new();
        for (table, pattern) in layout.patterns().enumerate() {
            for (k, symmetry) in symmetries.iter().enumerate() {
                let image = symmetry.inverse();
                let mut cells: Vec<usize> = pattern
                    .cells()
                    .iter()
                    .map(|&cell| image.cell(usize::from(cell), size.rows, size.columns))
                    .collect();
                cells.sort_unstable();
                let reading = (table * symmetries.len() + k) as u8;
                match places.iter_mut().find(|(t, known, _)| *t == table && *known == cells) {
                    Some((.., readings)) => readings.push(reading),
                    None => places.push((table, cells, vec![reading])),
                }
            }
        }
        let pair = |all: Vec<u8>| ([all[0], *all.get(1).unwrap_or(&all[0])], all.into_iter().skip(2).collect());
        let first = |table: usize| places.iter().position(|(t, ..)| *t == table).unwrap_or(places.len());
        let firsts = (0..layout.patterns().len()).map(first).collect();
        Ok(Self { layout, firsts, readings: places.into_iter().map(|(.., readings)| pair(readings)).collect() })
    }

    #[inline(always)]
    fn encode<P: Position>(&self, board: &P, rows: &mut [u32]) {
        let mut indices = [0; MOST_FEATURES];
        self.layout.indices(board, &mut indices[..self.layout.features()]);
        self.lowest(&indices, rows);
    }

    /// The lowest reading of each place.
    #[inline(always)]
    fn lowest(&self, indices: &[u32; MOST_FEATURES], rows: &mut [u32]) {
        for (([first, second], others), row) in self.readings.iter().zip(rows) {
            let lower = indices[usize::from(*first)].min(indices[usize::from(*second)]);
            *row = others.iter().fold(lower, |low, &reading| low.min(indices[usize::from(reading)]));
        }
    }
}

/// Which image is the transpose of which, by [`Symmetry::index`].
const TRANSPOSED: [usize; 8] = [4, 6, 5, 7, 0, 2, 1, 3];

impl Places {
    /// Reads a list of places, cells as digits from the top left of the frame, such as `0123 4567 0145`, or [`LINES_SQUARES`].
    ///
    /// After the word `shared` a list has one place for each table, which stands for all its images.
    pub fn new(size: Size, list: &str) -> Result<Self, LayoutError> {
        if list == SHARED_LINES_SQUARES {
            return Self::sharing(size, &one_of_each(size));
        }
        if let Some((SHARED, patterns)) = list.split_once(' ') {
            return Self::sharing(size, patterns);
        }
        let all = (list == LINES_SQUARES).then(|| lines_and_squares(size));
        let (mut places, mut rows) = (Vec::new(), 0);
        for word in all.as_deref().unwrap_or(list).split_whitespace() {
            let pattern = Pattern::parse(word, size.cells())?;
            let offset = u32::try_from(rows).unwrap_or(u32::MAX);
            rows += pattern.entries();
            let turned = size.rows == size.columns;
            let swapped: String = pattern.cells().iter().filter_map(|&cell| swapped_digit(size, cell)).collect();
            let (upright, lying) = (pattern.runs(), Pattern::parse(&swapped, size.cells()).map(|p| p.runs()));
            // The digits of the swapped place must keep their order, or the index would mean another row.
            let ordered = swapped.chars().is_sorted_by_key(|c| c.to_digit(36));
            let across = matches!(&lying, Ok(lying) if turned && ordered && lying.len() < upright.len());
            let runs = if across { lying? } else { upright };
            let first = [0, 1].map(|i| runs.get(i).copied().unwrap_or_default());
            places.push(Place { pattern, across, first, others: runs.into_iter().skip(2).collect(), offset });
        }
        if places.is_empty() || places.len() > MOST_PLACES {
            let reason = format!("a network has 1 to {MOST_PLACES} places, such as 0123");
            return Err(LayoutError::Pattern { pattern: list.to_owned(), reason });
        }
        if rows > MOST_ROWS {
            return Err(LayoutError::TooLarge(format!("{rows} rows; {MOST_ROWS} are the most")));
        }
        let tables = places.iter().map(|place| (place.pattern.clone(), place.offset as usize)).collect();
        Ok(Self { places, shared: None, tables, rows })
    }

    fn sharing(size: Size, patterns: &str) -> Result<Self, LayoutError> {
        let shared = Shared::new(size, patterns)?;
        let (rows, count) = (shared.layout.weights(), shared.readings.len());
        if rows > MOST_ROWS || count > MOST_PLACES {
            return Err(LayoutError::TooLarge(format!(
                "{rows} rows for {count} places; {MOST_ROWS} and {MOST_PLACES} are the most"
            )));
        }
        let starts = (0..shared.layout.patterns().len()).map(|table| shared.layout.table(table).start);
        let tables = shared.layout.patterns().cloned().zip(starts).collect();
        Ok(Self { places: Vec::new(), shared: Some(shared), tables, rows })
    }

    /// Do places share tables? Then nothing tells one side of the board from another, and moves cannot be judged.
    pub const fn are_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Number of places: rows that a board looks up.
    pub fn count(&self) -> usize {
        self.shared.as_ref().map_or(self.places.len(), |shared| shared.readings.len())
    }

    /// Number of rows in all tables.
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The cells of each table with its first row.
    pub fn tables(&self) -> impl Iterator<Item = (&[u8], usize)> {
        self.tables.iter().map(|(pattern, start)| (pattern.cells(), *start))
    }

    /// All places in up to `count` parts of about the same size, none of whose tables another part looks into: the places of each, and how
    /// many rows its tables have. Tables follow each other in the order of the parts.
    pub fn shares(&self, count: usize) -> Vec<(Range<usize>, usize)> {
        let tables = self.tables.len();
        // Of a table: its first place and its first row.
        let begin = |table: usize| match (self.tables.get(table), &self.shared) {
            (None, _) => (self.count(), self.rows),
            (Some((_, row)), None) => (table, *row),
            (Some((_, row)), Some(shared)) => (shared.firsts[table], *row),
        };
        let each = self.count().div_ceil(count.max(1));
        let (mut shares, mut from) = (Vec::new(), 0);
        while from < tables {
            let to = (from + 1..tables).find(|&to| begin(to).0 - begin(from).0 >= each).unwrap_or(tables);
            shares.push((begin(from).0..begin(to).0, begin(to).1 - begin(from).1));
            from = to;
        }
        shares
    }

    /// Writes the rows that a board looks up, [`Places::count`] of them; the symmetry that turns the board into its frame.
    #[inline(always)]
    pub fn encode<P: Position>(&self, board: &P, rows: &mut [u32]) -> Symmetry {
        if let Some(shared) = &self.shared {
            shared.encode(board, rows);
            return Symmetry::IDENTITY;
        }
        match board.images() {
            Some(images) => self.encode_images(&images, rows),
            None => self.encode_plainly(board, rows),
        }
    }

    #[inline(always)]
    fn encode_images(&self, images: &[u64; 8], rows: &mut [u32]) -> Symmetry {
        let mut best = 0;
        for i in 1..8 {
            best = if images[i] > images[best] { i } else { best };
        }
        let (frame, across) = (images[best], images[TRANSPOSED[best]]);
        for (place, row) in self.places.iter().zip(rows) {
            let tiles = if place.across { across } else { frame };
            let part = |run: &Run| tiles >> run.shift & run.mask;
            let others = place.others.iter().fold(0, |sum, run| sum | part(run));
            *row = (part(&place.first[0]) | part(&place.first[1]) | others) as u32 + place.offset;
        }
        Symmetry::ALL[best]
    }

    /// The same for any board, cell by cell: the definition, and the twin of the fast way.
    pub fn encode_plainly<P: Position>(&self, board: &P, rows: &mut [u32]) -> Symmetry {
        if let Some(shared) = &self.shared {
            let mut indices = [0; MOST_FEATURES];
            shared.layout.plain_indices(board, &mut indices[..shared.layout.features()]);
            shared.lowest(&indices, rows);
            return Symmetry::IDENTITY;
        }
        let symmetry = frame_of(board);
        let digit = |cell: usize| board.exponent(symmetry.inverse().cell(cell, P::ROWS, P::COLUMNS)).min(CAP);
        for (place, row) in self.places.iter().zip(rows) {
            let cells = place.pattern.cells().iter().rev();
            *row = cells.fold(0, |index, &cell| index << 4 | u32::from(digit(usize::from(cell)))) + place.offset;
        }
        symmetry
    }
}

/// The cell with row and column swapped, as a digit.
fn swapped_digit(size: Size, cell: u8) -> Option<char> {
    let (row, column) = (usize::from(cell) / size.columns, usize::from(cell) % size.columns);
    char::from_digit((column * size.rows + row) as u32, 36)
}

/// Every row, every column and every square of four cells.
fn lines_and_squares(size: Size) -> String {
    let digit = |row: usize, column: usize| char::from_digit((row * size.columns + column) as u32, 36).unwrap_or('?');
    let rows = (0..size.rows).map(|row| (0..size.columns).map(|column| digit(row, column)).collect());
    let columns = (0..size.columns).map(|column| (0..size.rows).map(|row| digit(row, column)).collect());
    let corners = (0..size.rows - 1).flat_map(|row| (0..size.columns - 1).map(move |column| (row, column)));
    let square = |(r, c)| [(r, c), (r, c + 1), (r + 1, c), (r + 1, c + 1)].iter().map(|&(r, c)| digit(r, c)).collect();
    let all: Vec<String> = rows.chain(columns).chain(corners.map(square)).collect();
    all.join(" ")
}

/// One of each kind of place: none is an image of another.
fn one_of_each(size: Size) -> String {
    let symmetries = Symmetry::of_shape(size.rows, size.columns);
    let cell = |c: char| c.to_digit(36).unwrap_or(0) as usize;
    let image = |word: &str, s: Symmetry| {
        let mut cells: Vec<usize> = word.chars().map(|c| s.cell(cell(c), size.rows, size.columns)).collect();
        cells.sort_unstable();
        cells
    };
    let (all, mut seen) = (lines_and_squares(size), Vec::new());
    let fresh = |word: &&str| {
        let own = image(word, Symmetry::IDENTITY);
        let known = seen.contains(&own);
        seen.extend(symmetries.iter().map(|&s| image(word, s)));
        !known
    };
    all.split_whitespace().filter(fresh).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(shared) = &self.shared {
            return write!(f, "{SHARED} {}", shared.layout);
        }
        for (i, place) in self.places.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { " " }, place.pattern)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{random_boards, twin};
    use afterstate_board::{Board, Direction, Grid, board};

    fn encoded<P: Position>(places: &Places, board: &P) -> (Vec<u32>, Symmetry) {
        let mut rows = vec![u32::MAX; places.count()];
        let symmetry = places.encode(board, &mut rows);
        (rows, symmetry)
    }

    #[test]
    fn both_ways_find_the_same_rows() {
        let huge = board!(131072 65536 32768 16384 / 2 4 8 131072 / 0 0 0 2 / 65536 0 0 0);
        for list in [LINES_SQUARES, SHARED_LINES_SQUARES, "shared 0123 012456", "0145 37bf cdef89 048c15 5", "09af"] {
            let places = Places::new(Board::SIZE, list).unwrap();
            for board in random_boards(1_000).chain([huge, Board::empty()]) {
                let mut plain = vec![0; places.count()];
                let symmetry = places.encode_plainly(&board, &mut plain);
                assert_eq!(encoded(&places, &board), (plain, symmetry), "{list} {board}");
                assert_eq!(encoded(&places, &board), encoded::<Grid<4, 4>>(&places, &twin(&board)), "{list} {board}");
                assert!(encoded(&places, &board).0.iter().all(|&row| (row as usize) < places.rows()));
            }
        }
    }

    #[test]
    fn images_look_up_the_same_rows() {
        let places = Places::new(Board::SIZE, LINES_SQUARES).unwrap();
        assert_eq!((places.count(), places.rows()), (17, 17 << 16));
        for board in random_boards(300) {
            let (rows, symmetry) = encoded(&places, &board);
            let frame = board.transformed(symmetry);
            for s in Symmetry::ALL {
                let image = board.transformed(s);
                let (same, turned) = encoded(&places, &image);
                assert_eq!(same, rows, "{board}");
                assert_eq!(image.transformed(turned), frame);
            }
            // A move of the board is the same move of its frame.
            for direction in Direction::ALL {
                let slid = board.slide(direction).map(|slide| slide.after.board().transformed(symmetry));
                assert_eq!(slid, frame.slide(symmetry.direction(direction)).map(|slide| *slide.after.board()));
            }
        }
    }

    #[test]
    fn shared_tables_take_the_lowest_reading() {
        let places = Places::new(Board::SIZE, SHARED_LINES_SQUARES).unwrap();
        assert_eq!(
            (places.count(), places.rows(), places.to_string()),
            (17, 5 << 16, "shared 0123 4567 0145 1256 569a".into())
        );
        let again = Places::new(Board::SIZE, &places.to_string()).unwrap();
        let board = board!(2 4 8 16 / 0 0 0 0 / 0 0 0 0 / 0 0 0 0);
        let (rows, _) = encoded(&places, &board);
        assert_eq!(encoded(&again, &board).0, rows);
        // 2 4 8 16 read backwards, which is lower than forwards.
        assert!(rows.contains(&0x1234) && !rows.contains(&0x4321), "{rows:x?}");
        for board in random_boards(200) {
            let sorted = |board: &Board| {
                let mut rows = encoded(&places, board).0;
                rows.sort_unstable();
                rows
            };
            assert!(Symmetry::ALL.iter().all(|&s| sorted(&board.transformed(s)) == sorted(&board)));
        }
        assert_eq!(Places::new(<Grid<3, 4>>::SIZE, SHARED_LINES_SQUARES).unwrap().count(), 13);
    }

    #[test]
    fn shares_cover_all_tables_and_none_looks_into_another() {
        for list in [LINES_SQUARES, SHARED_LINES_SQUARES, "shared 0123 012456 5", "0145 37bf 569a"] {
            let places = Places::new(Board::SIZE, list).unwrap();
            for count in 0..6 {
                let shares = places.shares(count);
                assert!(shares.len() <= count.max(1), "{list} {count}: {shares:?}");
                assert_eq!(
                    shares.iter().flat_map(|(own, _)| own.clone()).collect::<Vec<_>>(),
                    Vec::from_iter(0..places.count())
                );
                assert_eq!(shares.iter().map(|(_, rows)| rows).sum::<usize>(), places.rows());
                for board in random_boards(50) {
                    let (rows, mut start) = (encoded(&places, &board).0, 0);
                    for (own, many) in &shares {
                        assert!(rows[own.clone()].iter().all(|&row| (start..start + many).contains(&(row as usize))));
                        start += many;
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_by_hand() {
        let places = Places::new(Board::SIZE, "cdef 37bf").unwrap();
        let (rows, _) = encoded(&places, &board!(64 32 0 0 / 16 0 0 0 / 8 0 0 0 / 0 0 0 2));
        assert_eq!(rows, [0x6500, 65_536 + 0x6430]);
    }

    #[test]
    fn other_shapes_have_places_too() {
        let count = |places: Result<Places, LayoutError>| places.unwrap().count();
        assert_eq!(count(Places::new(<Grid<2, 2>>::SIZE, LINES_SQUARES)), 5);
        assert_eq!(count(Places::new(<Grid<3, 4>>::SIZE, LINES_SQUARES)), 13);
        assert_eq!(count(Places::new(<Grid<5, 5>>::SIZE, LINES_SQUARES)), 26);
        for board in
            random_boards(100).map(|b| (0..12).fold(Grid::<3, 4>::empty(), |g, c| g.with_exponent(c, b.exponent(c))))
        {
            let places = Places::new(<Grid<3, 4>>::SIZE, LINES_SQUARES).unwrap();
            let mirrored = board.transformed(Symmetry::ALL[3]);
            assert_eq!(encoded(&places, &board).0, encoded(&places, &mirrored).0);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Places::new(Board::SIZE, "").is_err());
        assert!(Places::new(Board::SIZE, "0g").is_err());
        assert!(Places::new(Board::SIZE, "0123456 1234567").is_err());
        assert!(Places::new(Board::SIZE, &"0 ".repeat(65)).is_err());
    }
}
