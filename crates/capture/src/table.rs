//! A bounded table of conversations, in the order of their last packets.

use std::collections::HashMap;

use crate::packet::Endpoint;

/// The addresses and ports of a conversation: the lower endpoint first, so that both directions have the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) ends: [Endpoint; 2],
}

impl Key {
    /// Returns the key of a packet, and the index of its sender in it.
    pub(crate) fn of(source: Endpoint, destination: Endpoint) -> (Key, usize) {
        if source <= destination {
            (Key { ends: [source, destination] }, 0)
        } else {
            (Key { ends: [destination, source] }, 1)
        }
    }
}

/// The index of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At(u32);

/// The two orders in which entries are: those whose conversation goes on, and those that wait for stray packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Open = 0,
    Ended = 1,
}

const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Entry<T> {
    key: Key,
    list: List,
    /// Time of the last packet, in ns.
    last: u64,
    before: u32,
    after: u32,
    value: Option<T>,
}

/// The entries, oldest packet first in each list.
#[derive(Debug)]
pub(crate) struct Table<T> {
    index: HashMap<Key, u32>,
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
    /// First and last of each list.
    ends: [(u32, u32); 2],
}

impl<T> Table<T> {
    pub(crate) fn new() -> Table<T> {
        Table { index: HashMap::new(), entries: Vec::new(), free: Vec::new(), ends: [(NONE, NONE); 2] }
    }

    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    pub(crate) fn find(&self, key: &Key) -> Option<At> {
        self.index.get(key).copied().map(At)
    }

    pub(crate) fn value(&mut self, at: At) -> Option<&mut T> {
        self.entries[at.0 as usize].value.as_mut()
    }

    /// Adds an entry for a key that the table does not have.
    pub(crate) fn insert(&mut self, key: Key, now: u64, value: T) -> At {
        let entry = Entry { key, list: List::Open, last: now, before: NONE, after: NONE, value: Some(value) };
        let at = match self.free.pop() {
            Some(at) => {
                self.entries[at as usize] = entry;
                at
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        self.index.insert(key, at);
        self.append(at);
        At(at)
    }

    /// Moves an entry to the end of a list: it has had a packet.
    pub(crate) fn touch(&mut self, at: At, list: List, now: u64) {
        let entry = &self.entries[at.0 as usize];
        // The last entry stays where it is: packets come in trains.
        if entry.after != NONE || entry.list != list {
            self.unlink(at.0);
            self.entries[at.0 as usize].list = list;
            self.append(at.0);
        }
        self.entries[at.0 as usize].last = now;
    }

    /// Returns the entry of a list whose last packet is the oldest, and the time of that.
    pub(crate) fn oldest(&self, list: List) -> Option<(At, u64)> {
        let (first, _) = self.ends[list as usize];
        (first != NONE).then(|| (At(first), self.entries[first as usize].last))
    }

    /// Removes an entry.
    pub(crate) fn remove(&mut self, at: At) -> Option<(Key, T)> {
        self.unlink(at.0);
        let entry = &mut self.entries[at.0 as usize];
        let (key, value) = (entry.key, entry.value.take());
        self.index.remove(&key);
        self.free.push(at.0);
        value.map(|value| (key, value))
    }

    fn append(&mut self, at: u32) {
        let list = self.entries[at as usize].list as usize;
        let (first, last) = self.ends[list];
        self.entries[at as usize].before = last;
        self.entries[at as usize].after = NONE;
        if last == NONE {
            self.ends[list] = (at, at);
        } else {
            self.entries[last as usize].after = at;
            self.ends[list] = (first, at);
        }
    }

    fn unlink(&mut self, at: u32) {
        let Entry { list, before, after, .. } = self.entries[at as usize];
        let (first, last) = self.ends[list as usize];
        match before {
            NONE => {}
            before => self.entries[before as usize].after = after,
        }
        match after {
            NONE => {}
            after => self.entries[after as usize].before = before,
        }
        let ends = (if first == at { after } else { first }, if last == at { before } else { last });
        self.ends[list as usize] = ends;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(port: u16) -> Key {
        let [a, b] = [1, 2].map(|address| Endpoint { address, port });
        Key::of(b, a).0
    }

    fn drained(mut table: Table<u16>) -> Vec<u16> {
        let mut all = Vec::new();
        for list in [List::Open, List::Ended] {
            while let Some((at, _)) = table.oldest(list) {
                all.push(table.remove(at).unwrap().1);
            }
        }
        assert_eq!(table.len(), 0);
        all
    }

    #[test]
    fn both_directions_have_one_key() {
        let [a, b] = [(1, 9), (2, 1)].map(|(address, port)| Endpoint { address, port });
        assert_eq!(Key::of(a, b).0, Key::of(b, a).0);
        assert_eq!((Key::of(a, b).1, Key::of(b, a).1), (0, 1));
    }

    #[test]
    fn entries_are_in_the_order_of_their_last_packets() {
        let mut table = Table::new();
        let all: Vec<At> = (0..5).map(|n| table.insert(key(n), n.into(), n)).collect();
        table.touch(all[1], List::Open, 10);
        table.touch(all[3], List::Ended, 11);
        table.touch(all[4], List::Open, 12);
        assert_eq!(table.oldest(List::Open), Some((all[0], 0)));
        assert_eq!(table.remove(all[2]).unwrap().1, 2);
        assert_eq!((table.find(&key(2)), table.find(&key(4))), (None, Some(all[4])));
        // The place of a removed entry is used again.
        assert_eq!(table.insert(key(7), 13, 7), all[2]);
        assert_eq!(drained(table), [0, 1, 4, 7, 3]);
    }
}
