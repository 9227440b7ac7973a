//! Products of matrices, in tiles that stay in registers: rows of numbers times panels of 16 outputs. Everything heavy in the compiled
//! networks is one of these. All compilations do the same sums in the same order; the fast ones round once where the portable one rounds
//! twice.

/// Outputs side by side: one register of sixteen or two of eight.
pub(super) const PANEL: usize = 16;
/// Rows of a tile.
pub(super) const TILE: usize = 12;
/// Panels of a tile: 24 registers of sums with AVX-512, which are loaded from memory least often for what they do.
const PAIR: usize = 2;
/// Sums by panel, row and output.
type Sums = [[[f32; PANEL]; TILE]; PAIR];
/// Rows at a time with AVX2: twelve registers of sums, and room for what they are made of.
#[cfg(target_arch = "x86_64")]
const HALF: usize = TILE / 2;

/// Numbers that lie side by side in a row, and the part of a panel they meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// Where they begin in a row.
    pub at: usize,
    /// Which part of the panel, counted in segments.
    pub part: usize,
}

/// Weights, panel by panel: for each segment and each of its numbers the weights of 16 outputs.
#[derive(Clone, Debug)]
pub(super) struct Panels {
    outputs: usize,
    /// Numbers of a segment.
    depth: usize,
    /// Numbers of a panel.
    size: usize,
    weights: Vec<f32>,
}

impl Panels {
    /// The panels of `parts` segments of `depth` numbers, `weight(output, part, number)` saying what they hold.
    pub fn new(outputs: usize, parts: usize, depth: usize, weight: impl Fn(usize, usize, usize) -> f32) -> Self {
        let size = parts * depth * PANEL;
        let mut weights = vec![0.0; size * outputs.div_ceil(PANEL)];
        for output in 0..outputs {
            let lane = output / PANEL * size + output % PANEL;
            for part in 0..parts {
                for number in 0..depth {
                    weights[lane + (part * depth + number) * PANEL] = weight(output, part, number);
                }
            }
        }
        Self { outputs, depth, size, weights }
    }

    /// Number of outputs.
    pub const fn outputs(&self) -> usize {
        self.outputs
    }

    /// Numbers of a segment.
    pub const fn inputs(&self) -> usize {
        self.depth
    }

    /// The rows that begin at every `stride`-th number, `count` of them, times all panels, for each of some cells with segments of
    /// its own: `finish(cell, row, first output, sums)`. Outputs beyond the last are 0.
    #[inline(always)]
    pub fn times(
        &self,
        rows: &[f32],
        (count, stride): (usize, usize),
        cells: &[Vec<Segment>],
        mut finish: impl FnMut(usize, usize, usize, &[f32; PANEL]),
    ) {
        let size = self.size.max(1);
        for (pair, panels) in self.weights.chunks(PAIR * size).enumerate() {
            let mut panels = panels.chunks_exact(size);
            let panels = [panels.next(), panels.next()];
            for (cell, segments) in cells.iter().enumerate() {
                for from in (0..count).step_by(TILE) {
                    let many = TILE.min(count - from);
                    let mut sums = [[[0.0; PANEL]; TILE]; PAIR];
                    tile(&rows[from * stride..], stride, (many, segments, self.depth), panels, &mut sums);
                    for (first, sums) in (pair * PAIR * PANEL..self.outputs).step_by(PANEL).zip(&sums) {
                        for (row, sums) in sums[..many].iter().enumerate() {
                            finish(cell, from + row, first, sums);
                        }
                    }
                }
            }
        }
    }
}

/// What a tile is made of: how many rows, their segments, and the numbers of a segment.
type Extent<'s> = (usize, &'s [Segment], usize);

/// The panels of a tile, one or two.
type Pair<'p> = [Option<&'p [f32]>; PAIR];

