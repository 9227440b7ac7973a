//! One source, two compilations: for any processor, and for those with AVX2. Nothing is reordered or fused, so that both give the same
//! numbers to the last bit.

/// Defines a function whose safe body is compiled for the processor at hand, and `portable_...`, its twin for any processor.
#[macro_export]
#[doc(hidden)]
macro_rules! vectorised {
    ($(#[$doc:meta])* $vis:vis fn $name:ident / $twin:ident($($arg:ident: $type:ty),* $(,)?) $(-> $out:ty)? $body:block) => {
        /// The same for any processor.
        #[inline(always)]
        #[allow(clippy::too_many_arguments)]
        $vis fn $twin($($arg: $type),*) $(-> $out)? $body

        $(#[$doc])*
        #[inline(never)]
        #[allow(clippy::too_many_arguments)]
        $vis fn $name($($arg: $type),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                #[allow(clippy::too_many_arguments)]
                fn avx2($($arg: $type),*) $(-> $out)? {
                    $twin($($arg),*)
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2; it is the same safe body.
                    return unsafe { avx2($($arg),*) };
                }
            }
            $twin($($arg),*)
        }
    };
}
