//! Adaptive random early detection at the packet queues of routers and gateways.

use cellway_settings::section;
use cellway_units::{Bytes, Span};

use crate::{QueueParameters, UnlikeFifo};

section! {
    /// Adaptive random early detection: a queue with `queue = "ared"` is one with `red` whose parameters follow from the rate
    /// of the link and a target for the wait, and whose `max-p` is adapted.
    #[derive(Copy, Eq)]
    pub struct Ared, AredKeys {
        /// The mean wait to which the average queue is adapted.
        #[range(above = "0 s", max = "1 h")]
        pub target: Span = Span::from_ms(5),
        /// The interval of changes of `max-p`.
        #[range(min = "1 us", max = "1 h")]
        pub interval: Span = Span::from_ms(500),
        /// True: packets of flows with ECN are marked instead of dropped.
        pub ecn: bool = false,
        /// The packet size by which the rate of the link becomes one of packets.
        #[range(min = "1 B", max = "65535 B")]
        pub mean_packet: Bytes = Bytes(500),
    }
}

impl QueueParameters for Ared {
    fn marks(&self) -> bool {
        self.ecn
    }

    fn unlike_fifo(&self) -> Option<UnlikeFifo> {
        let effect = "drops packets by chance, before the buffer is full";
        Some(UnlikeFifo { name: "adaptive random early detection", effect })
    }
}
