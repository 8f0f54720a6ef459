//! Congestion controllers of others in place of those of the scenario.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cellway_sim::congestion::{Ack, Acked, Controller, Flight, Repair, Signal, Window};
use cellway_sim::{Control, Controllers, Error};

use common::{figure, scenario, workloads};

const LINE: &str = r#"
version = 1
name = "own"
run = { duration = "6 s", warmup = "2 s" }
buffer = { size = "1 bdp" }
node = [{ name = "near", kind = "router" }, { name = "far", kind = "router" }]
tcp = { recovery = "rack" }
[[link]]
name = "line"
between = ["near", "far"]
rate = "10 Mbit/s"
delay = "20 ms"
[[traffic]]
name = "own"
app = "bulk"
from = "near"
to = "far"
access = { rate = "1 Gbit/s", delay = "0 s" }
[[traffic]]
name = "call"
from = "near"
to = "far"
access = { rate = "1 Gbit/s", delay = "0 s" }
udp = { packet = "200 B", rate = "80 kbit/s" }
"#;

/// Keeps a window of a number of segments; fails after an acknowledgement of `fails_at` bytes in all.
#[derive(Clone, Debug)]
struct Constant {
    segments: u64,
    fails_at: u64,
    failed: bool,
    repairs: Arc<AtomicU64>,
}

impl Constant {
    fn new(segments: u64) -> Constant {
        Constant { segments, fails_at: u64::MAX, failed: false, repairs: Arc::default() }
    }
}

impl Controller for Constant {
    fn sets_window(&self) -> bool {
        true
    }
    fn acknowledged(&mut self, window: &mut Window, ack: &Ack) {
        window.cwnd = self.segments * window.mss;
        self.failed |= ack.total_delivered > self.fails_at;
    }
    fn repairing(&mut self, _window: &mut Window, _repair: Repair) {
        self.repairs.fetch_add(1, Ordering::Relaxed);
    }
    fn pacing_gap(&self, _window: Window, _payload: u64, _srtt: cellway_units::Span) -> cellway_units::Span {
        cellway_units::Span::ZERO
    }
    fn grow(&mut self, _window: &mut Window, _acked: Acked, _flight: Flight) {}
    fn threshold(&self, window: Window, _signal: Signal, _outstanding: u64, _peer_window: u64) -> u64 {
        window.cwnd
    }
    fn failure(&self) -> Option<String> {
        self.failed.then(|| "enough".to_owned())
    }
}

fn run(controllers: &Controllers) -> cellway_sim::Outcome {
    let scenario = scenario(LINE, &[]);
    let control = Control { controllers: Some(controllers), ..Control::new(&|| false) };
    cellway_sim::run(&scenario, &workloads(&scenario), 1, control)
}

fn refused(controllers: Controllers) -> String {
    run(&controllers).unwrap_err().to_string()
}

/// A window of 10 segments of 1448 B: each acknowledgement of two segments sends the next two, which take their time on
/// the line and the round trip.
#[test]
fn a_constant_window_gives_its_share() {
    let record = run(&Controllers::new().with("own", || Box::new(Constant::new(10)))).unwrap();
    let round_trip = 0.04 + 2.0 * 1500.0 * 8.0 / 10e6 + 52.0 * 8.0 / 10e6;
    let expected = 10.0 * 1448.0 * 8.0 / round_trip;
    let goodput = figure(&record, "own-1", "goodput");
    // The call beside it takes 80 kbit/s of the line.
    assert!((goodput / expected - 1.0).abs() < 0.01, "{goodput} for {expected}");
    let other = run(&Controllers::new()).unwrap();
    assert!(figure(&other, "own-1", "goodput") > 1.5 * goodput);
}

#[test]
fn a_window_beyond_the_buffer_loses_and_repairs() {
    let repairs = Arc::<AtomicU64>::default();
    let counted = repairs.clone();
    let own = move || Box::new(Constant { repairs: counted.clone(), ..Constant::new(100) }) as Box<dyn Controller>;
    let record = run(&Controllers::new().with("own", own)).unwrap();
    assert!(figure(&record, "own-1", "retransmissions") > 0.0);
    assert!(figure(&record, "own-1", "goodput") > 8e6);
    let seen = repairs.load(Ordering::Relaxed) as f64;
    // Those of the warm-up are not in the summary.
    assert!(seen >= figure(&record, "own-1", "fast_retransmits"), "{seen}");
    assert!(seen > 0.0);
}

#[test]
fn controllers_that_do_not_fit_are_refused() {
    let own = || Box::new(Constant::new(1)) as Box<dyn Controller>;
    let unknown = refused(Controllers::new().with("mine", own));
    assert!(unknown.contains("\"mine\"") && unknown.ends_with("it has \"own\", \"call\""), "{unknown}");
    let datagrams = refused(Controllers::new().with("call", own));
    assert_eq!(datagrams, "traffic \"call\": its own congestion controller: its traffic has no TCP");
    let text = LINE.replace("recovery = \"rack\"", "recovery = \"sack\"");
    let scenario = scenario(&text, &[]);
    let controllers = Controllers::new().with("own", own);
    let control = Control { controllers: Some(&controllers), ..Control::new(&|| false) };
    let error = cellway_sim::run(&scenario, &workloads(&scenario), 1, control).unwrap_err();
    assert!(error.to_string().ends_with("needs recovery = \"rack\" for the group"), "{error}");
}

#[test]
fn a_failure_ends_the_run_at_its_time() {
    let failing = || Box::new(Constant { fails_at: 100_000, ..Constant::new(10) }) as Box<dyn Controller>;
    let error = run(&Controllers::new().with("own", failing)).unwrap_err();
    assert!(matches!(error, Error::ControllerFailed { .. }));
    let text = error.to_string();
    // 70 segments: 40 ms for the handshake, 7 round trips of 42.4 ms, and 4 pairs of 2.4 ms before the last.
    assert!(text.starts_with("traffic \"own\": its own congestion controller: it failed at 347"), "{text}");
    assert!(text.ends_with(" us of simulated time: enough"), "{text}");
}
