//! Applications whose writes block: ttcp, bulk transfers by blocking writes, animations.
#![allow(clippy::unwrap_used)]

mod harness;

use cellway_apps::random::Streams;
use cellway_apps::{
    Action, AnimationWorkload, BulkWorkload, ConnId, Conversation, Outcome, Side, TtcpWorkload, Workload,
};
use cellway_units::{Bytes, Span, Time};
use harness::{Net, Run};

const L: Span = Span::from_ms(10);
/// When the originator is connected.
const CONNECTED: Time = Time::from_ps(20_000_000_000);

fn ttcp(buffers: u64, cost: Span) -> Workload {
    Workload::Ttcp(TtcpWorkload { write: Bytes(8192), buffers, write_cost: cost })
}

fn animation(frame: u64, rate: f64, duration: Option<Span>) -> Workload {
    Workload::Animation(AnimationWorkload { frame: Bytes(frame), rate, duration })
}

fn run(net: &Net, workload: &Workload) -> Run {
    net.run(workload, 1, "slot-1", 0)
}

/// Returns the times at which the originator began its writes, after it was connected.
fn write_times(run: &Run) -> Vec<Span> {
    let is_write = |action: &Action| matches!(action, Action::Write { side: Side::Originator, .. });
    run.times(is_write).iter().map(|at| at.since(CONNECTED)).collect()
}

fn ms(times: &[u64]) -> Vec<Span> {
    times.iter().map(|&ms| Span::from_ms(ms)).collect()
}

#[test]
fn ttcp_writes_its_buffers_and_closes() {
    let run = run(&harness::new(L), &ttcp(16, Span::ZERO));
    assert_eq!(run.writes(Side::Originator), [8192; 16]);
    assert_eq!(run.writes(Side::Responder), [0; 0]);
    assert_eq!(run.items(), [(16 * 8192, L)]);
    assert_eq!((run.ended, run.connections), (Some(CONNECTED + L * 3), 1));
}

#[test]
fn a_write_blocks_until_the_socket_has_taken_it() {
    // The socket holds two writes: two a round trip, eight round trips. The third write begins with
    // the first two and waits; from then on one is always waiting.
    let net = Net { send_buffer: 2 * 8192, ..harness::new(L) };
    let run = run(&net, &ttcp(16, Span::ZERO));
    let turn = |write: u64| if write < 3 { 0 } else { (write - 1) / 2 * 20 };
    assert_eq!(write_times(&run), ms(&(0..16).map(turn).collect::<Vec<_>>()));
    assert_eq!(run.items(), [(16 * 8192, L * (2 * 7 + 1))]);
}

#[test]
fn a_write_larger_than_the_socket_goes_in_pieces() {
    let net = Net { send_buffer: 1000, ..harness::new(L) };
    let run = run(&net, &ttcp(1, Span::ZERO));
    // 8,192 B by 1,000 B a round trip: the ninth piece leaves after eight of them.
    assert_eq!(run.items(), [(8192, L * (2 * 8 + 1))]);
}

#[test]
fn each_write_keeps_the_application_busy() {
    let cost = Span::from_ms(5);
    let run = run(&harness::new(L), &ttcp(4, cost));
    assert_eq!(write_times(&run), ms(&[0, 5, 10, 15]));
    assert_eq!(run.items(), [(4 * 8192, cost * 3 + L)]);
}

#[test]
fn the_next_write_waits_for_the_socket_or_the_application_whichever_is_later() {
    let net = Net { send_buffer: 8192, ..harness::new(L) };
    // A round trip of 20 ms. The second write begins when the application can, and blocks.
    let fast = run(&net, &ttcp(5, Span::from_ms(5)));
    assert_eq!(write_times(&fast), ms(&[0, 5, 20, 40, 60]));
    let slow = run(&net, &ttcp(5, Span::from_ms(30)));
    assert_eq!(write_times(&slow), ms(&[0, 30, 60, 90, 120]));
}

