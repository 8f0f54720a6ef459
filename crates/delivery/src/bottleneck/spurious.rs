//! Undoes the response to losses that were spurious: packets that were acknowledged late, not lost. After
//! `BBRSaveStateUponLoss` and `BBRHandleSpuriousLossDetection` of draft-ietf-ccwg-bbr.

use cellway_units::Time;
use serde::{Deserialize, Serialize};

use super::Bottleneck;
use super::phase::Phase;
use super::round::Round;

/// The state before the response to a lossy round.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Undo {
    phase: Phase,
    round: Round,
    /// Packets that had been declared lost before it.
    lost_before: u64,
}

impl Bottleneck {
    /// Saves the state before the response to a lossy round. The first such round since the last probe counts.
    pub(super) fn save_for_undo(&mut self, round: &Round) {
        let lost_before = self.delivery.packets_lost.saturating_sub(round.lost);
        self.undo.get_or_insert(Undo { phase: self.phase, round: *round, lost_before });
    }
    /// Restores that state once late acknowledgements leave too few losses for a response.
    pub(super) fn undo_spurious(&mut self, now: Time) {
        let Some(Undo { phase, round, lost_before }) = self.undo else { return };
        if round.with_losses(self.delivery.packets_lost.saturating_sub(lost_before)).is_lossy() {
            return;
        }
        (self.undo, self.bounds) = (None, None);
        match phase {
            Phase::Startup if matches!(self.phase, Phase::Drain | Phase::Down | Phase::Cruise) => {
                self.resume_startup(now)
            }
            // The probe that the losses ended is made again.
            Phase::Refill | Phase::Up => self.probe_at = now,
            _ => {}
        }
    }
}
