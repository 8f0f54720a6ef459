//! Integers of variable length: the two highest bits of the first octet encode the length, 1, 2, 4 or 8 octets. RFC
//! 9000, section 16.

use bytes::BufMut;

/// The largest number that can be encoded.
pub(crate) const MAX: u64 = (1 << 62) - 1;

/// Returns the number of octets that `value` takes.
pub(crate) const fn octets(value: u64) -> u32 {
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// Appends `value`, which is at most [`MAX`].
pub(crate) fn put(value: u64, out: &mut impl BufMut) {
    debug_assert!(value <= MAX, "{value} is too large for a varint");
    match octets(value) {
        1 => out.put_u8(value as u8),
        2 => out.put_u16(0x4000 | value as u16),
        4 => out.put_u32(0x8000_0000 | value as u32),
        _ => out.put_u64(0b11 << 62 | value),
    }
}

/// Decodes the number at the start of `input` and advances `input` past it; `None` if it is truncated.
pub(crate) fn take(input: &mut &[u8]) -> Option<u64> {
    let first = *input.first()?;
    let len = 1 << (first >> 6);
    let (own, rest) = input.split_at_checked(len)?;
    *input = rest;
    Some(own[1..].iter().fold(u64::from(first & 0x3f), |value, &octet| value << 8 | u64::from(octet)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_examples_of_the_rfc() {
        // RFC 9000, appendix A.1.
        let examples: [(&[u8], u64); 4] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ];
        for (octets, value) in examples {
            let mut out = Vec::new();
            put(value, &mut out);
            assert_eq!(out, octets);
        }
        // The encoding of a number may be longer than necessary.
        assert_eq!(take(&mut &[0x40, 0x25][..]), Some(37));
        assert_eq!(take(&mut &[0x40][..]), None);
        assert_eq!(take(&mut &[][..]), None);
    }

    proptest! {
        #[test]
        fn encoded_values_are_decoded(value in 0..=MAX, shift in 0u32..62) {
            let value = value >> shift;
            let mut out = Vec::new();
            put(value, &mut out);
            prop_assert_eq!(out.len() as u32, octets(value));
            let mut input = &out[..];
            prop_assert_eq!(take(&mut input), Some(value));
            prop_assert!(input.is_empty());
        }
    }
}
