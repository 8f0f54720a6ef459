//! Queues of flows: which queue a packet joins, the packets of each in the order of their arrival, and rounds of queues.

use super::{Drops, Memory, Queued};

/// No packet, no queue.
const NONE: u32 = u32::MAX;

/// The number of a queue of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FlowIndex(pub(super) u32);

/// One queue for each value of a hash, each with a state `S` of the discipline. Memory is taken for queues that have had a
/// packet, and for the packets that wait.
#[derive(Clone, Debug)]
pub(super) struct FlowQueues<S> {
    /// The queue of each value of the hash; empty until the first packet.
    of_hash: Vec<u32>,
    hashes: u32,
    seed: u64,
    queues: Vec<FlowQueue<S>>,
    packets: Vec<Entry>,
    /// The packet after each of `packets` in its queue, or the free entry after it. Apart, so that the end of a queue is
    /// found without its last packet.
    after: Vec<u32>,
    /// The first of the free entries of `packets`.
    free: u32,
}

/// The packets of one queue, a list in `FlowQueues::packets`, and its place in a round. All that a packet
/// needs is in one line of the processor's cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct FlowQueue<S> {
    state: S,
    octets: u64,
    first: u32,
    last: u32,
    /// The queue after this one in its round.
    next: u32,
    is_in_round: bool,
}

/// The state of a queue, which a discipline keeps.
pub(super) trait State: Copy + Default {
    /// Changes it as the queue has lost its last packet other than by being served.
    fn emptied(&mut self);
}

/// A packet that waits, in half a line of the processor's cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct Entry(Queued);

impl<S: State> FlowQueues<S> {
    /// True if a queue, and each packet, is in one line of the cache.
    pub(super) const IS_COMPACT: bool = size_of::<FlowQueue<S>>() == 64 && size_of::<Entry>() == 32;

    /// Queues without packets, for `hashes` values of a hash that depends on `seed`.
    pub(super) fn new(hashes: u32, seed: u64) -> FlowQueues<S> {
        FlowQueues {
            of_hash: Vec::new(),
            hashes,
            seed,
            queues: Vec::new(),
            packets: Vec::new(),
            after: Vec::new(),
            free: NONE,
        }
    }

    #[inline]
    fn queue(&self, flow: FlowIndex) -> &FlowQueue<S> {
        &self.queues[flow.0 as usize]
    }

    #[inline]
    fn queue_mut(&mut self, flow: FlowIndex) -> &mut FlowQueue<S> {
        &mut self.queues[flow.0 as usize]
    }

    /// Returns the state of a queue.
    #[inline]
    pub(super) fn state(&self, flow: FlowIndex) -> S {
        self.queue(flow).state
    }

    /// Returns the state of a queue.
    #[inline]
    pub(super) fn state_mut(&mut self, flow: FlowIndex) -> &mut S {
        &mut self.queue_mut(flow).state
    }

    /// Returns the queue for packets of the flow of `packet`.
    #[inline]
    pub(super) fn of(&mut self, packet: Queued) -> FlowIndex {
        let hash = mix(self.seed ^ (u64::from(packet.conversation) << 32 | u64::from(packet.flow)));
        if self.of_hash.is_empty() {
            self.of_hash = vec![NONE; self.hashes as usize];
        }
        // The high half of the product is uniform below the number of queues.
        let place = ((u128::from(hash) * u128::from(self.hashes)) >> 64) as usize;
        if self.of_hash[place] == NONE {
            self.of_hash[place] = self.queues.len() as u32;
            let (state, first, last, next) = (S::default(), NONE, NONE, NONE);
            self.queues.push(FlowQueue { state, octets: 0, first, last, next, is_in_round: false });
        }
        FlowIndex(self.of_hash[place])
    }

    /// Returns the IP octets that wait in a queue.
    #[inline]
    pub(super) fn octets(&self, flow: FlowIndex) -> u64 {
        self.queue(flow).octets
    }

    /// Returns the first packet of a queue.
    #[inline]
    pub(super) fn head(&self, flow: FlowIndex) -> Option<&Queued> {
        self.packets.get(self.queue(flow).first as usize).map(|entry| &entry.0)
    }

    /// Returns true if a queue is in a round.
    #[inline]
    pub(super) fn is_in_round(&self, flow: FlowIndex) -> bool {
        self.queue(flow).is_in_round
    }

