//! ABR control loops over the fabric: by hand on one path, and in sum.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use cellway_net::{
    AbrParameters, AbrSwitchSpec, BufferSpec, Charge, Class, Discard, Discipline, Fraction, Multiplexing, ShaperSpec,
    Sharing,
};
use cellway_units::{Bits, Cells, Ecn, Rate, Span, Time};
use rig::{Rig, Shape};

const END: Time = Time::from_ps(u64::MAX - 1);

fn shape(conversations: u32, delay: Span) -> Shape {
    Shape {
        conversations,
        multiplexing: Multiplexing::PerConversation,
        discipline: Discipline::RoundRobin,
        core: Rate::from_bps(424_000),
        access: Rate::from_bps(1_000_000_000_000),
        delay,
        buffers: [None; 2],
    }
}

fn rig(conversations: u32, delay: Span) -> Rig {
    Rig::of_classes(&shape(conversations, delay), &[Class::Abr; 8])
}

/// Closes a loop over the whole path of a conversation.
fn close(rig: &mut Rig, conversation: u32, parameters: AbrParameters) {
    let (there, back) = (rig.channel(conversation), rig.net.channels(conversation, 1)[0].0);
    rig.net.abr(rig.there[0], there, back, rig.there[1], parameters).unwrap();
}

fn acr(rig: &Rig, conversation: u32) -> u64 {
    rig.net.abr_rate(rig.there[0], rig.channel(conversation)).unwrap().as_bps()
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn octets(cells: u32) -> u32 {
    cells * 48 - 8
}

/// One RM cell precedes the first of each 31 data cells, at ACR: each 4 ms.
#[test]
fn data_and_rm_cells_leave_at_acr() {
    let mut rig = rig(1, Span::ZERO);
    let icr = Rate::from_bps(106_000);
    // RIF as small as it can be: ACR does not move.
    let rif = Fraction::one_over(u32::MAX);
    let trm = Span::from_secs(1);
    close(&mut rig, 0, AbrParameters { icr, rif, trm, ..AbrParameters::new(Rate::from_bps(424_000)) });
    rig.net.tap(rig.near);
    rig.run(&[(Time::ZERO, 0, octets(40))], END);
    let left: Vec<u64> = rig.left(rig.there[0]).into_iter().map(|(t, _)| t.as_ps() / 1_000_000_000).collect();
    // Cell k of the line leaves at 4k + 1 ms; cells 0 and 32 are RM cells, which a tap does not copy.
    let by_hand: Vec<u64> = (0..42).filter(|k| k % 32 != 0).map(|k| 4 * k + 1).collect();
    assert_eq!(left, by_hand);
    assert_eq!(rig.delivered.len(), 1);
    let [first, second] = rig.there.map(|port| rig.net.port_counters(port, END));
    assert_eq!([(first.cells, first.rm_cells), (second.cells, second.rm_cells)], [(42, 2); 2]);
    let back = rig.net.channels(0, 1)[0].1.clone();
    assert!(back.iter().all(|&port| rig.net.port_counters(port, END).rm_cells == 2), "each came back");
    assert_eq!((rig.net.rm_cells_held(), rig.net.packets_held()), (0, 0));
}

/// The RM cell takes 1 ms to the switch, 10 to and from it, 1 to the far router and 2 for the path back: ACR rises by
/// RIF × PCR at 24 ms, not before.
#[test]
fn the_source_hears_after_a_round_trip() {
    let mut rig = rig(1, Span::from_ms(10));
    let icr = Rate::from_bps(42_400);
    close(
        &mut rig,
        0,
        AbrParameters { icr, rif: Fraction::one_over(8), ..AbrParameters::new(Rate::from_bps(424_000)) },
    );
    rig.run(&[(Time::ZERO, 0, octets(9))], at(24));
    assert_eq!(acr(&rig, 0), 42_400);
    rig.run(&[], at(24) + Span::from_us(1));
    assert_eq!(acr(&rig, 0), 42_400 + 424_000 / 8);
}

/// Backward RM cells precede the data of the channel that they return on.
#[test]
fn rm_cells_pass_data_at_the_destination() {
    let mut rig = rig(1, Span::ZERO);
    close(&mut rig, 0, AbrParameters::new(Rate::from_bps(42_400)));
    let before = acr(&rig, 0);
    // The responder has 1000 cells to send at once. The RM cell waits for one of them.
    let [from, to] = [rig.hosts[0][1], rig.hosts[0][0]];
    rig.net.send(
        Time::ZERO,
        cellway_net::Packet {
            conversation: 0,
            from,
            to,
            flow: 0,
            octets: octets(1000),
            ecn: Ecn::NotEct,
            dscp: 0,
            body: 0,
        },
    );
    rig.net.serve(Time::ZERO);
    rig.net.set_abr_switch(AbrSwitchSpec::Erica { target: Fraction::one_over(20), interval: Span::from_ms(1) });
    rig.run(&[(at(1), 0, octets(2))], at(8));
    // 5 % of the line are 21.2 kbit/s, as received within 8 ms: 1 + 2 + at most 1 + 2.
    assert!(acr(&rig, 0) <= 21_200 && before == 42_400, "ACR {}", acr(&rig, 0));
}

/// Returns goodput-like cells of each conversation at the far router between two instants.
fn cells_between(rig: &mut Rig, conversations: usize, from: Time, to: Time) -> Vec<u64> {
    let port = rig.there[1];
    let mut cells = vec![0; conversations];
    for (t, c) in rig.left(port) {
        cells[c as usize] += u64::from(from <= t && t < to);
    }
    cells
}

/// Three greedy sources on one line: each gets a third of the target, less one RM cell in 32, and the
/// switch's queue stays short.
#[test]
fn erica_shares_a_line_evenly() {
    let mut rig = rig(3, Span::from_ms(2));
    rig.net.set_abr_switch(AbrSwitchSpec::Erica { target: Fraction::new(9, 10).unwrap(), interval: Span::from_ms(50) });
    for conversation in 0..3 {
        close(&mut rig, conversation, AbrParameters::new(Rate::from_bps(424_000)));
    }
    rig.net.tap(rig.switch);
    let sends: Vec<_> = (0..60).map(|i| (Time::ZERO, i % 3, octets(1000))).collect();
    rig.run(&sends, at(20_000));
    let cells = cells_between(&mut rig, 3, at(10_000), at(20_000));
    // 10 s of 1000 cells a second: 9000 cells in all, 300 cells/s each with the RM cells.
    for (conversation, &n) in cells.iter().enumerate() {
        let share = 10_000.0 * 0.9 / 3.0 * 31.0 / 32.0;
        assert!((n as f64 / share - 1.0).abs() < 0.03, "{conversation}: {n} of {share}");
        assert!((acr(&rig, conversation as u32) as f64 / (424_000.0 * 0.3) - 1.0).abs() < 0.03);
    }
    assert!(rig.net.port_counters(rig.there[1], at(20_000)).queue_peak <= 6);
}

/// The switch's line is slower: its queue exceeds the threshold, marks are returned as CI and the sources slow down.
/// The queue stays finite and the line busy.
#[test]
fn efci_keeps_the_queue_of_a_slow_line_bounded() {
    let mut rig = rig(2, Span::from_ms(2));
    rig.net.set_line_rate(Time::ZERO, rig.there[1], Rate::from_bps(212_000));
    rig.net.set_abr_switch(AbrSwitchSpec::Efci { threshold: Cells(20) });
    let rif = Fraction::one_over(64);
    for conversation in 0..2 {
        close(&mut rig, conversation, AbrParameters { rif, ..AbrParameters::new(Rate::from_bps(424_000)) });
    }
    let sends: Vec<_> = (0..40).map(|i| (Time::ZERO, i % 2, octets(1000))).collect();
    rig.run(&sends, at(20_000));
    let before = rig.net.port_counters(rig.there[1], at(20_000));
    rig.net.forget_peaks();
    rig.run(&[], at(60_000));
    let after = rig.net.port_counters(rig.there[1], at(60_000));
    let busy = (after.busy - before.busy).as_secs_f64() / 40.0;
    assert!(busy > 0.95, "busy {busy}");
    // Without control the queue would grow by 500 cells a second: 20 000.
    assert!((20..200).contains(&after.queue_peak), "queue {}", after.queue_peak);
}

/// A loop over the second line only: the virtual source is at the switch, where the cells wait.
#[test]
fn a_virtual_source_holds_cells_at_the_switch() {
    let mut rig = rig(1, Span::ZERO);
    let (there, back) = (rig.channel(0), rig.net.channels(0, 1)[0].0);
    let icr = Rate::from_bps(106_000);
    let rif = Fraction::one_over(u32::MAX);
    let parameters = AbrParameters { icr, rif, ..AbrParameters::new(Rate::from_bps(424_000)) };
    let last = rig.there[1];
    rig.net.abr(last, there, back, last, parameters).unwrap();
    rig.net.tap(rig.switch);
    rig.run(&[(Time::ZERO, 0, octets(10))], END);
    let left: Vec<u64> = rig.left(last).into_iter().map(|(t, _)| t.as_ps() / 1_000_000_000).collect();
    // The RM cell leaves at 2 ms, the data cells each 4 ms after.
    assert_eq!(left, (1..=10).map(|k| 2 + 4 * k).collect::<Vec<u64>>());
    assert_eq!(rig.net.port_counters(rig.there[0], END).rm_cells, 0);
    assert_eq!(rig.net.port_counters(last, END).rm_cells, 1);
    let back = rig.net.channels(0, 1)[0].1.clone();
    assert_eq!(back.iter().map(|&port| rig.net.port_counters(port, END).rm_cells).collect::<Vec<_>>(), [1, 0]);
}

/// A shaper on the same queue as a source: neither passes cells too early.
#[test]
fn the_slower_of_shaper_and_source_rules() {
    let mut rig = rig(1, Span::ZERO);
    close(&mut rig, 0, AbrParameters::new(Rate::from_bps(424_000)));
    rig.net.shape(rig.there[0], rig.channel(0), ShaperSpec { peak: Rate::from_bps(53_000), sustained: None });
    rig.net.tap(rig.near);
    rig.run(&[(Time::ZERO, 0, octets(4))], END);
    let left: Vec<u64> = rig.left(rig.there[0]).into_iter().map(|(t, _)| t.as_ps() / 1_000_000_000).collect();
    assert_eq!(left, [9, 17, 25, 33]);
}

#[test]
fn a_change_of_pcr_counts_at_once() {
    let mut rig = rig(1, Span::ZERO);
    close(&mut rig, 0, AbrParameters::new(Rate::from_bps(424_000)));
    let channel = rig.channel(0);
    assert!(rig.net.set_abr_peak(Time::ZERO, rig.there[0], channel, Rate::from_bps(106_000)));
    assert_eq!(acr(&rig, 0), 106_000);
    assert_eq!(rig.net.abr_rate(rig.there[1], channel), None);
}

#[test]
fn loops_that_do_not_fit_are_refused() {
    let mut rig = rig(2, Span::ZERO);
    let channels = [0, 1].map(|c| (rig.channel(c), rig.net.channels(c, 1)[0].0));
    let [first, last] = rig.there;
    let parameters = AbrParameters::new(Rate::from_bps(424_000));
    let mut why = |first, channel, reverse, last, parameters| {
        rig.net.abr(first, channel, reverse, last, parameters).unwrap_err().to_string()
    };
    let (there, back) = channels[0];
    assert!(why(last, there, back, first, parameters).ends_with("the channel does not lead from first to last"));
    assert!(
        why(first, there, there, last, parameters)
            .ends_with("the reverse channel does not leave the destination's node")
    );
    let nothing = AbrParameters { mcr: Rate::from_bps(1), ..AbrParameters::new(Rate::from_bps(0)) };
    assert!(why(first, there, back, last, nothing).contains("pcr"));
    rig.net.abr(first, there, back, last, parameters).unwrap();
    let again = rig.net.abr(first, channels[1].0, back, last, parameters).unwrap_err();
    assert!(again.to_string().ends_with("another already"), "{again}");
}

/// RM cells fill buffers like other cells, and those that find them full are lost, not kept.
#[test]
fn rm_cells_are_lost_in_full_buffers() {
    for (sharing, charge) in
        [(Sharing::Pool, Charge::Cell), (Sharing::Channel, Charge::Packet), (Sharing::Conversation, Charge::Cell)]
    {
        let (size, whole_port, discard) = (Bits(4 * 424), true, Discard::Epd);
        let (threshold, clp_threshold) = (Some(Bits(3 * 424)), None);
        let buffer = Some(BufferSpec { size, whole_port, sharing, charge, discard, threshold, clp_threshold });
        let shape = Shape { buffers: [None, buffer], ..shape(3, Span::from_ms(1)) };
        let mut rig = Rig::of_classes(&shape, &[Class::Abr; 3]);
        rig.net.set_line_rate(Time::ZERO, rig.there[1], Rate::from_bps(40_000));
        for conversation in 0..3 {
            close(&mut rig, conversation, AbrParameters { nrm: 3, ..AbrParameters::new(Rate::from_bps(424_000)) });
        }
        let sends: Vec<_> = (0..30).map(|i| (at(i), i as u32 % 3, octets(10))).collect();
        rig.run(&sends, END);
        let counters = rig.net.port_counters(rig.there[1], END);
        assert!(counters.dropped_cells > 0 && counters.rm_cells > 0);
        assert_eq!((rig.net.rm_cells_held(), rig.net.buffered(rig.there[1])), (0, 0), "{sharing:?} {charge:?}");
    }
}
