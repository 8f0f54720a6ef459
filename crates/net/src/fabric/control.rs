//! Settings of single ports and channels, before or during a run.

use cellway_units::{Rate, Time};

use super::Fabric;
use crate::ids::{ChannelId, PortId};
use crate::policer::{Policer, PolicerSpec};
use crate::server::CellServer;
use crate::shaper::ShaperSpec;

impl<B: Clone> Fabric<B> {
    /// Shapes the cells of `channel` as they leave the queue at `port`, which must be on its path; replaces an existing
    /// shaper. A cell that waits already leaves at its old time.
    pub fn shape(&mut self, port: PortId, channel: ChannelId, spec: ShaperSpec) {
        let (server, slot) = self.queue_of(port, channel);
        server.gate_mut(slot).shape(spec.gcra());
    }

    /// Changes the peak rate (bit/s of whole cells, above zero) of the shaper of `channel` at `port`. The remaining
    /// spacing of the last cell is kept as an amount of data; a cell that waits for its release keeps the earlier of
    /// old and new. Returns true if there is a shaper.
    pub fn set_shaper_rate(&mut self, now: Time, port: PortId, channel: ChannelId, peak: Rate) -> bool {
        let (server, slot) = self.queue_of(port, channel);
        let there = server.gate_mut(slot).set_shaper_rate(now, peak);
        server.rate_changed(now, slot);
        self.call(port.0);
        there
    }

    /// Polices the cells of `channel` as they arrive at the queue at `port`, which must be on its path; replaces an
    /// existing policer.
    pub fn police(&mut self, port: PortId, channel: ChannelId, spec: PolicerSpec) {
        let (_, slot) = self.queue_of(port, channel);
        self.port_mut(port).police(slot, Policer::new(spec));
    }

    /// Changes the rate of a line (bit/s) from the next unit on.
    pub fn set_line_rate(&mut self, now: Time, port: PortId, rate: Rate) {
        self.port_mut(port).set_rate(now, rate);
    }

    /// Records the length of a port's queue at each change from now on; see [`Fabric::watched`].
    pub fn watch(&mut self, port: PortId) {
        self.port_mut(port).watch();
        if !self.watched.contains(&port) {
            self.watched.push(port);
        }
    }

    /// Records when each packet was sent and how long it has waited, for [`Delivery::transit`](crate::Delivery::transit).
    /// No packet may be in the network yet.
    pub fn record_transits(&mut self) {
        self.packets.record_transits();
    }

    /// Returns the changes of the watched queues since the last call, in order of time, those of one instant and port
    /// in their order: the number of units that wait from then on, without the one in service.
    pub fn watched(&mut self) -> Vec<(Time, PortId, u32)> {
        let mut changes = Vec::new();
        for i in 0..self.watched.len() {
            let port = self.watched[i];
            changes.extend(self.port_mut(port).watched().into_iter().map(|(at, length)| (at, port, length)));
        }
        changes.sort_by_key(|&(at, port, _)| (at, port));
        changes
    }

    /// Returns the queues of a port, and the index of `channel` in them.
    pub(super) fn queue_of(&mut self, port: PortId, channel: ChannelId) -> (&mut CellServer, u32) {
        let server = self.ports[port.0 as usize].server_mut().expect("channels have queues at cell lines only");
        let slot = server.slot(channel).expect("the channel's path crosses the port");
        (server, slot)
    }
}
