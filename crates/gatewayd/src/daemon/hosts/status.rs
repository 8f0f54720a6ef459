//! The connections of hosts in `status` and in metrics.

use cellway_gateway::Server;

use super::Hosts;
use super::connection::{Connection, Origin};
use crate::daemon::context::Context;
use crate::peer_id::PeerId;
use crate::status::ConnectionStatus;

/// Counts of the connections over a peer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    pub(crate) connections: u64,
    /// Those that wait for the far host's answer.
    pub(crate) opening: u64,
    /// Bytes held.
    pub(crate) buffered: u64,
}

impl Hosts {
    pub(crate) fn load(&self, peer: PeerId) -> Load {
        let tokens = &self.flows[peer].tokens;
        let flows = tokens.values().filter_map(|token| self.table.get(*token));
        let of_peer = self.table.iter().filter(|connection| connection.peer == peer);
        Load {
            connections: tokens.len() as u64,
            opening: flows.filter(|connection| connection.waits_for_answer()).count() as u64,
            buffered: of_peer.map(|connection| connection.held() as u64).sum(),
        }
    }
    /// Returns the connections that the state machines have not closed.
    pub(crate) fn statuses(&self, cx: &Context) -> Vec<ConnectionStatus> {
        let open = self.table.iter().filter(|connection| connection.closed.is_none());
        open.map(|connection| status(connection, cx)).collect()
    }
}

fn status(connection: &Connection, cx: &Context) -> ConnectionStatus {
    ConnectionStatus {
        peer: cx.config.peers[connection.peer.index()].name.clone(),
        opened_here: connection.origin != Origin::Peer,
        client: connection.request.client,
        server: match &connection.request.server {
            Server::Address(address) => address.to_string(),
            Server::Name(name, port) => format!("{name}:{port}"),
        },
        state: connection.shown_state().name.to_owned(),
        age: cx.now.since(connection.since).as_secs_f64(),
        sent_bytes: connection.from_host.carried(),
        received_bytes: connection.to_host.carried(),
        buffered_bytes: connection.held() as u64,
    }
}
