//! The frames of a video: which are complete in time for their play-out.

use std::collections::VecDeque;

use cellway_record::metric::{Metric, frame};
use cellway_units::{Sketch, Span, Time};

use super::Meter;

/// The time after its play-out for which packets of an incomplete frame are still counted.
const PATIENCE: Span = Span::from_secs(10);

/// The frames of a slot that were captured after the warm-up, and whose play-out is within the run.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    /// The time from the capture of a frame to its play-out.
    playout: Span,
    /// Frames without a verdict, oldest first.
    open: VecDeque<Frame>,
    counts: Counts,
    /// From the capture to the arrival of the last packet of complete frames (ps).
    delays: Sketch,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    captured: Time,
    /// The sequence number of its first packet.
    first: u64,
    packets: u32,
    arrived: u32,
    /// When its last packet arrived, once all have.
    complete: Option<Time>,
}

/// Frames by their fates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    sent: u64,
    late: u64,
    incomplete: u64,
}

impl Meter {
    /// Records a frame of a video that was captured at `at`: the next `packets` datagrams of the slot.
    pub fn frame_sent(&mut self, slot: usize, at: Time, packets: u32) {
        if let Some(datagrams) = self.slots[slot].datagrams_mut() {
            datagrams.frame_sent(at, self.warmup, packets);
        }
    }
}

impl Frames {
    pub(super) fn new(playout: Span) -> Frames {
        Frames { playout, open: VecDeque::new(), counts: Counts::default(), delays: Sketch::new() }
    }

    /// Records a frame captured at `captured`, whose packets are those from number `first` on.
    pub(super) fn sent(&mut self, captured: Time, first: u64, packets: u32) {
        self.open.push_back(Frame { captured, first, packets, arrived: 0, complete: None });
    }

    /// Records the arrival of packet `sequence` at `at`.
    pub(super) fn received(&mut self, at: Time, sequence: u64) {
        let after = self.open.partition_point(|frame| frame.first <= sequence);
        if let Some(frame) = after.checked_sub(1).and_then(|place| self.open.get_mut(place))
            && sequence - frame.first < u64::from(frame.packets)
            && frame.complete.is_none()
        {
            frame.arrived += 1;
            if frame.arrived == frame.packets {
                frame.complete = Some(at);
            }
        }
        while let Some(frame) = self.open.front().copied() {
            let wait = if frame.complete.is_some() { Span::ZERO } else { PATIENCE };
            if frame.captured + self.playout + wait >= at {
                break;
            }
            self.open.pop_front();
            self.judge(frame);
        }
    }

    fn judge(&mut self, frame: Frame) {
        self.counts.sent += 1;
        match frame.complete {
            None => self.counts.incomplete += 1,
            Some(at) => {
                self.counts.late += u64::from(at > frame.captured + self.playout);
                self.delays.add(at.since(frame.captured).as_ps());
            }
        }
    }

    /// Judges the frames whose play-out is before the end of the run, at `end`.
    pub(super) fn finish(&mut self, end: Time) {
        while let Some(frame) = self.open.pop_front() {
            if frame.captured + self.playout < end {
                self.judge(frame);
            }
        }
    }

    pub(super) fn merge(&mut self, other: &Frames) {
        let (counts, more) = (&mut self.counts, other.counts);
        counts.sent += more.sent;
        counts.late += more.late;
        counts.incomplete += more.incomplete;
        self.delays.merge(&other.delays);
    }

    /// Returns the metrics of the tables, after [`Frames::finish`].
    pub(super) fn rows(&self) -> Vec<(&'static Metric, f64)> {
        let Counts { sent, late, incomplete } = self.counts;
        let mut rows = vec![(&frame::FRAMES_SENT, sent as f64)];
        if sent > 0 {
            rows.push((&frame::FRAMES_LATE, late as f64 / sent as f64));
            rows.push((&frame::FRAMES_INCOMPLETE, incomplete as f64 / sent as f64));
        }
        for (metric, q) in
            [(&frame::FRAME_DELAY_P50, 0.5), (&frame::FRAME_DELAY_P95, 0.95), (&frame::FRAME_DELAY_P99, 0.99)]
        {
            let delay = self.delays.percentile(q).map(|ps| Span::from_ps(ps).as_secs_f64());
            rows.extend(delay.map(|delay| (metric, delay)));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// Frames of two packets every 40 ms, with a play-out after 100 ms.
    #[test]
    fn frames_are_on_time_late_or_incomplete() {
        let mut frames = Frames::new(Span::from_ms(100));
        (0..5).for_each(|i| frames.sent(at(40 * i), 10 + 2 * i, 2));
        for (ms, sequence) in [
            (20, 10),
            (30, 11),  // Frame 0: 30 ms.
            (100, 13), // Frame 1, in the wrong order: 141 ms.
            (181, 12),
            (182, 14), // Frame 2 lacks one; frame 3: exactly 100 ms.
            (200, 16),
            (220, 17),
            (230, 18), // The play-out of frame 4 is at 260 ms, after the end.
            (231, 19),
        ] {
            frames.received(at(ms), sequence);
        }
        frames.finish(at(250));
        assert_eq!(frames.counts, Counts { sent: 4, late: 1, incomplete: 1 });
        let rows = frames.rows();
        let value = |name: &str| rows.iter().find(|row| row.0.name() == name).unwrap().1;
        assert_eq!(["frames_sent", "frames_late", "frames_incomplete"].map(value), [4.0, 0.25, 0.25]);
        assert!(
            (value("frame_delay_p50") / 0.1 - 1.0).abs() < 0.004 && (value("frame_delay_p99") - 0.141).abs() < 1e-12
        );
        let mut both = frames.clone();
        both.merge(&frames);
        assert_eq!(both.counts.sent, 8);
        assert!(both.open.is_empty());
    }

    /// An incomplete frame is given up some time after its play-out, so the memory does not grow with losses.
    #[test]
    fn incomplete_frames_are_given_up() {
        let mut frames = Frames::new(Span::from_ms(100));
        for i in 0..2000 {
            frames.sent(at(20 * i), 2 * i, 2);
            frames.received(at(20 * i + 10), 2 * i);
            assert!(frames.open.len() <= 506, "{}", frames.open.len());
        }
        frames.finish(at(40_000));
        assert_eq!((frames.counts.late, frames.counts.incomplete), (0, frames.counts.sent));
    }
}
