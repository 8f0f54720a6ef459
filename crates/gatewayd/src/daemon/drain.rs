//! Letting connections end before the daemon does.
//!
//! A daemon that drains takes no new connections: those for a peer's networks go the way that its `down` says, ports refuse
//! them, and a peer that asks for one is refused, which over QUIC has its own side send it on. Those that it carries go on.

use cellway_gateway::Reason;
use cellway_units::Span;

use super::Daemon;
use super::moment::Moment;
use super::timers::Due;

/// The state of a daemon that drains.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drain {
    /// When what is left is reset; never if not set.
    until: Option<Moment>,
    /// Since when there are no connections.
    empty: Option<Moment>,
}

/// How long it stays without connections: peers still get what they are owed, and whoever asks still gets an answer.
const EMPTY: Span = Span::from_secs(1);

impl Daemon {
    /// Takes no new connections from now on, and ends when there are none; after `within` in any case. Asked again, the
    /// time is set anew.
    pub(crate) fn begin_drain(&mut self, within: Option<Span>) {
        let until = within.map(|within| self.now + within);
        let begins = self.drain.replace(Drain { until, empty: None }).is_none();
        if let Some(until) = until {
            self.timers.add(until, Due::Drained);
        }
        tracing::info!(connections = self.left(), ?within, "drains: no new connections are taken");
        if begins {
            self.links.ids().for_each(|peer| self.tell_rules(peer, false));
        }
    }
    /// True if no new connections are taken.
    pub(crate) fn drains(&self) -> bool {
        self.drain.is_some()
    }
    /// How many connections a draining daemon waits for. Hosts that are left without an answer would take minutes.
    pub(crate) fn left(&self) -> u64 {
        (self.table.len() as u64).saturating_sub(u64::from(self.tally.silent)) + self.attempts.len() as u64
    }
    /// Ends a daemon that has drained, or whose time for that is over.
    pub(crate) fn end_if_drained(&mut self) {
        let Some(Drain { until, empty }) = self.drain else { return };
        let left = self.left();
        if left > 0 {
            self.drain = Some(Drain { until, empty: None });
            if until.is_some_and(|until| until <= self.now) {
                tracing::warn!(connections = left, "the time to drain is over: what is left is reset");
                self.running = false;
            }
            return;
        }
        match empty {
            None => {
                self.drain = Some(Drain { until, empty: Some(self.now) });
                self.timers.add(self.now + EMPTY, Due::Drained);
            }
            Some(since) if self.now.since(since) >= EMPTY => {
                tracing::info!("drained");
                self.running = false;
            }
            Some(_) => {}
        }
    }
    /// Returns the reason to refuse any new connection, if there is one.
    pub(crate) fn refuses_all(&self) -> Option<Reason> {
        self.drains().then_some(Reason::Stopping)
    }
}
