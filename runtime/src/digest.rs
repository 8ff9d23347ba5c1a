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
