//! The reasons for which packets and conversations do not count, and how many there are of each.

use std::fmt;

/// The reason for which a packet belongs to no conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PacketReason {
    /// Neither IPv4 nor IPv6.
    NotIp,
    /// IP, but neither TCP nor UDP.
    OtherProtocol,
    /// A fragment of an IP packet other than the first: it has no ports.
    LaterFragment,
    /// The capture has fewer octets of the packet than its headers.
    Cut,
    /// The headers contradict themselves.
    Malformed,
    /// The link type of its interface is not read.
    LinkType,
    /// The format has no time for it.
    NoTime,
    /// ERF: it left the node that captured, and is there as one that arrived, too.
    SentCopy,
    /// TCP: outside any window of its connection.
    OutsideWindow,
    /// TCP: a reset without a connection.
    StrayReset,
}

impl PacketReason {
    /// Every reason, in the order of reports.
    pub const ALL: [PacketReason; 10] = [
        PacketReason::NotIp,
        PacketReason::OtherProtocol,
        PacketReason::LaterFragment,
        PacketReason::Cut,
        PacketReason::Malformed,
        PacketReason::LinkType,
        PacketReason::NoTime,
        PacketReason::SentCopy,
        PacketReason::OutsideWindow,
        PacketReason::StrayReset,
    ];

    /// Returns the reason in words.
    pub fn words(self) -> &'static str {
        match self {
            PacketReason::NotIp => "not IP",
            PacketReason::OtherProtocol => "neither TCP nor UDP",
            PacketReason::LaterFragment => "later fragments",
            PacketReason::Cut => "headers not captured",
            PacketReason::Malformed => "malformed headers",
            PacketReason::LinkType => "unsupported link type",
            PacketReason::NoTime => "without a time",
            PacketReason::SentCopy => "copies that left the node",
            PacketReason::OutsideWindow => "outside the window of their connection",
            PacketReason::StrayReset => "resets without a connection",
        }
    }
}

impl fmt::Display for PacketReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// The reason for which a conversation does not count in the distributions of its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ConversationReason {
    /// Its SYN is not in the capture.
    CutAtStart,
    /// The capture ends before it. Its complete exchanges count, or its datagrams.
    CutAtEnd,
    /// Its SYN was not answered, or refused.
    NotEstablished,
    /// No octets were sent.
    NoData,
    /// Both sides sent data at the same time.
    Concurrent,
    /// It was removed from the full table of open conversations.
    Evicted,
}

impl ConversationReason {
    /// Every reason, in the order of reports.
    pub const ALL: [ConversationReason; 6] = [
        ConversationReason::CutAtStart,
        ConversationReason::CutAtEnd,
        ConversationReason::NotEstablished,
        ConversationReason::NoData,
        ConversationReason::Concurrent,
        ConversationReason::Evicted,
    ];

    /// Returns the reason in words, which are a key in workload files.
    pub fn words(self) -> &'static str {
        match self {
            ConversationReason::CutAtStart => "cut off at the start",
            ConversationReason::CutAtEnd => "cut off at the end",
            ConversationReason::NotEstablished => "not established",
            ConversationReason::NoData => "no data",
            ConversationReason::Concurrent => "concurrent",
            ConversationReason::Evicted => "evicted",
        }
    }
}

impl fmt::Display for ConversationReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// Counts of each reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts<R, const N: usize> {
    reasons: [R; N],
    counts: [u64; N],
}

/// Counts of packets.
pub type PacketCounts = Counts<PacketReason, 10>;
/// Counts of conversations.
pub type ConversationCounts = Counts<ConversationReason, 6>;

impl<R: Copy + PartialEq, const N: usize> Counts<R, N> {
    fn new(reasons: [R; N]) -> Counts<R, N> {
        Counts { reasons, counts: [0; N] }
    }

    /// Counts one more.
    pub fn add(&mut self, reason: R) {
        for (known, count) in self.reasons.iter().zip(&mut self.counts) {
            *count += u64::from(*known == reason);
        }
    }

    /// Returns the count of a reason.
    pub fn of(&self, reason: R) -> u64 {
        self.present().find(|(known, _)| *known == reason).map_or(0, |(_, count)| count)
    }

    /// Returns the reasons with their counts, without those of which there are none.
    pub fn present(&self) -> impl Iterator<Item = (R, u64)> + '_ {
        self.reasons.iter().copied().zip(self.counts).filter(|(_, count)| *count > 0)
    }

    /// Returns the sum of all.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

impl Default for PacketCounts {
    fn default() -> PacketCounts {
        Counts::new(PacketReason::ALL)
    }
}

impl Default for ConversationCounts {
    fn default() -> ConversationCounts {
        Counts::new(ConversationReason::ALL)
    }
}
