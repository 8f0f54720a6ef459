//! One peer: its state machine, and which connections are over it.

use std::collections::HashMap;

use cellway_gateway::{Decoded, FlowId, Gateway, GatewayConfig, Output, RateGuard, Transport, Window, Wire};
use cellway_units::{Bytes, Rate, Span, Time};

use super::block::BLOCK;
use super::moment::Moment;
use super::ring::Ring;
use super::table::Token;
use crate::config::{Config, LineRate, Peer, PeerDown};
use crate::error::Error;

/// The largest window that a line is taken to need, unless one is configured.
const WINDOW_MOST: Bytes = Bytes(64 << 20);
/// What every direction of a connection may hold, however many there are.
const FLOOR: Bytes = Bytes(12 << 10);
/// The metadata of a connection (bytes).
pub(crate) const METADATA: u64 = 3 << 10;
/// The memory of a connection besides its bytes: a partly filled block in each direction, and the metadata.
const COST: Bytes = Bytes(2 * BLOCK as u64 + METADATA);
/// What of the memory is for bytes: a packet under way that is described by the machine and by QUIC takes up to a
/// third more than its bytes.
const FOR_BYTES: (u64, u64) = (3, 4);
/// How far beyond what has left hosts are read (bytes): few calls of the kernel, and little that waits here.
const AHEAD: Bytes = Bytes(32 << 10);
/// How much lateness of this thread is made up for.
const SLACK: Span = Span::from_ms(5);
/// Longest time for which packets are gathered that the line has room for.
const GATHER_MOST: Span = Span::from_ms(1);
/// Most packets that are gathered.
const GATHER_PACKETS: u64 = 16;
/// The coalescing delay is at most the time of this many packets on the path.
const BATCH_PACKETS: u64 = 64;
/// It is at most the round-trip time divided by this.
const BATCH_OF_ROUND_TRIP: u64 = 32;
/// Its upper bound.
const BATCH_MOST: Span = Span::from_ms(4);
/// After how many packets the peer is told what arrived. Many, as packets are lost seldom and each
/// answer takes a place on the line back.
const ACK_EVERY: u32 = 8;
/// After how many payloads the peer is told how much more it may send.
const CREDIT_EVERY: u32 = 32;
/// The most consecutive data frames of a connection, so that a pass accesses few sockets: about as many as [`AHEAD`].
const TURN: u32 = 16;
/// The time beyond a round trip without any answer after which a peer counts as unresponsive.
pub(crate) const PATIENCE: Span = Span::from_secs(1);

/// The findings of a state machine about peer and path, compared before and after each call into it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Findings {
    /// True if the peer does not answer.
    pub(crate) unresponsive: bool,
    /// True if the configured rate is above the bandwidth of the path.
    pub(crate) too_high: bool,
}

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) name: String,
    pub(crate) machine: Gateway,
    pub(crate) output: Output,
    pub(crate) decoded: Decoded,
    pub(crate) up: bool,
    /// Whether what was sent waits in the transport.
    pub(crate) behind: bool,
    pub(crate) payload: usize,
    /// Whether the line is counted in whole cells.
    pub(crate) cells: bool,
    /// Its own flows have even or odd names.
    next: u64,
    /// The connections of its flows.
    pub(crate) flows: HashMap<FlowId, Token>,
    /// Bytes of flows that are not connections here yet.
    pub(crate) early: HashMap<FlowId, Ring>,
    /// Memory (bytes) of connections that the state machine has closed while their hosts still read the last bytes.
    pub(crate) leftover: u64,
    /// Octets that the transport has sent and the machine has not counted; less than 0 if it counted more.
    pub(crate) uncounted: i64,
    pub(crate) seen_octets: u64,
    pub(crate) line_octets: u64,
    /// Where the machine's clock begins: it cannot count for more than 213 days.
    pub(crate) base: Moment,
    /// The change of the rules that its coming or going was.
    pub(crate) change: u64,
    pub(crate) downs: u64,
    /// The number of times the peer became unresponsive.
    pub(crate) stalls: u64,
    /// The number of times the configured rate was found to be too high.
    pub(crate) overloads: u64,
    /// The reason for which it is down; not empty while it is up.
    pub(crate) why_down: String,
    /// The reason for which it was lost the last time.
    pub(crate) why_last_down: String,
}

