//! Errors of packets from hosts.

/// The error for octets from a host that are no packet. The caller drops and counts them under [`Malformed::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// A header ends after the last octet.
    #[error("the {header} ends at octet {needed}, but only {found} octets came")]
    Truncated {
        /// The header.
        header: &'static str,
        /// Its end, counted from the start of the packet.
        needed: usize,
        /// The number of octets.
        found: usize,
    },
    /// Neither IPv4 nor IPv6.
    #[error("the IP version is {found}; 4 and 6 are known")]
    Version {
        /// The version field.
        found: u8,
    },
    /// An IPv4 header shorter than its fixed part. RFC 791, section 3.1.
    #[error("the IPv4 header claims {octets} octets; it has at least 20")]
    HeaderLength {
        /// The length field of the header, in octets.
        octets: usize,
    },
    /// The IPv4 header was damaged. RFC 1812, section 5.2.2.
    #[error("the checksum of the IPv4 header is {found:#06x}; the header gives {computed:#06x}")]
    HeaderChecksum {
        /// The checksum in the header.
        found: u16,
        /// The correct checksum.
        computed: u16,
    },
    /// The length field of the packet exceeds its octets, or is less than its header.
    #[error("the packet claims {claimed} octets; its header has {header}, and {found} came")]
    TotalLength {
        /// The length field of the packet.
        claimed: usize,
        /// Octets of its header.
        header: usize,
        /// The number of octets.
        found: usize,
    },
    /// A fragment ends beyond the largest IP packet. RFC 791, section 3.2; RFC 8200, section 4.5.
    #[error("the fragment ends at octet {end} of its packet, which has at most 65535")]
    FragmentEnd {
        /// Its end in the payload of the whole.
        end: u32,
    },
    /// A kind of offload that was not enabled.
    #[error("the segmentation offload is of type {found:#04x}; 0 (none), 1 (TCPv4), 4 (TCPv6) and 5 (UDP) are known")]
    GsoType {
        /// The type, without the ECN bit.
        found: u8,
    },
    /// The packet does not match its offload header.
    #[error("the offload header says {expected}, but the packet is another one (IP protocol {protocol})")]
    GsoPacket {
        /// The kind in the offload header.
        expected: &'static str,
        /// The protocol in the packet.
        protocol: u8,
    },
    /// The segment size of a coalesced segment is 0.
    #[error("the segment size of the offload is 0; it is at least 1 octet")]
    GsoSize,
    /// The headers of a coalesced segment end beyond the packet, or the TCP header is shorter than its fixed part.
    #[error("the headers of the coalesced segment end at octet {end}, but the packet has {found}")]
    GsoHeader {
        /// Their end according to the packet or the offload header.
        end: usize,
        /// Octets of the packet.
        found: usize,
    },
    /// The checksum to be completed is not within the packet's payload.
    #[error(
        "a checksum from octet {start} on, to stand at {start} + {offset}, is not within octets {header} to {found}"
    )]
    ChecksumPlace {
        /// The first octet of the sum.
        start: usize,
        /// Octets from there to the checksum.
        offset: usize,
        /// Octets of the IP headers.
        header: usize,
        /// Octets of the packet.
        found: usize,
    },
}

impl Malformed {
    /// Returns the name of the error, for counting.
    pub const fn name(self) -> &'static str {
        match self {
            Malformed::Truncated { .. } => "truncated",
            Malformed::Version { .. } => "version",
            Malformed::HeaderLength { .. } => "header-length",
            Malformed::HeaderChecksum { .. } => "header-checksum",
            Malformed::TotalLength { .. } => "total-length",
            Malformed::FragmentEnd { .. } => "fragment-end",
            Malformed::GsoType { .. } => "gso-type",
            Malformed::GsoPacket { .. } => "gso-packet",
            Malformed::GsoSize => "gso-size",
            Malformed::GsoHeader { .. } => "gso-header",
            Malformed::ChecksumPlace { .. } => "checksum-place",
        }
    }
}
