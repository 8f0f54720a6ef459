//! What a peer can make a gateway keep, and when that is more than an honest peer ever needs.
//!
//! A gateway keeps some things for its peer that no flow's memory pays for. Each has a cap above what an honest gateway
//! reaches on a line of 10 Gbit/s and 600 ms of round trip, 566,000 packets of 1325 octets, with a quarter of all packets
//! lost. A peer over a cap is no gateway: the connection to it should end.

use std::fmt;

/// Most gaps in the bytes of all flows together. With a loss of `p` a packet is missing after `k` transmissions with `p^k`,
/// and begins a gap if the one before it is there: the sum of `p^k (1 - p^k)` is 0.27 where a quarter is lost, 151,000 gaps.
pub(crate) const GAPS: u64 = 1 << 18;
/// Most runs of identifiers of flows that have ended, beyond the number of flows. Identifiers in sequence leave a gap for
/// each flow that has not ended, and for each lost packet with openings, which holds some 30: 8 GiB of memory have room for
/// 90,000 flows of one gateway, all openings under way at once are 3,000 packets.
pub(crate) const IDENTIFIERS: usize = 1 << 16;
/// Most refusals and resets of flows that are not here which the peer has not acknowledged. A gateway opens a connection
/// in 30 us or more: 44,000 in two round trips and a fifth, in which a refusal has arrived or is known to be lost.
pub(crate) const ANSWERS: usize = 1 << 16;
/// The memory (bytes) of packets that the peer has not acknowledged, beyond bytes of flows: this, and a part of
/// [`GatewayConfig::total_buffer`](crate::GatewayConfig::total_buffer), as the memory bounds the bytes under way. Where a
/// limit is announced every 32 packets there are 39,000 announcements of 170 bytes in two round trips and a fifth, and
/// 155,000 acknowledgements of 16 bytes: 9 MB; in that time 1.2 million packets with data leave, which take 16 bytes each if
/// the oldest was lost: 20 MB, but then 1.6 GB of memory are in use.
pub(crate) const UNACKNOWLEDGED: u64 = 8 << 20;
/// The part of the memory.
pub(crate) const UNACKNOWLEDGED_PART: u64 = 16;

/// The cap that a peer has exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Excess {
    /// It leaves more gaps in the bytes of flows than a line loses packets.
    Gaps,
    /// It does not use identifiers of flows in sequence.
    Identifiers,
    /// It does not acknowledge refusals and resets.
    Answers,
    /// It does not acknowledge packets.
    Unacknowledged,
}

impl Excess {
    /// All there are.
    pub const ALL: [Excess; 4] = [Excess::Gaps, Excess::Identifiers, Excess::Answers, Excess::Unacknowledged];

    /// Its name in metrics.
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
            Excess::Answers => "it has not acknowledged 65,536 refusals and resets",
            Excess::Unacknowledged => "it has not acknowledged packets that take more memory than any line needs",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_name_the_caps() {
        let words = Excess::ALL.map(|excess| excess.to_string().replace(',', ""));
        assert!(words[0].contains(&GAPS.to_string()) && words[1].contains(&IDENTIFIERS.to_string()), "{words:?}");
        assert!(words[2].contains(&ANSWERS.to_string()), "{words:?}");
        let mut names = Excess::ALL.map(Excess::name).to_vec();
        names.dedup();
        assert_eq!(names.len(), Excess::ALL.len());
    }
}
