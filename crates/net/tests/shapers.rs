//! Shapers, changes of rate and service classes: each departure by hand.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use cellway_net::{Class, Discipline, Multiplexing, ShaperSpec};
use cellway_units::{Cells, Rate, Span, Time};
use rig::{Rig, Shape};

const END: Time = Time::from_ps(u64::MAX - 1);

/// Returns the shape: one cell takes 1 ms on the lines between the routers, and a negligible time on access lines, so
/// that a packet of n cells arrives at once.
fn shape(conversations: u32) -> Shape {
    Shape {
        conversations,
        multiplexing: Multiplexing::PerConversation,
        discipline: Discipline::RoundRobin,
        core: Rate::from_bps(424_000),
        access: Rate::from_bps(1_000_000_000_000),
        delay: Span::ZERO,
        buffers: [None; 2],
    }
}

/// Returns a rate that permits a cell each `ms`.
fn each(ms: u64) -> Rate {
    Rate::from_bps(424_000 / ms)
}

fn spacer(ms: u64) -> ShaperSpec {
    ShaperSpec { peak: each(ms), sustained: None }
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// Returns the octets of a packet of `cells` cells, VC multiplexed.
fn octets(cells: u32) -> u32 {
    cells * 48 - 8
}

/// Returns the times at which cells start to leave the near router, in ms (the microsecond of the access line cut off),
/// with their conversations.
fn departures(rig: &mut Rig, sends: &[(u64, u32, u32)]) -> Vec<(f64, u32)> {
    rig.net.tap(rig.near);
    let sends: Vec<_> = sends.iter().map(|&(ms, conversation, cells)| (at(ms), conversation, octets(cells))).collect();
    rig.run(&sends, END);
    starts(rig)
}

fn starts(rig: &mut Rig) -> Vec<(f64, u32)> {
    let port = rig.there[0];
    // Access lines take up to 5 ns for a packet of these tests.
    rig.left(port).into_iter().map(|(t, c)| ((t.as_ps() / 1_000_000) as f64 / 1000.0 - 1.0, c)).collect()
}

#[test]
fn a_spacer_is_a_single_server_queue() {
    let mut rig = Rig::new(&shape(1));
    rig.net.shape(rig.there[0], rig.channel(0), spacer(4));
    // Three cells at once: each waits for the one before. The cells at 20 and 21 ms find it idle and busy;
    // the one at 40 ms idle again.
    let left = departures(&mut rig, &[(0, 0, 3), (20, 0, 1), (21, 0, 1), (40, 0, 1)]);
    assert_eq!(left, [0.0, 4.0, 8.0, 20.0, 24.0, 40.0].map(|ms| (ms, 0)));
}

#[test]
fn two_shaped_channels_share_a_line() {
    let mut rig = Rig::new(&shape(2));
    for (conversation, ms) in [(0, 2), (1, 3)] {
        rig.net.shape(rig.there[0], rig.channel(conversation), spacer(ms));
    }
    // Both are released at 4 ms: the line takes the lower queue first, and the other's spacing counts from
    // its own departure.
    let left = departures(&mut rig, &[(0, 0, 4), (0, 1, 4)]);
    let expected = [(0, 0), (1, 1), (2, 0), (4, 0), (5, 1), (6, 0), (8, 1), (11, 1)];
    assert_eq!(left, expected.map(|(ms, conversation)| (f64::from(ms), conversation)));
}

#[test]
fn a_channel_that_waits_leaves_the_line_to_others() {
    let mut rig = Rig::new(&shape(2));
    rig.net.shape(rig.there[0], rig.channel(0), spacer(4));
    let left = departures(&mut rig, &[(0, 0, 3), (0, 1, 3)]);
    let order = [(0, 0), (1, 1), (2, 1), (3, 1), (4, 0), (8, 0)];
    assert_eq!(left, order.map(|(ms, conversation)| (f64::from(ms), conversation)));
}

#[test]
fn a_burst_of_mbs_cells_passes_at_the_peak_rate() {
    let mut rig = Rig::new(&shape(1));
    // BT = (3 - 1)(4 - 1) = 6 ms: the theoretical times 0, 4, 8, 12, 16 less 6.
    let sustained = Some((each(4), 3));
    rig.net.shape(rig.there[0], rig.channel(0), ShaperSpec { peak: each(1), sustained });
    let left = departures(&mut rig, &[(0, 0, 5), (60, 0, 4)]);
    assert_eq!(left, [0.0, 1.0, 2.0, 6.0, 10.0, 60.0, 61.0, 62.0, 66.0].map(|ms| (ms, 0)));
}

/// Runs to 10 ms, when three cells have left and the fourth is held until 12 ms: half a cell is missing.
fn changed(rig: &mut Rig, rate: Rate) -> Vec<f64> {
    rig.net.tap(rig.near);
    rig.net.shape(rig.there[0], rig.channel(0), spacer(4));
    rig.run(&[(Time::ZERO, 0, octets(6))], at(10));
    let (port, channel) = (rig.there[0], rig.channel(0));
    assert!(rig.net.set_shaper_rate(at(10), port, channel, rate));
    rig.run(&[], END);
    starts(rig).into_iter().map(|(t, _)| t).collect()
}

#[test]
fn a_higher_rate_releases_the_cell_that_waits() {
    // Half a cell takes 0.5 ms at the new rate.
    assert_eq!(changed(&mut Rig::new(&shape(1)), each(1)), [0.0, 4.0, 8.0, 10.5, 11.5, 12.5]);
}

#[test]
fn a_lower_rate_holds_after_the_cell_that_waits() {
    // Half a cell is 4 ms, but the cell at 12 ms has its release; the one after pays for the 2 ms.
    assert_eq!(changed(&mut Rig::new(&shape(1)), each(8)), [0.0, 4.0, 8.0, 12.0, 22.0, 30.0]);
}

#[test]
fn a_line_changes_its_rate_from_the_next_unit_on() {
    let mut rig = Rig::new(&shape(1));
    rig.net.tap(rig.near);
    rig.run(&[(Time::ZERO, 0, octets(4))], Time::ZERO + Span::from_us(1500));
    rig.net.set_line_rate(Time::ZERO + Span::from_us(1500), rig.there[0], each(2));
    rig.run(&[], END);
    let left: Vec<u64> = rig.left(rig.there[0]).into_iter().map(|(t, _)| t.as_ps() / 1_000_000_000).collect();
    assert_eq!(left, [1, 2, 4, 6], "the cell on the line keeps its time");
}

/// 20 000 cells at a rate whose cell time is no whole number of picoseconds.
#[test]
fn the_long_run_rate_of_a_spacer_is_exact() {
    let (rate, cells) = (Rate::from_bps(7_000_003), 20_000);
    let mut rig = Rig::new(&Shape { core: Rate::from_bps(149_760_000), ..shape(1) });
    rig.net.tap(rig.near);
    rig.net.shape(rig.there[0], rig.channel(0), ShaperSpec { peak: rate, sustained: None });
    let packets = vec![(Time::ZERO, 0, octets(200)); cells / 200];
    rig.run(&packets, END);
    let left = rig.left(rig.there[0]);
    let (exact, _) = rate.time_for(Cells(cells as u64 - 1).bits(), 0);
    assert_eq!(left[cells - 1].0 - left[0].0, exact);
}

#[test]
fn the_queue_of_a_watched_port_is_recorded_at_each_change() {
    let mut rig = Rig::new(&shape(1));
    rig.net.watch(rig.there[0]);
    departures(&mut rig, &[(0, 0, 3), (5, 0, 1)]);
    let ms = |t: Time| t.as_ps() / 1_000_000_000;
    let watched: Vec<_> = rig.net.watched().into_iter().map(|(t, port, n)| (ms(t), port, n)).collect();
    let port = rig.there[0];
    assert_eq!(watched, [(0, 3), (0, 2), (1, 1), (2, 0), (5, 1), (5, 0)].map(|(t, n)| (t, port, n)));
    assert_eq!(rig.net.watched(), []);
}

#[test]
fn the_lowest_queue_since_the_last_look_is_counted() {
    let mut rig = Rig::new(&shape(1));
    rig.run(&[(Time::ZERO, 0, octets(5))], Time::ZERO + Span::from_us(500));
    rig.net.forget_peaks();
    let mut extremes = |until| {
        rig.run(&[], until);
        let counters = rig.net.port_counters(rig.there[0], until);
        (counters.queue_min, counters.queue_peak)
    };
    assert_eq!(extremes(Time::ZERO + Span::from_us(2500)), (2, 4));
    assert_eq!(extremes(at(10)), (0, 4));
}

#[test]
fn classes_are_served_in_order_and_abr_and_ubr_in_turn() {
    let mut rig = Rig::of_classes(&shape(4), &[Class::Ubr, Class::Abr, Class::Vbr, Class::Cbr]);
    // The CBR cell arrives while the VBR burst is served, and precedes the rest of it.
    let left = departures(&mut rig, &[(0, 0, 3), (0, 1, 3), (1, 2, 3), (2, 3, 1)]);
    let order = [(0, 0), (1, 2), (2, 3), (3, 2), (4, 2), (5, 1), (6, 0), (7, 1), (8, 0), (9, 1)];
    assert_eq!(left, order.map(|(ms, conversation)| (f64::from(ms), conversation)));
}

fn fifo(conversations: u32) -> Rig {
    Rig::new(&Shape { discipline: Discipline::Fifo, ..shape(conversations) })
}

#[test]
fn shaped_cells_enter_a_fifo_one_by_one() {
    let mut rig = fifo(2);
    rig.net.shape(rig.there[0], rig.channel(0), spacer(4));
    let left = departures(&mut rig, &[(0, 0, 3), (0, 1, 6)]);
    // The second cell of the shaped channel is released at 4 ms, behind the 3 of the other that wait then, and so
    // leaves 3 ms late; the third is spaced from there.
    let order = [0, 1, 1, 1, 1, 1, 1, 0];
    let expected = order.iter().enumerate().map(|(ms, c)| (ms as f64, *c)).chain([(11.0, 0)]);
    assert_eq!(left, expected.collect::<Vec<_>>());
}

#[test]
fn a_shaper_may_be_put_before_cells_that_wait_in_a_fifo() {
    let mut rig = fifo(2);
    rig.net.tap(rig.near);
    rig.run(&[(at(0), 0, octets(5)), (at(0), 1, octets(5))], at(0) + Span::from_us(1));
    rig.net.shape(rig.there[0], rig.channel(0), spacer(4));
    rig.run(&[], END);
    // The first cell of the queue leaves as it would have without the change; the others are spaced from it.
    let order = [0, 0, 1, 1, 1, 1, 1, 0];
    let expected = order.iter().enumerate().map(|(ms, c)| (ms as f64, *c)).chain([(11.0, 0), (15.0, 0)]);
    assert_eq!(starts(&mut rig), expected.collect::<Vec<_>>());
    assert_eq!(rig.net.waiting(rig.there[0]), 0);
}
