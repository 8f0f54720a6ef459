//! Stacks of others against the built-in source of datagrams, and the limits of what they may do.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use cellway_record::{Row, RunRecord};
use cellway_scenario::Scenario;
use cellway_sim::{Control, Error, Payload, Setup, Stack, Stacks};
use cellway_units::{Ecn, Span, Time};
use common::{figure, hosts_at_a_line, queue_before_a_line, run, scenario, workloads};

/// An end that sends numbered datagrams of `octets` at a constant rate, if it has one, and counts those that arrive
/// once.
struct Cadence {
    octets: usize,
    every: Option<Span>,
    next: Option<Time>,
    due: u32,
    number: u64,
    ecn: Ecn,
    seen: BTreeSet<u64>,
    delivered: u64,
    marked: Arc<Mutex<u64>>,
}

impl Cadence {
    fn new(octets: usize, every: Option<Span>, ecn: Ecn) -> Cadence {
        Cadence {
            octets,
            every,
            next: None,
            due: 0,
            number: 0,
            ecn,
            seen: BTreeSet::new(),
            delivered: 0,
            marked: Arc::default(),
        }
    }
}

impl Stack for Cadence {
    fn receive(&mut self, _now: Time, datagram: &[u8], ecn: Ecn) {
        let (number, rest) = datagram.split_first_chunk().unwrap();
        assert!(rest.iter().all(|&octet| octet == 7), "the octets arrive as they were sent");
        if self.seen.insert(u64::from_be_bytes(*number)) {
            self.delivered += datagram.len() as u64;
        }
        *self.marked.lock().unwrap() += u64::from(ecn == Ecn::Ce);
    }

    fn transmit(&mut self, _now: Time, buffer: &mut Vec<u8>) -> Option<Ecn> {
        self.due = self.due.checked_sub(1)?;
        buffer.extend(self.number.to_be_bytes());
        self.number += 1;
        buffer.resize(self.octets, 7);
        Some(self.ecn)
    }

    fn deadline(&mut self) -> Option<Time> {
        self.next
    }

    fn wake(&mut self, now: Time) {
        if let Some(every) = self.every {
            (self.due, self.next) = (1, Some(now + every));
        }
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }
}

fn try_run(scenario: &Scenario, stacks: &Stacks) -> Result<RunRecord, Error> {
    let control = Control { stacks: Some(stacks), ..Control::new(&|| false) };
    cellway_sim::run(scenario, &workloads(scenario), 1, control)
}

/// One sends, the other receives.
fn cadence(octets: usize, every: Span, ecn: Ecn) -> [Box<dyn Stack>; 2] {
    [Box::new(Cadence::new(octets, Some(every), ecn)), Box::new(Cadence::new(octets, None, ecn))]
}

/// Returns rows in a form that can be compared.
fn rows(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| format!("{} {} {:?} {:?}", row.subject, row.metric, row.t, row.value)).collect()
}

/// Keys of lines that lose, copy, damage, delay and cut packets, and queue them in other ways.
const LINES: [&[(&str, &str)]; 5] = [
    &[],
    &[("link.line.loss", "\"5%\""), ("link.line.both.duplicate", "\"3%\""), ("link.line.both.corrupt", "\"2%\"")],
    &[("link.line.both.jitter", "{ deviation = \"15 ms\" }"), ("buffer.queue", "\"fq-codel\"")],
    &[("link.line.framing", "\"atm\""), ("link.line.loss", "\"0.1%\"")],
    &[("link.line.rate", "\"200 kbit/s\""), ("observe.flows", "[\"voice-1\"]")],
];

/// A stack with the datagrams of the built-in source has every row that the source has, and only these; over UDP and
/// straight over IP, in both versions.
#[test]
fn a_stack_that_sends_what_a_source_sends_has_its_results() {
    for (family, ip) in [("ipv4", 20), ("ipv6", 40)] {
        let group = format!(
            "[[traffic]]\nname = \"voice\"\nfrom = \"a\"\nto = \"b\"\ncount = 3\njitter = \"20 ms\"\n\
             family = \"{family}\"\nudp = {{ packet = \"200 B\", rate = \"80 kbit/s\" }}\n"
        );
        let every = Span::from_ms(20);
        let udp = Stacks::new().with("voice", Payload::Udp, move |setup| {
            assert!(setup.max_datagram >= 1500 - ip - 8);
            Ok(cadence(200 - ip - 8, every, Ecn::NotEct))
        });
        for line in LINES {
            let scenario = scenario(&hosts_at_a_line(&group), line);
            let expected = run(&scenario, 1);
            assert!(expected.summary.len() > 50);
            let record = try_run(&scenario, &udp).unwrap();
            assert_eq!(rows(&record.summary), rows(&expected.summary), "{family} over UDP, {line:?}");
            assert_eq!(rows(&record.series), rows(&expected.series), "{family} over UDP, {line:?}");
        }
        let scenario = scenario(&hosts_at_a_line(&group), &[]);
        let bare = Stacks::new().with("voice", Payload::Ip { protocol: 253 }, move |setup| {
            assert_eq!(setup.max_datagram, 1500 - ip);
            Ok(cadence(200 - ip, every, Ecn::NotEct))
        });
        // Only the payload differs, by the 8 octets of UDP.
        let payload = (200 - ip) as f64 / (200 - ip - 8) as f64;
        let record = try_run(&scenario, &bare).unwrap();
        for (row, expected) in record.summary.iter().zip(&run(&scenario, 1).summary) {
            let of_payload = ["goodput", "goodput_total", "throughput", "throughput_mean"];
            let factor = if of_payload.iter().any(|metric| row.metric == *metric) { payload } else { 1.0 };
            assert!((row.value - expected.value * factor).abs() <= 1e-12 * row.value.abs(), "{row:?} {expected:?}");
        }
    }
}

