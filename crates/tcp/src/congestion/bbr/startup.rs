//! Startup and Drain: the detection of a full pipe. Sections "Startup" and "Drain".

use cellway_units::Time;

use super::{Accelerating, Bbr, BbrState, LOSS, RateSample, part};
use crate::congestion::Repair;

/// The growth of the rate in a round that does not count as a plateau: 25 %.
const GROWTH: (u64, u64) = (5, 4);
/// Rounds of a plateau that mean a full pipe.
const PLATEAU: u32 = 3;
/// BBRStartupFullLossCnt: ranges lost in a round trip that end Startup.
const LOST_RANGES: u32 = 6;
/// The rounds after which Drain ends.
const DRAIN_ROUNDS: u64 = 3;

/// The detection of a plateau of the delivery rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// BBR.full_bw (bit/s).
    pub(super) rate: u64,
    /// BBR.full_bw_count.
    pub(super) count: u32,
    /// BBR.full_bw_now.
    pub(super) now: bool,
    /// BBR.full_bw_reached.
    pub(super) reached: bool,
}

impl FullPipe {
    /// ResetFullBW().
    pub(super) fn reset(&mut self) {
        (self.rate, self.count, self.now) = (0, 0, false);
    }
    /// Begins anew from `rate` (bit/s).
    pub(super) fn reset_to(&mut self, rate: u64) {
        self.reset();
        self.rate = rate;
    }
}

/// InflightAtLoss(): what was in flight where the losses exceeded the tolerated rate (bytes), for a segment of `size`
/// bytes that was sent with `in_flight` in flight, and `lost` lost since then, both with itself.
pub(super) fn inflight_at_loss(in_flight: u64, lost: u64, size: u64) -> u64 {
    let before = in_flight.saturating_sub(size);
    let lost_before = lost.saturating_sub(size);
    let (num, den) = LOSS;
    // lost_prefix = (LossThresh * inflight_prev - lost_prev) / (1 - LossThresh). Losses above that came before.
    before + (num * before).saturating_sub(den * lost_before) / (den - num)
}

impl Bbr {
    /// CheckFullBWReached().
    pub(super) fn check_full_pipe(&mut self, sample: &RateSample) {
        if self.full_pipe.now || !self.rounds.start || sample.limited {
            return;
        }
        if sample.rate >= part(self.full_pipe.rate, GROWTH) {
            self.full_pipe.reset_to(sample.rate);
            return;
        }
        self.full_pipe.count += 1;
        self.full_pipe.now = self.full_pipe.count >= PLATEAU;
        self.full_pipe.reached |= self.full_pipe.now;
    }
    /// CheckStartupDone().
    pub(super) fn check_startup_done(&mut self, sample: &RateSample) {
        if self.state != BbrState::Startup {
            return;
        }
        self.check_startup_loss(sample);
        if self.full_pipe.reached {
            // EnterDrain().
            self.state = BbrState::Drain;
            self.drain_start = self.rounds.count;
        }
    }
    /// CheckStartupHighLoss().
    fn check_startup_loss(&mut self, sample: &RateSample) {
        let long_repair = matches!(self.repair, Some((Repair::Fast, round)) if self.rounds.count > round);
        let ranges = self.signals.lost_ranges >= LOST_RANGES;
        if !(self.signals.round_start && long_repair && ranges && sample.is_too_high()) {
            return;
        }
        self.undo.ended = Some(Accelerating::Startup);
        (self.full_pipe.now, self.full_pipe.reached) = (true, true);
        self.long_inflight = self.bdp(100).max(self.signals.inflight);
    }
    /// CheckDrainDone(); `in_flight` and `mss` in bytes.
    pub(super) fn check_drain_done(&mut self, in_flight: u64, mss: u64, now: Time) {
        let late = self.rounds.count > self.drain_start + DRAIN_ROUNDS;
        if self.state == BbrState::Drain && (late || in_flight <= self.inflight(self.bandwidth, 100, mss)) {
            // EnterProbeBW().
            self.start_down(now);
        }
    }
}
