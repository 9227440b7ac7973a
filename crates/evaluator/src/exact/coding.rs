//! Sorted keys in few bytes, still quick to look up: in blocks, each with its first key, the rest as differences of variable length.

/// Keys in a block.
const BLOCK: usize = 32;

/// Writes a number seven bits at a time, the lowest first; the top bit of a byte says that more follow.
fn push(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number off the front of the bytes; `None` if they end too early or it is too long.
#[inline]
fn pull(bytes: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0u64, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

/// Where the parts of a coded list lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coded<'a> {
    count: usize,
    heads: &'a [[u8; 8]],
    ends: &'a [[u8; 4]],
    gaps: &'a [u8],
}

/// Codes keys that are in order without repetition: the first key of each block, where its differences end, all differences.
pub fn encode(keys: &[u64]) -> Vec<u8> {
    let (mut heads, mut ends, mut gaps) = (Vec::new(), Vec::new(), Vec::new());
    for block in keys.chunks(BLOCK) {
        heads.extend(block[0].to_le_bytes());
        block.windows(2).for_each(|pair| push(&mut gaps, pair[1] - pair[0]));
        ends.extend((gaps.len() as u32).to_le_bytes());
    }
    [heads, ends, gaps].concat()
}

/// The keys again; `None` if these are not the bytes of so many keys.
pub fn decode(bytes: &[u8], count: usize) -> Option<Vec<u64>> {
    let coded = Coded::new(bytes, count)?;
    let mut keys = Vec::with_capacity(count);
    for block in 0..coded.heads.len() {
        let mut key = coded.head(block);
        let mut gaps = coded.gaps(block)?;
        keys.push(key);
        for _ in 1..BLOCK.min(count - block * BLOCK) {
            key = key.checked_add(pull(&mut gaps)?)?;
            keys.push(key);
        }
    }
    keys.is_sorted_by(|a, b| a < b).then_some(keys)
}

impl<'a> Coded<'a> {
    pub fn new(bytes: &'a [u8], count: usize) -> Option<Self> {
        let blocks = count.div_ceil(BLOCK);
        let (heads, rest) = bytes.split_at_checked(blocks.checked_mul(8)?)?;
        let (ends, gaps) = rest.split_at_checked(blocks * 4)?;
        let coded = Self { count, heads: heads.as_chunks().0, ends: ends.as_chunks().0, gaps };
        let end = coded.ends.last().map_or(0, |&end| u32::from_le_bytes(end) as usize);
        (end == gaps.len()).then_some(coded)
    }

    #[inline]
    fn head(&self, block: usize) -> u64 {
        u64::from_le_bytes(self.heads[block])
    }

    fn gaps(&self, block: usize) -> Option<&'a [u8]> {
        let end = |block: usize| u32::from_le_bytes(self.ends[block]) as usize;
        self.gaps.get(block.checked_sub(1).map_or(0, end)..end(block))
    }

    /// The place of a key in the list.
    pub fn find(&self, wanted: u64) -> Option<usize> {
        let block = self.heads.partition_point(|&head| u64::from_le_bytes(head) <= wanted).checked_sub(1)?;
        let (mut key, mut at) = (self.head(block), block * BLOCK);
        let mut gaps = self.gaps(block)?;
        while key < wanted {
            key = key.checked_add(pull(&mut gaps)?)?;
            at += 1;
        }
        (key == wanted && at < self.count).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_come_back_and_are_found(keys in prop::collection::btree_set(0..1u64 << 36, 0..300)) {
            let keys: Vec<u64> = keys.into_iter().collect();
            let bytes = encode(&keys);
            prop_assert_eq!(decode(&bytes, keys.len()), Some(keys.clone()));
            let coded = Coded::new(&bytes, keys.len()).unwrap();
            for (at, &key) in keys.iter().enumerate() {
                prop_assert_eq!(coded.find(key), Some(at));
                if !keys.contains(&(key + 1)) {
                    prop_assert_eq!(coded.find(key + 1), None);
                }
            }
            prop_assert_eq!(coded.find(u64::MAX), None);
        }

        #[test]
        fn other_bytes_are_no_keys_and_no_trouble(bytes in prop::collection::vec(any::<u8>(), 0..200), count in 0..200usize) {
            let _ = decode(&bytes, count);
            if let Some(coded) = Coded::new(&bytes, count) {
                let _ = coded.find(12_345);
            }
        }
    }

    #[test]
    fn extremes_are_coded_too() {
        for keys in [vec![], vec![0], vec![u64::MAX], vec![0, u64::MAX], (0..1_000).collect()] {
            assert_eq!(decode(&encode(&keys), keys.len()), Some(keys));
        }
        assert_eq!(decode(&encode(&[1, 2, 3]), 4), None);
        assert_eq!(decode(&encode(&[1, 2, 3])[1..], 3), None);
    }
}
