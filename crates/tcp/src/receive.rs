//! The receiver: reassembly, the time of acknowledgements, and the announced window.

use crate::ranges::Ranges;
use crate::{Config, MAX_WINDOW, Position, SackBlock, SackBlocks, SeqNum};

/// The result of a segment's payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// New bytes in order (bytes).
    pub(crate) in_order: u64,
    /// The peer's FIN is now in order.
    pub(crate) fin: bool,
    /// Set if a gap lies before it.
    pub(crate) out_of_order: bool,
    /// Set if it had payload, none of which was new.
    pub(crate) duplicate: bool,
}

/// The receiving half.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// The peer's initial sequence number.
    irs: SeqNum,
    /// Next position expected (RCV.NXT).
    pub(crate) nxt: Position,
    /// Bytes in order that the application has not taken (bytes).
    pub(crate) unread: u64,
    /// Right edge of the announced window: never decreases.
    edge: Position,
    /// The furthest right edge that was announced, rounded up to whole units of the shift.
    announced: Position,
    buffer: u64,
    immediate_read: bool,
    /// Shift of the windows we announce, if windows are scaled.
    shift: Option<u8>,
    /// Full segment, for the rules that count segments (bytes).
    mss: u64,
    early: Ranges,
    /// The position of the peer's FIN, after it has arrived.
    fin_at: Option<Position>,
    stamp: u64,
    /// Bytes in order since an acknowledgement was last sent (bytes).
    unacked: u64,
    delayed: bool,
    /// An acknowledgement must go now.
    pub(crate) ack_now: bool,
    /// Set if it must be sent as a separate segment: the peer counts it as a duplicate.
    pub(crate) ack_alone: bool,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Receiver {
        Receiver {
            irs: SeqNum(0),
            nxt: 0,
            unread: 0,
            edge: 0,
            announced: 0,
            buffer: config.tcp.window.0.min(MAX_WINDOW),
            immediate_read: config.immediate_read,
            shift: None,
            mss: config.tcp.mss.0,
            early: Ranges::default(),
            fin_at: None,
            stamp: 0,
            unacked: 0,
            delayed: config.tcp.delayed_ack.0.is_some(),
            ack_now: false,
            ack_alone: false,
        }
    }

    /// Returns the smallest shift with which the whole buffer can be announced. RFC 7323 §2.2.
    pub(crate) fn shift_for(buffer: u64) -> u8 {
        (0..14).find(|s| (65_535_u64 << s) >= buffer).unwrap_or(14)
    }
    /// Sets the initial sequence number of the peer's SYN.
    pub(crate) fn synchronise(&mut self, irs: SeqNum) {
        self.irs = irs;
        self.nxt = 1;
    }
    /// Sets the results of the options of both SYNs: our shift (`None`: no scaling) and the segment size (bytes).
    pub(crate) fn negotiated(&mut self, shift: Option<u8>, mss: u64) {
        self.shift = shift;
        if shift.is_none() {
            // Without scaling the field bounds the window. RFC 9293 §3.1.
            self.buffer = self.buffer.min(65_535);
        }
        self.mss = mss;
    }
    /// Returns the position of a sequence number, if it lies at or after the SYN.
    pub(crate) fn position(&self, seq: SeqNum) -> Option<Position> {
        seq.position(self.irs, self.nxt)
    }
    /// Returns the acknowledgement to send.
    pub(crate) fn ack(&self) -> SeqNum {
        self.irs.add(self.nxt)
    }
    /// Returns the window announced and not yet used (bytes).
    pub(crate) fn window(&self) -> u64 {
        self.edge.saturating_sub(self.nxt)
    }
    /// Returns the end of acceptable payload.
    pub(crate) fn limit(&self) -> Position {
        self.announced.max(self.nxt)
    }

    /// Takes in payload `start..start + len`, followed by a FIN or not.
    pub(crate) fn accept(&mut self, start: Position, len: u64, fin: bool) -> Arrival {
        let mut arrival = Arrival::default();
        // Trim to the window. RFC 9293 §3.10.7.4.
        let mut end = (start + len).min(self.limit());
        if fin && start + len == end && end >= self.nxt {
            self.fin_at = Some(end);
            // It has a position of its own, which SACK blocks report. RFC 9293 §3.4.
            end += 1;
        }
        let start = start.max(self.nxt);
        let before = self.nxt;
        if start < end && start == self.nxt {
            self.nxt = end;
            while let Some(end) = self.early.take_first_touching(self.nxt) {
                self.nxt = self.nxt.max(end);
                // RFC 5681 §4.2: data that fill (part of) a gap are acknowledged at once.
                self.ack_now = true;
            }
            // Part of a gap filled: further data lie beyond.
            self.ack_now |= !self.early.is_empty();
        } else if start < end {
            self.stamp += 1;
            arrival.duplicate = self.early.insert(start, end, self.stamp) == 0;
            arrival.out_of_order = true;
        } else {
            arrival.duplicate = len > 0;
            // A FIN beyond the window is not kept, but reports a gap.
            arrival.out_of_order = fin && start > self.nxt;
        }
        arrival.in_order = self.nxt - before;
        if self.fin_at.take_if(|fin| *fin < self.nxt).is_some() {
            arrival.in_order -= 1;
            arrival.fin = true;
            self.ack_now = true;
        }
        if !self.immediate_read {
            self.unread += arrival.in_order;
        }
        // RFC 5681 §4.2: acknowledge out-of-order data at once. RFC 9293 §3.10.7.4: the same for old data.
        if arrival.out_of_order || arrival.duplicate {
            self.ack_now = true;
            self.ack_alone = true;
        }
        self.count_for_ack(arrival.in_order);
        arrival
    }
    /// RFC 9293 §3.8.6.3: acknowledges at least every second full segment without delay. In BSD a reader does that: the
    /// bytes that it reads make a window update worth sending, which acknowledges too.
    fn count_for_ack(&mut self, in_order: u64) {
        self.unacked += in_order;
        let most = if self.immediate_read { self.worth_telling() } else { 2 * self.mss };
        if in_order > 0 && (!self.delayed || self.unacked >= most) {
            self.ack_now = true;
        }
    }
    /// Returns the increase that a window update needs: two segments or half the buffer, as in BSD (bytes).
    fn worth_telling(&self) -> u64 {
        (2 * self.mss).min(self.buffer.div_ceil(2))
    }
    /// Returns true if data wait for a delayed acknowledgement.
    pub(crate) fn awaits_ack(&self) -> bool {
        self.unacked > 0
    }
    /// Records that a segment with the present acknowledgement and window was sent.
    pub(crate) fn acknowledged(&mut self) {
        self.unacked = 0;
        self.ack_now = false;
        self.ack_alone = false;
    }

    /// Reads up to `bytes` for the application, and returns the number read.
    pub(crate) fn consume(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.unread);
        self.unread -= taken;
        taken
    }
    /// Returns true if windows are scaled.
    pub(crate) fn is_scaling(&self) -> bool {
        self.shift.is_some()
    }
    /// RFC 1122 §4.2.3.3, RFC 9293 §3.8.6.2.2, receiver's silly window avoidance: the edge moves only by a segment or
    /// half the buffer. An empty buffer is announced completely: no reader is slow then.
    #[inline]
    fn next_edge(&self) -> Position {
        if self.unread == 0 {
            return self.edge.max(self.nxt + self.buffer);
        }
        let widest = self.nxt + (self.buffer - self.unread.min(self.buffer));
        let step = self.mss.min(self.buffer.div_ceil(2));
        if widest >= self.edge + step { widest } else { self.edge }
    }
    /// Returns true if the application's reading justifies a separate segment to the peer.
    pub(crate) fn wants_update(&self) -> bool {
        self.next_edge() - self.edge >= self.worth_telling()
    }
    /// Returns the window field of the next segment, and records the announced window.
    pub(crate) fn announce(&mut self) -> u16 {
        let shift = self.shift.unwrap_or(0);
        // The edge stays within the range of the field.
        self.edge = self.next_edge().min((self.nxt + (65_535 << shift)).max(self.edge));
        // RFC 9293 §3.8.6 strongly discourages taking the edge back, so round up: that offers less
        // than one unit more, and RFC 7323 §2.4 has us accept whatever was once announced.
        let field = ((self.window() + (1 << shift) - 1) >> shift).min(65_535);
        self.announced = self.announced.max(self.nxt + (field << shift));
        // In range by the `min`s above.
        field as u16
    }
    /// Returns the window field of a SYN, which is never scaled. RFC 7323 §2.2.
    pub(crate) fn announce_unscaled(&mut self) -> u16 {
        let field = self.buffer.min(65_535);
        self.edge = self.edge.max(self.nxt + field);
        self.announced = self.announced.max(self.edge);
        // In range by the `min` above.
        field as u16
    }

    /// Returns the first part of `start..end` that has arrived before. A segment that overlaps several pieces of what has
    /// arrived reports one of them. RFC 2883 §4.
    pub(crate) fn repeated(&self, start: Position, end: Position) -> Option<SackBlock> {
        let (start, end) =
            if start < self.nxt { (start, end.min(self.nxt)) } else { self.early.overlap(start, end)? };
        (start < end).then(|| SackBlock { start: self.irs.add(start), end: self.irs.add(end) })
    }
    /// Returns true if data have arrived beyond a gap.
    pub(crate) fn has_gaps(&self) -> bool {
        !self.early.is_empty()
    }
    /// Returns `duplicate`, the D-SACK block of RFC 2883 §4, if there is one, then by RFC 2018 §4 the block with the segment
    /// that arrived last and the most recent others.
    pub(crate) fn sack_blocks(&self, duplicate: Option<SackBlock>) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if let Some(duplicate) = duplicate {
            blocks.push(duplicate);
        }
        let mut below = u64::MAX;
        while let Some(r) = self.early.as_slice().iter().filter(|r| r.stamp < below).max_by_key(|r| r.stamp) {
            below = r.stamp;
            if !blocks.push(SackBlock { start: self.irs.add(r.start), end: self.irs.add(r.end) }) {
                break;
            }
        }
        blocks
    }
}
