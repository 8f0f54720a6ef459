//! One path, described by a few numbers.

use cellway_scenario::BufferSize;
use cellway_spec::CongestionControl;
use cellway_units::{Bytes, Cells, Rate, Span};

use crate::arguments::most;
use crate::error::{Error, undefined};
use crate::framing::{HEADERS, LineFraming};
use crate::leg::{Leg, Stage};
use crate::loss::loss_bounds;
use crate::pftk::Lossy;
use crate::prediction::{Bound, Limit, Prediction};

/// A path with one slowest line, and the TCP connections on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathInput {
    /// The rate of the slowest line for cells or frames.
    pub rate: Rate,
    /// The round trip of propagation, without transmission times.
    pub rtt: Span,
    /// The receive window of each connection.
    pub window: Bytes,
    /// The send buffer of each connection; no limit if absent.
    pub send_buffer: Option<Bytes>,
    /// TCP payload of a segment.
    pub mss: Bytes,
    /// The framing of packets on the line.
    pub framing: LineFraming,
    /// Losses per packet.
    pub loss: Option<f64>,
    /// The congestion control, which decides what losses leave.
    pub control: CongestionControl,
    /// Set if every second segment is acknowledged.
    pub delayed_ack: bool,
    /// The retransmission timeout before any doubling; it matters under loss.
    pub rto: Span,
    /// The buffer before the line.
    pub buffer: Option<BufferSize>,
    /// The rate of the line of the source, framed alike; as `rate` if absent.
    pub source: Option<Rate>,
    /// The rate to which each source paces its cells or frames.
    pub shaping: Option<Rate>,
    /// The number of equal connections that share the line.
    pub connections: u32,
}

impl PathInput {
    /// Creates a path over AAL5 with LLC/SNAP, one connection with CUBIC and an MSS of 1460 B, each segment acknowledged, no
    /// loss, a timeout of 1 s (RFC 6298 section 2.4), and nothing else set.
    pub const fn new(rate: Rate, rtt: Span, window: Bytes) -> PathInput {
        PathInput {
            rate,
            rtt,
            window,
            send_buffer: None,
            mss: Bytes(1460),
            framing: LineFraming::Aal5LlcSnap,
            loss: None,
            control: CongestionControl::Cubic,
            delayed_ack: false,
            rto: Span::from_secs(1),
            buffer: None,
            source: None,
            shaping: None,
            connections: 1,
        }
    }
}

/// Returns all bounds of the path and the least of them.
///
/// # Errors
/// [`Error::Undefined`] if a rate, the window, the MSS or the number of connections is 0, if all or a negative part of
/// the packets is lost, if the buffer is counted in cells where there are none, or if a value is above the limit of
/// arguments of equations.
pub fn predict_path(input: &PathInput) -> Result<Prediction, Error> {
    check(input)?;
    let PathInput { framing, mss, .. } = *input;
    let packet = Bytes(mss.0 + HEADERS);
    let octets = framing.octets(packet).0 as f64;
    let time = |rate: Rate| octets * 8.0 / rate.as_bps() as f64;
    // In cells if there are any: cells that arrive slower than the line sends are passed on at once.
    let (pieces, units, unit) = match framing.cells(packet) {
        Some(cells) => (cells as f64, cells as f64, "cell"),
        None => (1.0, packet.0 as f64, "B"),
    };
    let goodput = match framing {
        LineFraming::Packet => "packet-goodput",
        LineFraming::Ethernet => "ethernet-goodput",
        LineFraming::Fddi => "fddi-goodput",
        LineFraming::Aal5VcMux | LineFraming::Aal5LlcSnap => "aal5-goodput",
        LineFraming::BareCells => "bare-cells-goodput",
    };
    let buffer = input.buffer.map(|b| match b {
        BufferSize::Cells(cells) => cells.0 as f64,
        BufferSize::Bytes(bytes) if unit == "cell" => (bytes.0 / 53) as f64,
        BufferSize::Bytes(bytes) => bytes.0 as f64,
    });
    let mut stages = Vec::new();
    let stage = |limit, at: &str, rate: Rate, shared| Stage {
        limit,
        at: at.to_owned(),
        seconds: time(rate),
        rate: rate.as_bps() as f64,
        equation: goodput,
        shared,
        buffer: None,
    };
    // A paced source has a line that is faster than its pace.
    let source = input.source.or(input.shaping.and(Some(input.rate)));
    stages.extend(source.map(|rate| stage(Limit::Line, "of the source", rate, false)));
    stages.extend(input.shaping.map(|rate| stage(Limit::Shaping, "source", rate, false)));
    stages.push(Stage { buffer, ..stage(Limit::Line, "", input.rate, true) });
    let slowest = stages.iter().map(|s| s.seconds).fold(0.0, f64::max);
    // Each line sends a cell, or a packet, when it has received all of it.
    let lines = stages.iter().filter(|s| s.limit == Limit::Line);
    let transit = match unit {
        "cell" => slowest * (pieces - 1.0) / pieces + lines.map(|s| s.seconds / pieces).sum::<f64>(),
        _ => lines.map(|s| s.seconds).sum(),
    };
    let ack = framing.segment(Bytes(0)).0 as f64 * 8.0 / input.rate.as_bps() as f64;
    let round_trip = input.rtt.as_secs_f64() + transit + ack;
    let leg = Leg {
        mss,
        window: input.window,
        send_buffer: input.send_buffer.unwrap_or(Bytes(u64::MAX)),
        covers: if input.delayed_ack { 2 } else { 1 },
        initial: 1,
        connections: u64::from(input.connections),
        round_trip,
        stages,
        units,
        unit,
        others: loss(input, round_trip)?,
        transport: false,
        nagle: true,
    };
    Ok(leg.predict())
}