#[test]
fn a_bulk_transfer_by_blocking_writes_ends_with_a_part_of_one() {
    let bulk = |size| Workload::Bulk(BulkWorkload { size, write: Bytes(8192), blocking: Some(Span::from_ms(1)) });
    let sized = run(&harness::new(L), &bulk(Some(Bytes(20_000))));
    assert_eq!(sized.writes(Side::Originator), [8192, 8192, 3616]);
    assert_eq!(sized.items(), [(20_000, Span::from_ms(2) + L)]);
    assert_eq!(sized.ended, Some(CONNECTED + Span::from_ms(2) + L * 3));
    let net = Net { until: CONNECTED + Span::from_secs(1), ..harness::new(L) };
    let endless = run(&net, &bulk(None));
    assert_eq!(endless.writes(Side::Originator), [8192; 1001]);
    assert_eq!((endless.items(), endless.ended), (vec![], None));
}

#[test]
fn frames_are_sent_at_their_pace() {
    let run = run(&harness::new(L), &animation(40_000, 50.0, Some(Span::from_secs(1))));
    assert_eq!(write_times(&run), ms(&(0..50).map(|k| 20 * k).collect::<Vec<_>>()));
    assert_eq!(run.items(), [(40_000, L); 50]);
    assert_eq!(run.ended, Some(CONNECTED + Span::from_secs(1) + L * 3));
}

#[test]
fn an_animation_stops_in_time_between_two_frames() {
    let run = run(&harness::new(L), &animation(40_000, 0.5, Some(Span::from_secs(3))));
    assert_eq!(write_times(&run), ms(&[0, 2000]));
    assert_eq!(run.ended, Some(CONNECTED + Span::from_secs(3) + L * 3));
}

#[test]
fn frames_in_pieces_are_distinguished() {
    let net = Net { chunk: 700, until: CONNECTED + Span::from_ms(95), ..harness::new(L) };
    let run = run(&net, &animation(1000, 50.0, None));
    // The second piece of each arrives a nanosecond later.
    assert_eq!(run.items(), [(1000, L + Span::from_ns(1)); 5]);
}

#[test]
fn a_narrow_network_slows_an_animation_and_drops_nothing() {
    // The socket holds one frame: one in a round trip of 20 ms at a pace of 100 a second.
    let net = Net { send_buffer: 40_000, until: CONNECTED + Span::from_ms(209), ..harness::new(L) };
    let run = run(&net, &animation(40_000, 100.0, None));
    assert_eq!(write_times(&run), ms(&[0, 10, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200]));
    // The second waits 10 ms in the socket's queue, and the others, written as it leaves, 20 ms.
    let spans: Vec<Span> = run.items().iter().map(|(_, span)| *span).collect();
    assert_eq!(spans[..2], [L, L * 2]);
    assert_eq!(spans[2..], [L * 3; 8]);
}

#[test]
fn a_late_frame_is_not_made_up_for() {
    let mut conversation = Conversation::new(&animation(1000, 50.0, None), &Streams::new(1), "slot-1", 0);
    let mut out = Vec::new();
    let write = Action::Write { conn: ConnId(0), side: Side::Originator, bytes: 1000 };
    let at = |ms| Time::ZERO + Span::from_ms(ms);
    let timer = |ms| Action::Timer { at: at(ms), id: 0 };
    conversation.start(at(0), &mut out);
    conversation.connected(at(0), ConnId(0), Side::Originator, &mut out);
    assert_eq!(out[1..], [write]);
    out.clear();
    // Four periods late: one frame at once, the next a full period after it.
    conversation.written(at(95), ConnId(0), Side::Originator, &mut out);
    assert_eq!(out, [write]);
    out.clear();
    conversation.written(at(95), ConnId(0), Side::Originator, &mut out);
    assert_eq!(out, [timer(115)]);
    out.clear();
    conversation.timer(at(115), 0, &mut out);
    assert_eq!(out, [write]);
    out.clear();
    // Blocked when it might go on.
    conversation.timer(at(135), 0, &mut out);
    assert_eq!(out, []);
    conversation.failed(at(140), ConnId(0), &mut out);
    conversation.written(at(141), ConnId(0), Side::Originator, &mut out);
    assert_eq!((out, conversation.outcome()), (vec![Action::Ended], Outcome::Failed));
}
