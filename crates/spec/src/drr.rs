//! Deficit round robin at the packet queues of routers and gateways.

use cellway_settings::section;
use cellway_units::Bytes;

use crate::{QueueParameters, UnlikeFifo};

section! {
    /// Deficit round robin: with `queue = "drr"` each flow has a queue of its own, and all may send the same bytes in a round.
    #[derive(Copy, Eq)]
    pub struct Drr, DrrKeys {
        /// The number of queues. A hash of its flow decides which queue a packet joins.
        #[range(min = 1, max = 65536)]
        pub flows: u32 = 1024,
        /// The bytes that a flow may send in a round. Default: the MTU of the link.
        #[range(min = "256 B", max = "1 MiB")]
        pub quantum: Option<Bytes>,
    }
}

impl QueueParameters for Drr {
    fn unlike_fifo(&self) -> Option<UnlikeFifo> {
        Some(UnlikeFifo { name: "deficit round robin", effect: "has a queue for each flow" })
    }
}
