//! Hosts, paths between them, and conversations that open and close while the network runs.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use cellway_apps::Side;
use cellway_apps::random::Streams;
use cellway_net::{NodeId, Packet};
use cellway_scenario::{Override, Plan, Scenario};
use cellway_testbed::{OTHER_KIND, PathSegment, TcpTotals, Testbed, type_number};
use cellway_units::{Bytes, Ecn, Span, Time};

/// A LAN with a host, two routers with switches between them, and groups over them.
const NET: &str = r#"version = 1
name = "net"
run = { duration = "10 s", warmup = "1 s" }
buffer = { size = "3000 cell", per = "port" }
tcp = { profile = "classic", variant = "sack", mss = "1000 B", window = "16 KiB" }

node = [
  { name = "desk", kind = "host", host = { send = "0.1 ms" } },
  { name = "lan", kind = "router" },
  { name = "r1", kind = "router" },
  { name = "s1", kind = "switch" },
  { name = "r2", kind = "router" },
  { name = "far", kind = "host" },
]
link = [
  { between = ["desk", "lan"], rate = "ethernet", delay = "10 us" },
  { between = ["lan", "r1"], rate = "fddi", delay = "10 us" },
  { between = ["r1", "s1"], rate = "40 Mbit/s", delay = "5 ms" },
  { between = ["s1", "r2"], rate = "40 Mbit/s", delay = "1 ms" },
  { between = ["r2", "far"], rate = "fddi", delay = "10 us" },
]

[[traffic]]
name = "up"
app = "bulk"
from = "desk"
to = "far"
service = { class = "cbr", pcr = "4 Mbit/s" }

[[traffic]]
name = "talk"
app = "telnet"
from = "desk"
to = "far"

[[traffic]]
name = "ftp"
app = "ftp"
count = 2
from = "r1"
to = "r2"
access = { rate = "100 Mbit/s", delay = "10 us", framing = "packet", mtu = "2000 B" }

[[shaper]]
name = "spacer"
at = "r1"
link = "r1-s1"
traffic = ["ftp"]
rate = "8 Mbit/s"

[[policer]]
name = "upc"
at = "s1"
link = "s1-r2"
traffic = ["ftp"]
pcr = "20 Mbit/s"
cdvt = "10 us"
"#;

fn scenario(text: &str, set: &[(&str, &str)]) -> Scenario {
    let set: Vec<Override> = set.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    Plan::parse_with(text, "t.toml", &set, None).unwrap_or_else(|e| panic!("{e}")).base().clone()
}

fn bed(text: &str, set: &[(&str, &str)]) -> Testbed<u32> {
    Testbed::new(&scenario(text, set), &Streams::new(1), cellway_record::Source::Simulate).unwrap()
}

fn node(bed: &Testbed<u32>, name: &str) -> NodeId {
    bed.hosts().find(|host| *host.name == *name).unwrap().node
}

fn segment(bed: &Testbed<u32>, a: &str, b: &str, kind: u32) -> PathSegment {
    let mut segments = bed.segments([node(bed, a), node(bed, b)], kind).unwrap();
    assert_eq!(segments.len(), 1, "no gateway lies between them");
    segments.remove(0)
}

/// Sends `count` packets at once from the first host of a conversation, and runs the network until it is empty. Returns
/// the arrival times.
fn burst(bed: &mut Testbed<u32>, now: Time, conversation: u32, hosts: [NodeId; 2], count: u32) -> Vec<Time> {
    let [from, to] = hosts;
    for body in 0..count {
        bed.fabric.send(now, Packet { conversation, from, to, flow: 0, octets: 1500, ecn: Ecn::NotEct, dscp: 0, body });
    }
    bed.fabric.serve(now);
    let (mut came, mut delivered) = (Vec::new(), Vec::new());
    while let Some(now) = bed.fabric.deadline() {
        bed.fabric.advance(now, &mut delivered);
        came.extend(delivered.drain(..).map(|_| now));
        bed.fabric.serve(now);
    }
    came
}

/// Returns the cells per second of full packets (32 cells each), whose cells follow each other.
fn cell_rate(came: &[Time]) -> f64 {
    32.0 * (came.len() - 1) as f64 / (came[came.len() - 1] - came[0]).as_secs_f64()
}

