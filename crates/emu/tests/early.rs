//! Packets of real hosts against the least time that their path takes.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::net::UdpSocket;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use cellway_emu::{Control, Hosts, emulate};
use cellway_scenario::Plan;
use common::{one_at_a_time, possible};

/// Two hosts, and 2 ms of delay between lines of packets of 1 Gbit/s.
const NET: &str = r#"version = 1
name = "early"
buffer = { size = "1 MiB", per = "port", count = "packet" }
tcp = { profile = "linux-6" }
node = [
  { name = "client", kind = "host" },
  { name = "near", kind = "router" },
  { name = "far", kind = "router" },
  { name = "server", kind = "host" },
]
link = [
  { between = ["client", "near"], rate = "1 Gbit/s", delay = "0 s", framing = "packet", mtu = "1500 B" },
  { between = ["near", "far"], rate = "1 Gbit/s", delay = "2 ms", framing = "packet", mtu = "1500 B" },
  { between = ["far", "server"], rate = "1 Gbit/s", delay = "0 s", framing = "packet", mtu = "1500 B" },
]

[run]
duration = "4 s"
warmup = "0 s"
emulate = { lateness-limit = "10 s", play = false }

[[traffic]]
name = "probe"
app = "bulk"
from = "client"
to = "server"
"#;

/// Octets of a probe as an IP packet: an 8-octet time stamp, and 28 octets of headers.
const OCTETS: u32 = 8 + 28;

#[test]
fn no_packet_of_a_host_is_earlier_than_its_path_allows() {
    if !possible("no_packet_of_a_host_is_earlier_than_its_path_allows") {
        return;
    }
    let _one = one_at_a_time();
    let plan = Plan::parse_with(NET, "early.toml", &[], None).unwrap_or_else(|e| panic!("{e}"));
    let (tell, told) = mpsc::channel();
    let start = Instant::now();
    let beside = move |hosts: &Hosts| {
        let [from, to] = ["client", "server"].map(|host| {
            let address = hosts.address(host).unwrap();
            hosts.run(host, move || UdpSocket::bind((address, 7007)).unwrap()).unwrap()
        });
        from.connect(to.local_addr().unwrap()).unwrap();
        // Busy polling, because the delay of a wake-up would hide an early packet.
        to.set_nonblocking(true).unwrap();
        let receive = std::thread::spawn(move || {
            let mut octets = [0; 8];
            while start.elapsed() < Duration::from_secs(4) {
                if to.recv(&mut octets).is_ok() {
                    let took = start.elapsed() - Duration::from_nanos(u64::from_be_bytes(octets));
                    tell.send(took).unwrap();
                }
            }
        });
        // Keeps the loop of the emulation busy: bursts of large packets take it time to write.
        let until = Instant::now() + Duration::from_secs(3);
        let flood = hosts.run("server", || UdpSocket::bind("0.0.0.0:0").unwrap()).unwrap();
        let sink = (hosts.address("client").unwrap(), 9);
        let flooding = std::thread::spawn(move || {
            while Instant::now() < until {
                // No socket listens on this port, and a failed send does not matter.
                (0..60).for_each(|_| drop(flood.send_to(&[0; 1400], sink)));
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let mut pause = 0;
        while Instant::now() < until {
            // The stamp is read before the call, so a packet is sent no earlier than its stamp says.
            from.send(&(start.elapsed().as_nanos() as u64).to_be_bytes()).unwrap();
            pause = (pause + 37) % 400;
            std::thread::sleep(Duration::from_micros(pause));
        }
        flooding.join().unwrap();
        receive.join().unwrap();
    };
    let control = Control { beside: Some(Box::new(beside)), ..Control::default() };
    let emulated = emulate(plan.base(), &[], 1, control).unwrap();
    let took: Vec<Duration> = told.try_iter().collect();
    assert!(took.len() > 100, "{} of the packets arrived", took.len());
    // Three lines, each with 8 ns for an octet.
    let least = Duration::from_millis(2) + Duration::from_nanos(3 * 8) * OCTETS;
    let min = *took.iter().min().unwrap();
    assert!(min >= least, "a packet took {min:?}, and the path takes {least:?}");
    let rows = &emulated.record.summary;
    let early = rows.iter().find(|row| row.metric == "earliness_max").unwrap().value;
    assert_eq!(early, 0.0, "s");
}
