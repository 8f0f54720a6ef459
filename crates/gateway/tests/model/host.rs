//! One host of a connection and the socket of its gateway towards it. The methods check the calls of the gateway: they
//! are the specification.
//!
//! The content of each byte is a function of the connection, the direction and the offset. A gateway must write the
//! bytes to a host from the first one on, in order, each once.

use std::collections::VecDeque;

use cellway_gateway::Reason;
use cellway_units::{Span, Time};

use super::case::HostPlan;

/// Returns the octet at offset `at` of the stream that the host at `side` sends.
pub(crate) fn content(flow: usize, side: usize, at: u64) -> u8 {
    let n = (flow as u64 * 2 + side as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ at.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (n ^ (n >> 29) ^ (n >> 47)) as u8
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The client's SYN is held.
    Held,
    /// The connection to the server is being set up.
    Connecting,
    Open,
    /// Refused, or reset by either side: only its end is missing.
    Closed,
    /// The flow has ended in the gateway.
    Over,
}

/// Bytes that have arrived or not; `Debug` prints their number.
#[derive(Clone, Default)]
struct Ring(VecDeque<Option<u8>>);

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.0.iter().flatten().count(), self.0.len())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) plan: HostPlan,
    flow: usize,
    side: usize,
    pub(crate) stage: Stage,
    /// Bytes that it has sent, those of them that the gateway has consumed, and those that it has released.
    pub(crate) sent: u64,
    pub(crate) consumed: u64,
    released: u64,
    /// Bytes of the other host from `taken` on that the gateway holds for it.
    ring: Ring,
    /// Bytes of the other host: those that the gateway has written, that the socket has taken, and that the host has
    /// read.
    pub(crate) asked: u64,
    pub(crate) taken: u64,
    pub(crate) read: u64,
    /// Room of the socket, as last reported.
    pub(crate) room: u64,
    /// Set when it has ended its direction, and when the gateway has ended the other one.
    pub(crate) closed: bool,
    pub(crate) shut: bool,
    ending: bool,
    /// The reason for which it has reset its connection, timed out, or refused.
    pub(crate) closed_by: Option<Reason>,
    pub(crate) reset_by: Option<Reason>,
    pub(crate) connected_at: Option<Time>,
    pub(crate) ended_by: Option<Option<Reason>>,
}

impl Host {
    pub(crate) fn new(plan: HostPlan, flow: usize, side: usize, stage: Stage) -> Host {
        let (sent, consumed, released, asked, taken, read, room) = (0, 0, 0, 0, 0, 0, 0);
        let (closed, shut, ending, closed_by, reset_by) = (false, false, false, None, None);
        let (ring, connected_at, ended_by) = (Ring::default(), None, None);
        Host {
            plan,
            flow,
            side,
            stage,
            sent,
            consumed,
            released,
            ring,
            asked,
            taken,
            read,
            room,
            closed,
            shut,
            ending,
            closed_by,
            reset_by,
            connected_at,
            ended_by,
        }
    }
    pub(crate) fn connect(&mut self, now: Time) {
        (self.stage, self.connected_at) = (Stage::Open, Some(now));
    }

    /// Copies bytes to send to the other gateway: they must be consumed and not released.
    pub(crate) fn copy_out(&self, at: u64, len: u32, out: &mut Vec<u8>) {
        let end = at + u64::from(len);
        assert!(self.released <= at && end <= self.consumed, "sends {at}..{end} of {self:?}");
        out.extend((at..end).map(|at| content(self.flow, self.side, at)));
    }
    /// Stores bytes that the other gateway has sent.
    pub(crate) fn place(&mut self, at: u64, bytes: &[u8]) {
        for (at, &octet) in (at..).zip(bytes).filter(|&(at, _)| at >= self.taken) {
            let index = (at - self.taken) as usize;
            if index >= self.ring.0.len() {
                self.ring.0.resize(index + 1, None);
            }
            self.ring.0[index] = Some(octet);
        }
    }

