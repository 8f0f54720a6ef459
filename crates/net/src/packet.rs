//! Packets in the network, each held once however many cells it is cut into.

use cellway_units::{Ecn, Span, Time};

use crate::counters::ConversationCounters;
use crate::ids::NodeId;
use crate::qdisc::{Drops, Queued};

/// An IP datagram between two hosts. `body` is the driver's: a TCP segment in simulation, octets in emulation; the
/// network never reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<B> {
    /// The conversation it belongs to, as opened with [`crate::Fabric::open`].
    pub conversation: u32,
    /// The host that sent it.
    pub from: NodeId,
    /// The host that it is for.
    pub to: NodeId,
    /// Length of the IP datagram in octets, headers included.
    pub octets: u32,
    /// The flow of its conversation: packets of one transport connection, or of one pair of ports, have
    /// one number. Fair queues keep flows apart.
    pub flow: u32,
    /// The ECN field of its header.
    pub ecn: Ecn,
    /// The differentiated services code point of its header, of 6 bits.
    pub dscp: u8,
    /// Its contents.
    pub body: B,
}

impl<B> Packet<B> {
    /// Returns its entry for the queue that it joins at `now`, without its place in [`Packets`].
    #[inline]
    pub(crate) fn queue_entry(&self, now: Time) -> Queued {
        let &Packet { conversation, flow, octets, ecn, dscp, .. } = self;
        let (packet, marked, since, hop) = (PacketRef(u32::MAX), false, now, Queued::UNKNOWN);
        Queued { packet, conversation, flow, octets, ecn, dscp, marked, since, hop }
    }
}

/// A packet that has come to its host.
#[derive(Clone, Debug)]
pub struct Delivery<B> {
    /// The packet; `packet.to` is the host. [`crate::Fabric::recycle`] takes its memory back.
    pub packet: Box<Packet<B>>,
    /// True if bits of its payload are wrong, so that the host drops it for its checksum.
    pub corrupted: bool,
    /// Its way here, if the network records it: see [`crate::Fabric::record_transits`].
    pub transit: Option<Transit>,
}

/// The times of a packet on its way through the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transit {
    /// The instant at which its host sent it.
    pub sent: Time,
    /// The time that it has waited in the queues of packet lines, that of its host included. Queues of cells are not.
    pub waited: Span,
}

/// A packet's place in [`Packets`], or an RM cell's in [`RmCells`](crate::rm_cells::RmCells).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketRef(pub(crate) u32);

#[derive(Clone, Debug)]
struct Entry<B> {
    /// Boxed: it is written once, and handed to its host without being copied.
    packet: Option<Box<Packet<B>>>,
    /// Cells that left the network, by loss or because the frame was damaged.
    gone: u16,
    /// The direction of its path, and the number of steps of it that are done.
    way: u8,
    steps: u16,
    /// True if bits of its payload are wrong.
    corrupted: bool,
}

/// All packets inside the network: a slab whose slots are used again.
#[derive(Clone, Debug)]
pub(crate) struct Packets<B> {
    entries: Vec<Entry<B>>,
    free: Vec<u32>,
    /// The memory of packets that have left.
    spare: Vec<Box<Packet<B>>>,
    /// The transit of the packet at each place of `entries`, if transits are recorded. Apart from the entries: their size
    /// is counted by the packet.
    transits: Option<Vec<Transit>>,
    /// Packets that a queue has just dropped.
    dropped: Drops,
    /// The counters of the packets of each conversation.
    counters: Vec<ConversationCounters>,
}

impl<B> Packets<B> {
    pub(crate) fn new() -> Packets<B> {
        Packets {
            entries: Vec::new(),
            free: Vec::new(),
            spare: Vec::new(),
            transits: None,
            dropped: Drops::new(),
            counters: Vec::new(),
        }
    }

    /// Reserves the counters of this many conversations.
    pub(crate) fn reserve(&mut self, conversations: usize) {
        self.counters.reserve_exact(conversations);
    }

    /// Records the transits of packets. None may be in the network.
    pub(crate) fn record_transits(&mut self) {
        debug_assert!(self.entries.is_empty(), "a packet in the network has no transit");
        self.transits.get_or_insert_default();
    }

