//! Signals of congestion, and the short-term bounds that follow from them. Section "When not Probing for Bandwidth".

use super::{BETA, Bbr, NO_BOUND, RateSample, part};
use crate::Position;
use crate::congestion::Loss;

/// The deliveries of the last round trip, and the losses in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signals {
    /// BBR.bw_latest (bit/s) and BBR.inflight_latest (bytes).
    pub(super) bandwidth: u64,
    pub(super) inflight: u64,
    /// BBR.is_loss_in_round.
    pub(super) loss_in_round: bool,
    /// BBR.loss_round_delivered (bytes).
    round_end: u64,
    /// BBR.loss_round_start.
    pub(super) round_start: bool,
    /// Ranges of the sequence space lost in the round, and the end of the last.
    pub(super) lost_ranges: u32,
    last_lost: Option<Position>,
}

impl Signals {
    /// UpdateLatestDeliverySignals(); `prior` is what had been delivered when the newest segment was sent (bytes).
    pub(super) fn update(&mut self, prior: Option<u64>, sample: &RateSample, delivered: u64) {
        self.bandwidth = self.bandwidth.max(sample.rate);
        self.inflight = self.inflight.max(sample.delivered);
        self.round_start = prior.is_some_and(|prior| prior >= self.round_end);
        if self.round_start {
            self.round_end = delivered;
        }
    }
    /// AdvanceLatestDeliverySignals().
    pub(super) fn advance(&mut self, sample: &RateSample) {
        if self.round_start {
            (self.bandwidth, self.inflight) = (sample.rate, sample.delivered);
            (self.lost_ranges, self.last_lost) = (0, None);
        }
    }
    /// ResetCongestionSignals().
    pub(super) fn reset(&mut self) {
        (self.loss_in_round, self.bandwidth, self.inflight) = (false, 0, 0);
    }
}

impl Bbr {
    /// NoteLoss(). A repair has saved the state as it began: another loss of the same repair, after
    /// ResetCongestionSignals() or in a later round, would save what the first one has changed.
    pub(super) fn note_loss(&mut self, cwnd: u64, loss: &Loss) {
        if !self.signals.loss_in_round {
            self.signals.round_end = self.delivered;
            if self.repair.is_none() {
                self.save_state(cwnd);
            }
        }
        self.signals.loss_in_round = true;
        self.signals.lost_ranges += u32::from(self.signals.last_lost != Some(loss.start));
        self.signals.last_lost = Some(loss.end);
    }
    /// UpdateCongestionSignals().
    pub(super) fn update_congestion_signals(&mut self, cwnd: u64, prior: Option<u64>, sample: &RateSample) {
        // UpdateMaxBw().
        self.rounds.start = false;
        if let Some(prior) = prior {
            self.update_round(prior);
        }
        if sample.rate > 0 && (sample.rate >= self.max_bandwidth.get() || !sample.limited) {
            self.max_bandwidth.update(sample.rate);
        }
        if !self.signals.round_start {
            return;
        }
        // AdaptLowerBoundsFromCongestion(), InitLowerBounds(), LossLowerBounds().
        if !self.state.is_accelerating() && self.signals.loss_in_round {
            if self.short_bandwidth == NO_BOUND {
                self.short_bandwidth = self.max_bandwidth.get();
            }
            if self.short_inflight == NO_BOUND {
                self.short_inflight = cwnd;
            }
            self.short_bandwidth = self.signals.bandwidth.max(part(self.short_bandwidth, BETA));
            self.short_inflight = self.signals.inflight.max(part(self.short_inflight, BETA));
        }
        self.signals.loss_in_round = false;
    }
    /// ResetShortTermModel().
    pub(super) fn reset_short_term(&mut self) {
        (self.short_bandwidth, self.short_inflight) = (NO_BOUND, NO_BOUND);
    }
}