    /// Drops packets from the head of the longest queue, in octets, until `packet` of `flow` has room in `memory`; returns
    /// false if it has to be dropped itself. Where each conversation has its own memory, the oldest of its packets are
    /// dropped, from its own queue first. All queues with packets are in `rounds`. RFC 8290 section 4.1.
    #[cold]
    pub(super) fn make_room(
        &mut self,
        memory: &mut Memory,
        rounds: &[Round],
        (flow, packet): (FlowIndex, Queued),
        drops: &mut Drops,
    ) -> bool {
        if !memory.can_hold(packet) {
            return false;
        }
        let is_shared = !memory.buffer().is_by_conversation();
        while !memory.admit(packet) {
            let octets =
                |other: &FlowIndex| self.octets(*other) + if *other == flow { u64::from(packet.octets) } else { 0 };
            let active = rounds.iter().flat_map(|round| self.iter(*round));
            let from = if is_shared {
                active.chain([flow]).max_by_key(octets)
            } else {
                [flow].into_iter().chain(active).find(|queue| self.has_of(*queue, packet.conversation))
            };
            // The queue of the packet may be the longest with nothing in it.
            let oldest = from.and_then(|from| {
                let oldest = if is_shared { self.pop(from) } else { self.remove_of(from, packet.conversation) };
                if self.head(from).is_none() {
                    self.state_mut(from).emptied();
                }
                oldest
            });
            let Some(other) = oldest else { return false };
            memory.release(other);
            memory.drop_overlimit(other, drops);
        }
        true
    }

    /// Returns the places of the packets of a queue in their order.
    fn places(&self, flow: FlowIndex) -> impl Iterator<Item = u32> + '_ {
        let some = |place: u32| (place != NONE).then_some(place);
        std::iter::successors(some(self.queue(flow).first), move |place| some(self.after[*place as usize]))
    }

    /// Returns the packets of the queues of `rounds`, queue by queue.
    pub(super) fn waiting<const N: usize>(&self, rounds: [Round; N]) -> impl Iterator<Item = &Queued> {
        let flows = rounds.into_iter().flat_map(|round| self.iter(round));
        flows.flat_map(|flow| self.places(flow)).map(|place| &self.packets[place as usize].0)
    }

    /// Returns true if a packet of a conversation is in a queue.
    fn has_of(&self, flow: FlowIndex, conversation: u32) -> bool {
        self.places(flow).any(|place| self.packets[place as usize].0.conversation == conversation)
    }

    /// Takes the oldest packet of a conversation from a queue.
    fn remove_of(&mut self, flow: FlowIndex, conversation: u32) -> Option<Queued> {
        let places: Vec<u32> = self.places(flow).collect();
        let of = |place: &u32| self.packets[*place as usize].0.conversation == conversation;
        let at = places.iter().position(of)?;
        let Some(before) = at.checked_sub(1).map(|before| places[before]) else { return self.pop(flow) };
        let place = places[at];
        let next = std::mem::replace(&mut self.after[place as usize], self.free);
        self.after[before as usize] = next;
        self.free = place;
        let packet = self.packets[place as usize].0;
        let queue = self.queue_mut(flow);
        if next == NONE {
            queue.last = before;
        }
        queue.octets -= u64::from(packet.octets);
        Some(packet)
    }

    /// Adds a packet at the end of a queue.
    #[inline]
    pub(super) fn push(&mut self, flow: FlowIndex, packet: Queued) {
        let place = if self.free == NONE {
            self.packets.push(Entry(packet));
            self.after.push(NONE);
            self.packets.len() as u32 - 1
        } else {
            let place = self.free;
            self.packets[place as usize] = Entry(packet);
            self.free = std::mem::replace(&mut self.after[place as usize], NONE);
            place
        };
        let queue = self.queue_mut(flow);
        queue.octets += u64::from(packet.octets);
        let last = std::mem::replace(&mut queue.last, place);
        if last == NONE {
            queue.first = place;
        } else {
            self.after[last as usize] = place;
        }
    }

    /// Takes the first packet of a queue.
    #[inline]
    pub(super) fn pop(&mut self, flow: FlowIndex) -> Option<Queued> {
        let queue = &mut self.queues[flow.0 as usize];
        let place = queue.first;
        let packet = self.packets.get(place as usize)?.0;
        queue.first = std::mem::replace(&mut self.after[place as usize], self.free);
        self.free = place;
        if queue.first == NONE {
            queue.last = NONE;
        }
        queue.octets -= u64::from(packet.octets);
        Some(packet)
    }

    /// Takes a packet from a queue of `rounds`. The queues stay in their rounds.
    pub(super) fn discard(&mut self, rounds: &[Round]) -> Option<Queued> {
        let flow = rounds.iter().find_map(|round| self.iter(*round).find(|flow| self.head(*flow).is_some()))?;
        let packet = self.pop(flow);
        if self.head(flow).is_none() {
            self.state_mut(flow).emptied();
        }
        packet
    }

    /// Adds a queue at the end of a round. It is in none.
    #[inline]
    pub(super) fn join(&mut self, round: &mut Round, flow: FlowIndex) {
        let queue = self.queue_mut(flow);
        (queue.next, queue.is_in_round) = (NONE, true);
        let last = std::mem::replace(&mut round.last, flow.0);
        if last == NONE {
            round.first = flow.0;
        } else {
            self.queue_mut(FlowIndex(last)).next = flow.0;
        }
    }

    /// Takes the first queue from a round.
    #[inline]
    pub(super) fn leave(&mut self, round: &mut Round) -> Option<FlowIndex> {
        let flow = round.first()?;
        let queue = self.queue_mut(flow);
        queue.is_in_round = false;
        round.first = queue.next;
        if round.first == NONE {
            round.last = NONE;
        }
        Some(flow)
    }

    /// Returns the queues of a round in their order.
    fn iter(&self, round: Round) -> impl Iterator<Item = FlowIndex> + '_ {
        std::iter::successors(round.first(), |flow| {
            Some(self.queue(*flow).next).filter(|next| *next != NONE).map(FlowIndex)
        })
    }
}

