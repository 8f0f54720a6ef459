//! The Internet checksum: the ones' complement of the ones' complement sum of 16-bit words. RFC 1071.

use std::net::IpAddr;

/// A partial sum. It adds slices in turn as if they were contiguous.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    /// Sum of words in the byte order of the machine: the sum is the same in either order, but for a swap at the end
    /// (RFC 1071, section 2 (B)). Folded to 16 bits between slices.
    words: u64,
    /// An odd number of octets so far.
    odd: bool,
}

/// Adds the carries of a sum. RFC 1071, section 2 (C).
const fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Returns the sum of `octets` as words of the machine, a missing last octet taken as zero.
fn words(octets: &[u8]) -> u16 {
    // 32-bit words into a 64-bit sum: no carry is lost below 16 GiB, and the compiler makes vectors of it.
    let mut sums = [0u64; 4];
    let mut blocks = octets.chunks_exact(16);
    for block in &mut blocks {
        for (sum, word) in sums.iter_mut().zip(block.chunks_exact(4)) {
            *sum += u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
        }
    }
    let mut sum: u64 = sums.iter().sum();
    let mut pairs = blocks.remainder().chunks_exact(2);
    for pair in &mut pairs {
        sum += u64::from(u16::from_ne_bytes([pair[0], pair[1]]));
    }
    if let [last] = pairs.remainder() {
        sum += u64::from(u16::from_ne_bytes([*last, 0]));
    }
    fold(sum)
}

impl Sum {
    /// Adds `octets` after those so far.
    #[must_use]
    pub fn with(self, octets: &[u8]) -> Sum {
        let sum = words(octets);
        // After an odd number of octets the halves of all words are swapped.
        let sum = if self.odd { sum.swap_bytes() } else { sum };
        Sum { words: u64::from(fold(self.words + u64::from(sum))), odd: self.odd ^ (octets.len() % 2 == 1) }
    }
    /// Adds the pseudo-header of a payload of `len` octets. RFC 9293, section 3.1; RFC 8200, section 8.1.
    #[must_use]
    pub fn with_pseudo_header(self, source: IpAddr, destination: IpAddr, protocol: u8, len: u32) -> Sum {
        let with_addresses = match (source, destination) {
            (IpAddr::V4(from), IpAddr::V4(to)) => self.with(&from.octets()).with(&to.octets()),
            (IpAddr::V6(from), IpAddr::V6(to)) => self.with(&from.octets()).with(&to.octets()),
            // No packet has addresses of two versions.
            _ => self,
        };
        // IPv4 has the length in 16 bits; as 32 bits it adds the same.
        with_addresses.with(&len.to_be_bytes()).with(&[0, protocol])
    }
    /// Returns the checksum, as the number that the field holds.
    pub const fn checksum(self) -> u16 {
        !u16::from_be_bytes(fold(self.words).to_ne_bytes())
    }
    /// Returns the checksum of UDP, and of other protocols in which 0 means "none": 0 is sent as all ones, which is
    /// equivalent. RFC 768.
    pub const fn checksum_not_zero(self) -> u16 {
        match self.checksum() {
            0 => 0xffff,
            sum => sum,
        }
    }
}

/// Returns the checksum of `octets`.
pub fn checksum(octets: &[u8]) -> u16 {
    Sum::default().with(octets).checksum()
}

/// Returns the checksum after one 16-bit word that it covers has changed from `before` to `after`. RFC 1624, section 3,
/// eqn. 3.
pub const fn updated(checksum: u16, before: u16, after: u16) -> u16 {
    !fold(!checksum as u64 + !before as u64 + after as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Computes it word by word, as RFC 1071 defines it.
    fn naive(octets: &[u8]) -> u16 {
        let mut sum = 0u32;
        for pair in octets.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    /// RFC 1071, section 3: the sum of these octets is ddf2.
    #[test]
    fn the_example_of_the_rfc() {
        assert_eq!(checksum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
    }

    /// RFC 1624, section 4: checksum dd2f, a field goes from 5555 to 3285; eqn. 2 gives ffff there, and 0000 is right.
    #[test]
    fn the_example_of_an_update() {
        assert_eq!(updated(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn all_ones_do_not_overflow() {
        assert_eq!(checksum(&[0xff; 65_535]), naive(&[0xff; 65_535]));
        assert_eq!(Sum::default().with(&[0xff; 4]).checksum_not_zero(), 0xffff);
    }

    proptest! {
        #[test]
        fn fast_is_naive(octets in prop::collection::vec(any::<u8>(), 0..3000)) {
            prop_assert_eq!(checksum(&octets), naive(&octets));
        }

        #[test]
        fn slices_are_as_one(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8)) {
            let sum = parts.iter().fold(Sum::default(), |sum, part| sum.with(part));
            prop_assert_eq!(sum.checksum(), naive(&parts.concat()));
        }

        #[test]
        fn an_update_is_a_new_sum(mut octets in prop::collection::vec(any::<u8>(), 4..64), at in 0usize..64, to: u16) {
            let at = at % (octets.len() / 2) * 2;
            let (sum, from) = (checksum(&octets), u16::from_be_bytes([octets[at], octets[at + 1]]));
            octets[at..at + 2].copy_from_slice(&to.to_be_bytes());
            // With all words zero after the change both zeros are right; no IPv4 header is all zeros.
            prop_assume!(octets.iter().any(|&o| o != 0));
            prop_assert_eq!(updated(sum, from, to), checksum(&octets));
        }
    }
}