#[test]
fn all_hosts_are_listed_with_their_lines() {
    let bed = bed(NET, &[]);
    let told: Vec<(&str, u64, &str)> = bed.hosts().map(|h| (&h.name[..], h.mtu.0, &h.attached[..])).collect();
    let own = [("ftp-1", 2000, "r1"), ("ftp-1-sink", 2000, "r2"), ("ftp-2", 2000, "r1"), ("ftp-2-sink", 2000, "r2")];
    assert_eq!(told, [&[("desk", 1500, "lan"), ("far", 4352, "r2")][..], &own].concat());
    // The node of a host with limits is not that of its line.
    assert!(bed.hosts().all(|host| bed.names()[&*host.name] == host.node));
}

/// Scenarios are checked before the file of a class says that it is of UDP, and channels per type with them.
#[test]
fn a_class_of_udp_is_of_the_type_with_which_it_is_checked() {
    let mut bed = bed(NET, &[("traffic.up.app", "\"workload:office.toml#voice\"")]).scenario().clone();
    let group = &mut bed.traffic[0];
    let checked = type_number(group);
    group.use_datagrams();
    assert!(group.tcp().is_none());
    assert_eq!(type_number(group), checked);
}

#[test]
fn a_path_is_that_of_the_group_of_its_kind_or_the_shortest() {
    let bed = bed(NET, &[]);
    let [bulk, telnet] = [0, 1].map(|group: usize| type_number(&bed.scenario().traffic[group]));
    let up = segment(&bed, "desk", "far", bulk);
    assert_eq!((up.group, &up.slots[..], up.mtu, up.routers), (Some(0), &[0][..], Bytes(1500), 3));
    assert_eq!((up.there().len(), up.back().len()), (6, 6), "the machine of desk, and five links");
    assert_eq!(segment(&bed, "far", "desk", bulk), up, "one path for both ends");
    assert_eq!(segment(&bed, "desk", "far", telnet).group, Some(1));
    assert_eq!(segment(&bed, "desk", "far", OTHER_KIND).group, Some(0), "the first between the two");
    assert_eq!(bed.groups_between(up.hosts), [0, 1]);
    // Hosts of one group, of different slots.
    let cross = segment(&bed, "ftp-2-sink", "ftp-1", OTHER_KIND);
    assert_eq!(cross.hosts, [node(&bed, "ftp-1"), node(&bed, "ftp-2-sink")]);
    assert_eq!((cross.group, cross.slots.len(), cross.mtu, cross.routers), (Some(2), 0, Bytes(2000), 2));
    // No group joins these: over one router, and over all.
    let near = segment(&bed, "ftp-1", "ftp-2", OTHER_KIND);
    assert_eq!((near.group, near.there().len(), near.mtu, near.routers), (None, 2, Bytes(2000), 1));
    let across = segment(&bed, "ftp-1-sink", "desk", OTHER_KIND);
    assert_eq!((across.group, across.mtu, across.routers), (None, Bytes(1500), 3));
    assert_eq!(segment(&bed, "desk", "ftp-1-sink", OTHER_KIND), across);
    let refused = bed.segments([up.hosts[0]; 2], 0).unwrap_err().to_string();
    assert!(refused.contains("the same"), "{refused}");
    let lan = bed.names()["lan"];
    let refused = bed.segments([lan, up.hosts[0]], 0).unwrap_err().to_string();
    assert!(refused.contains("both must be hosts or gateways"), "{refused}");
}

/// A conversation that a driver opens is the same as one of the scenario's own traffic.
#[test]
fn opened_at_any_time_or_planned_a_conversation_is_the_same() {
    for (policy, late) in [("per-conversation", Span::ZERO), ("per-type", Span::from_ms(777))] {
        let set = [("multiplexing.channel", &format!("{policy:?}")[..])];
        for (slot, originator, responder) in [(0, "desk", "far"), (2, "ftp-1", "ftp-1-sink")] {
            let mut planned = bed(NET, &set);
            planned.open_planned().unwrap();
            let plan = planned.slots()[slot].clone();
            let now = Time::ZERO + late;
            let expected = burst(&mut planned, now, plan.legs[0], plan.hosts, 12);

            let mut real = bed(NET, &set);
            let kind = type_number(&real.scenario().traffic[plan.group]);
            let path = segment(&real, originator, responder, kind);
            assert_eq!((path.hosts, &path.slots[..]), (plan.hosts, &[slot][..]));
            let conversation = real.open(now, &path, kind).unwrap();
            assert_eq!(conversation, 0);
            assert_eq!(burst(&mut real, now, conversation, path.hosts, 12), expected);
            assert_eq!(expected.len(), 12, "the policer passes what the shaper paces");
            let rate = if plan.group == 0 { 4e6 } else { 8e6 };
            assert!((cell_rate(&expected) * 424.0 / rate - 1.0).abs() < 0.01, "{}", cell_rate(&expected) * 424.0);
            // And once more on the channel that is reopened.
            assert!(real.close(conversation));
            let later = now + Span::from_secs(2);
            let conversation = real.open(later, &path, kind).unwrap();
            let again = burst(&mut real, later, conversation, path.hosts, 12);
            let shifted: Vec<Time> = expected.iter().map(|&at| at + Span::from_secs(2)).collect();
            assert_eq!(again, shifted);
        }
    }
}

