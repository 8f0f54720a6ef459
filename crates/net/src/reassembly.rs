//! AAL5 reassembly at the router where a channel ends. ITU-T I.363.5.

use crate::cell::Cell;
use crate::counters::LossCounters;
use crate::packet::{PacketRef, Packets};

/// The longest AAL5 frame: 65 535 octets of payload and the trailer, in cells.
const LONGEST: u32 = crate::cell::cells_for(65_535);

/// The cells of one channel since its last end of frame.
///
/// The octets are not carried through the simulation, so the two checks of the trailer are evaluated on the cells: the
/// length is correct if as many cells arrived as the frame that ends has; the CRC-32 is correct if they are that
/// frame's own, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reassembly {
    /// The frame of the cells since the last change of frame, and their number.
    run: Option<(PacketRef, u16, u16)>,
    /// All cells since the last end of frame.
    cells: u32,
    /// Cells were missing or of another frame.
    damaged: bool,
    /// The wreck that is being collected has been counted as too long.
    counted: bool,
}

impl Reassembly {
    /// Takes a cell; returns the packet that it completes.
    #[inline]
    pub(crate) fn accept<B>(
        &mut self,
        cell: Cell,
        packets: &mut Packets<B>,
        losses: &mut LossCounters,
    ) -> Option<PacketRef> {
        self.accept_run(cell, 1, packets, losses)
    }

    /// Takes `cells` cells of a frame, one or more, of which `first` is the first; returns the packet that they complete.
    #[inline]
    pub(crate) fn accept_run<B>(
        &mut self,
        first: Cell,
        cells: u16,
        packets: &mut Packets<B>,
        losses: &mut LossCounters,
    ) -> Option<PacketRef> {
        let before = self.cells;
        if cells > 1 && before + u32::from(cells) > LONGEST {
            return (0..cells).filter_map(|behind| self.accept(first.after(behind), packets, losses)).last();
        }
        self.cells += u32::from(cells);
        match &mut self.run {
            Some((frame, got, _)) if *frame == first.frame => {
                // The others are in order if the first is.
                self.damaged |= u32::from(first.index) != before;
                *got += cells;
            }
            run => {
                // The end of the frame before was lost: AAL5 cannot detect its end.
                if let Some((frame, got, count)) = run.take() {
                    packets.lose(frame, got, count);
                    self.damaged = true;
                }
                self.damaged |= first.index != 0;
                *run = Some((first.frame, cells, first.count));
            }
        }
        let last = first.after(cells - 1);
        if last.is_last() { self.end(last, packets, losses) } else { self.cut_off(packets, losses) }
    }

    /// Returns the packet of the cells in this reassembly.
    pub(crate) fn holds(&self) -> Option<PacketRef> {
        self.run.map(|(frame, ..)| frame)
    }

    /// Returns the packet of the cells in this reassembly, and their number.
    #[cfg(test)]
    pub(crate) fn cells(&self) -> Option<(PacketRef, u16)> {
        self.run.map(|(frame, got, _)| (frame, got))
    }

    /// Returns true if the packet of the cells here has none elsewhere: its end was lost, and it will never be
    /// complete.
    pub(crate) fn is_stranded<B>(&self, packets: &Packets<B>) -> bool {
        self.run.is_some_and(|(frame, got, count)| packets.gone(frame) + got == count)
    }

    /// Gives up the packet of the cells here. Cells up to the next end of frame are still part of the same damaged
    /// frame, and counted.
    pub(crate) fn give_up<B>(&mut self, packets: &mut Packets<B>, losses: &mut LossCounters) {
        if let Some((frame, got, count)) = self.run.take() {
            packets.lose(frame, got, count);
            losses.length += u64::from(!self.counted);
            (self.damaged, self.counted) = (true, true);
        }
    }

    fn end<B>(&mut self, last: Cell, packets: &mut Packets<B>, losses: &mut LossCounters) -> Option<PacketRef> {
        let Reassembly { run, cells, damaged, counted } = std::mem::take(self);
        let (frame, got, count) = run.expect("the last cell has just been added");
        if !damaged {
            return Some(frame);
        }
        // One wreck is one loss, by the first check that it failed.
        if !counted {
            let failed = if cells == u32::from(last.count) { &mut losses.crc } else { &mut losses.length };
            *failed += 1;
        }
        packets.lose(frame, got, count);
        None
    }

    fn cut_off<B>(&mut self, packets: &mut Packets<B>, losses: &mut LossCounters) -> Option<PacketRef> {
        if self.cells > LONGEST {
            let (frame, got, count) = self.run.take().expect("cells have come");
            packets.lose(frame, got, count);
            losses.too_long += u64::from(!self.counted);
            // Cells until the next end of frame are still part of the same damaged frame.
            *self = Reassembly { damaged: true, counted: true, ..Reassembly::default() };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use cellway_units::{Ecn, Time};

    use super::*;
    use crate::cell::Flags;
    use crate::ids::NodeId;
    use crate::packet::Packet;

    /// A channel's end, with packets of `CELLS` cells each.
    #[derive(Default)]
    struct End {
        reassembly: Reassembly,
        losses: LossCounters,
    }

    const CELLS: u16 = 1000;

    impl End {
        /// Sends the cells of a new packet in `range`; the others were lost. Returns true if it arrived.
        fn send(&mut self, packets: &mut Packets<()>, range: std::ops::Range<u16>) -> bool {
            let octets = u32::from(CELLS) * 48 - 8;
            let packet = Packet {
                conversation: 0,
                from: NodeId(0),
                to: NodeId(1),
                flow: 0,
                octets,
                ecn: Ecn::NotEct,
                dscp: 0,
                body: (),
            };
            let frame = packets.insert(Time::ZERO, packet, 0);
            packets.lose(frame, CELLS - range.len() as u16, CELLS);
            let mut arrived = false;
            for index in range {
                let cell = Cell { slot: 0, frame, index, count: CELLS, flags: Flags::PLAIN };
                let whole = self.reassembly.accept(cell, packets, &mut self.losses);
                arrived |= whole.is_some();
                whole.map(|frame| packets.deliver(frame));
            }
            arrived
        }
    }

    #[test]
    fn a_wreck_past_the_longest_frame_is_one_loss() {
        // Frames that lost their ends, so many that they are truncated once, and three times.
        for endless in [2, 5] {
            let (mut end, mut packets) = (End::default(), Packets::new());
            for _ in 0..endless {
                assert!(!end.send(&mut packets, 0..CELLS - 1));
            }
            assert_eq!(end.losses, LossCounters { too_long: 1, ..LossCounters::default() });
            assert!(!end.send(&mut packets, 0..CELLS), "its end belongs to the wreck");
            assert_eq!(end.losses, LossCounters { too_long: 1, ..LossCounters::default() });
            assert_eq!(packets.len(), 0);
            // The next frames are judged anew.
            assert!(end.send(&mut packets, 0..CELLS));
            assert!(!end.send(&mut packets, 1..CELLS));
            assert_eq!(end.losses, LossCounters { too_long: 1, length: 1, crc: 0 });
        }
    }
}
