//! Properties of every network and all traffic.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use std::collections::BTreeMap;

use cellway_net::{BufferSpec, Charge, Discard, Discipline, Loss, Multiplexing, PortId, Sharing, TapUnit};
use cellway_units::{Bits, Probability, Rate, Span, Time, aal5_cells};
use proptest::prelude::*;
use rig::{Rig, Shape};

/// The mapping of conversations to channels, and the order of service.
type Policy = (Multiplexing, Discipline);

fn policy() -> impl Strategy<Value = Policy> {
    let multiplexing = vec![Multiplexing::PerConversation, Multiplexing::PerType, Multiplexing::PerDestination];
    (prop::sample::select(multiplexing), prop::sample::select(vec![Discipline::RoundRobin, Discipline::Fifo]))
}

fn buffer() -> impl Strategy<Value = Option<BufferSpec>> {
    let sharing = prop_oneof![Just(Sharing::Pool), Just(Sharing::Channel), Just(Sharing::Conversation)];
    let charge = prop_oneof![Just(Charge::Cell), Just(Charge::Packet)];
    let discard = prop_oneof![Just(Discard::Frame), Just(Discard::Cell), Just(Discard::Ppd), Just(Discard::Epd)];
    let threshold = || prop_oneof![Just(None), (0u64..60).prop_map(|cells| Some(Bits(cells * 424)))];
    let spec = (1u64..60, any::<bool>(), sharing, charge, discard, threshold(), threshold()).prop_map(
        |(cells, whole_port, sharing, charge, discard, threshold, clp_threshold)| {
            let size = Bits(cells * 424);
            Some(BufferSpec { size, whole_port, sharing, charge, discard, threshold, clp_threshold })
        },
    );
    prop_oneof![Just(None), spec]
}

