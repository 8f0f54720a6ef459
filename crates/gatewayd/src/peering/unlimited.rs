//! A congestion controller for QUIC that never limits.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::congestion::{Controller, ControllerFactory};

/// Above 4 GiB quinn-proto also stops pacing.
const WINDOW: u64 = u64::MAX / 2;

/// The gateway's state machine decides the time and the rate at which packets leave; a second controller below it would
/// only delay the packets that the first has sent. QUIC's own packets (handshake, acknowledgements, probes) are few and
/// are charged to that rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unlimited;

impl ControllerFactory for Unlimited {
    fn build(self: Arc<Self>, _now: Instant, _mtu: u16) -> Box<dyn Controller> {
        Box::new(*self)
    }
}

impl Controller for Unlimited {
    fn on_congestion_event(
        &mut self,
        _now: Instant,
        _sent: Instant,
        _is_persistent_congestion: bool,
        _lost_bytes: u64,
    ) {
    }
    fn on_mtu_update(&mut self, _new_mtu: u16) {}
    fn window(&self) -> u64 {
        WINDOW
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(*self)
    }
    fn initial_window(&self) -> u64 {
        WINDOW
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
