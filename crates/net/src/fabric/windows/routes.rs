//! The steps of all paths in one table: a packet on lines of packets carries its place in it from line to line.

use super::super::{Fabric, Step};

/// The next step of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fabric) enum Next {
    /// Whole, to the queue of a port.
    Packet(u32),
    /// As cells, into queue `slot` of a port.
    Cells { port: u32, slot: u32 },
    /// To its host.
    Host,
}

/// The steps of each conversation and direction, one behind the other, each path with its host at the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    steps: Vec<Next>,
    /// The first step of each conversation in each direction.
    first: Vec<[u32; 2]>,
}

impl Routes {
    /// Returns the steps of all open conversations.
    pub(super) fn new<B: Clone>(fabric: &Fabric<B>) -> Routes {
        let mut routes = Routes { steps: Vec::new(), first: Vec::with_capacity(fabric.conversations.len()) };
        for conversation in &fabric.conversations {
            let paths = conversation.as_ref().map_or([&[][..], &[]], |known| known.ways());
            let first = paths.map(|steps| {
                let first = routes.steps.len() as u32;
                routes.steps.extend(steps.iter().map(|&step| match step {
                    Step::Packet(port) => Next::Packet(port.0),
                    Step::Cells { port, slot } => Next::Cells { port: port.0, slot },
                }));
                routes.steps.push(Next::Host);
                first
            });
            routes.first.push(first);
        }
        routes.steps.shrink_to_fit();
        routes
    }

    /// Returns the step at a place.
    #[inline]
    pub(super) fn next(&self, hop: u32) -> Next {
        self.steps[hop as usize]
    }

    /// Returns the place of a packet of which `steps` steps are done.
    #[inline]
    pub(super) fn place(&self, conversation: u32, way: usize, steps: usize) -> u32 {
        self.first[conversation as usize][way] + steps as u32
    }

    /// Returns the number of steps before a place.
    #[inline]
    pub(super) fn steps_before(&self, conversation: u32, way: usize, hop: u32) -> u16 {
        (hop - self.first[conversation as usize][way]) as u16
    }
}
