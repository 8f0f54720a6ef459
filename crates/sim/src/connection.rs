//! A TCP connection of a conversation: its endpoints, and the bytes that wait to be written.

use std::sync::Arc;

use cellway_apps::{ConnId, Side};
use cellway_gateway::FlowId;
use cellway_net::NodeId;
use cellway_tcp::{Config, Endpoint, LossRecovery, Output, Segment, State, Stats};
use cellway_testbed::{TcpSample, TcpTotals};
use cellway_units::Time;

/// The position of an endpoint on the path from the originator to the responder. The two in the middle exist only if
/// gateways split the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// At the host that originates the conversation.
    Originator,
    /// At the gateway near the originator.
    Near,
    /// At the gateway near the responder.
    Far,
    /// At the responding host.
    Responder,
}

impl Place {
    /// Returns the side of the application; `None` at a gateway.
    pub(crate) fn side(self) -> Option<Side> {
        match self {
            Place::Originator => Some(Side::Originator),
            Place::Responder => Some(Side::Responder),
            Place::Near | Place::Far => None,
        }
    }
}

impl From<Side> for Place {
    fn from(side: Side) -> Place {
        match side {
            Side::Originator => Place::Originator,
            Side::Responder => Place::Responder,
        }
    }
}

/// The path of the segments of an end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// The network's conversation.
    pub(crate) conversation: u32,
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    /// The end that receives them.
    pub(crate) peer: Place,
    /// The code point of their packets.
    pub(crate) dscp: u8,
    /// The length of their IP header (bytes).
    pub(crate) ip_header: u32,
}

/// One end of a connection, with the writes that TCP has not taken yet.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) tcp: Endpoint,
    pub(crate) path: Path,
    /// Bytes written by the application and not yet accepted.
    pending: u64,
    /// Set if bytes have been written since the last report that all were accepted.
    written_unreported: bool,
    /// Set if the application closes after all bytes are accepted.
    closing: bool,
    /// Set if this end opened the connection.
    active: bool,
    recovery: LossRecovery,
    /// The earliest timer that is set for the endpoint; `Time::MAX` if none is.
    pub(crate) armed: Time,
    /// The totals that the last report had, if there was one.
    reported: Option<Box<TcpTotals>>,
}

impl End {
    fn new(config: Arc<Config>, iss: u32, active: bool, path: Path) -> End {
        let recovery = config.tcp.recovery();
        let tcp = if active { Endpoint::active(config, iss) } else { Endpoint::passive(config, iss) };
        End {
            tcp,
            path,
            pending: 0,
            written_unreported: false,
            closing: false,
            active,
            recovery,
            armed: Time::MAX,
            reported: None,
        }
    }

    /// Returns the present state of TCP; none before the SYN and after the end of the connection.
    pub(crate) fn sample(&self) -> Option<TcpSample> {
        let tcp = &self.tcp;
        (!matches!(tcp.state(), State::Closed | State::Listen | State::TimeWait)).then(|| TcpSample {
            sent: tcp.stats().bytes_sent,
            cwnd: tcp.congestion_window(),
            srtt: tcp.smoothed_rtt(),
            in_flight: tcp.in_flight(),
            pacing_rate: tcp.pacing_rate(),
            min_rtt: tcp.min_rtt(),
        })
    }

    /// Writes data of the application, and with `close` closes after them.
    pub(crate) fn write(&mut self, now: Time, bytes: u64, close: bool, out: &mut Output) {
        self.pending += bytes;
        self.written_unreported |= bytes > 0;
        self.closing |= close;
        self.flush(now, out);
    }

    /// Returns true if written bytes wait for room.
    pub(crate) fn is_waiting(&self) -> bool {
        self.pending > 0
    }

    /// Writes the bytes that TCP accepts now. Returns false if TCP has only queued them.
    #[inline]
    pub(crate) fn flush(&mut self, now: Time, out: &mut Output) -> bool {
        let has_sent_all = self.tcp.has_sent_all(now) && !self.closing;
        if self.pending > 0 {
            self.pending -= self.tcp.write(now, self.pending, out);
        }
        if self.pending == 0 && self.closing {
            self.closing = false;
            self.tcp.shutdown(now, out);
        }
        !has_sent_all
    }

    /// Returns true, once, after TCP has accepted all written bytes.
    pub(crate) fn take_written(&mut self) -> bool {
        self.pending == 0 && std::mem::take(&mut self.written_unreported)
    }