#[test]
fn changes_apply_to_open_and_later_conversations() {
    let changes = "[[change]]\nat = \"3 s\"\nshaper = \"spacer\"\nrate = \"2 Mbit/s\"\n\
                   [[change]]\nat = \"4 s\"\ntraffic = \"up\"\npcr = \"1 Mbit/s\"\n\
                   [[change]]\nat = \"5 s\"\nlink = \"r2-far\"\nrate = \"10 Mbit/s\"\n\
                   [[change]]\nat = \"6 s\"\nlink = \"r2-far\"\ndirection = \"back\"\nrate = \"3 Mbit/s\"\n";
    let mut bed = bed(&format!("{NET}{changes}"), &[]);
    let at: Vec<Time> = bed.changes().collect();
    assert_eq!(at, [3, 4, 5, 6].map(|s| Time::ZERO + Span::from_secs(s)));
    let [ftp, up] = [("ftp-1", "ftp-1-sink"), ("desk", "far")].map(|(a, b)| segment(&bed, a, b, OTHER_KIND));
    let before = [&ftp, &up].map(|segment| bed.open(Time::ZERO, segment, OTHER_KIND).unwrap());
    at.iter().enumerate().for_each(|(index, &at)| bed.change(at, index));
    let after = [&ftp, &up].map(|segment| bed.open(at[2], segment, OTHER_KIND).unwrap());
    let mut now = at[2];
    for (segment, rate, open) in [(&ftp, 2e6, [before[0], after[0]]), (&up, 1e6, [before[1], after[1]])] {
        for conversation in open {
            now += Span::from_secs(1);
            let came = burst(&mut bed, now, conversation, segment.hosts, 10);
            assert!((cell_rate(&came) * 424.0 / rate - 1.0).abs() < 0.01, "{}", cell_rate(&came) * 424.0);
            now = *came.last().unwrap();
        }
    }
    // The last hop there is the first hop back.
    let [desk, far] = up.hosts;
    for (port, hosts, rate) in [(up.there()[5], [desk, far], 10_000_000), (up.back()[0], [far, desk], 3_000_000)] {
        now += Span::from_secs(1);
        let before = bed.fabric.port_counters(port, now).busy;
        now = burst(&mut bed, now, after[1], hosts, 1)[0];
        let bits = bed.fabric.framing(port).bits(1500).0;
        let busy = bed.fabric.port_counters(port, now).busy - before;
        assert_eq!(busy, Span::from_ps(bits * 1_000_000_000_000 / rate), "{rate} bit/s");
    }
}

/// Conversations of other kinds than their groups may meet on a channel that the groups do not share.
#[test]
fn contradicting_services_on_a_channel_are_refused_at_opening() {
    let service = "{ class = \"cbr\", pcr = \"2 Mbit/s\" }";
    let set = [("multiplexing.channel", "\"per-type\""), ("traffic.talk.service", service)];
    let mut bed = bed(NET, &set);
    let [bulk, telnet] = [0, 1].map(|group: usize| type_number(&bed.scenario().traffic[group]));
    let [up, talk] = [bulk, telnet].map(|kind| segment(&bed, "desk", "far", kind));
    let first = bed.open(Time::ZERO, &up, OTHER_KIND).unwrap();
    let expected = "traffic \"up\" and traffic \"talk\" share a channel but not their service: give both the same, or each a channel";
    for _ in 0..3 {
        assert_eq!(bed.open(Time::ZERO, &talk, OTHER_KIND).unwrap_err().to_string(), expected);
    }
    assert!(bed.close(first));
    // Alone it is accepted; and it gets a free number.
    let second = bed.open(Time::ZERO, &talk, OTHER_KIND).unwrap();
    assert!(second <= 1);
    let came = burst(&mut bed, Time::ZERO, second, talk.hosts, 10);
    assert!((cell_rate(&came) * 424.0 / 2e6 - 1.0).abs() < 0.01);
}

