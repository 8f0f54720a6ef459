//! Caps on the state that a gateway keeps for its peer.
//!
//! Some state that a gateway keeps for its peer is not part of the memory of any flow. Each kind has a cap above the
//! amount that an honest gateway reaches on a link of 10 Gbit/s with a round trip of 600 ms (566,000 packets of 1325
//! octets) that loses a quarter of all packets. The connection to a peer that exceeds a cap should end.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The cap that a peer has exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Excess {
    /// It leaves more gaps in the bytes of flows than a link loses packets.
    Gaps,
    /// It does not use identifiers of flows in sequence.
    Identifiers,
    /// It does not acknowledge refusals and resets.
    Answers,
    /// It does not acknowledge packets.
    Unacknowledged,
}

impl Excess {
    /// All caps.
    pub const ALL: [Excess; 4] = [Excess::Gaps, Excess::Identifiers, Excess::Answers, Excess::Unacknowledged];
    /// Most gaps in the bytes of all flows together. With a loss rate `p` a packet is missing after `k` transmissions with
    /// probability `p^k`, and begins a gap if the one before it has arrived: the sum of `p^k (1 - p^k)` is 0.27 for a loss
    /// of a quarter, or 151,000 gaps.
    pub const MOST_GAPS: u64 = 1 << 18;
    /// Most runs of identifiers of flows that have ended, beyond the number of flows. Identifiers in sequence leave a gap
    /// for each flow that has not ended, and for each lost packet with `Open` frames, of which it holds about 30: 8 GiB of
    /// memory have room for 90,000 flows of one gateway, and the `Open` frames of all of them are 3,000 packets.
    pub const MOST_IDENTIFIERS: usize = 1 << 16;
    /// Most unacknowledged refusals and resets of flows that do not exist here. A gateway takes at least 30 us to open a
    /// connection: 44,000 in 2.2 round trips, by the end of which a refusal has arrived or is declared lost.
    pub const MOST_ANSWERS: usize = 1 << 16;
    /// The constant part of the cap on the memory (bytes) of unacknowledged packets, the bytes of flows not counted. The
    /// other part is a fraction of [`GatewayConfig::total_buffer`](crate::GatewayConfig::total_buffer), which bounds the
    /// bytes under way. With a `Credit` every 32 packets, 39,000 of 170 bytes leave in 2.2 round trips, and 155,000
    /// acknowledgements of 16 bytes: 9 MB. In that time 1.2 million packets with data leave, which take 16 bytes each if
    /// the oldest was lost: 20 MB, with 1.6 GB of memory in use.
    pub const MOST_UNACKNOWLEDGED: u64 = 8 << 20;
    /// The divisor of [`GatewayConfig::total_buffer`](crate::GatewayConfig::total_buffer) in that cap.
    pub(crate) const UNACKNOWLEDGED_PART: u64 = 16;

    /// Returns its name in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Excess::Gaps => "excess-gaps",
            Excess::Identifiers => "excess-identifiers",
            Excess::Answers => "excess-answers",
            Excess::Unacknowledged => "excess-unacknowledged",
        }
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Excess::Gaps => "it leaves more than 262,144 gaps in the bytes of connections",
            Excess::Identifiers => "it leaves more than 65,536 gaps in the identifiers of connections",
            Excess::Answers => "it has not acknowledged more than 65,536 refusals and resets",
            Excess::Unacknowledged => "it has not acknowledged packets that take more memory than any line needs",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_caps() {
        let words = Excess::ALL.map(|excess| excess.to_string().replace(',', ""));
        assert!(
            words[0].contains(&Excess::MOST_GAPS.to_string())
                && words[1].contains(&Excess::MOST_IDENTIFIERS.to_string()),
            "{words:?}"
        );
        assert!(words[2].contains(&Excess::MOST_ANSWERS.to_string()), "{words:?}");
        let names: std::collections::BTreeSet<&str> = Excess::ALL.into_iter().map(Excess::name).collect();
        assert_eq!(names.len(), Excess::ALL.len());
    }
}
