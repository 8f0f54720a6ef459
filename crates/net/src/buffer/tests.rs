use super::*;
use crate::cell::cells_for;

fn spec(sharing: Sharing, charge: Charge, discard: Discard) -> BufferSpec {
    BufferSpec {
        size: Bits(10 * 424),
        whole_port: false,
        sharing,
        charge,
        discard,
        threshold: None,
        clp_threshold: None,
    }
}

#[test]
fn a_pool_is_shared_and_a_channel_is_not() {
    for (sharing, fits) in [(Sharing::Pool, true), (Sharing::Channel, false), (Sharing::Conversation, false)] {
        let mut buffer = Buffer::new(Some(spec(sharing, Charge::Cell, Discard::Frame).into()));
        buffer.add_conversation(7, 0);
        buffer.add_conversation(9, 1);
        let owner = Owner { slot: 0, conversation: 7, octets: 0 };
        assert_eq!(buffer.admit_frame(owner, 10), 10);
        assert_eq!(buffer.admit_cell(owner, 0), fits, "{sharing:?}");
    }
}

#[test]
fn a_conversation_has_its_own_limit_inside_a_shared_queue() {
    let mut buffer = Buffer::new(Some(spec(Sharing::Conversation, Charge::Cell, Discard::Frame).into()));
    buffer.add_conversation(0, 0);
    buffer.add_conversation(1, 0);
    assert_eq!(buffer.admit_frame(Owner { slot: 0, conversation: 0, octets: 0 }, 10), 10);
    assert_eq!(buffer.admit_frame(Owner { slot: 0, conversation: 0, octets: 0 }, 1), 0);
    assert_eq!(buffer.admit_frame(Owner { slot: 0, conversation: 1, octets: 0 }, 10), 10);
}

#[test]
fn a_huge_size_is_a_limit_that_nothing_reaches() {
    for (whole_port, sharing, limit) in
        [(false, Sharing::Pool, u64::MAX), (true, Sharing::Pool, u64::MAX), (true, Sharing::Channel, u64::MAX / 2)]
    {
        let size = Bits(u64::MAX);
        let spec = BufferSpec { size, whole_port, ..spec(sharing, Charge::Cell, Discard::Frame) };
        let mut buffer = Buffer::new(Some(spec.into()));
        buffer.add_conversation(0, 0);
        buffer.add_conversation(1, 1);
        for slot in [0, 1] {
            let group = *buffer.limited.as_mut().unwrap().group(Owner { slot, conversation: slot, octets: 0 });
            assert_eq!(group.limit, limit, "{whole_port} {sharing:?}: {group:?}");
        }
    }
}

#[test]
fn thresholds_grow_with_the_conversations_as_the_size_does() {
    let (threshold, clp_threshold) = (Some(Bits(5 * 424)), Some(Bits(2 * 424)));
    let spec = BufferSpec { threshold, clp_threshold, ..spec(Sharing::Pool, Charge::Cell, Discard::Epd) };
    let mut buffer = Buffer::new(Some(spec.into()));
    buffer.add_conversation(0, 0);
    buffer.add_conversation(1, 1);
    let owner = Owner { slot: 0, conversation: 0, octets: 0 };
    let mut states = Vec::new();
    for _ in 0..10 {
        states.push((buffer.refuses_tagged(owner), buffer.refuses_new_frames(owner)));
        assert!(buffer.admit_cell(owner, 0));
    }
    assert_eq!(states.iter().filter(|s| !s.0).count(), 4, "below 2 × 2 cells");
    assert!(states.iter().all(|s| !s.1) && buffer.refuses_new_frames(owner), "below 2 × 5 cells");
}

#[test]
fn by_cell_the_front_of_a_frame_gets_in() {
    let mut buffer = Buffer::new(Some(spec(Sharing::Pool, Charge::Cell, Discard::Cell).into()));
    buffer.add_conversation(0, 0);
    let owner = Owner { slot: 0, conversation: 0, octets: 0 };
    assert_eq!(buffer.admit_frame(owner, 7), 7);
    assert_eq!(buffer.admit_frame(owner, 7), 3);
    assert_eq!(buffer.admit_frame(owner, 7), 0);
}

#[test]
fn charged_by_packet_the_cells_of_a_frame_fill_exactly_its_octets() {
    for octets in [1, 40, 41, 48, 552, 1500] {
        let mut buffer = Buffer::new(Some(spec(Sharing::Pool, Charge::Packet, Discard::Frame).into()));
        buffer.add_conversation(0, 0);
        buffer.limited.as_mut().unwrap().first.limit = u64::MAX;
        let owner = Owner { slot: 0, conversation: 0, octets };
        let count = cells_for(octets) as u16;
        assert_eq!(buffer.admit_frame(owner, count), count);
        assert_eq!(buffer.used(), u64::from(octets) * 8);
        (0..count).for_each(|index| buffer.release_cell(owner, index));
        assert_eq!(buffer.used(), 0);
    }
}
