//! Probabilities of failure in 16 or 8 bits: a float without sign whose relative error is the same from 1 down to 2^-31, because two
//! moves that fail once in a million games and once in a thousand must not look alike.

/// The upper bits of 1.0 in a 16-bit code and in an 8-bit code.
const ONE_16: u32 = 0x3f80_0000 >> SHIFT_16;
const ONE_8: u32 = 0x3f80_0000 >> SHIFT_8;
const SHIFT_16: u32 = 12;
const SHIFT_8: u32 = 20;
/// The smallest probability that differs from 0.
const LEAST: f32 = 1.0 / (1u32 << 31) as f32;

/// A probability of failure in 16 bits (relative error 1 / 4096). Certain failure is 0, so that fresh memory says it.
#[inline]
pub fn encode(failure: f32) -> u16 {
    if failure < LEAST {
        return u16::MAX;
    }
    let rounded = (failure.min(1.0).to_bits() + (1 << (SHIFT_16 - 1))) >> SHIFT_16;
    (ONE_16 - rounded) as u16
}

/// What [`encode`] kept.
#[inline]
pub fn decode(code: u16) -> f32 {
    if code == u16::MAX { 0.0 } else { f32::from_bits((ONE_16 - u32::from(code)) << SHIFT_16) }
}

/// A probability of failure in 8 bits (relative error 1 / 16).
#[inline]
pub fn encode_coarse(failure: f32) -> u8 {
    if failure < LEAST {
        return u8::MAX;
    }
    let rounded = (failure.min(1.0).to_bits() + (1 << (SHIFT_8 - 1))) >> SHIFT_8;
    (ONE_8 - rounded) as u8
}

/// What [`encode_coarse`] kept.
#[inline]
pub fn decode_coarse(code: u8) -> f32 {
    if code == u8::MAX { 0.0 } else { f32::from_bits((ONE_8 - u32::from(code)) << SHIFT_8) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_keep_order_and_precision() {
        assert_eq!((encode(1.0), decode(0), encode(0.0), decode(u16::MAX)), (0, 1.0, u16::MAX, 0.0));
        assert_eq!((encode_coarse(1.0), decode_coarse(0), decode_coarse(encode_coarse(0.0))), (0, 1.0, 0.0));
        let mut failure = 1.0f32;
        while failure > LEAST {
            assert!((decode(encode(failure)) / failure - 1.0).abs() <= 1.0 / 4096.0, "{failure}");
            assert!((decode_coarse(encode_coarse(failure)) / failure - 1.0).abs() <= 1.0 / 16.0, "{failure}");
            assert!(encode(failure * 0.999) >= encode(failure));
            failure *= 0.997;
        }
    }

    #[test]
    fn every_code_survives() {
        (0..=u16::MAX)
            .filter(|&c| decode(c) == 0.0 || decode(c) >= LEAST)
            .for_each(|c| assert_eq!(encode(decode(c)), c));
        let coarse = (0..=u8::MAX).filter(|&c| decode_coarse(c) == 0.0 || decode_coarse(c) >= LEAST);
        coarse.for_each(|c| assert_eq!(encode_coarse(decode_coarse(c)), c));
    }
}
