//! The places of units in the view of a network, and their order.

use super::*;

/// The packets or cells that wait are sent in the order in which they are listed, of cells of one channel or first in
/// first out.
#[test]
fn the_order_is_that_of_service() {
    let packets = |queue| vec![with_queue(mbit(1, 1, Framing::Packet), queue, 90_000)];
    let prio = Queue::Prio(PrioKeys::NONE.resolve().unwrap());
    let fifo = vec![mbit(1, 1, Framing::Atm).with_discipline(Discipline::Fifo)];
    for (links, bursts) in [(packets(queues()[0]), 1), (packets(prio), 1), (fifo, 4)] {
        let mut row = Row::new(Multiplexing::PerConversation, links);
        row.open(3, Class::Ubr);
        let mut bits = xorshift(21);
        for _ in 0..bursts {
            for _ in 0..20 {
                let dscp = [Dscp::Cs0, Dscp::Cs1, Dscp::Ef][bits() as usize % 3];
                row.send(bits() as u32 % 3, 40 + bits() as u32 % 900, Ecn::NotEct, dscp);
            }
            row.net.serve(row.now);
            row.step(Time::MAX);
        }
        let listed: Vec<u32> =
            row.waiting(row.there[0]).iter().flat_map(|&(body, units)| vec![body; units as usize]).collect();
        assert!(listed.len() > 15);
        let mut sent = Vec::new();
        let port = row.there[0];
        let mut waits = row.net.waiting(port);
        while row.step(Time::MAX) {
            let left = std::mem::replace(&mut waits, row.net.waiting(port));
            if waits < left {
                sent.push(row.net.unit_on_line(port, row.now).unwrap().0.packet.unwrap().body);
            }
        }
        assert_eq!(sent, listed);
    }
}

