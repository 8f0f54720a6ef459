//! Times without a connection.

use cellway_settings::{choice, section};
use cellway_units::Span;

choice! {
    /// The fate of packets during an outage.
    pub enum OutagePackets {
        /// They wait: the line sends nothing, and a packet on it is sent in parts, before and after.
        Wait = "wait",
        /// They are lost: the line goes on sending.
        Lost = "lost",
    }
}

choice! {
    /// The fate of packets that wait before the line when an outage begins.
    pub enum OutageBuffer {
        /// They stay in the queue.
        Kept = "kept",
        /// They are dropped, as at a handover to a base station without the data. A packet on the line is not.
        Flushed = "flushed",
    }
}

section! {
    /// Times without a connection, once or at regular intervals: of a satellite that hands over, or of a radio link.
    #[derive(Copy, Eq)]
    pub struct Outage, OutageKeys {
        /// The length of each. Default: there is none.
        #[range(max = "24 h")]
        pub length: Span = Span::ZERO,
        /// The start of the first, from the start of the run.
        #[range(max = "2400 h")]
        pub first: Span = Span::ZERO,
        /// The time between the starts of two, longer than `length`. Default: there is one only.
        #[range(above = "0 s", max = "2400 h")]
        pub every: Option<Span>,
        /// The fate of packets.
        pub packets: OutagePackets = OutagePackets::Wait,
        /// The fate of packets that wait before the line when the outage begins; `flushed` on links of packets only.
        pub buffer: OutageBuffer = OutageBuffer::Kept,
    }
}
