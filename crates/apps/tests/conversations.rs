//! Every kind of conversation on a network without bandwidth: bytes, pauses and durations against arithmetic, and
//! properties of any conversation.
#![allow(clippy::unwrap_used)]

mod harness;

use cellway_apps::random::Streams;
use cellway_apps::{
    Action, AppKind, BulkWorkload, ConnId, Conversation, DataConnection, Draw, Knot, Outcome, QuantileModel, Side,
    Spike, Tables, Variable, Workload,
};
use cellway_units::{Bytes, Span, Time};
use harness::{Net, Run};

const L: Span = Span::from_ms(10);

/// Returns tables from which tcplib's rule always draws `value`.
fn always(tables: Tables, variable: Variable, value: f64) -> Tables {
    let knots = vec![Knot { probability: 0.9995, value }, Knot { probability: 1.0, value: value + 1.0 }];
    tables.with(variable, QuantileModel::new(knots, "test").unwrap())
}

fn fixed(kind: AppKind, values: &[(Variable, f64)]) -> Workload {
    let mut workload = Workload::new(kind);
    let tables = values.iter().fold(Tables::shipped(), |tables, &(variable, value)| always(tables, variable, value));
    match &mut workload {
        Workload::Ftp(ftp) => ftp.tables = tables,
        Workload::Nntp(nntp) => nntp.tables = tables,
        Workload::Smtp(smtp) => smtp.tables = tables,
        Workload::Telnet(telnet) => telnet.tables = tables,
        _ => {}
    }
    workload
}

fn fixed_ftp() -> Workload {
    let values = [(Variable::FtpItems, 3.0), (Variable::FtpItemSize, 1000.0), (Variable::FtpControlSize, 30.0)];
    fixed(AppKind::Ftp, &values)
}

fn fixed_telnet(duration: f64, interarrival: f64, size: f64) -> Workload {
    let values = [
        (Variable::TelnetDuration, duration),
        (Variable::TelnetInterarrival, interarrival),
        (Variable::TelnetPacketSize, size),
    ];
    fixed(AppKind::Telnet, &values)
}

fn run(workload: &Workload) -> Run {
    harness::new(L).run(workload, 1, "slot-1", 0)
}

/// Returns the end of a dialogue whose originator writes `requests` messages, each answered. The greeting arrives after
/// 4 latencies (handshake 3, transfer 1), each request costs 2, and closing 2 more: the responder's FIN arrived with
/// its last reply.
fn dialogue_end(requests: u64) -> Time {
    Time::ZERO + L * (4 + 2 * requests + 2)
}

#[test]
fn ftp_takes_two_round_trips_per_item() {
    let run = run(&fixed_ftp());
    // User, password; then store and item, three times; then quit.
    assert_eq!(run.writes(Side::Originator), [30, 30, 30, 1000, 30, 1000, 30, 1000, 30]);
    // Greeting and a reply to each.
    assert_eq!(run.writes(Side::Responder), [30; 10]);
    assert_eq!(run.items(), [(1000, L); 3]);
    assert_eq!(run.ended, Some(dialogue_end(9)));
    assert_eq!(run.connections, 1);
}

#[test]
fn ftp_with_a_connection_per_item_pays_for_opening_it() {
    let mut workload = fixed_ftp();
    let Workload::Ftp(ftp) = &mut workload else { unreachable!() };
    ftp.data_connection = DataConnection::PerItem;
    let run = run(&workload);
    assert_eq!(run.writes(Side::Originator), [30, 30, 30, 1000, 30, 1000, 30, 1000, 30]);
    assert_eq!(run.writes(Side::Responder), [30; 10]);
    assert_eq!(run.items(), [(1000, L); 3]);
    assert_eq!(run.connections, 4);
    // The originator may send an item 2 latencies later than on a shared connection: it is
    // connected 3 after the responder begins to open, which is when the reply leaves.
    assert_eq!(run.ended, Some(dialogue_end(9) + L * 2 * 3));
    let opened: Vec<Side> = run
        .actions
        .iter()
        .filter_map(|(_, a)| if let Action::Open { from, .. } = a { Some(*from) } else { None })
        .collect();
    assert_eq!(opened, [Side::Originator, Side::Responder, Side::Responder, Side::Responder]);
}

