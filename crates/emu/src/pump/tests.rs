//! The exchange of packets with devices, on a clock that advances only when the test or a device advances it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::rc::Rc;

use cellway_units::{Span, Time};
use cellway_wire::ip::VirtioNetHeader;
use proptest::prelude::*;

use super::{Device, Pump};
use crate::clock::TimeSource;
use crate::engine::HostIndex;
use crate::engine::tests::{CLIENT, SERVER, THIRD, nominal, plain, udp, us};

const END: Time = Time::MAX;

#[derive(Clone, Debug, Default)]
struct FakeClock(Rc<Cell<Time>>);

impl FakeClock {
    fn pass(&self, span: Span) {
        self.0.set(self.0.get() + span);
    }

    fn pass_until(&self, at: Time) {
        self.0.set(self.0.get().max(at));
    }
}

impl TimeSource for FakeClock {
    fn now(&self) -> Option<Time> {
        Some(self.0.get())
    }

    fn deadline_ns(&self, at: Time) -> u64 {
        at.as_ps() / 1000
    }
}

/// A device whose host sends at given instants. Each call advances the clock by the next entry of `stalls`.
#[derive(Debug)]
struct FakeDevice {
    clock: FakeClock,
    /// Instants and packets, in order.
    sent: RefCell<VecDeque<(Time, Vec<u8>)>>,
    stalls: Rc<RefCell<VecDeque<Span>>>,
    /// The packets that the host received, with their instants.
    got: RefCell<Vec<(Time, Vec<u8>)>>,
    /// The time that each packet waited before it was read.
    waited: RefCell<Vec<Span>>,
}

impl FakeDevice {
    fn stall(&self) {
        let stall = self.stalls.borrow_mut().pop_front();
        self.clock.pass(stall.unwrap_or_default());
    }
}

impl Device for FakeDevice {
    fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        self.stall();
        let mut sent = self.sent.borrow_mut();
        if sent.front().is_none_or(|&(at, _)| at > self.clock.0.get()) {
            return Ok(None);
        }
        let Some((at, packet)) = sent.pop_front() else { return Ok(None) };
        self.waited.borrow_mut().push(self.clock.0.get().since(at));
        let read = [&VirtioNetHeader::default().octets()[..], &packet].concat();
        buffer[..read.len()].copy_from_slice(&read);
        Ok(Some(read.len()))
    }

    fn write_vectored(&self, parts: &[IoSlice<'_>]) -> io::Result<Option<usize>> {
        self.stall();
        let packet: Vec<u8> = parts[1..].iter().flat_map(|part| part.iter().copied()).collect();
        let octets = packet.len();
        self.got.borrow_mut().push((self.clock.0.get(), packet));
        Ok(Some(octets))
    }
}

/// Builds a pump whose hosts send the given packets, on a clock that each call advances by the next of `stalls`.
fn pump(stalls: &[Span], sent: [Vec<(Time, Vec<u8>)>; 3]) -> Pump<FakeDevice, FakeClock> {
    let (clock, stalls) = (FakeClock::default(), Rc::new(RefCell::new(stalls.iter().copied().collect())));
    let device = |sent: Vec<_>| FakeDevice {
        clock: clock.clone(),
        sent: RefCell::new(sent.into()),
        stalls: Rc::clone(&stalls),
        got: RefCell::default(),
        waited: RefCell::default(),
    };
    Pump::new(plain(), sent.map(device).into(), clock.clone(), Span::from_ms(1))
}

#[test]
fn a_stall_between_clock_and_read_makes_no_packet_early() {
    let sent = us(10_900);
    let packet = udp(CLIENT, SERVER, (1, 2), 1000);
    // The thread is stopped for 10 ms at the start of its first read.
    let mut pump = pump(&[Span::from_ms(10)], [vec![(sent, packet)], vec![], vec![]]);
    pump.clock.pass_until(us(1_000));
    pump.catch_up(END).unwrap();
    pump.take_in(END).unwrap();
    let due = sent + nominal(1000);
    pump.clock.pass_until(due + Span::from_us(99));
    pump.catch_up(END).unwrap();
    assert!(pump.devices[1].got.borrow().is_empty(), "it was read 100 us after it was sent: it comes that much later");
    pump.clock.pass_until(due + Span::from_us(100));
    pump.catch_up(END).unwrap();
    assert_eq!(pump.devices[1].got.borrow().len(), 1);
    assert_eq!((pump.lateness.earliness(), pump.lateness.max()), (Span::ZERO, Span::ZERO));
}

