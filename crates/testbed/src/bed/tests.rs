use cellway_apps::random::Streams;
use cellway_net::Packet;
use cellway_scenario::{Override, Plan};
use cellway_units::Ecn;

use super::*;

/// ABR with loops between switches, and conversations with a shaper and a policer.
const NET: &str = r#"version = 1
name = "net"
run = { duration = "10 s" }
buffer = { size = "30 cell", per = "port" }
tcp = { profile = "classic", variant = "sack", mss = "1000 B", window = "16 KiB" }
node = [{ name = "a", kind = "switch" }, { name = "b", kind = "switch" }]
link = [{ between = ["a", "b"], rate = "40 Mbit/s", delay = "1 ms" }]

[[traffic]]
name = "abr"
app = "bulk"
from = "a"
to = "b"
access = { rate = "oc3c", delay = "0.1 ms", framing = "atm" }
service = { class = "abr", pcr = "40 Mbit/s" }

[[traffic]]
name = "plain"
app = "bulk"
from = "a"
to = "b"
access = { rate = "oc3c", delay = "0.1 ms", framing = "atm" }

[[shaper]]
name = "spacer"
at = "a"
link = "a-b"
traffic = ["plain"]
rate = "10 Mbit/s"

[[policer]]
name = "upc"
at = "a"
link = "a-b"
traffic = ["plain"]
pcr = "30 Mbit/s"
cdvt = "10 us"
"#;

#[test]
fn closed_conversations_leave_nothing_behind() {
    for policy in ["\"per-conversation\"", "\"per-destination\""] {
        let set = [Override::new("multiplexing.channel", policy)];
        let scenario = Plan::parse_with(NET, "t.toml", &set, None).unwrap().base().clone();
        let mut bed: Testbed<u32> =
            Testbed::new(&scenario, &Streams::new(1), cellway_record::Source::Simulate).unwrap();
        let segments: Vec<PathSegment> =
            bed.slots.iter().map(|slot| bed.segments(slot.hosts, 0).unwrap().remove(0)).collect();
        let (mut now, mut delivered) = (Time::ZERO, Vec::new());
        let mut open = std::collections::VecDeque::new();
        let mut most = 0;
        for round in 0..5_000 {
            let segment = &segments[round % 2];
            let conversation = bed.open(now, segment, round as u32 % 3).unwrap();
            open.push_back(conversation);
            let [from, to] = segment.hosts;
            for _ in 0..round % 3 {
                bed.fabric.send(
                    now,
                    Packet { conversation, from, to, flow: 0, octets: 1000, ecn: Ecn::NotEct, dscp: 0, body: 0 },
                );
            }
            bed.fabric.serve(now);
            while open.len() > 9 {
                if bed.close(open[0]) {
                    open.pop_front();
                    continue;
                }
                now = bed.fabric.deadline().expect("with nothing under segment it can be closed");
                bed.fabric.advance(now, &mut delivered);
                bed.fabric.serve(now);
            }
            most = most.max(bed.control.len());
        }
        // Half of the 5 000 packets are of the group whose policer drops cells that arrive at the rate of the access
        // line.
        assert!((2_000..3_000).contains(&delivered.len()), "{} came", delivered.len());
        assert_eq!(bed.opened.len(), 10, "numbers are used again");
        // At most one queue at a source and one at the shaper for each channel, of ten conversations.
        assert!(most <= 20, "{most} queues at once");
        while let Some(now) = bed.fabric.deadline() {
            bed.fabric.advance(now, &mut delivered);
            bed.fabric.serve(now);
        }
        assert!(open.iter().all(|&conversation| bed.close(conversation)));
        assert_eq!((bed.control.len(), bed.free.len()), (0, 10));
        assert!(bed.meter.slots.iter().all(|slot| slot.abr.as_ref().is_none_or(|abr| abr.queue.is_none())));
    }
}