impl Link {
    pub(crate) fn new(peer: &Peer, config: &Config) -> Result<Link, Error> {
        let mut machine = Gateway::new(machine_config(peer, config))
            .map_err(|e| Error::Config { what: format!("peer `{}`: {e}", peer.name) })?;
        machine.set_classes(peer.classes.clone());
        Ok(Link {
            name: peer.name.clone(),
            machine,
            output: Output::default(),
            decoded: Decoded::default(),
            up: false,
            behind: false,
            payload: 0,
            cells: matches!(peer.rate, LineRate::Fixed { atm: true, .. }),
            next: 0,
            flows: HashMap::new(),
            early: HashMap::new(),
            leftover: 0,
            uncounted: 0,
            seen_octets: 0,
            line_octets: 0,
            base: Moment::now(),
            change: 0,
            downs: 0,
            stalls: 0,
            overloads: 0,
            why_down: "not reached yet".into(),
            why_last_down: String::new(),
        })
    }
    /// Packets can be sent. The one that dialled gives even names to flows, the other odd ones.
    /// The transport has sent `octets` so far.
    pub(crate) fn came_up(&mut self, dialler: bool, octets: u64, now: Moment) {
        (self.up, self.next) = (true, u64::from(!dialler));
        (self.uncounted, self.seen_octets, self.base) = (0, octets, now);
    }
    /// Whether `flow` is a name that this side gives.
    pub(crate) fn is_ours(&self, flow: FlowId) -> bool {
        flow.0 & 1 == self.next & 1
    }
    /// True if `flow`, an identifier that this side assigns, has been assigned.
    pub(crate) fn has_named(&self, flow: FlowId) -> bool {
        flow.0 < self.next
    }
    /// A name that no flow has had.
    pub(crate) fn name_flow(&mut self) -> FlowId {
        let name = FlowId(self.next);
        self.next += 2;
        name
    }
    /// The flow that was named last was refused before the machine took it in: the next one gets its name, so that the
    /// peer finds no gap in the names.
    pub(crate) fn unname_flow(&mut self, flow: FlowId) {
        if self.next == flow.0 + 2 {
            self.next = flow.0;
        }
    }
    /// The instant `now` on the machine's clock.
    pub(crate) fn time(&self, now: Moment) -> Time {
        Time::ZERO + now.since(self.base)
    }
    /// When the machine wants to be called.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        let (at, why) = self.machine.deadline()?;
        let at = self.base + at.since(Time::ZERO);
        // Packets that could leave one by one leave by the dozen: the line's queue takes them, and the
        // machine makes up for what it waited.
        Some(if why == "pace" { at + self.gather() } else { at })
    }
    /// Returns the current findings of the state machine.
    pub(crate) fn findings(&self) -> Findings {
        Findings { unresponsive: self.machine.is_unresponsive(), too_high: self.machine.fits().is_some() }
    }
    /// Logs and counts that the configured rate is above the bandwidth of the path, or logs that it no longer is.
    pub(crate) fn report_rate(&mut self) {
        let rate = self.machine.rate();
        match self.machine.fits() {
            Some(fits) => {
                self.overloads += 1;
                tracing::warn!(
                    peer = %self.name,
                    %rate,
                    %fits,
                    "the rate is above what the line carries: the queue does not drain, and less arrives than is sent"
                );
            }
            None if self.up => {
                tracing::info!(peer = %self.name, %rate, "the rate is no longer reported as too high: the line carries it, other traffic keeps the queue, or it was changed")
            }
            None => {}
        }
    }
    fn gather(&self) -> Span {
        (self.packet() * GATHER_PACKETS).min(GATHER_MOST).max(self.batch())
    }
    /// For how long work may be put off so that more is done at once: a wait that nobody notices beside the round
    /// trip, and no longer burst than the line's queue takes.
    pub(crate) fn batch(&self) -> Span {
        (self.packet() * BATCH_PACKETS).min(self.machine.rtt() / BATCH_OF_ROUND_TRIP).min(BATCH_MOST)
    }
    /// How long a full packet takes on the line.
    fn packet(&self) -> Span {
        Span::from_ns(self.payload as u64 * 8 * 1_000_000_000 / self.machine.rate().as_bps().max(1))
    }
}

/// What the machine towards `peer` is told.
pub(crate) fn machine_config(peer: &Peer, config: &Config) -> GatewayConfig {
    let (rate, atm) = match peer.rate {
        LineRate::Fixed { rate, atm } => (rate, atm),
        LineRate::Auto { most } => (most.unwrap_or(Rate::from_bps(10_000_000_000)), false),
    };
    let window = match config.limits.window {
        Some(window) => Window::Fixed(window),
        None => Window::Line { most: WINDOW_MOST },
    };
    let memory = Bytes(config.limits.memory.0 / FOR_BYTES.1 * FOR_BYTES.0 / config.peers.len().max(1) as u64);
    let mut machine = GatewayConfig::new(rate);
    machine.auto = matches!(peer.rate, LineRate::Auto { .. });
    machine.window = window;
    machine.floor = FLOOR;
    machine.cost = COST;
    machine.confirmed_writes = true;
    machine.ahead = AHEAD;
    machine.tells_rate = true;
    machine.times_acks = true;
    machine.total_buffer = memory;
    machine.wire = if atm { Wire::Atm { llc: true } } else { Wire::Packet };
    machine.transport = Transport::Quic { v6: false };
    (machine.mtu, machine.payload) = (Bytes(1280), Bytes(1200));
    machine.slack = SLACK;
    machine.patience = Some(PATIENCE);
    machine.bypass = peer.down == PeerDown::Direct;
    machine.guard = match peer.rate_guard {
        crate::config::RateGuard::On => RateGuard::Acts,
        crate::config::RateGuard::Off => RateGuard::Reports,
    };
    machine.ack_every = ACK_EVERY;
    machine.credit_every = CREDIT_EVERY;
    machine.turn = TURN;
    machine
}
