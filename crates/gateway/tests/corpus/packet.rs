//! Octets as a packet: a decoded packet can be encoded, and an encoded one is decoded as the same.

use cellway_gateway::TpPacket;

/// The first octet selects the expected packet number, about 2^0 to 2^61; the rest is the packet.
pub(crate) fn run(data: &[u8]) {
    let Some((&shift, input)) = data.split_first() else { return };
    let expected = 1u64 << (shift % 62);
    let Ok(decoded) = TpPacket::decode(input, expected) else { return };
    let packet = &decoded.packet;
    assert!(!packet.frames.is_empty(), "a packet without frames");
    assert!(packet.number.abs_diff(expected) <= 1 << 32, "{} is far from {expected}", packet.number);
    let bytes = &input[decoded.payload.clone()];
    let mut again = Vec::new();
    packet.encode(&mut again, |_, _, len, out| {
        assert_eq!(bytes.len(), len as usize);
        out.extend_from_slice(bytes);
    });
    assert_eq!(again.len(), packet.octets() as usize, "its length is known before it is written");
    // The encoding of a number may be longer than necessary: the octets may differ, the packet must not.
    assert!(again.len() <= input.len(), "{packet:?} has grown");
    let second = TpPacket::decode(&again, expected).unwrap();
    assert_eq!(&second.packet, packet);
    assert_eq!(&again[second.payload], bytes);
}