/// The shaper of one group and the service of another meet on a channel that the groups do not share, in either order.
#[test]
fn a_shaper_and_a_service_of_another_group_are_refused_in_either_order() {
    let text = NET.replace(
        "[[shaper]]",
        "[[traffic]]\nname = \"paced\"\napp = \"bulk\"\nfrom = \"r1\"\nto = \"r2\"\n\
        access = { rate = \"100 Mbit/s\", delay = \"10 us\", framing = \"packet\" }\n\
        service = { class = \"ubr\", pcr = \"9 Mbit/s\" }\n[[shaper]]",
    );
    let expected = "shaper \"spacer\": the service of traffic \"paced\" paces the cells of the same queue already";
    for turn in [false, true] {
        let mut bed = bed(&text, &[("multiplexing.channel", "\"per-type\"")]);
        let mut segments =
            [("ftp-1", "ftp-1-sink"), ("paced-1", "paced-1-sink")].map(|(a, b)| segment(&bed, a, b, OTHER_KIND));
        if turn {
            segments.reverse();
        }
        bed.open(Time::ZERO, &segments[0], OTHER_KIND).unwrap();
        assert_eq!(bed.open(Time::ZERO, &segments[1], OTHER_KIND).unwrap_err().to_string(), expected);
    }
}

/// Returns [`NET`] with gateways in place of two of its routers, over 50 Mbit/s and 40 Mbit/s of cells.
fn split(set: &[(&str, &str)]) -> Testbed<u32> {
    let gateway = |name: &str, peer: &str| {
        let keys = "{ rate = \"30 Mbit/s\", packet = \"4000 B\" }";
        format!("{{ name = \"{name}\", kind = \"gateway\", peer = \"{peer}\", gateway = {keys} }}")
    };
    let text = NET.replace("{ name = \"r1\", kind = \"router\" }", &gateway("r1", "r2"));
    // The gateway paces where the router has a shaper.
    let text = text.replace("at = \"r1\"\nlink = \"r1-s1\"", "at = \"s1\"\nlink = \"s1-r2\"");
    bed(&text.replace("{ name = \"r2\", kind = \"router\" }", &gateway("r2", "r1")), set)
}

#[test]
fn gateways_divide_a_path_into_segments() {
    let bed = split(&[]);
    let gateways: Vec<(&str, NodeId, u64)> = bed.gateways().map(|g| (&g.name[..], g.node, g.mtu.0)).collect();
    let [("r1", r1, 9180), ("r2", r2, 9180)] = gateways[..] else { panic!("{gateways:?}") };
    assert!(bed.hosts().all(|host| &*host.name != "r1"), "a gateway is no host");
    let hosts = ["desk", "far"].map(|name| node(&bed, name));
    let there = bed.segments(hosts, OTHER_KIND).unwrap();
    let ends: Vec<[NodeId; 2]> = there.iter().map(|segment| segment.hosts).collect();
    assert_eq!(ends, [[hosts[0], r1], [r1, r2], [r2, hosts[1]]]);
    assert_eq!(there.iter().map(|segment| segment.mtu.0).collect::<Vec<_>>(), [1500, 9180, 4352]);
    // The router of the LAN is the only one on the path; no gateway counts at the ends of its own segments.
    assert_eq!(there.iter().map(|segment| segment.routers).collect::<Vec<_>>(), [1, 0, 0]);
    assert_eq!(there.iter().map(|segment| segment.group).collect::<Vec<_>>(), [Some(0), None, Some(0)]);
    assert_eq!(there.iter().map(|segment| &segment.slots[..]).collect::<Vec<_>>(), [&[0][..], &[], &[0]]);
    // The processor of desk, two links, the inner side of the gateway; inside, two links, inside; one link.
    assert_eq!(
        there.iter().map(|segment| (segment.there().len(), segment.back().len())).collect::<Vec<_>>(),
        [(4, 4), (4, 4), (2, 2)]
    );
    let mut back = bed.segments([hosts[1], hosts[0]], OTHER_KIND).unwrap();
    back.reverse();
    assert_eq!(back, there);
    // The segment between the two is that of the plan, for any caller.
    let own = bed.segments([r2, r1], OTHER_KIND).unwrap();
    assert_eq!((own.len(), own[0].pair, own[0].hosts, own[0].there()), (1, Some(0), [r1, r2], there[1].there()));
    assert!(there.iter().all(|segment| segment.pair.is_none()));
    // A gateway and a host behind the other one.
    let ends: Vec<[NodeId; 2]> = bed.segments([r1, hosts[1]], 0).unwrap().iter().map(|segment| segment.hosts).collect();
    assert!(
        ends.len() == 2 && ends[0].contains(&r1) && ends[0].contains(&r2) && ends[1].contains(&hosts[1]),
        "{ends:?}"
    );
    // Hosts of a group's own hang at the gateways.
    let own = ["ftp-1", "ftp-1-sink"].map(|name| node(&bed, name));
    let ends: Vec<[NodeId; 2]> = bed.segments(own, OTHER_KIND).unwrap().iter().map(|segment| segment.hosts).collect();
    assert_eq!(ends, [[own[0], r1], [r1, r2], [r2, own[1]]]);
}