/// Returns numbers that look random (Marsaglia's xorshift64).
fn xorshift(seed: u64) -> impl FnMut() -> u64 + Clone + Send + Sync {
    let mut state = seed | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

type Sends = Vec<(Time, u32, u32)>;

fn sends(conversations: u32) -> impl Strategy<Value = Sends> {
    prop::collection::vec((0u64..400, 0..conversations, 1u32..1500), 1..60).prop_map(|mut sends| {
        sends.sort();
        sends.into_iter().map(|(ms, c, octets)| (Time::ZERO + Span::from_ms(ms), c, octets)).collect()
    })
}

fn rig(policy: Policy, buffers: [Option<BufferSpec>; 2], core: u64) -> Rig {
    losing(policy, buffers, core, Vec::new())
}

fn losing(
    (multiplexing, discipline): Policy,
    buffers: [Option<BufferSpec>; 2],
    core: u64,
    losses: Vec<(PortId, Loss)>,
) -> Rig {
    let access = Rate::from_bps(10_000_000);
    let shape = Shape {
        conversations: 4,
        multiplexing,
        discipline,
        core: Rate::from_bps(core),
        access,
        delay: Span::from_us(777),
        buffers,
    };
    Rig::losing(&shape, losses)
}

proptest! {
    /// Every packet sent is delivered once, or counted as lost; none remains in buffers, and packets of one
    /// conversation keep their order.
    #[test]
    fn nothing_is_lost_uncounted(
        policy in policy(),
        buffers in [buffer(), buffer()],
        core in 100_000u64..3_000_000,
        sends in sends(4),
    ) {
        let mut rig = rig(policy, buffers, core);
        let end = Time::ZERO + Span::from_secs(3600);
        rig.run(&sends, end);
        let mut last: BTreeMap<u32, u32> = BTreeMap::new();
        for (_, packet) in &rig.delivered {
            let sent = &sends[packet.body as usize];
            prop_assert_eq!((packet.conversation, packet.octets), (sent.1, sent.2));
            let previous = last.insert(packet.conversation, packet.body);
            prop_assert!(previous < Some(packet.body), "out of order");
        }
        let [first, second] = rig.there.map(|port| rig.net.port_counters(port, end));
        let discarded = rig.net.losses(rig.far).total();
        let whole = rig.delivered.len() as u64 + first.dropped_frames;
        let lost = sends.len() as u64 - whole;
        // Packets neither delivered nor refused completely are damaged; damaged frames that merge into one on their
        // channel are discarded as one, and those that no last cell ended are held.
        prop_assert!(discarded <= lost);
        prop_assert_eq!(lost == 0, discarded == 0 && rig.net.packets_held() == 0 && second.dropped_cells == 0);
        prop_assert!(rig.net.packets_held() as u64 <= lost);
        for port in rig.there {
            prop_assert_eq!(rig.net.waiting(port), 0);
            prop_assert_eq!(rig.net.buffered(port), 0);
        }
    }

    /// Conversations open and close at any time. Each packet of each is delivered, lost or inside; a close is refused
    /// while packets are in flight and frees everything once they are not.
    #[test]
    fn conversations_come_and_go_without_a_trace(
        policy in policy(),
        buffers in [buffer(), buffer()],
        core in 100_000u64..3_000_000,
        steps in prop::collection::vec((0u64..60, 0u32..4, 0u8..4, 1u32..1500), 1..120),
    ) {
        let mut rig = rig(policy, buffers, core);
        let mut open = [true; 4];
        let (mut now, mut packets, mut closed) = (Time::ZERO, 0u32, [0u64; 4]);
        for (wait, c, what, octets) in steps {
            now += Span::from_ms(wait);
            rig.run(&[], now);
            let place = c as usize;
            match (what, open[place]) {
                (0, true) => {
                    let before = (rig.net.packets_held(), rig.net.conversation_counters(c).inside());
                    if rig.net.close(c) {
                        open[place] = false;
                        let counters = rig.net.conversation_counters(c);
                        prop_assert_eq!(counters.inside(), 0);
                        prop_assert_eq!(before.0 - rig.net.packets_held(), before.1 as usize);
                        closed[place] += counters.sent;
                    } else {
                        prop_assert!(before.1 > 0);
                        prop_assert_eq!(before, (rig.net.packets_held(), rig.net.conversation_counters(c).inside()));
                    }
                }
                (_, false) => {
                    rig.open(c);
                    open[place] = true;
                }
                _ => {
                    rig.send(now, c, octets, packets);
                    rig.net.serve(now);
                    packets += 1;
                }
            }
            let inside: u64 = (0..4).map(|c| rig.net.conversation_counters(c).inside()).sum();
            prop_assert_eq!(inside, rig.net.packets_held() as u64);
        }
        rig.run(&[], now + Span::from_secs(3600));
        for c in 0..4 {
            prop_assert!(rig.net.close(c), "nothing is under way");
            if open[c as usize] {
                closed[c as usize] += rig.net.conversation_counters(c).sent;
            }
        }
        prop_assert_eq!(closed.iter().sum::<u64>(), u64::from(packets));
        prop_assert_eq!(rig.net.packets_held(), 0);
        for port in rig.there {
            prop_assert_eq!((rig.net.waiting(port), rig.net.buffered(port)), (0, 0));
        }
        // And the network carries later traffic.
        rig.open(2);
        rig.delivered.clear();
        rig.send(now + Span::from_secs(3600), 2, 40, 0);
        rig.net.serve(now + Span::from_secs(3600));
        rig.run(&[], now + Span::from_secs(7200));
        let counters = rig.net.conversation_counters(2);
        prop_assert_eq!((counters.sent, counters.delivered + counters.refused + counters.damaged), (1, 1));
    }

    /// Losses of links are counted at their location: packets before the first router, cells after it. A node receives
    /// the packets that the line before it sent without the losses, and forwards, refuses or reassembles all of them.
    #[test]
    fn what_links_lose_is_counted_there(
        policy in policy(),
        buffers in [buffer(), buffer()],
        chances in [0u32..60, 0u32..60, 0u32..60],
        seed in any::<u64>(),
        sends in sends(4),
    ) {
        // The access line of the first conversation, and both ATM links.
        let ports = [PortId(4), PortId(0), PortId(2)];
        let loss = |(k, (port, chance)): (usize, (PortId, u32))| {
            let chance: Probability = format!("{chance} %").parse().unwrap();
            (port, Loss::random(chance, xorshift(seed ^ k as u64)))
        };
        let losses = ports.into_iter().zip(chances).enumerate().map(loss).collect();
        let mut rig = losing(policy, buffers, 500_000, losses);
        prop_assert_eq!(&rig.there, &ports[1..]);
        let end = Time::ZERO + Span::from_secs(3600);
        rig.run(&sends, end);
        let of = |port| rig.net.port_counters(port, end);
        let [access, first, second] = ports.map(of);
        for (counters, chance) in [access, first, second].iter().zip(chances) {
            prop_assert!(chance > 0 || counters.lost == 0);
        }
        let refused = |port: &cellway_net::PortCounters| port.dropped_frames;
        // Cell by cell at the switch.
        prop_assert_eq!(first.cells - first.lost, second.cells + second.dropped_cells);
        // Packet by packet before the first router: all are sent, and those that are left are cut or refused there.
        prop_assert_eq!(access.packets, sends.iter().filter(|send| send.1 == 0).count() as u64);
        let cut = sends.len() as u64 - access.lost - refused(&first);
        let damaged = rig.net.losses(rig.far).total();
        let lost = cut - rig.delivered.len() as u64;
        prop_assert!(damaged <= lost);
        let cells_lost = first.lost + second.lost + first.dropped_cells + second.dropped_cells;
        prop_assert_eq!(lost == 0, cells_lost == 0);
        // Whole frames enter, cells leave: those of damaged frames are the rest.
        let cells = |octets: u32| aal5_cells(cellway_units::Bytes(u64::from(octets))).0;
        let delivered: u64 = rig.delivered.iter().map(|(_, packet)| cells(packet.octets)).sum();
        prop_assert!(delivered <= second.cells - second.lost);
        prop_assert!(lost > 0 || delivered == second.cells);
        prop_assert!(rig.net.packets_held() as u64 <= lost);
    }

    /// Without limits on buffers nothing is lost, under any policy.
    #[test]
    fn unlimited_buffers_lose_nothing(policy in policy(), sends in sends(4)) {
        let mut rig = rig(policy, [None; 2], 500_000);
        rig.run(&sends, Time::ZERO + Span::from_secs(3600));
        prop_assert_eq!(rig.delivered.len(), sends.len());
        prop_assert_eq!(rig.net.packets_held(), 0);
    }

    /// A line is never idle while a cell waits, and never carries two at once: cells leave exactly
    /// one cell time apart within a busy period.
    #[test]
    fn the_server_conserves_work(policy in policy(), sends in sends(4)) {
        let mut rig = rig(policy, [None; 2], 424_000);
        rig.net.tap(rig.far);
        let end = Time::ZERO + Span::from_secs(3600);
        rig.run(&sends, end);
        let cells: Vec<Time> = rig.net.tapped().iter()
            .filter(|r| matches!(r.unit, TapUnit::Cell(..))).map(|r| r.at).collect();
        for pair in cells.windows(2) {
            prop_assert!(pair[1] - pair[0] >= Span::from_ms(1));
        }
        let counters = rig.net.port_counters(rig.there[1], end);
        prop_assert_eq!(counters.busy, Span::from_ms(cells.len() as u64));
    }

    /// `cellsim` section 8: over any interval in which two queues stay backlogged, their cells
    /// served differ by at most one.
    #[test]
    fn backlogged_queues_are_served_alike(
        octets in prop::collection::vec(1500u32..9000, 4),
        at in prop::collection::vec(0u64..30, 4),
    ) {
        let mut rig = rig((Multiplexing::PerConversation, Discipline::RoundRobin), [None; 2], 424_000);
        rig.net.tap(rig.far);
        let mut sends: Sends = (0..4).map(|c| (Time::ZERO + Span::from_ms(at[c]), c as u32, octets[c])).collect();
        sends.sort();
        rig.run(&sends, Time::ZERO + Span::from_secs(3600));
        let order: Vec<u32> = rig.net.tapped().into_iter().filter_map(|r| match r.unit {
            TapUnit::Cell(_, packet) => Some(packet.conversation),
            TapUnit::Packet(_) => None,
        }).collect();
        // One packet each: a queue is backlogged from its first cell to its last.
        let span = |c: u32| (order.iter().position(|&x| x == c).unwrap(), order.iter().rposition(|&x| x == c).unwrap());
        for a in 0..4u32 {
            for b in 0..a {
                let (from, to) = (span(a).0.max(span(b).0), span(a).1.min(span(b).1));
                let mut lead = 0i64;
                let (mut low, mut high) = (0, 0);
                for &c in order.iter().take(to + 1).skip(from) {
                    lead += i64::from(c == a) - i64::from(c == b);
                    low = low.min(lead);
                    high = high.max(lead);
                }
                // The lead over any sub-interval is the difference of two values of `lead`.
                prop_assert!(high - low <= 1, "{a} and {b} differ by {} in {order:?}", high - low);
            }
        }
    }
}
