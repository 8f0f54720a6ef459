//! The names of well-known services, by protocol and port of the responder.

use crate::conversations::Protocol;

/// Services over TCP (IANA, Service Name and Transport Protocol Port Number Registry; and ports that programs use).
const TCP: [(u16, &str); 33] = [
    (20, "ftp-data"),
    (21, "ftp"),
    (22, "ssh"),
    (23, "telnet"),
    (25, "smtp"),
    (53, "dns-tcp"),
    (80, "http"),
    (110, "pop3"),
    (119, "nntp"),
    (139, "netbios"),
    (143, "imap"),
    (179, "bgp"),
    (389, "ldap"),
    (443, "https"),
    (445, "smb"),
    (587, "submission"),
    (853, "dns-tls"),
    (993, "imaps"),
    (995, "pop3s"),
    (1883, "mqtt"),
    (1935, "rtmp"),
    (2049, "nfs"),
    (3306, "mysql"),
    (3389, "rdp"),
    (5001, "bulk"),
    (5060, "sip-tcp"),
    (5201, "iperf3"),
    (5432, "postgresql"),
    (5900, "vnc"),
    (6000, "x11"),
    (6379, "redis"),
    (8080, "http-alt"),
    (12865, "netperf"),
];

/// Services over UDP.
const UDP: [(u16, &str); 14] = [
    (53, "dns"),
    (67, "dhcp"),
    (123, "ntp"),
    (137, "netbios-ns"),
    (161, "snmp"),
    (443, "quic"),
    (500, "isakmp"),
    (514, "syslog"),
    (1900, "ssdp"),
    (3478, "stun"),
    (4500, "ipsec"),
    (5060, "sip"),
    (5201, "iperf3-udp"),
    (5353, "mdns"),
];

/// Returns the name of the service at a port.
pub(crate) fn service(protocol: Protocol, port: u16) -> Option<&'static str> {
    let table = match protocol {
        Protocol::Tcp => &TCP[..],
        Protocol::Udp => &UDP[..],
    };
    table.iter().find(|(known, _)| *known == port).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_name_is_one_class() {
        let names: BTreeSet<&str> = TCP.iter().chain(&UDP).map(|(_, name)| *name).collect();
        assert_eq!(names.len(), TCP.len() + UDP.len());
        assert_eq!((service(Protocol::Tcp, 443), service(Protocol::Udp, 443)), (Some("https"), Some("quic")));
    }
}
