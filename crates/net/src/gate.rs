//! The controls between a queue and the line: a shaper, an ABR source, an ABR destination that sends back.

use cellway_units::{Rate, Time};

use crate::abr::{AbrDestination, AbrSource, InRateCell, RmCell, Waiting};
use crate::gcra::{DualGcra, Gcra};
use crate::ids::ChannelId;

/// Holds the token of a queue back until its next cell may leave, and selects that cell. Most gates have one part of
/// three: separate allocations keep the others out of the cache.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate {
    shaper: Option<Box<DualGcra>>,
    source: Option<Box<AbrSource>>,
    /// Sends the RM cells of another channel back over this one; they go in front of data.
    destination: Option<Box<(AbrDestination, ChannelId)>>,
    /// The time at which the held token is released.
    release: Option<Time>,
}

/// The gates of a line's queues, by slot, up to the last that has one. Boxed, since few lines have any.
#[derive(Clone, Debug, Default)]
#[expect(clippy::box_collection, reason = "each port has one, so its size matters")]
pub(crate) struct Gates(Option<Box<Vec<Gate>>>);

impl Gates {
    #[inline]
    pub(crate) fn get(&self, slot: usize) -> Option<&Gate> {
        self.0.as_ref()?.get(slot)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: usize) -> Option<&mut Gate> {
        self.0.as_mut()?.get_mut(slot)
    }

    /// Adds open gates up to that of `slot`.
    pub(crate) fn extend_to(&mut self, slot: usize) {
        let all = self.0.get_or_insert_default();
        all.resize(all.len().max(slot + 1), Gate::default());
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |all| all.len())
    }
}

impl std::ops::Index<usize> for Gates {
    type Output = Gate;

    #[inline]
    fn index(&self, slot: usize) -> &Gate {
        self.get(slot).expect("a gated queue has a gate")
    }
}

impl std::ops::IndexMut<usize> for Gates {
    #[inline]
    fn index_mut(&mut self, slot: usize) -> &mut Gate {
        self.get_mut(slot).expect("a gated queue has a gate")
    }
}

/// The next cell of a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// The first that waits.
    Queued,
    /// A new RM cell, about the rate of this channel, or of another if that is named.
    Rm(RmCell, Option<ChannelId>),
}

impl Gate {
    /// Sets a shaper, in place of an existing one. A held token stays held until its release.
    pub(crate) fn shape(&mut self, gcra: DualGcra) {
        self.shaper = Some(Box::new(gcra));
    }

    /// Sets an ABR source.
    pub(crate) fn control(&mut self, source: AbrSource) {
        self.source = Some(Box::new(source));
    }

    /// Sets an ABR destination for `channel` if there is none; returns true if it was set.
    pub(crate) fn turn_around(&mut self, channel: ChannelId) -> bool {
        let free = self.destination.is_none();
        self.destination.get_or_insert_with(|| Box::new((AbrDestination::new(), channel)));
        free
    }

    pub(crate) fn source(&self) -> Option<&AbrSource> {
        self.source.as_deref()
    }

    pub(crate) fn destination(&mut self) -> Option<&mut AbrDestination> {
        self.destination.as_mut().map(|both| &mut both.0)
    }

