//! The peers in `status` and in metrics.

use cellway_gateway::{Class, ClassStats, Reason};

use super::Peers;
use crate::daemon::hosts::Hosts;
use crate::daemon::tally::named;
use crate::peer_id::PeerId;
use crate::status::{ClassStatus, Counters, PeerStatus};

impl Peers {
    /// Returns the status of a peer. `obstacle` is the reason for which the kernel does not intercept its networks.
    pub(crate) fn status(&self, peer: PeerId, obstacle: Option<String>, hosts: &Hosts) -> PeerStatus {
        let transport = self.transport.status(peer);
        let link = &self.links[peer];
        let (stats, load) = (link.gateway.stats(), hosts.load(peer));
        let up = link.up && obstacle.is_none();
        PeerStatus {
            name: link.name.clone(),
            up,
            transport: transport.transport.filter(|_| up).map_or_else(String::new, |t| t.name().to_owned()),
            address: transport.address.filter(|_| up),
            why_down: match (link.up && !link.detached, obstacle) {
                (false, _) => why_down(&link.why_down, &transport.tried),
                (true, why) => why.unwrap_or_default(),
            },
            why_last_down: link.why_last_down.clone(),
            why_tls: if up { transport.tried } else { String::new() },
            surplus: transport.surplus,
            downs: link.downs,
            detached: link.detached,
            unresponsive: link.gateway.is_unresponsive(),
            stalls: link.stalls,
            rtt: link.gateway.rtt().as_secs_f64(),
            payload: link.payload as u64,
            rate: link.gateway.rate().as_bps() as f64,
            sending_rate: link.gateway.sending_rate().as_bps() as f64,
            fits: link.gateway.fits().map(|rate| rate.as_bps() as f64),
            overloads: link.overloads,
            line_octets: link.line_octets,
            packets_sent: stats.packets_sent,
            packets_received: stats.packets_received,
            packets_lost: stats.packets_lost,
            resent_bytes: stats.resent_bytes,
            sent_bytes: stats.data_bytes - stats.resent_bytes,
            received_bytes: stats.received_bytes,
            buffered_bytes: load.buffered,
            connections: load.connections,
            opening: load.opening,
            classes: link.gateway.classes().map(class_status).collect(),
        }
    }
    /// Adds the refusals of the state machines, and the rejected connections of unauthenticated clients.
    pub(crate) fn count(&self, counters: &mut Counters) {
        counters.strangers = named(self.transport.rejected());
        for stats in self.links.iter().map(|link| link.gateway.stats()) {
            for (reason, count) in Reason::ALL.into_iter().zip(stats.declined_by).filter(|&(_, count)| count > 0) {
                *counters.refused.entry(reason.name().to_owned()).or_default() += count;
            }
        }
    }
}

fn class_status((class, stats): (&Class, ClassStats)) -> ClassStatus {
    ClassStatus {
        name: class.name.to_string(),
        share: class.share.get(),
        ceiling: class.ceiling.map(|ceiling| ceiling.as_bps() as f64),
        connections: stats.flows,
        frames: stats.frames,
        sent_bytes: stats.data_bytes,
        line_octets: stats.line.0 / 8,
        at_ceiling: stats.at_ceiling.as_secs_f64(),
    }
}

/// Returns the reason for which a peer is down, with the last attempts to reach it.
fn why_down(why: &str, tried: &str) -> String {
    if tried.is_empty() || why.contains(tried) { why.to_owned() } else { format!("{why}; {tried}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_attempts_are_shown() {
        assert_eq!(why_down("silence", ""), "silence");
        assert_eq!(why_down("silence", "QUIC to far: no answer"), "silence; QUIC to far: no answer");
        assert_eq!(why_down("QUIC: none; TLS: none", "TLS: none"), "QUIC: none; TLS: none");
    }
}
