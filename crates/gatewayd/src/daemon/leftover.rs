//! Memory of connections that the state machine has closed while their hosts still read the last bytes.

use cellway_units::Bytes;

use super::Daemon;
use super::link::METADATA;

impl Daemon {
    /// Updates the memory counted for a connection, if the state machine has closed it.
    pub(crate) fn count_leftover(&mut self, token: u64) {
        let Some(flow) = self.table.get_mut(token).filter(|flow| flow.forgotten) else { return };
        let leftover = flow.memory() + METADATA;
        let before = std::mem::replace(&mut flow.leftover, leftover);
        let count = &mut self.links[flow.peer].leftover;
        *count = *count - before + leftover;
    }
    /// Reports the memory to each state machine for which it has changed.
    pub(crate) fn report_leftover(&mut self) {
        for peer in 0..self.links.len() {
            let leftover = Bytes(self.links[peer].leftover);
            if self.links[peer].machine.leftover() != leftover {
                self.machine(peer, |machine, now, out| machine.set_leftover(now, leftover, out));
                self.settle();
            }
        }
    }
}
