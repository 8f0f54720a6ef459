//! An algorithm driven by rate samples alone, over a bottleneck link.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use cellway_delivery::{bits_of, rate_of};
use cellway_units::{Bits, Bytes, Rate, Span, Time};

use super::{Ack, Acked, Agreed, Control, Controller, Flight, Repair, Signal, Window};
use crate::{Config, Endpoint, LossRecovery, Output, Segment, TcpSpec, Variant};

/// Keeps twice the product of the largest delivery rate and the shortest round trip in flight, and paces at twice that
/// rate.
#[derive(Clone, Copy, Debug, Default)]
struct ByRate {
    rate: u64,
    min_rtt: Option<Span>,
}

impl Controller for ByRate {
    fn sets_window(&self) -> bool {
        true
    }
    fn acknowledged(&mut self, window: &mut Window, ack: &Ack) {
        let Some(newest) = ack.newest else { return };
        self.rate = self.rate.max(newest.sample.map_or(0, |sample| sample.rate.as_bps()));
        self.min_rtt = self.min_rtt.into_iter().chain(newest.rtt).min();
        if let Some(rtt) = self.min_rtt {
            window.cwnd = (2 * bits_of(Rate::from_bps(self.rate), rtt) / 8).max(window.mss);
        }
    }
    fn grow(&mut self, _window: &mut Window, _acked: Acked, _flight: Flight) {}
    fn threshold(&self, window: Window, _signal: Signal, _outstanding: u64, _peer_window: u64) -> u64 {
        window.cwnd
    }
    fn pacing_gap(&self, _window: Window, payload: u64, _srtt: Span) -> Span {
        Rate::from_bps((2 * self.rate).max(80_000)).time_for(Bits(8 * payload), 0).0
    }
}

/// A link of 100 segments a second towards the receiver, with 50 ms of delay in each direction.
struct Path {
    ends: [Endpoint; 2],
    /// Segments on the way, by arrival and order of sending, with the end that receives them.
    in_flight: BTreeMap<(Time, usize), (usize, Segment)>,
    sent: usize,
    free: Time,
}

const SERVICE: Span = Span::from_ms(10);
const DELAY: Span = Span::from_ms(50);

impl Path {
    fn call(&mut self, end: usize, now: Time, call: impl FnOnce(&mut Endpoint, &mut Output)) {
        let mut out = Output::default();
        call(&mut self.ends[end], &mut out);
        for segment in out.segments {
            let leaves = if segment.len > 0 { now.max(self.free) + SERVICE } else { now };
            if segment.len > 0 {
                self.free = leaves;
            }
            self.sent += 1;
            self.in_flight.insert((leaves + DELAY, self.sent), (1 - end, segment));
        }
    }
    /// Runs until `end`.
    fn run(&mut self, end: Time) {
        loop {
            let arrival = self.in_flight.first_key_value().map(|(&(at, _), _)| at);
            let timer = self.ends.iter().enumerate().filter_map(|(i, e)| Some((e.deadline()?.0, i))).min();
            let now = arrival.into_iter().chain(timer.map(|(at, _)| at)).min();
            let Some(now) = now.filter(|now| *now <= end) else { return };
            if arrival == Some(now) {
                let Some((_, (to, segment))) = self.in_flight.pop_first() else { return };
                self.call(to, now, |e, out| e.receive(now, &segment, out));
            } else if let Some((_, i)) = timer {
                self.call(i, now, |e, out| e.wake(now, out));
            }
            self.call(0, now, |e, out| while e.write(now, 100_000, out) > 0 {});
        }
    }
}

