//! Scenarios with gateways in real time: connections are split, other packets are forwarded as by routers.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::time::Duration;

use cellway_emu::{Control, Emulated, Error, Hosts, emulate};
use cellway_scenario::{Override, Plan};
use common::{has, one_at_a_time, possible, skip};
use quinn_udp::{Transmit, UdpSocketState};

/// 20 ms and 8 Mbit/s of cells between two gateways, hosts at both of them, a router next to the server.
const NET: &str = r#"version = 1
name = "net"
buffer = { size = "1000 cell", per = "port" }
tcp = { profile = "classic", variant = "sack", mss = "1000 B", window = "32 KiB" }
node = [
  { name = "client", kind = "host" },
  { name = "g1", kind = "gateway", peer = "g2", gateway = { rate = "8 Mbit/s", packet = "1000 B" } },
  { name = "g2", kind = "gateway", peer = "g1", gateway = { rate = "8 Mbit/s", packet = "1000 B" } },
  { name = "lan", kind = "router" },
  { name = "server", kind = "host" },
]
link = [
  { between = ["client", "g1"], rate = "fast-ethernet", delay = "0 s" },
  { name = "line", between = ["g1", "g2"], rate = "8 Mbit/s", delay = "20 ms", framing = "atm", mtu = "1500 B" },
  { between = ["g2", "lan"], rate = "fast-ethernet", delay = "1 ms" },
  { between = ["lan", "server"], rate = "fast-ethernet", delay = "0 s" },
]

[run]
duration = "5 s"
emulate = { lateness-limit = "10 s", play = false }

[[traffic]]
name = "bulk"
app = "bulk"
from = "client"
to = "server"
"#;

/// Emulates while `beside` runs in its hosts.
fn run<T: Send>(set: &[(&str, &str)], beside: impl FnOnce(&Hosts) -> T + Send) -> Result<(Emulated, T), Error> {
    let set: Vec<Override> = set.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    let plan = Plan::parse_with(NET, "t.toml", &set, None).unwrap_or_else(|e| panic!("{e}"));
    let scenario = plan.base();
    let workloads: Vec<_> =
        scenario.traffic.iter().map(|traffic| cellway_testbed::workload(traffic, None).unwrap()).collect();
    let mut seen = None;
    let beside = |hosts: &Hosts| seen = Some(beside(hosts));
    let control = Control { beside: Some(Box::new(beside)), ..Control::default() };
    let emulated = emulate(scenario, &workloads, 1, control)?;
    Ok((emulated, seen.expect("what is done beside has been done")))
}

/// Returns a figure of the summary.
fn figure(emulated: &Emulated, subject: &str, metric: &str) -> f64 {
    let mut rows = emulated.record.summary.iter();
    let row = rows.find(|row| &*row.subject == subject && row.metric == metric);
    row.unwrap_or_else(|| panic!("no {metric} of {subject}")).value
}

/// Returns the output of `ping` in the client; `None` if the program is missing.
fn ping(hosts: &Hosts, words: &[&str], target: String) -> Option<String> {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    let output = hosts.run("client", || Command::new("ping").args(words).arg(target).output()).unwrap();
    Some(String::from_utf8_lossy(&output.ok()?.stdout).into_owned())
}

/// Sends `octets` from the client to the server, and returns the time until the last arrived.
fn transfer(hosts: &Hosts, octets: usize) -> Duration {
    let address = SocketAddr::from((hosts.address("server").unwrap(), 7000));
    let listener = hosts.run("server", move || TcpListener::bind(address)).unwrap().unwrap();
    let receiver = std::thread::spawn(move || {
        let (mut stream, from) = listener.accept().unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        (all, from)
    });
    let begun = std::time::Instant::now();
    let mut stream = hosts.run("client", move || TcpStream::connect(address)).unwrap().unwrap();
    let sent: Vec<u8> = (0..octets).map(|i| (i.wrapping_mul(2_654_435_761) >> 16) as u8).collect();
    stream.write_all(&sent).unwrap();
    let own = stream.local_addr().unwrap();
    drop(stream);
    let (came, from) = receiver.join().unwrap();
    assert!(came == sent, "the octets that came are not those that went");
    assert_eq!(from, own, "the server sees the client's address and port");
    begun.elapsed()
}

/// Returns true if the rules of daemons can be set.
fn has_nft() -> bool {
    has("nft", "nftables")
}

