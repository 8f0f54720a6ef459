//! The scene and the view of a run, as their page reads them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use cellway_web::{Job, Request};
use serde_json::{Value, json};

/// A host at a router, and hosts of the file behind gateways; a line of cells between the gateways.
const SCENARIO: &str = r#"
version = 1
name = "view"
run = { duration = "3 s", warmup = "1 s", seed = 7 }
buffer = { size = "200 cell" }
tcp = { profile = "classic", mss = "512 B" }
node = [
    { name = "a", kind = "host" },
    { name = "g1", kind = "gateway", peer = "g2", gateway = { rate = "1.3 Mbit/s" } },
    { name = "g2", kind = "gateway", peer = "g1", gateway = { rate = "1.3 Mbit/s" } },
    { name = "b", kind = "host" },
]
link = [
    { between = ["a", "g1"], framing = "packet", rate = "10 Mbit/s", delay = "1 ms" },
    { between = ["g1", "g2"], framing = "atm", rate = "1.5 Mbit/s", delay = "20 ms" },
    { between = ["g2", "b"], framing = "packet", rate = "10 Mbit/s", delay = "1 ms" },
]
traffic = [
    { name = "bulk", app = "bulk", from = "a", to = "b", count = 2 },
    { name = "voice", from = "a", to = "b", udp = { packet = "500 B", rate = "40 kbit/s" } },
]
"#;

fn request() -> Request {
    Request { text: SCENARIO.to_owned(), ..Request::default() }
}

fn begun() -> Job {
    Job::begin(&request()).unwrap_or_else(|refused| panic!("{refused}"))
}

/// The numbers of a view, read one by one.
struct Numbers(std::vec::IntoIter<f64>);

impl Numbers {
    fn of(octets: &[u8]) -> Numbers {
        assert_eq!(octets.len() % 8, 0);
        let numbers = octets.chunks_exact(8).map(|octets| f64::from_le_bytes(octets.try_into().unwrap()));
        Numbers(numbers.collect::<Vec<_>>().into_iter())
    }

    fn next(&mut self) -> f64 {
        self.0.next().expect("the counts say how many numbers there are")
    }

    fn take<const N: usize>(&mut self) -> [f64; N] {
        std::array::from_fn(|_| self.next())
    }

    fn count(&mut self) -> usize {
        let value = self.next();
        assert!(value >= 0.0 && value.fract() == 0.0, "{value} is a count");
        value as usize
    }
}

#[derive(Debug, Default)]
struct Port {
    waiting: Vec<[f64; 4]>,
    more: usize,
    line: Vec<[f64; 5]>,
    flight: Vec<[f64; 6]>,
    more_flight: usize,
}

#[derive(Debug)]
struct View {
    now: f64,
    ports: Vec<Port>,
    flows: Vec<Option<[f64; 6]>>,
    gateways: Vec<[f64; 4]>,
}

fn view(job: &Job) -> View {
    let mut numbers = Numbers::of(&job.view().expect("the run has not ended"));
    let (now, ports, flows, gateways) = (numbers.next(), numbers.count(), numbers.count(), numbers.count());
    let ports = (0..ports).map(|_| {
        let (waits, more, lines) = (numbers.count(), numbers.count(), numbers.count());
        let (flies, more_flight) = (numbers.count(), numbers.count());
        assert!(lines <= 1);
        let waiting = (0..waits).map(|_| numbers.take()).collect();
        let line = (0..lines).map(|_| numbers.take()).collect();
        let flight = (0..flies).map(|_| numbers.take()).collect();
        Port { waiting, more, line, flight, more_flight }
    });
    let ports = ports.collect();
    let flows = (0..flows).map(|_| (numbers.count() == 1).then(|| numbers.take())).collect();
    let gateways = (0..gateways).map(|_| numbers.take()).collect();
    assert_eq!(numbers.0.next(), None, "the counts say how many numbers there are");
    View { now, ports, flows, gateways }
}

/// The place of the element whose keys have these values.
fn place(scene: &Value, list: &str, keys: &[(&str, Value)]) -> usize {
    let all = scene[list].as_array().unwrap();
    let found = all.iter().position(|element| keys.iter().all(|(key, value)| element[key] == *value));
    found.unwrap_or_else(|| panic!("no {keys:?} in {all:?}"))
}

#[test]
fn the_scene_has_the_names_of_the_scenario() {
    let scene = begun().scene().unwrap();
    let node = |name: &str, kind: &str| place(&scene, "nodes", &[("name", json!(name)), ("kind", json!(kind))]);
    let [a, b] = [node("a", "host"), node("b", "host")];
    let [g1, g2] = [node("g1", "gateway"), node("g2", "gateway")];
    let inside = node("g1", "inside");
    let name = |name: &str| ("name", json!(name));
    let line = &scene["ports"][place(&scene, "ports", &[name("g1>g2")])];
    let expected = json!({
        "name": "g1>g2", "link": "g1-g2", "from": g1, "to": g2, "cells": true, "rate": 1_500_000, "delay": 0.02,
    });
    assert_eq!(*line, expected);
    let access = &scene["ports"][place(&scene, "ports", &[name("a>g1")])];
    assert_eq!([&access["from"], &access["to"], &access["cells"]], [&json!(a), &json!(g1), &json!(false)]);
    place(&scene, "ports", &[("from", json!(inside)), ("to", json!(g1)), ("link", Value::Null)]);
    let flows = scene["flows"].as_array().unwrap();
    let bulk = |name: &str| json!({ "name": name, "group": "bulk", "kind": "tcp", "ends": [a, b], "through": 3 });
    assert_eq!(flows[..2], [bulk("bulk-1"), bulk("bulk-2")]);
    let voice = json!({ "name": "voice-1", "group": "voice", "kind": "udp", "ends": [a, b], "through": null });
    let pair = json!({ "name": "g1-g2", "group": null, "kind": "gateways", "ends": [g1, g2], "through": null });
    assert_eq!(flows[2..], [voice, pair]);
    assert_eq!([&scene["pairs"], &scene["duration"]], [&json!(1), &json!(3.0)]);
    assert!(scene["states"].as_array().unwrap().contains(&json!("slow_start")));
}

