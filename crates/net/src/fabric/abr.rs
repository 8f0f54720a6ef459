//! ABR control loops over the fabric.

use cellway_units::{Rate, Time};

use super::{Fabric, FabricError};
use crate::abr::{AbrParameters, AbrSource};
use crate::abr_port::{AbrPort, AbrSwitchSpec, Loop};
use crate::ids::{ChannelId, PortId};

impl<B: Clone> Fabric<B> {
    /// Closes a control loop around a part of `channel`: a (virtual) source at its queue at `first`, and a
    /// (virtual) destination behind the link of `last`. The cells of the queue, data and RM, leave at ACR. RM
    /// cells come back on `reverse`, which must pass both nodes in the other direction; at the destination
    /// they go in front of its data. A channel turns around the RM cells of one other. TM 4.0 section 5.10.
    pub fn abr(
        &mut self,
        first: PortId,
        channel: ChannelId,
        reverse: ChannelId,
        last: PortId,
        parameters: AbrParameters,
    ) -> Result<(), FabricError> {
        parameters.check()?;
        self.stop_windows();
        let refused = |why| FabricError::BrokenLoop { channel: channel.0, why };
        let ports =
            self.loop_ports(first, channel, last).ok_or(refused("the channel does not lead from first to last"))?;
        let (source, destination) = (self.port(first).node, self.port(last).to);
        let turn = self.leaving(reverse, |node, _| node == destination);
        let turn = turn.ok_or(refused("the reverse channel does not leave the destination's node"))?;
        let home = self.leaving(reverse, |_, to| to == source);
        let home = home.ok_or(refused("the reverse channel does not come to the source's node"))?;

        let [at_source, at_destination] = [(first, channel), (turn, reverse)].map(|(port, c)| self.queue_of(port, c).1);
        let (server, slot) = self.queue_of(turn, reverse);
        if !server.gate_mut(slot).turn_around(channel) {
            return Err(refused("the reverse channel turns around the RM cells of another already"));
        }
        let (server, slot) = self.queue_of(first, channel);
        server.control(slot, AbrSource::new(parameters));
        for port in ports {
            let slot = self.queue_of(port, channel).1;
            self.abr_port(port).control(slot, if port == first { Loop::Begins } else { Loop::Passes });
        }
        let [at_last, at_home] = [(last, channel), (home, reverse)].map(|(port, c)| self.queue_of(port, c).1);
        self.abr_port(last).ends_mut(at_last).destination = Some((turn, at_destination));
        self.abr_port(home).ends_mut(at_home).source = Some((first, at_source));
        self.joined.entry(channel).or_default().push(reverse);
        self.joined.entry(reverse).or_default().push(channel);
        Ok(())
    }

    /// Sets the marking of all ports over which control loops run. Without a call: EFCI from 64 cells on.
    pub fn set_abr_switch(&mut self, spec: AbrSwitchSpec) {
        self.abr_switch = spec;
        for port in &mut self.ports {
            let line = port.rate();
            if let Some(abr) = port.cells_mut().and_then(|cells| cells.abr.as_mut()) {
                abr.set(spec, line);
            }
        }
    }

    /// Returns ACR (bit/s of whole cells) of the source of `channel` at `port`; `None` if there is none.
    pub fn abr_rate(&self, port: PortId, channel: ChannelId) -> Option<Rate> {
        let server = self.port(port).server()?;
        Some(server.gate(server.slot(channel)?)?.source()?.acr())
    }

    /// Changes PCR of the source of `channel` at `port`; returns true if there is one.
    pub fn set_abr_peak(&mut self, now: Time, port: PortId, channel: ChannelId, peak: Rate) -> bool {
        self.stop_windows();
        let (server, slot) = self.queue_of(port, channel);
        let there = server.gate_mut(slot).set_abr_peak(now, peak);
        server.rate_changed(now, slot);
        self.call(port.0);
        there
    }

    /// Returns the number of RM cells inside the network, in queues, on lines and on links.
    pub fn rm_cells_held(&self) -> usize {
        self.rms.len()
    }

    /// Returns the ports of `channel` from `first` to `last`.
    fn loop_ports(&self, first: PortId, channel: ChannelId, last: PortId) -> Option<Vec<PortId>> {
        let all: Vec<PortId> = self.hops(channel).map(|(port, _)| port).collect();
        let begin = all.iter().position(|&port| port == first)?;
        let end = begin + all[begin..].iter().position(|&port| port == last)?;
        Some(all[begin..=end].to_vec())
    }

    /// Returns the port of `channel` between such nodes.
    fn leaving(&self, channel: ChannelId, between: impl Fn(super::NodeId, super::NodeId) -> bool) -> Option<PortId> {
        let passes = |port: &PortId| between(self.port(*port).node, self.port(*port).to);
        self.hops(channel).map(|(port, _)| port).filter(passes).min()
    }

    fn abr_port(&mut self, port: PortId) -> &mut AbrPort {
        let (spec, port) = (self.abr_switch, self.port_mut(port));
        let line = port.rate();
        let cells = port.cells_mut().expect("control loops run over cell lines only");
        cells.abr.get_or_insert_with(|| Box::new(AbrPort::new(spec, line)))
    }
}
