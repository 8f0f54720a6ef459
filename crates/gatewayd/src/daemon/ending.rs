//! How connections of hosts end: what they are still to get, resets, silence.

use cellway_gateway::Reason;
use cellway_units::Span;

use super::Daemon;
use super::machine::Later;
use super::moment::Moment;
use super::state::{Ending, State};
use super::table::Token;
use super::timers::Due;

/// First wait before it is looked whether a host has acknowledged its last bytes; doubled each time.
const LOOK_FIRST: Span = Span::from_ms(1);
/// The longest.
const LOOK_MOST: Span = Span::from_ms(512);
/// A host that takes nothing for so long is reset without the rest: more than four losses in a row of a segment to
/// it (0.2 + 0.4 + 0.8 + 1.6 s with Linux's shortest time-out) can take.
const PATIENCE: Span = Span::from_secs(5);

/// A look at whether a host takes its last bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    /// What the host had acknowledged when that last grew, and when that was.
    taken: u64,
    since: Moment,
    /// How long between this look and the one before, and when it is.
    wait: Span,
    due: Moment,
}

impl Daemon {
    /// Ends a connection that shall end if its host has what it was to get.
    pub(crate) fn end_if_due(&mut self, token: Token) {
        let Some(connection) = self.table.get(token) else { return };
        match connection.state {
            State::Gone if connection.closed.is_some() => self.remove(token),
            State::Leaving { how: Ending::Clean, .. } if connection.to_host.is_flushed() => self.finish(token),
            // A host that takes its time has it until both directions have ended.
            State::Leaving { how: Ending::Clean, .. } => {}
            State::Leaving { .. } if connection.is_delivered() => self.finish(token),
            // A reset overtakes what is not taken.
            State::Leaving { .. } => self.watch(token),
            _ => {}
        }
    }
    /// Begins to look whether the host takes what it is still to get before a reset.
    pub(crate) fn watch(&mut self, token: Token) {
        let Some(connection) = self.table.get_mut(token) else { return };
        if connection.watch.is_none() {
            let (taken, due) = (connection.taken(), self.now + LOOK_FIRST);
            connection.watch = Some(Watch { taken, since: self.now, wait: LOOK_FIRST, due });
            self.timers.add(due, Due::Look(token));
        }
    }
    /// A connection that ends, or is to, is looked at.
    pub(crate) fn look(&mut self, token: Token) {
        let Some(connection) = self.table.get_mut(token) else { return };
        // Another look may have been set since, and this one is the last unless it sets one.
        let Some(mut watch) = connection.watch.take_if(|watch| watch.due <= self.now) else { return };
        let (taken, delivered) = (connection.taken(), connection.is_delivered());
        // A host that has all that has come until now is not slow: the line is.
        if taken > watch.taken || delivered {
            (watch.taken, watch.since) = (taken, self.now);
        }
        let stalls = self.now.since(watch.since) >= PATIENCE;
        watch.wait = (watch.wait * 2).min(LOOK_MOST);
        watch.due = self.now + watch.wait;
        match connection.state {
            State::Leaving { .. } if delivered || stalls => return self.finish(token),
            State::Open(_) if stalls => return self.later.push_back(Later::Gone(token, Reason::Reset)),
            State::Silent(_) | State::Gone => return,
            // Also if its host is not connected yet: the machine says only once that it is to be looked at.
            _ => {}
        }
        connection.watch = Some(watch);
        self.timers.add(watch.due, Due::Look(token));
    }
    /// Nothing more is done for the host of a connection that ends.
    fn finish(&mut self, token: Token) {
        let Some(connection) = self.table.get_mut(token) else { return };
        let (closed, delivered) = (connection.closed.is_some(), connection.is_delivered());
        match connection.state {
            // A host that opens again from the same port has given up, and waits.
            State::Leaving { how: Ending::Silence, .. } if closed && delivered && connection.again.is_none() => {
                self.fall_silent(token);
            }
            State::Leaving { .. } if closed => self.remove(token),
            State::Leaving { how: Ending::Reset, .. } => connection.state.change(|_| State::Gone),
            _ => {}
        }
    }
    /// A connection is over.
    pub(crate) fn remove(&mut self, token: Token) {
        let Some(mut connection) = self.table.remove(token) else { return };
        self.links[connection.peer].leftover -= connection.closed.unwrap_or(0);
        if let Some(key) = connection.intercepted()
            && self.held.get(&key) == Some(&token)
        {
            self.held.remove(&key);
        }
        self.openings.end(&mut connection);
        if matches!(connection.state, State::Silent(_)) {
            self.tally.silent -= 1;
        }
        self.tally.leaves(connection.source);
        let again = connection.again.take();
        drop(connection);
        if let Some(again) = again {
            self.open_held(again);
        }
    }
}
