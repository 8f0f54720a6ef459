//! The steps of all paths in one table: a packet on lines of packets carries its place in it from line to line.

use std::collections::BTreeMap;

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
    /// The places that are free, by the number of steps.
    free: BTreeMap<usize, Vec<u32>>,
}

impl Routes {
    /// Returns the steps of all open conversations.
    pub(super) fn new<B: Clone>(fabric: &Fabric<B>) -> Routes {
        let mut routes = Routes { first: Vec::with_capacity(fabric.conversations.len()), ..Routes::default() };
        for conversation in &fabric.conversations {
            let paths = conversation.as_ref().map_or([&[][..], &[]], |known| known.ways());
            let first = paths.map(|steps| routes.add(steps));
            routes.first.push(first);
        }
        routes.steps.shrink_to_fit();
        routes
    }

    /// Adds the steps of a path and its host at the end; returns the place of the first.
    fn add(&mut self, path: &[Step]) -> u32 {
        let steps = path.iter().map(|&step| match step {
            Step::Packet(port) => Next::Packet(port.0),
            Step::Cells { port, slot } => Next::Cells { port: port.0, slot },
        });
        let steps = steps.chain([Next::Host]);
        if let Some(first) = self.free.get_mut(&path.len()).and_then(Vec::pop) {
            self.steps[first as usize..].iter_mut().zip(steps).for_each(|(old, step)| *old = step);
            return first;
        }
        let first = self.steps.len() as u32;
        self.steps.extend(steps);
        first
    }

    /// Enters the paths of a conversation, in place of those of a closed one with its number.
    pub(super) fn enter(&mut self, conversation: u32, paths: [&[Step]; 2]) {
        const NONE: u32 = u32::MAX;
        let index = conversation as usize;
        if index >= self.first.len() {
            self.first.resize(index + 1, [NONE; 2]);
        }
        for first in self.first[index].into_iter().filter(|&first| first != NONE) {
            let steps = self.steps[first as usize..].iter().position(|&step| step == Next::Host);
            self.free.entry(steps.unwrap_or(0)).or_default().push(first);
        }
        self.first[index] = paths.map(|steps| self.add(steps));
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
