//! The hand-made judgement of a board: a sum over its rows and columns of what each line has and lacks.
//!
//! Every term is even under reversal of the line, so the value is the same for all symmetric images of a board. Tiles enter by
//! their exponents, measured against 1024: `(e / 10)^p`. The weights are found by `afterstate tune`; see
//! docs/methods/heuristic.md.

use afterstate_board::Position;

use crate::{Care, EvaluatorRow, LineTables, LineValue, Parameter, Scale, Settings, SpecError};

/// No line is worth less than minus this, and a lost game less than any sum of such lines: what all weights are measured against.
const FLOOR: f32 = 1000.0;

/// Moves this far below the best are hardly ever better on a closer look: measured, see docs/methods/expectimax.md.
const CLEAR: f32 = 300.0;

/// Exponents that the powers are tabulated for.
const EXPONENTS: usize = 32;

/// `(e / 10)^power` by exponent.
type Powers = [f32; EXPONENTS];

fn powers(power: f64) -> Powers {
    std::array::from_fn(|e| if e == 0 { 0.0 } else { (e as f64 / 10.0).powf(power) as f32 })
}

struct Heuristic {
    lines: usize,
    empty: f32,
    merge: f32,
    merge_power: Powers,
    mono: f32,
    mono_power: Powers,
    sum: f32,
    sum_power: Powers,
    smooth: f32,
    smooth_power: Powers,
    edge: f32,
    edge_power: Powers,
    corner: f32,
    chain: f32,
    valley: f32,
    peak: f32,
    locked: f32,
}

impl Heuristic {
    fn new(settings: &Settings, lines: usize) -> Self {
        let weight = |name| settings.number(name) as f32;
        let power = |name| powers(settings.number(name));
        Self {
            lines,
            empty: weight("empty"),
            merge: weight("merge"),
            merge_power: power("merge_power"),
            mono: weight("mono"),
            mono_power: power("mono_power"),
            sum: weight("sum"),
            sum_power: power("sum_power"),
            smooth: weight("smooth"),
            smooth_power: power("smooth_power"),
            edge: weight("edge"),
            edge_power: power("edge_power"),
            corner: weight("corner"),
            chain: weight("chain"),
            valley: weight("valley"),
            peak: weight("peak"),
            locked: weight("locked"),
        }
    }

    /// Terms of single cells: emptiness, the tiles' own powers, and the large ones that keep to an end.
    fn cells(&self, cells: &[u8]) -> f32 {
        let empty = cells.iter().filter(|&&e| e == 0).count() as f32;
        let tiles: f32 = cells.iter().map(|&e| self.sum_power[usize::from(e)]).sum();
        let power = |e: u8| self.edge_power[usize::from(e)];
        let (first, last) = (cells[0], cells[cells.len() - 1]);
        let largest = cells.iter().copied().max().unwrap_or(0);
        let corner = if first.max(last) == largest { power(largest) } else { 0.0 };
        self.empty * empty - self.sum * tiles + self.edge * (power(first) + power(last)) + self.corner * corner
    }

    /// How far the line is from falling in one direction: the lesser of what it rises either way.
    fn rises(&self, cells: &[u8]) -> f32 {
        let (mut forward, mut backward) = (0.0, 0.0);
        for pair in cells.windows(2) {
            let step = self.mono_power[usize::from(pair[1])] - self.mono_power[usize::from(pair[0])];
            if step > 0.0 { forward += step } else { backward -= step }
        }
        f32::min(forward, backward)
    }

    /// Terms of tiles that meet when the line closes up: equal ones merge, others form steps, valleys and peaks.
    fn neighbours(&self, tiles: &[u8]) -> f32 {
        let difference = |a: u8, b: u8| self.smooth_power[usize::from(a.abs_diff(b))];
        let (mut value, mut merged) = (0.0, false);
        for pair in tiles.windows(2) {
            let (a, b) = (pair[0], pair[1]);
            merged = a == b && !merged;
            if merged {
                value += self.merge * self.merge_power[usize::from(a)];
            }
            if a.abs_diff(b) == 1 {
                value += self.chain * f32::from(a.max(b)) / 10.0;
            }
            value -= self.smooth * difference(a, b);
        }
        for three in tiles.windows(3) {
            let (low, middle, high) = (three[0].min(three[2]), three[1], three[0].max(three[2]));
            if middle < low {
                value -= self.valley * difference(middle, low);
            } else if middle > high {
                value -= self.peak * difference(middle, high);
            }
        }
        value
    }
}

