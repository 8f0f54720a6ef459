//! Groups of pages: what is taken, printed and refused.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::{App, FlowSizes, PageSpec, Plan, Scenario};
use cellway_units::{Bytes, Span};
use common::{edited, refusal, scenario};

/// The small file with pages in place of its application.
fn with_page(workload: &str) -> String {
    edited(&[("app = \"ftp\"", &format!("app = \"page\"\nworkload = {{ {workload} }}"))])
}

fn page(s: &Scenario) -> PageSpec {
    let Some(App::Page(page)) = s.traffic[0].app() else { panic!("{:?}", s.traffic[0]) };
    page.clone()
}

const FIXED: &str = "html = \"30 kB\", objects = { count = 40, sizes = \"fixed\", size = \"20 kB\" }";

#[test]
fn a_page_is_taken_with_its_defaults_and_printed_again() {
    let s = scenario(&with_page(FIXED));
    let least = PageSpec {
        html: Bytes(30_000),
        objects: 40,
        sizes: FlowSizes::Fixed(Bytes(20_000)),
        connections: 6,
        request: Bytes(700),
        think: Span::ZERO,
    };
    assert_eq!(page(&s), least);
    assert!(s.traffic[0].responder_sends());
    let sizes = [
        ("sizes = \"web-search\"", FlowSizes::WebSearch),
        ("sizes = \"table\", file = \"sizes.csv\"", FlowSizes::Table { file: "sizes.csv".into() }),
        (
            "sizes = \"log-normal\", median = \"9 kB\", sigma = 1.5",
            FlowSizes::LogNormal { median: Bytes(9000), sigma: 1.5 },
        ),
    ];
    for (keys, sizes) in sizes {
        let more = "connections = 2, request = \"500 B\", think = \"4 s\"";
        let s = scenario(&with_page(&format!("html = \"1 B\", objects = {{ count = 1, {keys} }}, {more}")));
        let (connections, request, think) = (2, Bytes(500), Span::from_secs(4));
        assert_eq!(page(&s), PageSpec { html: Bytes(1), objects: 1, sizes, connections, request, think });
        let printed = s.to_toml();
        assert_eq!(Plan::parse(&printed, "printed.toml").unwrap().base(), &s, "{printed}");
    }
}

#[test]
fn sweeps_reach_the_objects() {
    let axes = "{ \"traffic.ftp.workload.objects.count\" = [1, 9], \"traffic.ftp.workload.connections\" = [1, 6] }";
    let text = format!("{}\n[sweep]\naxes = {axes}\n", with_page(FIXED));
    let points = Plan::parse(&text, "t.toml").and_then(|p| p.points()).unwrap_or_else(|e| panic!("{e}"));
    let of = |spec: PageSpec| (spec.objects, spec.connections);
    let points: Vec<_> = points.iter().map(|point| of(page(&point.scenario))).collect();
    assert_eq!(points, [(1, 1), (1, 6), (9, 1), (9, 6)]);
}

#[test]
fn what_a_page_cannot_have_is_refused_in_words() {
    let told = |workload: &str| refusal(&with_page(workload)).to_string();
    let objects = |keys: &str| told(&format!("html = \"1 kB\", objects = {{ {keys} }}"));
    let fixed = |key: &str| told(&format!("{FIXED}, {key}"));
    let bulk = edited(&[("app = \"ftp\"", "app = \"bulk\"\nworkload = { connections = 6 }")]);
    for (text, expected) in [
        (told(""), "traffic.ftp.workload.html: is missing: this application needs it"),
        (told("html = \"1 kB\""), "traffic.ftp.workload.objects: is missing: this application needs it"),
        (told(&FIXED.replace("30 kB", "0 B")), "is out of range; accepted: from \"1 B\""),
        (objects("sizes = \"web-search\""), "traffic.ftp.workload.objects.count"),
        (objects("count = 0, sizes = \"web-search\""), "from 1 to 100000"),
        (objects("count = 3"), "traffic.ftp.workload.objects.sizes: is missing: these objects need it"),
        (
            objects("count = 3, sizes = \"fixed\""),
            "traffic.ftp.workload.objects.size: is missing: these objects need it",
        ),
        (objects("count = 3, sizes = \"fixed\", size = \"-1 B\""), "-1 B"),
        (objects("count = 3, sizes = \"fixed\", size = \"0 B\""), "is out of range; accepted: from \"1 B\""),
        (objects("count = 3, sizes = \"web-search\", size = \"1 B\""), "size: is not a key of sizes = \"web-search\""),
        (
            objects("count = 3, sizes = \"pareto\", shape = 2, minimum = \"1 kB\", maximum = \"1 kB\""),
            "objects.maximum: 1000 B is not above minimum, 1000 B",
        ),
        (objects("count = 3, sizes = \"web-search\", interval = \"1 s\""), "interval"),
        (fixed("connections = 0"), "from 1 to 1000"),
        (fixed("request = \"0 B\""), "is out of range; accepted: from \"1 B\""),
        (fixed("think = \"-1 s\""), "-1 s"),
        (fixed("duration = \"1 s\""), "is not an option of page"),
        (refusal(&bulk).to_string(), "is not an option of bulk"),
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}
