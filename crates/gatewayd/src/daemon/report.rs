//! What a daemon tells of itself.

use cellway_gateway::{Class, ClassStats, Reason, Server};

use super::Daemon;
use super::connection::{Connection, Origin};
use super::moment::Moment;
use crate::daemon::tally::named;
use crate::peer_id::PeerId;
use crate::status::{ClassStatus, ConnectionStatus, Counters, PeerStatus, Snapshot};

impl Daemon {
    /// How it stands, with a line for each connection if so wished.
    pub(crate) fn snapshot(&mut self, connections: bool) -> Snapshot {
        self.read_drops();
        let peers = self.links.ids().map(|peer| self.peer_status(peer)).collect();
        let lines = || {
            self.table
                .iter()
                .filter(|connection| connection.closed.is_none())
                .map(|connection| self.connection_status(connection))
        };
        Snapshot {
            name: self.config.name.clone(),
            uptime: self.seconds_since(self.start.0),
            peers,
            draining: self.drains().then(|| self.left()),
            opening: u64::from(self.openings.len()),
            silent: u64::from(self.tally.silent),
            receive_drops: self.drops.total,
            longest_pass: self.tally.longest_pass.as_secs_f64(),
            long_passes: self.tally.long_passes,
            connections: if connections { lines().collect() } else { Vec::new() },
            counters: self.counters(),
        }
    }
    /// All counts: those of the daemon, connections that strangers tried, and those of peers that the state machines refused.
    pub(crate) fn counters(&self) -> Counters {
        let mut counters = Counters { strangers: named(self.peering.turned_away()), ..self.tally.counters() };
        for stats in self.links.iter().map(|link| link.machine.stats()) {
            for (reason, count) in Reason::ALL.into_iter().zip(stats.declined_by).filter(|&(_, count)| count > 0) {
                *counters.refused.entry(reason.name().to_owned()).or_default() += count;
            }
        }
        counters
    }
    fn seconds_since(&self, earlier: Moment) -> f64 {
        self.now.since(earlier).as_secs_f64()
    }
    fn peer_status(&mut self, peer: PeerId) -> PeerStatus {
        let transport = self.peering.status(peer);
        let link = &self.links[peer];
        let stats = link.machine.stats();
        let flows = || link.flows.values().filter_map(|token| self.table.get(*token));
        let opening = flows().filter(|flow| flow.waits_for_answer()).count() as u64;
        let not_taken = self.not_taken(peer);
        let up = link.up && not_taken.is_none();
        PeerStatus {
            name: link.name.clone(),
            up,
            transport: transport.transport.filter(|_| up).map_or_else(String::new, |t| t.name().to_owned()),
            address: transport.address.filter(|_| up),
            why_down: match (link.up, not_taken) {
                (false, _) => why_down(&link.why_down, &transport.tried),
                (true, why) => why.unwrap_or_default(),
            },
            why_last_down: link.why_last_down.clone(),
            why_tls: if up { transport.tried } else { String::new() },
            surplus: transport.surplus,
            downs: link.downs,
            unresponsive: link.machine.is_unresponsive(),
            stalls: link.stalls,
            rtt: link.machine.rtt().as_secs_f64(),
            payload: link.payload as u64,
            rate: link.machine.rate().as_bps() as f64,
            sending_rate: link.machine.sending_rate().as_bps() as f64,
            fits: link.machine.fits().map(|rate| rate.as_bps() as f64),
            overloads: link.overloads,
            line_octets: link.line_octets,
            packets_sent: stats.packets_sent,
            packets_received: stats.packets_received,
            packets_lost: stats.packets_lost,
            resent_bytes: stats.resent_bytes,
            sent_bytes: stats.data_bytes - stats.resent_bytes,
            received_bytes: stats.received_bytes,
            buffered_bytes: self.table.iter().filter(|flow| flow.peer == peer).map(|flow| flow.held() as u64).sum(),
            connections: link.flows.len() as u64,
            opening,
            classes: link.machine.classes().map(class_status).collect(),
        }
    }
    fn connection_status(&self, connection: &Connection) -> ConnectionStatus {
        let (sent_bytes, received_bytes) = (connection.from_host.carried(), connection.to_host.carried());
        ConnectionStatus {
            peer: self.links[connection.peer].name.clone(),
            opened_here: connection.origin != Origin::Peer,
            client: connection.request.client,
            server: match &connection.request.server {
                Server::Address(address) => address.to_string(),
                Server::Name(name, port) => format!("{name}:{port}"),
            },
            state: connection.shown_state().name.to_owned(),
            age: self.seconds_since(connection.since),
            sent_bytes,
            received_bytes,
            buffered_bytes: connection.held() as u64,
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

/// Why a peer is down, and what was tried last.
fn why_down(why: &str, tried: &str) -> String {
    if tried.is_empty() || why.contains(tried) { why.to_owned() } else { format!("{why}; {tried}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_tried_is_told() {
        assert_eq!(why_down("silence", ""), "silence");
        assert_eq!(why_down("silence", "QUIC to far: no answer"), "silence; QUIC to far: no answer");
        assert_eq!(why_down("QUIC: none; TLS: none", "TLS: none"), "QUIC: none; TLS: none");
    }
}
