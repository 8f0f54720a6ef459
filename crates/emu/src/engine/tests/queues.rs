//! Packet lines with queue disciplines, changes of their rates, and captures.

use super::*;

/// All hosts are on packet lines, with RED on a slow one between the routers. The average is the current queue, so that
/// RED drops or marks a packet that finds two others in it (the probability there is 1 - 10^-14), and no other.
const RED: &str = r#"version = 1
name = "red"
run = { duration = "1000 s" }
tcp = { profile = "classic", variant = "sack", mss = "1000 B", window = "8 KiB" }
node = [
  { name = "near", kind = "router" },
  { name = "far", kind = "router" },
  { name = "client", kind = "host" },
  { name = "server", kind = "host" },
  { name = "third", kind = "host" },
]
link = [
  { between = ["client", "near"], rate = "1 Gbit/s", delay = "0 s", framing = "packet" },
  { name = "line", between = ["near", "far"], rate = "8 Mbit/s", delay = "5 ms", framing = "packet" },
  { between = ["far", "server"], rate = "1 Gbit/s", delay = "0 s", framing = "packet" },
  { between = ["third", "near"], rate = "1 Gbit/s", delay = "0 s", framing = "packet" },
]

[buffer]
size = "1 MB"
per = "port"
count = "packet"
queue = "red"

[buffer.red]
min = "1 packet"
max = "2 packet"
weight = "99.9999999999999 %"
max-p = "99.9999999999999 %"
gentle = false
ecn = true

[[traffic]]
name = "bulk"
app = "bulk"
from = "client"
to = "server"
"#;

/// The same network with another queue discipline.
fn network(queue: &str) -> String {
    let (before, rest) = RED.split_once("queue = \"red\"").unwrap();
    let (_, traffic) = rest.split_once("[[traffic]]").unwrap();
    format!("{before}{queue}\n\n[[traffic]]{traffic}")
}

/// A packet of 1000 B with `field` as its ECN field, in IPv4 and in IPv6.
fn packets(field: u8) -> [Vec<u8>; 2] {
    let v4 = with(udp(CLIENT, SERVER, (7, 8), 1000), |packet| packet[1] = 0b1011_1000 | field);
    let mut v6 = udp_v6(CLIENT, SERVER, 1000);
    v6[1] |= field << 4;
    [v4, v6]
}

/// Returns the packets that leave the queue of a burst of `count` times `packet`.
fn burst(engine: &mut Engine, packet: &[u8], count: usize) -> Vec<Due> {
    let start = engine.now + Span::from_ms(1000);
    (0..count).for_each(|_| engine.send(start, CLIENT, packet));
    engine.out(start + Span::from_ms(900))
}

/// Of four packets in one burst the first goes to the line, and the others find queues of 0, 1 and 2 packets.
#[test]
fn a_queue_marks_capable_packets_and_drops_others() {
    for (field, is_capable) in [(0b00u8, false), (0b01, true), (0b10, true)] {
        let mut engine = engine_of(RED, &[], Limits::default());
        for sent in packets(field) {
            let out = burst(&mut engine, &sent, 4);
            let fields: Vec<u8> = out.iter().map(|due| ecn(&due.octets).bits()).collect();
            if is_capable {
                assert_eq!(fields, [field, field, field, 0b11], "{field:02b}");
            } else {
                assert_eq!(fields, [field; 3], "{field:02b}");
            }
            for Due { octets, .. } in &out {
                // The header checksum is right, and nothing but the field and the hop limit has changed.
                let packet = recognise(octets).unwrap().packet;
                let (ours, theirs) = (packet.payload(), recognise(&sent).unwrap().packet);
                assert_eq!((ours, packet.source()), (theirs.payload(), theirs.source()));
                let mut again = octets.clone();
                set_ecn(&mut again, ecn(&sent));
                let hop_limit = if octets[0] >> 4 == 4 { 8 } else { 7 };
                let same = |i: usize| i == hop_limit || (octets[0] >> 4 == 4 && (i == 10 || i == 11));
                assert!((0..sent.len()).all(|i| same(i) || again[i] == sent[i]));
            }
        }
    }
}

/// Of six packets of 1 ms in one burst the first goes to the line. The second has waited too long and begins the interval of
/// 1 us, with 4 behind it. The third is marked, and the fourth, with 2 behind it; or the third is dropped and the fourth
/// sent in its place. With at most 1500 B behind it none has waited too long.
#[test]
fn controlled_delay_marks_capable_packets_and_drops_others() {
    let text = network("queue = \"codel\"\ncodel = { target = \"1 us\", interval = \"1 us\", ecn = true }");
    for (field, is_capable) in [(0b00u8, false), (0b01, true), (0b10, true)] {
        let mut engine = engine_of(&text, &[], Limits::default());
        for sent in packets(field) {
            let out = burst(&mut engine, &sent, 6);
            let fields: Vec<u8> = out.iter().map(|due| ecn(&due.octets).bits()).collect();
            if is_capable {
                assert_eq!(fields, [field, field, 0b11, 0b11, field, field], "{field:02b}");
            } else {
                assert_eq!(fields, [field; 5], "{field:02b}");
            }
        }
    }
}

