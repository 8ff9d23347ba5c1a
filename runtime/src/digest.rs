//! BLAKE3 over a slice, without allocation: the digest of a table.
//!
//! The hash is a tree of 1,024-byte chunks; chaining values of complete left
//! subtrees wait on a stack (at most 54 of them) until their right sibling is
//! there. Portable and scalar; follows the BLAKE3 specification, section 2.
//! Cost: linear, about 1 ns a byte.

const IV: [u32; 8] = [
    0x6A09_E667,
    0xBB67_AE85,
    0x3C6E_F372,
    0xA54F_F53A,
    0x510E_527F,
    0x9B05_688C,
    0x1F83_D9AB,
    0x5BE0_CD19,
];
const CHUNK_START: u32 = 1;
const CHUNK_END: u32 = 2;
const PARENT: u32 = 4;
const ROOT: u32 = 8;
const CHUNK: usize = 1024;
const BLOCK: usize = 64;

type Words = [u32; 16];

/// The mixing function on four words of the state. Taking the state apart into
/// locals keeps every index constant.
macro_rules! g {
    ($a:ident $b:ident $c:ident $d:ident $x:expr, $y:expr) => {
        $a = $a.wrapping_add($b).wrapping_add($x);
        $d = ($d ^ $a).rotate_right(16);
        $c = $c.wrapping_add($d);
        $b = ($b ^ $c).rotate_right(12);
        $a = $a.wrapping_add($b).wrapping_add($y);
        $d = ($d ^ $a).rotate_right(8);
        $c = $c.wrapping_add($d);
        $b = ($b ^ $c).rotate_right(7);
    };
}

fn compress(cv: &[u32; 8], block: &Words, counter: u64, length: u32, flags: u32) -> [u32; 8] {
    let [mut v0, mut v1, mut v2, mut v3, mut v4, mut v5, mut v6, mut v7] = *cv;
    let [mut v8, mut v9, mut va, mut vb, ..] = IV;
    #[allow(clippy::cast_possible_truncation, reason = "the two halves of the counter")]
    let (mut vc, mut vd) = (counter as u32, (counter >> 32) as u32);
    let (mut ve, mut vf) = (length, flags);
    let mut m = *block;
    for round in 0..7 {
        let [m0, m1, m2, m3, m4, m5, m6, m7, m8, m9, ma, mb, mc, md, me, mf] = m;
        g!(v0 v4 v8 vc m0, m1);
        g!(v1 v5 v9 vd m2, m3);
        g!(v2 v6 va ve m4, m5);
        g!(v3 v7 vb vf m6, m7);
        g!(v0 v5 va vf m8, m9);
        g!(v1 v6 vb vc ma, mb);
        g!(v2 v7 v8 vd mc, md);
        g!(v3 v4 v9 ve me, mf);
        if round < 6 {
            m = [m2, m6, m3, ma, m7, m0, m4, md, m1, mb, mc, m5, m9, me, mf, m8];
        }
    }
    [v0 ^ v8, v1 ^ v9, v2 ^ va, v3 ^ vb, v4 ^ vc, v5 ^ vd, v6 ^ ve, v7 ^ vf]
}

fn words(bytes: &[u8]) -> Words {
    let mut out = [0u32; 16];
    for (word, chunk) in out.iter_mut().zip(bytes.chunks(4)) {
        let mut four = [0u8; 4];
        for (to, from) in four.iter_mut().zip(chunk) {
            *to = *from;
        }
        *word = u32::from_le_bytes(four);
    }
    out
}

/// Hashes one chunk; `root` adds the root flag to its last block.
fn chunk(bytes: &[u8], counter: u64, root: bool) -> [u32; 8] {
    let mut cv = IV;
    let count = bytes.len().div_ceil(BLOCK).max(1);
    let mut blocks = bytes.chunks(BLOCK);
    for i in 0..count {
        let block = blocks.next().unwrap_or(&[]);
        let mut flags = 0;
        if i == 0 {
            flags |= CHUNK_START;
        }
        if i.saturating_add(1) == count {
            flags |= CHUNK_END | if root { ROOT } else { 0 };
        }
        let length = u32::try_from(block.len()).unwrap_or(0);
        cv = compress(&cv, &words(block), counter, length, flags);
    }
    cv
}