    pub(crate) fn consume(&mut self, bytes: u64) {
        self.consumed += bytes;
        assert!(self.stage == Stage::Open && bytes > 0 && self.consumed <= self.sent, "consumed {bytes}: {self:?}");
    }
    pub(crate) fn release(&mut self, bytes: u64) {
        self.released += bytes;
        assert!(bytes > 0 && self.released <= self.consumed, "released {bytes}: {self:?}");
    }
    /// Checks bytes that the gateway writes: those of the other host, in order, and no more than there is room for.
    pub(crate) fn write(&mut self, bytes: u64, other: &Host, confirmed: bool) {
        assert!(
            self.stage == Stage::Open && !self.shut && (1..=self.room).contains(&bytes),
            "writes {bytes}: {self:?}"
        );
        for at in self.asked..self.asked + bytes {
            let octet = self.ring.0.get((at - self.taken) as usize).copied().flatten();
            assert_eq!(octet, Some(content(self.flow, 1 - self.side, at)), "byte {at} of {self:?}");
        }
        (self.asked, self.room) = (self.asked + bytes, self.room - bytes);
        assert!(self.asked <= other.consumed, "{} bytes of {}", self.asked, other.consumed);
        if !confirmed {
            self.take(bytes);
        }
    }
    /// Makes the socket accept bytes that the gateway has written.
    pub(crate) fn take(&mut self, bytes: u64) {
        self.ring.0.drain(..(bytes as usize).min(self.ring.0.len()));
        self.taken += bytes;
        assert!(self.taken <= self.asked, "{self:?}");
    }
    /// Checks that the gateway may end the direction to this host: the other host must have ended it, and all of its
    /// bytes be written.
    pub(crate) fn shutdown(&mut self, other: &Host) {
        assert!(self.stage == Stage::Open && !self.shut, "{self:?}");
        assert!(other.closed && self.asked == other.sent, "the end before the bytes: {self:?} of {other:?}");
        self.shut = true;
    }
    pub(crate) fn will_be_reset(&mut self) {
        let connected = matches!(self.stage, Stage::Connecting | Stage::Open);
        assert!(connected && !std::mem::replace(&mut self.ending, true), "{self:?}");
    }
    pub(crate) fn reset(&mut self, reason: Reason) {
        assert!(matches!(self.stage, Stage::Connecting | Stage::Open), "reset: {self:?}");
        (self.stage, self.reset_by) = (Stage::Closed, Some(reason));
    }
    pub(crate) fn refuse(&mut self, reason: Reason) {
        assert_eq!(self.stage, Stage::Held, "refused: {self:?}");
        (self.stage, self.reset_by) = (Stage::Closed, Some(reason));
    }
    /// Checks the end of the flow: cleanly only if both directions have ended with all bytes; otherwise the connection
    /// must have been refused or reset before.
    pub(crate) fn end(&mut self, reason: Option<Reason>, other: Option<&Host>) {
        assert!(self.ended_by.is_none(), "ended twice: {self:?}");
        match reason {
            None => {
                let other = other.unwrap_or_else(|| panic!("a clean end without another host: {self:?}"));
                assert!(self.stage == Stage::Open && self.closed && self.shut, "{self:?}");
                assert!(
                    self.released == self.sent && other.sent == self.asked,
                    "bytes are missing: {self:?} of {other:?}"
                );
            }
            Some(_) => assert_eq!(self.stage, Stage::Closed, "ended without a word: {self:?}"),
        }
        (self.stage, self.ended_by) = (Stage::Over, Some(reason));
    }
    /// Returns the memory (bytes) that the gateway's caller still holds for it after the end.
    pub(crate) fn leftover(&self, cost: u64) -> u64 {
        match (self.stage, self.asked - self.taken) {
            (Stage::Over, bytes) if bytes > 0 => bytes + cost,
            _ => 0,
        }
    }

    /// Runs one tick.
    pub(crate) fn tick(&mut self, now: Time, confirmed: bool) -> Deeds {
        let mut deeds = Deeds::default();
        let Some(since) = self.connected_at.map(|at| now.since(at)) else { return deeds };
        let stuck = self.ending && since > self.plan.rests.min(Span::from_secs(5));
        if self.stage == Stage::Open && (self.plan.resets.is_some_and(|after| since >= after) || stuck) {
            (self.stage, self.closed_by, deeds.reset) = (Stage::Closed, Some(Reason::Reset), true);
            return deeds;
        }
        let reads = if since < self.plan.rests { 0 } else { self.plan.reads };
        if confirmed {
            deeds.took = reads.min(self.asked - self.taken);
            self.take(deeds.took);
            self.read = self.taken;
        } else {
            self.read += reads.min(self.taken - self.read);
        }
        if self.stage != Stage::Open {
            return deeds;
        }
        let waits = if confirmed { self.asked - self.taken } else { self.taken - self.read };
        let room = self.plan.buffer.saturating_sub(waits);
        deeds.room = (room != self.room || deeds.took > 0).then_some(room);
        self.room = room;
        if self.closed {
            return deeds;
        }
        deeds.sent =
            self.plan.sends.min(self.plan.buffer - (self.sent - self.consumed)).min(self.plan.bytes - self.sent);
        self.sent += deeds.sent;
        self.closed = self.sent == self.plan.bytes && (self.shut || !self.plan.waits);
        deeds.closed = self.closed;
        deeds
    }
    /// Returns true if it may still do something.
    pub(crate) fn is_busy(&self) -> bool {
        self.stage == Stage::Open || self.read < self.asked
    }
}

/// The actions of a host in one tick.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deeds {
    /// Bytes that its socket has taken, if writes are confirmed.
    pub(crate) took: u64,
    pub(crate) room: Option<u64>,
    pub(crate) sent: u64,
    pub(crate) closed: bool,
    pub(crate) reset: bool,
}