#[test]
fn a_group_that_no_gateway_splits_has_its_service_on_all_segments() {
    let bed = split(&[("traffic.up.gateway", "false")]);
    let hosts = ["desk", "far"].map(|name| node(&bed, name));
    let there = bed.segments(hosts, type_number(&bed.scenario().traffic[0])).unwrap();
    assert_eq!(there.iter().map(|segment| segment.group).collect::<Vec<_>>(), [Some(0); 3]);
}

#[test]
fn packets_between_gateways_are_paced_at_their_rate_on_one_channel() {
    let mut bed = split(&[("traffic.ftp.gateway", "false")]);
    let ends: Vec<NodeId> = bed.gateways().map(|gateway| gateway.node).collect();
    let segment = bed.segments([ends[0], ends[1]], OTHER_KIND).unwrap().remove(0);
    let first = bed.open(Time::ZERO, &segment, OTHER_KIND).unwrap();
    let second = bed.open(Time::ZERO, &segment, 0).unwrap();
    assert_eq!(bed.fabric.channels(first, 0), bed.fabric.channels(second, 0));
    let came = burst(&mut bed, Time::ZERO, first, segment.hosts, 50);
    let rate = cell_rate(&came) * 424.0;
    assert!((29.9e6..30.1e6).contains(&rate), "{rate} bit/s of cells");
    let segments = [[node(&bed, "desk"), ends[0]], [ends[1], node(&bed, "far")]];
    for hosts in segments {
        assert_eq!(bed.segments(hosts, 0).unwrap().len(), 1);
    }
}

#[test]
fn the_meter_records_the_reports_of_any_driver() {
    let mut bed = bed(NET, &[]);
    let end = Time::ZERO + Span::from_secs(10);
    let mut told = 0;
    while bed.meter.next() <= end {
        let now = bed.meter.next();
        bed.meter.tick(now, &mut bed.fabric);
        bed.meter.delivered(2, Side::Responder, 1000);
        bed.meter.tcp(2, TcpTotals { retransmissions: 1, ..TcpTotals::default() });
        // The warm-up ends with a tick, and reports at its end count.
        told += u64::from(now >= Time::ZERO + Span::from_secs(1));
    }
    assert!(bed.meter.ports().any(|port| &*port.subject == "r1>s1" && port.unit.symbol() == "cell"));
    bed.meter.delay(end, 1, Span::from_ms(5));
    bed.meter.conversation(2, true);
    let summary = bed.finish(end).0.finish();
    let figure = |subject: &str, metric: &str| {
        summary.iter().find(|row| &*row.subject == subject && row.metric == metric).unwrap().value
    };
    assert_eq!(figure("ftp-1", "goodput"), told as f64 * 8000.0 / 9.0);
    assert_eq!(figure("ftp-1", "retransmissions"), told as f64);
    assert_eq!((figure("ftp-1", "conversations"), figure("ftp-1", "failures")), (1.0, 1.0));
    assert_eq!(figure("talk-1", "delay_mean"), 0.005);
    assert_eq!(figure("r1>s1", "cells"), 0.0);
}