#[test]
fn without_their_daemons_gateways_are_routers() {
    if !possible("without_their_daemons_gateways_are_routers") {
        return;
    }
    let _one = one_at_a_time();
    let seen = run(&[("run.emulate.gateways", "false")], |hosts| {
        let server = hosts.address("server").unwrap();
        // The third hop is the router; the fourth is the server.
        let hops = ["1", "2", "3", "4"].map(|ttl| ping(hosts, &["-c1", "-W2", "-t", ttl], server.to_string()));
        let v6 = format!("fd63:656c:6c77:6179::{:x}:{:x}", server.to_bits() >> 16, server.to_bits() & 0xffff);
        let replies = ping(hosts, &["-c2", "-i0.2", "-W2"], v6);
        (hops, replies, transfer(hosts, 1_000_000))
    });
    let (emulated, (hops, replies, took)) = seen.unwrap();
    match (hops, replies) {
        ([Some(first), Some(second), Some(third), Some(last)], Some(replies)) => {
            // Hosts first, then the gateways, in the order of the file.
            assert!(first.contains("From 100.64.0.3") && first.contains("exceeded"), "{first}");
            assert!(second.contains("From 100.64.0.4") && second.contains("exceeded"), "{second}");
            assert!(third.contains("From 192.0.0.8") && third.contains("exceeded"), "{third}");
            assert!(last.contains("ttl=61") && last.contains("from 100.64.0.2"), "{last}");
            let round_trip: f64 = last.split("time=").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
            assert!((42.0..100.0).contains(&round_trip), "{round_trip} ms there and back");
            assert!(replies.contains("2 received"), "{replies}");
        }
        _ => skip("the program `ping` is missing (package iputils-ping); all but that was tested"),
    }
    // 32 cells of 424 bits for each 1460 B.
    let rate = 8e6 * 1460.0 / (32.0 * 53.0);
    assert!(took.as_secs_f64() > 8e6 / rate, "{took:?} is less than the line takes");
    // All data went over the line as full packets: they were cut for its MTU and not as the hosts' lines would allow.
    let utilisation = figure(&emulated, "g1>g2", "utilisation");
    let least = 8e6 / rate / 5.0;
    assert!((least..1.2 * least).contains(&utilisation), "{utilisation} where {least} is the data");
    assert_eq!(figure(&emulated, "emulation", "valid"), 1.0);
    assert!(emulated.notes.iter().all(|note| note.contains("time-exceeded")), "{:?}", emulated.notes);
}

/// Datagrams that a QUIC implementation passes to the kernel in one call cross the link one by one.
#[test]
fn coalesced_datagrams_of_a_gateway_are_cut() {
    if !possible("coalesced_datagrams_of_a_gateway_are_cut") {
        return;
    }
    let _one = one_at_a_time();
    let seen = run(&[("run.emulate.gateways", "false"), ("run.duration", "\"2 s\"")], |hosts| {
        let [near, far] = ["g1", "g2"].map(|name| SocketAddr::from((hosts.address(name).unwrap(), 4433)));
        let receiver = hosts.run("g2", move || UdpSocket::bind(far)).unwrap().unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let sender = hosts.run("g1", move || UdpSocket::bind(near)).unwrap().unwrap();
        let state = UdpSocketState::new((&sender).into()).unwrap();
        let segments = state.max_gso_segments();
        let contents: Vec<u8> = (0..20 * 1200 + 7).map(|i| (i / 1200) as u8).collect();
        let transmit =
            Transmit { destination: far, ecn: None, contents: &contents, segment_size: Some(1200), src_ip: None };
        state.try_send((&sender).into(), &transmit).unwrap();
        let mut buffer = [0; 65_536];
        let came: Vec<(usize, u8)> =
            (0..21).map(|_| (receiver.recv(&mut buffer).expect("a datagram is missing"), buffer[0])).collect();
        (segments, came)
    });
    let (emulated, (segments, came)) = seen.unwrap();
    let expected: Vec<(usize, u8)> = (0..21).map(|n| (if n < 20 { 1200 } else { 7 }, n as u8)).collect();
    assert_eq!(came, expected);
    assert!(figure(&emulated, "emulation", "packets") >= 21.0);
    assert_eq!(figure(&emulated, "g1>g2", "dropped_frames"), 0.0);
    if segments < 21 {
        skip(&format!("this kernel takes {segments} datagrams at once: coalesced ones of 21 were not tested"));
    }
}

/// Packets that the device of a host has received and sent: `/proc/net/dev`.
fn device_packets(hosts: &Hosts, host: &str) -> [u64; 2] {
    let text = hosts.run(host, || std::fs::read_to_string("/proc/thread-self/net/dev")).unwrap().unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix("cell0:")).unwrap();
    let columns: Vec<u64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
    [columns[1], columns[9]]
}

