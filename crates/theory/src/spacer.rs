//! One TCP connection through a cell spacer: the content of the spacer over time.
//!
//! The model of F. Guillemin et al., *Analysis of Cell Spacing on a TCP Flow Mapped onto
//! an ATM Connection*, sections 2 to 5, in fluid: segments of σ cells leave the source at peak
//! rate h, a queue passes them on at rate c < h, and an acknowledgement is back δ after the last
//! cell that it acknowledges has left the queue. d is the number of segments that one
//! acknowledgement covers (1, or 2), and Δ = δ + dσ/c the time from the first cell of d segments
//! that find the spacer empty to their acknowledgement.
//!
//! Wrong statements of the paper are corrected here; docs/models/spacing.md derives each correction and
//! `tests/spacer.rs` compares all results with a simulation cell by cell.

mod avoidance;
mod equations;
mod scenario;
mod slow_start;

pub use avoidance::Avoidance;
pub(crate) use equations::EQUATIONS;
pub use scenario::spacer_of;
pub use slow_start::{Interval, SlowStart};

use cellway_units::{Rate, Span};

use crate::arguments::most;
use crate::error::{Error, undefined};

/// The number of segments that one acknowledgement covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledgements {
    /// Each segment is acknowledged (Guillemin et al., sections 3 and 4).
    EverySegment,
    /// Every second segment is (Guillemin et al., section 5).
    EverySecond,
}

impl Acknowledgements {
    /// Returns d, in segments.
    pub const fn segments(self) -> u64 {
        match self {
            Acknowledgements::EverySegment => 1,
            Acknowledgements::EverySecond => 2,
        }
    }
}

/// The unit in which the content of a spacer is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// The fluid content of the paper, in fractions of a cell.
    Fluid,
    /// Cells: each from its complete arrival until the end of its service, 1/c after its turn began. Above the fluid
    /// content by less than 1 + c/h.
    Cells,
    /// Cells whose turn has not begun: one less than [`Count::Cells`], if there is any. A simulator or switch whose
    /// queue a cell leaves when its transmission starts shows this.
    Waiting,
}

/// The parameters of the content of the spacer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpacerInput {
    /// σ: cells of a segment. At least 1.
    pub segment: u64,
    /// h: the sending rate of the source, in cells.
    pub peak: Rate,
    /// c: the spacing rate, in cells; below `peak`.
    pub rate: Rate,
    /// δ: from the departure of the last cell of a segment to its acknowledgement at the source, and the arrival time
    /// of one cell (1/h). The arrival time of the other cells of the segment is no part of it.
    pub delay: Span,
    /// The number of segments that one acknowledgement covers.
    pub acknowledgements: Acknowledgements,
    /// w₀: the initial window, in segments.
    pub initial: u64,
    /// b: the slow start threshold, in segments.
    pub threshold: u64,
    /// w: the largest window, in segments; at most 1,000,000, because congestion avoidance is computed segment by
    /// segment.
    pub window: u64,
}

/// A spacer with valid input. Lengths are in cells, rates in cell/s, times in s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spacer {
    sigma: f64,
    h: f64,
    c: f64,
    delta: f64,
    d: u64,
    w0: u64,
    b: u64,
    w: u64,
}

impl Spacer {
    /// Checks `input`. The initial window is cut to `window`, and the threshold to lie between the
    /// two: a window that starts above its threshold grows by congestion avoidance only.
    ///
    /// # Errors
    /// [`Error::Undefined`] if a rate, the segment or a window is zero, if the spacing rate is not
    /// below the peak rate, or if the window is too small to be acknowledged (one segment, where
    /// only every second one is) or above 1,000,000 segments.
    pub fn new(input: SpacerInput) -> Result<Spacer, Error> {
        let d = input.acknowledgements.segments();
        let refuse = |what: &str, accepted: &str| Err(undefined("spacer", what, accepted));
        if input.rate.as_bps() == 0 || input.rate >= input.peak {
            return refuse("the spacing rate is not below the peak rate", "0 < rate < peak");
        }
        if input.segment == 0 {
            return refuse("a segment has no cells", "at least 1 cell");
        }
        if input.initial < d || input.window < d {
            return refuse(
                "a window that no acknowledgement covers waits for the timer of a delayed acknowledgement",
                if d == 2 { "windows of at least 2 segments" } else { "windows of at least 1 segment" },
            );
        }
        if input.window > most::SEGMENTS {
            let what = format!("a window of {} segments is too much to be followed", input.window);
            return refuse(&what, &format!("windows of at most {} segments", most::SEGMENTS));
        }
        let w0 = input.initial.min(input.window);
        Ok(Spacer {
            sigma: input.segment as f64,
            h: input.peak.cells_per_sec(),
            c: input.rate.cells_per_sec(),
            delta: input.delay.as_secs_f64(),
            d,
            w0,
            b: input.threshold.clamp(w0, input.window),
            w: input.window,
        })
    }

