//! A recording of loads by hand: trains after a pause, the rest of a long one, and a backlog.
#![allow(missing_docs, clippy::unwrap_used)]

use cellway_net::{
    Class, ConversationSpec, Encapsulation, Fabric, Framing, LightLoad, LinkSpec, Multiplexing, NodeId, NodeKind,
    Packet, PortId, PortSpec, RateSchedule, Schedule,
};
use cellway_spec::{Train, Trains};
use cellway_units::{Ecn, Rate, Span, Time};

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// A network of two hosts, and the port from one to the other. The light load has four opportunities, and the base delay
/// goes within a second from one to another of `delays` (ms); the heavy load has a packet in each ms, and none in outages.
fn network(delays: [u64; 2], outages: &[(u64, u64)]) -> (Fabric<usize>, [NodeId; 2], PortId) {
    let train = |at: u64, delay| Train {
        at: us(1000 * at),
        delay: Span::from_ms(delay),
        opportunities: [0, 0, 1, 3].map(Span::from_ms).to_vec(),
    };
    let trains = Trains::new(vec![train(0, delays[0]), train(1000, delays[1])]);
    let outages = outages.iter().flat_map(|&(start, end)| [(us(start), true), (us(end), false)]).collect();
    let mut spec = LinkSpec::new(Rate::from_bps(11_200_000), Span::ZERO, Framing::Packet);
    spec.ports[0] = PortSpec {
        light: Some(LightLoad { trains, repeats: true }),
        schedule: Some(RateSchedule::new(Schedule::once(Vec::new()), Schedule::once(outages))),
        ..PortSpec::new(Rate::from_bps(11_200_000), Span::ZERO)
    };
    let mut net = Fabric::new(Multiplexing::PerConversation, Encapsulation::LlcSnap);
    let [a, b] = [0; 2].map(|_| net.add_node(NodeKind::Host));
    let [there, back] = net.add_link([a, b], spec);
    let paths: [&[_]; 2] = [&[there], &[back]];
    let spec = ConversationSpec { conversation: 0, kind: 0, hosts: [a, b], paths, share: None, class: Class::Ubr };
    net.open(spec).unwrap();
    (net, [a, b], there)
}

/// Sends packets of 1400 B from one host to another at these instants (us); returns the arrivals (us). The base delay goes
/// from 20 ms to 40 ms.
fn arrivals(sends: &[u64], outages: &[(u64, u64)], steps: bool) -> Vec<u64> {
    let (mut net, [a, b], there) = network([20, 40], outages);
    let (mut delivered, mut found) = (Vec::new(), Vec::new());
    let mut sends = sends.iter().enumerate().peekable();
    loop {
        let send = sends.peek().map_or(Time::MAX, |(_, at)| us(**at));
        let reached = if steps { None } else { net.run(send, &mut delivered) };
        let now = reached.unwrap_or_else(|| {
            let now = net.deadline().unwrap_or(Time::MAX).min(send);
            if now != Time::MAX {
                net.advance(now, &mut delivered);
            }
            now
        });
        if now == Time::MAX {
            break;
        }
        for delivery in delivered.drain(..) {
            assert_eq!(delivery.packet.body, found.len(), "packets arrive in order");
            found.push(now.since(Time::ZERO).as_ps() / 1_000_000);
        }
        while let Some((body, _)) = sends.next_if(|(_, at)| us(**at) == now) {
            let packet =
                Packet { conversation: 0, from: a, to: b, octets: 1400, flow: 0, ecn: Ecn::NotEct, dscp: 0, body };
            net.send(now, packet);
        }
        net.serve(now);
    }
    assert_eq!(net.packets_held(), 0);
    let counters = net.port_counters(there, Time::MAX);
    assert_eq!(counters.packets, found.len() as u64, "those that pass the queue count as sent");
    found
}

/// Both ways to drive the network find the same.
fn both(sends: &[u64], outages: &[(u64, u64)]) -> Vec<u64> {
    let found = arrivals(sends, outages, true);
    assert_eq!(found, arrivals(sends, outages, false));
    found
}

/// Four packets find what the recorded train found. The others come to the queue behind them, at 23 ms, and take 1 ms each.
#[test]
fn a_train_passes_the_queue_and_its_rest_does_not() {
    assert_eq!(both(&[0; 7], &[]), [20_000, 20_000, 21_000, 23_000, 24_000, 25_000, 26_000]);
}

/// A packet at 4 ms begins a train, with 20.08 ms; but then the queue holds the rest of the first until 26 ms. One at 7 ms
/// comes at 27.14 ms, when the line is idle again. One at 500 ms has the delay half-way between two trains.
#[test]
fn a_train_is_queued_while_the_queue_holds_others() {
    let found = both(&[0, 0, 0, 0, 0, 0, 0, 4000, 7000, 500_000], &[]);
    assert_eq!(found[6..], [26_000, 27_000, 27_140, 530_000]);
}

/// Two packets in each ms for 300 ms: the first four have an opportunity, the others the rate of the heavy load, one in
/// each ms, from the end of the train on.
#[test]
fn a_backlog_has_the_rate_of_the_heavy_load() {
    let sends: Vec<u64> = (0..600).map(|number| 500 * number).collect();
    let found = both(&sends, &[]);
    assert_eq!(found[..4], [20_000, 20_500, 21_000, 23_000]);
    for pair in found[3..].windows(2) {
        assert_eq!(pair[1] - pair[0], 1000, "{found:?}");
    }
}

/// In an outage from 19 ms to 30 ms no packet passes: all four wait for its end, and take 1 ms each.
#[test]
fn a_train_waits_for_the_end_of_an_outage() {
    assert_eq!(both(&[0; 4], &[(19_000, 30_000)]), [31_000, 32_000, 33_000, 34_000]);
}

/// 1100 packets of 65,535 B within the delay of a minute: 64 MiB have place for 1024 of them before the queue. The others
/// count as dropped, and all that were accepted arrive.
#[test]
fn a_flood_before_the_queue_has_a_limit() {
    let (mut net, [a, b], there) = network([60_000; 2], &[]);
    for body in 0..1100 {
        let packet =
            Packet { conversation: 0, from: a, to: b, octets: 65_535, flow: 0, ecn: Ecn::NotEct, dscp: 0, body };
        net.send(us(0), packet);
    }
    net.serve(us(0));
    assert_eq!(net.packets_held(), 1024);
    assert_eq!(net.conversation_counters(0).refused, 76);
    assert_eq!(net.port_counters(there, us(0)).dropped_frames, 76);
    let mut delivered = Vec::new();
    while let Some(now) = net.run(Time::MAX, &mut delivered) {
        net.serve(now);
    }
    let found: Vec<usize> = delivered.iter().map(|delivery| delivery.packet.body).collect();
    assert_eq!(found, (0..1024).collect::<Vec<_>>());
    assert_eq!((net.packets_held(), net.conversation_counters(0).refused), (0, 76));
}
