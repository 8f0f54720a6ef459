//! Packets of gateways.

use super::*;

/// Two gateways on the path; a router is between the client and the first.
const GATEWAYS: &str = r#"version = 1
name = "net"
run = { duration = "1000 s" }
buffer = { size = "2000 cell", per = "port" }
tcp = { profile = "classic", variant = "sack", mss = "1000 B", window = "8 KiB" }
node = [
  { name = "client", kind = "host" },
  { name = "lan", kind = "router" },
  { name = "g1", kind = "gateway", peer = "g2", gateway = { rate = "30 Mbit/s", packet = "1000 B" } },
  { name = "g2", kind = "gateway", peer = "g1", gateway = { rate = "30 Mbit/s", packet = "1000 B" } },
  { name = "server", kind = "host" },
]
link = [
  { between = ["client", "lan"], rate = "100 Mbit/s", delay = "1 ms", framing = "packet", mtu = "3000 B" },
  { between = ["lan", "g1"], rate = "100 Mbit/s", delay = "1 ms", framing = "packet", mtu = "3000 B" },
  { name = "line", between = ["g1", "g2"], rate = "42.4 Mbit/s", delay = "5 ms", framing = "atm", mtu = "1400 B" },
  { between = ["g2", "server"], rate = "100 Mbit/s", delay = "1 ms", framing = "packet", mtu = "3000 B" },
]

[[traffic]]
name = "bulk"
app = "bulk"
from = "client"
to = "server"
"#;

/// The gateways of [`GATEWAYS`], behind its two hosts.
const NEAR: HostIndex = HostIndex(2);
const FAR: HostIndex = HostIndex(3);

fn gateways() -> Engine {
    let plan = Plan::parse_with(GATEWAYS, "t.toml", &[], None).unwrap_or_else(|e| panic!("{e}"));
    let testbed = Testbed::new(plan.base(), &Streams::new(1), cellway_record::Source::Emulate).unwrap();
    let hosts = testbed.hosts().chain(testbed.gateways()).enumerate();
    let hosts: Vec<EmulatedHost> =
        hosts.map(|(place, host)| EmulatedHost::new(&testbed, host, v4(HostIndex(place)), Behind::Nothing)).collect();
    assert_eq!(hosts.iter().map(|host| &host.name[..]).collect::<Vec<_>>(), ["client", "server", "g1", "g2"]);
    Engine::new(testbed, hosts, Limits::default())
}

#[test]
fn a_packet_goes_from_gateway_to_gateway() {
    let mut engine = gateways();
    let mut now = us(1);
    // Both gateways forward the packets that they receive, as a router would: both directions of the conversation.
    for (from, to, hops) in [(CLIENT, SERVER, [NEAR, FAR, SERVER]), (SERVER, CLIENT, [FAR, NEAR, CLIENT])] {
        let ports = if from == CLIENT { (5000, 80) } else { (80, 5000) };
        let mut packet = udp(from, to, ports, 1000);
        let mut at = from;
        for hop in hops {
            engine.send(now, at, &packet);
            let due = engine.out(now + Span::from_secs(1));
            assert_eq!(due.iter().map(|due| due.host).collect::<Vec<_>>(), [hop], "from {at:?}");
            // 80 us on each line of packets; 21 cells of 10 us.
            let behind_router = [at, hop].contains(&CLIENT);
            let takes = match (behind_router, [at, hop].contains(&SERVER)) {
                (true, _) => Span::from_us(2 * (1000 + 80)),
                (_, true) => Span::from_us(1000 + 80),
                _ => Span::from_us(5000 + 210),
            };
            assert_eq!(due[0].at, now + takes, "from {at:?} to {hop:?}");
            // The network decrements the time to live at a router; the gateways do so themselves.
            let ttl = packet[8] - u8::from(behind_router);
            assert_eq!(due[0].octets, with(packet, |packet| packet[8] = ttl));
            packet = due[0].octets.clone();
            (at, now) = (hop, now + Span::from_secs(2));
        }
    }
    assert_eq!(engine.channels(), 3, "one conversation on each of three segments");
    assert!(engine.refused().is_empty());
}

#[test]
fn a_gateway_sends_for_the_hosts_behind_its_peer() {
    let mut engine = gateways();
    let first = |engine: &mut Engine, now: Time| engine.out(now + Span::from_ms(50)).first().map(|due| due.host);
    // The near one answers the client as the server, the far one calls the server as the client.
    for (now, at, from, to) in [(1, NEAR, SERVER, CLIENT), (100_000, FAR, CLIENT, SERVER)] {
        engine.send(us(now), at, &udp(from, to, (1, 2), 100));
        assert_eq!(first(&mut engine, us(now)), Some(to));
    }
    // They send packets of their own: to each other, and to hosts behind the other.
    for (now, from, to, next) in
        [(200_000, NEAR, FAR, FAR), (300_000, NEAR, SERVER, FAR), (400_000, NEAR, CLIENT, CLIENT)]
    {
        engine.send(us(now), from, &udp(from, to, (4433, 4433), 100));
        assert_eq!(first(&mut engine, us(now)), Some(next));
    }
    assert!(engine.refused().is_empty());
    assert_eq!(engine.channels(), 5);
}

#[test]
fn the_network_answers_next_to_a_gateway_as_next_to_a_host() {
    let mut engine = gateways();
    let df = with(udp(CLIENT, SERVER, (1, 2), 2000), |packet| packet[6] = 0x40);
    // On the first segment it fits. The gateway forwards it, and has to carry the answer to the client.
    engine.send(us(1), CLIENT, &df);
    assert_eq!(engine.out(us(50_000)).iter().map(|due| due.host).collect::<Vec<_>>(), [NEAR]);
    engine.send(us(60_000), NEAR, &df);
    let due = engine.out(us(100_000));
    let answer = Packet::parse(&due[0].octets).unwrap();
    assert_eq!((due.len(), due[0].host, answer.destination()), (1, NEAR, IpAddr::V4(v4(CLIENT))));
    assert_eq!((answer.payload()[0], answer.payload()[1], &answer.payload()[6..8]), (3, 4, &1400u16.to_be_bytes()[..]));
    engine.send(us(110_000), NEAR, &due[0].octets);
    assert_eq!(engine.out(us(150_000)).iter().map(|due| due.host).collect::<Vec<_>>(), [CLIENT]);
    // A packet whose time to live ends at the gateway is delivered to it.
    let last = with(udp(SERVER, CLIENT, (1, 2), 100), |packet| packet[8] = 1);
    engine.send(us(200_000), SERVER, &last);
    assert_eq!(engine.out(us(250_000)).iter().map(|due| due.host).collect::<Vec<_>>(), [FAR]);
    assert_eq!(engine.refused(), [("too-big", 1)]);
}