    /// Returns true if an RM cell waits to be sent back.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.destination.as_ref().is_some_and(|both| both.0.is_waiting())
    }

    /// Returns the algorithm that alone spaces the next cells, of data: that of a shaper's peak rate or of an ABR source.
    #[inline]
    pub(crate) fn pacer(&mut self) -> Option<&mut Gcra> {
        if self.is_waiting() {
            return None;
        }
        match (&mut self.shaper, &mut self.source) {
            (Some(shaper), None) => shaper.peak_alone(),
            (None, Some(source)) => source.pacer(),
            _ => None,
        }
    }

    /// Returns the most cells of data that may follow each other, and an instant before which they have to leave.
    #[inline]
    pub(crate) fn most_data(&self) -> (u32, Time) {
        self.source.as_ref().map_or((u32::MAX, Time::MAX), |source| source.most_data())
    }

    /// Records cells of data that have left, spaced by the pacer.
    #[inline]
    pub(crate) fn sent_data(&mut self, cells: u16) {
        if let Some(source) = &mut self.source {
            source.sent_data(cells.into());
        }
    }

    /// Returns true if an ABR source holds a token back that is released at `at`, as ACR has decreased since it was held.
    #[inline]
    pub(crate) fn holds_again(&self, at: Time) -> bool {
        self.source.as_ref().is_some_and(|source| source.earliest(at) > at)
    }

    /// Returns an instant before which a shaper lets the cell behind `cells` others not leave.
    #[inline]
    pub(crate) fn not_before(&self, cells: u64) -> Option<Time> {
        let spaced = self.shaper.as_ref()?.not_before(cells);
        // A cell that was held when the rate decreased leaves before it would conform; those behind it do not.
        Some(self.release.filter(|_| cells == 0).map_or(spaced, |held| held.min(spaced)))
    }

    /// Returns the instant at which the held token is released.
    #[inline]
    pub(crate) fn held_until(&self) -> Option<Time> {
        self.release
    }

    /// Ends the wait of the held token.
    pub(crate) fn let_go(&mut self) {
        self.release = None;
    }

    #[inline]
    fn earliest(&self, now: Time) -> Time {
        let shaper = self.shaper.as_ref().map_or(now, |gcra| gcra.earliest(now));
        self.source.as_ref().map_or(shaper, |source| source.earliest(now).max(shaper))
    }

    /// Records that a cell waits; returns the instant to wait for before it may leave.
    #[inline]
    pub(crate) fn hold(&mut self, now: Time) -> Option<Time> {
        let at = self.earliest(now);
        self.release = (at > now).then_some(at);
        self.release
    }

    /// Returns true if the held token is released now. If not, the wait was for another instant.
    #[inline]
    pub(crate) fn release(&mut self, now: Time) -> bool {
        let due = self.release == Some(now);
        if due {
            self.release = None;
        }
        due
    }

    /// Processes the token at the front of the line. If ACR has decreased since its release, it is held again: returns
    /// the time of its release.
    #[inline]
    pub(crate) fn hold_again(&mut self, now: Time) -> Option<Time> {
        let at = self.source.as_ref()?.earliest(now);
        self.release = (at > now).then_some(at);
        self.release
    }

    /// Returns the cell that starts to leave. The next one is spaced from here, also if the line was late for this one:
    /// two cells are never closer than their spacing. `data` is true if a cell is queued.
    #[inline]
    pub(crate) fn next(&mut self, now: Time, data: bool) -> Next {
        if let Some(gcra) = &mut self.shaper {
            gcra.take(now);
        }
        let backward = self.is_waiting();
        let cell = match &mut self.source {
            Some(source) => source.send(now, Waiting { data, backward }).expect("a token names something to send"),
            None if backward => InRateCell::BackwardRm,
            None => InRateCell::Data,
        };
        match cell {
            InRateCell::Data => Next::Queued,
            InRateCell::ForwardRm(rm) => Next::Rm(rm, None),
            InRateCell::BackwardRm => {
                let (destination, channel) = self.destination.as_deref_mut().expect("a cell waits there");
                Next::Rm(destination.send().expect("a cell waits there"), Some(*channel))
            }
        }
    }

    /// Changes the peak rate of the shaper; returns true if there is one.
    pub(crate) fn set_shaper_rate(&mut self, now: Time, peak: Rate) -> bool {
        if let Some(gcra) = &mut self.shaper {
            gcra.set_peak_rate(now, peak);
        }
        self.shaper.is_some()
    }

    /// Changes the peak rate of the ABR source; returns true if there is one.
    pub(crate) fn set_abr_peak(&mut self, now: Time, peak: Rate) -> bool {
        if let Some(source) = &mut self.source {
            source.set_pcr(now, peak);
        }
        self.source.is_some()
    }

    /// Passes an RM cell to the ABR source.
    pub(crate) fn receive(&mut self, now: Time, rm: &RmCell) {
        if let Some(source) = &mut self.source {
            source.receive(now, rm);
        }
    }

    /// Returns the instant to wait for after a change of rate, if the held cell may now leave earlier.
    pub(crate) fn earlier(&mut self, now: Time) -> Option<Time> {
        let earlier = self.earliest(now);
        let held = self.release.as_mut().filter(|held| earlier < **held)?;
        *held = earlier;
        Some(earlier)
    }
}