#[test]
fn rate_samples_drive_a_window_and_a_pacing_rate() {
    let tcp = TcpSpec {
        variant: Variant::NewReno,
        recovery: Some(LossRecovery::Rack),
        mss: Bytes(1000),
        window: Bytes(60_000),
        send_buffer: Bytes(200_000),
        initial_window: 2,
        pacing: true,
        timer_granularity: Span::from_ms(1),
        ..TcpSpec::default()
    };
    let mut ends = [Endpoint::active(Config::from(tcp), 1), Endpoint::passive(Config::from(tcp), 2)];
    ends[0].set_controller(Box::new(ByRate::default()));
    let mut path = Path { ends, in_flight: BTreeMap::new(), sent: 0, free: Time::ZERO };
    path.call(0, Time::ZERO, |e, out| e.connect(Time::ZERO, out));
    let at = |s: u64| Time::ZERO + Span::from_secs(s);
    path.run(at(5));
    let before = path.ends[0].stats().bytes_acked;
    path.run(at(10));
    let sender = &path.ends[0];
    // The whole link.
    assert_eq!(rate_of(8 * (sender.stats().bytes_acked - before), Span::from_secs(5)).as_bps(), 800_000);
    // 110 ms with an empty queue, so 11 segments fill the link.
    assert_eq!((sender.congestion_window(), sender.in_flight()), (22_000, 22_000));
    assert_eq!(sender.stats().bytes_retransmitted, 0);
}

/// Records what it is notified of.
#[derive(Clone, Debug)]
struct Witness {
    sets_window: bool,
    calls: Arc<Mutex<Vec<&'static str>>>,
}

impl Witness {
    fn record(&self, call: &'static str) {
        self.calls.lock().unwrap().push(call);
    }
}

impl Controller for Witness {
    fn sets_window(&self) -> bool {
        self.sets_window
    }
    fn grow(&mut self, _window: &mut Window, _acked: Acked, _flight: Flight) {}
    fn threshold(&self, _window: Window, _signal: Signal, outstanding: u64, _peer_window: u64) -> u64 {
        outstanding / 2
    }
    fn undone(&mut self) {
        self.record("undone");
    }
    fn repaired(&mut self, _window: &mut Window) {
        self.record("repaired");
    }
    fn spurious(&mut self, window: &mut Window, total_delivered: u64) {
        assert_eq!(total_delivered, 5000);
        window.cwnd = 77_000;
        self.record("spurious");
    }
}

/// A controller that sets the window restores it itself; for others the larger window counts.
#[test]
fn a_controller_is_notified_of_what_is_undone() {
    let flight = Flight { una: 1, nxt: 10_001, max: 10_001, peer_window: 50_000 };
    for (sets_window, repair, expected, cwnd) in [
        (true, Some(Repair::Fast), &["repaired", "spurious"][..], 77_000),
        (true, None, &["spurious"], 77_000),
        (false, Some(Repair::Fast), &["undone"], 10_000),
        (false, None, &["undone"], 10_000),
    ] {
        let calls = Arc::default();
        let mut control = Control::new(&Config::default(), 1000, 10, 1, Agreed { sack: true, acc_ecn: false });
        control.own(Box::new(Witness { sets_window, calls: Arc::clone(&calls) }));
        let before = control.before_loss(flight);
        assert_eq!(before, Some(control.window));
        control.reduce(flight, 10_000);
        control.undo(before, repair, 5000);
        assert_eq!((control.window.cwnd, calls.lock().unwrap().as_slice()), (cwnd, expected), "{repair:?}");
        assert_eq!(control.window.ssthresh, before.unwrap().ssthresh);
    }
}

/// A mark has reduced the window: a loss in the same window of data reduces it no further, so there is nothing to undo.
#[test]
fn a_reduction_for_a_mark_is_not_undone() {
    let mut control = Control::new(&Config::default(), 1000, 10, 1, Agreed { sack: true, acc_ecn: false });
    let flight = Flight { una: 1, nxt: 10_001, max: 10_001, peer_window: 50_000 };
    assert!(control.mark(Time::ZERO, flight, 1000));
    let marked = control.window;
    assert_eq!(control.before_loss(flight), None);
    control.reduce(flight, 10_000);
    control.undo(None, Some(Repair::Fast), 0);
    assert_eq!(control.window, marked);
    assert!(control.before_loss(Flight { una: 10_001, ..flight }).is_some());
}
