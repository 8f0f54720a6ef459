//! Memory of connections that the state machine has closed while their hosts still read the last bytes.

use cellway_units::Bytes;

use super::Daemon;
use super::link::METADATA;
use super::table::Token;

impl Daemon {
    /// Updates the memory counted for a connection, if the state machine has closed it.
    pub(crate) fn count_leftover(&mut self, token: Token) {
        let Some(connection) = self.table.get_mut(token) else { return };
        let leftover = connection.memory() + METADATA;
        let Some(counted) = &mut connection.closed else { return };
        let before = std::mem::replace(counted, leftover);
        let count = &mut self.links[connection.peer].leftover;
        *count = *count - before + leftover;
    }
    /// Reports the memory to each state machine for which it has changed.
    pub(crate) fn report_leftover(&mut self) {
        for peer in self.links.ids() {
            let leftover = Bytes(self.links[peer].leftover);
            if self.links[peer].machine.leftover() != leftover {
                self.machine(peer, |machine, now, out| machine.set_leftover(now, leftover, out));
                self.settle();
            }
        }
    }
}
