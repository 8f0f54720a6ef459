//! The end of connections of hosts: their last bytes, resets, and hosts that get no more answers.

use cellway_units::Span;

use super::blackhole::{BLACKHOLED, SHARE};
use super::state::{Ending, State};
use super::{Hosts, Token};
use crate::daemon::context::Context;
use crate::daemon::moment::Moment;
use crate::daemon::outbox::Event;
use crate::daemon::timers::Due;
use cellway_gateway::Reason;

/// Initial interval between checks for unacknowledged data; doubled after each check.
const CHECK_FIRST: Span = Span::from_ms(1);
/// The longest interval.
const CHECK_MOST: Span = Span::from_ms(512);
/// A host that acknowledges nothing for this long is reset without its last bytes. It is longer than four losses in a row
/// of a segment take (0.2 + 0.4 + 0.8 + 1.6 s with Linux's shortest time-out).
const PATIENCE: Span = Span::from_secs(5);

/// The state of the checks whether a host acknowledges its last bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    /// The bytes that the host had acknowledged when that number last grew, and the time of that.
    acknowledged: u64,
    since: Moment,
    /// The interval before the next check, and the time of that check.
    wait: Span,
    due: Moment,
}

impl Hosts {
    /// Ends a connection in the state `Closing`, if its host has its last bytes.
    pub(super) fn end_if_complete(&mut self, token: Token, cx: &mut Context) {
        let Some(connection) = self.table.get(token) else { return };
        match connection.state {
            State::Closed if connection.closed.is_some() => self.remove(token, cx),
            State::Closing { how: Ending::Clean, .. } if connection.to_host.is_flushed() => self.finish(token, cx),
            // A slow host has time until both directions have ended.
            State::Closing { how: Ending::Clean, .. } => {}
            State::Closing { .. } if connection.is_delivered() => self.finish(token, cx),
            // A reset would discard bytes that are not acknowledged.
            State::Closing { .. } => self.watch(token, cx),
            _ => {}
        }
    }
    /// Begins to check whether a host acknowledges its last bytes before a reset.
    pub(super) fn watch(&mut self, token: Token, cx: &mut Context) {
        let Some(connection) = self.table.get_mut(token) else { return };
        if connection.watch.is_none() {
            let (acknowledged, due) = (connection.acknowledged(), cx.now + CHECK_FIRST);
            connection.watch = Some(Watch { acknowledged, since: cx.now, wait: CHECK_FIRST, due });
            cx.timer(CHECK_FIRST, Due::Check(token));
        }
    }
    /// Checks whether the host of a connection that ends acknowledges its last bytes.
    pub(crate) fn check(&mut self, token: Token, cx: &mut Context) {
        let Some(connection) = self.table.get_mut(token) else { return };
        // A later check may have been set since. Without one, this check is the last unless it sets another.
        let Some(mut watch) = connection.watch.take_if(|watch| watch.due <= cx.now) else { return };
        let (acknowledged, delivered) = (connection.acknowledged(), connection.is_delivered());
        // A host that has all bytes that have arrived is not slow: the peer is.
        if acknowledged > watch.acknowledged || delivered {
            (watch.acknowledged, watch.since) = (acknowledged, cx.now);
        }
        let stalls = cx.now.since(watch.since) >= PATIENCE;
        watch.wait = (watch.wait * 2).min(CHECK_MOST);
        watch.due = cx.now + watch.wait;
        match connection.state {
            State::Closing { .. } if delivered || stalls => return self.finish(token, cx),
            State::Open(_) if stalls => return cx.push(Event::HostLost(token, Reason::Reset)),
            State::Blackholed(_) | State::Closed => return,
            // Also if its host is not connected yet: the state machine requests the checks only once.
            _ => {}
        }
        connection.watch = Some(watch);
        cx.timer(watch.wait, Due::Check(token));
    }
    /// Ends a connection whose host has its last bytes, or does not acknowledge them.
    fn finish(&mut self, token: Token, cx: &mut Context) {
        let Some(connection) = self.table.get_mut(token) else { return };
        let (closed, delivered) = (connection.closed.is_some(), connection.is_delivered());
        match connection.state {
            // A host whose next SYN from the same port waits has closed its side.
            State::Closing { how: Ending::Blackhole, .. } if closed && delivered && connection.again.is_none() => {
                self.blackhole(token, cx);
            }
            State::Closing { .. } if closed => self.remove(token, cx),
            State::Closing { how: Ending::Reset, .. } => connection.state.change(|_| State::Closed),
            _ => {}
        }
    }
    /// Stops answering a host, which has received all its bytes.
    fn blackhole(&mut self, token: Token, cx: &mut Context) {
        let most = cx.config.limits.connections / SHARE;
        let Some(connection) = self.table.get_mut(token) else { return };
        if self.blackholed < most && connection.blackhole().is_ok() {
            tracing::debug!(flow = connection.id.0, "the host gets no more answers");
            self.blackholed += 1;
            cx.timer(BLACKHOLED, Due::Blackhole(token));
        } else {
            self.remove(token, cx);
        }
    }
}