#[test]
fn without_offload_each_packet_crosses_its_device_alone() {
    if !possible("without_offload_each_packet_crosses_its_device_alone") {
        return;
    }
    let _one = one_at_a_time();
    const OCTETS: usize = 1_000_000;
    let segments = (OCTETS / 1460) as u64;
    for (offload, alone) in [("true", false), ("false", true)] {
        let set = [("run.emulate.gateways", "false"), ("run.emulate.offload", offload)];
        let (emulated, (sent, received)) = run(&set, |hosts| {
            transfer(hosts, OCTETS);
            (device_packets(hosts, "client")[1], device_packets(hosts, "server")[0])
        })
        .unwrap();
        assert_eq!(sent > segments, alone, "{sent} units for {segments} segments, offload = {offload}");
        assert!(!alone || received > segments, "{received} units for {segments} segments");
        assert!(emulated.notes.is_empty(), "{:?}", emulated.notes);
    }
}

#[test]
fn the_addresses_of_gateways_follow_those_of_hosts() {
    if !possible("the_addresses_of_gateways_follow_those_of_hosts") {
        return;
    }
    let _one = one_at_a_time();
    let set = [("run.emulate.gateways", "false"), ("run.duration", "\"200 ms\"")];
    let (_, addresses) =
        run(&set, |hosts| ["client", "server", "g1", "g2", "lan"].map(|name| hosts.address(name))).unwrap();
    let at = |last| Some(Ipv4Addr::new(100, 64, 0, last));
    assert_eq!(addresses, [at(1), at(2), at(3), at(4), None]);
}

#[test]
fn real_gateways_split_connections_and_nothing_else() {
    if !possible("real_gateways_split_connections_and_nothing_else") || !has_nft() {
        return;
    }
    let _one = one_at_a_time();
    for (transport, connect) in [("quic", "late"), ("tls", "early")] {
        let [transport_key, connect_key] = ["transport", "connect"].map(|key| format!("run.emulate.gateway.{key}"));
        let [transport_word, connect_word] = [transport, connect].map(|word| format!("\"{word}\""));
        let set = [(&transport_key[..], &transport_word[..]), (&connect_key, &connect_word)];
        let seen = run(&set, |hosts| {
            let server = hosts.address("server").unwrap();
            let begun = std::time::Instant::now();
            let refused = hosts.run("client", move || TcpStream::connect((server, 9)).map(drop)).unwrap();
            let answered = begun.elapsed();
            (ping(hosts, &["-c1", "-W2"], server.to_string()), refused, answered, transfer(hosts, 1_000_000))
        });
        let (emulated, (replies, refused, answered, _)) = seen.unwrap_or_else(|e| panic!("{transport}: {e}"));
        assert!(replies.is_none_or(|said| said.contains("ttl=61") && said.contains("1 received")));
        if connect == "late" {
            assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::ConnectionRefused);
            assert!(answered >= Duration::from_millis(42), "{answered:?}: not before the server itself");
        }
        let [near, far] = ["g1", "g2"].map(|gateway| |metric| figure(&emulated, gateway, metric));
        assert!(near("gateway_sent") >= 1e6 && near("gateway_line") > near("gateway_sent"));
        assert!(far("gateway_sent") < 1e5, "{} B came back", far("gateway_sent"));
        assert_eq!(near("gateway_flows"), far("gateway_flows"));
        assert!(near("gateway_flows") >= 1.0 && near("gateway_cpu") > 0.0 && far("gateway_cpu") > 0.0);
        assert_eq!((near("gateway_downs"), near("gateway_flows_open")), (0.0, 0.0));
        assert!(emulated.notes.is_empty(), "{:?}", emulated.notes);
    }
}

/// kdd, section 2.2: the purpose of gateways. The same file with and without them.
#[test]
fn hosts_with_small_windows_fill_the_line_through_gateways() {
    if !possible("hosts_with_small_windows_fill_the_line_through_gateways") || !has_nft() {
        return;
    }
    let _one = one_at_a_time();
    let goodput = |split: &str| {
        let set = [("traffic.bulk.gateway", split), ("run.emulate.play", "true"), ("tcp.window", "\"8 KiB\"")];
        let (emulated, ()) = run(&set, |_| ()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(emulated.record.summary.iter().any(|row| row.metric == "gateway_flows"), split == "true");
        figure(&emulated, "bulk-1", "goodput")
    };
    let most = 8192.0 * 8.0 / 0.042;
    let (direct, split) = (goodput("false"), goodput("true"));
    assert!(direct < most, "{direct} bit/s past a window in each round trip");
    // Of 8 Mbit/s of cells the payload of datagrams of 1452 octets is 6.9.
    assert!((2.0 * most..7e6).contains(&split), "{split} bit/s through gateways, {direct} without");
}

#[test]
fn gateways_that_do_not_reach_each_other_are_reported() {
    if !possible("gateways_that_do_not_reach_each_other_are_reported") || !has_nft() {
        return;
    }
    let _one = one_at_a_time();
    let told = run(&[("link.line.loss", "\"99.99%\"")], |_| ()).unwrap_err().to_string();
    assert!(told.contains("gateway \"g1\" has not reached \"g2\" within 10 s: "), "{told}");
}