/// The sums of a tile: some rows times its panels.
#[inline]
fn tile(rows: &[f32], stride: usize, extent: Extent<'_>, panels: Pair<'_>, sums: &mut Sums) {
    let (many, segments, depth) = extent;
    for segment in segments {
        let is_there = |panel: &[f32]| (segment.part + 1) * depth * PANEL <= panel.len();
        assert!(
            (many - 1) * stride + segment.at + depth <= rows.len() && panels.into_iter().flatten().all(is_there),
            "rows and panels hold what they promise"
        );
    }
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has AVX-512, and every number that a segment names is there (asserted above).
            return unsafe { wide_tile(rows, stride, extent, panels, sums) };
        }
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            // SAFETY: the processor has both, and every number that a segment names is there (asserted above).
            return unsafe { fused_tile(rows, stride, extent, panels, sums) };
        }
    }
    portable_tile(rows, stride, extent, panels, sums);
}

/// The same for any processor.
fn portable_tile(rows: &[f32], stride: usize, extent: Extent<'_>, panels: Pair<'_>, sums: &mut Sums) {
    let (many, segments, depth) = extent;
    for (panel, sums) in panels.into_iter().flatten().zip(sums) {
        for (row, sums) in sums[..many].iter_mut().enumerate() {
            for segment in segments {
                let numbers = &rows[row * stride + segment.at..][..depth];
                let weights = panel[segment.part * depth * PANEL..].as_chunks::<PANEL>().0;
                for (number, weights) in numbers.iter().zip(weights) {
                    for lane in 0..PANEL {
                        sums[lane] += number * weights[lane];
                    }
                }
            }
        }
    }
}

/// Does something with the number of rows as a constant.
#[cfg(target_arch = "x86_64")]
macro_rules! of_rows {
    ($many:expr, $R:ident => $body:expr; $($count:literal)*) => {
        match $many {
            $($count => {
                const $R: usize = $count;
                $body
            })*
            _ => {}
        }
    };
}

/// The same for processors with AVX-512, two panels at once if there are two.
///
/// # Safety
/// The processor has AVX-512, and all segments lie within the rows and the panels.
#[cfg(target_arch = "x86_64")]
unsafe fn wide_tile(rows: &[f32], stride: usize, extent: Extent<'_>, panels: Pair<'_>, sums: &mut Sums) {
    let (many, segments, depth) = extent;
    let (place, parts) = ((rows, stride), (segments, depth));
    let [one, other] = panels.map(Option::unwrap_or_default);
    // SAFETY: the caller says so.
    unsafe {
        if panels[1].is_some() {
            of_rows!(many, R => wide::tile::<R, 2>(place, parts, [one, other], sums); 1 2 3 4 5 6 7 8 9 10 11 12);
        } else {
            of_rows!(many, R => wide::tile::<R, 1>(place, parts, [one], sums); 1 2 3 4 5 6 7 8 9 10 11 12);
        }
    }
}

