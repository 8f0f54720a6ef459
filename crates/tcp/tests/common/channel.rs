//! Two endpoints with an application each, over a channel that loses, delays, reorders, duplicates and marks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use cellway_tcp::{Config, Endpoint, Event, Flags, LossRecovery, Output, Segment, State};
use cellway_units::{Ecn, Span, Time};

/// SplitMix64: small, seeded, the same everywhere.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
    fn per_mille(&mut self, n: u64) -> bool {
        self.below(1000) < n
    }
}

/// The treatment of segments by the channel, in both directions.
#[derive(Clone, Copy, Debug)]
pub struct Channel {
    pub delay: Span,
    /// Added at random to each segment, so that later ones overtake.
    pub jitter: Span,
    pub loss_per_mille: u64,
    pub duplicate_per_mille: u64,
    /// ECN-capable segments get CE.
    pub mark_per_mille: u64,
    /// Most losses, so that every run ends.
    pub losses: u32,
}

/// The actions of each application.
#[derive(Clone, Copy, Debug)]
pub struct App {
    /// Bytes to write; then it closes its side.
    pub bytes: u64,
    /// Most bytes written at once.
    pub piece: u64,
    /// True if it closes only after the peer has.
    pub waits_for_peer: bool,
}

pub struct Side {
    pub endpoint: Endpoint,
    pub app: App,
    pub written: u64,
    pub delivered: u64,
    pub events: Vec<Event>,
    peer_closed: bool,
    /// Furthest right edge seen on the wire, from the peer's position 0.
    announced: u64,
    /// The unit in which its windows count.
    unit: u64,
    /// After the last payload position sent.
    sent: i64,
    /// The bytes of which a copy was not lost, and the segments sent again although all their bytes are among these.
    carried: Vec<bool>,
    pub needless: u64,
    iss: u32,
    reads_at: Option<Time>,
}

pub struct Pair {
    pub sides: [Side; 2],
    pub now: Time,
    /// Every segment put on the channel: time, side, segment.
    pub trace: Vec<(Time, usize, Segment)>,
    pub lost: u32,
    channel: Channel,
    random: Random,
    flying: BinaryHeap<Reverse<(Time, u64, usize, usize)>>,
    segments: Vec<Segment>,
    order: u64,
    out: Output,
}

impl Pair {
    pub fn new(configs: [Config; 2], iss: [u32; 2], apps: [App; 2], channel: Channel, seed: u64) -> Pair {
        let side = |i: usize, endpoint| Side {
            endpoint,
            app: apps[i],
            written: 0,
            delivered: 0,
            events: Vec::new(),
            peer_closed: false,
            announced: 0,
            unit: 1,
            sent: 0,
            carried: Vec::new(),
            needless: 0,
            iss: iss[i],
            reads_at: None,
        };
        for config in &configs {
            config.validate().unwrap();
        }
        let sides = [side(0, Endpoint::active(configs[0], iss[0])), side(1, Endpoint::passive(configs[1], iss[1]))];
        Pair {
            sides,
            now: Time::ZERO,
            trace: Vec::new(),
            lost: 0,
            channel,
            random: Random(seed),
            flying: BinaryHeap::new(),
            segments: Vec::new(),
            order: 0,
            out: Output::default(),
        }
    }

    /// Runs until no event is left, or panics if that takes too long.
    pub fn run(&mut self) {
        self.sides[0].endpoint.connect(self.now, &mut self.out);
        self.settle(0);
        for _ in 0..400_000 {
            if !self.step() {
                return;
            }
        }
        panic!("no end: {:?} {:?}", self.sides[0].endpoint, self.sides[1].endpoint);
    }

