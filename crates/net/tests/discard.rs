//! Policers, early and partial packet discard, loss priority: the losses, cell by cell.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use cellway_net::{
    BufferSpec, Charge, Discard, Discipline, LossCounters, Multiplexing, PolicerAction, PolicerSpec, PortCounters,
    ShaperSpec, Sharing,
};
use cellway_units::{Bits, Rate, Span, Time};
use rig::{Rig, Shape};

const END: Time = Time::from_ps(u64::MAX - 1);

/// Returns a buffer of `size` cells at the switch, whose line has half the rate of the line before it once
/// [`slow_down`] is called: cells arrive each ms and leave each 2 ms.
fn rig(conversations: u32, size: u64, discard: Discard, threshold: Option<u64>) -> Rig {
    let cells = |n: u64| Bits(n * 424);
    let buffer = BufferSpec {
        size: cells(size),
        whole_port: true,
        sharing: Sharing::Pool,
        charge: Charge::Cell,
        discard,
        threshold: threshold.map(cells),
        clp_threshold: None,
    };
    rig_with(conversations, buffer)
}

fn rig_with(conversations: u32, buffer: BufferSpec) -> Rig {
    let mut rig = Rig::new(&Shape {
        conversations,
        multiplexing: Multiplexing::PerConversation,
        discipline: Discipline::RoundRobin,
        core: Rate::from_bps(424_000),
        access: Rate::from_bps(1_000_000_000_000),
        delay: Span::ZERO,
        buffers: [None, Some(buffer)],
    });
    rig.net.set_line_rate(Time::ZERO, rig.there[1], Rate::from_bps(212_000));
    rig
}

fn octets(cells: u32) -> u32 {
    cells * 48 - 8
}

/// Returns the counters of the switch's port, with frames of `cells` cells sent one after the other.
fn send(rig: &mut Rig, frames: usize, cells: u32) -> PortCounters {
    rig.run(&vec![(Time::ZERO, 0, octets(cells)); frames], END);
    assert_eq!(rig.net.waiting(rig.there[1]), 0);
    assert_eq!(rig.net.buffered(rig.there[1]), 0);
    rig.net.port_counters(rig.there[1], END)
}

fn bodies(rig: &Rig) -> Vec<u32> {
    rig.delivered.iter().map(|(_, packet)| packet.body).collect()
}

#[test]
fn without_frame_discard_all_frames_but_the_first_are_damaged() {
    let mut rig = rig(1, 8, Discard::Cell, None);
    let counters = send(&mut rig, 10, 10);
    // The k-th cell arrives at k ms, and the line takes one at 1, 3, 5... ms: after 16 ms 8 wait, and from then on one
    // of two cells is lost, those of odd ms, which arrive before the line takes one.
    assert_eq!(counters.dropped_cells, (17..=100).step_by(2).count() as u64);
    assert_eq!(counters.dropped_cells + counters.cells, 100);
    assert_eq!(bodies(&rig), [0]);
    // The ends of all frames come at even ms and are kept.
    assert_eq!(rig.net.losses(rig.far), LossCounters { length: 9, ..LossCounters::default() });
}

#[test]
fn epd_keeps_whole_frames() {
    // A frame of 10 cells that is begun finds at most 3 waiting, and adds at most 5 to them.
    let mut rig = rig(1, 9, Discard::Epd, Some(4));
    let counters = send(&mut rig, 10, 10);
    assert_eq!(rig.net.losses(rig.far), LossCounters::default(), "no part of a frame comes through");
    assert_eq!(counters.cells, rig.delivered.len() as u64 * 10);
    assert_eq!(counters.dropped_cells, counters.epd_frames * 10);
    assert_eq!(counters.epd_frames + rig.delivered.len() as u64, 10);
    // By hand: frame 0 leaves 5 waiting at 10 ms, so frame 1 is refused; none waits at 21 ms.
    assert_eq!(bodies(&rig), [0, 2, 4, 6, 8]);
    assert_eq!(rig.net.packets_held(), 0);
}

#[test]
fn ppd_drops_the_rest_of_a_frame_but_its_end() {
    let mut rig = rig(1, 3, Discard::Ppd, None);
    let counters = send(&mut rig, 2, 20);
    // The k-th cell arrives at k ms. The line takes one at 1, 3, 5 and 7 ms; the cell of 7 ms finds 3 waiting and is
    // lost, and with it all but the end at 20 ms, which is sent at once. The line takes the next at 22 and 24 ms; the
    // cell of 26 ms finds 3 waiting.
    assert_eq!(counters.dropped_cells, (7..20).count() as u64 + (26..40).count() as u64);
    assert_eq!(counters.cells, 7 + 6);
    assert_eq!(rig.net.losses(rig.far), LossCounters { length: 2, ..LossCounters::default() });
    assert_eq!(rig.net.packets_held(), 0);
}

