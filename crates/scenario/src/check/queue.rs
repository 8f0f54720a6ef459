//! Queue disciplines of packet queues: their parameters and who may have them.

use cellway_spec::{Problem, Queue, QueueDiscipline};

use crate::check::Check;
use crate::check::network::Network;
use crate::file::BufferFile;
use crate::model::{Framing, Traffic};
use crate::tree::{Step, at};

impl Check<'_> {
    /// Returns the discipline of packet queues, with its parameters: that of link `own`, or of `[buffer]`.
    pub(super) fn queue(&mut self, own: Option<usize>, buffer: &BufferFile) -> Option<Queue> {
        if own.is_some_and(|link| self.has_parameters_of_others(link, buffer.queue)) {
            return None;
        }
        let queue = buffer.discipline();
        let Some(Problem { keys, message, accepted }) = queue.problem() else { return Some(queue) };
        // A key that has been refused has another value here.
        if !keys.iter().any(|key| self.is_bad(&self.parameter_path(own, buffer.queue, key))) {
            let path = self.parameter_path(own, buffer.queue, &keys[0]);
            self.refuse(&path, message, accepted);
        }
        None
    }

    /// Refuses a discipline of packet queues that is given at link `link`, which carries cells. One that a link inherits has
    /// its use elsewhere.
    pub(super) fn is_no_queue_of_cells(&mut self, link: usize, queue: QueueDiscipline) -> Option<()> {
        let path = at!["link", link, "buffer", "queue"];
        let is_swept =
            self.is_swept(&path) || ["framing", "rate"].iter().any(|key| self.is_swept(&at!["link", link, *key]));
        if queue == QueueDiscipline::Fifo || is_swept || self.tree.find(&path).is_none() {
            return Some(());
        }
        let accepted = "no queue, since multiplexing.server is the order of cells; or framing = \"packet\"";
        self.refuse_value(&path, "is a discipline of packet queues, but the link carries cells", accepted);
        None
    }

    /// Refuses a discipline in `[buffer]` of a network that has no packet queue at all.
    pub(super) fn has_packet_queues(&mut self, queue: Queue, network: &Network, traffic: &[Traffic]) -> Option<()> {
        let access = traffic.iter().filter_map(|group| group.access).map(|access| access.framing);
        let mut framings = network.links.iter().map(|link| link.framing).chain(access);
        let is_plain = queue == Queue::PLAIN;
        // Another point of a sweep may have packet links.
        if is_plain || !self.swept.is_empty() || framings.any(|framing| framing != Framing::Atm) {
            return Some(());
        }
        let accepted = "no queue, since multiplexing.server is the order of cells; or framing = \"packet\" at a link";
        let key = if queue.discipline() == QueueDiscipline::Fifo { "fifo" } else { "queue" };
        let message =
            format!("{:?} is a discipline of packet queues, but all links carry cells", queue.discipline().name());
        self.refuse(&at!["buffer", key], message, accepted);
        None
    }

    /// Refuses parameters of other disciplines at a link; returns true if there are any. Those in `[buffer]` may be for
    /// another link.
    fn has_parameters_of_others(&mut self, link: usize, queue: QueueDiscipline) -> bool {
        if self.is_swept(&self.buffer_path(Some(link), "queue")) {
            return false;
        }
        let mut has_some = false;
        for other in QueueDiscipline::ALL.into_iter().filter(|other| *other != queue) {
            let name = other.name();
            let path = at!["link", link, "buffer", name];
            if self.tree.find(&path).is_some() {
                let accepted = format!("queue = \"{name}\", or no {name}");
                self.refuse(&path, format!("only queue = \"{name}\" has these parameters"), accepted);
                has_some = true;
            }
        }
        has_some
    }

    /// Returns the path of a parameter: the key, or else the nearest table that is there.
    fn parameter_path(&self, own: Option<usize>, queue: QueueDiscipline, key: &str) -> Vec<Step> {
        let table = self.buffer_path(own, queue.name());
        let path = [&table[..], &at![key]].concat();
        let places = [path, table].into_iter().find(|path| self.tree.find(path).is_some());
        places.unwrap_or_else(|| self.buffer_path(own, "queue"))
    }
}
