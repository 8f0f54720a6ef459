//! The rate at which packets leave: configured, with a guard, or estimated.

use cellway_units::{Bits, Rate, Span, Time};

use super::Gateway;
use crate::config::{GatewayConfig, GuardMode};
use crate::guard::Guard;
use crate::pacer::Pacers;
use crate::recovery::Sent;
use cellway_delivery::Bottleneck;

impl Gateway {
    /// Returns the bandwidth of the bottleneck link: the configured rate, or the estimate.
    pub fn rate(&self) -> Rate {
        self.line.as_ref().map_or(self.config().rate, Bottleneck::estimate)
    }
    /// Returns the rate at which packets leave: that of the bottleneck link, or less while the guard acts.
    pub fn sending_rate(&self) -> Rate {
        self.guard.as_ref().map_or_else(|| self.rate(), Guard::rate)
    }
    /// Returns the rate that fits, while the configured one is above what the path carries; see
    /// [`GatewayConfig::guard`].
    pub fn fits(&self) -> Option<Rate> {
        self.guard.as_ref().and_then(Guard::fits)
    }
    /// Sets the reaction to a configured rate that is too high. A change to or from [`GuardMode::Off`] takes effect at
    /// the next [`Gateway::set_transport`].
    pub fn set_guard(&mut self, now: Time, guard: GuardMode) {
        self.relay.config.guard = guard;
        self.configure_line(now);
    }
    /// Returns the highest rate at which packets leave now, and the estimated one.
    fn rates(&self) -> (Rate, Option<Rate>) {
        let most = self.guard.as_ref().map_or(self.config().rate, Guard::rate);
        (most, self.line.as_ref().map(Bottleneck::rate))
    }
    /// Drops the state of the path.
    pub(super) fn forget_line(&mut self) {
        (self.line, self.guard, self.owed, self.full) = (unknown(self.config()), guard(self.config()), 0, false);
        let (most, estimated) = self.rates();
        self.pacers = Pacers::new(most, estimated, self.config().slack);
    }
    /// Takes the round-trip time of the transport's handshake.
    pub(super) fn measured(&mut self, rtt: Span) {
        if let Some(line) = &mut self.line {
            line.measured(rtt);
        }
    }
    /// Applies another rate or another largest packet.
    pub(super) fn configure_line(&mut self, now: Time) {
        let config = &self.relay.config;
        self.recovery.configure(config);
        if let Some(line) = &mut self.line {
            line.configure(config.rate, config.wire.bits(config.mtu.0 as u32));
        }
        if let Some(guard) = &mut self.guard {
            guard.configure(now, config.rate, config.guard == GuardMode::Acts);
        }
        self.follow_rate();
    }
    /// Notes that no frame waited although the link was free: the next samples of the rate are limited by the
    /// application.
    pub(super) fn nothing_left(&mut self) {
        if let Some(line) = &mut self.line {
            line.nothing_left();
        }
    }
    /// Records the packet that was sent last, of `bits`, if it is ack-eliciting.
    pub(super) fn asked(&mut self, now: Time, bits: Bits) {
        self.owed = self.owed.saturating_sub(1);
        let Some(sent) = self.recovery.last() else { return };
        if let Some(line) = &mut self.line {
            sent.stamp = Some(line.sent(now, bits));
            self.follow_rate();
        } else if let Some(guard) = &mut self.guard {
            sent.bits = bits;
            guard.sent(bits);
        }
    }
    /// Counts a packet that was acknowledged.
    pub(super) fn arrived(&mut self, sent: &Sent) {
        self.owed = 0;
        if let (Some(line), Some(stamp)) = (&mut self.line, &sent.stamp) {
            line.acked(self.recovery.answered(), stamp);
        } else if let Some(guard) = &mut self.guard {
            guard.acked(sent.bits);
        }
    }
    /// Counts a packet that was declared lost.
    pub(super) fn missing(&mut self, sent: &Sent) {
        if let (Some(line), Some(stamp)) = (&mut self.line, &sent.stamp) {
            line.lost(stamp);
        } else if let Some(guard) = &mut self.guard {
            guard.lost(sent.bits);
        }
    }
    /// Passes on late acknowledgements of packets that were declared lost.
    pub(super) fn take_late(&mut self, now: Time) {
        while let Some(late) = self.recovery.next_late() {
            if let (Some(line), Some(stamp)) = (&mut self.line, &late.stamp) {
                line.acked_late(now, stamp);
            } else if let Some(guard) = &mut self.guard {
                guard.acked_late(late.bits);
            }
        }
    }
    /// Ends the processing of an acknowledgement; `round_trip` is that of the newest packet, if it is newly
    /// acknowledged.
    pub(super) fn learn(&mut self, now: Time, round_trip: Option<Span>) {
        if let Some(line) = &mut self.line {
            line.learn(now, round_trip);
        } else if let (Some(guard), Some(round_trip)) = (&mut self.guard, round_trip) {
            guard.learn(now, round_trip);
        } else {
            return;
        }
        self.follow_rate();
    }
    fn follow_rate(&mut self) {
        let (most, estimated) = self.rates();
        self.pacers.set_rates(most, estimated);
    }
}

