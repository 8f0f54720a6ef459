//! Buffer memory of an output line: its division, its unit, its rule for drops.

use std::sync::Arc;

use cellway_spec::{Charge, Discard, Sharing};
use cellway_units::{Bits, CELL_BITS, CELL_PAYLOAD_OCTETS};

/// The memory of one output line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSpec {
    /// Size, for each conversation that can use the line, or for all if `whole_port`.
    pub size: Bits,
    /// True if `size` is that of the whole line.
    pub whole_port: bool,
    /// The division of the buffer.
    pub sharing: Sharing,
    /// The unit that fills it.
    pub charge: Charge,
    /// The rule for drops.
    pub discard: Discard,
    /// The fill level at which [`Discard::Epd`] begins, in the unit of `size`; `None` is never.
    pub threshold: Option<Bits>,
    /// The fill level at which cells of loss priority 1 are refused, in the unit of `size`; `None` is never.
    pub clp_threshold: Option<Bits>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Group {
    /// Bits held.
    used: u64,
    limit: u64,
    /// The level of `used` at which new frames are refused, and that for cells of loss priority 1.
    threshold: u64,
    clp_threshold: u64,
    conversations: u32,
    /// The number of conversations on the whole line when the limits above were computed.
    divided_by: u32,
}

/// The state of a line's memory. That of hosts is unlimited, and has none.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    limited: Option<Box<Limited>>,
}

#[derive(Clone, Debug)]
struct Limited {
    /// Shared, because most lines have the same.
    spec: Arc<BufferSpec>,
    /// The first group, the only one of most lines.
    first: Group,
    conversations: u32,
    more: Option<Box<More>>,
}

/// The part of a line's memory that few lines have.
#[derive(Clone, Debug, Default)]
struct More {
    /// The groups behind the first.
    others: Vec<Group>,
    /// The groups of conversations; only for [`Sharing::Conversation`].
    own: Option<OwnGroups>,
}

/// The groups of conversations that each have their own memory.
#[derive(Clone, Debug, Default)]
struct OwnGroups {
    /// The conversations that use the line, in ascending order, each with its group.
    of_conversation: Vec<(u32, u32)>,
    /// Groups of closed conversations.
    free: Vec<u32>,
}

/// The conversation that needs memory, and the length of its packet.
#[derive(Clone, Copy)]
pub(crate) struct Owner {
    pub(crate) slot: u32,
    pub(crate) conversation: u32,
    pub(crate) octets: u32,
}

impl Buffer {
    pub(crate) fn new(spec: Option<Arc<BufferSpec>>) -> Buffer {
        let limited = |spec: Arc<BufferSpec>| {
            let is_own = spec.sharing == Sharing::Conversation;
            let more = is_own.then(|| Box::new(More { others: Vec::new(), own: Some(OwnGroups::default()) }));
            Box::new(Limited { spec, first: Group::default(), conversations: 0, more })
        };
        Buffer { limited: spec.map(limited) }
    }

    #[inline]
    fn spec(&self) -> Option<&BufferSpec> {
        self.limited.as_ref().map(|limited| &*limited.spec)
    }

    /// Returns true if [`Owner::conversation`] and [`Owner::octets`] are used; if not, the caller need not look them
    /// up.
    #[inline]
    pub(crate) fn asks_for_packet(&self) -> bool {
        self.spec().is_some_and(|s| s.sharing == Sharing::Conversation || s.charge == Charge::Packet)
    }

    /// Returns true if all cells need the same memory, out of one for all.
    #[inline]
    pub(crate) fn is_common(&self) -> bool {
        self.spec().is_none_or(|s| s.sharing == Sharing::Pool && s.charge == Charge::Cell)
    }

    /// Returns true if each conversation has its own memory.
    pub(crate) fn is_by_conversation(&self) -> bool {
        self.spec().is_some_and(|s| s.sharing == Sharing::Conversation)
    }

