//! The datagrams of a slot: delay, jitter and loss.

use cellway_apps::{DatagramMark, Side};
use cellway_record::metric::{datagram, slot};
use cellway_record::stats::{InterarrivalJitter, Moments};
use cellway_spec::UdpSource;
use cellway_units::{Bytes, Span, Time};

use super::Meter;
use super::answers::{RESPONSES, TimeMetrics, Times};
use super::frames::Frames;
use super::seen::Seen;

/// The datagrams of a slot. Those that were sent during the warm-up are not counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Datagrams {
    /// The datagrams sent in all, and those of them sent during the warm-up.
    sent: u64,
    before: u64,
    /// The datagrams sent early enough to have arrived by the end of the run.
    settled: u64,
    /// The counted datagrams that have arrived.
    received: u64,
    /// One more than the highest sequence number that has arrived.
    expected: u64,
    /// The datagrams that arrived after a later one. RFC 4737 section 3.3.
    reordered: u64,
    /// The second copies of datagrams that count.
    duplicated: u64,
    /// The arrivals with a mark of congestion.
    marked: u64,
    seen: Seen,
    jitter: InterarrivalJitter,
    /// The estimate of the jitter after each arrival (s).
    jitters: Moments,
    jitter_max: f64,
    /// From sending to arrival, of pings to that of the echo.
    delays: Times,
    /// True for pings: only the echo at the originator counts as the arrival.
    is_echoed: bool,
    /// True if a stack sends them and counts those that it sends again.
    has_retransmissions: bool,
    /// The frames, if it sends a video.
    frames: Option<Frames>,
}

/// The metrics of one-way delays.
static DELAYS: TimeMetrics =
    [&slot::DELAY_MEAN, &datagram::DELAY_P50, &slot::DELAY_P95, &datagram::DELAY_P99, &datagram::DELAY_MAX];

/// The datagrams of a run by their fates at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fates {
    /// Sent, those in flight at the end included.
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) lost: u64,
    pub(super) reordered: u64,
    pub(super) duplicated: u64,
    pub(super) marked: u64,
}

impl Datagrams {
    /// Creates the datagrams of a source.
    pub(super) fn new(source: &UdpSource) -> Datagrams {
        let frames = source.video().map(|video| Frames::new(video.playout_delay));
        Datagrams { frames, is_echoed: source.is_echoed(), ..Datagrams::default() }
    }

    /// Records a frame captured at `at`, of the next `packets` datagrams.
    pub(super) fn frame_sent(&mut self, at: Time, warmup: Time, packets: u32) {
        if let Some(frames) = &mut self.frames
            && at >= warmup
        {
            frames.sent(at, self.sent, packets);
        }
    }

    /// Returns the frames at the end of a run, if it sends a video.
    pub(super) fn frames(&self, end: Time) -> Option<Frames> {
        let mut frames = self.frames.clone()?;
        frames.finish(end);
        Some(frames)
    }

    /// Records a datagram sent at `at`. `settled`: it arrives before the end of the run unless it is lost.
    pub(super) fn sent(&mut self, at: Time, warmup: Time, settled: bool) {
        self.sent += 1;
        if at < warmup {
            self.before = self.sent;
        }
        if settled {
            self.settled = self.sent;
        }
    }

    /// Records the arrival at `at` of datagram `sequence`, which was sent at `sent`. Returns its delay, or `None` if a
    /// copy of it has arrived before.
    pub(super) fn received(&mut self, at: Time, sequence: u64, sent: Time) -> Option<Span> {
        if !self.seen.is_new(sequence) {
            self.duplicated += u64::from(sequence >= self.before);
            return None;
        }
        let delay = at.since(sent);
        let jitter = self.jitter.arrived(sent, at);
        if let Some(frames) = &mut self.frames {
            frames.received(at, sequence);
        }
        if sequence >= self.before {
            self.received += 1;
            self.reordered += u64::from(sequence < self.expected);
            self.delays.push(delay);
            if let Some(jitter) = jitter {
                self.jitters.push(jitter);
                self.jitter_max = self.jitter_max.max(jitter);
            }
        }
        self.expected = self.expected.max(sequence + 1);
        Some(delay)
    }

    /// Records that datagram `sequence` has arrived with a mark of congestion.
    pub(super) fn marked(&mut self, sequence: u64) {
        self.marked += u64::from(sequence >= self.before);
    }