    /// Creates a spacer in any unit of data: `segment` units, rates in units per s, `delay` in s.
    pub(crate) fn of_units(
        segment: f64,
        [peak, rate]: [f64; 2],
        delay: f64,
        d: u64,
        [initial, window]: [u64; 2],
    ) -> Spacer {
        let w0 = initial.clamp(1, window);
        Spacer { sigma: segment, h: peak, c: rate, delta: delay, d, w0, b: window, w: window }
    }

    /// Returns Δ = δ + dσ/c, in s.
    pub fn round_trip(&self) -> f64 {
        self.delta + self.d as f64 * self.step()
    }
    /// Returns cΔ: the cells that leave the spacer in a round trip.
    pub fn pipe(&self) -> f64 {
        self.c * self.delta + self.d as f64 * self.sigma
    }
    /// Returns the least content between acknowledgements while the window is `window` segments, in cells: (window σ −
    /// cΔ)⁺, the lower values of equations (3), (13), (22) and (23).
    pub fn low(&self, window: u64) -> f64 {
        (window as f64 * self.sigma - self.pipe()).max(0.0)
    }
    /// Returns the largest content: dσ(1 − c/h) more.
    pub fn high(&self, window: u64) -> f64 {
        self.low(window) + self.d as f64 * self.sigma * self.gain()
    }
    /// Returns the lower value in the unit of `count`.
    pub fn low_counted(&self, window: u64, count: Count) -> f64 {
        // The least is just before the first cell that the acknowledgement released is complete.
        self.whole(window as f64 * self.sigma - self.pipe() - self.c / self.h, self.low(window), count)
    }
    /// Returns a largest content `fluid`, such as [`Spacer::high`] or [`Interval::maximum`], in the unit of `count`.
    pub fn peak_counted(&self, fluid: f64, count: Count) -> f64 {
        self.whole(fluid, fluid, count)
    }
    /// Converts to cells. Service of a cell can begin only when it is complete, 1/h after its first bit: there are c/h
    /// more than in the fluid.
    fn whole(&self, exact: f64, fluid: f64, count: Count) -> f64 {
        // Products of rates and times miss integers by rounding.
        let cells = libm::ceil(exact + self.c / self.h - 1e-6).max(0.0);
        match count {
            Count::Fluid => fluid,
            Count::Cells => cells,
            Count::Waiting => (cells - 1.0).max(0.0),
        }
    }
    /// Returns w as used, in segments.
    pub fn window(&self) -> u64 {
        self.w
    }
    /// Returns b as used, in segments.
    pub fn threshold(&self) -> u64 {
        self.b
    }
    /// Returns the largest content from the first segment until the window is at its maximum and the content
    /// oscillates, in cells: the buffer for a transfer without loss.
    pub fn buffer(&self) -> f64 {
        let start = self.slow_start();
        let avoidance = self.avoidance();
        let slow = start.intervals.iter().map(|i| i.maximum).fold(start.high, f64::max);
        slow.max(avoidance.maximum)
    }

    /// Returns the time between segments that leave a busy spacer, σ/c, in s.
    pub fn segment_time(&self) -> f64 {
        self.step()
    }
    /// Returns the time between acknowledgements while the spacer is busy, dσ/c, in s.
    pub fn acknowledgement_gap(&self) -> f64 {
        self.d as f64 * self.step()
    }

    /// Returns σ/c, in s.
    fn step(&self) -> f64 {
        self.sigma / self.c
    }
    /// Returns the part of a segment that the spacer still holds at the arrival of its last cell, 1 − c/h.
    fn gain(&self) -> f64 {
        1.0 - self.c / self.h
    }

    /// Returns the largest content while `acks` acknowledgements arrive dσ/c apart, the spacer empty at the first, of
    /// which the first `growing` release d + 1 segments and the others d.
    ///
    /// Equations (7), (8), (10), (18) and (19) in one: each growing acknowledgement leaves σ behind, and the content is
    /// at most what the source can have sent at rate h.
    fn peak_of(&self, acks: u64, growing: u64) -> f64 {
        let (d, g, n) = (self.d as f64, growing as f64, (self.d * acks + growing) as f64);
        let paced =
            if growing == acks && growing > 0 { (g - 1.0) + (d + 1.0) * self.gain() } else { g + d * self.gain() };
        self.sigma * paced.min(n * self.gain())
    }
}
