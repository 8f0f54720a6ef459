//! Peers by their index in the configuration, which does not change while the process runs.

use std::ops::{Index, IndexMut};

use serde::{Deserialize, Serialize};

/// One of the configured peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct PeerId(usize);

impl PeerId {
    /// Returns the peer at an index of the configuration, counted from 0.
    pub(crate) const fn at(index: usize) -> PeerId {
        PeerId(index)
    }
    /// Returns its index in the configuration.
    pub(crate) const fn index(self) -> usize {
        self.0
    }
}

/// A value for each peer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PerPeer<T>(Vec<T>);

impl<T> Default for PerPeer<T> {
    fn default() -> PerPeer<T> {
        PerPeer(Vec::new())
    }
}

impl<T> PerPeer<T> {
    /// Returns all peers, in the order of the configuration. The iterator does not borrow `self`.
    pub(crate) fn ids(&self) -> impl DoubleEndedIterator<Item = PeerId> + use<T> {
        (0..self.0.len()).map(PeerId)
    }
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
    pub(crate) fn get(&self, peer: PeerId) -> Option<&T> {
        self.0.get(peer.0)
    }
    pub(crate) fn get_mut(&mut self, peer: PeerId) -> Option<&mut T> {
        self.0.get_mut(peer.0)
    }
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.0.iter()
    }
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (PeerId, &mut T)> {
        self.0.iter_mut().enumerate().map(|(index, value)| (PeerId(index), value))
    }
    /// Returns the first peer whose value satisfies `is`.
    pub(crate) fn find(&self, is: impl FnMut(&T) -> bool) -> Option<PeerId> {
        self.0.iter().position(is).map(PeerId)
    }
    /// Returns the values in the order of the peers.
    pub(crate) fn into_values(self) -> Vec<T> {
        self.0
    }
    /// Adds the value of the next peer.
    pub(crate) fn push(&mut self, value: T) {
        self.0.push(value);
    }
}

impl<T> Index<PeerId> for PerPeer<T> {
    type Output = T;

    fn index(&self, peer: PeerId) -> &T {
        &self.0[peer.0]
    }
}

impl<T> IndexMut<PeerId> for PerPeer<T> {
    fn index_mut(&mut self, peer: PeerId) -> &mut T {
        &mut self.0[peer.0]
    }
}

impl<T> FromIterator<T> for PerPeer<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> PerPeer<T> {
        PerPeer(values.into_iter().collect())
    }
}
