//! The table of conversations.

use std::collections::HashMap;

use cellway_units::{Span, Time};
use cellway_wire::ip::{About, Flow, FlowKey, Recognised, Segment};

use super::close::Closing;
use super::conversation::{Conversation, Id, Limits, Sighting};
use super::fragments::FirstFragments;
use super::key::{Fixed, Host, Key, pair};
use super::kind::{Kind, kind};
use super::order::{Links, Order};

/// The lists that a conversation may be in: each has one time after which its members end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    Active,
    /// The TCP connection has ended.
    Over,
    Overflow,
}

const LISTS: [List; 3] = [List::Active, List::Over, List::Overflow];

/// The key by which a conversation is found.
#[derive(Clone, Copy, Debug)]
enum Name {
    Flow(Key),
    Overflow((Host, Host)),
}

#[derive(Clone, Debug)]
struct Slot {
    generation: u32,
    links: Links,
    /// None while the slot is free.
    live: Option<Live>,
}

#[derive(Clone, Debug)]
struct Live {
    conversation: Conversation,
    name: Name,
    /// The first packet went from the lower to the higher end.
    upward: bool,
    closing: Closing,
    list: List,
    /// The last time at which it was not idle: its last packet, or packets inside the network.
    busy: Time,
}

impl AsMut<Links> for Slot {
    fn as_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// All conversations of a network.
#[derive(Clone, Debug)]
pub struct Conversations {
    limits: Limits,
    slots: Vec<Slot>,
    free: Vec<u32>,
    by_flow: HashMap<Key, u32, Fixed>,
    by_pair: HashMap<(Host, Host), u32, Fixed>,
    orders: [Order; 3],
    fragments: FirstFragments,
}

impl Conversations {
    /// Creates an empty table.
    pub fn new(limits: Limits) -> Conversations {
        Conversations {
            limits,
            slots: Vec::new(),
            free: Vec::new(),
            by_flow: HashMap::default(),
            by_pair: HashMap::default(),
            orders: [Order::default(); 3],
            fragments: FirstFragments::new(limits.fragments, limits.fragment_lifetime),
        }
    }

    /// Returns the number of conversations, without overflow conversations.
    pub fn len(&self) -> usize {
        self.by_flow.len()
    }
    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.by_flow.is_empty()
    }
    /// Returns the number of pairs of hosts that have an overflow conversation.
    pub fn overflows(&self) -> usize {
        self.by_pair.len()
    }
    /// Returns the attributes of a conversation; `None` after it has ended.
    pub fn get(&self, id: Id) -> Option<&Conversation> {
        let slot = self.slots.get(id.slot()).filter(|slot| slot.generation == id.generation)?;
        slot.live.as_ref().map(|live| &live.conversation)
    }

    /// Returns the time at which to call [`Conversations::expired`] next.
    pub fn next_expiry(&self) -> Option<Time> {
        LISTS.into_iter().filter_map(|list| Some(self.oldest(list)?.1 + self.lifetime(list))).min()
    }

    /// Ends the conversations that have been idle for too long. `may_end` is called for each: it closes the channel and
    /// returns true, or returns false because packets are still inside the network. Such a conversation is not idle.
    pub fn expired(&mut self, now: Time, mut may_end: impl FnMut(Id, &Conversation) -> bool) {
        self.fragments.expire(now);
        for list in LISTS {
            while let Some((slot, busy)) = self.oldest(list)
                && busy < now
                && now.since(busy) >= self.lifetime(list)
            {
                let id = Id { slot, generation: self.slots[slot as usize].generation };
                if self.get(id).is_none_or(|conversation| may_end(id, conversation)) {
                    self.end(slot);
                } else {
                    self.touch(now, slot);
                }
            }
        }
    }

    /// Processes a packet that `from` sent to `to`.
    ///
    /// `inside` returns true if packets of a conversation are still inside the network; it is called only when the
    /// table has no room for a new one. A conversation with packets inside is not idle.
    pub fn see(
        &mut self,
        now: Time,
        (from, to): (Host, Host),
        packet: &Recognised<'_>,
        inside: impl FnMut(Id) -> bool,
    ) -> Sighting {
        match packet.flow {
            Flow::Packet(flow) => {
                let sighting = self.see_flow(now, (from, to), &flow, inside);
                if let Some(segment) = &packet.segment {
                    self.see_segment(sighting, segment);
                }
                sighting
            }
            Flow::FirstFragment(flow, datagram) => {
                let sighting = self.see_flow(now, (from, to), &flow, inside);
                self.fragments.insert(now, (datagram, from, to), (sighting.id, sighting.forward));
                sighting
            }
            Flow::LaterFragment(datagram) => {
                let found = self.fragments.find(now, &(datagram, from, to));
                match found.and_then(|(id, forward)| self.see_known(now, id, forward)) {
                    Some(sighting) => sighting,
                    None => self.see_flow(now, (from, to), &datagram.without_ports(), inside),
                }
            }
            Flow::IcmpError(own, about) => match about.and_then(|about| self.see_about(now, (from, to), about)) {
                Some(sighting) => sighting,
                None => self.see_flow(now, (from, to), &own, inside),
            },
        }
    }

    /// Processes an ICMP error about a packet that went from `to` to `from`, if its conversation is known.
    fn see_about(&mut self, now: Time, (from, to): (Host, Host), about: About) -> Option<Sighting> {
        match about {
            About::Packet(flow) => {
                let (key, upward) = Key::new(&flow, from, to);
                let slot = *self.by_flow.get(&key)?;
                Some(self.see_slot(now, slot, upward))
            }
            About::Fragment(datagram) => {
                let (id, forward) = self.fragments.find(now, &(datagram, to, from))?;
                self.see_known(now, id, !forward)
            }
        }
    }

