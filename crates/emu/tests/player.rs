//! Applications over the kernel's TCP on loopback: the bytes that each delivers against the same conversation on a
//! network without I/O, failures, repetition, ports, windows, and the end of a run.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

#[path = "../../apps/tests/harness/mod.rs"]
mod ideal;

#[path = "player_harness/mod.rs"]
mod harness;

use std::time::Duration;

use cellway_apps::{
    AppKind, DataConnection, Distribution, ExchangeModel, FlowProcess, Knot, MeasuredArrivals, MeasuredWorkload,
    Outcome, QuantileModel, RequestResponseWorkload, Side, SizeLaw, Tables, Variable, Workload,
};
use cellway_emu::player::{HostTcp, PlayerError, Seen};
use cellway_measure::tcp::TcpOptions;
use cellway_units::{Bytes, Rate, Span, Time};
use harness::{Bench, always, loopback};

const SEED: u64 = 11;

fn fixed(kind: AppKind, values: &[(Variable, f64)]) -> Workload {
    let mut workload = Workload::new(kind);
    let tables = values.iter().fold(Tables::shipped(), |tables, &(variable, value)| always(tables, variable, value));
    match &mut workload {
        Workload::Telnet(telnet) => telnet.tables = tables,
        other => unreachable!("{other:?} has no times to be fixed"),
    }
    workload
}

/// Returns a session of a fifth of a second, of which no packet is early or late.
fn telnet(echo: bool) -> Workload {
    let values =
        [(Variable::TelnetDuration, 200.0), (Variable::TelnetInterarrival, 9.0), (Variable::TelnetPacketSize, 3.0)];
    let mut workload = fixed(AppKind::Telnet, &values);
    let Workload::Telnet(telnet) = &mut workload else { unreachable!() };
    telnet.echo = echo;
    workload
}

fn bulk(size: Option<u64>) -> Workload {
    let mut workload = Workload::new(AppKind::Bulk);
    let Workload::Bulk(bulk) = &mut workload else { unreachable!() };
    (bulk.size, bulk.write) = (size.map(Bytes), Bytes(100_000));
    workload
}

/// Returns conversations of a few exchanges, some of whose messages are empty.
fn measured(open: bool) -> Workload {
    let distribution = |knots: &[(f64, f64)]| {
        let knots = knots.iter().map(|&(probability, value)| Knot { probability, value }).collect();
        Distribution { model: QuantileModel::with_atoms(knots, "t").unwrap(), samples: 9, fit: None }
    };
    let sizes = distribution(&[(0.3, 0.0), (0.6, 900.0), (1.0, 90_000.0)]);
    let time = distribution(&[(0.5, 0.0), (1.0, 0.01)]);
    let model = ExchangeModel {
        arrival_gap: Some(distribution(&[(0.0, 0.001), (1.0, 0.02)])),
        exchanges: Some(distribution(&[(0.0, 1.0), (1.0, 12.0)])),
        request: Some(sizes.clone()),
        response: Some(sizes),
        pause: Some(time.clone()),
        think: Some(time),
        recorded: Vec::new(),
    };
    let arrivals = match open {
        true => MeasuredArrivals::Open { scale: 2.0, count: Some(30), duration: None, limit: 1000 },
        false => MeasuredArrivals::Closed { gap: Span::from_ms(3) },
    };
    Workload::Measured(MeasuredWorkload { model: model.into(), fits: false, arrivals })
}

fn www(display_rate: Option<Rate>, sizes: &[u64]) -> Workload {
    let mut workload = Workload::new(AppKind::Www);
    let Workload::Www(www) = &mut workload else { unreachable!() };
    (www.display_rate, www.sizes) = (display_rate, sizes.iter().copied().map(Bytes).collect());
    workload
}