    /// Allocates memory to a conversation whose cells wait in queue `slot`.
    pub(crate) fn add_conversation(&mut self, conversation: u32, slot: u32) {
        let Some(limited) = &mut self.limited else { return };
        let group = match limited.own_mut() {
            Some(own) => own.add(conversation),
            None => limited.spec.shared_group(slot),
        };
        if group > 0 {
            let others = &mut limited.more.get_or_insert_default().others;
            others.resize(group.max(others.len()), Group::default());
        }
        limited.at(group).conversations += 1;
        limited.conversations += 1;
        limited.divide(group);
    }

    /// Frees the memory of a conversation without cells here.
    pub(crate) fn remove_conversation(&mut self, conversation: u32, slot: u32) {
        let Some(limited) = &mut self.limited else { return };
        let group = match limited.own_mut() {
            Some(own) => own.remove(conversation),
            None => limited.spec.shared_group(slot),
        };
        limited.at(group).conversations -= 1;
        limited.conversations -= 1;
        limited.divide(group);
    }

    /// Returns true if frames can be refused or truncated by [`FrameDiscard`](crate::discard::FrameDiscard).
    pub(crate) fn discards_frames(&self) -> bool {
        self.spec().is_some_and(|s| matches!(s.discard, Discard::Ppd | Discard::Epd))
    }

    /// Returns true if new frames are refused: early packet discard.
    #[inline]
    pub(crate) fn refuses_new_frames(&mut self, owner: Owner) -> bool {
        let Some(limited) = self.limited.as_mut().filter(|limited| limited.spec.discard == Discard::Epd) else {
            return false;
        };
        let group = limited.group(owner);
        group.used >= group.threshold
    }

    /// Returns true if cells of loss priority 1 are refused.
    pub(crate) fn refuses_tagged(&mut self, owner: Owner) -> bool {
        let Some(limited) = &mut self.limited else { return false };
        let group = limited.group(owner);
        group.used >= group.clp_threshold
    }

    /// Returns true if a frame of `count` cells is dropped completely because they do not all fit.
    pub(crate) fn refuses_frame(&mut self, owner: Owner, count: u16) -> bool {
        let Some(limited) = self.limited.as_mut().filter(|limited| limited.spec.discard != Discard::Cell) else {
            return false;
        };
        let all = limited.spec.cost_of_frame(count, owner.octets);
        let group = limited.group(owner);
        all > group.limit.saturating_sub(group.used)
    }

    /// Returns how many of the `count` cells of a frame may be queued; they are charged.
    pub(crate) fn admit_frame(&mut self, owner: Owner, count: u16) -> u16 {
        let Some(limited) = &mut self.limited else { return count };
        let spec = *limited.spec;
        let cost = |cells: u16| (0..cells).map(|index| spec.cost(index, owner.octets)).sum::<u64>();
        let group = limited.group(owner);
        let room = group.limit.saturating_sub(group.used);
        let all = spec.cost_of_frame(count, owner.octets);
        if all <= room {
            group.used += all;
            return count;
        }
        match spec.discard {
            Discard::Frame | Discard::Ppd | Discard::Epd => 0,
            Discard::Cell => {
                let fitting = (0..count).take_while(|&cells| cost(cells + 1) <= room).count() as u16;
                group.used += cost(fitting);
                fitting
            }
        }
    }

    /// Returns true if a single cell may be queued; it is charged.
    #[inline(always)]
    pub(crate) fn admit_cell(&mut self, owner: Owner, index: u16) -> bool {
        let Some(limited) = &mut self.limited else { return true };
        let cost = limited.spec.cost(index, owner.octets);
        let group = limited.group(owner);
        let fits = group.used + cost <= group.limit;
        if fits {
            group.used += cost;
        }
        fits
    }

