//! Closing conversations: their resources are free for later ones.

use super::{Conversation, Fabric, Step};
use crate::ids::{ChannelId, PortId};

impl<B: Clone> Fabric<B> {
    /// Closes a conversation: frees its shares of the buffers, and its channels if no other conversation uses them,
    /// with their shapers, policers and control loops. A later conversation over the same ports and of the same class
    /// gets the same queues; the number may be used again.
    ///
    /// Returns false, and changes nothing, while packets of the conversation are inside the network, or RM cells about
    /// channels that only it uses: try again later. A frame whose end was lost remains in reassembly until the next one
    /// arrives; if nothing else is left of it, it is counted as lost ([`crate::LossCounters::length`]) and dropped. A
    /// conversation that is not open is closed.
    pub fn close(&mut self, conversation: u32) -> bool {
        let Some(Some(known)) = self.conversations.get(conversation as usize) else { return true };
        let channels: Vec<ChannelId> = self.channels_of(&known.steps).collect();
        let mut stranded = channels.clone();
        stranded.retain(|&channel| self.is_stranded(channel, conversation));
        if self.packets.counters(conversation).inside() > stranded.len() as u64 {
            return false;
        }
        let unused = self.unused_without(&channels);
        if !unused.iter().all(|&channel| self.is_drained(channel)) {
            return false;
        }

        for channel in stranded {
            let (last, _) = self.hops(channel).last().expect("a channel has a port");
            let node = self.port(last).to;
            let losses = &mut self.nodes[node.0 as usize].1;
            self.reassembly[channel.0 as usize].give_up(&mut self.packets, losses);
        }
        if let Some(known) = self.conversations[conversation as usize].take() {
            self.give_back(conversation, &known);
        }
        for channel in unused {
            self.free_channel(channel);
        }
        true
    }

    /// Returns true if the end of `channel` holds a packet of the conversation of which no further cell will arrive.
    fn is_stranded(&self, channel: ChannelId, conversation: u32) -> bool {
        let reassembly = &self.reassembly[channel.0 as usize];
        let its_own = reassembly.holds().is_some_and(|frame| self.packets.get(frame).conversation == conversation);
        its_own && reassembly.is_stranded(&self.packets)
    }

    /// Returns the channels without users once a conversation has left `channels`. Those that a control loop joins are
    /// used together: each carries RM cells about the other.
    fn unused_without(&self, channels: &[ChannelId]) -> Vec<ChannelId> {
        let leaves = |channel: ChannelId| channels.iter().filter(|&&c| c == channel).count() as u32;
        let mut unused: Vec<ChannelId> = Vec::new();
        for &channel in channels {
            if unused.contains(&channel) {
                continue;
            }
            let joined = self.joined(channel);
            if joined.iter().all(|&c| self.circuits[c.0 as usize].users == leaves(c)) {
                unused.extend(joined);
            }
        }
        unused
    }

    /// Returns a channel and all that control loops join with it.
    fn joined(&self, channel: ChannelId) -> Vec<ChannelId> {
        let mut all = vec![channel];
        let mut looked_at = 0;
        while let Some(&next) = all.get(looked_at) {
            looked_at += 1;
            for &other in self.joined.get(&next).into_iter().flatten() {
                if !all.contains(&other) {
                    all.push(other);
                }
            }
        }
        all
    }

    /// Returns true if no cell of a channel waits, and no RM cell about it is in flight or waits to be sent back.
    fn is_drained(&self, channel: ChannelId) -> bool {
        let is_drained = |port, slot| self.port(port).server().is_none_or(|server| server.is_drained(slot));
        let empty = self.hops(channel).all(|(port, slot)| is_drained(port, slot));
        empty && self.rms.about(channel) == 0
    }

    /// Frees the shares of a conversation in the buffers on its path.
    fn give_back(&mut self, conversation: u32, known: &Conversation) {
        for step in &known.steps {
            if let &Step::Packet(port) = step {
                self.port_mut(port).remove_conversation(conversation, 0);
            }
        }
        let channels: Vec<ChannelId> = self.channels_of(&known.steps).collect();
        for channel in channels {
            let hops: Vec<(PortId, u32)> = self.hops(channel).collect();
            hops.iter().for_each(|&(port, slot)| self.port_mut(port).remove_conversation(conversation, slot));
            self.circuits[channel.0 as usize].users -= 1;
        }
    }

    /// Makes a channel as good as new, for the next over the same ports.
    fn free_channel(&mut self, channel: ChannelId) {
        let hops: Vec<(PortId, u32)> = self.hops(channel).collect();
        for &(port, slot) in &hops {
            self.port_mut(port).forget_channel(slot);
            self.decides_anew(port);
        }
        let ports: Vec<PortId> = hops.into_iter().map(|(port, _)| port).collect();
        self.reassembly[channel.0 as usize] = Default::default();
        self.joined.remove(&channel);
        let circuit = &mut self.circuits[channel.0 as usize];
        circuit.is_open = false;
        if let Some(share) = circuit.share {
            self.channels.remove(&(ports.clone(), circuit.class, share));
        }
        self.free.entry((ports, circuit.class)).or_default().push(channel);
    }
}
