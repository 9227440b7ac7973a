//! Large arrays of 32-bit words on huge pages: a network is looked up all over its memory, and with pages of 4 KiB nearly every look-up
//! would miss the processor's page cache as well.

use std::io;
use std::sync::atomic::AtomicU32;

use memmap2::MmapMut;

/// An array of 32-bit words that several threads may read and write at once, each word by itself whole.
///
/// On every processor of interest a relaxed load or store is a plain one: an evaluator pays nothing for sharing its weights with
/// a learner.
pub struct Words {
    memory: MmapMut,
    len: usize,
}

impl Words {
    /// So many zeros.
    pub fn zeroed(len: usize) -> io::Result<Self> {
        let bytes = len.checked_mul(4).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let memory = MmapMut::map_anon(bytes.max(4))?;
        // Where the system has no huge pages to give, the array is merely slower.
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        Ok(Self { memory, len })
    }

    /// The words.
    #[inline]
    pub fn atomics(&self) -> &[AtomicU32] {
        // SAFETY: the memory is ours alone, aligned to a page and `4 * len` bytes long; `AtomicU32` has the size of four bytes, every
        // bit pattern is one, and this is the only way in while the array is shared.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), self.len) }
    }

    /// The words, while nobody shares them.
    pub fn exclusive(&mut self) -> &mut [u32] {
        &mut bytemuck::cast_slice_mut(&mut self.memory)[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn shared_and_exclusive_words_are_the_same_memory() {
        let mut words = Words::zeroed(1_000).unwrap();
        assert!(words.atomics().iter().all(|x| x.load(Relaxed) == 0));
        words.exclusive()[999] = 15;
        assert_eq!(words.atomics()[999].load(Relaxed), 15);
        words.atomics()[7].store(25, Relaxed);
        assert_eq!((words.exclusive()[7], words.atomics().len()), (25, 1_000));
        assert!(Words::zeroed(usize::MAX).is_err());
        assert!(Words::zeroed(0).unwrap().atomics().is_empty());
    }
}
