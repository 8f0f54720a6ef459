//! Proportional integral control (PIE) at the packet queues of routers and gateways.

use cellway_settings::section;
use cellway_units::{Probability, Span};

use crate::{QueueParameters, UnlikeFifo};

section! {
    /// Proportional integral control (RFC 8033): a queue with `queue = "pie"` drops or marks packets that arrive, with a
    /// probability that follows the wait and its change.
    #[derive(Copy, Eq)]
    pub struct Pie, PieKeys {
        /// The wait to which the probability is controlled.
        #[range(above = "0 s", max = "1 h")]
        pub target: Span = Span::from_ms(15),
        /// The interval of changes of the probability.
        #[range(min = "1 us", max = "1 h")]
        pub update: Span = Span::from_ms(15),
        /// The time after an idle or short queue for which no packet is dropped.
        #[range(min = "0 s", max = "1 h")]
        pub burst: Span = Span::from_ms(150),
        /// True: packets of flows with ECN are marked instead of dropped while the probability is below `mark-below`.
        pub ecn: bool = false,
        /// The probability from which packets of flows with ECN are dropped, too.
        pub mark_below: Probability = Probability::from_ppm(100_000),
    }
}

impl QueueParameters for Pie {
    fn marks(&self) -> bool {
        self.ecn
    }

    fn unlike_fifo(&self) -> Option<UnlikeFifo> {
        let effect = "drops packets by chance, before the buffer is full";
        Some(UnlikeFifo { name: "proportional integral control (PIE)", effect })
    }
}
