//! Decides whether clients must prove that they own their addresses before their servers are connected to.
//!
//! As a rule a client's SYN waits until its server has answered, so that the client gets the answer of the server. The
//! source address of a SYN can be forged, and then the server has a connection that no client has requested. If many
//! clients do not complete the handshake, this machine answers first, and only clients that acknowledge the answer
//! reach their servers (RFC 4987, section 3).

use cellway_units::Span;

use crate::daemon::moment::Moment;

/// The time between two decisions: longer than the two times that an answered SYN may wait for its acknowledgement.
const WINDOW: Span = Span::from_secs(10);

/// On while clients prove their addresses first: the time up to the next decision.
#[derive(Debug, Default)]
pub(super) struct Proof(Option<Window>);

#[derive(Debug)]
struct Window {
    end: Moment,
    /// SYNs that this machine has answered first.
    answered: u64,
    /// Clients that have acknowledged such an answer.
    proved: u64,
}

/// A change of [`Proof::is_required`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Begins,
    Ends,
}

impl Proof {
    /// Returns true if clients must prove their addresses first.
    pub(super) fn is_required(&self) -> bool {
        self.0.is_some()
    }
    /// Counts a SYN that this machine answers first.
    pub(super) fn count_answered(&mut self) {
        if let Some(window) = &mut self.0 {
            window.answered += 1;
        }
    }
    /// Counts a client that has acknowledged such an answer.
    pub(super) fn count_proved(&mut self) {
        if let Some(window) = &mut self.0 {
            window.proved += 1;
        }
    }
    /// Decides at `now` for the next SYN. The clients of `unproven` connections have not proved their addresses; at
    /// most `most` may wait so. Proofs are no longer required after a window in which fewer than half of `most` answers
    /// were not acknowledged, if fewer than `most` connections are unproven.
    pub(super) fn decide(&mut self, now: Moment, unproven: u32, most: u32) -> Option<Change> {
        let begin = || Window { end: now + WINDOW, answered: 0, proved: 0 };
        match &mut self.0 {
            None if unproven >= most => {
                self.0 = Some(begin());
                Some(Change::Begins)
            }
            Some(window) if now >= window.end => {
                let unanswered = window.answered.saturating_sub(window.proved);
                let forged = unanswered >= u64::from(most.div_ceil(2)) || unproven >= most;
                self.0 = forged.then(begin);
                (!forged).then_some(Change::Ends)
            }
            _ => None,
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

    /// SYNs that are answered first; the clients of `share` in 4 acknowledge the answer.
    fn answered(proof: &mut Proof, count: u32, share: u32) {
        for syn in 0..count {
            proof.count_answered();
            if syn % 4 < share {
                proof.count_proved();
            }
        }
    }

    #[test]
    fn it_begins_with_the_limit_and_ends_when_clients_acknowledge() {
        let mut proof = Proof::default();
        assert_eq!(proof.decide(at(Span::ZERO), 9, 10), None);
        assert_eq!((proof.decide(at(NS * 7), 10, 10), proof.is_required()), (Some(Change::Begins), true));
        // The first have timed out; the next ones acknowledge nothing.
        answered(&mut proof, 100, 0);
        assert_eq!((proof.decide(at(NS * 6 + WINDOW), 0, 10), proof.is_required()), (None, true));
        assert_eq!((proof.decide(at(NS * 7 + WINDOW), 0, 10), proof.is_required()), (None, true));
        // A quarter of many is not enough, and of few it is.
        answered(&mut proof, 100, 3);
        assert_eq!((proof.decide(at(NS * 7 + WINDOW * 2), 0, 10), proof.is_required()), (None, true));
        answered(&mut proof, 16, 3);
        let end = at(NS * 7 + WINDOW * 3);
        assert_eq!((proof.decide(end, 0, 10), proof.is_required()), (Some(Change::Ends), false));
        assert_eq!(proof.decide(at(NS * 7 + WINDOW * 4), 0, 10), None);
    }

    #[test]
    fn it_continues_while_the_limit_is_reached() {
        let mut proof = Proof::default();
        assert_eq!(proof.decide(at(Span::ZERO), 2, 2), Some(Change::Begins));
        assert_eq!((proof.decide(at(WINDOW), 2, 2), proof.is_required()), (None, true));
        assert_eq!(proof.decide(at(WINDOW * 2), 1, 2), Some(Change::Ends));
    }
}