    /// Returns the fates at the end of a run, at which up to `inside` are inside the network.
    ///
    /// A datagram is lost if it has not arrived and a later one has. Of those after the last that has arrived,
    /// `inside`, or those that were sent too late, are in flight.
    pub(super) fn fates(&self, inside: u64) -> Fates {
        let sent = self.sent - self.before;
        let after_last = self.sent - self.expected.clamp(self.before, self.sent);
        let under_way = after_last.min(inside.max(self.sent - self.settled));
        let lost = sent.saturating_sub(self.received + under_way);
        let &Datagrams { received, reordered, duplicated, marked, .. } = self;
        Fates { sent, received, lost, reordered, duplicated, marked }
    }

    /// Records that those sent again are counted.
    pub(super) fn count_retransmissions(&mut self) {
        self.has_retransmissions = true;
    }

    /// Returns true if those sent again are counted.
    pub(super) fn has_retransmissions(&self) -> bool {
        self.has_retransmissions
    }

    pub(super) fn delays(&self) -> &Times {
        &self.delays
    }

    /// Returns true if a datagram has arrived at its end when `side` reads it.
    pub(super) fn ends_at(&self, side: Side) -> bool {
        (side == Side::Originator) == self.is_echoed
    }

    /// Returns the metrics of the delays.
    pub(super) fn times(&self) -> &'static TimeMetrics {
        if self.is_echoed { &RESPONSES } else { &DELAYS }
    }

    /// Returns the present estimate of the jitter (s).
    pub(super) fn jitter(&self) -> Option<f64> {
        self.jitter.estimate()
    }

    /// Returns the mean and the greatest estimate of the jitter after an arrival (s).
    pub(super) fn jitters(&self) -> Option<[f64; 2]> {
        Some([self.jitters.mean()?, self.jitter_max])
    }
}

impl Fates {
    pub(super) fn plus(self, other: Fates) -> Fates {
        Fates {
            sent: self.sent + other.sent,
            received: self.received + other.received,
            lost: self.lost + other.lost,
            reordered: self.reordered + other.reordered,
            duplicated: self.duplicated + other.duplicated,
            marked: self.marked + other.marked,
        }
    }

    /// Returns the share lost of those sent. Those in flight at the end count as not lost. `None` if none has arrived or
    /// been lost.
    pub(super) fn loss_ratio(self) -> Option<f64> {
        (self.received + self.lost > 0).then(|| self.lost as f64 / self.sent as f64)
    }
}

impl Meter {
    /// Counts those datagrams that are sent at `settled` or later as in flight at the end of the run unless they
    /// arrive. Without this call only those inside the network are.
    pub fn settle_datagrams(&mut self, settled: Time) {
        self.settled = settled;
    }

    /// Records a datagram that a slot has sent at `at`.
    pub fn datagram_sent(&mut self, slot: usize, at: Time) {
        if let Some(datagrams) = self.slots[slot].datagrams_mut() {
            datagrams.sent(at, self.warmup, at < self.settled);
        }
    }

    /// Records a datagram that a side of a slot has sent at `at`, whose datagrams go both ways.
    pub fn datagram_sent_by(&mut self, slot: usize, side: Side, at: Time) {
        if let Some(datagrams) = self.slots[slot].sent_by_mut(side) {
            datagrams.sent(at, self.warmup, at < self.settled);
        }
    }

    /// Records the arrival, at `at`, of a datagram with this mark and `payload` at the responder of a slot, or of its echo at
    /// the originator.
    pub fn datagram_received(&mut self, slot: usize, at: Time, reader: Side, mark: DatagramMark, payload: Bytes) {
        let meter = &mut self.slots[slot];
        if let Some(datagrams) = meter.sent_by_mut(reader.peer()) {
            if let Some(delay) = datagrams.received(at, mark.sequence, mark.sent) {
                meter.samples_mut().delays_in_bin.push(delay.as_secs_f64());
                self.delivered(slot, reader, payload.0);
            }
            return;
        }
        let delay = match meter.datagrams_mut() {
            Some(datagrams) if datagrams.ends_at(reader) => datagrams.received(at, mark.sequence, mark.sent),
            // A ping on its way counts as read.
            _ => return self.delivered(slot, reader, payload.0),
        };
        // A second copy is no goodput, as the application has its bytes.
        if let Some(delay) = delay {
            meter.samples_mut().delays_in_bin.push(delay.as_secs_f64());
            self.delivered(slot, reader, payload.0);
        }
    }