/// Every mark of the queue is on a packet that the responder receives, or on one that is still inside.
#[test]
fn the_ecn_field_reaches_the_other_end() {
    let group = "[[traffic]]\nname = \"x\"\napp = \"bulk\"\nfrom = \"r1\"\nto = \"r2\"\n\
                 access = { rate = \"1 Gbit/s\", delay = \"0 s\" }\n";
    let scenario =
        scenario(&(queue_before_a_line("codel") + "codel = { ecn = true }\n" + group), &[("run.warmup", "\"0 s\"")]);
    let marked = Arc::new(Mutex::new(0));
    let counted = marked.clone();
    let stacks = Stacks::new().with("x", Payload::Udp, move |_| {
        // 12 Mbit/s before a line of 10.
        let [from, _] = cadence(1472, Span::from_ms(1), Ecn::Ect0);
        let to = Cadence { marked: counted.clone(), ..Cadence::new(1472, None, Ecn::NotEct) };
        Ok([from, Box::new(to)])
    });
    let record = try_run(&scenario, &stacks).unwrap();
    let arrived = *marked.lock().unwrap() as f64;
    let at_queue = figure(&record, "r1>r2", "marked");
    assert!(arrived > 1000.0 && (0.0..=20.0).contains(&(at_queue - arrived)), "{arrived} {at_queue}");
    assert_eq!(figure(&record, "x", "packets_marked"), arrived);
    assert!(figure(&record, "x", "goodput_total") > 9.5e6);
    // Metrics of TCP and retransmissions, which this stack does not count, are absent.
    for metric in ["retransmissions", "window_mean", "timeouts", "conversations", "items"] {
        assert!(!record.summary.iter().any(|row| &*row.subject == "x-1" && row.metric == metric), "{metric}");
    }
}

/// Both ends of each flow are created at its start, with the same seed in each run and another one for each flow.
#[test]
fn each_flow_has_its_own_name_start_and_seed() {
    let group = "[[traffic]]\nname = \"x\"\napp = \"bulk\"\nfrom = \"a\"\nto = \"b\"\ncount = 3\nstart = \"1 s\"\n\
                 stagger = \"2 s\"\n";
    let scenario = scenario(&hosts_at_a_line(group), &[]);
    let created = || -> Vec<(String, Time, [u8; 32])> {
        let (send, seen) = std::sync::mpsc::channel();
        let stacks = Stacks::new().with("x", Payload::Udp, move |setup: &Setup<'_>| {
            send.send((setup.name.to_owned(), setup.start, setup.seed)).unwrap();
            Ok(cadence(100, Span::from_ms(100), Ecn::NotEct))
        });
        try_run(&scenario, &stacks).unwrap();
        drop(stacks);
        seen.iter().collect()
    };
    let flows = created();
    let starts: Vec<(&str, u64)> =
        flows.iter().map(|(name, at, _)| (&name[..], at.as_ps() / 1_000_000_000_000)).collect();
    assert_eq!(starts, [("x-1", 1), ("x-2", 3), ("x-3", 5)]);
    assert!(flows[0].2 != flows[1].2 && flows[1].2 != flows[2].2);
    assert_eq!(created(), flows);
}

/// An end that breaks a rule from 1.5 s on.
struct Faulty(fn(&mut Faulty, Time) -> Doing, Doing);

#[derive(Clone, Copy, Default)]
struct Doing {
    deadline: Option<Time>,
    datagrams: u32,
    octets: usize,
    delivered: u64,
    failed: bool,
}

impl Stack for Faulty {
    fn receive(&mut self, _: Time, _: &[u8], _: Ecn) {}