/// Returns every application, with every use that it makes of connections.
fn everything() -> Vec<(&'static str, Workload)> {
    let mut per_item = Workload::new(AppKind::Ftp);
    let Workload::Ftp(ftp) = &mut per_item else { unreachable!() };
    ftp.data_connection = DataConnection::PerItem;
    let mut blocking = bulk(Some(700_001));
    let Workload::Bulk(b) = &mut blocking else { unreachable!() };
    b.blocking = Some(Span::from_us(300));
    let mut ttcp = Workload::new(AppKind::Ttcp);
    let Workload::Ttcp(t) = &mut ttcp else { unreachable!() };
    t.buffers = 200;
    let mut disk = Workload::new(AppKind::FtpGet);
    let Workload::FtpGet(get) = &mut disk else { unreachable!() };
    get.disk_rate = Some(Rate::from_bps(100_000_000));
    let mut animation = Workload::new(AppKind::Animation);
    let Workload::Animation(a) = &mut animation else { unreachable!() };
    a.duration = Some(Span::from_ms(250));
    let mut flows = Workload::new(AppKind::Flows);
    let Workload::Flows(f) = &mut flows else { unreachable!() };
    f.count = Some(40);
    let sizes = SizeLaw::LogNormal { median: Bytes(20_000), sigma: 1.5 };
    f.process = FlowProcess::Poisson { interval: Span::from_ms(5), sizes };
    // Three requests: the third is not as late as the end, and a fourth would be after it.
    let (think, duration) = (Span::from_ms(90), Some(Span::from_ms(250)));
    let requests = RequestResponseWorkload { request: Bytes(3000), response: Bytes(70_001), think, duration };
    let mut page = Workload::new(AppKind::Page);
    let Workload::Page(p) = &mut page else { unreachable!() };
    p.sizes = SizeLaw::LogNormal { median: Bytes(10_000), sigma: 1.5 };
    p.think = Span::from_ms(50);
    vec![
        ("ftp", Workload::new(AppKind::Ftp)),
        ("ftp-per-item", per_item),
        ("smtp", Workload::new(AppKind::Smtp)),
        ("nntp", Workload::new(AppKind::Nntp)),
        ("telnet", telnet(true)),
        ("telnet-without-echo", telnet(false)),
        ("bulk", bulk(Some(3_000_017))),
        ("bulk-blocking", blocking),
        ("ttcp", ttcp),
        ("ftp-get", Workload::new(AppKind::FtpGet)),
        ("ftp-get-from-disk", disk),
        ("www", www(None, &[100_000, 1, 65_536])),
        ("www-shown", www(Some(Rate::from_bps(8_000_000)), &[50_000, 3_000, 1])),
        ("animation", animation),
        ("flows", flows),
        ("requests", Workload::RequestResponse(requests)),
        ("page", page),
        ("measured-open", measured(true)),
        ("measured-closed", measured(false)),
    ]
}

#[test]
fn every_application_delivers_the_bytes_that_it_wrote() {
    let bench = everything()
        .into_iter()
        .fold(Bench::new(SEED), |bench, (name, workload)| bench.slot(name, workload, loopback(1), loopback(2)));
    let seen = bench.clone().run_until_all_ended();
    for (slot, (name, workload)) in everything().iter().enumerate() {
        let of = seen.slot(slot);
        assert_eq!(of.ended(), [(0, Outcome::Completed)], "{name}");
        let mut ideal = ideal::new(Span::from_us(50));
        if matches!(workload, Workload::FtpGet(_)) {
            // The disk is the server's.
            ideal.timers_at = Side::Responder;
        }
        if matches!(workload, Workload::Measured(_)) {
            // An even identifier is of a timer of the responder, but for 0.
            ideal.timer_side = |id| (id > 0 && id % 2 == 0).then_some(Side::Responder);
        }
        let ideal = ideal.run(workload, SEED, name, 0);
        for side in [Side::Originator, Side::Responder] {
            let (delivered, writes) = (of.delivered(side), ideal.writes(side));
            if matches!(workload, Workload::RequestResponse(_)) {
                // A busy computer has time for fewer, of one size.
                let most = writes.iter().sum::<u64>();
                assert!(delivered.is_multiple_of(writes[0]), "{name} {side:?}: {delivered}");
                assert!((writes[0]..=most).contains(&delivered), "{name} {side:?}: {delivered}");
            } else {
                assert_eq!(delivered, writes.iter().sum::<u64>(), "{name} {side:?}");
            }
        }
        let mut sizes: [Vec<u64>; 2] = [of.items(), ideal.items().iter().map(|item| item.0).collect()];
        if matches!(workload, Workload::Page(_)) {
            // Parallel connections may end in any order.
            sizes.iter_mut().for_each(|sizes| sizes.sort_unstable());
        }
        assert_eq!(sizes[0], sizes[1], "{name}");
        assert_eq!(of.delays(), ideal.delays().len(), "{name}");
        assert_eq!(of.last_reports(), 2 * ideal.connections, "{name}");
    }
    // With and without echo every packet has a delay.
    assert!(seen.slot(4).delays() >= 20, "{}", seen.slot(4).delays());
    assert!(seen.slot(5).delays() >= 20, "{}", seen.slot(5).delays());
}

#[test]
fn the_same_seed_plays_the_same_again() {
    let play = |seed| {
        let bench = Bench::new(seed);
        let bench = bench.slot("ftp-1", Workload::new(AppKind::Ftp), loopback(3), loopback(4));
        let bench = bench.slot("nntp-1", Workload::new(AppKind::Nntp), loopback(3), loopback(4));
        let seen = bench.run_until_all_ended();
        [0, 1].map(|slot| (seen.slot(slot).items(), seen.slot(slot).delivered(Side::Responder)))
    };
    let first = play(5);
    assert!(!first[0].0.is_empty() && !first[1].0.is_empty(), "{first:?}");
    assert_eq!(first, play(5));
    assert_ne!(first, play(6));
}

