//! The prediction for one path, and its least bound.

use cellway_units::Bytes;

/// The limit of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The slowest line, without overheads.
    Line,
    /// The same line less headers, framing and cells.
    Framing,
    /// The window, or the send buffer if that is smaller.
    Window,
    /// A shaper or the paced rate of a channel.
    Shaping,
    /// The time that a host or gateway takes for each packet.
    Host,
    /// The rate of a gateway to its peer.
    Gateway,
    /// Losses.
    Loss,
}

impl Limit {
    /// Returns the name as text.
    pub const fn name(self) -> &'static str {
        match self {
            Limit::Line => "line",
            Limit::Framing => "framing",
            Limit::Window => "window",
            Limit::Shaping => "shaping",
            Limit::Host => "host",
            Limit::Gateway => "gateway",
            Limit::Loss => "loss",
        }
    }
}

/// One bound of the goodput of all connections together.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Bound {
    /// The limit that sets it.
    pub limit: Limit,
    /// Its location: a link, shaper or node; empty for the path as a whole.
    pub at: String,
    /// TCP payload (for [`Limit::Line`], everything) in bit/s.
    pub value: f64,
    /// The id of the equation; [`equation`](crate::equation) returns its description.
    pub equation: &'static str,
    /// The source of the equation.
    pub source: &'static str,
    /// The reasons for which the value may not hold.
    pub caveats: Vec<String>,
}

impl Bound {
    /// Creates a bound by the equation `id`.
    pub(crate) fn new(limit: Limit, at: &str, value: f64, id: &str) -> Bound {
        let equation = crate::equation(id).expect("an equation of this crate");
        Bound { limit, at: at.to_owned(), value, equation: equation.id, source: equation.source, caveats: Vec::new() }
    }
}

/// An amount of buffer.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Amount {
    /// The amount.
    pub value: f64,
    /// "cell", or "B" of IP packets.
    pub unit: &'static str,
}

/// The prediction for one path.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Prediction {
    /// All bounds, in a fixed order of limits.
    pub bounds: Vec<Bound>,
    /// The index of the least in `bounds`.
    pub binding: usize,
    /// The least bound: TCP payload of all connections together, in bit/s.
    pub goodput: f64,
    /// The round trip of a full segment and its acknowledgement without other traffic, in s.
    pub round_trip: f64,
    /// TCP payload that the path holds in that round trip, in bytes.
    pub bandwidth_delay_product: f64,
    /// The least window of each connection, in full segments, with which it is not the limit.
    #[serde(serialize_with = "as_number")]
    pub window_needed: Bytes,
    /// The buffer before the slowest line with which the windows lose nothing.
    pub buffer_needed: Amount,
    /// The buffer that a shaper needs for each of its channels to lose nothing, if there is a shaper.
    pub spacer_buffer: Option<Amount>,
    /// A recommendation, in one line.
    pub advice: String,
    /// The limitations of the prediction as a whole.
    pub caveats: Vec<String>,
}

impl Prediction {
    /// Returns the least bound.
    pub fn binding(&self) -> &Bound {
        &self.bounds[self.binding]
    }
}

fn as_number<S: serde::Serializer>(bytes: &Bytes, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(bytes.0)
}
