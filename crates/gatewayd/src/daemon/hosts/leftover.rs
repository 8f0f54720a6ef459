//! Memory of connections that the state machine has closed while their hosts still read the last bytes.

use cellway_units::Bytes;

use super::{Hosts, Token};
use crate::peer_id::PeerId;

/// The memory (bytes) of a connection besides its blocks.
pub(crate) const METADATA: u64 = 3 << 10;

impl Hosts {
    /// Updates the memory counted for a connection, if the state machine has closed it.
    pub(super) fn count_leftover(&mut self, token: Token) {
        let Some(connection) = self.table.get_mut(token) else { return };
        let leftover = connection.memory() + METADATA;
        let Some(counted) = &mut connection.closed else { return };
        let before = std::mem::replace(counted, leftover);
        let count = &mut self.flows[connection.peer].leftover;
        *count = *count - before + leftover;
    }
    /// Returns the memory of such connections of a peer.
    pub(crate) fn leftover(&self, peer: PeerId) -> Bytes {
        Bytes(self.flows[peer].leftover)
    }
}
