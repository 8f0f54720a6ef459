//! How connections of hosts end: what they are still to get, resets, silence.

use cellway_gateway::Reason;

use super::Daemon;
use super::flow::{Ending, Origin, Stage};
use super::machine::Later;
use super::timers::Due;

/// First wait before it is looked whether a host has acknowledged its last bytes (ns); doubled each time.
const LOOK_FIRST: u64 = 1_000_000;
/// The longest (ns).
const LOOK_MOST: u64 = 512_000_000;
/// A host that takes nothing for so long is reset without the rest (ns): more than four losses in a row of a segment to
/// it (0.2 + 0.4 + 0.8 + 1.6 s with Linux's shortest time-out) can take.
const PATIENCE: u64 = 5_000_000_000;

/// A look at whether a host takes its last bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    /// What the host had acknowledged when that last grew, and when that was (ns).
    taken: u64,
    since: u64,
    /// How long between this look and the one before, and when it is (ns).
    wait: u64,
    due: u64,
}

impl Daemon {
    /// Ends a connection that shall end if its host has what it was to get.
    pub(crate) fn end_if_due(&mut self, token: u64) {
        let Some(flow) = self.table.get(token) else { return };
        let Some(ending) = flow.ending else { return };
        let done = match (flow.stage, ending) {
            // Nobody has accepted it: that which will be accepted is ended at once.
            (Stage::Accepting | Stage::Silent, _) => return,
            (Stage::Open, Ending::Clean) => flow.is_flushed(),
            (Stage::Open, _) => flow.is_delivered(),
            _ => true,
        };
        if done {
            self.finish(token);
        } else if ending != Ending::Clean {
            // A host that takes its time has it until both directions have ended; a reset overtakes what is not taken.
            self.watch(token);
        }
    }
    /// Begins to look whether the host takes what it is still to get before a reset.
    pub(crate) fn watch(&mut self, token: u64) {
        let Some(flow) = self.table.get_mut(token).filter(|flow| flow.watch.is_none()) else { return };
        let due = self.now + LOOK_FIRST;
        flow.watch = Some(Watch { taken: flow.taken(), since: self.now, wait: LOOK_FIRST, due });
        self.timers.add(due, Due::Look(token));
    }
    /// A connection that ends, or is to, is looked at.
    pub(crate) fn look(&mut self, token: u64) {
        let Some(flow) = self.table.get_mut(token) else { return };
        // Another look may have been set since, and this one is the last unless it sets one.
        let Some(mut watch) = flow.watch.take_if(|watch| watch.due <= self.now) else { return };
        let (taken, delivered) = (flow.taken(), flow.is_delivered());
        // A host that has all that has come until now is not slow: the line is.
        if taken > watch.taken || delivered {
            (watch.taken, watch.since) = (taken, self.now);
        }
        let stalls = self.now - watch.since >= PATIENCE;
        match flow.ending {
            Some(_) if delivered || stalls => return self.finish(token),
            None if stalls => return self.later.push_back(Later::Gone(token, Reason::Reset)),
            _ => {}
        }
        watch.wait = (2 * watch.wait).min(LOOK_MOST);
        watch.due = self.now + watch.wait;
        flow.watch = Some(watch);
        self.timers.add(watch.due, Due::Look(token));
    }
    /// Nothing more is done for the host of a connection that ends.
    fn finish(&mut self, token: u64) {
        let Some(flow) = self.table.get_mut(token) else { return };
        match flow.ending {
            // A host that opens again from the same port has given up, and waits.
            Some(Ending::Silence)
                if flow.stage == Stage::Open && flow.again.is_none() && flow.forgotten && flow.is_delivered() =>
            {
                self.fall_silent(token);
            }
            _ if flow.stage == Stage::Silent => {}
            _ if flow.forgotten => self.remove(token),
            Some(Ending::Reset) => flow.close(Ending::Reset),
            _ => {}
        }
    }
    /// A connection is over.
    pub(crate) fn remove(&mut self, token: u64) {
        let Some(mut flow) = self.table.remove(token) else { return };
        self.links[flow.peer].leftover -= flow.leftover;
        if let Origin::Held(opening) = &flow.origin {
            let key = (opening.client, opening.server);
            if self.held.get(&key) == Some(&token) {
                self.held.remove(&key);
            }
        }
        if flow.counted && !flow.answered {
            self.tally.unanswered();
        }
        if flow.stage == Stage::Silent {
            self.tally.silent -= 1;
        }
        self.tally.leaves(flow.source);
        if let Some(again) = flow.again.take() {
            self.open_held(again);
        }
        flow.close(flow.ending.unwrap_or(Ending::Reset));
    }
}
