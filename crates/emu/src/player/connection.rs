//! A TCP connection of a conversation.

use cellway_apps::{ConnId, Side};

use super::end::End;
use super::options::{SIDES, Settings, at};

#[derive(Debug)]
pub(super) struct Connection {
    /// Unique in the slot.
    pub(super) serial: u32,
    /// The conversation of the slot that it belongs to.
    pub(super) conversation: u32,
    /// Its number in the conversation.
    pub(super) conn: ConnId,
    ends: [End; 2],
    /// Ends that have reported their close; both make the application's.
    pub(super) closed_ends: u32,
    /// The listener that waits for it, and the side that will have it, until it is accepted.
    pub(super) awaited: Option<(usize, Side)>,
}

impl Connection {
    /// Creates a connection with `settings` and `reports_acks` by side.
    pub(super) fn new(
        serial: u32,
        conversation: u32,
        conn: ConnId,
        settings: [Settings; 2],
        reports_acks: [bool; 2],
    ) -> Connection {
        let stream = |from: Side| 2 * u64::from(serial) + at(from) as u64;
        let [near, far] = settings;
        let ends = [
            End::new(near, SIDES.map(stream), reports_acks[0]),
            End::new(far, [stream(Side::Responder), stream(Side::Originator)], reports_acks[1]),
        ];
        Connection { serial, conversation, conn, ends, closed_ends: 0, awaited: None }
    }

    pub(super) fn end(&mut self, side: Side) -> &mut End {
        &mut self.ends[at(side)]
    }
}