/// Eight packets of one port in one burst, then one of another. Behind one queue the last is last; with a queue for each flow
/// it waits for the packet on the line and, in a round of 1500 B, for two others at most.
#[test]
fn fair_queues_tell_flows_by_their_ports() {
    for (discipline, place) in [("fifo", 8), ("fq-codel", 2), ("drr", 2)] {
        let mut engine = engine_of(&network(&format!("queue = \"{discipline}\"")), &[], Limits::default());
        let start = us(1_000_000);
        (0..8).for_each(|_| engine.send(start, CLIENT, &udp(CLIENT, SERVER, (7, 8), 1000)));
        engine.send(start, CLIENT, &udp(CLIENT, SERVER, (9, 8), 1000));
        let out = engine.out(start + Span::from_ms(900));
        let ports: Vec<u8> = out.iter().map(|due| recognise(&due.octets).unwrap().packet.payload()[1]).collect();
        assert_eq!(ports.len(), 9);
        assert_eq!(ports.iter().position(|port| *port == 9), Some(place), "{discipline}: {ports:?}");
    }
}

/// Four packets with ECT(0) and then three with ECT(1): those have the queue with little delay. The second and the third of
/// them wait for longer than the threshold, for which they are marked on their way.
#[test]
fn coupled_queues_send_l4s_packets_first() {
    let mut engine = engine_of(&network("queue = \"dualpi2\""), &[], Limits::default());
    let start = us(1_000_000);
    let [[classic, _], [low, _]] = [0b10, 0b01].map(packets);
    (0..4).for_each(|_| engine.send(start, CLIENT, &classic));
    (0..3).for_each(|_| engine.send(start, CLIENT, &low));
    let out = engine.out(start + Span::from_ms(900));
    let fields: Vec<u8> = out.iter().map(|due| ecn(&due.octets).bits()).collect();
    // 1000 B take 1 ms, and a threshold of 1 ms is raised to the 1.5 ms of a full packet. They wait for 1, 2 and 3 ms.
    assert_eq!(fields, [0b10, 0b01, 0b11, 0b11, 0b10, 0b10, 0b10]);
}

/// Buffers of 3000 B: the packet on the line and three that wait; drops at the head keep the last three.
#[test]
fn a_full_queue_drops_the_oldest_packets() {
    for (drop, kept) in [("tail", [1, 2, 3, 4]), ("head", [1, 4, 5, 6])] {
        let queue = format!("queue = \"fifo\"\nfifo = {{ drop = \"{drop}\" }}");
        let text = network(&queue).replace("size = \"1 MB\"", "size = \"3000 B\"");
        let mut engine = engine_of(&text, &[], Limits::default());
        let start = us(1_000_000);
        (1..=6).for_each(|port| engine.send(start, CLIENT, &udp(CLIENT, SERVER, (port, 8), 1000)));
        let out = engine.out(start + Span::from_ms(900));
        let ports: Vec<u8> = out.iter().map(|due| recognise(&due.octets).unwrap().packet.payload()[1]).collect();
        assert_eq!(ports, kept, "{drop}");
    }
}

/// 1000 B take 8 us on the fast links, and the line of 8 Mbit/s starts 8 us after they were sent. It changes to 4 Mbit/s after
/// 492 us of that, 3936 bits; the other 4064 take 1016 us.
#[test]
fn a_packet_on_the_line_at_a_change_of_its_rate_is_sent_in_two_parts() {
    let change = "\n[[change]]\nat = \"1000500 us\"\nlink = \"line\"\nrate = \"4 Mbit/s\"\n";
    let mut engine = engine_of(&(RED.to_owned() + change), &[], Limits::default());
    let mut delay = |at: Time| {
        engine.send(at, CLIENT, &udp(CLIENT, SERVER, (1, 2), 1000));
        engine.out(at + Span::from_ms(50))[0].at - at
    };
    let on_line = |us: u64| Span::from_us(8 + us + 5000 + 8);
    assert_eq!(delay(us(500_000)), on_line(1000));
    assert_eq!(delay(us(1_000_000)), on_line(492 + 1016));
    assert_eq!(delay(us(1_500_000)), on_line(2000));
}

/// A capture in front of the queue has the packets as they were sent, one behind it those that were marked.
#[test]
fn captures_have_the_marks_of_the_queues_before_them() {
    for (node, marked) in [("client", 0), ("server", 1)] {
        let mut engine = engine_of(RED, &[], Limits::default());
        let (mut file, mut records) = (Vec::new(), 0);
        let mut capture = Capture::new(node, &mut file, &mut records);
        capture.begin(&mut engine.testbed).unwrap();
        for _ in 0..4 {
            engine.send(us(1), CLIENT, &with(udp(CLIENT, SERVER, (7, 8), 1000), |packet| packet[1] |= 0b10));
        }
        assert_eq!(engine.out(us(900_000)).len(), 4);
        engine.write_capture(&mut capture).unwrap();
        capture.finish().unwrap();
        assert_eq!(records, 4);
        // Each record has 16 octets before those of the packet.
        let marks = file[24..].chunks(16 + 1000).filter(|record| ecn(&record[16..]).bits() == 0b11).count();
        assert_eq!(marks, marked, "{node}");
    }
}