    /// Processes the earliest event; returns true if there was one.
    fn step(&mut self) -> bool {
        let arrival = self.flying.peek().map(|Reverse((at, ..))| *at);
        let wake = |s: &Side| s.endpoint.deadline().map(|(at, _)| at);
        let candidates =
            [arrival, wake(&self.sides[0]), wake(&self.sides[1]), self.sides[0].reads_at, self.sides[1].reads_at];
        let Some((at, what)) = candidates.iter().enumerate().filter_map(|(i, t)| t.map(|t| (t, i))).min() else {
            return false;
        };
        assert!(at >= self.now, "a deadline in the past");
        self.now = at;
        match what {
            0 => {
                let Some(Reverse((_, _, to, index))) = self.flying.pop() else { return false };
                let segment = self.segments[index];
                self.sides[to].endpoint.receive(at, &segment, &mut self.out);
                self.settle(to);
            }
            1 | 2 => {
                let endpoint = &mut self.sides[what - 1].endpoint;
                endpoint.wake(at, &mut self.out);
                assert!(endpoint.deadline().is_none_or(|(next, _)| next > at), "due again at once");
                self.settle(what - 1);
            }
            _ => {
                let i = what - 3;
                let readable = self.sides[i].endpoint.readable();
                let bytes = 1 + self.random.below(readable);
                self.sides[i].reads_at = None;
                self.sides[i].endpoint.consume(at, bytes, &mut self.out);
                self.settle(i);
            }
        }
        true
    }

    /// Calls the application of side `i` until it has nothing more to do, and sends the resulting segments.
    fn settle(&mut self, i: usize) {
        self.check_sent(i);
        loop {
            let events = std::mem::take(&mut self.out.events);
            for &event in &events {
                match event {
                    Event::Readable { bytes } => self.sides[i].delivered += bytes,
                    Event::PeerClosed => self.sides[i].peer_closed = true,
                    _ => {}
                }
            }
            self.sides[i].events.extend(&events);
            let side = &mut self.sides[i];
            let app = side.app;
            let open = side.events.contains(&Event::Connected);
            let want = (app.bytes - side.written).min(app.piece);
            if open && want > 0 {
                let accepted = side.endpoint.write(self.now, want, &mut self.out);
                side.written += accepted;
                self.check_sent(i);
                if accepted == want {
                    continue;
                }
            } else if open && app.bytes == side.written && (side.peer_closed || !app.waits_for_peer) {
                side.endpoint.shutdown(self.now, &mut self.out);
                self.check_sent(i);
            }
            if self.out.events.is_empty() {
                break;
            }
        }
        let now = self.now;
        let side = &mut self.sides[i];
        if side.reads_at.is_none() && side.endpoint.readable() > 0 {
            side.reads_at = Some(now + Span::from_ms(self.random.below(300)));
        }
    }

