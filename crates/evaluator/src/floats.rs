//! Large arrays of numbers on huge pages, for tables that are looked up all over: see [`crate::ntuple::Words`], which several threads
//! may write to; this one has a single writer and needs no atomics.

use std::io;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

/// An array of single-precision numbers.
pub struct Floats {
    memory: MmapMut,
    len: usize,
}

impl Floats {
    /// So many zeros.
    pub fn zeroed(len: usize) -> io::Result<Self> {
        let bytes = len.checked_mul(4).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let memory = MmapMut::map_anon(bytes.max(4))?;
        // Where the system has no huge pages to give, the array is merely slower.
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        Ok(Self { memory, len })
    }

    /// A copy of its own.
    pub fn copied(&self) -> io::Result<Self> {
        let mut copy = Self::zeroed(self.len)?;
        copy.copy_from_slice(self);
        Ok(copy)
    }
}

impl Deref for Floats {
    type Target = [f32];

    #[inline]
    fn deref(&self) -> &[f32] {
        &bytemuck::cast_slice(&self.memory)[..self.len]
    }
}

impl DerefMut for Floats {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut bytemuck::cast_slice_mut(&mut self.memory)[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_kept_and_copied() {
        let mut floats = Floats::zeroed(1_000).unwrap();
        assert!(floats.len() == 1_000 && floats.iter().all(|&x| x == 0.0));
        floats[999] = 1.5;
        let copy = floats.copied().unwrap();
        floats[999] = 2.5;
        assert_eq!((copy[999], floats[999]), (1.5, 2.5));
        assert!(Floats::zeroed(usize::MAX).is_err());
        assert!(Floats::zeroed(0).unwrap().is_empty());
    }
}