fn parent(left: &[u32; 8], right: &[u32; 8], root: bool) -> [u32; 8] {
    let mut block = [0u32; 16];
    for (to, from) in block.iter_mut().zip(left.iter().chain(right)) {
        *to = *from;
    }
    compress(&IV, &block, 0, 64, PARENT | if root { ROOT } else { 0 })
}

/// BLAKE3 of the concatenation of nothing but `bytes`, 32 bytes of output.
#[must_use]
pub fn blake3(bytes: &[u8]) -> [u8; 32] {
    let mut stack = [[0u32; 8]; 54];
    let mut depth = 0usize;
    let total = bytes.len().div_ceil(CHUNK).max(1);
    let mut cv = IV;
    for index in 0..total {
        let start = index.saturating_mul(CHUNK);
        let end = start.saturating_add(CHUNK).min(bytes.len());
        let counter = index as u64;
        let last = index.saturating_add(1) == total;
        cv = chunk(bytes.get(start..end).unwrap_or(&[]), counter, last && total == 1);
        if last {
            break;
        }
        // As many trailing zero bits as the count of chunks has, so many
        // subtrees on the stack are complete.
        let mut merged = index.saturating_add(1);
        while merged & 1 == 0 {
            depth = depth.saturating_sub(1);
            if let Some(left) = stack.get(depth) {
                cv = parent(left, &cv, false);
            }
            merged >>= 1;
        }
        if let Some(slot) = stack.get_mut(depth) {
            *slot = cv;
        }
        depth = depth.saturating_add(1);
    }
    while depth > 0 {
        depth = depth.saturating_sub(1);
        if let Some(left) = stack.get(depth) {
            cv = parent(left, &cv, depth == 0);
        }
    }
    let mut out = [0u8; 32];
    for (to, word) in out.chunks_mut(4).zip(cv) {
        for (byte, from) in to.iter_mut().zip(word.to_le_bytes()) {
            *byte = from;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    extern crate alloc;
    use alloc::{format, string::String, vec::Vec};

    /// Lengths with their digests, as the reference implementation gives them; the input is
    /// that of its test vectors.
    const KNOWN: &[(usize, &str)] = &[
        (0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"),
        (1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"),
        (64, "4eed7141ea4a5cd4b788606bd23f46e212af9cacebacdc7d1f4c6dc7f2511b98"),
        (65, "de1e5fa0be70df6d2be8fffd0e99ceaa8eb6e8c93a63f2d8d1c30ecb6b263dee"),
        (1023, "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11"),
        (1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"),
        (1025, "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444"),
        (2048, "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a"),
        (2049, "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030"),
        (4096, "015094013f57a5277b59d8475c0501042c0b642e531b0a1c8f58d2163229e969"),
        (4097, "9b4052b38f1c5fc8b1f9ff7ac7b27cd242487b3d890d15c96a1c25b8aa0fb995"),
        (5120, "9cadc15fed8b5d854562b26a9536d9707cadeda9b143978f319ab34230535833"),
        (5121, "628bd2cb2004694adaab7bbd778a25df25c47b9d4155a55f8fbd79f2fe154cff"),
        (8192, "aae792484c8efe4f19e2ca7d371d8c467ffb10748d8a5a1ae579948f718a2a63"),
        (8193, "bab6c09cb8ce8cf459261398d2e7aef35700bf488116ceb94a36d0f5f1b7bc3b"),
        (31744, "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47"),
        (102400, "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085"),
    ];

    #[test]
    fn digests_are_those_of_the_reference() {
        for (length, digest) in KNOWN {
            let input = (0..=250u8).cycle().take(*length).collect::<Vec<_>>();
            let hex = super::blake3(&input).iter().map(|b| format!("{b:02x}")).collect::<String>();
            assert_eq!(hex, *digest, "{length} bytes");
        }
    }
}