#[test]
fn an_answer_is_as_old_as_the_packet_that_it_is_about() {
    // The destination does not exist, so the router next to the host answers at once.
    let mut packet = udp(CLIENT, SERVER, (1, 2), 100);
    packet[16..20].copy_from_slice(&[10, 1, 2, 3]);
    packet[10..12].copy_from_slice(&[0, 0]);
    let sum = cellway_wire::ip::checksum::checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut pump = pump(&[Span::from_ms(10)], [vec![(us(10_900), packet)], vec![], vec![]]);
    pump.clock.pass_until(us(1_000));
    pump.catch_up(END).unwrap();
    pump.take_in(END).unwrap();
    assert_eq!(pump.devices[0].got.borrow().len(), 1);
    // It would be 10 ms late if it were dated by the clock before the stall.
    assert_eq!((pump.lateness.count(), pump.lateness.max()), (1, Span::ZERO));
}

#[test]
fn packets_read_after_the_end_do_not_enter() {
    let packet = udp(CLIENT, SERVER, (1, 2), 100);
    let mut pump = pump(&[Span::from_ms(10)], [vec![(us(5_000), packet)], vec![], vec![]]);
    pump.clock.pass_until(us(1_000));
    let end = us(8_000);
    pump.catch_up(end).unwrap();
    pump.take_in(end).unwrap();
    assert_eq!(pump.engine.testbed.fabric.events(end), 0);
}

#[test]
fn a_host_that_sends_faster_than_it_is_read_makes_the_run_invalid() {
    // The host sends a packet every 5 us, and each read and each write takes 10 us: the backlog grows. The line has
    // room for all.
    let packet = udp(CLIENT, THIRD, (1, 2), 28);
    let sent = (0..1000).map(|n| (us(1_000 + 5 * n), packet.clone())).collect();
    let mut pump = pump(&[Span::from_us(10); 4_000], [sent, vec![], vec![]]);
    pump.clock.pass_until(us(1_000));
    while pump.devices[0].waited.borrow().len() < 1000 {
        pump.catch_up(END).unwrap();
        pump.take_in(END).unwrap();
    }
    let waited = pump.devices[0].waited.borrow();
    let (worst, bound) = (*waited.iter().max().unwrap(), pump.ingress.max());
    assert!(worst > Span::from_ms(9), "{worst:?}");
    // The histogram is exact to 0.1 %. The bound exceeds the wait by at most the age of the backlog: the first packet
    // was sent at 1 ms, the last 5 ms later.
    assert!(bound >= worst && bound < worst + Span::from_us(6_100), "{bound:?} for {worst:?}");
    assert!(pump.lateness.max() < Span::from_ms(2), "lateness sees nothing of it");
    assert!(!pump.ingress.is_valid(Span::from_ms(1)));
}

#[test]
fn a_host_that_waits_for_its_own_line_waits_as_on_any_network() {
    // At 100 Mbit/s a packet of 1400 octets takes 112 us; 200 of them are sent at once.
    let sent = (0..200).map(|n| (us(1_000), udp(CLIENT, THIRD, (n, 2), 1400))).collect();
    let mut pump = pump(&[], [sent, vec![], vec![]]);
    pump.clock.pass_until(us(1_000));
    while pump.devices[0].waited.borrow().len() < 200 {
        pump.catch_up(END).unwrap();
        pump.take_in(END).unwrap();
        pump.clock.pass(Span::from_us(50));
    }
    assert!(*pump.devices[0].waited.borrow().iter().max().unwrap() > Span::from_ms(10));
    // The time from the start of the run to the first read remains.
    assert!(pump.ingress.quantile(0.5) <= Span::from_us(51), "{:?}", pump.ingress.quantile(0.5));
}

#[test]
fn a_line_with_new_room_ends_the_wait() {
    // The first host fills its line; reading the second host takes longer than that line needs for the backlog.
    let first = (0..60).map(|n| (us(1_000), udp(CLIENT, THIRD, (n, 2), 1400))).collect();
    let second = vec![(us(1_000), udp(SERVER, CLIENT, (1, 2), 100))];
    let stalls: Vec<Span> = (0..60).map(|n| if n < 23 { Span::ZERO } else { Span::from_ms(1) }).collect();
    let mut pump = pump(&stalls, [first, second, vec![]]);
    pump.clock.pass_until(us(1_000));
    pump.catch_up(END).unwrap();
    let more = pump.take_in(END).unwrap();
    assert!(pump.intake[0].readable && pump.engine.has_room(CLIENT));
    assert!(more, "nothing else would wake the loop");
}

