//! Shapers: when the next cell of a channel may leave an output port.

use cellway_units::{Cells, Rate, Span, Time};

use crate::gcra::DualGcra;

/// What a shaper lets out of a channel's queue: each cell as soon as it conforms to GCRA(1/PCR, 0), and to
/// GCRA(1/SCR, BT) if there is a sustainable rate. With a peak rate alone it is a spacer.
/// ITU-T I.371; ATM Forum TM 4.0 sections 4.4 and 5.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShaperSpec {
    /// PCR, bit/s of whole cells, above zero.
    pub peak: Rate,
    /// SCR in bit/s of whole cells, above zero, and MBS in cells.
    pub sustained: Option<(Rate, u64)>,
}

/// Holds the token of a queue back until its first cell may leave.
#[derive(Clone, Debug)]
pub(crate) struct Shaper {
    gcra: DualGcra,
    /// When the token that is held comes free.
    release: Option<Time>,
}

impl Shaper {
    pub(crate) fn new(spec: ShaperSpec) -> Shaper {
        let peak = DualGcra::peak(spec.peak, Span::ZERO);
        let gcra = match spec.sustained {
            Some((scr, mbs)) => peak.and_sustained(scr, Cells(mbs), Span::ZERO),
            None => peak,
        };
        Shaper { gcra, release: None }
    }

    /// A cell stands first in the queue; returns the instant to wait for before it may leave.
    #[inline]
    pub(crate) fn hold(&mut self, now: Time) -> Option<Time> {
        let at = self.gcra.earliest(now);
        self.release = (at > now).then_some(at);
        self.release
    }

    /// Whether the token that is held comes free now. If not, the wait was for another instant.
    #[inline]
    pub(crate) fn release(&mut self, now: Time) -> bool {
        let due = self.release == Some(now);
        if due {
            self.release = None;
        }
        due
    }

    /// A cell starts to leave. The next one counts from here, also if the line was late for this one:
    /// two cells are never closer than their spacing.
    #[inline]
    pub(crate) fn leave(&mut self, now: Time) {
        self.gcra.take(now);
    }

    /// Changes PCR; returns the instant to wait for if the cell held may now leave earlier.
    pub(crate) fn set_rate(&mut self, now: Time, peak: Rate) -> Option<Time> {
        self.gcra.set_peak_rate(now, peak);
        let earlier = self.gcra.earliest(now);
        let held = self.release.as_mut().filter(|held| earlier < **held)?;
        *held = earlier;
        Some(earlier)
    }

    /// Takes the place of another shaper, and the token that it holds.
    pub(crate) fn replace(&mut self, old: &Shaper) {
        self.release = old.release;
    }
}
