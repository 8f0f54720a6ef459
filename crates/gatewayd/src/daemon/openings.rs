//! Openings that wait, and whether clients must prove that they own their addresses before their servers are connected to.
//!
//! As a rule a client's opening waits until its server has answered: the client sees what the server does. The source
//! of an opening can be forged, and then that server has a connection of which no client knows. If many clients are
//! slow to complete their handshake, this machine answers first, and only those that acknowledge the answer reach
//! their servers (RFC 4987, section 3).

use std::net::SocketAddr;

use cellway_gateway::{Request, Server};
use cellway_units::Span;
use socket2::Socket;

use super::Daemon;
use super::connection::{Connection, Origin};
use super::halves::Stream;
use super::moment::Moment;
use super::state::State;
use super::table::Token;
use crate::intercept::Opening;

/// How long the clients are watched before it is decided again: longer than the two times that an answered opening may wait
/// for its acknowledgement.
const WINDOW: Span = Span::from_secs(10);

/// Counts connections of hosts here that wait for their servers, or for their clients to acknowledge the answer.
#[derive(Debug, Default)]
pub(crate) struct Openings {
    count: u32,
    /// Those whose clients have not proved their addresses.
    unproven: u32,
    /// While clients prove their addresses first: the time up to the next decision.
    window: Option<Window>,
}

#[derive(Debug)]
struct Window {
    end: Moment,
    /// Openings that this machine has answered first.
    answered: u64,
    /// Clients that have acknowledged that.
    proved: u64,
}

/// A change of [`Openings::prove_first`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Begins,
    Ends,
}

impl Openings {
    /// How many there are.
    pub(crate) fn len(&self) -> u32 {
        self.count
    }
    /// Counts a connection that begins.
    pub(crate) fn begin(&mut self, connection: &mut Connection) {
        if !std::mem::replace(&mut connection.opening, true) {
            self.enters(connection.is_unproven());
        }
    }
    /// The connection stands, or is over.
    pub(crate) fn end(&mut self, connection: &mut Connection) {
        if std::mem::take(&mut connection.opening) {
            self.leaves(connection.is_unproven());
        }
    }
    fn enters(&mut self, unproven: bool) {
        self.count += 1;
        self.unproven += u32::from(unproven);
    }
    fn leaves(&mut self, unproven: bool) {
        self.count -= 1;
        self.unproven -= u32::from(unproven);
    }
    /// True if clients must prove their addresses first.
    fn prove_first(&self) -> bool {
        self.window.is_some()
    }
    /// This machine answers an opening first.
    fn answers(&mut self) {
        if let Some(window) = &mut self.window {
            window.answered += 1;
        }
    }
    /// A client has acknowledged such an answer.
    fn proved(&mut self) {
        if let Some(window) = &mut self.window {
            window.proved += 1;
        }
    }
    /// Decides at `now` for the next opening, where `most` may be unproven. It ends after a window in which fewer than
    /// half of `most` answers were not acknowledged, if fewer than `most` openings are unproven.
    fn decide(&mut self, now: Moment, most: u32) -> Option<Change> {
        let begin = || Window { end: now + WINDOW, answered: 0, proved: 0 };
        match &mut self.window {
            None if self.unproven >= most => {
                self.window = Some(begin());
                Some(Change::Begins)
            }
            Some(window) if now >= window.end => {
                let unanswered = window.answered.saturating_sub(window.proved);
                let forged = unanswered >= u64::from(most.div_ceil(2)) || self.unproven >= most;
                self.window = forged.then(begin);
                (!forged).then_some(Change::Ends)
            }
            _ => None,
        }
    }
}

