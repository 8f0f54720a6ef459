//! The sender's side of AccECN: the receiver's counters from the ACE field and the option. RFC 9768 §3.2.2, §3.2.3.1.

use cellway_units::Ecn;

use super::{AccEcnCounts, AccEcnOption, handshake};
use crate::Segment;

/// Values of the ACE field.
const CYCLE: u32 = 8;
/// RFC 9768, appendix A.2.2: marked segments are at least this part of a full one.
const SAFETY_FACTOR: u64 = 2;

/// The data that the peer has received, when a segment of it arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivered {
    /// All, cumulatively and selectively acknowledged (bytes).
    pub(crate) total: u64,
    /// The segment is a duplicate that stands for a segment of unknown position.
    pub(crate) duplicate: bool,
    /// A full segment (bytes).
    pub(crate) mss: u64,
}

/// The marks that a segment newly reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) packets: u32,
    /// Payload in them, estimated without the option (bytes).
    pub(crate) bytes: u64,
    /// Newly delivered (bytes).
    pub(crate) delivered: u64,
}

/// The meaning of the next ACE field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It reflects the SYN/ACK, if the segment is a pure acknowledgement. RFC 9768 §3.2.2.1.
    Reflection,
    /// It is the first count.
    First,
    Count,
    /// It has none: it was zero where it cannot be. RFC 9768 §3.2.2.1, note 1; §3.2.2.4.
    None,
}

/// The sender's copy of the receiver's counters.
#[derive(Clone, Debug)]
pub(crate) struct Feedback {
    counts: AccEcnCounts,
    stage: Stage,
    /// The peer's latest timestamp.
    newest: Option<u32>,
    /// The data delivered so far (bytes).
    delivered: u64,
    /// The marked bytes that were estimated because segments had no option (bytes).
    estimated: u64,
    ignores_options: bool,
}

impl Feedback {
    /// Begins at the server.
    pub(super) fn server() -> Feedback {
        Feedback {
            counts: AccEcnCounts::INITIAL,
            stage: Stage::Reflection,
            newest: None,
            delivered: 0,
            estimated: 0,
            ignores_options: false,
        }
    }
    /// Begins at the client, with the option of the SYN/ACK.
    pub(super) fn client(option: Option<AccEcnOption>) -> Feedback {
        let ignores_options = option.is_some_and(is_cleared);
        // The SYN is acknowledged.
        Feedback { stage: Stage::First, delivered: 1, ignores_options, ..Feedback::server() }
    }
    /// Returns the counters.
    pub(crate) fn counts(&self) -> AccEcnCounts {
        self.counts
    }
    /// Returns false if the peer has turned out to give no feedback.
    pub(super) fn is_trusted(&self) -> bool {
        self.stage != Stage::None
    }

    /// Takes the feedback of a segment.
    pub(super) fn take(&mut self, segment: &Segment, delivered: Delivered) -> Marks {
        let newly = self.newly(delivered);
        let progress = self.is_newer(segment) || newly > 0;
        match self.stage {
            Stage::Reflection => {
                self.stage = Stage::First;
                self.ignores_options = segment.options.acc_ecn.is_some_and(is_cleared);
                if segment.len == 0 && segment.options.sack.is_empty() {
                    return self.take_reflection(segment);
                }
            }
            Stage::None => return Marks::default(),
            Stage::First | Stage::Count => {}
        }
        // RFC 9768 §3.2.2.2: a segment that a later one has overtaken is ignored. Linux, __tcp_accecn_process(): one that
        // neither acknowledges data nor has a later timestamp may have been.
        if !progress {
            return Marks::default();
        }
        let ace = u32::from(segment.flags.ace());
        if std::mem::replace(&mut self.stage, Stage::Count) == Stage::First && ace == 0 {
            self.stage = Stage::None;
            return Marks::default();
        }
        let ce_bytes = segment.options.acc_ecn.filter(|_| !self.ignores_options).map(|option| self.take_option(option));
        let packets = ace.wrapping_sub(self.counts.ce_packets) % CYCLE;
        let packets = unwrapped(packets, newly, ce_bytes, delivered.mss);
        self.counts.ce_packets = self.counts.ce_packets.wrapping_add(packets);
        let estimate = (u64::from(packets) * delivered.mss).min(newly);
        let bytes = match ce_bytes {
            // Estimates of before are not counted again.
            Some(bytes) => {
                let known = bytes.min(self.estimated);
                self.estimated -= known;
                bytes - known
            }
            None => {
                self.estimated += estimate;
                estimate
            }
        };
        Marks { packets, bytes, delivered: newly }
    }