    /// Adds a packet to the network at `now`, in direction `way` of its conversation.
    #[inline]
    pub(crate) fn insert(&mut self, now: Time, packet: Packet<B>, way: u8) -> PacketRef {
        self.counters_mut(packet.conversation).sent += 1;
        let packet = match self.spare.pop() {
            Some(mut spare) => {
                *spare = packet;
                spare
            }
            None => Box::new(packet),
        };
        let at = self.add(Entry { packet: Some(packet), gone: 0, way, steps: 0, corrupted: false });
        if self.transits.is_some() {
            self.begin_transit(at, Transit { sent: now, waited: Span::ZERO });
        }
        at
    }

    /// Adds a copy of a packet to the network, at the same place of its path. It counts as one more packet that was sent.
    pub(crate) fn copy(&mut self, at: PacketRef) -> PacketRef
    where
        B: Clone,
    {
        let entry = self.entries[at.0 as usize].clone();
        let conversation = self.get(at).conversation;
        self.counters_mut(conversation).sent += 1;
        let copy = self.add(entry);
        if let Some(transit) = self.transits.as_ref().map(|transits| transits[at.0 as usize]) {
            self.begin_transit(copy, transit);
        }
        copy
    }

    #[cold]
    fn begin_transit(&mut self, at: PacketRef, transit: Transit) {
        let Some(transits) = &mut self.transits else { return };
        match transits.get_mut(at.0 as usize) {
            Some(before) => *before = transit,
            None => transits.push(transit),
        }
    }

    /// Adds the wait of a packet that leaves a queue for the line.
    #[inline]
    pub(crate) fn waited(&mut self, at: PacketRef, wait: Span) {
        if let Some(transits) = &mut self.transits {
            transits[at.0 as usize].waited += wait;
        }
    }

    #[inline(always)]
    fn add(&mut self, entry: Entry<B>) -> PacketRef {
        match self.free.pop() {
            Some(place) => {
                self.entries[place as usize] = entry;
                PacketRef(place)
            }
            None => {
                self.entries.push(entry);
                PacketRef(self.entries.len() as u32 - 1)
            }
        }
    }

    #[inline]
    pub(crate) fn get(&self, at: PacketRef) -> &Packet<B> {
        self.entries[at.0 as usize].packet.as_deref().expect("a cell names a packet that is still held")
    }

    /// Returns a packet, its direction and the number of steps that are done.
    #[inline]
    pub(crate) fn position(&self, at: PacketRef) -> (&Packet<B>, usize, usize) {
        let entry = &self.entries[at.0 as usize];
        let packet = entry.packet.as_deref().expect("a cell names a packet that is still held");
        (packet, usize::from(entry.way), usize::from(entry.steps))
    }

    /// Returns the direction of a packet.
    #[inline]
    pub(crate) fn way(&self, at: PacketRef) -> usize {
        usize::from(self.entries[at.0 as usize].way)
    }

    /// Sets the number of steps of a packet's path that are done.
    #[inline]
    pub(crate) fn set_steps(&mut self, at: PacketRef, steps: u16) {
        self.entries[at.0 as usize].steps = steps;
    }

    /// Counts a step of a packet's path as done.
    #[inline]
    pub(crate) fn step(&mut self, at: PacketRef) {
        self.entries[at.0 as usize].steps += 1;
    }

    #[inline]
    fn remove(&mut self, at: PacketRef) -> Box<Packet<B>> {
        self.free.push(at.0);
        self.entries[at.0 as usize].packet.take().expect("a cell names a packet that is still held")
    }

    /// Marks a packet whose payload has been corrupted on a link.
    pub(crate) fn corrupt(&mut self, at: PacketRef) {
        self.entries[at.0 as usize].corrupted = true;
    }

