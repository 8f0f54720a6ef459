//! Proportional rate reduction: spreads the reduction of the window over a fast recovery. RFC 9937, which obsoletes
//! RFC 6937.

/// The state of PRR in one recovery. RFC 9937 §6.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr {
    /// RecoverFS: the data in the network before the acknowledgement that began the recovery (bytes).
    flight: u64,
    /// prr_delivered and prr_out: delivered to the peer, and sent, in this recovery (bytes).
    delivered: u64,
    out: u64,
}

/// The effect of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// DeliveredData: newly acknowledged, cumulatively or selectively (bytes).
    pub(super) delivered: u64,
    /// The data in the network (bytes).
    pub(super) in_network: u64,
    /// safeACK: the acknowledgement is cumulative and shows no further loss.
    pub(super) safe: bool,
}

impl Prr {
    /// Begins a recovery with `flight` bytes (RecoverFS).
    pub(super) fn new(flight: u64) -> Prr {
        Prr { flight: flight.max(1), delivered: 0, out: 0 }
    }
    /// Counts data sent.
    pub(super) fn sent(&mut self, bytes: u64) {
        self.out += bytes;
    }
    /// Returns SndCnt, the data that may be sent now (bytes).
    pub(super) fn acked(&mut self, progress: Progress, ssthresh: u64, mss: u64) -> u64 {
        let Progress { delivered, in_network, safe } = progress;
        self.delivered += delivered;
        let count = if in_network > ssthresh {
            // In proportion, in whole segments: the RFC rounds up in whatever unit it counts.
            let share = (u128::from(self.delivered) * u128::from(ssthresh)).div_ceil(u128::from(self.flight));
            u64::try_from(share).unwrap_or(u64::MAX).saturating_sub(self.out).div_ceil(mss) * mss
        } else {
            // The conservative bound (PRR-CRB), or slow start while recovery makes progress (PRR-SSRB).
            let bound = self.delivered.saturating_sub(self.out).max(delivered) + if safe { mss } else { 0 };
            bound.min(ssthresh - in_network)
        };
        // The first retransmission of a recovery is sent at once.
        if self.out == 0 { count.max(mss) } else { count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// The case of RFC 6937 §4, figure 1: a window of 20 segments with one loss and ssthresh of 10. From the third
    /// duplicate on, each second acknowledgement sends a segment, until the network holds ssthresh; the two of limited
    /// transmit were sent before.
    #[test]
    fn a_single_loss_sends_at_each_second_acknowledgement() {
        let mut prr = Prr::new(20 * MSS);
        let mut in_network = 19 * MSS;
        let (mut pipes, mut sent) = (Vec::new(), Vec::new());
        for n in 0..17 {
            // At the first the segment is lost; each delivers one.
            in_network -= MSS;
            pipes.push(in_network / MSS);
            let count = prr.acked(Progress { delivered: MSS, in_network, safe: false }, 10 * MSS, MSS);
            sent.push(count / MSS);
            prr.sent(count);
            in_network += count;
            assert!(n > 0 || count == MSS);
        }
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0]);
        assert_eq!(pipes, [18, 18, 17, 17, 16, 16, 15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10]);
    }

    /// The case of RFC 6937 §4, figure 2: 15 of 20 segments are lost. Four are in the network after the third duplicate, far below
    /// ssthresh: PRR-CRB sends one for each that is delivered, PRR-SSRB one more.
    #[test]
    fn a_heavy_loss_is_bound_by_what_is_delivered() {
        for (safe, expected) in [(false, [1, 1, 1]), (true, [2, 2, 2])] {
            let mut prr = Prr::new(20 * MSS);
            let mut in_network = 4 * MSS;
            let mut sent = Vec::new();
            for n in 0..3 {
                in_network -= if n == 0 { 0 } else { MSS };
                let count = prr.acked(Progress { delivered: MSS, in_network, safe }, 10 * MSS, MSS);
                sent.push(count / MSS);
                prr.sent(count);
                in_network += count;
            }
            assert_eq!(sent, expected, "{safe}");
        }
    }

    #[test]
    fn the_window_ends_at_ssthresh() {
        let mut prr = Prr::new(20 * MSS);
        prr.sent(8 * MSS);
        // Two segments below ssthresh, five delivered: two may go.
        let progress = Progress { delivered: 13 * MSS, in_network: 8 * MSS, safe: true };
        assert_eq!(prr.acked(progress, 10 * MSS, MSS), 2 * MSS);
    }
}
