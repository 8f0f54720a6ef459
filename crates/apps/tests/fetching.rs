//! Applications whose data flow from the responder to the originator: ftp-get and www.
#![allow(clippy::unwrap_used)]

mod harness;

use cellway_apps::{Action, ConnId, FtpGetWorkload, Side, Workload, WwwWorkload};
use cellway_units::{Bytes, Rate, Span, Time};
use harness::{Net, Run};

const L: Span = Span::from_ms(10);

fn ftp_get(size: u64, disk_bps: Option<u64>, handshake: u32) -> Workload {
    Workload::FtpGet(FtpGetWorkload { size: Bytes(size), disk_rate: disk_bps.map(Rate::from_bps), handshake })
}

fn www(sizes: &[u64], display_bps: Option<u64>) -> Workload {
    let sizes = sizes.iter().map(|&size| Bytes(size)).collect();
    Workload::Www(WwwWorkload { sizes, request: Bytes(300), display_rate: display_bps.map(Rate::from_bps) })
}

fn run(net: &Net, workload: &Workload) -> Run {
    net.run(workload, 1, "slot-1", 0)
}

/// Returns the times of the writes on the data connection of `ftp_get`.
fn data_writes(run: &Run) -> Vec<Time> {
    run.times(|action| matches!(action, Action::Write { conn: ConnId(1), .. }))
}

fn closes(run: &Run, conn: u32, by: Side) -> Vec<Time> {
    run.times(|action| *action == Action::Close { conn: ConnId(conn), side: by })
}

#[test]
fn a_file_arrives_over_a_connection_that_the_server_opens() {
    for handshake in [0, 2, 5] {
        let run = run(&harness::new(L), &ftp_get(100_000_000, None, handshake));
        let h = u64::from(handshake);
        assert_eq!(run.writes(Side::Originator), vec![27; handshake as usize + 1]);
        // Greeting, replies, announcement of the transfer, the file, its confirmation.
        let mut said = vec![27; handshake as usize + 2];
        said.extend([100_000_000, 27]);
        assert_eq!(run.writes(Side::Responder), said);
        // The greeting arrives after 4 latencies, and the request leaves 2 latencies a handshake later. It takes one
        // latency, opening 2 until the server may send, the file one.
        assert_eq!(run.items(), [(100_000_000, L * 4)]);
        assert_eq!(data_writes(&run), [Time::ZERO + L * (7 + 2 * h)]);
        let opened: Vec<Action> =
            run.actions.iter().map(|(_, action)| *action).filter(|a| matches!(a, Action::Open { .. })).collect();
        let open = |conn, from| Action::Open { conn: ConnId(conn), from };
        assert_eq!(opened, [open(0, Side::Originator), open(1, Side::Responder)]);
        // File, its end and the confirmation arrive together. Then the client hangs up.
        assert_eq!(closes(&run, 1, Side::Originator), [Time::ZERO + L * (8 + 2 * h)]);
        assert_eq!(closes(&run, 0, Side::Originator), [Time::ZERO + L * (8 + 2 * h)]);
        assert_eq!(run.ended, Some(Time::ZERO + L * (11 + 2 * h)));
    }
}

#[test]
fn control_messages_in_pieces_are_distinguished() {
    let whole = run(&harness::new(L), &ftp_get(1000, None, 3));
    for chunk in [1, 10, 26, 28, 999] {
        let pieces = run(&Net { chunk, ..harness::new(L) }, &ftp_get(1000, None, 3));
        for side in [Side::Originator, Side::Responder] {
            assert_eq!(pieces.writes(side), whole.writes(side), "in pieces of {chunk}");
        }
        assert_eq!(pieces.items().len(), 1);
        assert!(pieces.ended >= whole.ended);
    }
}

#[test]
fn a_file_is_sent_as_it_is_read_from_disk() {
    let net = Net { timers_at: Side::Responder, ..harness::new(L) };
    // A block of 8,192 B takes 8 ms, the last 3,616 B take 3.53125 ms.
    let run = run(&net, &ftp_get(20_000, Some(8_192_000), 2));
    let connected = Time::ZERO + L * 11;
    let read = [8_000_000, 16_000_000, 19_531_250].map(Span::from_ns);
    assert_eq!(data_writes(&run), read.map(|span| connected + span));
    assert_eq!(run.items(), [(20_000, L * 4 + read[2])]);
}

#[test]
fn a_disk_keeps_its_rate_over_many_blocks() {
    let net = Net { timers_at: Side::Responder, ..harness::new(L) };
    // Three blocks of 65,536 bit at 3 bit/s: no block ends on a picosecond but the third.
    let run = run(&net, &ftp_get(3 * 8192, Some(3), 0));
    assert_eq!(run.items(), [(3 * 8192, L * 4 + Span::from_secs(65_536))]);
}