    /// Hands a packet over to its host. A corrupted one counts as damaged, because the host drops it.
    #[inline(always)]
    pub(crate) fn deliver(&mut self, at: PacketRef) -> Delivery<B> {
        let corrupted = self.entries[at.0 as usize].corrupted;
        let packet = self.remove(at);
        let counters = self.counters_mut(packet.conversation);
        if corrupted {
            counters.damaged += 1;
        } else {
            counters.delivered += 1;
        }
        Delivery { packet, corrupted, transit: self.transits.as_ref().map(|transits| transits[at.0 as usize]) }
    }

    /// Takes back the memory of packets that have been handed over, and empties `delivered`.
    #[inline]
    pub(crate) fn recycle(&mut self, delivered: &mut Vec<Delivery<B>>) {
        while let Some(Delivery { packet, .. }) = delivered.pop() {
            self.spare.push(packet);
        }
    }

    /// Returns the entry for the queue that the packet joins at `now`.
    #[inline]
    pub(crate) fn queued(&self, now: Time, at: PacketRef) -> Queued {
        Queued { packet: at, ..self.get(at).queue_entry(now) }
    }

    /// Marks a packet with "congestion experienced".
    #[inline(never)]
    pub(crate) fn mark(&mut self, at: PacketRef) {
        let packet = self.entries[at.0 as usize].packet.as_mut();
        packet.expect("a queue holds packets that are in the network").ecn = Ecn::Ce;
    }

    /// Returns the list for packets that a queue drops.
    #[inline]
    pub(crate) fn drops(&mut self) -> &mut Drops {
        &mut self.dropped
    }

    /// Removes the packets of that list from the network and counts them as refused.
    #[inline]
    pub(crate) fn refuse_dropped(&mut self) {
        if !self.dropped.is_empty() {
            self.refuse_all();
        }
    }

    #[cold]
    fn refuse_all(&mut self) {
        while let Some(packet) = self.dropped.pop() {
            self.refuse(packet);
        }
    }

    /// Removes a packet of which no cell was queued and counts it as refused.
    pub(crate) fn refuse(&mut self, at: PacketRef) {
        let packet = self.remove(at);
        self.counters_mut(packet.conversation).refused += 1;
        self.spare.push(packet);
    }

    /// Counts `cells` of a frame of `count` as lost; removes the packet with its last cell.
    pub(crate) fn lose(&mut self, at: PacketRef, cells: u16, count: u16) {
        let entry = &mut self.entries[at.0 as usize];
        entry.gone += cells;
        debug_assert!(entry.gone <= count, "more cells gone than the frame had");
        if entry.gone == count {
            let packet = self.remove(at);
            self.counters_mut(packet.conversation).damaged += 1;
            self.spare.push(packet);
        }
    }

    /// Returns the cells of a frame that left the network, by loss or because the frame was damaged.
    pub(crate) fn gone(&self, at: PacketRef) -> u16 {
        self.entries[at.0 as usize].gone
    }

    /// Returns the counters of the packets of a conversation.
    pub(crate) fn counters(&self, conversation: u32) -> ConversationCounters {
        self.counters.get(conversation as usize).copied().unwrap_or_default()
    }

    /// Starts the counters of a conversation anew: its number has been given to another.
    pub(crate) fn forget(&mut self, conversation: u32) {
        *self.counters_mut(conversation) = ConversationCounters::default();
    }

    #[inline]
    fn counters_mut(&mut self, conversation: u32) -> &mut ConversationCounters {
        let index = conversation as usize;
        if index >= self.counters.len() {
            self.counters.resize(index + 1, ConversationCounters::default());
        }
        &mut self.counters[index]
    }

    /// Packets held.
    pub(crate) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }
}

#[cfg(test)]
impl<B> Packets<B> {
    /// Returns the packets that are held, each with the number of its cells that have left the network.
    pub(crate) fn held(&self) -> impl Iterator<Item = (PacketRef, &Packet<B>, u16)> {
        let held = |(place, entry): (u32, _)| {
            let Entry { packet, gone, .. }: &Entry<B> = entry;
            Some((PacketRef(place), packet.as_deref()?, *gone))
        };
        (0..).zip(&self.entries).filter_map(held)
    }

    pub(crate) fn lengths(&self) -> Vec<usize> {
        vec![self.entries.len(), self.free.len(), self.counters.len()]
    }
}