    /// Returns true if there is room for a single cell. Those behind it in its frame cost no more.
    #[inline(always)]
    pub(crate) fn fits_cell(&mut self, owner: Owner, index: u16) -> bool {
        let Some(limited) = &mut self.limited else { return true };
        let cost = limited.spec.cost(index, owner.octets);
        let group = limited.group(owner);
        group.used + cost <= group.limit
    }

    /// Gives back the memory of a cell.
    #[inline(always)]
    pub(crate) fn release_cell(&mut self, owner: Owner, index: u16) {
        let Some(limited) = &mut self.limited else { return };
        let cost = limited.spec.cost(index, owner.octets);
        limited.group(owner).used -= cost;
    }

    /// Gives back the memory of `cells` cells of a frame from `index` on.
    #[inline]
    pub(crate) fn release_run(&mut self, owner: Owner, index: u16, cells: u16) {
        let Some(limited) = &mut self.limited else { return };
        let cost: u64 = match limited.spec.charge {
            Charge::Cell => u64::from(cells) * CELL_BITS.0,
            Charge::Packet => (index..index + cells).map(|index| limited.spec.cost(index, owner.octets)).sum(),
        };
        limited.group(owner).used -= cost;
    }

    /// Gives back the memory of `cells` cells, if it [is common](Buffer::is_common).
    #[inline]
    pub(crate) fn release_common(&mut self, cells: u32) {
        if let Some(limited) = &mut self.limited {
            limited.first.used -= u64::from(cells) * CELL_BITS.0;
        }
    }

    /// Returns true if there is room for a whole packet on a packet line.
    #[inline(always)]
    pub(crate) fn fits_packet(&mut self, owner: Owner) -> bool {
        let Some(limited) = &mut self.limited else { return true };
        let group = limited.group(owner);
        group.used + u64::from(owner.octets) * 8 <= group.limit
    }

    /// Returns true if an empty buffer would have room for a whole packet on a packet line.
    pub(crate) fn can_hold_packet(&mut self, owner: Owner) -> bool {
        let Some(limited) = &mut self.limited else { return true };
        u64::from(owner.octets) * 8 <= limited.group(owner).limit
    }

    /// Returns true if a whole packet may be queued on a packet line; it is charged by its octets.
    #[inline(always)]
    pub(crate) fn admit_packet(&mut self, owner: Owner) -> bool {
        let Some(limited) = &mut self.limited else { return true };
        let cost = u64::from(owner.octets) * 8;
        let group = limited.group(owner);
        let fits = group.used + cost <= group.limit;
        if fits {
            group.used += cost;
        }
        fits
    }

    /// Gives back the memory of a whole packet.
    #[inline(always)]
    pub(crate) fn release_packet(&mut self, owner: Owner) {
        if let Some(limited) = &mut self.limited {
            limited.group(owner).used -= u64::from(owner.octets) * 8;
        }
    }

    /// Bits held by all groups.
    pub(crate) fn used(&self) -> u64 {
        let Some(limited) = &self.limited else { return 0 };
        let others = limited.more.iter().flat_map(|more| &more.others);
        limited.first.used + others.map(|group| group.used).sum::<u64>()
    }
}

impl Limited {
    #[inline(always)]
    fn group(&mut self, owner: Owner) -> &mut Group {
        let index = match self.more.as_ref().and_then(|more| more.own.as_ref()) {
            Some(own) => own.of(owner.conversation),
            None => self.spec.shared_group(owner.slot),
        };
        let conversations = self.conversations;
        if self.spec.whole_port && self.at(index).divided_by != conversations {
            self.divide(index);
        }
        self.at(index)
    }

    #[inline(always)]
    fn at(&mut self, group: usize) -> &mut Group {
        if group == 0 {
            return &mut self.first;
        }
        let more = self.more.as_mut().expect("a further group is there since its first conversation");
        &mut more.others[group - 1]
    }

    fn own_mut(&mut self) -> Option<&mut OwnGroups> {
        self.more.as_mut()?.own.as_mut()
    }

