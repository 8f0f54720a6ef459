//! Connection attempts that peers have requested and that have not begun.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use cellway_gateway::{FlowId, Request};
use cellway_units::Span;
use serde::{Deserialize, Serialize};

use super::moment::Moment;
use crate::peer_id::PeerId;

/// The longest time that a connection attempt of a peer waits while more of its packets can be read.
const LONGEST_WAIT: Span = Span::from_ms(50);

/// A connection attempt that a peer has requested.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Attempt {
    pub(crate) peer: PeerId,
    pub(crate) id: FlowId,
    pub(crate) request: Arc<Request>,
    /// The time of the request.
    pub(crate) since: Moment,
}

/// Attempts in the order of the requests, at most one for each flow that has not ended. An attempt is removed with its
/// flow: the next connection to the peer uses the same flow identifiers again.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    by_order: BTreeMap<u64, Attempt>,
    order: HashMap<(PeerId, FlowId), u64>,
    next: u64,
}

impl Attempts {
    pub(crate) fn add(&mut self, attempt: Attempt) {
        let (peer, id) = (attempt.peer, attempt.id);
        self.remove(peer, id);
        self.order.insert((peer, id), self.next);
        self.by_order.insert(self.next, attempt);
        self.next += 1;
    }
    /// Drops the attempt of a flow that has ended, if there is one.
    pub(crate) fn remove(&mut self, peer: PeerId, id: FlowId) {
        if let Some(order) = self.order.remove(&(peer, id)) {
            self.by_order.remove(&order);
        }
    }
    /// Removes and returns the first attempt. It waits while `has_more` packets of its peer to read, at most for
    /// [`LONGEST_WAIT`]: one of them may reset the flow.
    pub(crate) fn next(&mut self, now: Moment, has_more: impl FnOnce(PeerId) -> bool) -> Option<Attempt> {
        let first = self.by_order.values().next()?;
        if has_more(first.peer) && now < first.since + LONGEST_WAIT {
            return None;
        }
        let (_, attempt) = self.by_order.pop_first()?;
        self.order.remove(&(attempt.peer, attempt.id));
        Some(attempt)
    }
    /// Removes all attempts, the first one first.
    pub(crate) fn drain(&mut self) -> Vec<Attempt> {
        std::mem::take(self).by_order.into_values().collect()
    }
    pub(crate) fn len(&self) -> usize {
        self.by_order.len()
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.by_order.is_empty()
    }
}
