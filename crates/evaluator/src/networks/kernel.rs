//! Products of matrices, in tiles that stay in registers: rows of numbers times panels of 16 outputs. Everything heavy in the compiled
//! networks is one of these. Both compilations do the same sums; the fast one rounds once where the portable one rounds twice.

/// Outputs side by side: two registers of eight.
pub(super) const PANEL: usize = 16;
/// Rows of a tile: twelve registers of sums, and room for what they are made of.
pub(super) const TILE: usize = 6;

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
        for (index, panel) in self.weights.chunks_exact(self.size.max(1)).enumerate() {
            for (cell, segments) in cells.iter().enumerate() {
                for from in (0..count).step_by(TILE) {
                    let many = TILE.min(count - from);
                    let mut sums = [[0.0; PANEL]; TILE];
                    tile(&rows[from * stride..], stride, (many, segments, self.depth), panel, &mut sums);
                    for (row, sums) in sums[..many].iter().enumerate() {
                        finish(cell, from + row, index * PANEL, sums);
                    }
                }
            }
        }
    }
}

/// What a tile is made of: how many rows, their segments, and the numbers of a segment.
type Extent<'s> = (usize, &'s [Segment], usize);

/// The sums of a tile.
#[inline]
fn tile(rows: &[f32], stride: usize, extent: Extent<'_>, panel: &[f32], sums: &mut [[f32; PANEL]; TILE]) {
    let (many, segments, depth) = extent;
    for segment in segments {
        assert!(
            (many - 1) * stride + segment.at + depth <= rows.len() && (segment.part + 1) * depth * PANEL <= panel.len(),
            "rows and panels hold what they promise"
        );
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the processor has both, and every number that a segment names is there (asserted above).
        unsafe {
            match many {
                1 => fused::tile::<1>(rows, stride, segments, depth, panel, sums),
                2 => fused::tile::<2>(rows, stride, segments, depth, panel, sums),
                3 => fused::tile::<3>(rows, stride, segments, depth, panel, sums),
                4 => fused::tile::<4>(rows, stride, segments, depth, panel, sums),
                5 => fused::tile::<5>(rows, stride, segments, depth, panel, sums),
                _ => fused::tile::<TILE>(rows, stride, segments, depth, panel, sums),
            }
        }
        return;
    }
    portable_tile(rows, stride, extent, panel, sums);
}

/// The same for any processor.
fn portable_tile(rows: &[f32], stride: usize, extent: Extent<'_>, panel: &[f32], sums: &mut [[f32; PANEL]; TILE]) {
    let (many, segments, depth) = extent;
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

#[cfg(target_arch = "x86_64")]
mod fused {
    use super::{PANEL, Segment, TILE};
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
        sums: &mut [[f32; PANEL]; TILE],
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

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::Rng;

    #[test]
    fn tiles_of_all_sizes_equal_the_portable_twin_and_the_definition() {
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
                for (panel, first) in panels.weights.chunks_exact(panels.size).zip((0..).step_by(PANEL)) {
                    let mut sums = [[0.0; PANEL]; TILE];
                    portable_tile(tail, stride, (1, &segments, depth), panel, &mut sums);
                    for output in first..outputs.min(first + PANEL) {
                        let plain: f32 = segments
                            .iter()
                            .map(|s| (0..depth).map(|k| tail[s.at + k] * weight(output, s.part, k)).sum::<f32>())
                            .sum();
                        let (fast, slow) = (found[row * outputs + output], sums[0][output - first]);
                        assert!((fast - plain).abs() < 1e-5 && (slow - plain).abs() < 1e-5, "{fast} {slow} {plain}");
                    }
                }
            }
        }
    }
}
