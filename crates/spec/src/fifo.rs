//! First in, first out at the packet queues of routers and gateways.

use cellway_settings::{choice, section};

use crate::{QueueParameters, UnlikeFifo};

choice! {
    /// The packets that a full queue drops.
    pub enum DropFrom {
        /// The packet that arrives.
        Tail = "tail",
        /// Those that have waited longest, until the packet that arrives fits.
        Head = "head",
    }
}

section! {
    /// First in, first out: a queue with `queue = "fifo"`.
    #[derive(Copy, Eq)]
    pub struct Fifo, FifoKeys {
        /// The packets that a full queue drops.
        pub drop: DropFrom = DropFrom::Tail,
    }
}

impl Fifo {
    /// The queue that drops packets that arrive and do not fit.
    pub const TAIL: Fifo = Fifo { drop: DropFrom::Tail };
}

impl QueueParameters for Fifo {
    fn unlike_fifo(&self) -> Option<UnlikeFifo> {
        let effect = "drops the packets that have waited longest";
        (self.drop == DropFrom::Head).then_some(UnlikeFifo { name: "a drop from the head", effect })
    }
}
