//! A source of datagrams, as a state machine without I/O: the times at which its packets leave.

use cellway_spec::{Arrivals, DatagramEcn, UDP_MARK_OCTETS, UdpSource};
use cellway_units::{Bytes, Rate, Span, Time};

use crate::action::Side;
use crate::measured::{MeasuredDatagrams, MeasuredSource};
use crate::random::{Stream, Streams};
use crate::video::Frames;

/// The source of one slot. The times of its packets depend only on the seed and the slot, not on the network.
#[derive(Clone, Debug)]
pub struct DatagramSource {
    gaps: Gaps,
    /// The rate and the size of a packet, which give the times between packets.
    spec: UdpSource,
    /// When the next packet leaves; `None` once the duration is over.
    next: Option<Time>,
    /// No packet leaves at this time or later.
    end: Time,
    sequence: u64,
    /// The packets of measured conversations, in place of those of `spec`.
    measured: Option<Box<MeasuredSource>>,
}

/// The first octets of the payload of a datagram: its sequence number and the time at which it was sent, in
/// picoseconds since the start of the run, each in 64 bits in network byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramMark {
    /// The sequence number, from 0.
    pub sequence: u64,
    /// When it was sent.
    pub sent: Time,
}

impl DatagramMark {
    /// Octets of a mark.
    pub const LEN: usize = UDP_MARK_OCTETS as usize;

    /// Returns the octets.
    pub fn octets(self) -> [u8; DatagramMark::LEN] {
        ((u128::from(self.sequence) << 64) | u128::from(self.sent.as_ps())).to_be_bytes()
    }

    /// Reads the mark of a payload; `None` if that is too short.
    pub fn read(payload: &[u8]) -> Option<DatagramMark> {
        let both = u128::from_be_bytes(*payload.first_chunk()?);
        Some(DatagramMark { sequence: (both >> 64) as u64, sent: Time::from_ps(both as u64) })
    }
}

/// The times between packets.
#[derive(Clone, Debug)]
enum Gaps {
    Constant(Spacing),
    Poisson(Box<Stream>),
    OnOff(Box<OnOff>),
    Video(Box<Frames>),
    /// One time between all packets.
    Equal(Span),
}

/// Equal times between packets, whose long-run rate is exact.
#[derive(Clone, Copy, Debug, Default)]
struct Spacing {
    /// The remainder of the last division, in bits × ps / s.
    carry: u64,
}

/// Periods on and off.
#[derive(Clone, Debug)]
struct OnOff {
    spacing: Spacing,
    /// The mean lengths.
    means: [Span; 2],
    /// The streams of the lengths on and off.
    lengths: [Stream; 2],
    /// The rest of the present on period.
    left: Span,
}

impl DatagramSource {
    /// Creates a source that starts at `start`: with a packet; a Poisson source with a time
    /// to the first packet. An on-off source starts with an on period. `slot` ("voice-3") names the random streams.
    pub fn new(spec: UdpSource, streams: &Streams, slot: &str, start: Time) -> DatagramSource {
        let stream = |what: &str| streams.stream(&format!("{slot}/{what}"));
        let gaps = match spec.arrivals {
            Arrivals::Constant => Gaps::Constant(Spacing::default()),
            Arrivals::Poisson => Gaps::Poisson(Box::new(stream("arrivals"))),
            Arrivals::OnOff { on, off } => {
                let mut lengths = [stream("on"), stream("off")];
                let left = exponential(&mut lengths[0], on.as_secs_f64());
                Gaps::OnOff(Box::new(OnOff { spacing: Spacing::default(), means: [on, off], lengths, left }))
            }
            Arrivals::Ping { interval } => Gaps::Equal(interval),
            Arrivals::Video(video) => Gaps::Video(Box::new(Frames::new(&spec, video, start, stream("frame-size")))),
        };
        let end = spec.duration.map_or(Time::MAX, |duration| start + duration);
        let mut source = DatagramSource { gaps, spec, next: Some(start), end, sequence: 0, measured: None };
        if let Arrivals::Poisson = spec.arrivals {
            source.advance(start);
        }
        source
    }

    /// Creates the source of one side of measured conversations. `slot` names the random streams.
    pub fn measured(
        workload: &MeasuredDatagrams,
        side: Side,
        streams: &Streams,
        slot: &str,
        start: Time,
    ) -> DatagramSource {
        let (packet, family) = (workload.largest, workload.family);
        let (rate, ecn) = (Rate::from_bps(1), DatagramEcn::NotEct);
        let spec = UdpSource { arrivals: Arrivals::Constant, family, packet, rate, duration: None, ecn };
        let measured = Some(Box::new(MeasuredSource::new(workload, side, streams, slot, start)));
        let gaps = Gaps::Equal(Span::ZERO);
        DatagramSource { gaps, spec, next: None, end: Time::MAX, sequence: 0, measured }
    }