/// Returns the bound for a packet that is read 20 us after a sleep of 300 ms, given the run delay at its end.
fn bound_after_sleep(delay: Option<Span>) -> Span {
    let at = Time::ZERO + Span::from_ms(300);
    let mut pump = pump(&[], [vec![(at, udp(CLIENT, SERVER, (1, 2), 100))], vec![], vec![]]);
    pump.clock.pass_until(us(1_000));
    pump.catch_up(END).unwrap();
    pump.take_in(END).unwrap();
    pump.found(us(1_000), us(1_000), None, None, &[]);
    // The packet ends the sleep at 300 ms; the thread runs again at 304 ms in all cases.
    let after = at + Span::from_ms(4);
    pump.found(us(1_010), after, None, delay, &[0]);
    pump.clock.pass_until(after + Span::from_us(20));
    pump.catch_up(END).unwrap();
    pump.take_in(END).unwrap();
    assert_eq!(pump.ingress.count(), 1);
    pump.ingress.max()
}

#[test]
fn a_packet_that_ends_a_sleep_arrived_when_the_thread_was_ready() {
    let near = |span: Span, us: u64| span.abs_diff(Span::from_us(us)) < Span::from_us(us / 100 + 1);
    // The thread was ready for 4 ms before it ran; the last check had found the device empty 10 us before the sleep.
    let bound = bound_after_sleep(Some(Span::from_ms(4)));
    assert!(near(bound, 4_030), "{bound:?}");
    let bound = bound_after_sleep(Some(Span::from_us(7)));
    assert!(near(bound, 37), "{bound:?}");
}

proptest! {
    /// Wherever and however long the thread is stopped, no packet takes less time than an idle path needs for it.
    #[test]
    fn no_packet_is_faster_than_the_path(
        stalls in prop::collection::vec(0u64..3_000, 0..60),
        sends in prop::collection::vec((0u64..20_000, 0usize..6, 28usize..1400), 1..40),
    ) {
        const PAIRS: [(HostIndex, HostIndex); 6] =
            [(CLIENT, SERVER), (SERVER, CLIENT), (CLIENT, THIRD), (THIRD, CLIENT), (SERVER, THIRD), (THIRD, SERVER)];
        let mut sent: [Vec<(Time, Vec<u8>)>; 3] = Default::default();
        for (number, &(at, pair, octets)) in sends.iter().enumerate() {
            let (from, to) = PAIRS[pair];
            sent[from.0].push((us(at), udp(from, to, (1000 + number as u16, 9), octets)));
        }
        sent.iter_mut().for_each(|packets| packets.sort());
        let stalls: Vec<Span> = stalls.into_iter().map(Span::from_us).collect();
        let mut pump = pump(&stalls, sent);
        for _ in 0..2_000 {
            pump.intake.iter_mut().for_each(|intake| intake.readable = true);
            pump.catch_up(END).unwrap();
            pump.take_in(END).unwrap();
            pump.clock.pass(Span::from_us(50));
        }
        let mut arrived = 0;
        for device in &pump.devices {
            for (at, packet) in device.got.borrow().iter() {
                let number = usize::from(u16::from_be_bytes([packet[20], packet[21]])) - 1000;
                let (sent, pair, octets) = sends[number];
                let line = |bits: usize, ns: u64| Span::from_ns(bits as u64 * ns);
                let least = match pair {
                    0 | 1 => nominal(octets),
                    // Two lines of packets, and a millisecond of propagation.
                    2 | 3 => line(2 * octets, 80) + Span::from_ms(1),
                    _ => nominal(octets) + Span::from_ms(1),
                };
                prop_assert!(*at >= us(sent) + least, "{number}: {octets} octets sent at {sent} us came at {at:?}");
                arrived += 1;
            }
        }
        prop_assert_eq!(arrived, sends.len());
        let waited = pump.devices.iter().flat_map(|device| device.waited.borrow().clone()).max().unwrap();
        // The histogram is exact to 0.1 %. No line is slower than its host here.
        prop_assert!(pump.ingress.max() * 1001 >= waited * 1000, "{:?} for {waited:?}", pump.ingress.max());
        prop_assert_eq!(pump.lateness.earliness(), Span::ZERO);
    }
}