#[test]
fn more_handshakes_mean_more_round_trips() {
    for (opening, per_item) in [(0, 1), (5, 1), (2, 0), (2, 3)] {
        let mut workload = fixed_ftp();
        let Workload::Ftp(ftp) = &mut workload else { unreachable!() };
        ftp.handshakes.opening = opening;
        ftp.handshakes.per_item = per_item;
        let requests = u64::from(opening + 3 * (per_item + 1) + 1);
        let run = run(&workload);
        assert_eq!(run.writes(Side::Originator).len() as u64, requests);
        assert_eq!(run.ended, Some(dialogue_end(requests)));
    }
}

#[test]
fn nntp_offers_each_article() {
    let run = run(&fixed(AppKind::Nntp, &[(Variable::NntpItems, 2.0), (Variable::NntpItemSize, 500.0)]));
    assert_eq!(run.writes(Side::Originator), [26, 500, 26, 500, 6]);
    assert_eq!(run.writes(Side::Responder), [46, 38, 48, 38, 48, 45]);
    assert_eq!(run.items(), [(500, L); 2]);
    assert_eq!(run.ended, Some(dialogue_end(5)));
}

#[test]
fn smtp_sends_one_message() {
    let run = run(&fixed(AppKind::Smtp, &[(Variable::SmtpItemSize, 700.0)]));
    assert_eq!(run.writes(Side::Originator), [20, 33, 31, 6, 700, 6]);
    assert_eq!(run.writes(Side::Responder), [54, 19, 8, 8, 46, 8, 56]);
    assert_eq!(run.items(), [(700, L)]);
    assert_eq!(run.ended, Some(dialogue_end(6)));
}

#[test]
fn telnet_writes_at_its_own_times() {
    let workload = fixed_telnet(1000.0, 300.0, 5.0);
    for latency in [L, Span::from_secs(1)] {
        let run = harness::new(latency).run(&workload, 1, "slot-1", 0);
        let connected = Time::ZERO + latency * 2;
        let written: Vec<Time> = run
            .actions
            .iter()
            .filter(|(_, a)| matches!(a, Action::Write { side: Side::Originator, .. }))
            .map(|(at, _)| *at)
            .collect();
        assert_eq!(written, [300, 600, 900].map(|ms| connected + Span::from_ms(ms)));
        assert_eq!(run.writes(Side::Responder), [5, 5, 5]);
        assert_eq!(run.delays(), [latency * 2; 3]);
        // Closes when the duration is over and the last echo has returned, whichever is later; then two latencies for
        // the two ends to close, one for the last acknowledgement.
        let last_echo = connected + Span::from_ms(900) + latency * 2;
        let closes = last_echo.max(connected + Span::from_ms(1000));
        assert_eq!(run.ended, Some(closes + latency * 3));
    }
}

#[test]
fn telnet_without_echo_waits_for_acknowledgements() {
    let mut workload = fixed_telnet(1000.0, 300.0, 5.0);
    let Workload::Telnet(telnet) = &mut workload else { unreachable!() };
    telnet.echo = false;
    let run = run(&workload);
    assert_eq!(run.writes(Side::Responder), [0; 0]);
    assert_eq!(run.delays(), [L * 2; 3]);
    assert_eq!(run.ended, Some(Time::ZERO + L * 5 + Span::from_ms(1000)));
}

#[test]
fn a_telnet_packet_in_pieces_has_one_delay() {
    let workload = fixed_telnet(1000.0, 300.0, 1000.0);
    let net = Net { chunk: 100, ..harness::new(L) };
    let run = net.run(&workload, 1, "slot-1", 0);
    assert_eq!(run.writes(Side::Responder), [100; 30]);
    // Ten pieces: the last arrives 9 ns after the first, and so does its echo.
    assert_eq!(run.delays(), [L * 2 + Span::from_ns(9); 3]);
}

