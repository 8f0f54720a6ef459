//! The type of a conversation, from its ports.

use cellway_apps::AppKind;
use cellway_testbed::{FLOWS_PORT, MEASURED_PORT, OTHER_KIND, REQUESTS_PORT, UDP_KIND, UDP_PORT};
use cellway_wire::ip::{Flow, Recognised, protocol};

/// The type of an application, as derived from its port. Channels can be shared by type: Cáceres 1993, section 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "they are the names of the protocols")]
pub enum Kind {
    Ftp,
    Ssh,
    Telnet,
    Smtp,
    Http,
    Nntp,
    X11,
    /// ttcp and its successors: iperf, iperf3.
    Ttcp,
    /// The flows of a scenario that arrive by themselves, on the alternative port of HTTP.
    Flows,
    /// Requests and responses, on the port of netperf.
    Requests,
    /// Measured conversations of a scenario, on another alternative port of HTTP.
    Measured,
    /// The datagrams of a scenario, on the port of RTP.
    Udp,
    /// Any other port, or a protocol without ports.
    #[default]
    Other,
}

impl Kind {
    /// Returns the name, as in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Ftp => "ftp",
            Kind::Ssh => "ssh",
            Kind::Telnet => "telnet",
            Kind::Smtp => "smtp",
            Kind::Http => "http",
            Kind::Nntp => "nntp",
            Kind::X11 => "x11",
            Kind::Ttcp => "ttcp",
            Kind::Flows => "flows",
            Kind::Requests => "requests",
            Kind::Measured => "workload",
            Kind::Udp => "udp",
            Kind::Other => "other",
        }
    }

    /// Returns the type of a packet.
    pub(crate) fn of(packet: &Recognised<'_>) -> Kind {
        match packet.flow {
            Flow::Packet(key) | Flow::FirstFragment(key, _) => {
                kind(key.protocol, key.source_port, key.destination_port)
            }
            Flow::LaterFragment(_) | Flow::IcmpError(..) => Kind::Other,
        }
    }

    /// Returns the number that distinguishes types in the network: for an application of scenarios its number there
    /// ([`cellway_testbed::type_number`]).
    pub(crate) fn number(self) -> u32 {
        let known = match self {
            Kind::Ftp => AppKind::Ftp,
            Kind::Telnet => AppKind::Telnet,
            Kind::Smtp => AppKind::Smtp,
            Kind::Nntp => AppKind::Nntp,
            Kind::Http => AppKind::Www,
            Kind::X11 => AppKind::Animation,
            Kind::Ttcp => AppKind::Bulk,
            Kind::Flows => AppKind::Flows,
            Kind::Requests => AppKind::RequestResponse,
            Kind::Measured => AppKind::Workload,
            Kind::Udp => return UDP_KIND,
            Kind::Other => return OTHER_KIND,
            Kind::Ssh => return UDP_KIND + 1,
        };
        AppKind::ALL.iter().position(|kind| *kind == known).expect("every application is listed") as u32
    }

    /// Returns the type of one port. IANA, Service Name and Transport Protocol Port Number Registry; 5001 and 5201 are
    /// the defaults of ttcp, iperf and iperf3.
    const fn of_port(port: u16) -> Option<Kind> {
        Some(match port {
            20 | 21 => Kind::Ftp,
            22 => Kind::Ssh,
            23 => Kind::Telnet,
            25 => Kind::Smtp,
            80 | 443 => Kind::Http,
            119 => Kind::Nntp,
            5001 | 5201 => Kind::Ttcp,
            FLOWS_PORT => Kind::Flows,
            REQUESTS_PORT => Kind::Requests,
            MEASURED_PORT => Kind::Measured,
            6000..=6063 => Kind::X11,
            _ => return None,
        })
    }
}

/// Returns the type of a conversation. The side with a known port decides; if both are known, the smaller port does: it
/// is the server's, and the other was chosen at random.
pub const fn kind(protocol: u8, source_port: u16, destination_port: u16) -> Kind {
    if !matches!(protocol, protocol::TCP | protocol::UDP | protocol::SCTP) {
        return Kind::Other;
    }
    let (smaller, larger) =
        if source_port < destination_port { (source_port, destination_port) } else { (destination_port, source_port) };
    if protocol == protocol::UDP && (smaller == UDP_PORT || larger == UDP_PORT) {
        return Kind::Udp;
    }
    match (Kind::of_port(smaller), Kind::of_port(larger)) {
        (Some(kind), _) | (None, Some(kind)) => kind,
        (None, None) => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_side_may_be_the_server() {
        let known = [
            (20, Kind::Ftp),
            (21, Kind::Ftp),
            (22, Kind::Ssh),
            (23, Kind::Telnet),
            (25, Kind::Smtp),
            (80, Kind::Http),
            (119, Kind::Nntp),
            (443, Kind::Http),
            (5001, Kind::Ttcp),
            (5201, Kind::Ttcp),
            (6000, Kind::X11),
            (6063, Kind::X11),
            (8008, Kind::Measured),
            (8080, Kind::Flows),
            (12_865, Kind::Requests),
        ];
        for (port, expected) in known {
            assert_eq!([kind(6, 50_000, port), kind(6, port, 50_000), kind(17, port, 1)], [expected; 3]);
        }
        assert_eq!(
            [kind(17, 50_000, 5004), kind(17, 5004, 50_000), kind(6, 50_000, 5004)],
            [Kind::Udp, Kind::Udp, Kind::Other]
        );
        assert_eq!([kind(6, 50_000, 6064), kind(6, 24, 26), kind(1, 80, 80)], [Kind::Other; 3]);
    }

    #[test]
    fn the_smaller_of_two_known_ports_decides() {
        assert_eq!([kind(6, 6001, 22), kind(6, 22, 6001)], [Kind::Ssh; 2]);
        assert_eq!([kind(6, 5201, 6010), kind(6, 6010, 5201)], [Kind::Ttcp; 2]);
    }
}