    /// Sets the limits of a group to its conversations' share. If the share depends on all conversations of the line,
    /// other groups get their new limits when they are next used.
    #[inline(never)]
    fn divide(&mut self, group: usize) {
        let (spec, conversations) = (*self.spec, self.conversations);
        let group = self.at(group);
        // In 128 bits, so that a share of a huge line is exact; past 64 bits there is no limit.
        let share = |size: Bits| {
            let share = u128::from(size.0) * u128::from(group.conversations);
            let share = if spec.whole_port { share / u128::from(conversations.max(1)) } else { share };
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        let [limit, threshold, clp_threshold] =
            [Some(spec.size), spec.threshold, spec.clp_threshold].map(|size| size.map_or(u64::MAX, share));
        *group = Group { limit, threshold, clp_threshold, divided_by: conversations, ..*group };
    }
}

impl OwnGroups {
    /// Gives a group to a conversation.
    fn add(&mut self, conversation: u32) -> usize {
        let group = self.free.pop().unwrap_or(self.of_conversation.len() as u32);
        if self.of_conversation.is_empty() {
            self.of_conversation.reserve_exact(1);
        }
        let place = self.of_conversation.partition_point(|&(other, _)| other < conversation);
        self.of_conversation.insert(place, (conversation, group));
        group as usize
    }

    /// Takes the group of a conversation back.
    fn remove(&mut self, conversation: u32) -> usize {
        let (_, group) = self.of_conversation.remove(self.place_of(conversation));
        self.free.push(group);
        group as usize
    }

    /// Returns the group of a conversation.
    #[inline(always)]
    fn of(&self, conversation: u32) -> usize {
        self.of_conversation[self.place_of(conversation)].1 as usize
    }

    /// Returns the index of a conversation among those of the line. On most lines their numbers are consecutive.
    #[inline(always)]
    fn place_of(&self, conversation: u32) -> usize {
        let first = self.of_conversation[0].0;
        let guess = conversation.wrapping_sub(first) as usize;
        match self.of_conversation.get(guess) {
            Some(&(found, _)) if found == conversation => guess,
            _ => self.search(conversation),
        }
    }

    #[cold]
    fn search(&self, conversation: u32) -> usize {
        let found = self.of_conversation.binary_search_by_key(&conversation, |&(other, _)| other);
        found.expect("a conversation has memory at each line that it uses")
    }
}

impl BufferSpec {
    /// Returns the group of all conversations, or of those in queue `slot`.
    #[inline(always)]
    fn shared_group(&self, slot: u32) -> usize {
        if self.sharing == Sharing::Channel { slot as usize } else { 0 }
    }

    /// Returns the bits that all cells of a packet of `octets` fill.
    fn cost_of_frame(&self, count: u16, octets: u32) -> u64 {
        match self.charge {
            Charge::Cell => u64::from(count) * CELL_BITS.0,
            Charge::Packet => u64::from(octets) * 8,
        }
    }

    /// Returns the bits that cell `index` of a packet of `octets` fills. By packet, the cells of a frame together fill
    /// exactly the packet: the last ones carry padding and trailer at no cost.
    #[inline]
    fn cost(&self, index: u16, octets: u32) -> u64 {
        match self.charge {
            Charge::Cell => CELL_BITS.0,
            Charge::Packet => {
                let before = u64::from(index) * CELL_PAYLOAD_OCTETS;
                u64::from(octets).saturating_sub(before).min(CELL_PAYLOAD_OCTETS) * 8
            }
        }
    }
}

#[cfg(test)]
impl Buffer {
    pub(crate) fn lengths(&self) -> Vec<usize> {
        let Some(limited) = &self.limited else { return vec![0; 4] };
        let more = limited.more.as_deref().cloned().unwrap_or_default();
        let own = more.own.unwrap_or_default();
        vec![more.others.len(), own.of_conversation.len(), own.free.len(), limited.conversations as usize]
    }
}

#[cfg(test)]
mod tests;
