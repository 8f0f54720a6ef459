//! All connections, by tokens that are never used twice in a row.

use cellway_sys::Ready;

use super::connection::Connection;

/// Set in what the kernel tells of the socket of a connection, and of nothing else.
const CONNECTION: u64 = 1 << 63;

/// A connection in the table: its slot, and which of the connections in that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Token {
    index: u32,
    /// 31 bits.
    generation: u32,
}

impl Token {
    /// The connection whose socket is ready; none if it is no connection's.
    pub(crate) fn of(ready: Ready) -> Option<Token> {
        let Ready { token, .. } = ready;
        let generation = (token >> 32) as u32 & GENERATIONS;
        (token & CONNECTION != 0).then_some(Token { index: token as u32, generation })
    }
    /// As the kernel is to tell it.
    pub(crate) fn ready(self) -> u64 {
        CONNECTION | u64::from(self.generation) << 32 | u64::from(self.index)
    }
}

/// Generations of a slot are counted modulo this plus 1.
const GENERATIONS: u32 = 0x7fff_ffff;

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    connection: Option<Box<Connection>>,
}

/// Connections in slots. A token names slot and generation, so that an event for a connection that
/// is gone finds nothing.
#[derive(Debug, Default)]
pub(crate) struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Table {
    pub(crate) fn insert(&mut self, connection: Connection) -> Token {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        slot.connection = Some(Box::new(connection));
        Token { index, generation: slot.generation }
    }
    fn slot(&self, token: Token) -> Option<usize> {
        let index = token.index as usize;
        (self.slots.get(index)?.generation == token.generation).then_some(index)
    }
    pub(crate) fn get(&self, token: Token) -> Option<&Connection> {
        self.slots[self.slot(token)?].connection.as_deref()
    }
    pub(crate) fn get_mut(&mut self, token: Token) -> Option<&mut Connection> {
        let index = self.slot(token)?;
        self.slots[index].connection.as_deref_mut()
    }
    pub(crate) fn remove(&mut self, token: Token) -> Option<Box<Connection>> {
        let index = self.slot(token)?;
        let slot = &mut self.slots[index];
        let connection = slot.connection.take()?;
        slot.generation = slot.generation.wrapping_add(1) & GENERATIONS;
        self.free.push(token.index);
        Some(connection)
    }
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.slots.iter().filter_map(|slot| slot.connection.as_deref())
    }
}
