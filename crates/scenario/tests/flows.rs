//! Groups of flows: what is taken, printed and refused.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::{App, FlowPace, FlowSizes, FlowSource, FlowSpec, Plan, Scenario};
use cellway_units::{Bytes, Span};
use common::{edited, refusal, scenario};

/// The small file with flows in place of its application.
fn with_flows(flows: &str, more: &[(&str, &str)]) -> String {
    let flows = format!("flows = {{ {flows} }}");
    let edits: Vec<(&str, &str)> = [("app = \"ftp\"", &flows[..])].into_iter().chain(more.iter().copied()).collect();
    edited(&edits)
}

fn flows(scenario: &Scenario) -> &FlowSpec {
    let Some(App::Flows(flows)) = scenario.traffic[0].app() else { panic!("no flows") };
    flows
}

#[test]
fn flows_are_taken_with_their_defaults_and_printed_again() {
    let interval = FlowPace::Interval(Span::from_ms(10));
    let pareto = |maximum| FlowSizes::Pareto { shape: 1.2, minimum: Bytes(1000), maximum };
    for (text, source) in [
        (
            "interval = \"10 ms\", sizes = \"web-search\"",
            FlowSource::Poisson { pace: interval, sizes: FlowSizes::WebSearch },
        ),
        ("load = 0.6, sizes = \"data-mining\"", {
            FlowSource::Poisson { pace: FlowPace::Load(0.6), sizes: FlowSizes::DataMining }
        }),
        (
            "arrivals = \"periodic\", interval = \"10 ms\", sizes = \"fixed\", size = \"64 kB\"",
            FlowSource::Periodic { pace: interval, sizes: FlowSizes::Fixed(Bytes(64_000)) },
        ),
        ("interval = \"10 ms\", sizes = \"log-normal\", median = \"1 kB\", sigma = 1.5", {
            FlowSource::Poisson { pace: interval, sizes: FlowSizes::LogNormal { median: Bytes(1000), sigma: 1.5 } }
        }),
        (
            "interval = \"10 ms\", sizes = \"pareto\", shape = 1.2, minimum = \"1 kB\"",
            FlowSource::Poisson { pace: interval, sizes: pareto(None) },
        ),
        (
            "interval = \"10 ms\", sizes = \"pareto\", shape = 1.2, minimum = \"1 kB\", maximum = \"1 MB\"",
            FlowSource::Poisson { pace: interval, sizes: pareto(Some(Bytes(1_000_000))) },
        ),
        (
            "interval = \"10 ms\", sizes = \"table\", file = \"a.csv\"",
            FlowSource::Poisson { pace: interval, sizes: FlowSizes::Table { file: "a.csv".into() } },
        ),
        ("arrivals = \"trace\", file = \"t.csv\"", FlowSource::Trace { file: "t.csv".into() }),
    ] {
        let s = scenario(&with_flows(text, &[]));
        assert_eq!(*flows(&s), FlowSpec { source, count: None, duration: None, limit: 10_000 }, "{text}");
        assert!(!s.traffic[0].tcp().unwrap().repeat);
        let printed = s.to_toml();
        assert_eq!(Plan::parse(&printed, "printed.toml").unwrap().base(), &s, "{printed}");
    }
    let all = "interval = \"1 s\", sizes = \"web-search\", count = 7, duration = \"9 s\", limit = 3";
    let s = scenario(&with_flows(all, &[("name = \"ftp\"", "name = \"ftp\"\napp = \"flows\"")]));
    let spec = flows(&s);
    assert_eq!((spec.count, spec.duration, spec.limit), (Some(7), Some(Span::from_secs(9)), 3));
    assert_eq!(Plan::parse(&s.to_toml(), "printed.toml").unwrap().base(), &s);
}

#[test]
fn what_flows_cannot_have_is_refused_in_words() {
    let told = |flows: &str, more: &[(&str, &str)]| refusal(&with_flows(flows, more)).to_string();
    let web = "interval = \"10 ms\", sizes = \"web-search\"";
    let named = |more: &'static str| [("name = \"ftp\"", more)];
    for (text, expected) in [
        (told("interval = \"10 ms\"", &[]), "traffic.ftp.flows.sizes: is missing"),
        (told("sizes = \"web-search\"", &[]), "traffic.ftp.flows.interval: is missing"),
        (told("interval = \"0 s\", sizes = \"web-search\"", &[]), "at least \"1 us\""),
        (told(&format!("{web}, load = 0.5"), &[]), "traffic.ftp.flows.load: and interval both give"),
        (told(&format!("{web}, size = \"1 kB\""), &[]), "is not a key of sizes = \"web-search\""),
        (told("interval = \"10 ms\", sizes = \"fixed\"", &[]), "traffic.ftp.flows.size: is missing"),
        (told("interval = \"10 ms\", sizes = \"log-normal\", median = \"1 kB\"", &[]), "flows.sigma: is missing"),
        (
            told("load = 0.5, sizes = \"pareto\", shape = 1, minimum = \"1 kB\"", &[]),
            "needs a mean size; that of pareto with a shape up to 1 is infinite",
        ),
        (
            told("load = 0.5, sizes = \"pareto\", shape = 2, minimum = \"1 kB\", maximum = \"1 kB\"", &[]),
            "1000 B is not above minimum, 1000 B",
        ),
        (told("interval = \"10 ms\", sizes = \"table\"", &[]), "traffic.ftp.flows.file: is missing"),
        (told("arrivals = \"trace\"", &[]), "traffic.ftp.flows.file: is missing"),
        (told("arrivals = \"trace\", file = \"a\", load = 0.5", &[]), "is not a key of arrivals = \"trace\""),
        (told(&format!("{web}, limit = 0"), &[]), "from 1 to 1000000"),
        (told(&format!("{web}, count = 0"), &[]), "traffic.ftp.flows.count"),
        (told(&format!("{web}, burst = 3"), &[]), "burst"),
        (told(web, &named("name = \"ftp\"\napp = \"bulk\"")), "this group has app = \"bulk\""),
        (told(web, &named("name = \"ftp\"\nworkload = { size = \"1 kB\" }")), "has no use: the options of flows"),
        (told(web, &named("name = \"ftp\"\nrepeat = true")), "has no use: flows arrive for their duration"),
        (
            told(web, &named("name = \"ftp\"\nudp = { packet = \"200 B\", rate = \"80 kbit/s\" }")),
            "are transfers over TCP; this group sends UDP datagrams",
        ),
        (refusal(&edited(&[("app = \"ftp\"", "app = \"flows\"")])).to_string(), "app = \"flows\" needs it"),
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}
