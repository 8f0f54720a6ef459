//! Packets of hosts that did not enter the network, by reason.

use std::collections::BTreeMap;

/// Counts by reason; the names are those of [`cellway_wire::ip::Malformed`] and of the decisions of a router.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refusals {
    counts: BTreeMap<&'static str, u64>,
}

impl Refusals {
    pub(crate) fn count(&mut self, reason: &'static str) {
        *self.counts.entry(reason).or_default() += 1;
    }

    /// Returns the reasons that occurred, with their counts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.counts.iter().map(|(&reason, &count)| (reason, count))
    }
}