    /// Records that a datagram with this mark has arrived at `reader`, and that a queue had marked it with "congestion
    /// experienced".
    pub fn datagram_marked(&mut self, slot: usize, reader: Side, mark: DatagramMark) {
        if let Some(datagrams) = self.slots[slot].sent_by_mut(reader.peer()) {
            return datagrams.marked(mark.sequence);
        }
        if let Some(datagrams) = self.slots[slot].datagrams_mut()
            && datagrams.ends_at(reader)
        {
            datagrams.marked(mark.sequence);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// Records ten datagrams, one each 10 ms, with a warm-up of 25 ms: the first three are not counted.
    fn run(arrived: &[u64], settled: u64) -> Datagrams {
        let mut datagrams = Datagrams::default();
        (0..10).for_each(|i| datagrams.sent(at(10 * i), at(25), i < settled));
        arrived.iter().for_each(|&i| {
            let delay = datagrams.received(at(200 + i), i, at(10 * i));
            assert_eq!(delay, Some(at(200 + i).since(at(10 * i))));
        });
        datagrams
    }

    #[test]
    fn gaps_are_losses_and_the_end_is_in_flight() {
        let fates = |datagrams: Datagrams, inside| datagrams.fates(inside);
        let known = |received, lost| Fates { sent: 7, received, lost, ..Fates::default() };
        assert_eq!(fates(run(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], 10), 0), known(7, 0));
        // 1 was lost in the warm-up; 5 counts; 8 and 9 are inside.
        assert_eq!(fates(run(&[0, 2, 3, 4, 6, 7], 10), 2), known(4, 1));
        // Of 7, 8 and 9 only one is inside: the others were lost.
        assert_eq!(fates(run(&[0, 2, 3, 4, 5, 6], 10), 1), known(4, 2));
        // None is inside any more.
        assert_eq!(fates(run(&[0, 2, 3, 4, 6, 7], 10), 0), known(4, 3));
        // Those inside are of another slot: no more are in flight than were sent after the last arrival.
        assert_eq!(fates(run(&[0, 2, 3, 4, 6, 7], 10), 50), known(4, 1));
        // All are lost, except those that were sent too late to be known.
        assert_eq!(fates(run(&[], 8), 0), known(0, 5));
    }

    #[test]
    fn the_loss_ratio_is_that_of_the_counts() {
        let ratio = |arrived: &[u64], settled, inside| run(arrived, settled).fates(inside).loss_ratio();
        assert_eq!(ratio(&[0, 2, 3, 4, 6, 7], 10, 2), Some(1.0 / 7.0));
        // Also where all losses are after the last arrival, as behind a queue that fills once.
        assert_eq!(ratio(&[0, 1, 2, 3, 4], 10, 2), Some(3.0 / 7.0));
        assert_eq!(ratio(&[], 8, 0), Some(5.0 / 7.0), "two are in flight, all others lost");
        assert_eq!(ratio(&[], 10, 0), Some(1.0));
        assert_eq!(ratio(&[], 0, 0), None, "none is known");
        assert_eq!(Datagrams::default().fates(0).loss_ratio(), None);
    }

    #[test]
    fn a_late_one_is_counted_once_and_as_reordered() {
        let fates = run(&[0, 1, 2, 3, 5, 4, 6, 7, 8, 9], 10).fates(0);
        assert_eq!((fates.received, fates.lost, fates.reordered), (7, 0, 1));
    }

    /// 5 arrives twice and 6 is lost: the copy does not count in its place.
    #[test]
    fn a_copy_does_not_hide_a_loss() {
        let mut datagrams = run(&[0, 1, 2, 3, 4, 5], 10);
        assert_eq!(datagrams.received(at(205), 5, at(50)), None);
        assert!([7, 8, 9].iter().all(|&i| datagrams.received(at(200 + i), i, at(10 * i)).is_some()));
        assert_eq!(datagrams.fates(0), Fates { sent: 7, received: 6, lost: 1, duplicated: 1, ..Fates::default() });
    }

    #[test]
    fn marks_of_the_warm_up_are_left_out() {
        let mut datagrams = run(&[0, 1, 2, 3, 4], 10);
        [2, 3, 4].into_iter().for_each(|sequence| datagrams.marked(sequence));
        assert_eq!(datagrams.fates(5).marked, 2);
    }

    #[test]
    fn delays_of_the_warm_up_are_left_out_but_jitter_goes_on() {
        let datagrams = run(&[0, 1, 2, 3], 10);
        // Each arrives 9 ms faster than the one before: D is 9 ms, three times.
        let estimate = [1.0, 2.0, 3.0].iter().fold(0.0, |j: f64, _| j + (9e-3 - j) / 16.0);
        assert!((datagrams.jitter().unwrap() - estimate).abs() < 1e-15);
        assert_eq!(datagrams.jitters(), datagrams.jitter().map(|j| [j, j]), "one counted arrival");
        let rows = datagrams.delays().rows(datagrams.times());
        assert_eq!(
            rows.iter().map(|row| row.0.name()).collect::<Vec<_>>(),
            ["delay_mean", "delay_p50", "delay_p95", "delay_p99", "delay_max"]
        );
        assert!(rows.iter().all(|row| (row.1 - 0.173).abs() < 1e-12), "{rows:?}");
    }
}
