//! Packets for the unit tests, made by etherparse.

use etherparse::PacketBuilder;

/// Returns a TCP segment over IPv4 with `payload` octets.
pub(super) fn tcp_v4(payload: usize) -> Vec<u8> {
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(40_000, 80, 1, 1000).ack(7);
    let mut packet = Vec::new();
    builder.write(&mut packet, &octets(payload)).unwrap();
    packet
}

/// Returns a TCP segment over IPv6 with `payload` octets.
pub(super) fn tcp_v6(payload: usize) -> Vec<u8> {
    let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(40_000, 80, 1, 1000).ack(7);
    let mut packet = Vec::new();
    builder.write(&mut packet, &octets(payload)).unwrap();
    packet
}

/// Returns a UDP datagram over IPv4 with `payload` octets, DF clear.
pub(super) fn udp_v4(payload: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(53, 5353);
    builder.write(&mut packet, &octets(payload)).unwrap();
    with(packet, |packet| packet[6] = 0)
}

/// Returns octets that differ with the offset.
pub(super) fn octets(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// Applies a change to the packet, and corrects the checksum of its IPv4 header.
pub(super) fn with(mut packet: Vec<u8>, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    change(&mut packet);
    if packet[0] >> 4 == 4 {
        let header = usize::from(packet[0] & 0xf) * 4;
        packet[10..12].copy_from_slice(&[0, 0]);
        let sum = super::checksum::checksum(&packet[..header]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    packet
}

/// Returns `tcp_v6` with extension headers inserted: each is its number and octets, whose first is set to the next
/// number.
pub(super) fn extended(extensions: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut packet = tcp_v6(20);
    let mut next = 6;
    for (number, octets) in extensions.iter().rev() {
        let mut octets = octets.clone();
        octets[0] = next;
        next = *number;
        packet.splice(40..40, octets);
    }
    packet[6] = next;
    let payload = (packet.len() - 40) as u16;
    packet[4..6].copy_from_slice(&payload.to_be_bytes());
    packet
}
