//! An animation that an X client at the originator draws on the display of the responder: one frame after the other
//! over one connection (Guillemin et al., section 6).
//!
//! Frames are due at a constant pace. A client cannot draw while its last frame blocks in the socket: then the next
//! frame and all later ones are delayed. None is dropped and no delay is made up for, so a slower network slows the
//! movement down.

use std::collections::VecDeque;

use cellway_units::{Bytes, Span, Time};

use crate::action::{Action, ConnId, Side};
use crate::workload::AnimationWorkload;
use crate::writer::{Pace, Writer};

/// One animation; each frame is an item, from its write to the arrival of its last byte.
#[derive(Debug)]
pub(crate) struct Animation {
    frame: u64,
    duration: Option<Span>,
    writer: Writer,
    /// When the frames were written that have not arrived whole, oldest first.
    flying: VecDeque<Time>,
    /// Bytes of the oldest of them that have arrived.
    arrived: u64,
}

impl Animation {
    pub(crate) fn new(animation: &AnimationWorkload) -> Animation {
        let frame = animation.frame.0;
        let period = Span::from_secs_f64(1.0 / animation.rate);
        let writer = Writer::new(ConnId(0), Side::Originator, None, frame, Pace::Busy(period));
        Animation { frame, duration: animation.duration, writer, flying: VecDeque::new(), arrived: 0 }
    }

    pub(crate) fn connected(&mut self, now: Time, side: Side, out: &mut Vec<Action>) {
        if side == Side::Originator {
            if let Some(duration) = self.duration {
                self.writer.stop_at(now + duration);
            }
            let begins = self.writer.start(now, out);
            self.note(begins, now);
        }
    }

    pub(crate) fn received(&mut self, now: Time, bytes: u64, out: &mut Vec<Action>) {
        self.arrived += bytes;
        while self.arrived >= self.frame
            && let Some(since) = self.flying.pop_front()
        {
            self.arrived -= self.frame;
            out.push(Action::Item { bytes: Bytes(self.frame), span: now.since(since) });
        }
    }

    pub(crate) fn written(&mut self, now: Time, out: &mut Vec<Action>) {
        let begins = self.writer.written(now, out);
        self.note(begins, now);
    }

    pub(crate) fn timer(&mut self, now: Time, out: &mut Vec<Action>) {
        let begins = self.writer.timer(now, out);
        self.note(begins, now);
    }

    fn note(&mut self, begins: bool, now: Time) {
        if begins {
            self.flying.push_back(now);
        }
    }
}