    /// Returns true if this end opened the connection.
    pub(crate) fn is_active(&self) -> bool {
        self.active
    }

    /// Returns the losses that TCP has found and repaired since the last call; `None`, the usual case, if there were
    /// none.
    #[inline]
    pub(crate) fn unreported(&mut self) -> Option<TcpTotals> {
        let &Stats { retransmissions, timeouts, fast_retransmits, undone, dsacks_received, .. } =
            self.tcp.rare_stats()?;
        // Tahoe answers either sign of loss with a window of one segment; the others only a timeout.
        let collapses = timeouts + if self.recovery == LossRecovery::Tahoe { fast_retransmits } else { 0 };
        let all =
            TcpTotals { retransmissions, timeouts, fast_retransmits, collapses, spurious: dsacks_received, undone };
        let before = self.reported.as_deref().copied().unwrap_or_default();
        (all != before).then(|| {
            **self.reported.get_or_insert_default() = all;
            all.since(before)
        })
    }
}

/// The middle of a connection that a pair of gateways splits.
#[derive(Debug)]
pub(crate) struct Relay {
    /// The pair of gateways.
    pub(crate) pair: usize,
    /// The gateway of the pair that is near the originator.
    pub(crate) near: usize,
    pub(crate) flow: FlowId,
    /// The gateways' own ends: near the originator, near the responder.
    ends: [End; 2],
    /// The SYN of the host, held until the far host has answered.
    pub(crate) held: Option<Segment>,
}

#[derive(Debug)]
pub(crate) struct Connection {
    /// Unique in the slot.
    pub(crate) serial: u32,
    /// The conversation of the slot that it belongs to.
    pub(crate) conversation: u32,
    /// Its number in the conversation.
    pub(crate) conn: ConnId,
    /// The ends at the originator and at the responder.
    ends: [End; 2],
    pub(crate) relay: Option<Box<Relay>>,
    /// Ends that have reported their close; both make the application's.
    pub(crate) closed_ends: u32,
    pub(crate) failed: bool,
}

/// Returns the index of a side in an array of two.
pub(crate) fn at(side: Side) -> usize {
    match side {
        Side::Originator => 0,
        Side::Responder => 1,
    }
}

pub(crate) const SIDES: [Side; 2] = [Side::Originator, Side::Responder];

impl Connection {
    /// Creates a connection that `from` opens; `configs` and `paths` are those of originator and responder.
    pub(crate) fn new(
        serial: u32,
        conversation: u32,
        conn: ConnId,
        from: Side,
        configs: [Arc<Config>; 2],
        iss: [u32; 2],
        paths: [Path; 2],
    ) -> Connection {
        let end = |side| End::new(configs[at(side)].clone(), iss[at(side)], side == from, paths[at(side)]);
        let ends = SIDES.map(end);
        Connection { serial, conversation, conn, ends, relay: None, closed_ends: 0, failed: false }
    }

    /// Puts the pair of gateways into the middle. The gateway near the opener answers it, the other
    /// opens towards the host.
    pub(crate) fn split(
        &mut self,
        [pair, near]: [usize; 2],
        flow: FlowId,
        from: Side,
        configs: [Arc<Config>; 2],
        iss: [u32; 2],
        paths: [Path; 2],
    ) {
        let end = |side| End::new(configs[at(side)].clone(), iss[at(side)], side != from, paths[at(side)]);
        let ends = SIDES.map(end);
        self.relay = Some(Box::new(Relay { pair, near, flow, ends, held: None }));
    }

    /// Returns the end at `place`; `None` at a gateway that does not exist.
    #[inline]
    pub(crate) fn end(&mut self, place: Place) -> Option<&mut End> {
        let ends = match place {
            Place::Originator | Place::Responder => &mut self.ends,
            Place::Near | Place::Far => &mut self.relay.as_mut()?.ends,
        };
        Some(&mut ends[usize::from(matches!(place, Place::Responder | Place::Far))])
    }

    /// Returns the ends at the originator and at the responder.
    pub(crate) fn host_ends(&self) -> &[End; 2] {
        &self.ends
    }

    /// Returns true if all ends are closed.
    pub(crate) fn is_over(&self) -> bool {
        let gone = |ends: &[End; 2]| ends.iter().all(|end| end.tcp.state() == State::Closed);
        gone(&self.ends) && self.relay.as_ref().is_none_or(|relay| gone(&relay.ends))
    }
}
