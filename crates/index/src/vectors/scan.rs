//! Estimates the products of a query with all vectors of a cluster, and keeps the promising ones.

use pulp::NullaryFnOnce;

use super::codes::{BLOCK, GROUP_BYTES, Table, from_upper_halves};

/// A vector and what its product with the query is thought to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) score: f32,
    pub(super) slot: u32,
}

impl Candidate {
    /// Where it stands among others, as a number: first by score, the highest first, then by slot. Numbers are compared at
    /// once, where two comparisons of which one depends on the other are guessed wrong every other time.
    pub(super) fn place(&self) -> u64 {
        let bits = self.score.to_bits();
        let falling = if self.score.is_sign_negative() { bits } else { !bits & !(1 << 31) };
        u64::from(falling) << 32 | u64::from(self.slot)
    }
}

/// The best candidates so far: at least `wanted`, cut back whenever there are twice as many.
#[derive(Default)]
pub(super) struct Candidates {
    pub(super) list: Vec<Candidate>,
    wanted: usize,
    /// What a candidate must exceed.
    bar: f32,
}

impl Candidates {
    pub(super) fn start(&mut self, wanted: usize) {
        self.list.clear();
        self.wanted = wanted.max(1);
        self.bar = f32::NEG_INFINITY;
    }

    #[inline]
    fn push(&mut self, candidate: Candidate) {
        self.list.push(candidate);
        if self.list.len() >= self.wanted.saturating_mul(2) {
            self.cut();
        }
    }

    /// Keeps the `wanted` best.
    pub(super) fn cut(&mut self) {
        if self.list.len() > self.wanted {
            let descending = |a: &Candidate, b: &Candidate| b.score.total_cmp(&a.score);
            let (_, last, _) = self.list.select_nth_unstable_by(self.wanted - 1, descending);
            self.bar = last.score;
            self.list.truncate(self.wanted);
        }
    }
}

/// The blocks of one cluster, and what its vectors' estimates begin with.
pub(super) struct Cluster<'a> {
    pub(super) blocks: &'a [u8],
    pub(super) block_bytes: usize,
    /// The slot of the cluster's first vector, and the number of its vectors.
    pub(super) first: u32,
    pub(super) len: usize,
    /// The product of the query with the centroid.
    pub(super) base: f32,
}

/// Adds the cluster's vectors that `allows` lets through and that are better than the bar.
pub(super) fn scan(
    table: &Table,
    cluster: &Cluster<'_>,
    allows: impl FnMut(u32) -> bool,
    candidates: &mut Candidates,
) {
    #[cfg(target_arch = "x86_64")]
    {
        if let Some(simd) = pulp::x86::V4::try_new() {
            let kernel = x86::Wide(simd);
            return simd.vectorize(Scan { table, cluster, allows, candidates, kernel });
        }
        if let Some(simd) = pulp::x86::V3::try_new() {
            let kernel = x86::Middle(simd);
            return simd.vectorize(Scan { table, cluster, allows, candidates, kernel });
        }
    }
    #[cfg(target_arch = "aarch64")]
    if let Some(simd) = pulp::aarch64::Neon::try_new() {
        let kernel = aarch64::Narrow(simd);
        return simd.vectorize(Scan { table, cluster, allows, candidates, kernel });
    }
    Scan { table, cluster, allows, candidates, kernel: Portable }.call();
}

// A type and not a closure: a closure may be compiled apart from the function that is allowed to
// use the processor's special instructions, and then goes without them.
struct Scan<'a, A, K> {
    table: &'a Table,
    cluster: &'a Cluster<'a>,
    allows: A,
    candidates: &'a mut Candidates,
    kernel: K,
}

impl<A: FnMut(u32) -> bool, K: Kernel> NullaryFnOnce for Scan<'_, A, K> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { table, cluster, mut allows, candidates, kernel } = self;
        let mut slots = cluster.first..cluster.first.saturating_add(cluster.len as u32);
        let (step, start, base) = (table.step, table.start, cluster.base);
        for block in cluster.blocks.chunks_exact(cluster.block_bytes) {
            let Some((offsets, rest)) = block.split_first_chunk() else { break };
            let Some((slopes, groups)) = rest.split_first_chunk() else { break };
            let sums = kernel.sums(&table.entries, groups);
            let (offsets, slopes) = (from_upper_halves(offsets), from_upper_halves(slopes));
            let mut scores = [0.0_f32; BLOCK];
            for (((score, sum), offset), slope) in
                scores.iter_mut().zip(sums).zip(offsets).zip(slopes)
            {
                *score = base + offset + slope * (f32::from(sum) * step + start);
            }
            let mut promising = false;
            for score in scores {
                promising |= score > candidates.bar;
            }
            if promising {
                for (score, slot) in scores.into_iter().zip(slots.clone()) {
                    if score > candidates.bar && allows(slot) {
                        candidates.push(Candidate { score, slot });
                    }
                }
            }
            slots.start = slots.start.saturating_add(BLOCK as u32);
        }
    }
}

