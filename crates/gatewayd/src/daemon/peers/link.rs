//! A peer: its state machine, and counters of the path to it.

use cellway_gateway::{Decoded, FlowId, Gateway, Output};
use cellway_units::{Span, Time};
use serde::{Deserialize, Serialize};

use super::settings::settings;
use crate::config::{Config, LineRate, Peer};
use crate::daemon::moment::Moment;
use crate::error::Error;

/// Longest time for which packets are gathered that the link has room for.
const GATHER_MOST: Span = Span::from_ms(1);
/// Most packets that are gathered.
const GATHER_PACKETS: u64 = 16;
/// The coalescing delay is at most the time of this many packets on the path.
const BATCH_PACKETS: u64 = 64;
/// It is at most the round-trip time divided by this.
const BATCH_OF_ROUND_TRIP: u64 = 32;
/// Its upper bound.
const BATCH_MOST: Span = Span::from_ms(4);

/// The results of a state machine about peer and path, compared before and after each call into it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Findings {
    /// True if the peer does not answer.
    pub(super) unresponsive: bool,
    /// True if the configured rate is above the bandwidth of the path.
    pub(super) too_high: bool,
}

/// Skipped fields are computed from the configuration, or are set by the next events.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Link {
    pub(super) name: String,
    /// The layout of a handover has the name `machine`.
    #[serde(rename = "machine")]
    pub(super) gateway: Gateway,
    #[serde(skip)]
    pub(super) output: Output,
    #[serde(skip)]
    pub(super) decoded: Decoded,
    /// True if both gateways have the state of the flows.
    pub(super) up: bool,
    /// True while it is up and has no connection, and waits for the next one.
    #[serde(skip)]
    pub(super) detached: bool,
    /// True while too many octets wait in the transport; then the state machine sends no packets.
    #[serde(skip)]
    pub(super) behind: bool,
    /// Most octets of a packet.
    pub(super) payload: usize,
    /// True if the rate of the link counts full ATM cells.
    #[serde(skip)]
    pub(super) cells: bool,
    /// The next flow identifier that this side assigns: even if it dialled, otherwise odd.
    next: u64,
    /// Octets that the transport has sent and the state machine has not counted; less than 0 if it has counted more.
    pub(super) uncounted: i64,
    /// The count of the transport when it was last read.
    pub(super) seen_octets: u64,
    /// Octets of IP packets sent.
    pub(super) line_octets: u64,
    /// The beginning of the state machine's clock, which cannot count for more than 213 days.
    pub(super) base: Moment,
    /// The number of times the peer was lost.
    pub(super) downs: u64,
    /// The number of times the peer became unresponsive.
    pub(super) stalls: u64,
    /// The number of times the configured rate was found to be too high.
    pub(super) overloads: u64,
    /// The reason for which it is down; not empty while it is up.
    #[serde(skip)]
    pub(super) why_down: String,
    /// The reason for which it was lost the last time.
    pub(super) why_last_down: String,
}

