//! Numbers of half precision, for small files.

/// The nearest half-precision number, of two equally near the even one; what is too large becomes the largest.
pub fn to_half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let size = f32::from_bits(bits & 0x7fff_ffff);
    if size.is_nan() {
        return sign | 0x7e00;
    }
    if size >= 65_504.0 {
        return sign | 0x7bff;
    }
    if size < 6.103_515_6e-5 {
        // Below the normal range a step is 2^-24.
        return sign | (size * 16_777_216.0).round_ties_even() as u16;
    }
    let bits = size.to_bits();
    let rounded = bits + 0xfff + (bits >> 13 & 1);
    sign | ((rounded >> 13) - (112 << 10)) as u16
}

/// The value of a half-precision number.
pub fn from_half(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let (exponent, fraction) = (u32::from(half >> 10 & 31), u32::from(half & 0x3ff));
    let size = match exponent {
        0 => fraction as f32 / 16_777_216.0,
        31 if fraction == 0 => f32::INFINITY,
        31 => f32::NAN,
        _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    f32::from_bits(size.to_bits() | sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_comes_back() {
        for half in 0..=u16::MAX {
            let value = from_half(half);
            if value.is_finite() {
                assert_eq!(to_half(value), half, "{value}");
            }
        }
    }

    #[test]
    fn numbers_are_rounded_to_the_nearest() {
        assert_eq!(from_half(to_half(1.0 + 1.0 / 2048.0)), 1.0); // half way: to the even one
        assert_eq!(from_half(to_half(1.0 + 3.0 / 2048.0)), 1.0 + 2.0 / 1024.0);
        assert_eq!(from_half(to_half(-0.1)), -0.099_975_586);
        assert_eq!(from_half(to_half(1e9)), 65_504.0);
        assert_eq!(from_half(to_half(6.103_515e-5)), 6.103_515_6e-5);
        assert!(from_half(to_half(f32::NAN)).is_nan());
    }
}