/// Adds up a table's entries for the 32 vectors of a block.
trait Kernel {
    fn sums(&self, entries: &[u8], groups: &[u8]) -> [u16; BLOCK];
}

/// The sums by every kernel that this processor has, the portable one first.
#[cfg(test)]
pub(super) fn sums_by_each_kernel(entries: &[u8], groups: &[u8]) -> Vec<[u16; BLOCK]> {
    let mut sums = vec![Portable.sums(entries, groups)];
    #[cfg(target_arch = "x86_64")]
    {
        let middle = pulp::x86::V3::try_new().map(x86::Middle);
        sums.extend(middle.map(|kernel| kernel.sums(entries, groups)));
        let wide = pulp::x86::V4::try_new().map(x86::Wide);
        sums.extend(wide.map(|kernel| kernel.sums(entries, groups)));
    }
    #[cfg(target_arch = "aarch64")]
    {
        let narrow = pulp::aarch64::Neon::try_new().map(aarch64::Narrow);
        sums.extend(narrow.map(|kernel| kernel.sums(entries, groups)));
    }
    sums
}

/// Without special instructions.
struct Portable;

impl Kernel for Portable {
    #[inline(always)]
    fn sums(&self, entries: &[u8], groups: &[u8]) -> [u16; BLOCK] {
        let mut sums = [0; BLOCK];
        let (low_sums, high_sums) = sums.split_at_mut(GROUP_BYTES);
        let tables = entries.as_chunks::<GROUP_BYTES>().0;
        for (table, group) in tables.iter().zip(groups.as_chunks::<GROUP_BYTES>().0) {
            let entry = |signs: u8| u16::from(table.get(usize::from(signs)).copied().unwrap_or(0));
            for ((low, high), signs) in low_sums.iter_mut().zip(high_sums.iter_mut()).zip(group) {
                *low += entry(signs & 15);
                *high += entry(signs >> 4);
            }
        }
        sums
    }
}

/// Look-ups added up in bytes before the sums are widened: eight entries of 31 fit.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
const NARROW: usize = 8;

#[cfg(target_arch = "x86_64")]
mod x86 {
    //! Kernels for AVX2 and AVX-512.

    use pulp::x86::{V3, V4};

    use super::{BLOCK, Kernel, NARROW};

    /// Two groups at a time, with AVX2.
    pub(super) struct Middle(pub(super) V3);

    impl Kernel for Middle {
        #[inline(always)]
        fn sums(&self, entries: &[u8], groups: &[u8]) -> [u16; BLOCK] {
            let (avx, avx2) = (self.0.avx, self.0.avx2);
            let zero = avx._mm256_setzero_si256();
            let half = avx._mm256_set1_epi8(15);
            let (mut low_sums, mut high_sums) = (zero, zero);
            let tables = entries.as_chunks::<32>().0.chunks(NARROW);
            for (tables, groups) in tables.zip(groups.as_chunks::<32>().0.chunks(NARROW)) {
                let (mut low, mut high) = (zero, zero);
                for (table, group) in tables.iter().zip(groups) {
                    let (table, group) = (pulp::cast(*table), pulp::cast(*group));
                    let low_signs = avx2._mm256_and_si256(group, half);
                    let high_signs =
                        avx2._mm256_and_si256(avx2._mm256_srli_epi16::<4>(group), half);
                    low = avx2._mm256_add_epi8(low, avx2._mm256_shuffle_epi8(table, low_signs));
                    high = avx2._mm256_add_epi8(high, avx2._mm256_shuffle_epi8(table, high_signs));
                }
                for (sums, bytes) in [(&mut low_sums, low), (&mut high_sums, high)] {
                    let first = avx._mm256_castsi256_si128(bytes);
                    let second = avx2._mm256_extracti128_si256::<1>(bytes);
                    *sums = avx2._mm256_add_epi16(*sums, avx2._mm256_cvtepu8_epi16(first));
                    *sums = avx2._mm256_add_epi16(*sums, avx2._mm256_cvtepu8_epi16(second));
                }
            }
            pulp::cast([low_sums, high_sums])
        }
    }

