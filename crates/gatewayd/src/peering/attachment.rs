//! The attachment of a peer, and the state that outlives an upgrade of either gateway.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::hello::{Epoch, Shared};

/// The attachment of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attachment {
    /// None: no flows are relayed.
    Down,
    /// The link with this number.
    Attached(u64),
    /// Its connection has ended, for an upgrade or by a fault of the path. Both gateways keep the state of the flows up
    /// to this time.
    Detached(Instant),
}

impl Attachment {
    /// Returns the number of the connection.
    pub(super) fn link(self) -> Option<u64> {
        match self {
            Attachment::Attached(number) => Some(number),
            Attachment::Down | Attachment::Detached(_) => None,
        }
    }
    /// Returns the time at which a detached peer is down.
    pub(super) fn deadline(self) -> Option<Instant> {
        match self {
            Attachment::Detached(until) => Some(until),
            Attachment::Down | Attachment::Attached(_) => None,
        }
    }
    /// Returns the state shared with a peer whose epoch is `theirs`.
    pub(super) fn shared(self, theirs: Epoch) -> Shared {
        match self {
            Attachment::Down => Shared::Nothing,
            Attachment::Attached(_) => Shared::Attached(theirs),
            Attachment::Detached(_) => Shared::Detached(theirs),
        }
    }
}

/// The consequence of a hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    /// The connection is a second one, and not used.
    Spare,
    /// Both gateways have kept the state of the flows.
    Resumes,
    /// Everything starts again.
    Begins,
    /// The other gateway continues flows that were lost here.
    Lost,
}

/// One gateway's view of the state that it shares with a peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub(super) attachment: Attachment,
    /// The epoch of this gateway, and that of the peer in its last hello.
    pub(super) mine: Epoch,
    pub(super) theirs: Epoch,
    /// True if this gateway decides which connection is used: its hello follows the peer's.
    pub(super) decides: bool,
    /// True if the connection of the hello began before the one in use was up. Its hello was written before the peer knew of
    /// that one: a peer that has lost it begins another connection later than that.
    pub(super) simultaneous: bool,
}

impl View {
    /// Returns the consequence of a hello of the peer with its epoch and the state that it shares. The state continues
    /// only if neither has lost it since both were up: each compares its own epoch and that of the other. The hello of
    /// the gateway that decides contains its decision.
    pub(super) fn greeting(&self, epoch: Epoch, shared: Shared) -> Greeting {
        let same = self.attachment != Attachment::Down && epoch == self.theirs;
        let kept = matches!(shared, Shared::Attached(of) | Shared::Detached(of) if of == self.mine);
        let lost_it = matches!(shared, Shared::Detached(of) if of == self.mine) && !self.simultaneous;
        let attached = matches!(self.attachment, Attachment::Attached(_)) && !lost_it;
        match (self.decides, same, kept) {
            (true, true, _) if attached => Greeting::Spare,
            (_, true, true) => Greeting::Resumes,
            (false, false, _) if shared != Shared::Nothing => Greeting::Lost,
            _ => Greeting::Begins,
        }
    }
}

/// The state of all peers that another program continues.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(super) instance: u64,
    pub(super) peers: Vec<KeptPeer>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct KeptPeer {
    pub(super) session: u64,
    /// Instance and session of the peer, if it was up.
    pub(super) theirs: Option<(u64, u64)>,
    /// Octets sent.
    pub(super) octets: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two gateways that were up with each other, in every combination of the later states of both, decide the same.
    #[test]
    fn both_sides_continue_or_neither() {
        let now = Instant::now();
        let (a, b) = (Epoch { instance: 1, session: 4 }, Epoch { instance: 2, session: 9 });
        let lost = |epoch: Epoch| Epoch { session: epoch.session + 1, ..epoch };
        let again = |epoch: Epoch| Epoch { instance: epoch.instance + 10, session: 0 };
        let states = |own: Epoch| {
            [
                (own, Attachment::Attached(7)),
                (own, Attachment::Detached(now)),
                (lost(own), Attachment::Down),
                (again(own), Attachment::Down),
            ]
        };
        let mut resumed = 0;
        for (mine, attachment) in states(a) {
            for (other, other_attachment) in states(b) {
                let decider = View { attachment, mine, theirs: b, decides: true, simultaneous: false };
                let second =
                    View { attachment: other_attachment, mine: other, theirs: a, decides: false, simultaneous: false };
                // The second one sends its hello first.
                let decision = decider.greeting(other, other_attachment.shared(a));
                let told = match decision {
                    Greeting::Resumes => Shared::Detached(other),
                    Greeting::Begins => Shared::Nothing,
                    Greeting::Spare => {
                        assert_eq!((attachment, other_attachment), (Attachment::Attached(7), Attachment::Attached(7)));
                        continue;
                    }
                    Greeting::Lost => panic!("{attachment:?} {other_attachment:?}"),
                };
                assert_eq!(second.greeting(mine, told), decision, "{attachment:?} {other_attachment:?}");
                let kept = attachment != Attachment::Down && other_attachment != Attachment::Down;
                assert_eq!(decision == Greeting::Resumes, kept, "{attachment:?} {other_attachment:?}");
                resumed += usize::from(kept);
                // The second one loses its state before the decision arrives.
                let late = View { attachment: Attachment::Down, mine: lost(other), ..second };
                let expected = if told == Shared::Nothing { Greeting::Begins } else { Greeting::Lost };
                assert_eq!(late.greeting(mine, told), expected);
            }
        }
        assert_eq!(resumed, 3);
    }

    #[test]
    fn a_second_connection_that_began_before_the_first_was_up_is_spare() {
        let (mine, theirs) = (Epoch { instance: 1, session: 4 }, Epoch { instance: 2, session: 9 });
        let view = View { attachment: Attachment::Attached(7), mine, theirs, decides: true, simultaneous: true };
        assert_eq!(view.greeting(theirs, Shared::Detached(mine)), Greeting::Spare);
        assert_eq!(View { simultaneous: false, ..view }.greeting(theirs, Shared::Detached(mine)), Greeting::Resumes);
    }
}