#[test]
fn ipv6_is_handled_as_ipv4() {
    let bench = Bench::new(SEED).slot(
        "ftp-get",
        Workload::new(AppKind::FtpGet),
        "::1".parse().unwrap(),
        "::1".parse().unwrap(),
    );
    let seen = bench.run_until_all_ended();
    assert_eq!(seen.slot(0).ended(), [(0, Outcome::Completed)]);
    assert_eq!(seen.slot(0).items(), [1_000_000]);
}

#[test]
fn a_conversation_follows_the_one_before() {
    let mut workload = Workload::new(AppKind::Ttcp);
    let Workload::Ttcp(ttcp) = &mut workload else { unreachable!() };
    ttcp.buffers = 4;
    let bench = Bench::new(SEED).slot("ttcp-1", workload, loopback(5), loopback(6)).repeat();
    let seen = bench.run_until(|seen| seen.slot(0).ended().len() >= 50);
    let ended = seen.slot(0).ended();
    assert!(ended.iter().enumerate().all(|(k, end)| *end == (k as u32, Outcome::Completed)), "{ended:?}");
    assert_eq!(seen.slot(0).items()[..50], [4 * 8192; 50]);
    assert_eq!(seen.slot(0).begun(), (0..seen.played.conversations as u32).collect::<Vec<_>>());
}

#[test]
fn a_refused_connection_fails_the_conversation() {
    let bench = Bench::new(SEED).slot("smtp-1", Workload::new(AppKind::Smtp), loopback(7), loopback(8)).repeat();
    let seen = bench.nobody_listens().run_until(|seen| seen.slot(0).ended().len() >= 2);
    assert_eq!(seen.slot(0).ended()[..2], [(0, Outcome::Failed), (1, Outcome::Failed)]);
    assert!(seen.slot(0).reasons()[0].contains("refused"), "{:?}", seen.slot(0).reasons());
    let begun = seen.slot(0).times(|seen| matches!(seen, Seen::Begun { .. }));
    assert!(begun[1].since(begun[0]) >= cellway_emu::player::RETRY, "{begun:?}");
}

#[test]
fn a_reset_fails_the_conversation() {
    let bench = Bench::new(SEED).slot("bulk-1", bulk(None), loopback(9), loopback(10));
    let seen = bench.meddle(Duration::from_millis(100), harness::reset).run_until_all_ended();
    assert_eq!(seen.slot(0).ended(), [(0, Outcome::Failed)]);
    assert!(seen.slot(0).delivered(Side::Originator) > 0);
}

/// Payload is compared if the plan requests it: a foreign octet in the stream is found.
#[test]
fn corrupted_payload_is_found() {
    let bench = Bench::new(SEED).slot("telnet-1", telnet(true), loopback(23), loopback(24));
    let refused = bench.meddle(Duration::from_millis(100), harness::intrude).try_run().unwrap_err();
    let PlayerError::Corrupted { slot, connection: 0, to: Side::Responder, offset } = refused else {
        panic!("{refused}");
    };
    assert!(slot == "telnet-1" && offset > 0, "{slot} {offset}");
}

#[test]
fn connections_have_the_well_known_ports() {
    let mut workload = Workload::new(AppKind::Ftp);
    let Workload::Ftp(ftp) = &mut workload else { unreachable!() };
    ftp.data_connection = DataConnection::PerItem;
    let ports = [harness::free_port(loopback(12)), harness::free_port(loopback(12))];
    let bench = Bench::new(SEED).slot("ftp-1", workload.clone(), loopback(11), loopback(12)).ports(ports);
    let (seen, mut used) = bench.run_and_look_at_ports(1);
    assert!(seen.slot(0).items().len() > 1);
    used.sort_unstable();
    used.dedup();
    let mut wanted = ports.to_vec();
    wanted.sort_unstable();
    assert_eq!(used, wanted);
}

#[test]
fn a_port_that_another_has_is_replaced() {
    let port = harness::free_port(loopback(14));
    let _taken = std::net::TcpListener::bind((loopback(14), port)).unwrap();
    let bench = Bench::new(SEED).slot("ftp-get-1", Workload::new(AppKind::FtpGet), loopback(13), loopback(14));
    let seen = bench.ports([port; 2]).run_until_all_ended();
    assert_eq!(seen.slot(0).ended(), [(0, Outcome::Completed)]);
}