#[test]
fn a_disk_reads_ahead_while_a_write_is_blocked() {
    // The socket holds one block: a round trip of 20 ms each, a disk that needs 8 ms.
    let net = Net { timers_at: Side::Responder, send_buffer: 8192, ..harness::new(L) };
    let run = run(&net, &ftp_get(4 * 8192, Some(8_192_000), 0));
    let connected = Time::ZERO + L * 7;
    assert_eq!(data_writes(&run), [8, 16, 28, 48].map(|ms| connected + Span::from_ms(ms)));
}

#[test]
fn each_file_has_a_connection_of_its_own() {
    let run = run(&harness::new(L), &www(&[1000, 2000, 3000], None));
    // Opening takes 2 latencies, the request one, the response one.
    assert_eq!(run.items(), [(1000, L * 4), (2000, L * 4), (3000, L * 4)]);
    assert_eq!(run.writes(Side::Originator), [300; 3]);
    assert_eq!(run.writes(Side::Responder), [1000, 2000, 3000]);
    let opened = run.times(|action| matches!(action, Action::Open { from: Side::Originator, .. }));
    assert_eq!(opened, [0, 4, 8].map(|ways| Time::ZERO + L * ways));
    // The server closed with the last file, so two latencies more for the browser's end.
    assert_eq!(run.ended, Some(Time::ZERO + L * (12 + 2)));
}

#[test]
fn a_file_in_pieces_is_one_item() {
    for chunk in [1, 299, 1000] {
        let run = run(&Net { chunk, ..harness::new(L) }, &www(&[3000, 500], None));
        assert_eq!(run.items().iter().map(|(bytes, _)| *bytes).collect::<Vec<_>>(), [3000, 500]);
        assert_eq!(run.writes(Side::Responder), [3000, 500]);
        assert!(run.ended.is_some());
    }
}

#[test]
fn the_browser_reads_as_fast_as_it_shows() {
    // 1 B a microsecond: pieces of 1,024 B, the last of 784 B.
    let run = run(&harness::new(L), &www(&[10_000], Some(8_000_000)));
    let arrived = Time::ZERO + L * 4;
    let reads: Vec<(Time, u64)> = run
        .actions
        .iter()
        .filter_map(|(at, action)| if let Action::Consume { bytes, .. } = action { Some((*at, *bytes)) } else { None })
        .collect();
    let piece = |k: u64| (arrived + Span::from_us(1024 * k), if k < 9 { 1024 } else { 784 });
    assert_eq!(reads, (0..10).map(piece).collect::<Vec<_>>());
    let shown = Span::from_us(10_000);
    assert_eq!(run.items(), [(10_000, L * 4 + shown)]);
    // The FIN had arrived before, but follows the last byte.
    assert_eq!(closes(&run, 0, Side::Originator), [arrived + shown]);
}

#[test]
fn a_slow_display_holds_the_server_back() {
    let shown = |buffer, bps| {
        // The harness refuses more than the buffer holds.
        let net = Net { receive_buffer: buffer, ..harness::new(L) };
        run(&net, &www(&[10_240], Some(bps))).items()[0].1
    };
    // A window of 4,096 B and a round trip of 20 ms; ten pieces of 1.024 ms. The fifth arrives a round trip after the
    // first is read, the ninth two, and one more is displayed after that.
    assert_eq!(shown(4096, 8_000_000), L * 4 + Span::from_ms(40) + Span::from_us(2 * 1024));
    // A piece takes 10.24 ms and the window lasts for 40.96: only the display limits.
    assert_eq!(shown(4096, 800_000), L * 4 + Span::from_us(102_400));
    // Half a piece a window.
    assert_eq!(shown(512, 8_000_000), L * 4 + Span::from_ms(19 * 20) + Span::from_us(512));
}

#[test]
fn a_display_keeps_its_rate_over_many_pieces() {
    // Three pieces of 8,192 bit at 3 bit/s: no piece ends on a picosecond but the third.
    assert_eq!(run(&harness::new(L), &www(&[3072], Some(3))).items(), [(3072, L * 4 + Span::from_secs(8192))]);
}

#[test]
fn the_next_file_waits_until_this_one_is_shown() {
    let run = run(&harness::new(L), &www(&[1000, 1000], Some(8_000)));
    let first = L * 4 + Span::from_secs(1);
    assert_eq!(run.items(), [(1000, first); 2]);
    let opened = run.times(|action| matches!(action, Action::Open { .. }));
    assert_eq!(opened, [Time::ZERO, Time::ZERO + first]);
}