    /// Returns when the next packet leaves; `None` if none does any more.
    pub fn next(&self) -> Option<Time> {
        if let Some(measured) = &self.measured {
            return measured.next();
        }
        self.next
    }

    /// Returns the size of the packet that leaves next.
    pub fn packet(&self) -> Bytes {
        if let Some(measured) = &self.measured {
            return measured.packet();
        }
        match &self.gaps {
            Gaps::Video(frames) => frames.packet(),
            Gaps::Constant(_) | Gaps::Poisson(_) | Gaps::OnOff(_) | Gaps::Equal(_) => self.spec.packet,
        }
    }

    /// Returns the number of the conversation of the packet that leaves next, from 0: it is the same for both sides of
    /// measured conversations, and 0 for the packets of other sources, which are one conversation.
    pub fn conversation(&self) -> u64 {
        self.measured.as_ref().map_or(0, |measured| measured.conversation())
    }

    /// Returns the number of packets of the frame that the next packet begins; `None` if it begins none, or the source is
    /// no video.
    pub fn frame(&self) -> Option<u32> {
        match &self.gaps {
            Gaps::Video(frames) => frames.begins(),
            Gaps::Constant(_) | Gaps::Poisson(_) | Gaps::OnOff(_) | Gaps::Equal(_) => None,
        }
    }

    /// Removes the packet that is due and returns its sequence number, from 0.
    pub fn send(&mut self) -> u64 {
        let sequence = self.sequence;
        self.sequence += 1;
        if let Some(measured) = &mut self.measured {
            measured.send();
            return sequence;
        }
        if let Some(last) = self.next {
            self.advance(last);
        }
        sequence
    }

    /// Sets `next` to the time of the packet after one at `last`; `None` if that is not before the end.
    fn advance(&mut self, last: Time) {
        let bits = self.spec.packet.bits();
        let gap = match &mut self.gaps {
            Gaps::Video(frames) => frames.advance(last).since(last),
            Gaps::Constant(spacing) => spacing.next(self.spec),
            Gaps::Equal(interval) => *interval,
            Gaps::Poisson(arrivals) => exponential(arrivals, bits.0 as f64 / self.spec.rate.as_bps() as f64),
            Gaps::OnOff(periods) => periods.next(self.spec),
        };
        self.next = Some(last + gap).filter(|&next| next < self.end);
    }
}

impl Spacing {
    fn next(&mut self, spec: UdpSource) -> Span {
        let (gap, carry) = spec.rate.time_for(spec.packet.bits(), self.carry);
        self.carry = carry;
        gap
    }
}

impl OnOff {
    /// Returns the time to the next packet: until the on periods add up to the time between two packets.
    fn next(&mut self, spec: UdpSource) -> Span {
        let mut needed = self.spacing.next(spec);
        let mut gap = Span::ZERO;
        while needed > self.left {
            gap += self.left + exponential(&mut self.lengths[1], self.means[1].as_secs_f64());
            needed = needed - self.left;
            self.left = exponential(&mut self.lengths[0], self.means[0].as_secs_f64());
        }
        self.left = self.left - needed;
        gap + needed
    }
}

/// Draws from the exponential distribution with this mean (s), by inversion.
pub(crate) fn exponential(stream: &mut Stream, mean: f64) -> Span {
    Span::from_secs_f64(-libm::log1p(-stream.uniform()) * mean)
}

#[cfg(test)]
mod tests {
    use cellway_units::{Bytes, Rate};

    use super::*;

    fn spec(arrivals: Arrivals) -> UdpSource {
        UdpSource {
            family: cellway_spec::Family::Ipv4,
            arrivals,
            packet: Bytes(200),
            rate: Rate::from_bps(80_000),
            duration: None,
            ecn: cellway_spec::DatagramEcn::NotEct,
        }
    }

    fn times(spec: UdpSource, seed: u64, count: usize) -> Vec<Time> {
        let mut source = DatagramSource::new(spec, &Streams::new(seed), "voice-1", Time::from_ps(7));
        let packet = |number: usize| {
            let at = source.next()?;
            assert_eq!(source.send(), number as u64);
            Some(at)
        };
        (0..count).map_while(packet).collect()
    }