/// Returns a hash of `value`, each bit of which depends on each of its bits. The finaliser of SplitMix64: G. Steele,
/// D. Lea, C. Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014.
#[inline]
fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Queues of flows in the order in which they are served. A queue is in one round at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    first: u32,
    last: u32,
}

impl Default for Round {
    fn default() -> Round {
        Round { first: NONE, last: NONE }
    }
}

impl Round {
    /// Returns the queue whose turn it is.
    #[inline]
    pub(super) fn first(self) -> Option<FlowIndex> {
        (self.first != NONE).then_some(FlowIndex(self.first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::testing::{limited_each, of_flow};

    impl State for () {
        fn emptied(&mut self) {}
    }

    /// One queue with five packets of conversation 1 and two of conversation 0, whose memory is full: the oldest of its own
    /// makes room.
    #[test]
    fn a_conversation_with_memory_of_its_own_drops_none_of_others() {
        let (mut queues, mut memory, mut round) = (FlowQueues::<()>::new(1, 0), limited_each(2500), Round::default());
        let of = |number: u32, conversation: u32, octets: u32| Queued { conversation, ..of_flow(number, 0, octets) };
        let flow = queues.of(of(0, 0, 500));
        for number in 0..7 {
            let packet = if number < 5 { of(number, 1, 500) } else { of(number, 0, 1250) };
            assert!(memory.admit(packet));
            queues.push(flow, packet);
        }
        queues.join(&mut round, flow);
        let mut drops = Drops::new();
        assert!(queues.make_room(&mut memory, &[round], (flow, of(7, 0, 1250)), &mut drops));
        queues.push(flow, of(7, 0, 1250));
        assert_eq!(drops.iter().map(|drop| drop.0).collect::<Vec<_>>(), [5]);
        let sent: Vec<u32> = std::iter::from_fn(|| queues.pop(flow)).map(|packet| packet.packet.0).collect();
        assert_eq!((sent, queues.octets(flow)), (vec![0, 1, 2, 3, 4, 6, 7], 0));
    }

    /// With a hash that is uniform and independent, 1024 flows occupy 1024 (1 - (1 - 1/1024)^1024) = 647.5 of 1024 queues on
    /// average, with a standard deviation of 10; 20 seeds stay within four of these.
    #[test]
    fn flows_are_spread_over_the_queues() {
        for seed in 0..20 {
            let mut queues = FlowQueues::<()>::new(1024, seed);
            (0..1024).for_each(|flow| {
                queues.of(of_flow(0, flow, 100));
            });
            assert!((608..=687).contains(&queues.queues.len()), "{}", queues.queues.len());
            let mut again = FlowQueues::<()>::new(1024, seed);
            (0..1024).rev().for_each(|flow| {
                again.of(of_flow(0, flow, 100));
            });
            assert_eq!(again.queues.len(), queues.queues.len());
        }
        let mut one = FlowQueues::<()>::new(1, 7);
        assert_eq!(one.of(of_flow(0, 1, 100)), one.of(of_flow(0, 2, 100)));
    }

    #[test]
    fn packets_leave_a_queue_in_their_order_and_their_entries_are_used_again() {
        let mut queues = FlowQueues::<()>::new(1024, 1);
        let flows = [1, 2].map(|flow| queues.of(of_flow(0, flow, 100)));
        for round in 0..3u32 {
            (0..10).for_each(|number| queues.push(flows[number as usize % 2], of_flow(number + round, 0, 100)));
            for (flow, first) in flows.into_iter().zip(0..) {
                assert_eq!(queues.octets(flow), 500);
                let sent: Vec<u32> = std::iter::from_fn(|| queues.pop(flow)).map(|packet| packet.packet.0).collect();
                assert_eq!(sent, (0..5).map(|i| first + 2 * i + round).collect::<Vec<_>>());
                assert!(queues.head(flow).is_none() && queues.octets(flow) == 0);
            }
        }
        assert_eq!(queues.packets.len(), 10);
    }
}
