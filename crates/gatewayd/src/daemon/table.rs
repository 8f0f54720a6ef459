//! All connections, by tokens that are never used twice in a row.

use super::flow::Flow;

/// Set in the token of every connection, in no other.
pub(crate) const FLOW: u64 = 1 << 63;

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    flow: Option<Box<Flow>>,
}

/// Connections in slots. A token names slot and generation, so that an event for a connection that
/// is gone finds nothing.
#[derive(Debug, Default)]
pub(crate) struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Table {
    pub(crate) fn insert(&mut self, flow: Flow) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        slot.flow = Some(Box::new(flow));
        FLOW | u64::from(slot.generation & 0x7fff_ffff) << 32 | u64::from(index)
    }
    fn slot(&self, token: u64) -> Option<usize> {
        let (index, generation) = (token as u32 as usize, (token >> 32) as u32 & 0x7fff_ffff);
        let slot = self.slots.get(index)?;
        (token & FLOW != 0 && slot.generation & 0x7fff_ffff == generation).then_some(index)
    }
    pub(crate) fn get(&self, token: u64) -> Option<&Flow> {
        self.slots[self.slot(token)?].flow.as_deref()
    }
    pub(crate) fn get_mut(&mut self, token: u64) -> Option<&mut Flow> {
        let index = self.slot(token)?;
        self.slots[index].flow.as_deref_mut()
    }
    pub(crate) fn remove(&mut self, token: u64) -> Option<Box<Flow>> {
        let index = self.slot(token)?;
        let slot = &mut self.slots[index];
        let flow = slot.flow.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(index as u32);
        Some(flow)
    }
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.slots.iter().filter_map(|slot| slot.flow.as_deref())
    }
}
