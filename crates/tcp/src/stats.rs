//! What an endpoint counts.

/// Counts since the endpoint was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Segments sent, of every kind [segment].
    pub segments_sent: u64,
    /// Payload sent, with retransmissions [B].
    pub bytes_sent: u64,
    /// Payload acknowledged by the peer [B].
    pub bytes_acked: u64,
    /// Segments without payload, SYN, FIN or RST sent [segment].
    pub acks_sent: u64,
    /// Segments sent again, whole or in part [segment].
    pub retransmissions: u64,
    /// Payload in the segments sent again [B].
    pub bytes_retransmitted: u64,
    /// Times the retransmission timer fired [1].
    pub timeouts: u64,
    /// Times the duplicate acknowledgments told of a loss [1].
    pub fast_retransmits: u64,
    /// Probes of a closed window sent [segment].
    pub window_probes: u64,
    /// Segments received, of every kind [segment].
    pub segments_received: u64,
    /// Payload received in order [B].
    pub bytes_received: u64,
    /// Duplicate acknowledgments received while data was outstanding [segment].
    pub duplicate_acks_received: u64,
    /// Segments received that left a gap before them [segment].
    pub out_of_order_received: u64,
    /// Segments received whose payload brought nothing new [segment].
    pub duplicates_received: u64,
}
