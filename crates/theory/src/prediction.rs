//! What is known of one path, and which bound is the least.

use cellway_units::Bytes;

/// What can hold a connection back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The slowest line, as it is.
    Line,
    /// The same line less headers, framing and cells.
    Framing,
    /// The window, or the send buffer if that is smaller.
    Window,
    /// A shaper or the paced rate of a channel.
    Shaping,
    /// What a host or gateway takes for each packet.
    Host,
    /// What a gateway may send to its peer in all.
    Gateway,
    /// Losses.
    Loss,
    /// The burst that the buffer before a step down in rate takes.
    Burst,
}

impl Limit {
    /// The name as text.
    pub const fn name(self) -> &'static str {
        match self {
            Limit::Line => "line",
            Limit::Framing => "framing",
            Limit::Window => "window",
            Limit::Shaping => "shaping",
            Limit::Host => "host",
            Limit::Gateway => "gateway",
            Limit::Loss => "loss",
            Limit::Burst => "burst",
        }
    }
}

/// One bound of the goodput of all connections together.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// What sets it.
    pub limit: Limit,
    /// Where: a link, shaper or node; empty for the path as a whole.
    pub at: String,
    /// TCP payload (for [`Limit::Line`], everything) in bit/s.
    pub value: f64,
    /// The id of the equation; [`equation`](crate::equation) tells the rest.
    pub equation: &'static str,
    /// Where the equation comes from.
    pub source: &'static str,
    /// Each reason why the value may not hold.
    pub caveats: Vec<String>,
}

impl Bound {
    /// A bound by the equation called `id`.
    pub(crate) fn new(limit: Limit, at: &str, value: f64, id: &str) -> Bound {
        let equation = crate::equation(id).expect("an equation of this crate");
        Bound { limit, at: at.to_owned(), value, equation: equation.id, source: equation.source, caveats: Vec::new() }
    }
}

/// An amount of buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Amount {
    /// How much.
    pub value: f64,
    /// "cell", or "B" of IP packets.
    pub unit: &'static str,
}

/// What is known of one path.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// All bounds, in a fixed order of limits.
    pub bounds: Vec<Bound>,
    /// The place of the least in `bounds`.
    pub binding: usize,
    /// The least bound: TCP payload of all connections together, in bit/s.
    pub goodput: f64,
    /// The round trip of a full segment and its acknowledgement when nothing else is there, in s.
    pub round_trip: f64,
    /// TCP payload that the path holds in that round trip, in bytes.
    pub bandwidth_delay_product: f64,
    /// The least window of each connection, in whole segments, with which it is not the limit.
    pub window_needed: Bytes,
    /// The buffer before the slowest line with which the windows lose nothing.
    pub buffer_needed: Amount,
    /// The buffer that a shaper needs for each of its channels to lose nothing, if there is a shaper.
    pub spacer_buffer: Option<Amount>,
    /// What to do, in one line.
    pub advice: String,
    /// What the prediction as a whole leaves out.
    pub caveats: Vec<String>,
}

impl Prediction {
    /// The bound that decides.
    pub fn binding(&self) -> &Bound {
        &self.bounds[self.binding]
    }
}
