//! The local TCP connection of one flow at one gateway, in the view of the gateway: two buffers, and a host behind them
//! that writes and reads at its pace.

use cellway_gateway::Reason;

/// The plan of the host.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Bytes to send; then it closes its direction.
    pub bytes: u64,
    /// Most bytes that it sends between two ticks.
    pub sends: u64,
    /// Most bytes that it reads between two ticks.
    pub reads: u64,
    /// Size of each of the two buffers (bytes).
    pub buffer: u64,
    /// Set if it closes only after the other end has.
    pub waits_for_peer: bool,
    /// After this many bytes it sends nothing for this many ticks.
    pub pause: (u64, u32),
    /// Resets its connection once it has sent this many bytes.
    pub resets_after: Option<u64>,
}

impl Plan {
    /// Creates a host that sends `bytes` and reads at once.
    pub fn sender(bytes: u64) -> Plan {
        let buffer = 65_536;
        Plan {
            bytes,
            sends: buffer,
            reads: buffer,
            buffer,
            waits_for_peer: false,
            pause: (u64::MAX, 0),
            resets_after: None,
        }
    }
}

/// The events of the host since the last tick.
#[derive(Clone, Copy, Debug, Default)]
pub struct Deeds {
    pub sent: u64,
    /// Room in the send buffer, if it changed.
    pub room: Option<u64>,
    pub closed: bool,
    pub reset: bool,
}

#[derive(Clone, Debug)]
pub struct Host {
    pub plan: Plan,
    /// Between the handshake and the end.
    pub connected: bool,
    /// Bytes sent into the receive buffer of the gateway, and consumed from it.
    pub sent: u64,
    pub consumed: u64,
    /// The part of them that the gateway need not hold any more.
    pub released: u64,
    /// Bytes that the gateway wrote, and the host read.
    pub written: u64,
    pub read: u64,
    told_room: Option<u64>,
    /// Ticks since it stopped sending.
    silent: u32,
    pub closed: bool,
    pub peer_closed: bool,
    pub was_reset: bool,
    pub did_reset: bool,
    pub refused: bool,
    pub over: bool,
    /// The reason, if it did not end cleanly.
    pub ended_by: Option<Reason>,
}

impl Host {
    pub fn new(plan: Plan) -> Host {
        Host {
            plan,
            connected: false,
            sent: 0,
            consumed: 0,
            released: 0,
            written: 0,
            read: 0,
            told_room: None,
            silent: 0,
            closed: false,
            peer_closed: false,
            was_reset: false,
            did_reset: false,
            refused: false,
            over: false,
            ended_by: None,
        }
    }
    pub fn tick(&mut self) -> Deeds {
        let mut deeds = Deeds::default();
        if !self.connected || self.was_reset || self.did_reset {
            return deeds;
        }
        self.read += self.plan.reads.min(self.written - self.read);
        let room = self.plan.buffer - (self.written - self.read);
        if !self.over && self.told_room != Some(room) {
            self.told_room = Some(room);
            deeds.room = Some(room);
        }
        let free = self.plan.buffer - (self.sent - self.consumed);
        let (burst, pause) = self.plan.pause;
        self.silent += 1;
        if !self.sent.is_multiple_of(burst) || self.sent == 0 || self.silent > pause {
            let most = burst - self.sent % burst;
            deeds.sent = self.plan.sends.min(free).min(self.plan.bytes - self.sent).min(most);
            self.silent = 0;
        }
        self.sent += deeds.sent;
        if self.plan.resets_after.is_some_and(|after| self.sent >= after) && !self.over {
            (deeds.reset, self.did_reset) = (true, true);
            return deeds;
        }
        let may_close = self.peer_closed || !self.plan.waits_for_peer;
        if !self.closed && self.sent == self.plan.bytes && may_close {
            (deeds.closed, self.closed) = (true, true);
        }
        deeds
    }
    pub fn consume(&mut self, bytes: u64) {
        self.consumed += bytes;
        assert!(bytes > 0 && self.consumed <= self.sent, "consumed {bytes} B that the host has not sent");
    }
    pub fn release(&mut self, bytes: u64) {
        self.released += bytes;
        assert!(bytes > 0 && self.released <= self.consumed, "released {bytes} B that were not consumed");
    }
    pub fn write(&mut self, bytes: u64) {
        let room = self.told_room.expect("written before any room was told");
        assert!(bytes > 0 && bytes <= room, "wrote {bytes} B into {room} B");
        assert!(!self.peer_closed, "bytes after the end");
        self.told_room = Some(room - bytes);
        self.written += bytes;
    }
}