/// Slots of one host share its port, and each has its own connections and its own TCP.
#[test]
fn slots_share_a_host() {
    let options = |mss| HostTcp {
        options: TcpOptions { mss: Some(Bytes(mss)), ..TcpOptions::default() },
        quick_ack: true,
        traffic_class: 0,
    };
    let port = harness::free_port(loopback(16));
    let mut bench = Bench::new(SEED);
    for number in 0..40_u64 {
        let workload = www(None, &[1000 + number, 20_000 + number]);
        bench = bench.slot(&format!("www-{number}"), workload, loopback(15), loopback(16)).ports([port; 2]);
        bench = bench.tcp(options(if number % 2 == 0 { 536 } else { 1000 }));
    }
    let seen = bench.run_until_all_ended();
    for number in 0..40 {
        let of = seen.slot(number as usize);
        assert_eq!(of.items(), [1000 + number, 20_000 + number]);
        let mss = of.segment_sizes();
        // Timestamps take 12 bytes if they are on.
        let wanted = if number % 2 == 0 { 536 } else { 1000 };
        assert!(mss.iter().all(|&mss| mss == wanted || mss == wanted - 12), "{number}: {mss:?}");
    }
}

/// The bytes displayed in time `t` are at most the rate times `t`, and the sender is ahead of that by the size of the
/// browser's buffer: not by the whole file.
#[test]
fn a_slow_display_closes_the_window() {
    let rate = Rate::from_bps(400_000);
    let tcp = HostTcp {
        options: TcpOptions { window: Some(Bytes(8192)), ..TcpOptions::default() },
        quick_ack: false,
        traffic_class: 0,
    };
    let bench = Bench::new(SEED).slot("www-1", www(Some(rate), &[10_000_000]), loopback(17), loopback(18)).tcp(tcp);
    let seen = bench.report_every(Span::from_ms(50)).run_for(Span::from_secs(1));
    let mut told = 0;
    for (at, report) in seen.slot(0).reports().into_iter().filter(|(_, r)| r.side == Side::Responder && !r.last) {
        let shown = at.as_secs_f64() * rate.as_bps() as f64 / 8.0;
        let ahead = report.info.bytes_acked.0 as f64 - shown;
        assert!(ahead < 32.0 * 1024.0, "{ahead} bytes ahead at {at:?}");
        told += 1;
    }
    assert!(told > 0);
    assert!(seen.slot(0).delivered(Side::Responder) > 0);
}

#[test]
fn it_stops_on_request_and_at_the_end_of_the_run() {
    let bench = || Bench::new(SEED).slot("bulk-1", bulk(None), loopback(19), loopback(20));
    let seen = bench().run_until(|seen| seen.slot(0).delivered(Side::Originator) > 1_000_000);
    assert!(seen.played.stopped);
    let seen = bench().run_for(Span::from_ms(300));
    assert!(!seen.played.stopped);
    assert!(seen.slot(0).delivered(Side::Originator) > 0);
    assert_eq!(seen.slot(0).last_reports(), 2);
    // A slot that begins after the end never does.
    let seen = bench().start(Time::ZERO + Span::from_secs(5)).run_for(Span::from_ms(50));
    assert_eq!((seen.played.conversations, seen.slot(0).begun()), (0, vec![]));
}

#[test]
fn wrong_plans_are_refused_with_a_message() {
    let bench = || Bench::new(SEED).slot("bulk-1", bulk(Some(1)), loopback(21), loopback(22));
    let text = |refused: PlayerError| refused.to_string();
    let refused = text(bench().host_of_originator(9).try_run().unwrap_err());
    assert!(refused.contains("slot `bulk-1` is at host 9") && refused.contains("has 2 hosts"), "{refused}");
    let mixed = Bench::new(SEED).slot("bulk-1", bulk(Some(1)), loopback(21), "::1".parse().unwrap());
    assert!(text(mixed.try_run().unwrap_err()).contains("IPv4 address to an IPv6 address"));
    let elsewhere = Bench::new(SEED).slot("bulk-1", bulk(Some(1)), loopback(21), "192.0.2.1".parse().unwrap());
    let refused = text(elsewhere.try_run().unwrap_err());
    assert!(refused.contains("cannot use 192.0.2.1:0") && refused.contains("address of that host"), "{refused}");
    let congestion = Some("no-such-control".to_owned());
    let tcp =
        HostTcp { options: TcpOptions { congestion, ..TcpOptions::default() }, quick_ack: false, traffic_class: 0 };
    let refused = text(bench().tcp(tcp).try_run().unwrap_err());
    assert!(refused.contains("no-such-control") && refused.contains("reno"), "{refused}");
}