#[test]
fn a_telnet_conversation_shorter_than_its_first_pause_sends_nothing() {
    let run = run(&fixed_telnet(100.0, 300.0, 5.0));
    assert_eq!(run.writes(Side::Originator), [0; 0]);
    assert_eq!(run.ended, Some(Time::ZERO + L * 5 + Span::from_ms(100)));
}

#[test]
fn bulk_of_a_size_ends() {
    let run = run(&Workload::Bulk(BulkWorkload { size: Some(Bytes(100_000)), write: Bytes(8192), blocking: None }));
    let writes = run.writes(Side::Originator);
    assert_eq!(writes.iter().sum::<u64>(), 100_000);
    assert!(writes[..12].iter().all(|&n| n == 8192) && writes.len() == 13);
    // Two writes a round trip: 13 take 7 rounds, of which the last arrives after one latency.
    assert_eq!(run.items(), [(100_000, L * (2 * 6 + 1))]);
    assert_eq!(run.ended, Some(Time::ZERO + L * (2 + 2 * 6 + 3)));
}

#[test]
fn endless_bulk_keeps_between_one_and_two_writes_ahead() {
    let net = Net { until: Time::ZERO + Span::from_secs(10), ..harness::new(L) };
    let run = net.run(&Workload::Bulk(BulkWorkload { size: None, write: Bytes(1000), blocking: None }), 1, "slot-1", 0);
    assert_eq!(run.ended, None);
    // 2,000 B a round trip of 20 ms from 20 ms on: 499 round trips before 10 s, and the next at it.
    assert_eq!(run.writes(Side::Originator).iter().sum::<u64>(), 2000 * 500);
}

#[test]
fn no_response_before_the_whole_message_has_arrived() {
    // Bytes that arrive one by one change the times of messages, never their contents.
    for kind in [AppKind::Ftp, AppKind::Nntp, AppKind::Smtp] {
        let workload = match kind {
            AppKind::Ftp => fixed_ftp(),
            AppKind::Nntp => fixed(kind, &[(Variable::NntpItems, 2.0), (Variable::NntpItemSize, 500.0)]),
            _ => fixed(kind, &[(Variable::SmtpItemSize, 700.0)]),
        };
        let whole = run(&workload);
        for chunk in [1, 7, 29, 999] {
            let pieces = Net { chunk, ..harness::new(L) }.run(&workload, 1, "slot-1", 0);
            for side in [Side::Originator, Side::Responder] {
                assert_eq!(pieces.writes(side), whole.writes(side), "{kind:?} in pieces of {chunk}");
            }
            // Each message is delayed by a nanosecond for each piece after the first.
            let sizes = [whole.writes(Side::Originator), whole.writes(Side::Responder)].concat();
            let late: u64 = sizes.iter().map(|size| size.div_ceil(chunk) - 1).sum();
            assert_eq!(pieces.ended, whole.ended.map(|end| end + Span::from_ns(late)), "{kind:?} in pieces of {chunk}");
        }
    }
}

#[test]
fn any_conversation_ends_once_and_delivers_everything() {
    for kind in [AppKind::Ftp, AppKind::Nntp, AppKind::Smtp, AppKind::Telnet] {
        for number in 0..40 {
            let mut workload = Workload::new(kind);
            if let Workload::Ftp(ftp) = &mut workload {
                ftp.data_connection = if number % 2 == 0 { DataConnection::Shared } else { DataConnection::PerItem };
            }
            // The harness refuses anything after the end and any act without a cause at its side.
            let run = harness::new(L).run(&workload, 3, "slot-2", number);
            assert!(run.ended.is_some(), "{kind:?} {number}");
            assert_eq!(run.actions.iter().filter(|(_, a)| *a == Action::Ended).count(), 1);
            let (sent, answered) = (run.writes(Side::Originator), run.writes(Side::Responder));
            if kind == AppKind::Telnet {
                assert_eq!(run.delays().len(), sent.len());
                assert_eq!(sent.iter().sum::<u64>(), answered.iter().sum::<u64>());
            } else {
                assert_eq!(answered.len(), sent.len() + 1, "a greeting, and a reply to each message");
                let items: u64 = run.items().iter().map(|(bytes, _)| bytes).sum();
                assert!(items < sent.iter().sum());
            }
        }
    }
}

