//! The generic cell rate algorithm: detects cells that arrive too early. ITU-T I.371 annex A, ATM Forum TM 4.0 section
//! 4.4.

use cellway_units::{CELL_BITS, Cells, Rate, Span, Time};

use crate::pace::{Pace, Pulse};

/// Returns an amount of data that is held as time at the `old` pace as time at `new`; at most `limit` and one cell, which is
/// the most that conforming cells leave.
fn convert(old: Pace, new: Pace, debt: Pulse, limit: Span) -> Pulse {
    let data = u128::from((debt.at - Time::ZERO).as_ps()) * u128::from(old.rate().as_bps()) + u128::from(debt.carry);
    let rate = u128::from(new.rate().as_bps());
    let span = Span::from_ps(u64::try_from(data / rate).unwrap_or(u64::MAX));
    let most = new.after(Pulse { at: Time::ZERO + limit, carry: 0 });
    let (at, carry) = (Time::ZERO + span, (data % rate) as u64).min((most.at, most.carry));
    Pulse { at, carry }
}

/// GCRA(T, L) as virtual scheduling: a cell conforms if it arrives at or after TAT − L, where the theoretical arrival
/// time TAT of the next cell is T after the later of this cell and its own TAT.
///
/// T = 424 bit / rate is rarely a whole number of picoseconds. TAT carries the remainder while cells arrive no later
/// than it, so the long-run rate is exact. Times are those of a clock that ticks in picoseconds: a cell is early if it
/// arrives in an earlier tick than TAT − L.
#[derive(Clone, Debug)]
pub struct Gcra {
    pace: Pace,
    limit: Span,
    /// TAT.
    due: Pulse,
}

impl Gcra {
    /// Creates the algorithm for cells of 53 octets at `rate` (bit/s, above zero), with tolerance `limit` (τ or L of
    /// the standards: CDVT for a peak rate, BT + CDVT for a sustainable rate). The first cell conforms.
    pub fn new(rate: Rate, limit: Span) -> Gcra {
        Gcra { pace: Pace::new(rate), limit, due: Pulse::default() }
    }

    /// Returns the rate (bit/s of whole cells).
    pub fn rate(&self) -> Rate {
        self.pace.rate()
    }

    /// Returns true if a cell that arrives at `now` conforms, and counts it then. One that does not leaves no trace.
    #[inline]
    pub fn conforms(&mut self, now: Time) -> bool {
        let conforms = self.would_conform(now);
        if conforms {
            self.take(now);
        }
        conforms
    }

    /// Returns true if a cell at `now` conforms, without counting it.
    #[inline]
    pub fn would_conform(&self, now: Time) -> bool {
        self.due.at.since(now) <= self.limit
    }

    /// Returns the carry of a cell at `at` that conforms no earlier, if those behind it that conform no earlier follow at the
    /// pace of the algorithm.
    pub(crate) fn pulse(&self, at: Time) -> Pulse {
        if at > self.due.at { Pulse { at, carry: 0 } } else { Pulse { at, ..self.due } }
    }

    /// Returns the pace of the rate.
    pub(crate) fn pace(&self) -> Pace {
        self.pace
    }

    /// Returns the first instant from `now` on at which a cell conforms.
    #[inline]
    pub fn earliest(&self, now: Time) -> Time {
        now + self.due.at.since(now).saturating_sub(self.limit)
    }

    /// Takes a cell at `at` whatever the verdict: a shaper, which has waited until
    /// [`earliest`](Gcra::earliest).
    #[inline]
    pub fn take(&mut self, at: Time) {
        if at > self.due.at {
            self.due = Pulse { at, carry: 0 };
        }
        self.due = self.pace.after(self.due);
    }

    /// Takes `cells` cells, each as soon as it conforms, at the pace of the algorithm.
    #[inline]
    pub(crate) fn take_at_pace(&mut self, cells: u32) {
        self.due = self.pace.after_many(self.due, cells);
    }

    /// Changes the rate at `now`. The debt of earlier cells is kept as an amount of data: a wait of half a cell time at
    /// the old rate becomes one of half a cell time at the new.
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        self.set(now, rate, self.limit);
    }

    /// Changes the rate and the tolerance at `now`.
    pub fn set(&mut self, now: Time, rate: Rate, limit: Span) {
        let old = std::mem::replace(&mut self.pace, Pace::new(rate));
        self.limit = limit;
        if self.due.at < now {
            self.due.carry = 0;
            return;
        }
        let debt = Pulse { at: Time::ZERO + (self.due.at - now), ..self.due };
        let debt = convert(old, self.pace, debt, limit);
        self.due = Pulse { at: now + (debt.at - Time::ZERO), ..debt };
    }
}

