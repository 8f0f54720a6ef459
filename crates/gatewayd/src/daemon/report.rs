//! What a daemon tells of itself.

use cellway_gateway::Server;

use super::Daemon;
use super::flow::{Origin, Stage};
use crate::control::{ConnectionStatus, PeerStatus, Snapshot};

impl Daemon {
    /// How it stands, with a line for each connection if so wished.
    pub(crate) fn snapshot(&mut self, connections: bool) -> Snapshot {
        self.read_drops();
        let peers = (0..self.links.len()).map(|peer| self.peer_status(peer)).collect();
        let lines = || self.table.iter().filter(|flow| !flow.forgotten).map(|flow| self.connection_status(flow));
        Snapshot {
            name: self.config.name.clone(),
            uptime: self.seconds_since(self.start.0),
            peers,
            silent: u64::from(self.tally.silent),
            receive_drops: self.drops.total,
            longest_pass: self.tally.longest_pass as f64 / 1e9,
            long_passes: self.tally.long_passes,
            connections: if connections { lines().collect() } else { Vec::new() },
            counters: self.tally.counters(),
        }
    }
    fn seconds_since(&self, ns: u64) -> f64 {
        self.now.saturating_sub(ns) as f64 / 1e9
    }
    fn peer_status(&mut self, peer: usize) -> PeerStatus {
        let transport = self.peering.status(peer);
        let link = &self.links[peer];
        let stats = link.machine.stats();
        let flows = || link.flows.values().filter_map(|token| self.table.get(*token));
        let opening = flows().filter(|flow| flow.stage != Stage::Open).count() as u64;
        let up = link.up && self.is_taken(peer);
        PeerStatus {
            name: link.name.clone(),
            up,
            transport: transport.transport.filter(|_| up).map_or_else(String::new, |t| t.name().to_owned()),
            address: transport.address.filter(|_| up),
            why_down: match link.up {
                false => why_down(&link.why_down, &transport.tried),
                true if up => link.why_down.clone(),
                true => "the rules of the kernel have not followed yet".to_owned(),
            },
            why_tls: if up { transport.tried } else { String::new() },
            downs: link.downs,
            unresponsive: link.machine.is_unresponsive(),
            stalls: link.stalls,
            rtt: link.machine.rtt().as_secs_f64(),
            payload: link.payload as u64,
            rate: link.machine.rate().as_bps() as f64,
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
        }
    }
    fn connection_status(&self, flow: &super::Flow) -> ConnectionStatus {
        let (sent_bytes, received_bytes) = flow.carried();
        ConnectionStatus {
            peer: self.links[flow.peer].name.clone(),
            opened_here: !matches!(flow.origin, Origin::Peer),
            client: flow.request.client,
            server: match &flow.request.server {
                Server::Address(address) => address.to_string(),
                Server::Name(name, port) => format!("{name}:{port}"),
            },
            state: flow.state().to_owned(),
            age: self.seconds_since(flow.since),
            sent_bytes,
            received_bytes,
            buffered_bytes: flow.held() as u64,
        }
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
