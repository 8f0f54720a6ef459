//! Counts of connections that are subject to limits.

use std::collections::HashMap;
use std::net::IpAddr;

use super::connection::Connection;

/// Counts connections of hosts here that wait for their servers, or for their clients to acknowledge the answer.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    count: u32,
    /// Those whose clients have not proved their addresses.
    unproven: u32,
}

impl Waiting {
    /// Returns the number of all of them.
    pub(crate) fn len(&self) -> u32 {
        self.count
    }
    /// Returns the number of those whose clients have not proved their addresses.
    pub(crate) fn unproven(&self) -> u32 {
        self.unproven
    }
    /// Counts a connection that begins.
    pub(super) fn begin(&mut self, connection: &mut Connection) {
        if !std::mem::replace(&mut connection.opening, true) {
            self.count += 1;
            self.unproven += u32::from(connection.is_unproven());
        }
    }
    /// Removes a connection that was answered or has ended from the count.
    pub(super) fn end(&mut self, connection: &mut Connection) {
        if std::mem::take(&mut connection.opening) {
            self.count -= 1;
            self.unproven -= u32::from(connection.is_unproven());
        }
    }
}

/// Counts the connections of each client.
#[derive(Debug, Default)]
pub(super) struct Clients(HashMap<IpAddr, u32>);

impl Clients {
    pub(super) fn connections(&self, client: IpAddr) -> u32 {
        self.0.get(&client).copied().unwrap_or(0)
    }
    pub(super) fn enter(&mut self, client: IpAddr) {
        *self.0.entry(client).or_default() += 1;
    }
    pub(super) fn leave(&mut self, client: IpAddr) {
        if let Some(count) = self.0.get_mut(&client) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use cellway_gateway::{FlowId, Request, Server};

    use super::super::connection::Origin;
    use super::super::state::State;
    use super::*;
    use crate::daemon::moment::Moment;
    use crate::peer_id::PeerId;

    fn connection(origin: Origin) -> Connection {
        let request = Request { client: None, server: Server::Name("a.example".into(), 80), early: false };
        Connection::new(PeerId::at(0), FlowId(0), Arc::new(request), origin, State::Closed, Moment::default())
    }

    #[test]
    fn each_connection_counts_once() {
        let mut waiting = Waiting::default();
        let mut all = [Origin::Intercepted, Origin::Forward, Origin::Proved].map(connection);
        for connection in &mut all {
            waiting.begin(connection);
            waiting.begin(connection);
        }
        assert_eq!((waiting.len(), waiting.unproven()), (3, 1));
        for connection in &mut all {
            waiting.end(connection);
            waiting.end(connection);
        }
        assert_eq!((waiting.len(), waiting.unproven()), (0, 0));
    }

    #[test]
    fn a_client_without_connections_takes_no_memory() {
        let mut clients = Clients::default();
        let client = IpAddr::from([192, 0, 2, 1]);
        clients.enter(client);
        clients.enter(client);
        clients.leave(client);
        assert_eq!(clients.connections(client), 1);
        clients.leave(client);
        assert!(clients.connections(client) == 0 && clients.0.is_empty());
    }
}