    #[test]
    fn constant_spacing_keeps_its_rate_to_the_picosecond() {
        let times = times(UdpSource { rate: Rate::from_bps(3_000_000), ..spec(Arrivals::Constant) }, 1, 30_001);
        // 1600 bits at 3 Mbit/s are 533 333 333 1/3 ps.
        let after = |n: usize| times[n].since(times[0]).as_ps();
        assert_eq!([after(1), after(2), after(3)], [533_333_333, 1_066_666_666, 1_600_000_000]);
        assert_eq!((times[0], after(30_000)), (Time::from_ps(7), 16 * Span::from_secs(1).as_ps()));
    }

    /// 1600 bits at 7 ms are no whole rate, and the times are exact.
    #[test]
    fn pings_keep_their_interval() {
        let interval = Span::from_ms(7);
        let spec = UdpSource { rate: Rate::from_bps(228_571), ..spec(Arrivals::Ping { interval }) };
        let times = times(spec, 1, 1001);
        assert!(times.iter().enumerate().all(|(k, &at)| at == Time::from_ps(7) + interval * k as u64));
        assert!((spec.mean_rate() - 1600.0 / 0.007).abs() < 1e-6 && spec.is_echoed());
    }

    #[test]
    fn a_duration_ends_it() {
        let duration = Some(Span::from_ms(100));
        // At 0, 20, 40, 60 and 80 ms; 100 ms is over.
        assert_eq!(times(UdpSource { duration, ..spec(Arrivals::Constant) }, 1, 100).len(), 5);
    }

    /// The times between the packets of a Poisson source have the mean of its rate and a coefficient of variation of 1.
    #[test]
    fn the_times_of_a_poisson_source_are_exponential() {
        let n = 200_000;
        let times = times(spec(Arrivals::Poisson), 3, n + 1);
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / n as f64;
        let variance = gaps.iter().map(|gap| (gap - mean) * (gap - mean)).sum::<f64>() / n as f64;
        // The standard error of the mean is mean / sqrt(n), that of the variance sqrt(8 / n) of it: 4 of each.
        let root = (n as f64).sqrt();
        assert!((mean / 0.02 - 1.0).abs() < 4.0 / root, "{mean}");
        assert!((variance / (0.02 * 0.02) - 1.0).abs() < 4.0 * 8f64.sqrt() / root, "{variance}");
        // Memoryless: a share 1 - 1/e of the times is below the mean.
        let below = gaps.iter().filter(|&&gap| gap < 0.02).count() as f64 / n as f64;
        assert!((below - (1.0 - (-1f64).exp())).abs() < 4.0 * 0.4823 / root, "{below}");
    }

    /// Packets are as far apart as at a constant rate, or farther where a pause is between them. The mean rate is exact.
    #[test]
    fn an_on_off_source_pauses_and_keeps_its_mean_rate() {
        let [on, off] = [Span::from_ms(1000), Span::from_ms(1350)];
        let spec = spec(Arrivals::OnOff { on, off });
        let n = 200_000;
        let times = times(spec, 5, n + 1);
        let gaps = || times.windows(2).map(|pair| pair[1].since(pair[0]));
        assert!(gaps().all(|gap| gap >= Span::from_ms(20)));
        let plain = gaps().filter(|&gap| gap == Span::from_ms(20)).count();
        // A period on ends between two packets with the chance 1 - exp(-20 / 1000) = 1.98 %.
        assert!((0.977..0.983).contains(&(plain as f64 / n as f64)), "{plain}");
        let rate = n as f64 * spec.packet.bits().0 as f64 / times[n].since(times[0]).as_secs_f64();
        // 4000 s on have about 4000 cycles. The share of the time on, p, has the relative standard error (1 - p) times
        // sqrt(2 / 4000): that of the ratio of two means of exponential lengths.
        let bound = 4.0 * (1.35 / 2.35) * (2.0f64 / 4000.0).sqrt();
        assert!((rate / spec.mean_rate() - 1.0).abs() < bound, "{rate} {}", spec.mean_rate());
    }

    #[test]
    fn a_mark_is_read_as_it_is_written() {
        let mark = DatagramMark { sequence: 0x0102, sent: Time::from_ps(0x0304_0506) };
        let octets = mark.octets();
        assert_eq!(octets, [0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 3, 4, 5, 6]);
        assert_eq!(DatagramMark::read(&[&octets[..], &[9; 5]].concat()), Some(mark));
        assert_eq!(DatagramMark::read(&octets[..15]), None);
    }

    #[test]
    fn slots_and_seeds_differ_and_repeat() {
        let [a, b, c] = [1, 1, 2].map(|seed| times(spec(Arrivals::Poisson), seed, 10));
        assert!(a == b && a != c);
        let source = |slot| DatagramSource::new(spec(Arrivals::Poisson), &Streams::new(1), slot, Time::ZERO).next();
        assert_ne!(source("voice-1"), source("voice-2"));
    }
}
