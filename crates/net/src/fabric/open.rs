//! Opening conversations: paths, channels, their queues and their share of the buffers.

use cellway_spec::Framing;
use cellway_spec::NodeKind;

use super::{Conversation, Fabric, Step};
use crate::channel::{self, Class, NextHop};
use crate::ids::{ChannelId, NodeId, PortId};
use crate::reassembly::Reassembly;

/// A conversation between two hosts, with the paths of its packets in each direction.
#[derive(Clone, Copy, Debug)]
pub struct ConversationSpec<'a> {
    /// Its number, from 0 and dense: tables are as long as the largest. One that has been closed may be
    /// used again.
    pub conversation: u32,
    /// Its type, for [`crate::Multiplexing::PerType`].
    pub kind: u32,
    /// The two hosts.
    pub hosts: [NodeId; 2],
    /// All ports from the first host to the second, their own lines included, and back.
    pub paths: [&'a [PortId]; 2],
    /// Conversations with the same number here and the same ports share a channel whatever the policy.
    pub share: Option<u32>,
    /// The service its channels get.
    pub class: Class,
}

/// The reason for which a network cannot be built as specified.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FabricError {
    /// A path that does not lead to its end.
    #[error("the path of conversation {conversation} breaks at port {port}: {why}")]
    BrokenPath {
        /// The conversation.
        conversation: u32,
        /// The port.
        port: u32,
        /// The fault.
        why: &'static str,
    },
    /// An ABR control loop whose parts do not fit.
    #[error("no ABR control loop on channel {channel}: {why}")]
    BrokenLoop {
        /// The channel.
        channel: u32,
        /// The fault.
        why: &'static str,
    },
    /// Parameters of an ABR connection that contradict each other.
    #[error(transparent)]
    Abr(#[from] cellway_spec::Problem),
    /// Two conversations with one number.
    #[error("conversation {conversation} is open already: close it first, or take another number")]
    AlreadyOpen {
        /// The conversation.
        conversation: u32,
    },
    /// A path without a port.
    #[error("conversation {conversation} has no path")]
    NoPath {
        /// The conversation.
        conversation: u32,
    },
}

/// The key of a channel: its ports, its class, and its users.
pub(super) type ChannelKey = (Vec<PortId>, Class, Share);

/// The conversations on one channel: those that requested it, or those of one key of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Share {
    Asked(u32),
    Policy(u32),
}

/// A channel as it was opened.
#[derive(Clone, Debug)]
pub(super) struct Circuit {
    pub(super) key: ChannelKey,
    /// Its queue at each of its ports.
    pub(super) slots: Vec<u32>,
    /// The number of uses by conversations.
    pub(super) users: u32,
    /// The channels that share an ABR control loop with it.
    pub(super) joined: Vec<ChannelId>,
}

impl<B: Clone> Fabric<B> {
    /// Opens a conversation: a channel for each run of ATM ports on its paths, by the multiplexing policy, a forwarding
    /// table, and its share of the buffers on the path.
    pub fn open(&mut self, spec: ConversationSpec<'_>) -> Result<(), FabricError> {
        if self.conversations.get(spec.conversation as usize).is_some_and(Option::is_some) {
            return Err(FabricError::AlreadyOpen { conversation: spec.conversation });
        }
        let [a, b] = spec.hosts;
        self.check_path(spec.conversation, spec.paths[0], a, b)?;
        self.check_path(spec.conversation, spec.paths[1], b, a)?;
        let mut conversation =
            Conversation { hosts: spec.hosts, steps: Default::default(), channels: Default::default() };
        for direction in [0, 1] {
            let stretches: Vec<&[PortId]> =
                spec.paths[direction].chunk_by(|&a, &b| self.is_atm(a) == self.is_atm(b)).collect();
            let atm = stretches.iter().filter(|stretch| self.is_atm(stretch[0])).count();
            let packet: usize = stretches.iter().filter(|stretch| !self.is_atm(stretch[0])).map(|s| s.len()).sum();
            conversation.steps[direction].reserve_exact(atm + packet);
            conversation.channels[direction].reserve_exact(atm);
            for stretch in stretches {
                if !self.is_atm(stretch[0]) {
                    for &port in stretch {
                        self.port_mut(port).add_conversation(spec.conversation, 0);
                        conversation.steps[direction].push(Step::Packet(port));
                    }
                    continue;
                }
                let (channel, slots) = self.channel(stretch, &spec);
                for (&port, &slot) in stretch.iter().zip(&slots) {
                    self.port_mut(port).add_conversation(spec.conversation, slot);
                }
                let step = Step::Cells { port: stretch[0], slot: slots[0] };
                conversation.steps[direction].push(step);
                conversation.channels[direction].push((channel, stretch.to_vec()));
            }
        }
        let index = spec.conversation as usize;
        if index >= self.conversations.len() {
            self.conversations.resize(index + 1, None);
        }
        self.conversations[index] = Some(conversation);
        self.packets.forget(spec.conversation);
        Ok(())
    }