    /// Processes a packet of a conversation that may have ended.
    fn see_known(&mut self, now: Time, id: Id, forward: bool) -> Option<Sighting> {
        self.get(id)?;
        self.packet(now, id.slot);
        Some(Sighting { id, new: false, forward, closed: None })
    }

    fn see_slot(&mut self, now: Time, slot: u32, upward: bool) -> Sighting {
        self.packet(now, slot);
        let Slot { generation, live, .. } = &self.slots[slot as usize];
        let forward = live.as_ref().is_some_and(|live| live.upward == upward);
        Sighting { id: Id { slot, generation: *generation }, new: false, forward, closed: None }
    }

    fn see_flow(
        &mut self,
        now: Time,
        (from, to): (Host, Host),
        flow: &FlowKey,
        inside: impl FnMut(Id) -> bool,
    ) -> Sighting {
        let (key, upward) = Key::new(flow, from, to);
        if let Some(&slot) = self.by_flow.get(&key) {
            return self.see_slot(now, slot, upward);
        }
        let kind = kind(flow.protocol, flow.source_port, flow.destination_port);
        let conversation = Conversation { from, to, flow: Some(*flow), kind, opened: now, last: now };
        if self.by_flow.len() < self.limits.conversations {
            return self.begin(now, Name::Flow(key), upward, conversation);
        }
        if let Some(closed) = self.make_room(now, inside) {
            let sighting = self.begin(now, Name::Flow(key), upward, conversation);
            return Sighting { closed: Some(closed), ..sighting };
        }
        let (pair, upward) = pair(from, to);
        match self.by_pair.get(&pair) {
            Some(&slot) => self.see_slot(now, slot, upward),
            None => {
                let shared = Conversation { flow: None, kind: Kind::Other, ..conversation };
                self.begin(now, Name::Overflow(pair), upward, shared)
            }
        }
    }

    fn see_segment(&mut self, sighting: Sighting, segment: &Segment) {
        let slot = sighting.id.slot;
        let Some(live) = &mut self.slots[slot as usize].live else { return };
        if live.list == List::Overflow {
            return;
        }
        live.closing.see(usize::from(sighting.forward), segment);
        let (before, after) = (live.list, if live.closing.is_over() { List::Over } else { List::Active });
        if before != after {
            live.list = after;
            self.orders[before as usize].remove(&mut self.slots, slot);
            self.orders[after as usize].push(&mut self.slots, slot);
        }
    }

    /// Ends the conversation that has been idle longest, if it has been for long enough.
    fn make_room(&mut self, now: Time, mut inside: impl FnMut(Id) -> bool) -> Option<Id> {
        loop {
            let oldest = [List::Active, List::Over].into_iter().filter_map(|list| self.oldest(list));
            let (slot, busy) = oldest.min_by_key(|&(_, busy)| busy)?;
            if now.since(busy) <= self.limits.makes_room {
                return None;
            }
            let id = Id { slot, generation: self.slots[slot as usize].generation };
            if !inside(id) {
                self.end(slot);
                return Some(id);
            }
            self.touch(now, slot);
        }
    }

    /// Returns the conversation of a list that has been idle longest, and the start of its idle time.
    fn oldest(&self, list: List) -> Option<(u32, Time)> {
        let slot = self.orders[list as usize].front()?;
        let live = self.slots[slot as usize].live.as_ref()?;
        Some((slot, live.busy))
    }

    fn lifetime(&self, list: List) -> Span {
        match list {
            List::Active | List::Overflow => self.limits.idle,
            List::Over => self.limits.linger,
        }
    }

    /// Marks the conversation as not idle now.
    fn touch(&mut self, now: Time, slot: u32) {
        let Some(live) = &mut self.slots[slot as usize].live else { return };
        live.busy = now;
        let list = live.list as usize;
        self.orders[list].move_back(&mut self.slots, slot);
    }

    fn packet(&mut self, now: Time, slot: u32) {
        self.touch(now, slot);
        if let Some(live) = &mut self.slots[slot as usize].live {
            live.conversation.last = now;
        }
    }

    fn begin(&mut self, now: Time, name: Name, upward: bool, conversation: Conversation) -> Sighting {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, links: Links::default(), live: None });
            (self.slots.len() - 1) as u32
        });
        let list = match name {
            Name::Flow(key) => {
                self.by_flow.insert(key, slot);
                List::Active
            }
            Name::Overflow(pair) => {
                self.by_pair.insert(pair, slot);
                List::Overflow
            }
        };
        let place = &mut self.slots[slot as usize];
        place.live = Some(Live { conversation, name, upward, closing: Closing::default(), list, busy: now });
        let id = Id { slot, generation: place.generation };
        self.orders[list as usize].push(&mut self.slots, slot);
        Sighting { id, new: true, forward: true, closed: None }
    }

    fn end(&mut self, slot: u32) {
        let place = &mut self.slots[slot as usize];
        let Some(live) = place.live.take() else { return };
        place.generation = place.generation.wrapping_add(1);
        self.orders[live.list as usize].remove(&mut self.slots, slot);
        match live.name {
            Name::Flow(key) => self.by_flow.remove(&key),
            Name::Overflow(pair) => self.by_pair.remove(&pair),
        };
        self.free.push(slot);
    }
}