#[test]
fn a_conversation_is_the_same_on_any_network() {
    for kind in [AppKind::Ftp, AppKind::Nntp, AppKind::Smtp, AppKind::Telnet] {
        let workload = Workload::new(kind);
        let near = run(&workload);
        assert_eq!(near, run(&workload), "the same run twice");
        let far = harness::new(Span::from_ms(250)).run(&workload, 1, "slot-1", 0);
        assert_eq!(near.writes(Side::Originator), far.writes(Side::Originator), "{kind:?}");
        assert_eq!(near.writes(Side::Responder), far.writes(Side::Responder), "{kind:?}");
    }
    let ftp = Workload::new(AppKind::Ftp);
    let words = |seed, slot, number| harness::new(L).run(&ftp, seed, slot, number).writes(Side::Originator);
    let first = words(1, "ftp-1", 0);
    for other in [words(2, "ftp-1", 0), words(1, "ftp-2", 0), words(1, "ftp-1", 1)] {
        assert_ne!(first, other);
    }
}

#[test]
fn a_spike_replaces_item_sizes_and_nothing_else() {
    let plain = Workload::new(AppKind::Ftp);
    let mut spiked = plain.clone();
    let Workload::Ftp(ftp) = &mut spiked else { unreachable!() };
    ftp.spike = Some(Spike { size: Bytes(74), weight: 0.33 });
    let (mut all, mut replaced) = (0, 0);
    for number in 0..300 {
        let [before, after] = [&plain, &spiked].map(|w| harness::new(L).run(w, 1, "ftp-1", number));
        assert_eq!(before.writes(Side::Responder), after.writes(Side::Responder));
        let (before, after) = (before.items(), after.items());
        assert_eq!(before.len(), after.len());
        for ((was, _), (is, _)) in before.iter().zip(&after) {
            assert!(is == was || *is == 74);
            all += 1;
            replaced += u32::from(*is == 74);
        }
    }
    // About 1,900 items: standard deviation .011, and 74 drawn by chance about .002.
    let share = f64::from(replaced) / f64::from(all);
    assert!(all > 1500 && (share - 0.33).abs() < 0.05, "{replaced} of {all}");
}

#[test]
fn a_failed_connection_ends_the_conversation_once() {
    let mut out = Vec::new();
    let mut conversation = Conversation::new(&Workload::new(AppKind::Ftp), &Streams::new(1), "ftp-1", 0);
    conversation.start(Time::ZERO, &mut out);
    assert_eq!(out, [Action::Open { conn: ConnId(0), from: Side::Originator }]);
    assert_eq!(conversation.outcome(), Outcome::Running);
    out.clear();
    conversation.failed(Time::ZERO + L, ConnId(0), &mut out);
    assert_eq!(out, [Action::Ended]);
    assert_eq!(conversation.outcome(), Outcome::Failed);
    out.clear();
    conversation.failed(Time::ZERO + L, ConnId(0), &mut out);
    conversation.closed(Time::ZERO + L, ConnId(0), &mut out);
    conversation.connected(Time::ZERO + L, ConnId(0), Side::Responder, &mut out);
    conversation.received(Time::ZERO + L, ConnId(0), Side::Originator, 10, &mut out);
    conversation.timer(Time::ZERO + L, 0, &mut out);
    assert_eq!(out, []);
    assert_eq!(conversation.outcome(), Outcome::Failed);
}

#[test]
fn the_other_drawing_rule_reaches_the_conversations() {
    let mut workload = Workload::new(AppKind::Smtp);
    let tcplib = run(&workload);
    let Workload::Smtp(smtp) = &mut workload else { unreachable!() };
    smtp.draw = Draw::Continuous;
    assert_ne!(tcplib.items(), run(&workload).items());
}