#[test]
fn a_router_refuses_new_frames_at_the_threshold() {
    let cells = |n: u64| Bits(n * 424);
    let spec = BufferSpec {
        size: cells(30),
        whole_port: true,
        sharing: Sharing::Pool,
        charge: Charge::Cell,
        discard: Discard::Epd,
        threshold: Some(cells(19)),
        clp_threshold: None,
    };
    let mut rig = Rig::new(&Shape {
        conversations: 1,
        multiplexing: Multiplexing::PerConversation,
        discipline: Discipline::RoundRobin,
        core: Rate::from_bps(424_000),
        access: Rate::from_bps(1_000_000_000_000),
        delay: Span::ZERO,
        buffers: [Some(spec), None],
    });
    rig.run(&[(Time::ZERO, 0, octets(10)); 5], END);
    // One cell of the first is on the line: 9, 19 wait.
    assert_eq!(bodies(&rig), [0, 1]);
    let counters = rig.net.port_counters(rig.there[0], END);
    assert_eq!((counters.epd_frames, counters.dropped_frames, counters.dropped_cells), (3, 3, 0));
}

/// One cell each 4 ms conforms, and they arrive each 1 ms.
fn police(rig: &mut Rig, action: PolicerAction) {
    let spec = PolicerSpec { peak: Rate::from_bps(106_000), cdvt: Span::ZERO, sustained: None, action };
    rig.net.police(rig.there[1], rig.channel(0), spec);
}

#[test]
fn a_policer_drops_what_comes_too_early() {
    let mut rig = rig(1, 100, Discard::Cell, None);
    police(&mut rig, PolicerAction::Discard);
    let counters = send(&mut rig, 1, 10);
    assert_eq!((counters.cells, counters.policed_discarded), (3, 7), "cells 0, 4 and 8 conform");
    assert_eq!((counters.dropped_cells, counters.policed_tagged), (0, 0));
}

#[test]
fn a_policed_frame_is_cut_off_by_ppd() {
    let mut rig = rig(1, 100, Discard::Ppd, None);
    police(&mut rig, PolicerAction::Discard);
    let counters = send(&mut rig, 1, 9);
    // Cells 0, 4 and 8 conform, but cell 4 is of a frame that has lost cell 1; cell 8 is its end.
    assert_eq!((counters.cells, counters.policed_discarded, counters.dropped_cells), (2, 6, 1));
}

#[test]
fn tagged_cells_are_refused_at_their_threshold() {
    let cells = |n: u64| Bits(n * 424);
    let mut rig = rig_with(
        2,
        BufferSpec {
            size: cells(100),
            whole_port: true,
            sharing: Sharing::Pool,
            charge: Charge::Cell,
            discard: Discard::Cell,
            threshold: None,
            clp_threshold: Some(cells(2)),
        },
    );
    police(&mut rig, PolicerAction::Tag);
    let counters = send(&mut rig, 1, 12);
    // The cell of k ms finds waiting 0 0 1 1 2 2 2 1 2 2 2 1. Those of 1, 5 and 9 ms are not tagged; of the
    // others those that find 2 are refused: 6, 7, 10 and 11.
    assert_eq!(counters.policed_tagged, 9);
    assert_eq!((counters.clp_discarded, counters.dropped_cells, counters.cells), (4, 4, 8));
    // The other conversation's cells are not policed, so they are not refused.
    rig.run(&[(Time::ZERO + Span::from_secs(1), 1, octets(12))], END);
    assert_eq!(rig.net.port_counters(rig.there[1], END).clp_discarded, 4);
    assert_eq!(rig.delivered.iter().map(|(_, packet)| packet.conversation).collect::<Vec<_>>(), [1]);
}

/// No cell time here is a whole number of picoseconds, that of the line between the two included.
#[test]
fn a_shaped_stream_conforms_to_its_own_contract() {
    let shaped = ShaperSpec { peak: Rate::from_bps(299_999), sustained: Some((Rate::from_bps(70_001), 13)) };
    let mut rig = Rig::new(&Shape {
        conversations: 2,
        multiplexing: Multiplexing::PerConversation,
        discipline: Discipline::RoundRobin,
        core: Rate::from_bps(1_234_567),
        access: Rate::from_bps(1_000_000_000),
        delay: Span::from_us(3),
        buffers: [None; 2],
    });
    let channel = rig.channel(0);
    rig.net.shape(rig.there[0], channel, shaped);
    let (scr, mbs) = shaped.sustained.unwrap();
    let contract = PolicerSpec {
        peak: shaped.peak,
        cdvt: Span::ZERO,
        sustained: Some((scr, Span::ZERO, mbs)),
        action: PolicerAction::Discard,
    };
    rig.net.police(rig.there[1], channel, contract);
    let sends: Vec<_> = (0..40).map(|i| (Time::ZERO + Span::from_ms(i * 97), i as u32 % 2, 1400)).collect();
    rig.run(&sends, END);
    assert_eq!(rig.delivered.len(), 40);
    assert_eq!(rig.net.port_counters(rig.there[1], END).policed_discarded, 0);
}