    /// Returns the newly delivered data (bytes).
    fn newly(&mut self, Delivered { total, duplicate, mss }: Delivered) -> u64 {
        // The segments behind the duplicates are acknowledged with the gap before them.
        let newly = if duplicate { mss } else { total.saturating_sub(self.delivered) };
        self.delivered += newly;
        newly
    }
    /// Returns true if the segment has a later timestamp than those before it.
    fn is_newer(&mut self, segment: &Segment) -> bool {
        let Some(stamp) = segment.options.timestamps else { return false };
        let newer = self.newest.is_none_or(|newest| (stamp.value.wrapping_sub(newest) as i32) > 0);
        if newer {
            self.newest = Some(stamp.value);
        }
        newer
    }
    /// Takes the acknowledgement of the SYN/ACK, which was not ECN-capable. RFC 9768 §3.2.2.1, table 4.
    fn take_reflection(&mut self, segment: &Segment) -> Marks {
        match handshake::codepoint(segment.flags) {
            _ if segment.flags.ace() == 0 => self.stage = Stage::None,
            Some(Ecn::Ce) => self.counts.ce_packets += 1,
            _ => {}
        }
        Marks::default()
    }
    /// Takes the fields of an option. Returns the newly marked bytes. RFC 9768 §3.2.3.1.
    fn take_option(&mut self, option: AccEcnOption) -> u64 {
        let mut marked = 0;
        for (codepoint, field) in option.fields() {
            // A field that is left out has not changed. One behind the count is old.
            let ahead = field.wrapping_sub(self.counts.bytes(codepoint)) & 0x00ff_ffff;
            if ahead < 1 << 23 {
                self.counts.add(codepoint, ahead);
                if codepoint == Ecn::Ce {
                    marked = u64::from(ahead);
                }
            }
        }
        marked
    }
}

/// Returns true if a field that begins at 1 is 0. RFC 9768 §3.2.3.2.4.
fn is_cleared(option: AccEcnOption) -> bool {
    option.fields().any(|(codepoint, count)| codepoint != Ecn::Ce && count == 0)
}

/// Returns the number of marked packets, which is `least` or a multiple of the cycle more, when `newly` bytes were
/// delivered and, by the option, `ce_bytes` of them marked: the most that is likely. RFC 9768 §3.2.2.5.2, appendix A.2.
fn unwrapped(least: u32, newly: u64, ce_bytes: Option<u64>, mss: u64) -> u32 {
    let delivered = u32::try_from(newly.div_ceil(mss)).unwrap_or(u32::MAX);
    if delivered < CYCLE {
        return least;
    }
    let most = delivered - delivered.wrapping_sub(least) % CYCLE;
    match ce_bytes {
        Some(bytes) if bytes <= u64::from(least) * mss && bytes * SAFETY_FACTOR < u64::from(most) * mss => least,
        _ => most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_has_wrapped_as_often_as_the_data_allows() {
        let cases = [
            // Up to seven segments: not at all. More marks than segments: control packets were marked.
            (3, 7, None, 3),
            (7, 2, None, 7),
            (1, 8, None, 1),
            (0, 8, None, 8),
            (1, 9, None, 9),
            (2, 9, None, 2),
            (0, 23, None, 16),
            (7, 23, None, 23),
            // The option: no byte was marked, three segments, all of them; small segments.
            (0, 16, Some(0), 0),
            (3, 16, Some(3000), 3),
            (0, 16, Some(16_000), 16),
            (3, 16, Some(11_000), 11),
            (3, 16, Some(5500), 11),
        ];
        for (least, segments, ce_bytes, expected) in cases {
            assert_eq!(unwrapped(least, segments * 1000, ce_bytes, 1000), expected, "{least} {segments} {ce_bytes:?}");
        }
    }
}
