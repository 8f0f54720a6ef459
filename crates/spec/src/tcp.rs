//! TCP: its choices, its settings, the rules between them, and the profiles of systems.

mod profiles;
mod rules;
mod settings;

use cellway_settings::choice;

pub use profiles::ProfileKeys;
pub use rules::{MAX_PACKET, MAX_WINDOW, TCP_HEADERS, TIMESTAMPS_OPTION};
pub use settings::{AckDelay, TcpKeys, TcpProfile, TcpSpec};

choice! {
    /// The name of a pair of loss recovery and congestion control.
    pub enum Variant {
        /// Fast retransmit, then slow start from one segment. Jacobson 1988.
        Tahoe = "tahoe",
        /// Fast recovery. RFC 5681.
        Reno = "reno",
        /// Fast recovery that repairs several losses. RFC 6582.
        NewReno = "newreno",
        /// Recovery from selective acknowledgements. RFC 6675.
        Sack = "sack",
        /// The recovery of sack, and a window that grows as a cubic of the time since the last loss. RFC 9438.
        Cubic = "cubic",
        /// The recovery of rack, and a model of the path that sets the window and the pacing rate: version 3.
        /// draft-ietf-ccwg-bbr.
        Bbr = "bbr",
        /// The recovery of rack, and a window that is reduced by the share of marked data: for data centres. RFC 8257.
        Dctcp = "dctcp",
        /// The recovery of rack, and a window for queues that mark early and often (L4S), with ECT(1) in its packets. It needs
        /// `ecn = "accurate"`. draft-briscoe-iccrg-prague-congestion-control.
        Prague = "prague",
    }
}

impl Variant {
    /// The loss recovery of the pair.
    pub const fn recovery(self) -> LossRecovery {
        match self {
            Variant::Tahoe => LossRecovery::Tahoe,
            Variant::Reno => LossRecovery::Reno,
            Variant::NewReno => LossRecovery::NewReno,
            Variant::Sack | Variant::Cubic => LossRecovery::Sack,
            Variant::Bbr | Variant::Dctcp | Variant::Prague => LossRecovery::Rack,
        }
    }
    /// The congestion control of the pair.
    pub const fn control(self) -> CongestionControl {
        match self {
            Variant::Tahoe => CongestionControl::Tahoe,
            Variant::Reno | Variant::NewReno | Variant::Sack => CongestionControl::Reno,
            Variant::Cubic => CongestionControl::Cubic,
            Variant::Bbr => CongestionControl::Bbr,
            Variant::Dctcp => CongestionControl::Dctcp,
            Variant::Prague => CongestionControl::Prague,
        }
    }
}

choice! {
    /// The loss recovery of TCP.
    pub enum LossRecovery {
        /// Fast retransmit without fast recovery. Jacobson 1988.
        Tahoe = "tahoe",
        /// Fast recovery until the next acknowledgement of new data. RFC 5681.
        Reno = "reno",
        /// Fast recovery until all that was outstanding is acknowledged. RFC 6582.
        NewReno = "newreno",
        /// Recovery from selective acknowledgements; without those of the peer, as newreno. RFC 6675.
        Sack = "sack",
        /// RACK-TLP (RFC 8985) with PRR (RFC 9937): losses by time, probes for lost tails. Without SACK, as newreno.
        Rack = "rack",
    }
}

impl LossRecovery {
    /// Returns true if it offers selective acknowledgements (RFC 2018) to the peer and uses them.
    pub const fn uses_sack(self) -> bool {
        match self {
            LossRecovery::Sack | LossRecovery::Rack => true,
            LossRecovery::Tahoe | LossRecovery::Reno | LossRecovery::NewReno => false,
        }
    }
}

choice! {
    /// The control of the congestion window and of the pacing rate.
    pub enum CongestionControl {
        /// A loss leaves one segment. Jacobson 1988.
        Tahoe = "tahoe",
        /// Slow start and congestion avoidance. RFC 5681.
        Reno = "reno",
        /// A window that grows as a cubic of the time since the last loss. RFC 9438.
        Cubic = "cubic",
        /// A model of the path sets the window and the pacing rate: version 3. Only with the recovery of rack.
        /// draft-ietf-ccwg-bbr.
        Bbr = "bbr",
        /// A window that is reduced by the share of marked data: for data centres. It needs `ecn`. RFC 8257.
        Dctcp = "dctcp",
        /// A window for queues that mark early and often (L4S), with ECT(1) in its packets and pacing. It needs
        /// `ecn = "accurate"`. draft-briscoe-iccrg-prague-congestion-control.
        Prague = "prague",
    }
}

impl CongestionControl {
    /// Returns true if it sets the window and the pacing rate from a model of the path, at all times.
    pub const fn models_path(self) -> bool {
        match self {
            CongestionControl::Bbr => true,
            CongestionControl::Tahoe
            | CongestionControl::Reno
            | CongestionControl::Cubic
            | CongestionControl::Dctcp
            | CongestionControl::Prague => false,
        }
    }
    /// Returns true if it reduces the window by the share of marked data.
    pub const fn counts_marks(self) -> bool {
        matches!(self, CongestionControl::Dctcp | CongestionControl::Prague)
    }
}

choice! {
    /// The data that Tahoe resends when duplicate acknowledgements mean a loss.
    pub enum FastRetransmit {
        /// Everything from the first unacknowledged byte on, as the window grows again, as in ns-2.
        GoBackN = "go-back-n",
        /// The first unacknowledged segment, as 4.3BSD-Tahoe does (`tcp_input` restores `snd_nxt` after it).
        OneSegment = "one-segment",
    }
}
