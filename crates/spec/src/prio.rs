//! Strict priorities at the packet queues of routers and gateways.

use cellway_settings::section;

use crate::{QueueParameters, UnlikeFifo};

section! {
    /// Strict priorities: with `queue = "prio"` a packet is sent only if no packet of a higher band waits. The DSCP of a packet
    /// decides its band: CS5 and all above it (EF, CS6, CS7) the first, LE and CS1 the last, all others the one between.
    #[derive(Copy, Eq)]
    pub struct Prio, PrioKeys {
        /// True: a packet that does not fit takes the place of the newest packets of lower bands.
        pub push_out: bool = true,
    }
}

impl QueueParameters for Prio {
    fn unlike_fifo(&self) -> Option<UnlikeFifo> {
        Some(UnlikeFifo { name: "strict priority", effect: "sends packets by their DSCP" })
    }
}
