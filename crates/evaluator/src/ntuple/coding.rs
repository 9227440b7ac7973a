//! Prefix codes: the more frequent a symbol is where it stands, the fewer bits it takes (Huffman 1952). Where it stands is a context,
//! and every context has a code of its own, made from what was counted there.

/// The most symbols of a code.
pub const SYMBOLS: usize = 32;

/// The most bits of a symbol: a code is read by one look into a table of 256 entries, and the tables of many contexts fit the cache.
const LONGEST: u32 = 8;

/// Bits of each symbol in each context; 0 for symbols that never occur there.
pub type Lengths = Vec<[u8; SYMBOLS]>;

/// Whatever goes through symbols in turn: what counts them, what writes them and what reads them share the one walk that knows which
/// contexts they are in.
pub trait Coder {
    /// A symbol. What reads does not look at the one that is given.
    fn symbol(&mut self, context: usize, given: u8) -> u8;
    /// One bit. What reads does not ask for it.
    fn flag(&mut self, given: impl FnOnce() -> bool) -> bool {
        self.bits(u32::from(given()), 1) != 0
    }
    /// The lowest `count` bits (up to 32) of a number, as they are.
    fn bits(&mut self, given: u32, count: u32) -> u32;
}

/// Counts symbols.
pub struct Counter {
    counts: Vec<[u64; SYMBOLS]>,
}

impl Counter {
    /// For so many contexts.
    pub fn new(contexts: usize) -> Self {
        Self { counts: vec![[0; SYMBOLS]; contexts] }
    }

    /// The best lengths for what was counted.
    pub fn lengths(&self) -> Lengths {
        self.counts.iter().map(|counts| lengths_for(*counts)).collect()
    }
}

impl Coder for Counter {
    #[inline]
    fn symbol(&mut self, context: usize, given: u8) -> u8 {
        self.counts[context][usize::from(given)] += 1;
        given
    }

    #[inline]
    fn bits(&mut self, given: u32, _: u32) -> u32 {
        given
    }
}

/// Huffman's lengths. Where one would be too long, counts are halved until none is.
fn lengths_for(mut counts: [u64; SYMBOLS]) -> [u8; SYMBOLS] {
    loop {
        let mut lengths = [0u8; SYMBOLS];
        // Groups of symbols, of which the two rarest become one until one is left.
        let mut groups: Vec<(u64, u32)> =
            (0..SYMBOLS).filter(|&s| counts[s] > 0).map(|s| (counts[s], 1u32 << s)).collect();
        while groups.len() > 1 {
            groups.sort_unstable_by(|a, b| b.cmp(a));
            let (Some(a), Some(b)) = (groups.pop(), groups.pop()) else { break };
            let joined = a.1 | b.1;
            (0..SYMBOLS).filter(|s| joined >> s & 1 != 0).for_each(|s| lengths[s] += 1);
            groups.push((a.0 + b.0, joined));
        }
        if let [(_, all)] = groups[..]
            && all.is_power_of_two()
        {
            lengths[all.ilog2() as usize] = 1;
        }
        if lengths.iter().all(|&length| u32::from(length) <= LONGEST) {
            return lengths;
        }
        counts.iter_mut().for_each(|count| *count = count.div_ceil(2));
    }
}

/// The codes of given lengths, in the order of their symbols, the first bit lowest; `None` if there are no such codes.
fn codes_of(lengths: &[u8; SYMBOLS]) -> Option<[u32; SYMBOLS]> {
    let (mut codes, mut next) = ([0; SYMBOLS], 0u32);
    for length in 1..=LONGEST {
        next <<= 1;
        for symbol in (0..SYMBOLS).filter(|&s| u32::from(lengths[s]) == length) {
            if next >> length != 0 {
                return None;
            }
            codes[symbol] = next.reverse_bits() >> (32 - length);
            next += 1;
        }
    }
    // All beginnings mean something, unless there is only one symbol, or none.
    let whole = next == 1 << LONGEST || lengths.iter().map(|&length| u32::from(length)).sum::<u32>() <= 1;
    (whole && lengths.iter().all(|&length| u32::from(length) <= LONGEST)).then_some(codes)
}

/// Writes symbols.
pub struct Writer<'c> {
    lengths: &'c Lengths,
    codes: Vec<[u32; SYMBOLS]>,
    bytes: Vec<u8>,
    waiting: u64,
    count: u32,
}

impl<'c> Writer<'c> {
    /// With codes of these lengths, which come from a [`Counter`].
    pub fn new(lengths: &'c Lengths) -> Self {
        let codes = lengths.iter().map(|lengths| codes_of(lengths).unwrap_or([0; SYMBOLS])).collect();
        Self { lengths, codes, bytes: Vec::new(), waiting: 0, count: 0 }
    }

    /// All that was written.
    pub fn finish(mut self) -> Vec<u8> {
        self.bits(0, 7);
        self.bytes
    }
}

impl Coder for Writer<'_> {
    #[inline]
    fn symbol(&mut self, context: usize, given: u8) -> u8 {
        let symbol = usize::from(given);
        self.bits(self.codes[context][symbol], u32::from(self.lengths[context][symbol]));
        given
    }

    #[inline]
    fn bits(&mut self, given: u32, count: u32) -> u32 {
        self.waiting |= (u64::from(given) & ((1 << count) - 1)) << self.count;
        self.count += count;
        while self.count >= 8 {
            self.bytes.push(self.waiting as u8);
            self.waiting >>= 8;
            self.count -= 8;
        }
        given
    }
}

