//! The frames of a video: their times and sizes, and the packets that they are cut into.

use cellway_spec::{UdpSource, Video};
use cellway_units::{Bytes, Span, Time};

use crate::flow_sizes::normal;
use crate::random::Stream;

/// Frames of one source. The packets of a frame leave at the instant of its capture.
#[derive(Clone, Debug)]
pub(crate) struct Frames {
    video: Video,
    packet: u64,
    /// The least packet.
    least: u64,
    start: Time,
    sizes: Stream,
    /// The mean size of a frame that is no key frame, in octets of IP packets.
    mean: f64,
    /// Frames captured, with the present one.
    captured: u64,
    /// Octets of the present frame that have not left.
    left: u64,
    /// Packets of the present frame, all of them.
    packets: u32,
    /// True until a packet of the present frame has left.
    fresh: bool,
}

impl Frames {
    pub(crate) fn new(spec: &UdpSource, video: Video, start: Time, sizes: Stream) -> Frames {
        let per_frame = spec.rate.as_bps() as f64 / 8.0 / video.frame_rate;
        // The frames of an interval are one key frame and the others.
        let interval = f64::from(video.key_frame_interval);
        let mean = per_frame * interval / (video.key_frame_ratio + interval - 1.0);
        let (packet, least) = (spec.packet.0, UdpSource::least_packet(spec.family).0);
        let mut frames =
            Frames { video, packet, least, start, sizes, mean, captured: 0, left: 0, packets: 0, fresh: true };
        frames.capture();
        frames
    }

    /// Returns the size of the packet that leaves next: full ones, and the rest of the frame.
    pub(crate) fn packet(&self) -> Bytes {
        Bytes(self.left.min(self.packet).max(self.least))
    }

    /// Returns the number of packets of the frame that begins with the packet that leaves next; `None` if that packet is
    /// not the first of its frame.
    pub(crate) fn begins(&self) -> Option<u32> {
        self.fresh.then_some(self.packets)
    }

    /// Removes the packet that is due at `last`, and returns the time of the one after it.
    pub(crate) fn advance(&mut self, last: Time) -> Time {
        self.fresh = false;
        self.left = self.left.saturating_sub(self.packet);
        if self.left > 0 {
            return last;
        }
        let next = self.start + Span::from_secs_f64(self.captured as f64 / self.video.frame_rate);
        self.capture();
        next
    }

    /// Draws the size of the next frame.
    fn capture(&mut self) {
        let is_key = self.captured.is_multiple_of(u64::from(self.video.key_frame_interval));
        let mean = if is_key { self.mean * self.video.key_frame_ratio } else { self.mean };
        let sigma = self.video.frame_sigma;
        // A log-normal size of this mean.
        let size = mean * libm::exp(sigma * normal(&mut self.sizes) - sigma * sigma / 2.0);
        self.left = (size.round() as u64).max(self.least);
        self.packets = u32::try_from(self.left.div_ceil(self.packet)).unwrap_or(u32::MAX);
        self.captured += 1;
        self.fresh = true;
    }
}

#[cfg(test)]
mod tests {
    use cellway_spec::{Arrivals, DatagramEcn};
    use cellway_units::Rate;

    use super::*;
    use crate::datagrams::DatagramSource;
    use crate::random::Streams;

    fn source(video: Video) -> DatagramSource {
        let spec = UdpSource {
            family: cellway_spec::Family::Ipv4,
            arrivals: Arrivals::Video(video),
            packet: Bytes(1200),
            rate: Rate::from_bps(3_000_000),
            duration: None,
            ecn: DatagramEcn::NotEct,
        };
        DatagramSource::new(spec, &Streams::new(1), "video-1", Time::from_ps(7))
    }

    fn video(frame_sigma: f64) -> Video {
        let playout_delay = Span::from_ms(100);
        Video { frame_rate: 25.0, key_frame_interval: 5, key_frame_ratio: 6.0, frame_sigma, playout_delay }
    }

    /// 3 Mbit/s at 25 frames/s are 15,000 B for each frame; of five, 6 + 4 parts: 7500 B, and a key frame of 45,000 B.
    #[test]
    fn frames_are_cut_into_packets_that_leave_at_their_capture() {
        let mut source = source(video(0.0));
        for frame in 0..10 {
            let (octets, packets) = if frame % 5 == 0 { (45_000, 38) } else { (7500, 7) };
            assert_eq!(source.frame(), Some(packets), "{frame}");
            for packet in 0..packets {
                assert_eq!(source.next(), Some(Time::from_ps(7) + Span::from_ms(40 * frame)));
                let rest = octets - 1200 * u64::from(packet);
                assert_eq!(source.packet(), Bytes(rest.min(1200)));
                assert_eq!(source.frame().is_some(), packet == 0);
                source.send();
            }
        }
    }

    /// Returns the sizes of frames in octets.
    fn sizes(video: Video, count: usize) -> Vec<f64> {
        let mut source = source(video);
        let frame = |_| {
            let packets = source.frame().unwrap();
            let packet = |_| {
                let octets = source.packet().0;
                source.send();
                octets
            };
            (0..packets).map(packet).sum::<u64>() as f64
        };
        (0..count).map(frame).collect()
    }

    /// The mean rate is that of the file, and the logarithms of the sizes are normal around those of their kind.
    #[test]
    fn random_sizes_keep_the_mean_rate_and_have_their_deviation() {
        let n = 100_000;
        let sizes = sizes(video(0.4), n);
        let mean = sizes.iter().sum::<f64>() / n as f64;
        // The relative deviation of a size is sqrt(exp(0.16) - 1) = 0.42; key frames weigh more: below 0.7 of the mean.
        assert!((mean / 15_000.0 - 1.0).abs() < 4.0 * 0.7 / (n as f64).sqrt(), "{mean}");
        let logs: Vec<f64> = sizes.iter().enumerate().filter(|(i, _)| i % 5 != 0).map(|(_, size)| size.ln()).collect();
        let centre = logs.iter().sum::<f64>() / logs.len() as f64;
        let variance = logs.iter().map(|log| (log - centre) * (log - centre)).sum::<f64>() / logs.len() as f64;
        let root = (logs.len() as f64).sqrt();
        assert!((centre - (7500f64.ln() - 0.08)).abs() < 4.0 * 0.4 / root, "{centre}");
        assert!((variance / 0.16 - 1.0).abs() < 4.0 * 2f64.sqrt() / root, "{variance}");
    }
}