/// Returns the burst tolerance BT = (MBS − 1)(1/SCR − 1/PCR), in cell times at the two rates (bit/s of whole cells,
/// above zero), rounded up to a picosecond so that MBS cells at the peak rate conform. ITU-T I.371 section 5.4; ATM
/// Forum TM 4.0 section 4.4. Zero if SCR is at least PCR.
pub fn burst_tolerance(pcr: Rate, scr: Rate, mbs: Cells) -> Span {
    let (pcr, scr) = (u128::from(pcr.as_bps()), u128::from(scr.as_bps()));
    let cells = u128::from(mbs.0.saturating_sub(1)) * u128::from(CELL_BITS.0) * 1_000_000_000_000;
    // Past 128 bits, MBS at these rates takes longer than any run.
    let ps = cells.checked_mul(pcr.saturating_sub(scr)).map(|data| data.div_ceil(pcr * scr));
    Span::from_ps(ps.and_then(|ps| u64::try_from(ps).ok()).unwrap_or(u64::MAX))
}

/// One or two GCRAs: PCR with CDVT, and SCR with BT + CDVT. A cell conforms if it conforms to both,
/// and only then counts in either. ATM Forum TM 4.0 section 4.4.
#[derive(Clone, Debug)]
pub struct DualGcra {
    peak: Gcra,
    sustained: Option<Sustained>,
}

#[derive(Clone, Debug)]
struct Sustained {
    gcra: Gcra,
    mbs: Cells,
    cdvt: Span,
}

impl DualGcra {
    /// Creates the algorithm for the peak rate alone: GCRA(1/PCR, CDVT), `pcr` in bit/s of whole cells.
    pub fn peak(pcr: Rate, cdvt: Span) -> DualGcra {
        DualGcra { peak: Gcra::new(pcr, cdvt), sustained: None }
    }

    /// Adds GCRA(1/SCR, BT + CDVT), where `mbs` cells at the peak rate are the longest burst; `scr` in
    /// bit/s of whole cells, above zero.
    pub fn and_sustained(mut self, scr: Rate, mbs: Cells, cdvt: Span) -> DualGcra {
        let limit = burst_tolerance(self.peak.rate(), scr, mbs) + cdvt;
        self.sustained = Some(Sustained { gcra: Gcra::new(scr, limit), mbs, cdvt });
        self
    }

    /// Returns an instant before which the cell behind `cells` others does not conform.
    pub(crate) fn not_before(&self, cells: u64) -> Time {
        let Gcra { pace, limit, due } = &self.peak;
        Time::ZERO + (due.at + pace.span().saturating_mul(cells)).since(Time::ZERO + *limit)
    }

    /// Returns the algorithm of the peak rate, if it is alone.
    pub(crate) fn peak_alone(&mut self) -> Option<&mut Gcra> {
        if self.sustained.is_none() { Some(&mut self.peak) } else { None }
    }

    /// Returns the peak rate (bit/s of whole cells).
    pub fn peak_rate(&self) -> Rate {
        self.peak.rate()
    }

    /// Returns true if a cell that arrives at `now` conforms, and counts it then.
    #[inline]
    pub fn conforms(&mut self, now: Time) -> bool {
        let conforms =
            self.peak.would_conform(now) && self.sustained.as_ref().is_none_or(|s| s.gcra.would_conform(now));
        if conforms {
            self.take(now);
        }
        conforms
    }

    /// Returns the first instant from `now` on at which a cell conforms to both.
    #[inline]
    pub fn earliest(&self, now: Time) -> Time {
        let peak = self.peak.earliest(now);
        self.sustained.as_ref().map_or(peak, |s| s.gcra.earliest(now).max(peak))
    }

    /// Takes a cell at `at` whatever the verdict.
    #[inline]
    pub fn take(&mut self, at: Time) {
        self.peak.take(at);
        if let Some(sustained) = &mut self.sustained {
            sustained.gcra.take(at);
        }
    }

    /// Changes PCR at `now`; BT follows, so that MBS is unchanged. See [`Gcra::set_rate`].
    pub fn set_peak_rate(&mut self, now: Time, pcr: Rate) {
        self.peak.set_rate(now, pcr);
        if let Some(Sustained { gcra, mbs, cdvt }) = &mut self.sustained {
            let scr = gcra.rate();
            gcra.set(now, scr, burst_tolerance(pcr, scr, *mbs) + *cdvt);
        }
    }
}

#[cfg(test)]
mod tests;
