//! Deterministic networks whose every departure is computed by hand, as `cellsim` section 2.3
//! validated its simulator.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use cellway_net::{Discipline, Multiplexing, NodeId, TapUnit};
use cellway_units::{Rate, Span, Time};
use rig::{Rig, Shape};

const fn shape(conversations: u32, multiplexing: Multiplexing) -> Shape {
    Shape {
        conversations,
        multiplexing,
        discipline: Discipline::RoundRobin,
        // One cell of 424 bit takes 1 ms; an octet on an access line 8/424 ms.
        core: Rate::from_bps(424_000),
        access: Rate::from_bps(424_000_000),
        delay: Span::from_ms(10),
        buffers: [None; 2],
    }
}

/// Returns the time on the access line: n octets take n × 8 / 424 µs. 40 octets are one cell, 88 two, 136 three
/// (payload plus trailer in 48s).
fn access(octets: u64) -> Span {
    Rate::from_bps(424_000_000).time_for(cellway_units::Bytes(octets).bits(), 0).0
}

#[test]
fn a_single_packet_takes_serialisation_and_propagation() {
    let mut rig = Rig::new(&shape(1, Multiplexing::PerConversation));
    rig.run(&[(Time::ZERO, 0, 136)], Time::from_ps(u64::MAX - 1));
    // Access line; three cells on the first line; delay; the last cell once more on the second
    // line (the switch forwards cell by cell); access line.
    let expected = access(136) + Span::from_ms(3) + Span::from_ms(10) + Span::from_ms(1) + access(136);
    assert_eq!(rig.delivered, [(Time::ZERO + expected, rig.delivered[0].1.clone())]);
    assert_eq!(rig.net.packets_held(), 0);
}

/// Returns the cells that reach the far router, as (milliseconds since the first, conversation).
fn cells_at_far_router(mut rig: Rig, sends: &[(Time, u32, u32)]) -> Vec<(u64, u32)> {
    let far: NodeId = rig.far;
    rig.net.tap(far);
    rig.run(sends, Time::from_ps(u64::MAX - 1));
    let cells: Vec<(Time, u32)> = rig
        .net
        .tapped()
        .into_iter()
        .filter_map(|record| match record.unit {
            TapUnit::Cell(_, packet) => Some((record.at, packet.conversation)),
            TapUnit::Packet(_) => None,
        })
        .collect();
    let first = cells[0].0;
    cells.into_iter().map(|(at, conversation)| ((at - first).as_ps() / 1_000_000_000, conversation)).collect()
}

