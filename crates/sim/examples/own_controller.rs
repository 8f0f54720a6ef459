//! A congestion controller of one's own beside the built-in CUBIC: `cargo run -p cellway-sim --example own_controller`
//!
//! It keeps a few segments in the queue, by the round trip (the idea of Vegas: Brakmo, O'Malley and Peterson, SIGCOMM
//! 1994). CUBIC fills the queue, so the two do not share a line evenly.

use cellway_scenario::Plan;
use cellway_sim::congestion::{Acked, Controller, Flight, Signal, Window};
use cellway_sim::{Control, Controllers};
use cellway_units::Span;

/// Segments that should wait in the queue, at least and at most.
const FEW: u64 = 2;
const MANY: u64 = 4;

#[derive(Clone, Debug, Default)]
struct Delay {
    /// The shortest round trip, without a queue.
    base: Option<Span>,
    /// The window changes once per round trip: after the acknowledgement of this position.
    next: u64,
}

impl Controller for Delay {
    fn grow(&mut self, window: &mut Window, acked: Acked, flight: Flight) {
        let Some(rtt) = acked.rtt else { return };
        let base = self.base.map_or(rtt, |base| base.min(rtt));
        self.base = Some(base);
        if flight.una < self.next {
            return;
        }
        self.next = flight.nxt;
        // Of the window, the share of the round trip that is spent in the queue.
        let queued = (window.cwnd as f64 * (1.0 - base.as_secs_f64() / rtt.as_secs_f64())) as u64;
        if window.cwnd < window.ssthresh && queued < FEW * window.mss {
            window.cwnd *= 2;
        } else if queued < FEW * window.mss {
            window.cwnd += window.mss;
        } else if queued > MANY * window.mss {
            window.cwnd -= window.mss.min(window.cwnd - 2 * window.mss);
            window.ssthresh = window.cwnd;
        }
    }
    fn threshold(&self, window: Window, _signal: Signal, outstanding: u64, _peer_window: u64) -> u64 {
        (outstanding / 2).max(2 * window.mss)
    }
}

const SCENARIO: &str = r#"
version = 1
name = "own-controller"
run = { duration = "30 s", warmup = "5 s" }
buffer = { size = "1 bdp" }
node = [{ name = "near", kind = "router" }, { name = "far", kind = "router" }]
[[link]]
name = "line"
between = ["near", "far"]
rate = "50 Mbit/s"
delay = "20 ms"
[[traffic]]
name = "own"
app = "bulk"
from = "near"
to = "far"
access = { rate = "1 Gbit/s", delay = "0 s" }
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plan = Plan::parse_with(SCENARIO, "own-controller", &[], None)?;
    let scenario = plan.base();
    let workloads = scenario.traffic.iter().map(|group| cellway_sim::workload(group, None));
    let workloads = workloads.collect::<Result<Vec<_>, _>>()?;
    let own = Controllers::new().with("own", || Box::new(Delay::default()));
    for (name, controllers) in [("cubic", None), ("own", Some(&own))] {
        let control = Control { controllers, ..Control::new(&|| false) };
        let record = cellway_sim::run(scenario, &workloads, 1, control)?;
        let value = |subject: &str, metric: &str| {
            record.summary.iter().find(|row| &*row.subject == subject && row.metric == metric).map(|row| row.value)
        };
        let goodput = value("own", "goodput_total").unwrap_or_default() / 1e6;
        let delay = value("near>far", "sojourn_mean").unwrap_or_default() * 1e3;
        println!("{name:6} {goodput:5.1} Mbit/s, {delay:5.1} ms in the queue");
    }
    Ok(())
}
