//! The counters of an endpoint.

/// Counts since the endpoint was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Segments sent, of every kind (segments).
    pub segments_sent: u64,
    /// Payload sent, with retransmissions (bytes).
    pub bytes_sent: u64,
    /// Payload acknowledged by the peer (bytes).
    pub bytes_acked: u64,
    /// Segments without payload, SYN, FIN or RST sent (segments).
    pub acks_sent: u64,
    /// Segments sent again, whole or in part (segments).
    pub retransmissions: u64,
    /// Payload in the segments sent again (bytes).
    pub bytes_retransmitted: u64,
    /// Times the retransmission timer fired (count).
    pub timeouts: u64,
    /// Losses reported by duplicate acknowledgements (count).
    pub fast_retransmits: u64,
    /// Loss episodes in which nothing was lost, whose reduction of the window was undone (count).
    pub undone: u64,
    /// Reports of the peer that it received data twice (D-SACK, RFC 2883) (segments).
    pub dsacks_received: u64,
    /// Loss probes sent (TLP, RFC 8985) (segments).
    pub loss_probes: u64,
    /// Probes of a closed window sent (segments).
    pub window_probes: u64,
    /// Segments received, of every kind (segments).
    pub segments_received: u64,
    /// Payload received in order (bytes).
    pub bytes_received: u64,
    /// Duplicate acknowledgements received while data was outstanding (segments).
    pub duplicate_acks_received: u64,
    /// Segments received that left a gap before them (segments).
    pub out_of_order_received: u64,
    /// Segments received without new payload (segments).
    pub duplicates_received: u64,
    /// Data segments received with a mark (CE, RFC 3168) (segments).
    pub marks_received: u64,
    /// Reductions of the window for marks that the peer has echoed (count).
    pub mark_reductions: u64,
    /// Segments dropped for an old timestamp, or for none (PAWS, RFC 7323) (segments).
    pub timestamp_drops: u64,
}

/// The counters as an endpoint keeps them: those of events that most connections never have are apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) segments_sent: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_acked: u64,
    pub(crate) acks_sent: u64,
    pub(crate) segments_received: u64,
    pub(crate) bytes_received: u64,
    rare: Option<Box<Stats>>,
}

impl Counts {
    /// Returns the counts of all other events, to be counted further.
    #[inline]
    pub(crate) fn rare(&mut self) -> &mut Stats {
        self.rare.get_or_insert_default()
    }

    /// Returns the counts of all other events; `None` before the first of them.
    #[inline]
    pub(crate) fn rare_if_any(&self) -> Option<&Stats> {
        self.rare.as_deref()
    }

    /// Returns all counts.
    pub(crate) fn stats(&self) -> Stats {
        let &Counts { segments_sent, bytes_sent, bytes_acked, acks_sent, segments_received, bytes_received, .. } = self;
        let rare = self.rare_if_any().copied().unwrap_or_default();
        Stats { segments_sent, bytes_sent, bytes_acked, acks_sent, segments_received, bytes_received, ..rare }
    }
}
