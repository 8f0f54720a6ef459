//! Runs that are viewed, stepped and advanced to times: what they show, and that it has no effect.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::Path;

use cellway_record::RunRecord;
use cellway_scenario::Scenario;
use cellway_sim::{Advanced, Contents, Slices, View, window_states};
use cellway_units::{Span, Time};
use common::{BULK, read_traces, repository, run, scenario, series, workloads};

fn begun(scenario: &Scenario) -> Box<Slices<'static>> {
    Slices::new(scenario, workloads(scenario), 1).unwrap()
}

/// Advances by `next` with a view after some slices; returns the record, the number of slices, and that of views.
fn viewed(
    scenario: &Scenario,
    mut next: impl FnMut(u64, Box<Slices<'static>>) -> Advanced<'static>,
) -> (RunRecord, u64, u64) {
    let mut slices = begun(scenario);
    let mut views = 0;
    for number in 0.. {
        let before = slices.now();
        match next(number, slices) {
            Advanced::Ended(record) => return (record, number, views),
            Advanced::Runs(rest) => slices = rest,
        }
        assert!(slices.now() >= before);
        if number.is_multiple_of(16)
            && let Some(view) = slices.view()
        {
            let scene = slices.scene();
            views += 1;
            assert_eq!((view.now, view.ports.len()), (slices.now(), scene.ports.len()));
            assert_eq!(view.flows.len() + view.gateways.len(), scene.flows.len());
        }
    }
    unreachable!()
}

fn shipped(name: &str) -> Scenario {
    let path = repository(&format!("scenarios/{name}.toml"));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut scenario = scenario(&text, &[]);
    // Shorter than groups that start late, and commands of emulations, which keys may not be.
    (scenario.run.duration, scenario.run.warmup) = (Span::from_secs(4), Span::from_secs(2));
    read_traces(&mut scenario, path.parent().unwrap_or(Path::new(".")));
    scenario
}

/// Networks of cells with ABR, shapers, policers and gateways; of packets with queue disciplines, recordings, losses
/// and outages; and all kinds of traffic.
const SHIPPED: [&str; 12] = [
    "abr-parking-lot",
    "bufferbloat",
    "gateway",
    "l4s",
    "leo",
    "lossy-link",
    "lte",
    "page",
    "policed",
    "rrul",
    "shaped-and-split",
    "video",
];

#[test]
fn a_run_has_the_same_record_however_it_advances() {
    // The burst of one of them is short.
    let mut advanced = [0; 3];
    for name in SHIPPED {
        let scenario = shipped(name);
        let whole = run(&scenario, 1);
        let (record, slices, _) = viewed(&scenario, |_, slices| slices.advance(3).unwrap());
        assert!(record == whole, "{name}");
        advanced[0] += slices;
        // An instant of a picosecond each now and then, times that have passed, and times between events.
        let until = |number: u64| Time::ZERO + Span::from_us(3777 * number - 1000 * (number % 4));
        let (record, slices, views) = viewed(&scenario, |number, slices| slices.advance_until(until(number)).unwrap());
        assert!(record == whole && slices > 500 && views >= slices / 16, "{name}: {slices} slices, {views} views");
        advanced[1] += slices;
        let (record, slices, views) = viewed(&scenario, |number, slices| {
            // Steps first at the start, then in the middle.
            match number {
                3000 => slices.advance_until(Time::ZERO + Span::from_ms(1200)).unwrap(),
                0..6000 => slices.step().unwrap(),
                _ => slices.advance(1000).unwrap(),
            }
        });
        assert!(record == whole && views >= slices / 16, "{name}: {slices} slices, {views} views");
        advanced[2] += slices;
    }
    assert!(advanced.iter().all(|&slices| slices > 10_000), "{advanced:?} slices");
}

/// Each cell that a line sends is on it in one step with nothing sent of it, and packets leave their lines in a step.
#[test]
fn steps_stop_at_each_instant() {
    let scenario = scenario(BULK, &[("run.duration", "\"2 s\""), ("run.warmup", "\"1 s\"")]);
    let mut slices = begun(&scenario);
    let ports = slices.scene().ports;
    let (mut begun, mut departed, mut now) = (0, 0, Time::ZERO);
    let mut sending = vec![None; ports.len()];
    let record = loop {
        slices = match slices.step().unwrap() {
            Advanced::Ended(record) => break record,
            Advanced::Runs(slices) => slices,
        };
        let view = slices.view().unwrap();
        assert!(view.now > now || now == Time::ZERO, "a step takes time");
        now = view.now;
        for (port, (spec, before)) in view.ports.iter().zip(ports.iter().zip(&mut sending)) {
            let part = port.line.map(|line| line.part);
            if spec.cells {
                begun += u64::from(part == Some(0.0));
            } else {
                // The unit of the last step has left: it is on a link with a delay, or has arrived.
                departed += u64::from(before.is_some() && part.is_none_or(|part| part == 0.0));
            }
            *before = part;
        }
    };
    let [cells, packets] = [record.counts.cell_hops, record.counts.packet_hops];
    assert!(cells > 1000 && (cells..=cells + 4).contains(&begun), "{begun} of {cells} cells");
    assert!(packets > 100 && (packets - 4..=packets + 4).contains(&departed), "{departed} of {packets} packets");
}

/// At the end of each bin, before the events of its instant, the window is that of the series.
#[test]
fn windows_are_those_of_the_series() {
    let scenario = shipped("l4s");
    let record = run(&scenario, 1);
    let mut slices = begun(&scenario);
    let flows = slices.scene().flows;
    let flow = |name: &str| flows.iter().position(|flow| flow.name == name).unwrap();
    let names = ["prague-1", "cubic-1"];
    let ends: Vec<f64> = series(&record, names[0], "cwnd").iter().map(|&(t, _)| t).collect();
    assert!(ends.len() > 3, "{ends:?}");
    for &end in ends.iter().filter(|&&end| end < 3.99) {
        let before = Time::ZERO + Span::from_ps(Span::from_secs_f64(end).as_ps() - 1);
        slices = match slices.advance_until(before).unwrap() {
            Advanced::Runs(slices) => slices,
            Advanced::Ended(_) => panic!("the run has not ended at {end} s"),
        };
        let view = slices.view().unwrap();
        for name in names {
            let window = view.flows[flow(name)].unwrap();
            let value = |metric| series(&record, name, metric).iter().find(|(t, _)| *t == end).map(|&(_, value)| value);
            assert_eq!(value("cwnd"), Some(window.window as f64), "{name} at {end} s");
            assert_eq!(value("in_flight"), Some(window.in_flight as f64), "{name} at {end} s");
            assert_eq!(value("srtt"), window.rtt.map(Span::as_secs_f64), "{name} at {end} s");
            assert!(window_states().any(|state| state == window.state) && window.end == 0);
        }
    }
}

/// A run that only has to end runs its network ahead of the hosts: what is where at an instant is not known.
#[test]
fn a_network_that_runs_ahead_has_no_view() {
    let scenario = shipped("policed");
    let Advanced::Runs(slices) = begun(&scenario).advance(100).unwrap() else { panic!("the run is longer") };
    assert!(slices.now() > Time::ZERO && slices.view().is_none());
    let Advanced::Runs(slices) = begun(&scenario).advance_until(slices.now()).unwrap() else { panic!("it is longer") };
    assert!(slices.view().is_some());
}

fn at(scenario: &Scenario, ms: u64) -> (View, Vec<cellway_sim::FlowScene>) {
    match begun(scenario).advance_until(Time::ZERO + Span::from_ms(ms)).unwrap() {
        Advanced::Runs(slices) => (slices.view().unwrap(), slices.scene().flows),
        Advanced::Ended(_) => panic!("the run is longer"),
    }
}

#[test]
fn units_are_of_flows_of_their_kind() {
    let (view, flows) = at(&shipped("abr-parking-lot"), 1500);
    let rm = |view: &View| {
        let flights = view.ports.iter().flat_map(|port| &port.flight).map(|flight| flight.units);
        flights.filter(|units| units.contents == Contents::Rm).collect::<Vec<_>>()
    };
    let cells = rm(&view);
    assert!(cells.len() > 2);
    cells.iter().for_each(|cell| assert!(cell.flow.is_some_and(|flow| flow < flows.len()), "{cell:?}"));
    // A bare acknowledgement has no data; a bulk transfer has them in one direction.
    let (view, _) = at(&scenario(BULK, &[]), 1500);
    let found: Vec<_> = view.ports.iter().map(|port| port.flight.iter().map(|flight| flight.units).collect()).collect();
    let of = |units: &Vec<cellway_sim::UnitsView>| units.iter().map(|units| units.contents).max();
    let kinds: Vec<_> = found.iter().filter_map(of).collect();
    assert!(kinds.contains(&Contents::Data) && kinds.contains(&Contents::Control), "{kinds:?}");
}
