//! Settings of single ports and channels, before or during a run.

use cellway_units::{Probability, Rate, Span, Time};

use super::Fabric;
use crate::calendar::Event;
use crate::ids::{ChannelId, PortId};
use crate::loss::RandomBits;
use crate::policer::{Policer, PolicerSpec};
use crate::port::Port;
use crate::server::CellServer;
use crate::shaper::ShaperSpec;

impl<B: Clone> Fabric<B> {
    /// Shapes the cells of `channel` as they leave the queue at `port`, which must be on its path; replaces an existing
    /// shaper. A cell that waits already leaves at its old time.
    pub fn shape(&mut self, port: PortId, channel: ChannelId, spec: ShaperSpec) {
        let (server, slot) = self.queue_of(port, channel);
        server.gate_mut(slot).shape(spec.gcra());
        self.decides_anew(port);
    }

    /// Changes the peak rate (bit/s of whole cells, above zero) of the shaper of `channel` at `port`. The remaining
    /// spacing of the last cell is kept as an amount of data; a cell that waits for its release keeps the earlier of
    /// old and new. Returns true if there is a shaper.
    pub fn set_shaper_rate(&mut self, now: Time, port: PortId, channel: ChannelId, peak: Rate) -> bool {
        self.stop_windows();
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
        self.decides_anew(port);
    }

    /// Changes the rate of a line (bit/s), above zero: of cells from the next one on; of packets until the next change of the
    /// line's schedule, the rest of the packet on the line included. Outages stay as they are.
    pub fn set_line_rate(&mut self, now: Time, port: PortId, rate: Rate) {
        self.change_port(now, port, |port| port.set_rate(now, rate));
    }

    /// Changes the delay of the packets that leave a line from now on, until the next change of the link's schedule, without
    /// its random part. Those behind the line keep theirs, and none overtakes them unless packets may overtake anyway.
    ///
    /// # Panics
    ///
    /// If the line sends cells, which have one delay.
    pub fn set_link_delay(&mut self, now: Time, port: PortId, delay: Span) {
        self.change_port(now, port, |port| port.set_delay(now, delay));
    }

    /// Has the units that leave a line from now on lost with this probability, independently of each other. They draw from the
    /// present source of the link, or from `stream` if it has none. Outages and listed losses stay as they are.
    pub fn set_link_loss(&mut self, now: Time, port: PortId, chance: Probability, stream: impl RandomBits) {
        self.change_port(now, port, |port| port.set_loss(chance, stream));
    }

    /// Changes a port whose line may send a packet, of which the calendar and the link may have expected another end.
    fn change_port(&mut self, now: Time, id: PortId, change: impl FnOnce(&mut Port)) {
        self.stop_windows();
        let port = &mut self.ports[id.0 as usize];
        let is_held_back = port.hold_back(now);
        change(port);
        if is_held_back {
            let (leaves, arrivals) = port.awaited();
            self.calendar.remove(Event::Departure(id.0));
            self.calendar.remove(Event::Arrival(id.0));
            self.calendar.add(leaves, Event::Departure(id.0));
            arrivals.for_each(|at| self.calendar.add(at, Event::Arrival(id.0)));
        }
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