#[test]
fn a_view_has_what_moves_at_its_time() {
    let mut job = begun();
    let scene = job.scene().unwrap();
    let start = view(&job);
    assert_eq!((start.now, start.ports.len()), (0.0, scene["ports"].as_array().unwrap().len()));
    assert_eq!((start.flows, start.gateways), (vec![None; 3], vec![[0.0; 4]]));
    assert!(job.until(2.0).unwrap() < 1.0);
    let busy = view(&job);
    assert_eq!(busy.now, 2.0);
    let at = |name: &str| &busy.ports[place(&scene, "ports", &[("name", json!(name))])];
    // The line of cells is busy: the gateways send at its rate, less the part of headers.
    let line = at("g1>g2");
    let cells = line.waiting.iter().map(|entry| (entry, 1.0)).chain(line.flight.iter().map(|entry| {
        let [head, tail] = [entry[4], entry[5]];
        assert!(0.0 <= tail && tail <= head && head <= 1.0, "{entry:?}");
        (entry.first_chunk().unwrap(), head)
    }));
    for (&[flow, contents, units, octets], _) in cells {
        // Datagrams go past the state of gateways; TCP is between them.
        assert!(flow == 2.0 || flow == 3.0, "{flow}");
        assert!(contents <= 1.0 && octets == 53.0 * units, "{contents} {units} {octets}");
    }
    assert_eq!((line.more, line.more_flight), (0, 0));
    let in_flight: f64 = line.flight.iter().map(|entry| entry[2]).sum();
    // 20 ms of 1.5 Mbit/s are 70.75 cells, of which the gateways' rate of 1.3 Mbit/s fills most.
    assert!((50.0..=71.0).contains(&in_flight), "{in_flight}");
    let [_, _, units, octets, part] = line.line[0];
    assert!(units == 1.0 && octets == 53.0 && (0.0..=1.0).contains(&part));
    for window in &busy.flows[..2] {
        let [window, threshold, in_flight, rtt, state, end] = window.unwrap();
        assert!(window >= 512.0 && (threshold.is_nan() || threshold >= 1024.0) && in_flight >= 0.0);
        assert!(rtt > 0.002 && end == 0.0, "{rtt} {end}");
        assert!(scene["states"].as_array().unwrap()[1..4].contains(&scene["states"][state as usize]));
    }
    assert_eq!(busy.flows[2], None);
    let [there, _, back, back_far] = busy.gateways[0];
    assert!(there > 0.0, "the first gateway holds what the second has not acknowledged");
    assert_eq!([back, back_far], [0.0; 2], "the second host sends nothing");
}

#[test]
fn each_step_is_a_later_instant_and_the_end_has_no_view() {
    let mut job = begun();
    job.until(1.0).unwrap();
    let mut last = view(&job).now;
    let mut departures = 0;
    let place = place(&job.scene().unwrap(), "ports", &[("name", json!("g1>g2"))]);
    for _ in 0..300 {
        let before = view(&job).ports[place].line.len();
        job.step().unwrap();
        let now = view(&job);
        assert!(now.now > last, "{} after {last}", now.now);
        last = now.now;
        departures += usize::from(before == 1 && now.ports[place].line.first().is_none_or(|line| line[4] < 1e-9));
    }
    assert!(departures > 20, "{departures}");
    assert!(job.until(0.5).unwrap() > 0.3, "there is no way back");
    assert_eq!(view(&job).now, last);
    assert_eq!(job.until(f64::NAN).map(|done| done < 1.0), Ok(true));
    assert_eq!(job.until(f64::INFINITY), Ok(1.0));
    assert!(job.view().is_none() && job.scene().is_none());
    assert_eq!(job.step(), Ok(1.0));
}

#[test]
fn a_run_that_was_viewed_has_the_same_tables() {
    let mut whole = begun();
    assert_eq!(whole.advance(u64::MAX), Ok(1.0));
    let mut viewed = begun();
    let mut done = 0.0;
    let mut instants = 0;
    while done < 1.0 {
        instants += 1;
        done = match instants % 3 {
            0 => viewed.step(),
            1 => viewed.until(f64::from(instants) * 0.000_37),
            _ => viewed.advance(1),
        }
        .unwrap();
        viewed.view();
    }
    assert!(instants > 1000, "{instants}");
    assert_eq!(viewed.tables(), whole.tables());
}
