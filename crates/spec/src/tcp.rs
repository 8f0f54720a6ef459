//! Choices of TCP.

use cellway_settings::choice;

choice! {
    /// How a TCP sender recovers from loss.
    #[derive(Default)]
    pub enum Variant {
        /// Fast retransmit, then slow start from one segment. Jacobson 1988.
        #[default]
        Tahoe = "tahoe",
        /// Fast recovery. RFC 5681.
        Reno = "reno",
        /// Fast recovery that repairs several losses. RFC 6582.
        NewReno = "newreno",
        /// Recovery from selective acknowledgements. RFC 6675.
        Sack = "sack",
        /// The recovery of sack, and a window that grows as a cubic of the time since the last loss. RFC 9438.
        Cubic = "cubic",
    }
}

impl Variant {
    /// Returns true if it offers selective acknowledgements (RFC 2018) to the peer and uses them.
    pub const fn wants_sack(self) -> bool {
        matches!(self, Variant::Sack | Variant::Cubic)
    }
}

choice! {
    /// The data that Tahoe resends when duplicate acknowledgements mean a loss.
    #[derive(Default)]
    pub enum FastRetransmit {
        /// Everything from the first unacknowledged byte on, as the window grows again, as in ns-2.
        #[default]
        GoBackN = "go-back-n",
        /// The first unacknowledged segment, as 4.3BSD-Tahoe does (`tcp_input` restores `snd_nxt` after it).
        OneSegment = "one-segment",
    }
}