impl LineValue for Heuristic {
    fn line(&self, cells: &[u8]) -> f32 {
        let (mut tiles, mut count) = ([0; 5], 0);
        for &e in cells.iter().filter(|&&e| e > 0) {
            tiles[count] = e;
            count += 1;
        }
        let tiles = &tiles[..count];
        let locked = count == cells.len() && tiles.windows(2).all(|pair| pair[0] != pair[1]);
        let value = self.cells(cells) - self.mono * self.rises(cells) + self.neighbours(tiles)
            - if locked { self.locked } else { 0.0 };
        // Ever worse lines approach the floor but stay in order.
        if value < 0.0 { value / (1.0 - value / FLOOR) } else { value }
    }

    fn scale(&self) -> Scale {
        // One line more than there are: below a board whose lines all touch the floor.
        Scale { rewards: 0.0, lost: -FLOOR * (self.lines + 1) as f32, unit: "heuristic value of the board" }
    }

    fn care(&self) -> Care {
        Care { margin: CLEAR, ..Care::USUAL }
    }
}

const WEIGHT: f64 = 1e5;

const PARAMETERS: &[Parameter] = &[
    Parameter::number("empty", "for each empty cell of a line", 1.5, -WEIGHT, WEIGHT),
    Parameter::number("merge", "for each merge at hand, times (e/10)^merge_power of its tiles", 7.2, -WEIGHT, WEIGHT),
    Parameter::number("merge_power", "how merges grow with the tile", 0.1, 0.0, 8.0),
    Parameter::number(
        "mono",
        "against rises of (e/10)^mono_power, in the direction that has less of them",
        380.0,
        -WEIGHT,
        WEIGHT,
    ),
    Parameter::number("mono_power", "how rises grow with the tile", 3.5, 0.1, 8.0),
    Parameter::number("sum", "against (e/10)^sum_power of each tile", 186.0, -WEIGHT, WEIGHT),
    Parameter::number("sum_power", "how tiles grow", 2.8, 0.1, 8.0),
    Parameter::number(
        "smooth",
        "against (d/10)^smooth_power of exponents d apart, between neighbouring tiles",
        8.0,
        -WEIGHT,
        WEIGHT,
    ),
    Parameter::number("smooth_power", "how differences grow", 0.9, 0.1, 8.0),
    Parameter::number("edge", "for (e/10)^edge_power of the tiles at both ends", 1.5, -WEIGHT, WEIGHT),
    Parameter::number("edge_power", "how end tiles grow", 1.0, 0.1, 8.0),
    Parameter::number("corner", "for (e/10)^edge_power of a largest tile that is at an end", 4.6, -WEIGHT, WEIGHT),
    Parameter::number("chain", "for neighbours one exponent apart, times e/10 of the larger", 1.7, -WEIGHT, WEIGHT),
    Parameter::number("valley", "against a tile (d/10)^smooth_power below both neighbours", 5.7, -WEIGHT, WEIGHT),
    Parameter::number("peak", "against a tile (d/10)^smooth_power above both neighbours", 2.0, -WEIGHT, WEIGHT),
    Parameter::number("locked", "against a full line without a merge", 12.4, -WEIGHT, WEIGHT),
];

