use std::collections::VecDeque;

use cellway_units::Ecn;

use super::*;
use crate::packet::PacketRef;

const PARAMETERS: Parameters =
    Parameters { target: Span::from_ms(5), interval: Span::from_ms(100), largest: Bytes(1500) };

/// A queue that marks all packets, or drops all.
#[derive(Default)]
struct Plain {
    packets: VecDeque<Queued>,
    marks: bool,
    marked: u64,
}

impl Head for Plain {
    fn take(&mut self) -> Option<Queued> {
        self.packets.pop_front()
    }
    fn octets(&self) -> u64 {
        self.packets.iter().map(|packet| u64::from(packet.octets)).sum()
    }
    fn mark(&mut self, packet: &mut Queued) -> bool {
        packet.marked = self.marks;
        self.marked += u64::from(self.marks);
        self.marks
    }
    fn drop(&mut self, packet: Queued, drops: &mut Drops) {
        drops.push(packet.packet);
    }
}

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

impl Plain {
    fn push(&mut self, at: Time) {
        let packet = PacketRef(0);
        self.packets.push_back(Queued {
            packet,
            conversation: 0,
            flow: 0,
            octets: 1500,
            ecn: Ecn::Ect0,
            dscp: 0,
            marked: false,
            since: at,
            hop: 0,
        });
    }

    /// Lets a packet arrive and one leave every 100 us from `from` to `to`, in us; returns the times of drops and marks.
    fn run(&mut self, control: &mut Control, from: u64, to: u64) -> Vec<u64> {
        let mut times = Vec::new();
        for time in (from..to).step_by(100) {
            self.push(us(time));
            let (mut drops, marked) = (Drops::new(), self.marked);
            control.next(&PARAMETERS, us(time), self, &mut drops);
            // One arrives for each that is dropped: the queue stays as it is.
            drops.iter().for_each(|_| self.push(us(time)));
            times.extend(std::iter::repeat_n(time, drops.len() + (self.marked - marked) as usize));
        }
        times
    }
}

/// A queue in which all packets wait 10 ms.
fn standing(marks: bool) -> Plain {
    let mut queue = Plain { marks, ..Plain::default() };
    (0..100).for_each(|_| queue.push(Time::ZERO));
    queue
}

/// The times of drops from the law of RFC 8289 section 4.2 in floating point: the first after `first` us, the n-th
/// interval/sqrt(n) after the one before. Packets leave every 100 us.
fn law(first: u64, count: u64, drops: usize) -> Vec<u64> {
    let mut next = first as f64;
    let drop = |n: u64| {
        let time = (next / 100.0).ceil() as u64 * 100;
        next += 100_000.0 / (n as f64).sqrt();
        time
    };
    (count..).take(drops).map(drop).collect()
}

#[test]
fn drops_follow_the_law_of_the_square_root() {
    for marks in [false, true] {
        let mut control = Control::default();
        let times = standing(marks).run(&mut control, 0, 3_000_000);
        // The first packet that has waited 5 ms leaves at 5 ms; the first drop is an interval later.
        assert!(times.len() > 200, "{}", times.len());
        assert_eq!(times, law(105_000, 1, times.len()), "marks: {marks}");
    }
}

#[test]
fn a_packet_that_has_waited_less_ends_the_drops() {
    let mut control = Control::default();
    let mut queue = standing(false);
    assert!(queue.run(&mut control, 0, 104_000).is_empty());
    // Fewer than 50 packets wait less than 5 ms.
    let rest = queue.packets.split_off(40);
    queue.packets.iter_mut().for_each(|packet| packet.since = us(104_000));
    assert!(queue.run(&mut control, 104_000, 108_000).is_empty(), "the interval begins again");
    let since = us(98_000);
    queue.packets.extend(rest.into_iter().map(|packet| Queued { since, ..packet }));
    // 40 packets that came from 104 ms on leave before the others, which have waited too long; the first of these at 112 ms.
    let times = queue.run(&mut control, 108_000, 400_000);
    assert_eq!(times, law(212_000, 1, times.len()));
    assert!(times.len() > 1, "{times:?}");
}

#[test]
fn a_queue_of_one_packet_is_never_too_long() {
    let mut control = Control::default();
    let mut queue = Plain::default();
    queue.push(Time::ZERO);
    for second in 1..10 {
        queue.push(us(1_000_000 * (second - 1)));
        let mut drops = Drops::new();
        assert!(control.next(&PARAMETERS, us(1_000_000 * second), &mut queue, &mut drops).is_some());
        assert_eq!(drops.len(), 0, "1500 B are left");
    }
    queue.packets.clear();
    assert!(control.next(&PARAMETERS, us(20_000_000), &mut queue, &mut Drops::new()).is_none());
    assert_eq!(control.delay, Delay::Low);
}

/// RFC 8289 section 5.5: after a pause of less than 16 intervals the rate of drops begins near that at which it ended.
#[test]
fn drops_begin_again_at_the_rate_at_which_they_ended() {
    for (pause, remembered) in [(500_000, true), (2_500_000, false)] {
        let mut control = Control::default();
        let mut queue = standing(false);
        let before = queue.run(&mut control, 0, 1_000_000).len() as u64;
        queue.packets.clear();
        assert!(control.next(&PARAMETERS, us(1_000_000), &mut queue, &mut Drops::new()).is_none());
        let start = 1_000_000 + pause;
        (0..100).for_each(|_| queue.push(us(start)));
        let times = queue.run(&mut control, start, start + 500_000);
        let count = if remembered { before - 1 } else { 1 };
        assert_eq!(times, law(start + 105_000, count, times.len()), "a pause of {pause} us");
    }
}
