//! A source, a spacer and its acknowledgements, cell by cell and event by event, on a clock of integers. It shares no
//! code and no formula with the code that it is the reference for.
#![allow(dead_code, reason = "each test uses a part")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// Cells of a segment.
    pub(crate) segment: u64,
    /// Cell rates of the source and of the spacer, in cells per unit of time.
    pub(crate) peak: u64,
    pub(crate) rate: u64,
    /// From the last cell of a segment leaving the spacer to the acknowledgement, in ticks of
    /// 1 / (peak × rate) units.
    pub(crate) delay: u64,
    /// Segments that an acknowledgement covers.
    pub(crate) covers: u64,
    pub(crate) initial: u64,
    pub(crate) threshold: u64,
    pub(crate) window: u64,
    /// Segments to send.
    pub(crate) total: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The service of a cell ends. Before arrivals at the same instant.
    Through,
    /// The last bit of a cell of the source arrives at the spacer.
    In,
    /// An acknowledgement arrives at the source.
    Acknowledged,
}

/// The events, with times in ticks.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// The content after each change.
    pub(crate) content: Vec<(u64, u64)>,
    /// The window after each acknowledgement.
    pub(crate) windows: Vec<(u64, u64)>,
    /// Each acknowledgement, and true if it found the source with nothing to send.
    pub(crate) acknowledgements: Vec<(u64, bool)>,
}

pub(crate) fn run(s: Setting) -> Trace {
    let (cell_in, cell_through) = (s.rate, s.peak);
    let mut trace = Trace::default();
    let mut events = BinaryHeap::new();
    let mut window = s.initial.min(s.window);
    let threshold = s.threshold.min(s.window);
    let (mut counted, mut acknowledged) = (0, 0);
    let (mut cells_out, mut cells_through, mut content) = (0u64, 0u64, 0u64);
    // Cells that the source may send in all.
    let allowed = |acknowledged: u64, window: u64| (acknowledged + window).min(s.total) * s.segment;
    let mut sending = false;
    if allowed(0, window) > 0 {
        events.push(Reverse((cell_in, Event::In)));
        sending = true;
    }
    while let Some(Reverse((now, event))) = events.pop() {
        match event {
            Event::In => {
                content += 1;
                cells_out += 1;
                if content == 1 {
                    events.push(Reverse((now + cell_through, Event::Through)));
                }
                sending = cells_out < allowed(acknowledged, window);
                if sending {
                    events.push(Reverse((now + cell_in, Event::In)));
                }
            }
            Event::Through => {
                content -= 1;
                cells_through += 1;
                if content > 0 {
                    events.push(Reverse((now + cell_through, Event::Through)));
                }
                if cells_through.is_multiple_of(s.segment * s.covers) {
                    events.push(Reverse((now + s.delay, Event::Acknowledged)));
                }
            }
            Event::Acknowledged => {
                acknowledged += s.covers;
                if window < threshold {
                    window += 1;
                } else if window < s.window {
                    counted += s.covers;
                    if counted >= window {
                        window += 1;
                        counted = 0;
                    }
                }
                trace.windows.push((now, window));
                trace.acknowledgements.push((now, !sending));
                if !sending && cells_out < allowed(acknowledged, window) {
                    events.push(Reverse((now + cell_in, Event::In)));
                    sending = true;
                }
            }
        }
        trace.content.push((now, content));
    }
    trace
}

impl Trace {
    /// Returns the smallest and the largest content in `from..to`, including the content at `from`.
    pub(crate) fn range(&self, from: u64, to: u64) -> (u64, u64) {
        let first = self.content.partition_point(|(at, _)| *at <= from);
        let last = self.content.partition_point(|(at, _)| *at < to).max(first);
        let range = self.content[first.saturating_sub(1)..last].iter().map(|(_, n)| *n);
        range.fold((u64::MAX, 0), |(low, high), n| (low.min(n), high.max(n)))
    }
}
