//! Opening conversations: channels, their queues and their share of the buffers.

use super::{Conversation, Fabric, Ingress, NodeId};
use crate::channel::{ChannelId, NextHop};
use crate::link::Framing;
use crate::port::PortId;
use crate::reassembly::Reassembly;

/// A conversation between two hosts, with the path its cells take each way.
#[derive(Clone, Copy, Debug)]
pub struct ConversationSpec<'a> {
    /// Its number, from 0 and dense.
    pub conversation: u32,
    /// Its type, for [`crate::Multiplexing::PerType`].
    pub kind: u32,
    /// The two hosts.
    pub hosts: [NodeId; 2],
    /// The ATM ports from the first host's router to the second's, and back. Both empty if the
    /// hosts share a router.
    pub paths: [&'a [PortId]; 2],
}

/// Why a network cannot be put together as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FabricError {
    /// A host with no link, or with several.
    #[error("host {host} has {links} links; it needs exactly one, with packet framing, to a router")]
    HostLinks {
        /// The host's number.
        host: u32,
        /// Its links.
        links: usize,
    },
    /// A path that does not lead where it should over ATM links.
    #[error("the path of conversation {conversation} breaks at port {port}: {why}")]
    BrokenPath {
        /// The conversation.
        conversation: u32,
        /// Where.
        port: u32,
        /// How.
        why: &'static str,
    },
}

impl<B: Clone> Fabric<B> {
    /// Opens a conversation: gives it channels by the multiplexing policy and its share of the
    /// buffers on the way.
    pub fn open(&mut self, spec: ConversationSpec<'_>) -> Result<(), FabricError> {
        for host in spec.hosts {
            let links = self.ports.iter().filter(|p| p.node == host).count();
            if links != 1 || !self.access.contains_key(&host) {
                return Err(FabricError::HostLinks { host: host.0, links });
            }
        }
        let index = spec.conversation as usize;
        if index >= self.conversations.len() {
            self.conversations.resize(index + 1, Conversation::default());
        }
        for (path, [from, to]) in [(spec.paths[0], spec.hosts), (spec.paths[1], [spec.hosts[1], spec.hosts[0]])] {
            self.check_path(spec.conversation, path, from, to)?;
            let [_, last] = self.access[&to];
            self.port_mut(last).add_conversation(spec.conversation, 0);
            let (Some(&first), Some(&end)) = (path.first(), path.last()) else { continue };
            let key = (first, end, self.multiplexing.key(spec.conversation, spec.kind));
            let (_, slots) = match self.channels.get(&key) {
                Some(known) => known.clone(),
                None => {
                    let new = self.add_channel(path);
                    self.channels.insert(key, new.clone());
                    new
                }
            };
            for (&port, &slot) in path.iter().zip(&slots) {
                self.port_mut(port).add_conversation(spec.conversation, slot);
            }
            self.conversations[index].towards.push((to, Ingress { port: first, slot: slots[0] }));
        }
        Ok(())
    }

    fn check_path(&self, conversation: u32, path: &[PortId], from: NodeId, to: NodeId) -> Result<(), FabricError> {
        let mut at = self.port(self.access[&from][0]).to;
        for &id in path {
            let port = self.port(id);
            let broken = |why| Err(FabricError::BrokenPath { conversation, port: id.0, why });
            if port.node != at {
                return broken("it does not start where the last one ended");
            }
            if port.framing() != Framing::Atm {
                return broken("it does not carry cells");
            }
            at = port.to;
        }
        if at != self.port(self.access[&to][0]).to {
            let port = path.last().map_or(0, |p| p.0);
            return Err(FabricError::BrokenPath { conversation, port, why: "it does not end at the host's router" });
        }
        Ok(())
    }

    fn add_channel(&mut self, path: &[PortId]) -> (ChannelId, Vec<u32>) {
        let channel = ChannelId(self.reassembly.len() as u32);
        self.reassembly.push(Reassembly::default());
        let slots: Vec<u32> = path.iter().map(|&port| self.port_mut(port).add_channel(channel)).collect();
        for (i, &port) in path.iter().enumerate() {
            let next = match path.get(i + 1) {
                Some(&port) => NextHop::Forward { port, slot: slots[i + 1] },
                None => NextHop::Reassemble,
            };
            let table = &mut self.port_mut(port).channels;
            table.resize(channel.0 as usize, NextHop::Unknown);
            table.push(next);
        }
        (channel, slots)
    }
}