    /// Checks the segments that side `i` just sent against its limits, and puts them on the channel.
    fn check_sent(&mut self, i: usize) {
        let segments = std::mem::take(&mut self.out.segments);
        for segment in &segments {
            self.check_window_promise(i, segment);
            self.check_flight(i, segment);
            self.put(i, *segment);
        }
        self.check_conservation();
    }
    /// The right edge never decreases by a whole unit of the window field.
    fn check_window_promise(&mut self, i: usize, segment: &Segment) {
        let peer_iss = self.sides[1 - i].iss;
        let side = &mut self.sides[i];
        // A SYN's window is not scaled, so a retransmitted SYN may announce less.
        if segment.is(Flags::RST) || segment.is(Flags::SYN) {
            return;
        }
        let config = *side.endpoint.config();
        let scaled = config.tcp.window_scaling && self.sides[1 - i].endpoint.config().tcp.window_scaling;
        let side = &mut self.sides[i];
        side.unit =
            if scaled { (0..).map(|s| 1u64 << s).find(|u| 65_535 * u >= config.tcp.window.0).unwrap() } else { 1 };
        let edge = u64::from(segment.ack.0.wrapping_sub(peer_iss)) + u64::from(segment.window) * side.unit;
        assert!(edge + side.unit > side.announced, "the window shrank from {} to {edge}", side.announced);
        side.announced = side.announced.max(edge);
    }
    /// New payload stays within the peer's window, and within the congestion window except for limited transmit.
    fn check_flight(&mut self, i: usize, segment: &Segment) {
        let side = &mut self.sides[i];
        if segment.len == 0 || segment.is(Flags::RST) {
            return;
        }
        let start = i64::from(segment.seq.0.wrapping_sub(side.iss));
        let end = start + i64::from(segment.len);
        let e = &side.endpoint;
        let mss = e.mss();
        assert!(u64::from(segment.len) <= mss, "a segment of {} B with an MSS of {mss} B", segment.len);
        let probe = e.peer_window() == 0 && segment.len == 1;
        if end > side.sent && !probe {
            side.sent = end;
            // Position 1 is the first byte; the acknowledged positions are payload.
            let outstanding = (end - 1) as u64 - e.stats().bytes_acked;
            assert!(outstanding <= e.peer_window(), "{outstanding} B in a peer window of {} B", e.peer_window());
            if !matches!(e.config().tcp.recovery(), LossRecovery::Sack | LossRecovery::Rack) {
                let most = e.congestion_window() + 2 * mss;
                assert!(outstanding <= most, "{outstanding} B in a congestion window of {} B", e.congestion_window());
            }
        }
    }
    fn check_conservation(&self) {
        for i in 0..2 {
            let (from, to) = (&self.sides[i], &self.sides[1 - i]);
            let (acked, received) = (from.endpoint.stats().bytes_acked, to.endpoint.stats().bytes_received);
            assert!(acked <= received, "acknowledged {acked} B of {received} B received");
            // Bytes that a write accepted may be sent before the caller has counted them.
            assert!(received <= from.app.bytes, "received {received} B of {} B", from.app.bytes);
            assert!(from.endpoint.congestion_window() >= from.endpoint.mss());
        }
    }

    fn put(&mut self, from: usize, segment: Segment) {
        self.trace.push((self.now, from, segment));
        let side = &mut self.sides[from];
        let first = segment.seq.0.wrapping_sub(side.iss) as usize;
        let bytes = first..first + segment.len as usize;
        side.carried.resize(side.carried.len().max(bytes.end), false);
        side.needless += u64::from(!bytes.is_empty() && side.carried[bytes.clone()].iter().all(|&carried| carried));
        let copies = 1 + u64::from(self.random.per_mille(self.channel.duplicate_per_mille));
        for _ in 0..copies {
            if self.lost < self.channel.losses && self.random.per_mille(self.channel.loss_per_mille) {
                self.lost += 1;
                continue;
            }
            self.sides[from].carried[bytes.clone()].fill(true);
            let jitter = Span::from_ps(self.random.below(self.channel.jitter.as_ps() + 1));
            let marked = segment.ecn.is_capable() && self.random.per_mille(self.channel.mark_per_mille);
            self.segments.push(Segment { ecn: if marked { Ecn::Ce } else { segment.ecn }, ..segment });
            self.order += 1;
            let at = self.now + self.channel.delay + jitter;
            self.flying.push(Reverse((at, self.order, 1 - from, self.segments.len() - 1)));
        }
    }

    /// Checks that all written bytes were delivered, in order and once, and that both sides were notified of the end.
    pub fn check_delivered(&self) {
        for i in 0..2 {
            let (side, peer) = (&self.sides[i], &self.sides[1 - i]);
            assert_eq!(side.written, side.app.bytes, "side {i} wrote");
            assert_eq!(peer.delivered, side.app.bytes, "delivered from side {i}");
            let acked: u64 = side.events.iter().map(|e| if let Event::Acked { bytes } = e { *bytes } else { 0 }).sum();
            assert_eq!(acked, side.app.bytes, "acknowledged to side {i}");
            let count = |event: Event| side.events.iter().filter(|e| **e == event).count();
            for event in [Event::Connected, Event::PeerClosed, Event::Closed] {
                assert_eq!(count(event), 1, "{event:?} at side {i}: {:?}", side.events);
            }
            assert_eq!(count(Event::Reset) + count(Event::TimedOut), 0, "side {i}: {:?}", side.events);
            assert_eq!(side.endpoint.state(), State::Closed, "side {i}");
        }
    }
}
