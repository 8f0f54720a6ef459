//! A host that sends more than the emulator can read: the wait before the network is measured, and makes the run
//! invalid.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use cellway_emu::{Control, Hosts, emulate};
use cellway_scenario::Plan;
use cellway_units::Span;
use common::{one_at_a_time, possible};

/// Two hosts and lines that are faster than any host.
const NET: &str = r#"version = 1
name = "overload"
buffer = { size = "64 MiB", per = "port", count = "packet" }
tcp = { profile = "linux-6" }
node = [
  { name = "client", kind = "host" },
  { name = "router", kind = "router" },
  { name = "server", kind = "host" },
]
link = [
  { between = ["client", "router"], rate = "100 Gbit/s", delay = "0 s", framing = "packet", mtu = "1500 B" },
  { between = ["router", "server"], rate = "100 Gbit/s", delay = "1 ms", framing = "packet", mtu = "1500 B" },
]

[run]
duration = "3 s"
warmup = "0 s"
emulate = { lateness-limit = "0.2 ms", play = false }

[[traffic]]
name = "flood"
app = "bulk"
from = "client"
to = "server"
"#;

#[test]
fn a_wait_before_the_network_is_measured() {
    if !possible("a_wait_before_the_network_is_measured") {
        return;
    }
    let _one = one_at_a_time();
    let plan = Plan::parse_with(NET, "overload.toml", &[], None).unwrap_or_else(|e| panic!("{e}"));
    let beside = |hosts: &Hosts| {
        let sink = (hosts.address("server").unwrap(), 9);
        let until = Instant::now() + Duration::from_secs(2);
        // Sending a packet costs less than emulating it, so there is a backlog on any machine.
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let socket = hosts.run("client", || UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
                scope.spawn(move || {
                    while Instant::now() < until {
                        (0..100).for_each(|_| drop(socket.send_to(&[0; 20], sink)));
                    }
                });
            }
        });
    };
    let control = Control { beside: Some(Box::new(beside)), ..Control::default() };
    let emulated = emulate(plan.base(), &[], 1, control).unwrap();
    let (waited, late) = (emulated.ingress.p99(), emulated.lateness.p99());
    println!("waited {waited}, late {late}, {} packets, {}", emulated.ingress.count(), emulated.treatment);
    assert!(waited > Span::from_us(200), "waited {waited}, late {late}");
    assert!(!emulated.is_valid());
    assert!(emulated.invalid().is_some_and(|why| why.contains("SCHED_")), "{:?}", emulated.invalid());
    let rows = &emulated.record.summary;
    let row = rows.iter().find(|row| row.metric == "ingress_wait_p99").unwrap();
    assert!((row.value - waited.as_secs_f64()).abs() < 1e-9);
}