pub(crate) const fn row<P: Position>() -> EvaluatorRow<P> {
    EvaluatorRow {
        name: "heuristic",
        summary: "empty cells, merges, order, smoothness and corners, weighed by tuning; one table look-up a line",
        takes_file: false,
        parameters: PARAMETERS,
        build: |settings: &Settings, _| -> Result<_, SpecError> {
            Ok(Box::new(LineTables::new(Heuristic::new(settings, P::ROWS + P::COLUMNS))))
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BoxedEvaluator;
    use crate::testing::{close, random_boards, twin};
    use afterstate_board::{Afterstate, Board, Grid, Symmetry};

    fn build<P: Position>(text: &str) -> BoxedEvaluator<P> {
        let (spec, row): (crate::Spec, _) = (text.parse().unwrap(), row::<P>());
        (row.build)(&spec.settings(row.parameters).unwrap(), None).unwrap()
    }

    /// One term alone, on one line, times the floor's bend undone.
    fn alone(term: &str, cells: &[u8]) -> f32 {
        let off = PARAMETERS
            .iter()
            .filter(|p| !p.name.ends_with("_power") && p.name != term)
            .map(|p| format!("{}=0", p.name));
        let on = ["merge_power=1", "mono_power=1", "sum_power=1", "smooth_power=1", "edge_power=1"].map(str::to_owned);
        let pairs: Vec<String> = off.chain(on).chain([format!("{term}=10")]).collect();
        let spec: crate::Spec = format!("heuristic:{}", pairs.join(",")).parse().unwrap();
        let value = Heuristic::new(&spec.settings(PARAMETERS).unwrap(), 8).line(cells);
        if value < 0.0 { value / (1.0 + value / FLOOR) } else { value }
    }

    #[test]
    fn terms_by_hand() {
        let cases: &[(&str, [u8; 4], f32)] = &[
            ("empty", [0, 3, 0, 0], 30.0),
            ("merge", [3, 0, 3, 3], 3.0),
            ("merge", [3, 3, 3, 3], 6.0),
            ("mono", [1, 3, 2, 5], -1.0),
            ("mono", [5, 3, 0, 0], 0.0),
            ("sum", [5, 3, 0, 0], -8.0),
            ("smooth", [5, 0, 3, 4], -3.0),
            ("edge", [5, 0, 3, 4], 9.0),
            ("corner", [5, 0, 3, 4], 5.0),
            ("corner", [3, 5, 3, 4], 0.0),
            ("chain", [3, 0, 4, 6], 4.0),
            ("valley", [3, 1, 4, 6], -2.0),
            ("peak", [3, 1, 4, 2], -2.0),
            ("locked", [3, 1, 4, 2], -10.0),
            ("locked", [3, 1, 1, 2], 0.0),
        ];
        for &(term, cells, expected) in cases {
            let value = alone(term, &cells);
            assert!((value - expected).abs() < 1e-3, "{term} of {cells:?}: {value}, not {expected}");
        }
    }

    #[test]
    fn tables_hold_what_the_plain_sum_gives() {
        let (fast, plain) = (build::<Board>("heuristic"), build::<Grid<4, 4>>("heuristic"));
        for board in random_boards(5_000) {
            let (fast, plain) = (fast.value(&Afterstate::new(board)), plain.value(&Afterstate::new(twin(&board))));
            assert!(close(fast, plain), "{board}: {fast}, {plain}");
        }
    }

    #[test]
    fn images_are_worth_the_same() {
        let evaluator = build::<Board>("heuristic");
        for board in random_boards(1_000) {
            let value = evaluator.value(&Afterstate::new(board));
            for symmetry in Symmetry::ALL {
                let image = evaluator.value(&Afterstate::new(board.transformed(symmetry)));
                assert!(close(value, image), "{board}: {value}, {image}");
            }
        }
    }

    #[test]
    fn nothing_is_as_bad_as_losing() {
        fn check<const R: usize, const C: usize>(settings: &str) {
            let evaluator = build::<Grid<R, C>>(settings);
            let lost = evaluator.scale().lost;
            for high in 0..32u8 {
                let checkered =
                    std::array::from_fn(|r| std::array::from_fn(|c| if (r + c) % 2 == 0 { high } else { 1 }));
                let value = evaluator.value(&Afterstate::new(Grid::<R, C>::from_exponents(checkered)));
                assert!(value.is_finite() && value > lost, "{value} with tiles of exponent {high}, lost is {lost}");
            }
        }
        let worst = "heuristic:mono=1e5,mono_power=8,sum=1e5,sum_power=8,peak=1e5,valley=1e5,smooth=1e5,smooth_power=8";
        for settings in ["heuristic", worst] {
            check::<2, 2>(settings);
            check::<4, 4>(settings);
            check::<5, 5>(settings);
            check::<1, 1>(settings);
        }
    }

    /// Each thread of an evaluation builds its own. The quickest of many, for tests share the machine.
    #[test]
    fn tables_are_quick_to_build() {
        let time = |_| {
            let began = std::time::Instant::now();
            drop(build::<Board>("heuristic"));
            began.elapsed()
        };
        let quickest = (0..20).map(time).min().unwrap();
        assert!(quickest.as_millis() < 10, "{quickest:?} a table");
    }
}