impl Daemon {
    /// True if the client of a new opening must prove its address before its server is connected to.
    pub(crate) fn must_prove(&mut self) -> bool {
        let most = self.config.limits.unproven;
        match self.openings.decide(self.now, most) {
            Some(Change::Begins) => tracing::warn!(
                unproven = most,
                "as many openings wait whose clients have not proved their addresses, as in a flood of forged ones; this \
                 machine answers further clients before their servers do, until they acknowledge again (limits.unproven)"
            ),
            Some(Change::Ends) => tracing::info!("clients acknowledge again: their servers answer first"),
            None => {}
        }
        self.openings.prove_first()
    }
    /// Lets the kernel answer an opening of which nothing is kept here: its client comes to the listeners, or never.
    pub(crate) fn answer_first(&mut self, opening: &Opening) {
        self.openings.answers();
        self.tally.answered_first += 1;
        self.release(opening);
    }
    /// A client has acknowledged an answer to an opening of which nothing is known: one that was answered first, or that
    /// has taken longer than others may.
    pub(crate) fn proved(&mut self, socket: Socket, client: SocketAddr, server: SocketAddr) {
        self.openings.proved();
        let Some(peer) = self.routes.peer(server.ip()) else {
            // Dropped with its reset: it came directly to the listener.
            return tracing::debug!(%client, %server, "accepted and unknown");
        };
        if let Some(reason) = self.refusal(peer, client.ip()) {
            return self.tally.refused(reason);
        }
        let request = Request { client: Some(client), server: Server::Address(server), early: true };
        let token = self.open(peer, request, Origin::Proved, State::Arrived(Stream::new(socket)));
        self.held.insert((client, server), token);
        self.carry(token, client.ip(), "proved");
    }
    /// A connection is no opening any more.
    pub(crate) fn opening_is_over(&mut self, token: Token) {
        if let Some(connection) = self.table.get_mut(token) {
            self.openings.end(connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS: Span = Span::from_ns(1);

    fn at(time: Span) -> Moment {
        Moment::default() + time
    }

    /// Openings that were answered first; the clients of `share` in 4 acknowledge it.
    fn answered(openings: &mut Openings, count: u32, share: u32) {
        for opening in 0..count {
            openings.answers();
            if opening % 4 < share {
                openings.proved();
            }
        }
    }

    #[test]
    fn it_begins_with_the_limit_and_ends_when_clients_acknowledge() {
        let mut openings = Openings::default();
        openings.enters(false);
        for _ in 0..9 {
            openings.enters(true);
            assert_eq!(openings.decide(at(Span::ZERO), 10), None);
        }
        openings.enters(true);
        assert_eq!((openings.decide(at(NS * 7), 10), openings.prove_first()), (Some(Change::Begins), true));
        // The first have timed out; those who follow acknowledge nothing.
        (0..10).for_each(|_| openings.leaves(true));
        answered(&mut openings, 100, 0);
        assert_eq!((openings.decide(at(NS * 6 + WINDOW), 10), openings.prove_first()), (None, true));
        assert_eq!((openings.decide(at(NS * 7 + WINDOW), 10), openings.prove_first()), (None, true));
        // A quarter of many is not enough, and of few it is.
        answered(&mut openings, 100, 3);
        assert_eq!((openings.decide(at(NS * 7 + WINDOW * 2), 10), openings.prove_first()), (None, true));
        answered(&mut openings, 16, 3);
        assert_eq!((openings.decide(at(NS * 7 + WINDOW * 3), 10), openings.prove_first()), (Some(Change::Ends), false));
        assert_eq!(openings.decide(at(NS * 7 + WINDOW * 4), 10), None);
        assert_eq!(openings.len(), 1);
    }

    #[test]
    fn it_goes_on_where_the_limit_is_still_reached() {
        let mut openings = Openings::default();
        (0..2).for_each(|_| openings.enters(true));
        assert_eq!(openings.decide(at(Span::ZERO), 2), Some(Change::Begins));
        assert_eq!((openings.decide(at(WINDOW), 2), openings.prove_first()), (None, true));
        openings.leaves(true);
        assert_eq!(openings.decide(at(WINDOW * 2), 2), Some(Change::Ends));
    }
}