fn check(input: &PathInput) -> Result<(), Error> {
    let refuse = |what: &str, accepted: &str| Err(undefined("path", what, accepted));
    let rates = [Some(input.rate), input.source, input.shaping];
    if rates.iter().flatten().any(|r| r.as_bps() == 0) {
        return refuse("a line or shaper has the rate 0", "rates above 0");
    }
    if input.mss.0 == 0 || input.window.0 == 0 || input.send_buffer == Some(Bytes(0)) {
        return refuse("a segment, window or send buffer of 0 carries nothing", "at least 1 B");
    }
    if input.connections == 0 {
        return refuse("the number of connections is 0", "at least 1");
    }
    if rates.iter().flatten().any(|r| r.as_bps() > most::RATE) {
        return refuse("a line or shaper has a rate that no network has", "rates of at most 1000 Gbit/s");
    }
    if input.rtt.max(input.rto) > Span::from_secs(most::SECONDS) {
        return refuse("the round trip or the timeout is too long", "times of at most 24 h");
    }
    let (bytes, cells) = match input.buffer {
        Some(BufferSize::Bytes(bytes)) => (bytes, Cells(0)),
        Some(BufferSize::Cells(cells)) => (Bytes(0), cells),
        None => (Bytes(0), Cells(0)),
    };
    let sizes = [input.mss, input.window, input.send_buffer.unwrap_or(Bytes(0)), bytes];
    if sizes.iter().any(|size| size.0 > most::BYTES) || cells.0 > most::CELLS {
        let accepted = format!("at most 1024 GiB, or {} cells", most::CELLS);
        return refuse("a segment, window or buffer is too large", &accepted);
    }
    if input.connections > most::CONNECTIONS {
        let accepted = format!("at most {} connections", most::CONNECTIONS);
        return refuse("so many connections are too much for one path", &accepted);
    }
    let in_cells = input.framing.cells(Bytes(0)).is_some();
    if matches!(input.buffer, Some(BufferSize::Cells(_))) && !in_cells {
        return refuse("a buffer counted in cells where there are none", "a buffer in bytes");
    }
    Ok(())
}

fn loss(input: &PathInput, round_trip: f64) -> Result<Vec<Bound>, Error> {
    let PathInput { mss, delayed_ack, rto, .. } = *input;
    let rtt = Span::from_secs_f64(round_trip);
    let lossy = Lossy { mss, rtt, loss: input.loss.unwrap_or(0.0), rto, delayed_ack, window: None };
    loss_bounds(input.control, lossy, f64::from(input.connections))
}
