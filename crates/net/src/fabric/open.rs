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

/// The key of a channel that conversations may share: its ports, its class, and its users.
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
    /// Its first port, and its queue there. Those behind are in the tables of the ports.
    pub(super) first: (PortId, u32),
    pub(super) class: Class,
    /// Its users; `None` if it is of one conversation alone.
    pub(super) share: Option<Share>,
    /// True until it is free for other conversations.
    pub(super) is_open: bool,
    /// The number of uses by conversations.
    pub(super) users: u32,
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
        self.makes_way(spec.paths);
        let steps = spec.paths.map(|path| {
            let segments: Vec<&[PortId]> = path.chunk_by(|&a, &b| self.is_atm(a) == self.is_atm(b)).collect();
            let mut steps = Vec::new();
            for segment in segments {
                if self.is_atm(segment[0]) {
                    let channel = self.channel(segment, &spec);
                    let hops: Vec<(PortId, u32)> = self.hops(channel).collect();
                    let (port, slot) = hops[0];
                    steps.push(Step::Cells { port, slot });
                    hops.iter().for_each(|&(port, slot)| self.port_mut(port).add_conversation(spec.conversation, slot));
                } else {
                    steps.extend(segment.iter().map(|&port| Step::Packet(port)));
                    segment.iter().for_each(|&port| self.port_mut(port).add_conversation(spec.conversation, 0));
                }
            }
            steps
        });
        let second = steps[0].len() as u32;
        let conversation = Conversation { hosts: spec.hosts, steps: steps.concat().into(), second };
        let index = spec.conversation as usize;
        if index >= self.conversations.len() {
            self.conversations.resize_with(index + 1, || None);
        }
        self.conversations[index] = Some(conversation);
        self.packets.forget(spec.conversation);
        self.enter_route(spec.conversation);
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

    /// Returns the channel over `path` for the conversation; creates one if necessary.
    fn channel(&mut self, path: &[PortId], spec: &ConversationSpec<'_>) -> ChannelId {
        let share = match (spec.share, channel::key(self.multiplexing, spec.kind)) {
            (Some(asked), _) => Some(Share::Asked(asked)),
            (None, shared) => shared.map(Share::Policy),
        };
        let key = share.map(|share| (path.to_vec(), spec.class, share));
        let known = key.as_ref().and_then(|key| self.channels.get(key)).copied();
        let channel = match known {
            Some(channel) => channel,
            None => {
                let channel = self.unused(path, spec.class).unwrap_or_else(|| self.add_channel(path, spec.class));
                let circuit = &mut self.circuits[channel.0 as usize];
                (circuit.share, circuit.is_open) = (share, true);
                self.channels.extend(key.map(|key| (key, channel)));
                channel
            }
        };
        self.circuits[channel.0 as usize].users += 1;
        channel
    }

    /// Adds a channel over these ports: a queue at each of them.
    fn add_channel(&mut self, path: &[PortId], class: Class) -> ChannelId {
        let channel = ChannelId(self.circuits.len() as u32);
        self.reassembly.push(Reassembly::default());
        // From the last port back to the first, since each port's table holds the queue at the next port.
        let (mut next, mut first) = (NextHop::Reassemble(channel), (path[0], 0));
        for &port in path.iter().rev() {
            let slot = self.port_mut(port).add_channel(channel, class, next);
            next = NextHop::Forward { port, slot };
            first = (port, slot);
        }
        self.circuits.push(Circuit { first, class, share: None, is_open: false, users: 0 });
        channel
    }

    /// Returns an unused channel over these ports, whose queues and table entries still exist.
    fn unused(&mut self, path: &[PortId], class: Class) -> Option<ChannelId> {
        if self.free.is_empty() {
            return None;
        }
        self.free.get_mut(&(path.to_vec(), class))?.pop()
    }

    /// Returns the ports of a channel in the order of its cells, each with its queue there.
    pub(super) fn hops(&self, channel: ChannelId) -> impl Iterator<Item = (PortId, u32)> + '_ {
        let first = self.circuits.get(channel.0 as usize).map(|circuit| circuit.first);
        std::iter::successors(first, |&(port, slot)| match self.port(port).next_hop(slot) {
            NextHop::Forward { port, slot } => Some((port, slot)),
            NextHop::Reassemble(_) => None,
        })
    }

    /// Returns the channels of a conversation in one direction, in the order of its path.
    pub(super) fn channels_of<'a>(&'a self, steps: &'a [Step]) -> impl Iterator<Item = ChannelId> + 'a {
        steps.iter().filter_map(|&step| match step {
            Step::Packet(_) => None,
            Step::Cells { port, slot } => self.port(port).server().map(|server| server.channel(slot)),
        })
    }
}
