//! The receiver's side of AccECN: the counters, the acknowledgements that they cause, and the option. RFC 9768 §3.2.

use cellway_units::Ecn;

use super::{AccEcnCounts, AccEcnOption, FieldOrder};

/// Marks after which an acknowledgement is sent, while data is unacknowledged and else. RFC 9768 §3.2.2.5.1.
const MARKS_WITH_DATA: u8 = 2;
const MARKS_WITHOUT_DATA: u8 = 3;

/// Counts what arrives.
#[derive(Clone, Debug)]
pub(crate) struct Reflector {
    counts: AccEcnCounts,
    /// The counts when an acknowledgement, and an option, was last sent.
    acknowledged: AccEcnCounts,
    reported: AccEcnCounts,
    /// The last packet was marked.
    marked: bool,
    /// Marks since the last acknowledgement.
    marks: u8,
    answer_marked: bool,
}

impl Default for Reflector {
    fn default() -> Reflector {
        let counts = AccEcnCounts::INITIAL;
        let (acknowledged, reported) = (counts, counts);
        Reflector { counts, acknowledged, reported, marked: false, marks: 0, answer_marked: false }
    }
}

impl Reflector {
    /// Returns the counters.
    pub(crate) fn counts(&self) -> AccEcnCounts {
        self.counts
    }
    /// Counts a SYN/ACK with CE, once. RFC 9768 §3.2.2.2.
    pub(super) fn answer_marked(&mut self) {
        if !std::mem::replace(&mut self.answer_marked, true) {
            self.counts.ce_packets += 1;
        }
    }
    /// Counts a packet with a `payload` (bytes). Returns true if an acknowledgement is to be sent at once: at the first
    /// mark in data after a packet without, and after a few. RFC 9768 §3.2.2.5.1.
    pub(crate) fn arrived(&mut self, codepoint: Ecn, payload: u32, awaits_ack: bool) -> bool {
        self.counts.add(codepoint, payload);
        let marked = codepoint == Ecn::Ce;
        let before = std::mem::replace(&mut self.marked, marked);
        let begins = marked && !before && payload > 0;
        if marked {
            self.counts.ce_packets = self.counts.ce_packets.wrapping_add(1);
            self.marks = self.marks.saturating_add(1);
        }
        let most = if awaits_ack || payload > 0 { MARKS_WITH_DATA } else { MARKS_WITHOUT_DATA };
        begins || self.marks >= most
    }
    /// Records that a segment with the counts, and `option`, was sent.
    pub(crate) fn acknowledged(&mut self, option: Option<AccEcnOption>) {
        self.acknowledged = self.counts;
        self.marks = 0;
        if option.is_some() {
            self.reported = self.counts;
        }
    }

