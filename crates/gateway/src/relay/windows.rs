//! The bytes that a flow may hold in either direction, as far as the bottleneck link needs them.
//!
//! Bytes consumed from local hosts wait for the link to the peer, at the rate of this gateway. Credit of the peer
//! covers the wait for local hosts and for retransmissions, at the rate of the peer, which the peer announces.

use cellway_units::{Bytes, Rate, Span};
use serde::{Deserialize, Serialize};

use crate::config::{GatewayConfig, LINES, MIN_WINDOW, Window};

/// The bytes that all flows together consume from local hosts, as a multiple of the window: one flow alone gets the
/// window, and each of many gets an equal part of nearly all of it.
const SHARED: (u64, u64) = (3, 2);
/// One flow gets at most this multiple of the bytes that the others leave. With [`SHARED`], `SHARE * (3/2 - 1) = 1`.
const SHARE: u64 = 2;
/// The turns of all flows together take the round-trip time divided by this.
const ROUND: u128 = 8;

/// The windows of flows, and the rates and the round trip on which they depend.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Windows {
    window: Window,
    /// The sending rates of this gateway and of the peer: until the peer has announced it, the upper bound that is
    /// configured here.
    own: Rate,
    peer: Rate,
    pub(super) rtt: Span,
    /// The rate that was announced to the peer.
    told: Option<Rate>,
    /// Most bytes of one flow that are consumed from its host, and that are granted to the peer.
    pub(crate) outbound: u64,
    inbound: u64,
}

impl Windows {
    pub(crate) fn new(config: &GatewayConfig) -> Windows {
        let GatewayConfig { window, rate: own, initial_rtt: rtt, .. } = *config;
        let mut new = Windows { window, own, peer: own, rtt, told: None, outbound: 0, inbound: 0 };
        new.follow();
        new
    }
    fn follow(&mut self) {
        self.outbound = self.window.at(self.own, self.rtt);
        self.inbound = self.window.at(self.peer, self.rtt);
    }
    /// Sets the sending rate of this gateway and the smoothed round-trip time.
    pub(crate) fn set_line(&mut self, rate: Rate, rtt: Span) {
        if (rate, rtt) != (self.own, self.rtt) {
            (self.own, self.rtt) = (rate, rtt);
            self.follow();
        }
    }
    /// Returns the sending rate of this gateway.
    pub(super) fn rate(&self) -> Rate {
        self.own
    }
    /// Sets the sending rate of the peer.
    pub(crate) fn set_peer(&mut self, rate: Rate) {
        self.peer = rate;
        self.follow();
    }

    /// Returns the bytes of its host that a flow may hold when it holds `held` of them and all flows hold `taken`: its
    /// window, but if the window follows the bandwidth no more than twice the remainder of 3/2 windows, and never more
    /// than the remainder. This is the dynamic threshold of Choudhury and Hahne, IEEE/ACM Trans. Networking 6 (2),
    /// 1998, section III.
    pub(crate) fn outbound_share(&self, taken: u64, held: u64) -> u64 {
        match self.window {
            Window::Fixed(bytes) => bytes.0,
            Window::Line { .. } => {
                let all = self.outbound.saturating_mul(SHARED.0) / SHARED.1;
                let left = all.saturating_sub(taken);
                (left * SHARE).min(held + left).min(self.outbound)
            }
        }
    }

    /// Returns the credit (bytes) of the peer for one of `flows` that share its link, of which `arrived` bytes have
    /// arrived in a round trip: an equal part of the window, or as many round trips of arrivals as the window has, so
    /// that all flows together get about two windows. If a flow has not `began`, half of that is enough, as more is
    /// granted when its first bytes arrive.
    pub(crate) fn inbound(&self, began: bool, flows: u64, arrived: u64) -> u64 {
        let Window::Line { .. } = self.window else { return self.inbound };
        let window = if began { self.inbound } else { self.window.at_first(self.peer, self.rtt) };
        (window / flows).max(arrived.saturating_mul(LINES)).max(MIN_WINDOW).min(window)
    }

