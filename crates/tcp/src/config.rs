//! The configuration of an endpoint.

pub use cellway_spec::{
    AckDelay, CongestionControl, EcnMode, FastRetransmit, LossRecovery, MAX_WINDOW, Problem, TcpKeys, TcpProfile,
    TcpSpec, Variant,
};

/// The octets that the timestamps option takes of each segment, padding included. RFC 7323 section 3.2.
pub(crate) const TIMESTAMPS: u32 = cellway_spec::TIMESTAMPS_OPTION as u32;

/// The configuration of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The settings that files declare.
    pub tcp: TcpSpec,
    /// The application takes every byte the moment it arrives. Otherwise bytes fill the receive buffer until
    /// [`consume`](crate::Endpoint::consume) is called.
    pub immediate_read: bool,
    /// Measures the [delivery rate](crate::Endpoint::delivery_rate), which takes a record for each segment in flight.
    /// [`LossRecovery::Rack`] keeps these records anyway.
    pub delivery_rate: bool,
    /// The version of IP below, whose header a paced segment has.
    pub family: cellway_spec::Family,
}

impl From<TcpSpec> for Config {
    /// An application that reads at once, no measurement of the delivery rate, and IPv4.
    fn from(tcp: TcpSpec) -> Config {
        Config { tcp, immediate_read: true, delivery_rate: false, family: cellway_spec::Family::Ipv4 }
    }
}

impl Default for Config {
    fn default() -> Config {
        TcpSpec::default().into()
    }
}

impl Config {
    /// True if the sender keeps a record of each segment in flight.
    pub(crate) fn keeps_records(&self) -> bool {
        self.delivery_rate || self.tcp.recovery() == LossRecovery::Rack
    }
    /// Checks the settings.
    ///
    /// # Errors
    /// They break a rule; an endpoint cannot work like this.
    pub fn validate(&self) -> Result<(), Problem> {
        self.tcp.validate()
    }
}
