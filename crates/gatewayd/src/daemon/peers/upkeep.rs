//! The work of every pass for a peer: deadlines, the backlog of the transport, and the octets that it sends in addition
//! to packets.

use cellway_gateway::GatewayConfig;
use cellway_units::{Bits, Span};

use super::Peers;
use super::settings::settings;
use crate::config::Config;
use crate::daemon::context::Context;
use crate::daemon::hosts::Hosts;
use crate::daemon::moment::Moment;
use crate::error::Error;
use crate::peer_id::PeerId;

/// Octets that may wait in the transport before the state machine sends no more: TLS over TCP can be slower than the rate.
const MOST_BACKLOG: usize = 256 * 1024;
/// The age at which a connection to a peer is made anew, as state machines count time in 64 bits.
const OLDEST: Span = Span::from_secs(200 * 86_400);
/// Bits of a cell for each octet of its payload, as a fraction (ITU-T I.361: 53 octets carry 48).
const CELL: (i64, i64) = (53, 48);
/// Most octets that a state machine may have counted and the transport not sent: packets in its queue, and headers that
/// were shorter than assumed.
const MOST_AHEAD: i64 = 1 << 20;

impl Peers {
    /// Calls the state machine of a peer if its deadline is over, or if the backlog of the transport requires it.
    pub(crate) fn wake(&mut self, peer: PeerId, hosts: &mut Hosts, cx: &mut Context) {
        let backlog = self.transport.backlog(peer);
        let link = &mut self.links[peer];
        let (now, behind) =
            (link.time(cx.now), link.detached || backlog > if link.behind { MOST_BACKLOG / 2 } else { MOST_BACKLOG });
        if behind != link.behind {
            link.behind = behind;
            self.call(peer, hosts, cx, |gateway, now, out| gateway.hold(now, behind, out));
        }
        if now.as_ps() > OLDEST.as_ps() {
            self.transport.abandon(peer, self.instant(cx.now), "its clock has run for 200 days and begins anew");
        }
        if self.links[peer].gateway.deadline().is_some_and(|(at, _)| at <= now) {
            self.call(peer, hosts, cx, |gateway, now, out| gateway.wake(now, out));
        }
    }
    /// Reports the memory of connections that the state machine has closed, if it has changed.
    pub(crate) fn report_leftover(&mut self, peer: PeerId, hosts: &mut Hosts, cx: &mut Context) {
        let leftover = hosts.leftover(peer);
        if self.links[peer].gateway.leftover() != leftover {
            self.call(peer, hosts, cx, |gateway, now, out| gateway.set_leftover(now, leftover, out));
        }
    }
    /// Charges each state machine for the octets that the transport has sent and it has not counted.
    pub(crate) fn charge(&mut self, now: Moment) {
        for (peer, link) in self.links.iter_mut() {
            if !link.up {
                continue;
            }
            let octets = self.transport.octets(peer);
            let sent = octets - link.seen_octets;
            link.seen_octets = octets;
            link.line_octets += sent;
            link.uncounted = (link.uncounted + sent as i64).max(-MOST_AHEAD);
            if link.uncounted > 0 {
                let bits = link.uncounted * 8;
                let bits = if link.cells { bits * CELL.0 / CELL.1 } else { bits };
                link.gateway.charge(link.time(now), Bits(bits as u64));
                link.uncounted = 0;
            }
        }
    }
    /// Applies a configuration with the same peers; connections stay.
    ///
    /// # Errors
    /// The transport cannot use it.
    pub(crate) fn reload(&mut self, config: &Config, hosts: &mut Hosts, cx: &mut Context) -> Result<(), Error> {
        self.transport.reload(config, self.instant(cx.now))?;
        for (place, peer) in config.peers.iter().enumerate() {
            let GatewayConfig { rate, guard, bypass, .. } = settings(peer, config);
            self.call(PeerId::at(place), hosts, cx, |gateway, now, out| {
                gateway.set_guard(now, guard);
                gateway.set_bypass(bypass);
                // Classes that stay the same keep their deficits and pacers.
                if !gateway.classes().map(|(class, _)| class).eq(peer.classes.as_slice()) {
                    gateway.set_classes(now, peer.classes.clone(), out);
                }
                gateway.set_rate(now, rate, out);
            });
        }
        Ok(())
    }
}