/// What the next bits mean in each context.
pub struct Meanings {
    /// By context and the next [`LONGEST`] bits: the symbol, and how many of the bits it takes.
    table: Vec<(u8, u8)>,
}

impl Meanings {
    /// Of codes of these lengths; `None` if there are no such codes.
    pub fn new(lengths: &Lengths) -> Option<Self> {
        let size = 1usize << LONGEST;
        let mut table = vec![(0, 0); lengths.len() * size];
        for (lengths, meanings) in lengths.iter().zip(table.chunks_exact_mut(size)) {
            let codes = codes_of(lengths)?;
            for symbol in (0..SYMBOLS).filter(|&s| lengths[s] > 0) {
                let meaning = (symbol as u8, lengths[symbol]);
                meanings
                    .iter_mut()
                    .skip(codes[symbol] as usize)
                    .step_by(1 << lengths[symbol])
                    .for_each(|m| *m = meaning);
            }
        }
        Some(Self { table })
    }
}

/// Reads symbols.
pub struct Reader<'b> {
    meanings: &'b Meanings,
    bytes: &'b [u8],
    waiting: u64,
    count: u32,
    /// Bits that were read beyond the end.
    missing: u32,
}

impl<'b> Reader<'b> {
    /// Of what a [`Writer`] wrote.
    pub const fn new(meanings: &'b Meanings, bytes: &'b [u8]) -> Self {
        Self { meanings, bytes, waiting: 0, count: 0, missing: 0 }
    }

    /// Was that all, and no more than there was?
    pub const fn is_done(&self) -> bool {
        self.bytes.is_empty() && self.count < 8 && self.missing == 0
    }

    #[inline]
    fn fill(&mut self) {
        while self.count <= 56 {
            let Some((&byte, rest)) = self.bytes.split_first() else { return };
            self.bytes = rest;
            self.waiting |= u64::from(byte) << self.count;
            self.count += 8;
        }
    }

    #[inline]
    fn take(&mut self, count: u32) {
        self.waiting >>= count;
        self.missing = self.missing.saturating_add(count.saturating_sub(self.count));
        self.count = self.count.saturating_sub(count);
    }
}

impl Coder for Reader<'_> {
    #[inline]
    fn symbol(&mut self, context: usize, _: u8) -> u8 {
        if self.count < LONGEST {
            self.fill();
        }
        let (symbol, length) = self.meanings.table[context << LONGEST | (self.waiting & ((1 << LONGEST) - 1)) as usize];
        self.take(u32::from(length));
        symbol
    }

    #[inline]
    fn flag(&mut self, _: impl FnOnce() -> bool) -> bool {
        self.bits(0, 1) != 0
    }

    #[inline]
    fn bits(&mut self, _: u32, count: u32) -> u32 {
        if self.count < count {
            self.fill();
        }
        let bits = (self.waiting & ((1 << count) - 1)) as u32;
        self.take(count);
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use afterstate_board::Rng;

    /// Symbols of four contexts: rare and frequent ones, one that is always the same, one that never occurs, all alike; and plain bits.
    fn walk(coder: &mut impl Coder, wanted: &[(usize, u8, u32, u32)]) -> Vec<(u8, u32)> {
        wanted.iter().map(|&(context, s, n, count)| (coder.symbol(context, s), coder.bits(n, count))).collect()
    }

    fn sample(count: usize) -> Vec<(usize, u8, u32, u32)> {
        let mut rng = Rng::new(3);
        let mut one = || {
            let context = [0, 1, 3][rng.below(3) as usize];
            let symbol = match context {
                0 => (rng.below(1 << 20) + 1).leading_zeros() as u8 - 11,
                1 => 7,
                _ => rng.below(32) as u8,
            };
            let count = rng.below(33);
            let number = rng.below(u32::MAX) & (((1u64 << count) - 1) as u32);
            (context, symbol, number, count)
        };
        (0..count).map(|_| one()).collect()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let wanted = sample(50_000);
        let mut counter = Counter::new(4);
        walk(&mut counter, &wanted);
        let lengths = counter.lengths();
        assert!(lengths[0].contains(&1) && lengths[0].contains(&(LONGEST as u8)));
        assert_eq!(lengths[3], [5; SYMBOLS]);
        let mut writer = Writer::new(&lengths);
        walk(&mut writer, &wanted);
        let bytes = writer.finish();
        let meanings = Meanings::new(&lengths).unwrap();
        let mut reader = Reader::new(&meanings, &bytes);
        let found = walk(&mut reader, &wanted);
        assert!(found.iter().zip(&wanted).all(|(found, wanted)| *found == (wanted.1, wanted.2)));
        assert!(reader.is_done());
        let mut short = Reader::new(&meanings, &bytes[..bytes.len() - 9]);
        walk(&mut short, &wanted);
        assert!(!short.is_done());
    }

    #[test]
    fn lengths_that_make_no_code_are_refused() {
        let with = |given: &[u8]| {
            let mut lengths = [0; SYMBOLS];
            lengths[..given.len()].copy_from_slice(given);
            Meanings::new(&vec![lengths]).is_some()
        };
        assert!(with(&[]) && with(&[0, 1]) && with(&[1, 1]) && with(&[1, 2, 3, 3]));
        assert!(!with(&[1, 1, 1]) && !with(&[1, 2]) && !with(&[1, 2, 200]));
    }
}
