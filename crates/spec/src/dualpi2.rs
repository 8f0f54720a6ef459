//! Two coupled queues (DualPI2) at the packet queues of routers and gateways.

use cellway_settings::{choice, section};
use cellway_units::{Probability, Span};

use crate::{QueueParameters, UnlikeFifo};

choice! {
    /// The marks of the low-latency queue by the wait in it, beside those by the coupling.
    pub enum LowLatencyMarks {
        /// All packets that wait longer than `threshold`.
        Step = "step",
        /// A share of them that grows from 0 at `threshold` to 1 at twice that.
        Ramp = "ramp",
    }
}

choice! {
    /// The treatment of packets of the low-latency queue while marks are not enough.
    pub enum Overload {
        /// They are dropped with the probability of the classic queue.
        Drop = "drop",
        /// They are marked and not dropped; the probability of the classic queue ends where they all are.
        Mark = "mark",
    }
}

section! {
    /// Two coupled queues (RFC 9332): with `queue = "dualpi2"` packets with ECT(1) or CE have a queue with little delay, all
    /// others the classic queue. One controller sets the probabilities of both.
    #[derive(Copy, Eq)]
    pub struct DualPi2, DualPi2Keys {
        /// The wait to which the classic queue is controlled.
        #[range(above = "0 s", max = "1 h")]
        pub target: Span = Span::from_ms(15),
        /// The longest round trip for which the control is stable. It sets the gains and, with `target`, the interval of updates.
        #[range(above = "0 s", max = "1 h")]
        pub rtt_max: Span = Span::from_ms(100),
        /// The coupling k: the low-latency queue is marked with k times the base probability, the classic queue with its square.
        #[range(min = 1, max = 100)]
        pub coupling: u32 = 2,
        /// The marks of the low-latency queue by the wait in it.
        pub marks: LowLatencyMarks = LowLatencyMarks::Step,
        /// The wait in the low-latency queue above which these marks begin.
        #[range(above = "0 s", max = "1 h")]
        pub threshold: Span = Span::from_ms(1),
        /// The share of the line that the classic queue has at least, while it is not empty.
        #[range(above = "0 %")]
        pub classic_share: Probability = Probability::from_ppm(100_000),
        /// The treatment of packets of the low-latency queue while marks are not enough.
        pub overload: Overload = Overload::Drop,
    }
}

impl QueueParameters for DualPi2 {
    /// It always marks: the low-latency queue is of packets with ECN.
    fn marks(&self) -> bool {
        true
    }

    fn unlike_fifo(&self) -> Option<UnlikeFifo> {
        let effect = "has two queues and drops packets by chance";
        Some(UnlikeFifo { name: "DualPI2", effect })
    }
}