    fn is_atm(&self, port: PortId) -> bool {
        self.port(port).framing() == Framing::Atm
    }

    fn check_path(&self, conversation: u32, path: &[PortId], from: NodeId, to: NodeId) -> Result<(), FabricError> {
        let mut at = from;
        let mut visited = vec![from];
        for (i, &id) in path.iter().enumerate() {
            let port = self.port(id);
            let broken = |why| Err(FabricError::BrokenPath { conversation, port: id.0, why });
            if port.node != at {
                return broken("it does not start where the last one ended");
            }
            if i > 0 && self.kind(at) == NodeKind::Host {
                return broken("hosts do not forward");
            }
            if self.kind(at) == NodeKind::Switch && (i == 0 || !self.is_atm(id) || !self.is_atm(path[i - 1])) {
                return broken("a switch speaks cells only");
            }
            at = port.to;
            if visited.contains(&at) {
                return broken("it comes to a node for the second time");
            }
            visited.push(at);
        }
        match path.last() {
            None => Err(FabricError::NoPath { conversation }),
            Some(_) if at == to => Ok(()),
            Some(&PortId(port)) => {
                Err(FabricError::BrokenPath { conversation, port, why: "it does not end at its host" })
            }
        }
    }

    /// Returns the channel over `path` for the conversation, and its queues; creates one if necessary.
    fn channel(&mut self, path: &[PortId], spec: &ConversationSpec<'_>) -> (ChannelId, Vec<u32>) {
        let share = match spec.share {
            Some(asked) => Share::Asked(asked),
            None => Share::Policy(channel::key(self.multiplexing, spec.conversation, spec.kind)),
        };
        let key = (path.to_vec(), spec.class, share);
        let known = self.channels.get(&key).copied().or_else(|| self.reuse(&key));
        if let Some(channel) = known {
            let circuit = &mut self.circuits[channel.0 as usize];
            circuit.users += 1;
            return (channel, circuit.slots.clone());
        }
        let channel = ChannelId(self.circuits.len() as u32);
        self.reassembly.push(Reassembly::default());
        // From the last port back to the first, since each port's table holds the queue at the next port.
        let mut slots = Vec::with_capacity(path.len());
        let mut next = NextHop::Reassemble(channel);
        for &port in path.iter().rev() {
            let slot = self.port_mut(port).add_channel(channel, spec.class, next);
            next = NextHop::Forward { port, slot };
            slots.push(slot);
        }
        slots.reverse();
        self.channels.insert(key.clone(), channel);
        self.circuits.push(Circuit { key, slots: slots.clone(), users: 1, joined: Vec::new() });
        (channel, slots)
    }

    /// Returns an unused channel over these ports, whose queues and table entries still exist.
    fn reuse(&mut self, key: &ChannelKey) -> Option<ChannelId> {
        let channel = self.free.get_mut(&(key.0.clone(), key.1))?.pop()?;
        self.circuits[channel.0 as usize].key = key.clone();
        self.channels.insert(key.clone(), channel);
        Some(channel)
    }
}
