//! Detects the end of a TCP connection from packets that pass by.

use cellway_wire::ip::Segment;

/// The state of the end of a TCP connection, from its packets. RFC 9293, section 3.6.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Closing {
    /// For each direction the sequence number after its FIN, after the first packet with it.
    fin: [Option<u32>; 2],
    /// The FIN of each direction was acknowledged.
    acknowledged: [bool; 2],
    reset: bool,
}

impl Closing {
    /// Processes a segment in direction 0 or 1.
    pub(super) fn see(&mut self, direction: usize, segment: &Segment) {
        let flags = segment.flags;
        if flags.syn && !flags.ack && !flags.rst && self.is_over() {
            // The ports are used for another connection.
            *self = Closing::default();
        }
        if flags.fin {
            // A SYN in the same segment takes a number too.
            let end = segment.seq.wrapping_add(segment.payload).wrapping_add(1 + u32::from(flags.syn));
            self.fin[direction] = Some(end);
        }
        if flags.ack && self.fin[1 - direction].is_some_and(|end| segment.ack.wrapping_sub(end) < 1 << 31) {
            self.acknowledged[1 - direction] = true;
        }
        self.reset |= flags.rst;
    }

    /// Returns true after both FINs were acknowledged, or after a RST.
    pub(super) fn is_over(&self) -> bool {
        self.reset || self.acknowledged == [true; 2]
    }
}

#[cfg(test)]
mod tests {
    use cellway_wire::TcpFlags;

    use super::*;

    fn segment(seq: u32, ack: u32, payload: u32, flags: TcpFlags) -> Segment {
        Segment { seq, ack, payload, flags: TcpFlags { ack: true, ..flags } }
    }

    fn plain() -> TcpFlags {
        TcpFlags::default()
    }

    fn fin() -> TcpFlags {
        TcpFlags { fin: true, ..plain() }
    }

    /// RFC 9293, figure 12, with its numbers, and from just before the sequence numbers wrap.
    #[test]
    fn a_normal_close() {
        for base in [100, u32::MAX - 1] {
            let n = |offset: u32| base.wrapping_add(offset);
            let mut closing = Closing::default();
            closing.see(0, &segment(n(0), 300, 0, fin()));
            // Acknowledges only the octets before the FIN.
            closing.see(1, &segment(300, n(0), 50, plain()));
            closing.see(1, &segment(350, n(1), 0, plain()));
            assert!(!closing.is_over());
            closing.see(1, &segment(350, n(1), 10, fin()));
            closing.see(0, &segment(n(1), 360, 0, plain()));
            assert!(!closing.is_over());
            closing.see(0, &segment(n(1), 361, 0, plain()));
            assert!(closing.is_over());
        }
    }

    #[test]
    fn a_reset_ends_it_and_a_syn_starts_it_anew() {
        let mut closing = Closing::default();
        closing.see(1, &segment(9, 9, 0, TcpFlags { rst: true, ..plain() }));
        assert!(closing.is_over());
        closing.see(0, &segment(9, 9, 100, plain()));
        assert!(closing.is_over());
        let syn = Segment { flags: TcpFlags { syn: true, ..plain() }, ..segment(5000, 0, 0, plain()) };
        closing.see(0, &syn);
        assert_eq!(closing, Closing::default());
    }
}