/// Returns the initial estimate of a bottleneck link, if the rate is to be estimated.
pub(super) fn unknown(config: &GatewayConfig) -> Option<Bottleneck> {
    config.auto.then(|| Bottleneck::new(config.rate, config.wire.bits(config.mtu.0 as u32), config.ack_every))
}

/// Creates the guard of a configured rate. A reliable transport needs none: its own congestion control finds the rate.
pub(super) fn guard(config: &GatewayConfig) -> Option<Guard> {
    let wanted = !config.auto && !config.reliable && config.guard != GuardMode::Off;
    wanted.then(|| Guard::new(config.rate, config.guard == GuardMode::Acts))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Ack, FlowId, Frame, Output, Request, TpPacket, Window};
    use cellway_units::Bytes;

    #[test]
    fn the_guard_counts_bits_sent_acknowledged_and_lost() {
        let config = GatewayConfig {
            guard: GuardMode::Reports,
            window: Window::Fixed(Bytes(100_000)),
            payload: Bytes(1_000),
            mtu: Bytes(1_500),
            ..GatewayConfig::new(Rate::from_bps(1_000_000_000))
        };
        let (mut gateway, mut out, flow) = (Gateway::new(config).unwrap(), Output::default(), FlowId(0));
        let request = Request { early: false, ..Request::UNNAMED };
        gateway.incoming(Time::ZERO, flow, Arc::new(request), &mut out);
        let receive = |gateway: &mut Gateway, number, ms, frames| {
            gateway.receive(Time::ZERO + Span::from_ms(ms), &TpPacket { number, frames }, &mut Output::default());
        };
        let ack = |ranges: Vec<(u64, u64)>| vec![Frame::Ack(Ack { ranges, delay: Span::ZERO, sent: None })];
        receive(&mut gateway, 0, 10, ack(vec![(0, 0)]));
        receive(&mut gateway, 1, 10, vec![Frame::Accepted { flow, limit: 100_000 }]);
        gateway.received(Time::ZERO + Span::from_ms(11), flow, 20_000, &mut out);
        while let Some((at, _)) = gateway.deadline().filter(|(at, _)| *at < Time::ZERO + Span::from_ms(15)) {
            gateway.wake(at, &mut out);
        }
        let [sent, opened, lost] = gateway.guard.as_ref().map(Guard::seen).unwrap();
        assert!(opened > 0 && sent > opened && lost == 0);
        // The first ten packets with data are lost.
        let last = gateway.stats().packets_sent - 1;
        assert!(last >= 15, "{last}");
        receive(&mut gateway, 2, 40, ack(vec![(last - 4, last)]));
        let [_, arrived, lost] = gateway.guard.as_ref().map(Guard::seen).unwrap();
        assert!(arrived > opened && lost > arrived - opened, "{arrived} {opened} {lost}");
    }
}
