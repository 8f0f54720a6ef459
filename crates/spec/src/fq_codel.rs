//! Fair queues with controlled delay (FQ-CoDel) at the packet queues of routers and gateways.

use cellway_settings::section;
use cellway_units::{Bytes, Span};

use crate::codel::above_interval;
use crate::{Problem, QueueParameters, UnlikeFifo};

section! {
    /// Fair queues with controlled delay (RFC 8290): with `queue = "fq-codel"` each flow has a queue of its own, whose
    /// delay is controlled as by `codel`. Flows with few packets are sent first.
    #[derive(Copy, Eq)]
    pub struct FqCodel, FqCodelKeys {
        /// The number of queues. A hash of its flow decides which queue a packet joins.
        #[range(min = 1, max = 65536)]
        pub flows: u32 = 1024,
        /// The bytes that a flow may send in a round. Default: the MTU of the link.
        #[range(min = "256 B", max = "1 MiB")]
        pub quantum: Option<Bytes>,
        /// The time that packets may wait for good.
        #[range(above = "0 s", max = "1 h")]
        pub target: Span = Span::from_ms(5),
        /// The time for which packets may wait longer: a round trip of the slowest flows. Not below `target`.
        #[range(above = "0 s", max = "1 h")]
        pub interval: Span = Span::from_ms(100),
        /// True: packets of flows with ECN are marked instead of dropped.
        pub ecn: bool = true,
    }
}

impl QueueParameters for FqCodel {
    fn rule(&self) -> Option<Problem> {
        above_interval(self.target, self.interval)
    }

    fn marks(&self) -> bool {
        self.ecn
    }

    fn unlike_fifo(&self) -> Option<UnlikeFifo> {
        let effect = "has a queue for each flow and drops packets that wait too long";
        Some(UnlikeFifo { name: "FQ-CoDel", effect })
    }
}
