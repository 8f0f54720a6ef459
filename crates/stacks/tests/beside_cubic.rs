//! The stacks of the examples, beside the built-in CUBIC and alone.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../examples/beside/mod.rs"]
mod beside;

use std::collections::BTreeSet;
use std::sync::Arc;

use beside::{figure, run, scenario};
use cellway_record::RunRecord;
use cellway_sim::{Payload, Stacks};
use cellway_stacks::{quic, smol};
use quinn_proto::congestion::NewRenoConfig;

fn quinn() -> Stacks {
    beside::beside(Payload::Udp, quic::bulk(|_| {}).unwrap())
}

fn smoltcp() -> Stacks {
    beside::beside(Payload::Ip { protocol: smol::TCP }, smol::bulk(1 << 20, |_| {}))
}

/// Returns every figure and every series of a run.
fn all(record: &RunRecord) -> Vec<String> {
    let rows = record.summary.iter().chain(&record.series);
    rows.map(|row| format!("{} {} {:?} {:?}", row.subject, row.metric, row.t, row.value)).collect()
}

fn of(record: &RunRecord, subject: &str, metric: &str) -> f64 {
    figure(record, subject, metric).unwrap_or_else(|| panic!("no {metric} of {subject}"))
}

/// FQ-CoDel gives each of two flows that always have data half of the line; the losses of the line cost both some of
/// it, which the other takes. With ten seeds all figures were between 9.1 and 9.8 Mbit/s, the sums 18.8 to 19.3.
#[test]
fn both_get_about_half_of_a_line_behind_fair_queues() {
    for (name, stacks) in [("quic", quinn()), ("smoltcp", smoltcp())] {
        for seed in [1, 2] {
            let record = run(&scenario(&[]), &stacks, seed).unwrap();
            let [cubic, other] = ["cubic-1", "other-1"].map(|group| of(&record, group, "goodput") / 1e6);
            assert!((9.0..9.9).contains(&cubic) && (9.0..9.9).contains(&other), "{name} {seed}: {cubic} {other}");
            assert!((18.7..19.4).contains(&(cubic + other)), "{name} {seed}: {cubic} + {other}");
            assert!(of(&record, "other-1", "retransmissions") > 0.0, "{name}");
            assert!(of(&record, "near>far", "sojourn_mean") < 0.01, "{name}");
        }
    }
}

/// No key, certificate or clock of the system is in the figures. The certificates of QUIC are made anew here.
#[test]
fn a_run_repeats_itself() {
    let short = scenario(&[("run.duration", "\"10 s\"")]);
    for stacks in [quinn as fn() -> Stacks, smoltcp] {
        let first = all(&run(&short, &stacks(), 1).unwrap());
        assert!(first.len() > 50);
        assert_eq!(all(&run(&short, &stacks(), 1).unwrap()), first);
        let one = stacks();
        assert_eq!([(); 2].map(|()| all(&run(&short, &one, 1).unwrap())), [first.clone(), first.clone()]);
        assert_ne!(all(&run(&short, &one, 2).unwrap()), first);
    }
}

/// QUIC sets ECT(0), so FQ-CoDel with ECN marks its packets where it drops those of smoltcp, which has no ECN.
#[test]
fn quic_reacts_to_marks() {
    let marks = scenario(&[("link.line.loss", "\"0%\""), ("buffer.fq-codel.ecn", "true")]);
    let [quic, smoltcp] = [quinn(), smoltcp()].map(|stacks| run(&marks, &stacks, 1).unwrap());
    assert!(of(&quic, "other-1", "packets_marked") > 3.0);
    assert_eq!([of(&quic, "other-1", "packets_lost"), of(&quic, "other-1", "retransmissions")], [0.0, 0.0]);
    assert_eq!(figure(&smoltcp, "other-1", "packets_marked"), None);
    assert!(of(&smoltcp, "other-1", "packets_lost") > 3.0);
    for record in [quic, smoltcp] {
        assert!(of(&record, "other-1", "delay_mean") < 0.025, "15 ms and the queue");
    }
}

/// One transfer alone over a line without loss has nearly the rate of the line less its headers, which are 52 to 85 of
/// 1500 octets: FQ-CoDel lets CUBIC lose a part of that (18.1 to 18.7 Mbit/s in the end).
#[test]
fn one_transfer_fills_a_line() {
    for family in ["ipv4", "ipv6"] {
        let family = format!("\"{family}\"");
        let alone = scenario(&[
            ("link.line.loss", "\"0%\""),
            ("traffic.cubic.start", "\"29.9 s\""),
            ("traffic.other.family", &family),
        ]);
        for (name, stacks) in [("quic", quinn()), ("smoltcp", smoltcp())] {
            let record = run(&alone, &stacks, 1).unwrap();
            let goodput = of(&record, "other-1", "goodput") / 1e6;
            assert!((17.9..18.9).contains(&goodput), "{name} {family}: {goodput}");
        }
    }
}

/// NewReno grows by a packet a round trip, and gets less of a line that loses packets than CUBIC.
#[test]
fn the_settings_of_quic_reach_its_connections() {
    let reno = quic::bulk(|transport| {
        transport.congestion_controller_factory(Arc::new(NewRenoConfig::default()));
    });
    let reno = beside::beside(Payload::Udp, reno.unwrap());
    let [reno, cubic] =
        [reno, quinn()].map(|stacks| of(&run(&scenario(&[]), &stacks, 1).unwrap(), "other-1", "goodput"));
    assert!(reno < 0.98 * cubic && reno > 0.9 * cubic, "{reno} {cubic}");
}

/// A stack has the series of packets, and none of those of TCP connections.
#[test]
fn observed_flows_have_the_series_of_their_packets() {
    let observed = scenario(&[("observe.flows", "[\"cubic-1\", \"other-1\"]"), ("observe.trace", "[\"other-1\"]")]);
    let record = run(&observed, &quinn(), 1).unwrap();
    let series = |subject: &str| -> BTreeSet<String> {
        record.series.iter().filter(|row| &*row.subject == subject).map(|row| row.metric.to_string()).collect()
    };
    let (cubic, quic) = (series("cubic-1"), series("other-1"));
    assert!(cubic.contains("cwnd") && cubic.contains("one_way_delay"), "{cubic:?}");
    let names = ["goodput", "throughput", "one_way_delay", "sojourn_mean", "delay_mean", "jitter"].map(str::to_owned);
    assert_eq!(quic, BTreeSet::from(names));
}

/// Ends of several flows do not mix, and each gets a share.
#[test]
fn several_flows_of_a_group_share_the_line() {
    let four = scenario(&[("traffic.other.count", "3")]);
    for (name, stacks) in [("quic", quinn()), ("smoltcp", smoltcp())] {
        let record = run(&four, &stacks, 1).unwrap();
        let shares: Vec<f64> = (1..=3).map(|i| of(&record, &format!("other-{i}"), "goodput") / 1e6).collect();
        assert!(shares.iter().all(|share| (3.5..6.5).contains(share)), "{name}: {shares:?}");
        assert!((of(&record, "other", "goodput_total") / 1e6 - shares.iter().sum::<f64>()).abs() < 1e-9);
    }
}

#[test]
fn quic_refuses_a_path_that_is_too_narrow() {
    let narrow = scenario(&[("link.line.mtu", "\"1200 B\"")]);
    let error = run(&narrow, &quinn(), 1).unwrap_err().to_string();
    assert!(error.ends_with("QUIC needs datagrams of 1200 B (RFC 9000 section 14); the path takes 1172 B"), "{error}");
}
