//! What the memory of the process still holds for connections that the machine has forgotten: their hosts take their last
//! bytes, at their own pace.

use cellway_units::Bytes;

use super::Daemon;
use super::link::DESCRIPTION;

impl Daemon {
    /// Counts what a connection still takes, if the machine has forgotten it.
    pub(crate) fn count_leftover(&mut self, token: u64) {
        let Some(flow) = self.table.get_mut(token).filter(|flow| flow.forgotten) else { return };
        let leftover = flow.memory() + DESCRIPTION;
        let before = std::mem::replace(&mut flow.leftover, leftover);
        let count = &mut self.links[flow.peer].leftover;
        *count = *count - before + leftover;
    }
    /// Tells each machine how much that is.
    pub(crate) fn tell_leftover(&mut self) {
        for peer in 0..self.links.len() {
            let leftover = Bytes(self.links[peer].leftover);
            if self.links[peer].machine.leftover() != leftover {
                self.machine(peer, |machine, now, out| machine.set_leftover(now, leftover, out));
                self.settle();
            }
        }
    }
}