    /// Returns the option with all fields: both ends send it in the handshake. RFC 9768 §3.2.3.2.1.
    pub(crate) fn whole_option(&self) -> AccEcnOption {
        self.option_of(FieldOrder::Ect0First, 3)
    }
    /// Returns the option of the next acknowledgement, of at most `room` octets: if a count has changed since the last one,
    /// all that have ever changed, or at least those that have since the last option. RFC 9768 §3.2.3.3.
    pub(crate) fn option(&self, room: u32) -> Option<AccEcnOption> {
        if self.length(FieldOrder::Ect0First, &self.acknowledged) == 0 {
            return None;
        }
        // ECT(0) is first unless only ECT(1) has ever arrived.
        let orders =
            match self.changed(Ecn::Ect1, &AccEcnCounts::INITIAL) && !self.changed(Ecn::Ect0, &AccEcnCounts::INITIAL) {
                true => [FieldOrder::Ect1First, FieldOrder::Ect0First],
                false => [FieldOrder::Ect0First, FieldOrder::Ect1First],
            };
        let fitting = |order| {
            let range = self.length(order, &self.reported)..=self.length(order, &AccEcnCounts::INITIAL);
            range.rev().map(move |len| self.option_of(order, len)).find(|option| option.octets() <= room)
        };
        orders.into_iter().find_map(fitting)
    }
    fn option_of(&self, order: FieldOrder, len: usize) -> AccEcnOption {
        AccEcnOption::new(order, len, |codepoint| self.counts.bytes(codepoint))
    }
    fn changed(&self, codepoint: Ecn, before: &AccEcnCounts) -> bool {
        self.counts.bytes(codepoint) != before.bytes(codepoint)
    }
    /// Returns the number of fields, in `order`, that has all which have changed since `before`.
    fn length(&self, order: FieldOrder, before: &AccEcnCounts) -> usize {
        let last = order.codepoints().into_iter().rposition(|codepoint| self.changed(codepoint, before));
        last.map_or(0, |last| last + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(option: Option<AccEcnOption>) -> Option<(FieldOrder, usize)> {
        option.map(|option| (option.order(), option.fields().count()))
    }

    /// The two examples of RFC 9768 §3.2.3.3.
    #[test]
    fn an_option_has_the_fields_that_have_ever_changed() {
        let mut it = Reflector::default();
        assert_eq!(it.option(40), None);
        it.arrived(Ecn::Ect0, 1000, false);
        assert_eq!(kinds(it.option(40)), Some((FieldOrder::Ect0First, 1)));
        it.acknowledged(it.option(40));
        assert_eq!(it.option(40), None, "nothing has changed since");
        it.arrived(Ecn::Ce, 1000, false);
        assert_eq!(kinds(it.option(40)), Some((FieldOrder::Ect0First, 2)));
        it.acknowledged(it.option(40));
        it.arrived(Ecn::Ect0, 1000, false);
        assert_eq!(kinds(it.option(40)), Some((FieldOrder::Ect0First, 2)));

        let mut it = Reflector::default();
        it.arrived(Ecn::Ce, 1000, false);
        assert_eq!(kinds(it.option(40)), Some((FieldOrder::Ect0First, 2)));
        it.arrived(Ecn::Ect1, 1000, false);
        assert_eq!(kinds(it.option(40)), Some((FieldOrder::Ect1First, 2)));
    }

    /// RFC 9768 §3.2.3.3, "Necessary Option Length".
    #[test]
    fn with_little_room_only_what_has_changed_since_the_last_option_is_sent() {
        let mut it = Reflector::default();
        for codepoint in [Ecn::Ect0, Ecn::Ce, Ecn::Ect1] {
            it.arrived(codepoint, 1000, false);
        }
        assert_eq!(it.option(10), None, "three have changed");
        it.acknowledged(None);
        assert_eq!(it.option(40), None);
        it.arrived(Ecn::Ect1, 1, false);
        assert_eq!(it.option(10), None, "none was reported so far");
        it.acknowledged(it.option(11));
        it.arrived(Ecn::Ect1, 1, false);
        assert_eq!(kinds(it.option(11)), Some((FieldOrder::Ect0First, 3)));
        assert_eq!(kinds(it.option(10)), Some((FieldOrder::Ect1First, 2)));
        assert_eq!(kinds(it.option(7)), Some((FieldOrder::Ect1First, 1)));
        assert_eq!(it.option(4), None);
    }

    /// RFC 9768 §3.2.2.5.1.
    #[test]
    fn the_first_mark_and_every_second_are_acknowledged_at_once() {
        let mut it = Reflector::default();
        let mut arrived = |codepoint, payload, awaits_ack| {
            let at_once = it.arrived(codepoint, payload, awaits_ack);
            if at_once {
                it.acknowledged(None);
            }
            at_once
        };
        assert!(!arrived(Ecn::Ect0, 1000, false));
        assert!(arrived(Ecn::Ce, 1000, true), "after a packet without");
        assert!(!arrived(Ecn::Ce, 1000, false));
        assert!(arrived(Ecn::Ce, 1000, true), "the second since");
        assert!(!arrived(Ecn::Ect0, 1000, false));
        assert!(arrived(Ecn::Ce, 1000, false), "after one without again");
        assert!(!arrived(Ecn::Ect0, 1000, false));
        assert!(!arrived(Ecn::Ce, 0, false), "no data");
        assert!(!arrived(Ecn::Ce, 0, false));
        assert!(arrived(Ecn::Ce, 0, false), "the third since");
        assert!(!arrived(Ecn::Ce, 0, true));
        assert!(arrived(Ecn::Ce, 0, true), "data waits");
        assert_eq!((it.counts().ce_packets, it.counts().ce_bytes), (5 + 9, 4000));
    }
}
