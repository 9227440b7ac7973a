//! Probabilities of failure in 16 or 8 bits, with relative errors: two moves that fail once in a million games and once in a thousand
//! must not look alike.

/// The upper bits of 1.0 in a 16-bit code.
const ONE: u32 = 0x3f80_0000 >> SHIFT;
const SHIFT: u32 = 12;
/// The smallest probability that differs from 0.
const LEAST: f32 = 1.0 / (1u32 << 31) as f32;

/// A probability of failure in 16 bits (relative error 1 / 4096). Certain failure is 0, so that fresh memory says it.
#[inline]
pub fn encode(failure: f32) -> u16 {
    if failure < LEAST {
        return u16::MAX;
    }
    let rounded = (failure.min(1.0).to_bits() + (1 << (SHIFT - 1))) >> SHIFT;
    (ONE - rounded) as u16
}

/// What [`encode`] kept.
#[inline]
pub fn decode(code: u16) -> f32 {
    if code == u16::MAX { 0.0 } else { f32::from_bits((ONE - u32::from(code)) << SHIFT) }
}

/// Steps of an octave in an 8-bit code down to 1 / 256, and below that: where failure is likely, a small error is worth more than a
/// move.
const STEPS: [u32; 2] = [24, 2];
/// The first code of the coarser steps.
const BEND: u32 = 8 * STEPS[0];
/// 2^(-1/24): one of the finer steps.
const STEP: f64 = 0.971_531_941_153_605_9;

/// What each 8-bit code stands for.
const COARSE: [f32; 256] = {
    let mut values = [0.0; 256];
    let (mut value, mut code) = (1.0f64, 0);
    while code < 255 {
        values[code] = value as f32;
        value *= if (code as u32) < BEND { STEP } else { std::f64::consts::FRAC_1_SQRT_2 };
        code += 1;
    }
    values
};

/// A probability of failure in 8 bits: relative error 1.5% down to 1 / 256, 19% below.
#[inline]
pub fn encode_coarse(failure: f32) -> u8 {
    if failure < COARSE[254] {
        return u8::MAX;
    }
    let octaves = -failure.min(1.0).log2();
    let fine = octaves * STEPS[0] as f32;
    let bend = BEND as f32;
    let code = if fine <= bend { fine } else { bend + (octaves - 8.0) * STEPS[1] as f32 };
    (code.round() as u32).min(254) as u8
}

/// What [`encode_coarse`] kept.
#[inline]
pub fn decode_coarse(code: u8) -> f32 {
    COARSE[usize::from(code)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_keep_order_and_precision() {
        assert_eq!((encode(1.0), decode(0), encode(0.0), decode(u16::MAX)), (0, 1.0, u16::MAX, 0.0));
        assert_eq!((encode_coarse(1.0), decode_coarse(0), decode_coarse(encode_coarse(0.0))), (0, 1.0, 0.0));
        let mut failure = 1.0f32;
        while failure > 2.0 * LEAST {
            assert!((decode(encode(failure)) / failure - 1.0).abs() <= 1.0 / 4096.0, "{failure}");
            let bound = if failure > 1.0 / 256.0 { 0.015 } else { 0.2 };
            assert!((decode_coarse(encode_coarse(failure)) / failure - 1.0).abs() <= bound, "{failure}");
            assert!(encode(failure * 0.999) >= encode(failure));
            failure *= 0.997;
        }
    }

    #[test]
    fn every_code_survives() {
        (0..=u16::MAX)
            .filter(|&c| decode(c) == 0.0 || decode(c) >= LEAST)
            .for_each(|c| assert_eq!(encode(decode(c)), c));
        (0..=u8::MAX).for_each(|c| assert_eq!(encode_coarse(decode_coarse(c)), c));
    }
}
