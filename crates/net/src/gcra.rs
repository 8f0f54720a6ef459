//! The generic cell rate algorithm: detects cells that arrive too early. ITU-T I.371 annex A, ATM Forum TM 4.0 section
//! 4.4.

use cellway_units::{CELL_BITS, Cells, Rate, Span, Time};

/// The time of one cell at a rate: whole picoseconds, and a remainder in parts of 1/rate of one.
#[derive(Clone, Copy, Debug)]
struct Increment {
    rate: u64,
    span: Span,
    remainder: u64,
}

impl Increment {
    fn new(rate: Rate) -> Increment {
        assert!(rate.as_bps() > 0, "a cell rate of zero has no cell time");
        let (span, remainder) = rate.time_for(CELL_BITS, 0);
        Increment { rate: rate.as_bps(), span, remainder }
    }

    /// Adds one cell time to `span` and `carry`/rate picoseconds.
    #[inline]
    fn after(&self, span: Span, carry: u64) -> (Span, u64) {
        let carry = carry + self.remainder;
        match carry.checked_sub(self.rate) {
            Some(carry) => (span + self.span + Span::from_ps(1), carry),
            None => (span + self.span, carry),
        }
    }

    /// Returns the same amount of data, held as time at the `old` rate, as time at this one; at most `limit` and one
    /// cell, which is the most that conforming cells leave.
    fn convert(&self, old: &Increment, span: Span, carry: u64, limit: Span) -> (Span, u64) {
        let data = u128::from(span.as_ps()) * u128::from(old.rate) + u128::from(carry);
        let rate = u128::from(self.rate);
        let span = Span::from_ps(u64::try_from(data / rate).unwrap_or(u64::MAX));
        (span, (data % rate) as u64).min(self.after(limit, 0))
    }
}

/// GCRA(T, L) as virtual scheduling: a cell conforms if it arrives at or after TAT − L, where the theoretical arrival
/// time TAT of the next cell is T after the later of this cell and its own TAT.
///
/// T = 424 bit / rate is rarely a whole number of picoseconds. TAT carries the remainder while cells arrive no later
/// than it, so the long-run rate is exact. Times are those of a clock that ticks in picoseconds: a cell is early if it
/// arrives in an earlier tick than TAT − L.
#[derive(Clone, Debug)]
pub struct Gcra {
    increment: Increment,
    limit: Span,
    /// TAT: its whole picoseconds, and the rest in parts of 1/rate of one.
    due: Time,
    carry: u64,
}

impl Gcra {
    /// Creates the algorithm for cells of 53 octets at `rate` (bit/s, above zero), with tolerance `limit` (τ or L of
    /// the standards: CDVT for a peak rate, BT + CDVT for a sustainable rate). The first cell conforms.
    pub fn new(rate: Rate, limit: Span) -> Gcra {
        Gcra { increment: Increment::new(rate), limit, due: Time::ZERO, carry: 0 }
    }

    /// Returns the rate (bit/s of whole cells).
    pub fn rate(&self) -> Rate {
        Rate::from_bps(self.increment.rate)
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
        self.due.since(now) <= self.limit
    }

    /// Returns the first instant from `now` on at which a cell conforms.
    #[inline]
    pub fn earliest(&self, now: Time) -> Time {
        now + self.due.since(now).saturating_sub(self.limit)
    }

    /// Takes a cell at `at` whatever the verdict: a shaper, which has waited until
    /// [`earliest`](Gcra::earliest).
    #[inline]
    pub fn take(&mut self, at: Time) {
        if at > self.due {
            self.due = at;
            self.carry = 0;
        }
        let (span, carry) = self.increment.after(Span::ZERO, self.carry);
        self.due += span;
        self.carry = carry;
    }

    /// Changes the rate at `now`. The debt of earlier cells is kept as an amount of data: a wait of half a cell time at
    /// the old rate becomes one of half a cell time at the new.
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        self.set(now, rate, self.limit);
    }

    /// Changes the rate and the tolerance at `now`.
    pub fn set(&mut self, now: Time, rate: Rate, limit: Span) {
        let old = std::mem::replace(&mut self.increment, Increment::new(rate));
        self.limit = limit;
        if self.due < now {
            self.carry = 0;
            return;
        }
        let (span, carry) = self.increment.convert(&old, self.due - now, self.carry, limit);
        self.due = now + span;
        self.carry = carry;
    }
}

/// GCRA(T, L) as a continuous-state leaky bucket: the bucket loses one unit a unit of time, a
/// conforming cell adds T, and a cell conforms if it finds at most L. The verdicts are those of
/// [`Gcra`]; ITU-T I.371 annex A states the algorithm both ways.
#[derive(Clone, Debug)]
pub struct LeakyBucket {
    increment: Increment,
    limit: Span,
    /// The content of the bucket right after the last conforming cell.
    content: Span,
    carry: u64,
    last: Time,
}

impl LeakyBucket {
    /// Creates an empty bucket for cells at `rate` (bit/s, above zero), with tolerance `limit`.
    pub fn new(rate: Rate, limit: Span) -> LeakyBucket {
        LeakyBucket { increment: Increment::new(rate), limit, content: Span::ZERO, carry: 0, last: Time::ZERO }
    }

    /// Returns true if a cell that arrives at `now` conforms, and adds it to the bucket then.
    pub fn conforms(&mut self, now: Time) -> bool {
        let (content, carry) = self.content_at(now);
        let conforms = content <= self.limit;
        if conforms {
            (self.content, self.carry) = self.increment.after(content, carry);
            self.last = now;
        }
        conforms
    }

    /// Changes the rate at `now`; the bucket keeps its content as an amount of data.
    pub fn set_rate(&mut self, now: Time, rate: Rate) {
        let (content, carry) = self.content_at(now);
        let old = std::mem::replace(&mut self.increment, Increment::new(rate));
        (self.content, self.carry) = self.increment.convert(&old, content, carry, self.limit);
        self.last = now;
    }

    /// Returns the content at `now`; a bucket that has run empty drops the fraction of a picosecond.
    fn content_at(&self, now: Time) -> (Span, u64) {
        let drained = now.since(self.last);
        if drained > self.content { (Span::ZERO, 0) } else { (self.content - drained, self.carry) }
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
