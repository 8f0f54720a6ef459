//! A table of connections by tokens; the token of a connection that has ended is not reused.

use cellway_sys::Ready;

use super::connection::Connection;

/// The bit that is set in the readiness of sockets of connections only.
const CONNECTION: u64 = 1 << 63;

/// A connection in the table: its slot, and the number of the connection in that slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Token {
    index: u32,
    /// 31 bits.
    generation: u32,
}

impl Token {
    /// Returns the connection whose socket is ready; none if the socket is not of a connection.
    pub(crate) fn of(ready: Ready) -> Option<Token> {
        let Ready { token, .. } = ready;
        let generation = (token >> 32) as u32 & GENERATIONS;
        (token & CONNECTION != 0).then_some(Token { index: token as u32, generation })
    }
    /// Returns the value with which the kernel reports the readiness of its socket.
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

/// Connections in slots. A token names slot and generation, so that an event for a connection that has ended finds
/// none.
#[derive(Debug, Default)]
pub(super) struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Table {
    pub(super) fn insert(&mut self, connection: Connection) -> Token {
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
    pub(super) fn get(&self, token: Token) -> Option<&Connection> {
        self.slots[self.slot(token)?].connection.as_deref()
    }
    pub(super) fn get_mut(&mut self, token: Token) -> Option<&mut Connection> {
        let index = self.slot(token)?;
        self.slots[index].connection.as_deref_mut()
    }
    pub(super) fn remove(&mut self, token: Token) -> Option<Box<Connection>> {
        let index = self.slot(token)?;
        let slot = &mut self.slots[index];
        let connection = slot.connection.take()?;
        slot.generation = slot.generation.wrapping_add(1) & GENERATIONS;
        self.free.push(token.index);
        Some(connection)
    }
    /// Removes all connections.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Box<Connection>> + use<> {
        std::mem::take(self).slots.into_iter().filter_map(|slot| slot.connection)
    }
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
    pub(super) fn iter(&self) -> impl Iterator<Item = &Connection> {
        self.slots.iter().filter_map(|slot| slot.connection.as_deref())
    }
}
