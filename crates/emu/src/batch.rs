//! Batches of the packets that a pass writes to the hosts, to make as few calls as possible: segments of one connection
//! that have arrived together are joined, as a network card does on receipt.

use cellway_wire::ip::Joined;

use crate::engine::{Due, HostIndex};

/// The most connections of a host whose segments are collected at once.
const OPEN: usize = 8;

/// Packets that one call writes.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) host: HostIndex,
    /// The joined segment; absent for a packet that is written alone.
    pub(crate) joined: Option<Joined>,
    /// Their places in the list.
    pub(crate) members: Vec<usize>,
}

/// Sorts packets that are due into batches. The packets of each connection keep their order, and no packet of a host
/// overtakes one that is written alone. Without `join` each packet is its own batch.
pub(crate) fn batches(due: &[Due], join: bool) -> Vec<Batch> {
    let mut done: Vec<Batch> = Vec::with_capacity(due.len());
    let mut open: Vec<Batch> = Vec::new();
    for (place, packet) in due.iter().enumerate() {
        let of_host = |batch: &Batch| batch.host == packet.host;
        let begun = if join && packet.sound { Joined::begin(&packet.octets) } else { None };
        let Some(begun) = begun else {
            done.extend(open.extract_if(.., |batch| of_host(batch)));
            done.push(Batch { host: packet.host, joined: None, members: vec![place] });
            continue;
        };
        let known = open.iter_mut().find(|batch| {
            of_host(batch) && batch.joined.as_ref().is_some_and(|joined| joined.is_of_connection(&begun))
        });
        if let Some(batch) = known {
            if batch.joined.as_mut().is_some_and(|joined| joined.join(&packet.octets)) {
                batch.members.push(place);
                continue;
            }
            let next = Batch { host: packet.host, joined: Some(begun), members: vec![place] };
            done.push(std::mem::replace(batch, next));
            continue;
        }
        if open.len() == OPEN {
            done.push(open.remove(0));
        }
        open.push(Batch { host: packet.host, joined: Some(begun), members: vec![place] });
    }
    done.append(&mut open);
    done
}

#[cfg(test)]
mod tests {
    use cellway_units::Time;
    use cellway_wire::ip::{Gso, VirtioNetHeader, cut};
    use etherparse::PacketBuilder;

    use super::*;

    /// Segments of a connection to `host`, with the first one's sequence number.
    fn segments(host: usize, port: u16, count: usize) -> Vec<Due> {
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(port, 80, 7, 1000).ack(3);
        let mut whole = Vec::new();
        builder.write(&mut whole, &vec![5; count * 100]).unwrap();
        let offload = VirtioNetHeader {
            needs_checksum: true,
            gso: Gso::TcpV4,
            header_len: 40,
            gso_size: 100,
            checksum_start: 20,
            checksum_offset: 16,
            ..VirtioNetHeader::default()
        };
        let due = |octets| Due { host: HostIndex(host), at: Time::ZERO, octets, sound: true };
        cut(&offload, &whole).unwrap().map(due).collect()
    }

    fn members(due: &[Due]) -> Vec<Vec<usize>> {
        batches(due, true).into_iter().map(|batch| batch.members).collect()
    }

    #[test]
    fn connections_are_joined_though_they_alternate() {
        let (a, b) = (segments(0, 1, 3), segments(0, 2, 3));
        let mixed: Vec<Due> = a.into_iter().zip(b).flat_map(|(a, b)| [a, b]).collect();
        assert_eq!(members(&mixed), [vec![0, 2, 4], vec![1, 3, 5]]);
    }

    #[test]
    fn without_joining_each_packet_is_alone() {
        let due = segments(0, 1, 3);
        let alone: Vec<Vec<usize>> = batches(&due, false).into_iter().map(|batch| batch.members).collect();
        assert_eq!(alone, [[0], [1], [2]]);
    }

    #[test]
    fn a_packet_written_alone_is_not_overtaken() {
        let mut due = segments(0, 1, 4);
        due.insert(2, Due { host: HostIndex(0), at: Time::ZERO, octets: vec![0x45; 28], sound: true });
        assert_eq!(members(&due), [vec![0, 1], vec![2], vec![3, 4]]);
        // A packet of another host does not end the batch.
        due[2].host = HostIndex(1);
        assert_eq!(members(&due), [vec![2], vec![0, 1, 3, 4]]);
    }

    #[test]
    fn a_checksum_of_unknown_kind_is_left_to_the_host() {
        let mut due = segments(0, 1, 3);
        due[1].sound = false;
        assert_eq!(members(&due), [vec![0], vec![1], vec![2]]);
        // A gap, too, begins another batch, in order.
        let mut due = segments(0, 1, 4);
        due.remove(1);
        assert_eq!(members(&due), [vec![0], vec![1, 2]]);
    }

    #[test]
    fn many_connections_keep_their_order() {
        let due: Vec<Due> = (0..20).flat_map(|port| segments(0, port, 2)).collect();
        let all = members(&due);
        assert_eq!(all.len(), 20);
        assert!(all.iter().all(|batch| batch.len() == 2));
    }
}
