//! One gateway, and a script of the events of its peer and the local TCP.

use std::sync::Arc;

use cellway_gateway::{Ack, Action, FlowId, Frame, Gateway, GatewayConfig, Output, Reason, Request, TpPacket, Window};
use cellway_units::{Bytes, Rate, Span, Time};

/// The flow of most scripts.
pub const FLOW: FlowId = FlowId(2);
/// Its window.
pub const WINDOW: u64 = 4000;

/// One gateway at 1 Gbit/s and a script of the peer: packets take negligible time on the link.
pub struct Script {
    pub gateway: Gateway,
    pub now: Time,
    pub next: u64,
    /// Bytes that need not be held any more.
    pub released: u64,
    pub out: Output,
}

pub fn config() -> GatewayConfig {
    GatewayConfig {
        window: Window::Fixed(Bytes(WINDOW)),
        payload: Bytes(1000),
        mtu: Bytes(1500),
        ..GatewayConfig::new(Rate::from_bps(1_000_000_000))
    }
}

impl Script {
    pub fn new() -> Script {
        Script::with(config())
    }
    pub fn with(config: GatewayConfig) -> Script {
        let gateway = Gateway::new(config).unwrap();
        Script { gateway, now: Time::ZERO, next: 0, released: 0, out: Output::default() }
    }
    /// Calls for an event of the local side. Returns the frames and actions that follow at once.
    pub fn local(&mut self, call: impl FnOnce(&mut Gateway, Time, &mut Output)) -> (Vec<Frame>, Vec<Action>) {
        self.now += Span::from_ms(1);
        call(&mut self.gateway, self.now, &mut self.out);
        self.flush()
    }
    /// Delivers `frames` of the peer in one packet.
    pub fn peer(&mut self, frames: &[Frame]) -> (Vec<Frame>, Vec<Action>) {
        self.now += Span::from_ms(1);
        let packet = TpPacket { number: self.next, frames: frames.to_vec() };
        self.next += 1;
        self.gateway.receive(self.now, &packet, &mut self.out);
        self.flush()
    }
    /// Lets the pacer run for half a millisecond.
    pub fn flush(&mut self) -> (Vec<Frame>, Vec<Action>) {
        let until = self.now + Span::from_us(500);
        while let Some((at, _)) = self.gateway.deadline().filter(|d| d.0 <= until) {
            self.now = self.now.max(at);
            self.gateway.wake(self.now, &mut self.out);
        }
        let Output { packets, mut actions } = std::mem::take(&mut self.out);
        actions.retain(|action| match *action {
            Action::Released { bytes, .. } => {
                self.released += bytes;
                false
            }
            _ => true,
        });
        let frames = packets.into_iter().flat_map(|p| p.frames).filter(|f| !matches!(f, Frame::Ack(_)));
        (frames.collect(), actions)
    }
    /// Wakes the gateway at its deadlines until `end`; returns all frames and actions.
    pub fn run_until(&mut self, end: Time) -> (Vec<Frame>, Vec<Action>) {
        let mut all = NOTHING;
        while let Some((at, _)) = self.gateway.deadline().filter(|d| d.0 <= end) {
            self.now = self.now.max(at);
            self.gateway.wake(self.now, &mut self.out);
            let (frames, actions) = self.flush();
            all.0.extend(frames);
            all.1.extend(actions);
        }
        self.now = self.now.max(end);
        all
    }
    /// Acknowledges packets `first..=last`.
    pub fn ack(&mut self, first: u64, last: u64) -> (Vec<Frame>, Vec<Action>) {
        self.peer(&[Frame::Ack(Ack { ranges: vec![(first, last)], delay: Span::ZERO, sent: None })])
    }
    pub fn sent(&self) -> u64 {
        self.gateway.stats().packets_sent
    }
    /// Creates a flow that a local host opened and the peer accepted; one packet was sent and acknowledged.
    pub fn opened() -> Script {
        let mut script = Script::new();
        script.local(|g, now, out| g.incoming(now, FLOW, asked(), out));
        script.ack(0, 0);
        let (_, actions) = script.peer(&[Frame::Accepted { flow: FLOW, limit: WINDOW }]);
        assert_eq!(actions, [Action::Accept { flow: FLOW }]);
        script
    }
    /// Creates a flow that the peer opened and the local host accepted.
    pub fn accepted() -> Script {
        let mut script = Script::new();
        script.peer(&[open(FLOW, WINDOW)]);
        let (frames, _) = script.local(|g, now, out| g.connected(now, FLOW, out));
        assert_eq!(frames, [Frame::Accepted { flow: FLOW, limit: WINDOW }]);
        script.ack(0, script.sent() - 1);
        script
    }
}

pub fn data(offset: u64, len: u32, fin: bool) -> Frame {
    Frame::Data { flow: FLOW, offset, len, fin, early: false, urgent: false }
}
pub fn asked() -> Arc<Request> {
    Arc::new(Request::UNNAMED)
}
pub fn open(flow: FlowId, limit: u64) -> Frame {
    Frame::Open { flow, limit, lease: None, request: asked() }
}
pub fn refused(flow: FlowId, reason: Reason) -> Frame {
    Frame::Refused { flow, reason }
}
pub fn reset(flow: FlowId, at: u64, reason: Reason) -> Frame {
    Frame::Reset { flow, at, reason }
}
pub fn connect(flow: FlowId) -> Action {
    Action::Connect { flow, request: asked() }
}
pub fn closed(flow: FlowId, reason: Option<Reason>) -> Action {
    Action::Closed { flow, reason }
}
/// No frames, no actions.
pub const NOTHING: (Vec<Frame>, Vec<Action>) = (Vec::new(), Vec::new());