#[test]
fn conversations_with_own_channels_take_turns_cell_by_cell() {
    let rig = Rig::new(&shape(3, Multiplexing::PerConversation));
    // Three packets of three cells at once; then one cell of conversation 2, which has a token.
    let sends = [(Time::ZERO, 0, 136), (Time::ZERO, 1, 136), (Time::ZERO, 2, 136)];
    let order: Vec<u32> = cells_at_far_router(rig, &sends).into_iter().map(|(_, c)| c).collect();
    assert_eq!(order, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

#[test]
fn conversations_on_one_channel_follow_each_other_packet_by_packet() {
    let rig = Rig::new(&shape(3, Multiplexing::PerDestination));
    let sends = [(Time::ZERO, 0, 136), (Time::ZERO, 1, 136), (Time::ZERO, 2, 136)];
    let order: Vec<u32> = cells_at_far_router(rig, &sends).into_iter().map(|(_, c)| c).collect();
    assert_eq!(order, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
}

#[test]
fn per_type_interleaves_types_and_keeps_packets_of_a_type_whole() {
    // The rig gives conversations 0 and 2 type 0, conversation 1 type 1.
    let rig = Rig::new(&shape(3, Multiplexing::PerType));
    let sends = [(Time::ZERO, 0, 136), (Time::ZERO, 1, 136), (Time::ZERO, 2, 136)];
    let order: Vec<u32> = cells_at_far_router(rig, &sends).into_iter().map(|(_, c)| c).collect();
    assert_eq!(order, [0, 1, 0, 1, 0, 1, 2, 2, 2]);
}

/// A one-cell packet that finds its own queue empty waits at most one cell for each other
/// backlogged queue: the rest of the cell in service, and the others once.
#[test]
fn a_small_packet_waits_one_cell_time_for_each_busy_queue() {
    let busy = 5;
    let mut rig = Rig::new(&shape(busy + 1, Multiplexing::PerConversation));
    let mut sends: Vec<(Time, u32, u32)> = (0..busy).map(|c| (Time::ZERO, c, 9000)).collect();
    let at = Time::ZERO + Span::from_ms(50);
    sends.push((at, busy, 40));
    rig.run(&sends, Time::from_ps(u64::MAX - 1));
    let arrived = rig.delivered.iter().find(|(_, p)| p.conversation == busy).unwrap().0;
    let alone = access(40) + Span::from_ms(12) + access(40);
    let waited = (arrived - at) - alone;
    // At the switch the other queues never hold a cell: it forwards at the rate they come.
    assert!(waited <= Span::from_ms(u64::from(busy)), "waited {waited}");
    assert!(waited > Span::from_ms(u64::from(busy) - 1), "waited {waited}: the busy queues were not served");
}

/// The exact AAL5 arithmetic: a saturated line carries octets × 8 per ceil((octets + 8) / 48)
/// cells of 424 bits.
#[test]
fn a_saturated_line_carries_exactly_the_aal5_share() {
    for (octets, cells) in [(41u32, 2u64), (512, 11), (552, 12), (576, 13), (1500, 32), (9180, 192)] {
        let mut rig = Rig::new(&shape(2, Multiplexing::PerConversation));
        let packets = 200;
        let sends: Vec<_> = (0..packets).map(|i| (Time::ZERO, i % 2, octets)).collect();
        rig.run(&sends, Time::from_ps(u64::MAX - 1));
        let counters = rig.net.port_counters(rig.there[0], rig.delivered.last().unwrap().0);
        assert_eq!(counters.cells, u64::from(packets) * cells, "{octets} octets");
        // 424 kbit/s: each cell keeps the line busy for exactly 1 ms.
        assert_eq!(counters.busy, Span::from_ms(u64::from(packets) * cells));
    }
}

/// The example of the order within an instant in `docs/models/network.md`: the token of the queue in service is
/// returned to the back after the arrivals of the instant at which its cell has left.
#[test]
fn a_cell_that_arrives_as_another_leaves_is_served_before_the_next_of_that_queue() {
    // When the packet of one cell or two must be sent for its cells to be queued at `at`.
    let send_for = |at: Span, octets: u64| Time::ZERO + (at - access(octets));
    let ms = Span::from_ms;
    // At 1 ms two cells of A are queued and the first starts to leave; at 2 ms it has left, and a cell of B arrives.
    let sends = [(send_for(ms(1), 88), 0, 88), (send_for(ms(2), 40), 1, 40)];
    let rig = Rig::new(&shape(2, Multiplexing::PerConversation));
    assert_eq!(cells_at_far_router(rig, &sends), [(0, 0), (1, 1), (2, 0)], "B leaves from 2 ms, A from 3 ms");
    // The same if A's second cell arrives only at 2 ms, just before B's: A still has the token of its first cell.
    let sends = [(send_for(ms(1), 40), 0, 40), (send_for(ms(2), 40), 0, 40), (send_for(ms(2), 40), 1, 40)];
    let rig = Rig::new(&shape(2, Multiplexing::PerConversation));
    assert_eq!(cells_at_far_router(rig, &sends), [(0, 0), (1, 1), (2, 0)]);
    // In a FIFO, in the order of arrival.
    let rig = Rig::new(&Shape { discipline: Discipline::Fifo, ..shape(2, Multiplexing::PerConversation) });
    assert_eq!(cells_at_far_router(rig, &sends), [(0, 0), (1, 0), (2, 1)]);
}
