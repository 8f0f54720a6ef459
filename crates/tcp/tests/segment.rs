//! Sequence arithmetic and header lengths.
#![allow(clippy::unwrap_used)]

use std::num::NonZeroU16;

use cellway_tcp::{Flags, Options, SackBlock, SackBlocks, Segment, SeqNum, Timestamps};
use proptest::prelude::*;

#[test]
fn headers_are_padded_to_words() {
    let with = |options| Segment { options, ..Segment::default() }.header_len();
    assert_eq!(with(Options::default()), 20);
    assert_eq!(with(Options { mss: NonZeroU16::new(512), ..Options::default() }), 24);
    assert_eq!(with(Options { mss: NonZeroU16::new(512), window_scale: Some(2), ..Options::default() }), 28);
    let all = Options { mss: NonZeroU16::new(512), window_scale: Some(2), sack_permitted: true, ..Options::default() };
    assert_eq!(with(all), 32);
    // RFC 7323 appendix A; as Linux has it on a SYN, SACK-permitted takes the place of two NOPs.
    let timestamps = Some(Timestamps { value: 1, echo: 2 });
    assert_eq!(with(Options { timestamps, ..Options::default() }), 32);
    assert_eq!(with(Options { timestamps, ..all }), 40);
    assert_eq!(with(Options { timestamps, sack_permitted: false, ..all }), 40);
    let mut sack = SackBlocks::default();
    for octets in [32, 40, 48, 56] {
        assert!(sack.push(SackBlock::default()));
        assert_eq!(with(Options { sack, ..Options::default() }), octets);
        assert_eq!(with(Options { sack, timestamps, ..Options::default() }), octets + 12);
    }
    assert!(!sack.push(SackBlock::default()));
    assert_eq!(sack.as_slice().len(), 4);
}

#[test]
fn syn_and_fin_take_a_number_each() {
    let segment = Segment { len: 7, flags: Flags::SYN | Flags::FIN | Flags::ACK, ..Segment::default() };
    assert_eq!(segment.sequence_len(), 9);
    assert!(segment.is(Flags::SYN | Flags::ACK) && !segment.is(Flags::RST));
}

proptest! {
    #[test]
    fn distances_survive_the_wrap(start: u32, step in 0u32..(1 << 31)) {
        let later = SeqNum(start).add(u64::from(step));
        prop_assert_eq!(i64::from(later.distance(SeqNum(start))), i64::from(step));
        prop_assert_eq!(i64::from(SeqNum(start).distance(later)), -i64::from(step));
        // Positions of 64 bits reduce to the same number.
        prop_assert_eq!(SeqNum(start).add(u64::from(step) + (1 << 32)), later);
    }
}
