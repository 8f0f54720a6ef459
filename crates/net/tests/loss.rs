//! Loss on links, unit by unit, with draws that are made by hand.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use cellway_net::{Direction, Discipline, Loss, LossCounters, Multiplexing, PortId, RandomBits, TapUnit};
use cellway_units::{Probability, Rate, Span, Time};
use rig::{Rig, Shape};

fn rig() -> Rig {
    losing_at(Vec::new())
}

fn losing_at(losses: Vec<(PortId, Loss)>) -> Rig {
    let shape = Shape {
        conversations: 1,
        multiplexing: Multiplexing::PerConversation,
        discipline: Discipline::RoundRobin,
        core: Rate::from_bps(424_000),
        access: Rate::from_bps(10_000_000),
        delay: Span::from_ms(5),
        buffers: [None; 2],
    };
    Rig::losing(&shape, losses)
}

/// The lines of the path: from the host, both ATM links, to the far host. The second and the last have no delay.
const THERE: [PortId; 2] = [PortId(0), PortId(2)];
const HOST: PortId = PortId(4);
const TO_FAR_HOST: PortId = PortId(7);

fn half() -> Probability {
    "50%".parse().unwrap()
}

/// Draws that lose the units of these places, from 0, at a chance of one half.
fn losing(places: &[usize]) -> impl RandomBits {
    let places = places.to_vec();
    let mut next = 0;
    move || {
        next += 1;
        if places.contains(&(next - 1)) { (1 << 63) - 1 } else { 1 << 63 }
    }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// Returns ten packets of 100 octets, three cells each, far apart.
fn ten() -> Vec<(Time, u32, u32)> {
    (0..10).map(|i| (at(100 * i), 0, 100)).collect()
}

fn numbers(rig: &Rig) -> Vec<u32> {
    rig.delivered.iter().map(|(_, packet)| packet.body).collect()
}

#[test]
fn packets_are_lost_whole_and_the_others_come_when_they_would() {
    let mut whole = rig();
    whole.run(&ten(), at(5000));
    assert_eq!(whole.delivered.len(), 10);
    for port in [HOST, TO_FAR_HOST] {
        let mut rig = losing_at(vec![(port, Loss::random(half(), losing(&[0, 4, 9])))]);
        rig.run(&ten(), at(5000));
        assert_eq!(numbers(&rig), [1, 2, 3, 5, 6, 7, 8]);
        let left = whole.delivered.iter().filter(|(_, packet)| ![0, 4, 9].contains(&packet.body));
        assert_eq!(rig.delivered, left.cloned().collect::<Vec<_>>());
        let counters = rig.net.port_counters(port, at(5000));
        assert_eq!((counters.packets, counters.lost), (10, 3), "what is lost has left the line");
        assert_eq!(rig.net.losses(rig.far), LossCounters::default());
        assert_eq!(rig.net.packets_held(), 0);
    }
}

/// Of frame 1 the first cell, of frame 3 the one in the middle, of frame 5 all three, of frame 7 the last, which takes
/// the next frame with it.
#[test]
fn a_frame_that_lost_a_cell_is_discarded_at_reassembly() {
    let lost = [3, 10, 15, 16, 17, 23];
    for link in 0..2 {
        let mut rig = losing_at(vec![(THERE[link], Loss::random(half(), losing(&lost)))]);
        assert_eq!(rig.there, THERE);
        rig.run(&ten(), at(5000));
        assert_eq!(numbers(&rig), [0, 2, 4, 6, 9]);
        // No cell of frame 5 reaches the far end.
        assert_eq!(rig.net.losses(rig.far), LossCounters { length: 3, ..LossCounters::default() });
        let [first, second] = rig.there.map(|port| rig.net.port_counters(port, at(5000)));
        assert_eq!([first.lost, second.lost][link], 6);
        assert_eq!((first.cells, second.cells), (30, if link == 0 { 24 } else { 30 }));
        assert_eq!(rig.net.packets_held(), 0);
    }
}

/// A capture at the sender has the lost cells, one at the receiver has not.
#[test]
fn what_is_lost_has_left_and_never_arrives() {
    for (near, seen) in [(true, 30), (false, 28)] {
        let mut rig = losing_at(vec![(THERE[0], Loss::random(half(), losing(&[7, 8])))]);
        let node = if near { rig.near } else { rig.switch };
        rig.net.tap(node);
        rig.run(&ten(), at(5000));
        let wanted = if near { Direction::Out } else { Direction::In };
        let port = rig.there[0];
        let records = rig.net.tapped().into_iter().filter(|r| r.port == port && r.direction == wanted);
        assert_eq!(records.filter(|r| matches!(r.unit, TapUnit::Cell(..))).count(), seen);
    }
}

#[test]
fn draws_are_made_for_each_unit_and_by_each_copy() {
    let mut first = losing_at(vec![(HOST, Loss::random(half(), losing(&[2, 8])))]);
    first.run(&ten()[..5], at(450));
    let mut second = Rig { net: first.net.clone(), hosts: first.hosts.clone(), delivered: Vec::new(), ..rig() };
    for rig in [&mut first, &mut second] {
        rig.delivered.clear();
        let later: Vec<_> = (5..10).map(|i| (at(100 * i), 0, 100)).collect();
        rig.run(&later, at(5000));
        // Packets are numbered anew.
        assert_eq!(numbers(rig), [0, 1, 2, 4]);
    }
}

/// The numbers count from the first unit that leaves the line.
#[test]
fn listed_units_are_lost() {
    let mut rig = losing_at(vec![(HOST, Loss::default().with_listed(vec![1, 5, 10, 11]))]);
    rig.run(&ten(), at(5000));
    assert_eq!(numbers(&rig), [1, 2, 3, 5, 6, 7, 8]);
    assert_eq!(rig.net.port_counters(HOST, at(5000)).lost, 3);
    assert_eq!(rig.net.packets_held(), 0);
}

/// With a loss probability each unit draws, listed or not.
#[test]
fn a_list_shifts_no_draw() {
    for (listed, chance, expected) in [
        (vec![1, 2], half(), vec![3, 4, 5, 6, 7, 9]),
        (vec![], half(), vec![0, 1, 3, 4, 5, 6, 7, 9]),
        (vec![1, 2], Probability::ZERO, vec![2, 3, 4, 5, 6, 7, 8, 9]),
    ] {
        let mut rig = losing_at(vec![(HOST, Loss::random(chance, losing(&[2, 8])).with_listed(listed))]);
        rig.run(&ten(), at(5000));
        assert_eq!(numbers(&rig), expected);
    }
}

/// Without a probability of loss no number is drawn.
#[test]
fn a_chance_of_zero_draws_nothing() {
    let never = Loss::random(Probability::ZERO, || -> u64 { panic!("nothing is to be drawn") });
    let mut rig = losing_at(vec![(HOST, never)]);
    rig.run(&ten(), at(5000));
    assert_eq!(rig.delivered.len(), 10);
}
