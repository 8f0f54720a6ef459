//! The version of IP, and the headers that follow from it.

use cellway_settings::choice;

/// Octets of a TCP header without options. RFC 9293 section 3.1.
const TCP_HEADER: u64 = 20;
/// Octets of a UDP header. RFC 768.
const UDP_HEADER: u64 = 8;

choice! {
    /// The version of IP of the packets of a group.
    pub enum Family {
        /// IPv4: a header of 20 bytes.
        Ipv4 = "ipv4",
        /// IPv6: a header of 40 bytes. The links of the path must take packets of 1280 B.
        Ipv6 = "ipv6",
    }
}

impl Family {
    /// Returns the octets of an IP header without options or extensions. RFC 791 section 3.1, RFC 8200 section 3.
    pub const fn ip_header(self) -> u64 {
        match self {
            Family::Ipv4 => 20,
            Family::Ipv6 => 40,
        }
    }

    /// Returns the octets of the IP and TCP headers without options.
    pub const fn tcp_headers(self) -> u64 {
        self.ip_header() + TCP_HEADER
    }

    /// Returns the octets of the IP and UDP headers.
    pub const fn udp_headers(self) -> u64 {
        self.ip_header() + UDP_HEADER
    }

    /// Returns the least MTU that every link must have: RFC 791 section 3.2, RFC 8200 section 5.
    pub const fn least_mtu(self) -> u64 {
        match self {
            Family::Ipv4 => 68,
            Family::Ipv6 => 1280,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_the_rfcs() {
        let headers = |family: Family| [family.ip_header(), family.tcp_headers(), family.udp_headers()];
        assert_eq!([Family::Ipv4, Family::Ipv6].map(headers), [[20, 40, 28], [40, 60, 48]]);
    }
}