/// Each discipline lists the packets of a conversation in the order in which they came.
#[test]
fn packets_of_a_flow_stay_in_order() {
    for queue in queues() {
        let link = with_queue(mbit(1, 1, Framing::Packet), queue, 90_000);
        let mut row = Row::new(Multiplexing::PerConversation, vec![link]);
        row.open(4, Class::Ubr);
        (0..24).for_each(|number| row.send(number % 4, 600, Ecn::NotEct, Dscp::Cs0));
        row.net.serve(row.now);
        let waiting = row.waiting(row.there[0]);
        assert_eq!(waiting.len() as u32, row.net.waiting(row.there[0]));
        for conversation in 0..4 {
            let own: Vec<u32> = waiting.iter().map(|&(body, _)| body).filter(|body| body % 4 == conversation).collect();
            assert!(own.len() > 2 && own.is_sorted(), "{queue:?}: {own:?}");
        }
    }
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// A packet of 1000 B takes 1 ms on a line of 8 Mbit/s; behind it are 10 ms. A cell takes 53 us, and 424 bits at 8
/// Mbit/s.
#[test]
fn places_are_those_of_rate_and_delay() {
    let mut row = Row::new(Multiplexing::PerConversation, vec![mbit(8, 10, Framing::Packet)]);
    row.open(1, Class::Ubr);
    let port = row.there[0];
    (0..2).for_each(|_| row.send(0, 1000, Ecn::NotEct, Dscp::Cs0));
    row.net.serve(row.now);
    let places = |row: &Row, now| {
        let mut places = Vec::new();
        let more = row.net.units_on_link(port, now, 10, |unit, ends| places.push((unit.packet.unwrap().body, ends)));
        (row.net.unit_on_line(port, now).map(|(unit, part)| (unit.packet.unwrap().body, part)), places, more)
    };
    assert_eq!(places(&row, ms(0)), (Some((0, 0.0)), vec![], 0));
    assert_eq!(places(&row, Time::ZERO + Span::from_us(250)), (Some((0, 0.25)), vec![], 0));
    while row.step(ms(2)) {}
    assert_eq!(row.net.next_move(ms(1)), Some(ms(2)), "the second departs without an event");
    assert_eq!(row.net.next_move(ms(2)), Some(ms(11)));
    // The first is 0.5 ms behind the line, the second half sent.
    let half = Time::ZERO + Span::from_us(1500);
    let (line, link, _) = places(&row, half);
    assert_eq!((line, link.len(), link[0].0), (Some((1, 0.5)), 1, 0));
    assert!(link[0].1.iter().all(|place| (place - 0.05).abs() < 1e-9), "{link:?}");
    let (line, link, _) = places(&row, ms(7));
    assert_eq!(line, None);
    assert!(link.iter().zip([0.6, 0.5]).all(|((_, ends), place)| (ends[0] - place).abs() < 1e-9), "{link:?}");

    let mut row = Row::new(Multiplexing::PerConversation, vec![mbit(8, 10, Framing::Atm)]);
    row.open(1, Class::Ubr);
    let port = row.there[0];
    row.send(0, 48 * 20 - 16, Ecn::NotEct, Dscp::Cs0);
    row.net.serve(row.now);
    // 20 cells: 9 have left after 500 us, and the tenth is on the line for 23 us.
    let now = Time::ZERO + Span::from_us(500);
    while row.step(now) {}
    assert_eq!(row.waiting(port), [(0, 10)]);
    assert!((row.net.unit_on_line(port, now).unwrap().1 - 23.0 / 53.0).abs() < 1e-9);
    let mut runs = Vec::new();
    row.net.units_on_link(port, now, 10, |unit, ends| runs.push((unit.units, unit.octets, ends)));
    let [(9, 477, [head, tail])] = runs[..] else { panic!("{runs:?}") };
    assert!((head - 0.0447).abs() < 1e-9 && (tail - 0.0023).abs() < 1e-9, "{head} {tail}");
}

/// Half of a packet is sent at 8 Mbit/s; then the caller sets 2 Mbit/s, or the schedule does.
#[test]
fn a_change_of_the_rate_moves_no_packet() {
    let part = |row: &Row, us| row.net.unit_on_line(row.there[0], Time::ZERO + Span::from_us(us)).unwrap().1;
    let slow = Rate::from_bps(2_000_000);
    let half = Time::ZERO + Span::from_us(500);
    for scheduled in [false, true] {
        let mut link = mbit(8, 10, Framing::Packet);
        if scheduled {
            let rates = Schedule::once(vec![(half, slow), (ms(9), Rate::from_bps(1))]);
            link.ports[0].schedule = Some(RateSchedule::new(rates, Schedule::once(Vec::new())));
        }
        let mut row = Row::new(Multiplexing::PerConversation, vec![link]);
        row.open(1, Class::Ubr);
        row.send(0, 1000, Ecn::NotEct, Dscp::Cs0);
        row.net.serve(row.now);
        assert!((part(&row, 400) - 0.4).abs() < 1e-9);
        assert_eq!(row.net.rate_at(row.there[0], Time::ZERO), Rate::from_bps(8_000_000));
        if !scheduled {
            row.net.set_link_delay(half, row.there[0], Span::from_ms(20));
            row.net.set_line_rate(half, row.there[0], slow);
            assert_eq!(row.net.delay_at(row.there[0], half), Span::from_ms(20));
        }
        assert!((part(&row, 500) - 0.5).abs() < 1e-9);
        assert!((part(&row, 1500) - 0.75).abs() < 1e-9, "{}", part(&row, 1500));
        assert_eq!(row.net.rate_at(row.there[0], half), slow);
    }
}

#[test]
fn what_is_not_listed_is_counted() {
    for framing in [Framing::Packet, Framing::Atm] {
        let mut row = Row::new(Multiplexing::PerConversation, vec![mbit(8, 50, framing)]);
        row.open(2, Class::Ubr);
        (0..30).for_each(|number| row.send(number % 2, 944, Ecn::NotEct, Dscp::Cs0));
        row.net.serve(row.now);
        while row.step(ms(11)) {}
        let (port, mut units, mut entries) = (row.there[0], 0, 0);
        let more = row.net.waiting_units(port, 3, |unit| {
            entries += 1;
            units += u64::from(unit.units);
        });
        assert_eq!((entries, units + more), (3, row.net.waiting(port).into()), "{framing:?}");
        assert!(more > 10);
        let listed = |most| {
            let mut entries = 0;
            let more = row.net.units_on_link(port, ms(11), most, |_, _| entries += 1);
            (entries, more)
        };
        let (all, none) = listed(usize::MAX);
        assert!(all > 5 && none == 0);
        assert_eq!(listed(2), (2, all - 2));
    }
}