    /// Returns the number of data frames of `payload` that can be sent in an eighth of the round-trip time, which is
    /// the longest time that a flow waits for its next turn.
    pub(crate) fn round(&self, payload: Bytes) -> u32 {
        let bits = u128::from(self.own.as_bps()) * u128::from(self.rtt.as_ps()) / ROUND / 1_000_000_000_000;
        u32::try_from(bits / (8 * u128::from(payload.0))).unwrap_or(u32::MAX)
    }

    /// Returns true if the rate differs by an eighth or more from the one that was announced to the peer.
    pub(crate) fn owes_rate(&self) -> bool {
        self.told.is_none_or(|told| self.own.as_bps().abs_diff(told.as_bps()) > told.as_bps() / 8)
    }
    /// Returns the rate to announce to the peer now.
    pub(crate) fn announce(&mut self) -> Rate {
        self.told = Some(self.own);
        self.own
    }
    /// Records that the frame with `rate` was lost. Returns true if it was the last one.
    pub(crate) fn announcement_lost(&mut self, rate: Rate) -> bool {
        self.told.take_if(|told| *told == rate).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn windows(mbps: u64) -> Windows {
        let window = Window::Line { most: Bytes(64 << 20) };
        let mut windows =
            Windows::new(&GatewayConfig { window, ..GatewayConfig::new(Rate::from_bps(mbps * 1_000_000)) });
        windows.set_line(Rate::from_bps(mbps * 1_000_000), Span::from_ms(600));
        windows
    }

    #[test]
    fn the_window_of_the_peer_is_divided_among_flows() {
        let windows = windows(100);
        assert_eq!(
            [1, 8, 64, 10_000].map(|flows| windows.inbound(true, flows, 0)),
            [30_000_000, 3_750_000, 468_750, 65_536]
        );
        assert_eq!([1, 8].map(|flows| windows.inbound(false, flows, 0)), [15_000_000, 1_875_000]);
        // A flow that takes more of the link than others, and one that takes all of it.
        assert_eq!(
            [2, 4, 9].map(|part| windows.inbound(true, 8, part * 1_000_000)),
            [8_000_000, 16_000_000, 30_000_000]
        );
        let window = Window::Fixed(Bytes(1_000));
        let fixed = Windows::new(&GatewayConfig { window, ..GatewayConfig::new(Rate::from_bps(1_000_000)) });
        assert_eq!(fixed.inbound(false, 8, 0), 1_000);
    }

    #[test]
    fn each_direction_follows_the_rate_of_its_sender() {
        let mut windows = windows(5);
        assert_eq!((windows.outbound, windows.inbound(true, 1, 0)), (1_500_000, 1_500_000));
        windows.set_peer(Rate::from_bps(100_000_000));
        assert_eq!(
            (windows.outbound, windows.inbound(true, 1, 0), windows.inbound(false, 1, 0)),
            (1_500_000, 30_000_000, 15_000_000)
        );
        windows.set_line(Rate::from_bps(10_000_000), Span::from_ms(300));
        assert_eq!((windows.outbound, windows.inbound(true, 1, 0)), (1_500_000, 15_000_000));
    }

    #[test]
    fn flows_share_the_bytes_consumed_from_hosts() {
        let windows = windows(100);
        let window = windows.outbound;
        for flows in [1, 8, 64] {
            // All hold the same and none may take more.
            let mut each = 0;
            while windows.outbound_share(each * flows, each) > each {
                each += 1_000;
            }
            assert!(each * flows >= window && each * flows <= window * 3 / 2 + 1_000 * flows, "{flows}: {each}");
        }
        assert_eq!(windows.outbound_share(u64::MAX, 0), 0);
    }

    #[test]
    fn a_rate_is_announced_after_a_change_of_an_eighth() {
        let mut windows = windows(80);
        let rtt = Span::from_ms(600);
        assert!(windows.owes_rate());
        assert_eq!(windows.announce(), Rate::from_bps(80_000_000));
        windows.set_line(Rate::from_bps(89_000_000), rtt);
        assert!(!windows.owes_rate());
        windows.set_line(Rate::from_bps(91_000_000), rtt);
        assert!(windows.owes_rate());
        let announced = windows.announce();
        assert!(
            !windows.owes_rate()
                && !windows.announcement_lost(Rate::from_bps(1))
                && windows.announcement_lost(announced)
        );
        assert!(windows.owes_rate());
    }
}