impl Link {
    pub(super) fn new(peer: &Peer, config: &Config) -> Result<Link, Error> {
        let gateway = Gateway::new(settings(peer, config))
            .map_err(|e| Error::Config { what: format!("peer `{}`: {e}", peer.name) })?
            .with_classes(peer.classes.clone());
        Ok(Link {
            name: peer.name.clone(),
            gateway,
            output: Output::default(),
            decoded: Decoded::default(),
            up: false,
            detached: false,
            behind: false,
            payload: 0,
            cells: matches!(peer.rate, LineRate::Fixed { atm: true, .. }),
            next: 0,
            uncounted: 0,
            seen_octets: 0,
            line_octets: 0,
            base: Moment::now(),
            downs: 0,
            stalls: 0,
            overloads: 0,
            why_down: "not reached yet".into(),
            why_last_down: String::new(),
        })
    }
    /// Continues the state of `kept`, where `self` is computed from the configuration. The next connection replaces the
    /// transport.
    pub(super) fn resume(&mut self, kept: Link) {
        let up = kept.up;
        let why_down = std::mem::take(&mut self.why_down);
        *self = Link { detached: up, cells: self.cells, why_down, ..kept };
    }
    /// Marks the peer as up: packets can be sent. The gateway that dialled assigns even flow identifiers, the other one
    /// odd ones. The transport has sent `octets` so far.
    pub(super) fn mark_up(&mut self, dialler: bool, octets: u64, now: Moment) {
        (self.up, self.detached, self.next) = (true, false, u64::from(!dialler));
        (self.uncounted, self.seen_octets, self.base) = (0, octets, now);
    }
    /// Returns true if `flow` is an identifier that this side assigns.
    pub(super) fn is_ours(&self, flow: FlowId) -> bool {
        flow.0 & 1 == self.next & 1
    }
    /// Returns true if `flow`, an identifier that this side assigns, has been assigned.
    pub(super) fn has_assigned(&self, flow: FlowId) -> bool {
        flow.0 < self.next
    }
    /// Assigns the next flow identifier.
    pub(super) fn assign_flow(&mut self) -> FlowId {
        let name = FlowId(self.next);
        self.next += 2;
        name
    }
    /// Takes back the identifier of a flow that the state machine has refused before it sent a packet about it: the
    /// next flow gets the same, so that the peer finds no gap.
    pub(super) fn unassign_flow(&mut self, flow: FlowId) {
        if self.next == flow.0 + 2 {
            self.next = flow.0;
        }
    }
    /// Converts `now` to the state machine's clock.
    pub(super) fn time(&self, now: Moment) -> Time {
        Time::ZERO + now.since(self.base)
    }
    /// Returns the time at which the state machine must be called.
    pub(super) fn deadline(&self) -> Option<Moment> {
        let (at, why) = self.gateway.deadline()?;
        let at = self.base + at.since(Time::ZERO);
        // Packets that could leave one by one leave in batches: the queue of the link holds them, and the state machine
        // makes up for the delay.
        Some(if why == "pace" { at + self.gather() } else { at })
    }
    /// Returns the current findings of the state machine.
    pub(super) fn findings(&self) -> Findings {
        Findings { unresponsive: self.gateway.is_unresponsive(), too_high: self.gateway.fits().is_some() }
    }
    /// Reports changes since `before`, the findings before the last call into the state machine.
    pub(super) fn report(&mut self, before: Findings) {
        let Findings { unresponsive, too_high } = self.findings();
        if too_high != before.too_high {
            self.report_rate();
        }
        if unresponsive == before.unresponsive {
            return;
        }
        if unresponsive {
            self.stalls += 1;
            tracing::warn!(
                peer = %self.name,
                "unresponsive: acknowledgements are overdue; new connections are treated as `down` selects, established \
                 ones wait for up to `outage`"
            );
        } else {
            tracing::info!(peer = %self.name, "responsive again");
        }
    }
    /// Logs and counts that the configured rate is above the bandwidth of the path, or logs that it no longer is.
    fn report_rate(&mut self) {
        let rate = self.gateway.rate();
        match self.gateway.fits() {
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
                tracing::info!(peer = %self.name, %rate, "the rate is no longer reported as too high: the path carries it, other traffic causes the queue, or it was changed")
            }
            None => {}
        }
    }
    fn gather(&self) -> Span {
        (self.packet() * GATHER_PACKETS).min(GATHER_MOST).max(self.batch())
    }
    /// Returns the coalescing delay: short in comparison with the round trip, and the burst after it fits into the
    /// queue of the link.
    pub(super) fn batch(&self) -> Span {
        (self.packet() * BATCH_PACKETS).min(self.gateway.rtt() / BATCH_OF_ROUND_TRIP).min(BATCH_MOST)
    }
    /// Returns the time of a full packet on the link.
    fn packet(&self) -> Span {
        Span::from_ns(self.payload as u64 * 8 * 1_000_000_000 / self.gateway.rate().as_bps().max(1))
    }
}
