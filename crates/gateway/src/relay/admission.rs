//! Admission of flows, and the memory of each.

use super::Relay;
use super::quota::Quota;
use super::waiting::Waiting;
use crate::class::ClassId;
use crate::excess::Excess;
use crate::flow::{Flow, Origin};
use crate::lease::Lease;
use crate::output::Action;
use crate::packet::{FlowId, NUMBER_OCTETS};
use crate::request::Request;

impl Relay {
    /// Returns the memory that a direction of a flow may take (bytes): a quarter of what is not promised, so that the
    /// others always have some. This is the dynamic threshold of Choudhury and Hahne, IEEE/ACM Trans. Networking 6 (2),
    /// 1998, section III. An eighth of the memory does not count, or the reserves of the classes if they are more:
    /// promises stay when shares shrink, and new flows need their least windows at once.
    pub(super) fn memory_share(&self) -> u64 {
        let kept = (self.config.total_buffer.0 / 8).max(self.reserved());
        (self.free().saturating_sub(kept) / 4).max(self.config.least())
    }
    /// Returns the bytes that a flow of `class`, which holds `held`, may hold from its host now. Each class has the
    /// windows for itself: flows of another class, however many, cannot take the bytes that it needs to send its share.
    pub(super) fn outbound_share(&self, class: ClassId, held: u64) -> u64 {
        let line = self.windows.outbound_share(self.taken[class.0], held).max(self.config.least());
        self.memory_share().min(line).min(self.windows.outbound)
    }
    /// Returns the receive window of a flow (bytes), as large as memory permits.
    pub(super) fn inbound_share(&self, flow: &Flow) -> u64 {
        self.memory_share().min(self.inbound_window(flow))
    }
    /// Returns the receive window of a flow (bytes), without regard to memory.
    pub(super) fn inbound_window(&self, flow: &Flow) -> u64 {
        let (flows, arrived) = (self.rounds.flows(), self.rounds.arrived(&flow.arrivals));
        self.windows.inbound(flow.inn.arrived() > 0, flows, arrived)
    }
    /// Counts bytes that have arrived for a flow, some of them perhaps again.
    pub(super) fn note_arrival(&mut self, flow: FlowId, bytes: u32) {
        if let Some(state) = self.flows.get_mut(&flow) {
            self.rounds.note(self.now, self.windows.rtt, &mut state.arrivals, bytes.into());
        }
    }
    /// Returns the memory that is neither held nor granted (bytes).
    pub(super) fn free(&self) -> u64 {
        self.config.total_buffer.0.saturating_sub(self.committed + self.leftover)
    }
    /// Returns true if an `Open` with `request` fits into a packet.
    pub(super) fn has_room_for(&self, request: &Request) -> bool {
        const NUMBERS: u32 = NUMBER_OCTETS + 1 + 8 + 8 + Lease::MOST_OCTETS;
        request.is_valid() && NUMBERS + request.octets() <= self.config.capacity()
    }
    pub(super) fn has_ended(&self, flow: FlowId) -> bool {
        self.ended[(flow.0 & 1) as usize].contains(flow.0 >> 1)
    }
    pub(super) fn has_now_ended(&mut self, flow: FlowId) {
        let ended = &mut self.ended[(flow.0 & 1) as usize];
        ended.insert(flow.0 >> 1, (flow.0 >> 1) + 1);
        // The identifiers between the joined runs also count as ended.
        ended.join_lowest(Excess::MOST_IDENTIFIERS + self.flows.len() + 1);
    }
    /// Returns true if no more flows of `class` are admitted. The reserves of classes stay free: see [`Quota`].
    pub(super) fn is_full(&self, origin: Origin, class: ClassId) -> bool {
        let quota = &self.admitted[origin as usize];
        let others = if quota.is_within_reserve(class) { 0 } else { self.reserved() };
        !quota.has_room(class) || self.free() < self.config.per_flow() + others
    }
    /// Returns the memory (bytes) of the flows that all classes may add within their reserves.
    fn reserved(&self) -> u64 {
        self.admitted.iter().map(Quota::unused).sum::<u64>() * self.config.per_flow()
    }
    pub(super) fn may_wait(&self, origin: Origin, class: ClassId) -> bool {
        !self.is_full(origin, class) || self.waiting[origin as usize].has_room(class)
    }
    /// Gives a new flow its memory, or queues it.
    pub(super) fn enter(&mut self, state: Flow, actions: &mut Vec<Action>) {
        let (flow, origin, class) = (state.id, state.origin, state.class);
        self.flows.insert(flow, state);
        self.note_arrival(flow, 0);
        self.announce_rate();
        self.waiting[origin as usize].push(flow, class);
        if origin == Origin::Local {
            self.note_opening(flow);
        }
        self.admit(origin, actions);
    }
    pub(crate) fn admit_all(&mut self, actions: &mut Vec<Action>) {
        [Origin::Local, Origin::Peer].into_iter().for_each(|origin| self.admit(origin, actions));
    }
    fn admit(&mut self, origin: Origin, actions: &mut Vec<Action>) {
        while let Some(class) = self.next_class(origin) {
            let Some(flow) = self.waiting[origin as usize].pop(class) else { return };
            self.admitted[origin as usize].take(class);
            self.stats.flows_opened += 1;
            let early = self.flows.get(&flow).is_some_and(|state| state.request.early);
            self.stats.flows_early += u64::from(early);
            self.change(flow, actions, Flow::admit);
        }
    }
    /// Returns the class of the next flow to admit: of those with flows that wait, the one with the fewest.
    fn next_class(&self, origin: Origin) -> Option<ClassId> {
        let admitted = &self.admitted[origin as usize];
        let enters = |&class: &ClassId| !self.is_full(origin, class);
        self.waiting[origin as usize].classes().filter(enters).min_by_key(|&class| admitted.used(class))
    }
    /// Returns true if a flow of `origin` waits for memory alone.
    pub(super) fn waits_for_memory(&self, origin: Origin) -> bool {
        let admitted = &self.admitted[origin as usize];
        self.waiting[origin as usize].classes().any(|class| admitted.has_room(class))
    }
    /// Counts the flows of each of `classes` anew, whose own class is known. Those that wait keep their order.
    pub(super) fn recount(&mut self, classes: usize) {
        self.taken = vec![0; classes];
        self.admitted = std::array::from_fn(|_| Quota::new(self.config.flows_per_origin(), classes));
        let waiting = |_| Waiting::new(self.config.waiting.into(), classes);
        let waited = std::mem::replace(&mut self.waiting, std::array::from_fn(waiting));
        for state in self.flows.values() {
            self.taken[state.class.0] += state.out.held();
            if state.admitted {
                self.admitted[state.origin as usize].take(state.class);
            }
        }
        for (waiting, waited) in self.waiting.iter_mut().zip(waited) {
            for flow in waited.into_order() {
                self.flows.get(&flow).into_iter().for_each(|state| waiting.push(flow, state.class));
            }
        }
    }
}
