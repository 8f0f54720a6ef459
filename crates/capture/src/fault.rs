//! The reasons for which a capture, or a part of it, is not read.

use std::io;
use std::path::PathBuf;

/// The place in a capture from which on nothing is read, and the reason. All records before it count.
#[derive(Debug, thiserror::Error)]
#[error("at octet {offset}: {cause}")]
pub struct Fault {
    /// Offset in the file, in octets; in a compressed file that of the uncompressed content.
    pub offset: u64,
    /// The reason.
    pub cause: Cause,
}

/// The reason for which reading ends before the end of a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The file has no octet.
    #[error("the file is empty; accepted: a capture in pcap or pcapng, plain or compressed by gzip or zstd")]
    Empty,
    /// The first octets are not those of a capture.
    #[error(
        "no capture begins with the octets {first:02x?}; accepted: pcap or pcapng, plain or compressed by gzip or zstd"
    )]
    NoCapture {
        /// The first four octets, or fewer.
        first: Vec<u8>,
    },
    /// The content is compressed where it should be a capture.
    #[error(
        "the capture is compressed twice, or comes compressed from a pipe, which is read as it is; accepted: pcap or \
         pcapng, plain or compressed once by gzip or zstd, from a pipe plain"
    )]
    Compressed,
    /// The version of a pcap file or of a pcapng section.
    #[error("{format} version {found} is not supported; accepted: {accepted}")]
    Version {
        /// The name of the format.
        format: &'static str,
        /// The version of the file, as major.minor.
        found: String,
        /// The versions that are read.
        accepted: &'static str,
    },
    /// A link type that is not read.
    #[error("link type {found} is not supported; accepted: {}", crate::link::ACCEPTED)]
    LinkType {
        /// The number of the link type.
        found: u32,
    },
    /// The file ends within a header or a record.
    #[error("the file ends within {what}: {found} of {needed} octets are there")]
    Truncated {
        /// The part that is not complete.
        what: &'static str,
        /// Its length, in octets.
        needed: usize,
        /// The octets up to the end of the file.
        found: usize,
    },
    /// A record that is too long for any packet: the length is wrong, or what is before it.
    #[error("{what} claims {found} octets, more than {limit}; the file is damaged here, or not a capture of packets")]
    TooLong {
        /// The part that has the length.
        what: &'static str,
        /// The length, in octets.
        found: u64,
        /// The limit, in octets.
        limit: u64,
    },
    /// A length of pcapng that contradicts the format.
    #[error("{what} has a length of {found} octets; accepted: {accepted}")]
    Length {
        /// The part that has the length.
        what: &'static str,
        /// The length, in octets.
        found: u64,
        /// The rule for it.
        accepted: &'static str,
    },
    /// The two lengths of a pcapng block differ.
    #[error("a pcapng block begins with a length of {front} octets and ends with {back}; both must be the same")]
    Lengths {
        /// The length at the start.
        front: u32,
        /// The length at the end.
        back: u32,
    },
    /// The byte-order magic of a pcapng section.
    #[error("a pcapng section has the byte-order magic {found:08x}; accepted: 1a2b3c4d in either order")]
    ByteOrder {
        /// The magic, read as big endian.
        found: u32,
    },
    /// A packet of an interface without a description.
    #[error("a packet is from interface {found}, but the section describes {known} before it")]
    Interface {
        /// The number of the interface.
        found: u32,
        /// The number of interfaces that are described.
        known: usize,
    },
    /// More interfaces than any capture has.
    #[error("a pcapng section describes more than {limit} interfaces")]
    Interfaces {
        /// The limit.
        limit: usize,
    },
    /// The system, or the decompression, reports an error.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The reasons for which nothing is derived from captures.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be opened.
    #[error("cannot read {}: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file is no capture.
    #[error("{}: {fault}", path.display())]
    NoCapture {
        /// The file.
        path: PathBuf,
        /// The reason.
        fault: Fault,
    },
    /// A file of rules is wrong.
    #[error("{0}")]
    Rules(String),
    /// Two captures have the same connection at the same time.
    #[error(
        "{}: a connection of it is in an earlier file at the same time, so these are captures of two places; accepted: \
         the files of one place, in the order of time",
        path.display()
    )]
    TwoPlaces {
        /// The later file.
        path: PathBuf,
    },
    /// The caller requested to stop.
    #[error("stopped")]
    Stopped,
}