    fn transmit(&mut self, _: Time, buffer: &mut Vec<u8>) -> Option<Ecn> {
        self.1.datagrams = self.1.datagrams.checked_sub(1)?;
        buffer.resize(self.1.octets, 0);
        Some(Ecn::NotEct)
    }

    fn deadline(&mut self) -> Option<Time> {
        self.1.deadline
    }

    fn wake(&mut self, now: Time) {
        let begin = Time::ZERO + Span::from_ms(1500);
        let wait = Doing { deadline: Some(begin), delivered: 10, ..Doing::default() };
        self.1 = if now < begin { wait } else { (self.0)(self, now) };
    }

    fn delivered(&self) -> u64 {
        self.1.delivered
    }

    fn failure(&self) -> Option<String> {
        self.1.failed.then(|| "the handshake failed".to_owned())
    }
}

#[test]
fn a_stack_that_breaks_a_rule_ends_the_run_with_its_name_and_the_time() {
    let group = "[[traffic]]\nname = \"x\"\napp = \"bulk\"\nfrom = \"a\"\nto = \"b\"\n";
    let scenario = scenario(&hosts_at_a_line(group), &[]);
    type Act = fn(&mut Faulty, Time) -> Doing;
    let cases: [(Act, &str); 7] = [
        (
            |_, _| Doing { deadline: Some(Time::ZERO), delivered: 10, ..Doing::default() },
            "it was woken 1000 times within 1 ms and neither sent nor received a datagram; after wake(), deadline() \
             must return a later time, or None",
        ),
        (
            |_, now| Doing { deadline: Some(now + Span::from_ps(1)), delivered: 10, ..Doing::default() },
            "it was woken 1000 times within 1 ms",
        ),
        (
            |_, _| Doing { datagrams: u32::MAX, octets: 100, delivered: 10, ..Doing::default() },
            "it sent 65536 datagrams at one instant; transmit() must return None when no more may be sent at that time",
        ),
        (
            |_, now| Doing {
                datagrams: 50_000,
                octets: 100,
                delivered: 10,
                deadline: Some(now + Span::from_us(1)),
                ..Doing::default()
            },
            "262144 datagrams of the flow are inside the network; a stack must limit what it has in flight",
        ),
        (
            |_, _| Doing { datagrams: 1, octets: 1473, delivered: 10, ..Doing::default() },
            "it sent a datagram of 1473 B; the path takes up to 1472 B (Setup::max_datagram)",
        ),
        (|_, _| Doing { delivered: 9, ..Doing::default() }, "delivered() fell from 10 to 9; it counts from the start"),
        (|_, _| Doing { delivered: 10, failed: true, ..Doing::default() }, "the handshake failed"),
    ];
    for (act, message) in cases {
        for end in ["originator", "responder"] {
            let stacks = Stacks::new().with("x", Payload::Udp, move |_| {
                let faulty = Box::new(Faulty(act, Doing::default()));
                let idle = Box::new(Cadence::new(0, None, Ecn::NotEct));
                Ok(if end == "originator" { [faulty, idle] } else { [idle, faulty] })
            });
            let error = try_run(&scenario, &stacks).unwrap_err();
            let Error::Stack { at, .. } = &error else { panic!("{error}") };
            assert!((Span::from_ms(1500)..=Span::from_ms(1501)).contains(&at.since(Time::ZERO)), "{error}");
            let begin = format!("traffic \"x\": the stack of the {end} of x-1 failed at {at} of simulated time: ");
            assert!(error.to_string().starts_with(&(begin + message)), "{error}");
        }
    }
}

#[test]
fn groups_that_no_stack_can_drive_are_refused() {
    let group = "[[traffic]]\nname = \"x\"\napp = \"bulk\"\nfrom = \"a\"\nto = \"b\"\n\
                 [[traffic]]\nname = \"y\"\napp = \"bulk\"\nfrom = \"a\"\nto = \"b\"\n";
    let two = scenario(&hosts_at_a_line(group), &[]);
    let stacks = |name: &str| Stacks::new().with(name, Payload::Udp, |_| Err("no certificate".to_owned()));
    let error = |name: &str| try_run(&two, &stacks(name)).unwrap_err();
    assert_eq!(
        error("z").to_string(),
        "there is a stack for the traffic group \"z\", which the scenario does not have; it has \"x\", \"y\""
    );
    assert_eq!(error("x").to_string(), "traffic \"x\": the stacks of x-1 cannot be created: no certificate");
    let gateways = std::fs::read_to_string(common::repository("scenarios/gateway.toml")).unwrap();
    let split = scenario(&gateways, &[]);
    let name = split.traffic.iter().find(|group| group.gateways().is_some()).unwrap().name.clone();
    let error = try_run(&split, &stacks(&name)).unwrap_err();
    assert!(matches!(error, Error::SplitStack { .. }), "{error}");
}