/// The same for processors with AVX2, one panel and half of the rows at a time.
///
/// # Safety
/// The processor has AVX2 and FMA, and all segments lie within the rows and the panels.
#[cfg(target_arch = "x86_64")]
unsafe fn fused_tile(rows: &[f32], stride: usize, extent: Extent<'_>, panels: Pair<'_>, sums: &mut Sums) {
    let (many, segments, depth) = extent;
    for (panel, sums) in panels.into_iter().flatten().zip(sums) {
        for (from, sums) in (0..many).step_by(HALF).zip(sums.chunks_exact_mut(HALF)) {
            let rows = &rows[from * stride..];
            // SAFETY: the caller says so.
            unsafe {
                of_rows!(HALF.min(many - from), R => fused::tile::<R>(rows, stride, segments, depth, panel, sums); 1 2 3 4 5 6);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod fused {
    use super::{PANEL, Segment};
    use std::arch::x86_64::{
        __m256, _mm256_broadcast_ss, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_setzero_ps, _mm256_storeu_ps,
    };

    /// Adds one number of each row times its weights.
    ///
    /// # Safety
    /// `number` is followed by `(R - 1) * stride` numbers, and `weights` are [`PANEL`].
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn meet<const R: usize>(
        number: *const f32,
        stride: usize,
        weights: *const f32,
        held: &mut [[__m256; 2]; R],
    ) {
        // SAFETY: the caller says so.
        unsafe {
            let (low, high) = (_mm256_loadu_ps(weights), _mm256_loadu_ps(weights.add(8)));
            for (i, held) in held.iter_mut().enumerate() {
                let x = _mm256_broadcast_ss(&*number.add(i * stride));
                held[0] = _mm256_fmadd_ps(x, low, held[0]);
                held[1] = _mm256_fmadd_ps(x, high, held[1]);
            }
        }
    }

    /// The sums of `R` rows, in `2 R` registers.
    ///
    /// # Safety
    /// `(R - 1) * stride + at + depth` of every segment is within `rows`, and its part within `panel`.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn tile<const R: usize>(
        rows: &[f32],
        stride: usize,
        segments: &[Segment],
        depth: usize,
        panel: &[f32],
        sums: &mut [[f32; PANEL]],
    ) {
        let mut held: [[__m256; 2]; R] = [[_mm256_setzero_ps(); 2]; R];
        for segment in segments {
            // SAFETY: the caller says that all of these lie within the slices.
            unsafe {
                let row = rows.as_ptr().add(segment.at);
                let weights = panel.as_ptr().add(segment.part * depth * PANEL);
                // Four numbers at a time: fewer instructions for where they are.
                let whole = depth / 4 * 4;
                for from in (0..whole).step_by(4) {
                    for number in from..from + 4 {
                        meet(row.add(number), stride, weights.add(number * PANEL), &mut held);
                    }
                }
                for number in whole..depth {
                    meet(row.add(number), stride, weights.add(number * PANEL), &mut held);
                }
            }
        }
        for (sums, held) in sums.iter_mut().zip(held) {
            // SAFETY: sixteen numbers each.
            unsafe {
                _mm256_storeu_ps(sums.as_mut_ptr(), held[0]);
                _mm256_storeu_ps(sums.as_mut_ptr().add(8), held[1]);
            }
        }
    }
}

/// The same with registers of sixteen, two panels at once if there are two: each number of a row is fetched once for both.
#[cfg(target_arch = "x86_64")]
mod wide {
    use super::{PANEL, Segment, Sums};
    use std::arch::x86_64::{
        __m512, _MM_HINT_T0, _mm_prefetch, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_set1_ps, _mm512_setzero_ps,
        _mm512_storeu_ps,
    };

    /// Where so few rows use each weight, weights are what a tile waits for ...
    const FEW: usize = 4;
    /// ... so they are asked for so many numbers ahead.
    const AHEAD: usize = 24;

    /// The sums of `R` rows and `N` panels, in `R * N` registers.
    ///
    /// # Safety
    /// `(R - 1) * stride + at + depth` of every segment is within `rows`, and its part within each of the panels.
    #[target_feature(enable = "avx512f")]
    pub unsafe fn tile<const R: usize, const N: usize>(
        (rows, stride): (&[f32], usize),
        (segments, depth): (&[Segment], usize),
        panels: [&[f32]; N],
        sums: &mut Sums,
    ) {
        let mut held: [[__m512; N]; R] = [[_mm512_setzero_ps(); N]; R];
        for segment in segments {
            // SAFETY: the caller says that all of these lie within the slices.
            unsafe {
                let row = rows.as_ptr().add(segment.at);
                let weights = panels.map(|panel| panel.as_ptr().add(segment.part * depth * PANEL));
                for number in 0..depth {
                    if R <= FEW {
                        // An address beyond the end does no harm.
                        let ahead = |weights: *const f32| weights.wrapping_add((number + AHEAD) * PANEL).cast();
                        weights.iter().for_each(|&weights| _mm_prefetch::<_MM_HINT_T0>(ahead(weights)));
                    }
                    let weights = weights.map(|weights| _mm512_loadu_ps(weights.add(number * PANEL)));
                    for (i, held) in held.iter_mut().enumerate() {
                        let x = _mm512_set1_ps(*row.add(number + i * stride));
                        for (held, weights) in held.iter_mut().zip(weights) {
                            *held = _mm512_fmadd_ps(x, weights, *held);
                        }
                    }
                }
            }
        }
        for (i, held) in held.into_iter().enumerate() {
            for (sums, held) in sums.iter_mut().zip(held) {
                // SAFETY: sixteen numbers each.
                unsafe { _mm512_storeu_ps(sums[i].as_mut_ptr(), held) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::Rng;

    #[test]
    fn products_equal_the_definition() {
        let mut rng = Rng::new(5);
        let mut random = |count: usize| -> Vec<f32> { (0..count).map(|_| rng.unit() as f32 - 0.5).collect() };
        for (outputs, depth, count) in [(1, 1, 1), (16, 7, 6), (17, 128, 13), (40, 33, 5), (3, 64, 25)] {
            let (parts, stride) = (3, 3 * depth + 2);
            let rows = random(count * stride);
            let weights = random(outputs * parts * depth);
            let weight = |output: usize, part: usize, number: usize| weights[(output * parts + part) * depth + number];
            let panels = Panels::new(outputs, parts, depth, weight);
            let segments = [Segment { at: 1, part: 2 }, Segment { at: depth + 2, part: 0 }];
            let mut found = vec![f32::NAN; count * outputs];
            panels.times(&rows, (count, stride), &[segments.to_vec()], |_, row, first, sums| {
                let many = PANEL.min(outputs - first);
                found[row * outputs + first..][..many].copy_from_slice(&sums[..many]);
            });
            for row in 0..count {
                let tail = &rows[row * stride..];
                for output in 0..outputs {
                    let of_segment =
                        |s: &Segment| (0..depth).map(|k| tail[s.at + k] * weight(output, s.part, k)).sum::<f32>();
                    let (fast, plain) = (found[row * outputs + output], segments.iter().map(of_segment).sum::<f32>());
                    assert!((fast - plain).abs() < 1e-5, "{fast} {plain}");
                }
            }
        }
    }

    #[test]
    fn every_compilation_finds_the_same_sums() {
        let mut rng = Rng::new(6);
        let mut random = |count: usize| -> Vec<f32> { (0..count).map(|_| rng.unit() as f32 - 0.5).collect() };
        let (depth, stride) = (37, 80);
        let (rows, one, other) = (random(TILE * stride), random(2 * depth * PANEL), random(2 * depth * PANEL));
        let segments = [Segment { at: 1, part: 1 }, Segment { at: 40, part: 0 }];
        for panels in [[Some(&one[..]), None], [Some(&one), Some(&other)]] {
            for many in 1..=TILE {
                let extent = (many, &segments[..], depth);
                let sums = |compilation: &dyn Fn(&mut Sums)| {
                    let mut sums = [[[0.0; PANEL]; TILE]; PAIR];
                    compilation(&mut sums);
                    sums.into_iter().flatten().flatten().collect::<Vec<f32>>()
                };
                let plain = sums(&|sums| portable_tile(&rows, stride, extent, panels, sums));
                let check = |found: Vec<f32>| {
                    assert!(found.iter().zip(&plain).all(|(a, b)| (a - b).abs() < 1e-5), "{many} rows");
                };
                #[cfg(target_arch = "x86_64")]
                if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                    // SAFETY: the processor has both, and the segments lie within rows and panels.
                    check(sums(&|sums| unsafe { fused_tile(&rows, stride, extent, panels, sums) }));
                }
                #[cfg(target_arch = "x86_64")]
                if std::arch::is_x86_feature_detected!("avx512f") {
                    // SAFETY: the processor has it, and the segments lie within rows and panels.
                    check(sums(&|sums| unsafe { wide_tile(&rows, stride, extent, panels, sums) }));
                }
                check(sums(&|sums| tile(&rows, stride, extent, panels, sums)));
            }
        }
    }
}