    /// Four groups at a time, with AVX-512.
    pub(super) struct Wide(pub(super) V4);

    impl Kernel for Wide {
        #[inline(always)]
        fn sums(&self, entries: &[u8], groups: &[u8]) -> [u16; BLOCK] {
            let (avx2, f, bw) = (self.0.avx2, self.0.avx512f, self.0.avx512bw);
            let zero = f._mm512_setzero_si512();
            let half = f._mm512_set1_epi8(15);
            let (mut low_sums, mut high_sums) = (zero, zero);
            let tables = entries.as_chunks::<64>().0.chunks(NARROW);
            for (tables, groups) in tables.zip(groups.as_chunks::<64>().0.chunks(NARROW)) {
                let (mut low, mut high) = (zero, zero);
                for (table, group) in tables.iter().zip(groups) {
                    let (table, group) = (pulp::cast(*table), pulp::cast(*group));
                    let low_signs = f._mm512_and_si512(group, half);
                    let high_signs = f._mm512_and_si512(bw._mm512_srli_epi16::<4>(group), half);
                    low = bw._mm512_add_epi8(low, bw._mm512_shuffle_epi8(table, low_signs));
                    high = bw._mm512_add_epi8(high, bw._mm512_shuffle_epi8(table, high_signs));
                }
                for (sums, bytes) in [(&mut low_sums, low), (&mut high_sums, high)] {
                    let first = bw._mm512_cvtepu8_epi16(f._mm512_castsi512_si256(bytes));
                    let second = bw._mm512_cvtepu8_epi16(f._mm512_extracti64x4_epi64::<1>(bytes));
                    *sums = bw._mm512_add_epi16(*sums, bw._mm512_add_epi16(first, second));
                }
            }
            let low = f._mm512_castsi512_si256(low_sums);
            let high = f._mm512_castsi512_si256(high_sums);
            pulp::cast([
                avx2._mm256_add_epi16(low, f._mm512_extracti64x4_epi64::<1>(low_sums)),
                avx2._mm256_add_epi16(high, f._mm512_extracti64x4_epi64::<1>(high_sums)),
            ])
        }
    }
}

#[cfg(target_arch = "aarch64")]
mod aarch64 {
    //! The kernel for NEON.

    use pulp::aarch64::Neon;

    use super::{BLOCK, GROUP_BYTES, Kernel, NARROW};

    /// One group at a time, with NEON.
    pub(super) struct Narrow(pub(super) Neon);

    impl Kernel for Narrow {
        #[inline(always)]
        fn sums(&self, entries: &[u8], groups: &[u8]) -> [u16; BLOCK] {
            let neon = self.0.neon;
            let zero = neon.vdupq_n_u16(0);
            let half = neon.vdupq_n_u8(15);
            let mut sums = [zero; 4];
            let tables = entries.as_chunks::<GROUP_BYTES>().0.chunks(NARROW);
            let groups = groups.as_chunks::<GROUP_BYTES>().0.chunks(NARROW);
            for (tables, groups) in tables.zip(groups) {
                let (mut low, mut high) = (neon.vdupq_n_u8(0), neon.vdupq_n_u8(0));
                for (table, group) in tables.iter().zip(groups) {
                    let (table, group) = (pulp::cast(*table), pulp::cast(*group));
                    let low_signs = neon.vandq_u8(group, half);
                    let high_signs = neon.vshrq_n_u8::<4>(group);
                    low = neon.vaddq_u8(low, neon.vqtbl1q_u8(table, low_signs));
                    high = neon.vaddq_u8(high, neon.vqtbl1q_u8(table, high_signs));
                }
                let [first, second, third, fourth] = &mut sums;
                *first = neon.vaddw_u8(*first, neon.vget_low_u8(low));
                *second = neon.vaddw_high_u8(*second, low);
                *third = neon.vaddw_u8(*third, neon.vget_low_u8(high));
                *fourth = neon.vaddw_high_u8(*fourth, high);
            }
            pulp::cast(sums)
        }
    }
}
