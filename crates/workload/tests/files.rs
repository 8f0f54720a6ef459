//! Files that are right: read, written, described, and compared.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_units::Span;
use cellway_workload::{ClassModel, Law, Message, Only, WorkloadFile, compare};
use common::{GOOD, edited, repository};

fn read(text: &str) -> WorkloadFile {
    WorkloadFile::parse(text, "w.toml").unwrap_or_else(|error| panic!("{:?}", error.problems))
}

#[test]
fn a_file_is_read() {
    let file = read(GOOD);
    let names: Vec<&str> = file.classes.iter().map(|class| &*class.name).collect();
    assert_eq!(names, ["web", "voice"]);
    let web = file.class("web").unwrap();
    assert_eq!((web.conversations, web.left_out["no SYN"], web.transport()), (120, 3, "tcp"));
    let ClassModel::Tcp(tcp) = &web.model else { panic!("web is of TCP") };
    let request = tcp.request.as_ref().unwrap();
    assert_eq!((request.samples, request.model.knots().len()), (300, 4));
    assert_eq!(request.fit.unwrap().law, Law::Lognormal { mu: 6.25, sigma: 0.75 });
    assert!(tcp.response.is_none() && tcp.pause.is_none());
    let names: Vec<&str> = web.distributions().iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["arrival_gap", "exchanges", "request", "think"]);
    assert!(file.class("none").is_none() && web.distribution("rtt").is_none());
}

#[test]
fn a_written_file_is_read_as_the_same() {
    let text = read(GOOD).to_toml("Two classes.\n\nMade up.");
    assert!(text.starts_with("# Two classes.\n#\n# Made up.\nversion = 1\n"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 120));
    assert_eq!(read(&text), read(GOOD));
    for law in [
        "law = \"pareto\"\nminimum = 40.0\nshape = 1.2",
        "law = \"weibull\"\nscale = 500.0\nshape = 0.7",
        "law = \"exponential\"\nmean = 800.0",
    ] {
        let file = read(&edited(&[("law = \"lognormal\"\nmu = 6.25\nsigma = 0.75", law)]));
        assert_eq!(read(&file.to_toml("")), file);
    }
}

/// Whole conversations beside the distributions, or without any.
#[test]
fn recorded_conversations_are_read_and_written() {
    let messages = "messages = [[[[300, 0, 0.0], [50, 1500, 0.4]], [[1500, 300, 0.025]]], [[], [[9, 0, 1e-9]]]]\n";
    let file = read(&edited(&[("[class.arrival_gap]", &format!("{messages}[class.arrival_gap]"))]));
    let ClassModel::Tcp(tcp) = &file.classes[0].model else { panic!("web is of TCP") };
    let found: Vec<[usize; 2]> =
        tcp.recorded.iter().map(|one| [0, 1].map(|end: usize| one.messages[end].len())).collect();
    assert_eq!(found, [[2, 1], [0, 1]]);
    let last = Message { octets: 50, after: 1500, delay: Span::from_ms(400) };
    assert_eq!(tcp.recorded[0].messages[0][1], last);
    assert_eq!(tcp.recorded[1].messages[1][0].delay, Span::from_ns(1));
    assert_eq!(read(&file.to_toml("")), file);
    let alone = format!("version = 1\n[[class]]\nname = \"ssh\"\ntransport = \"tcp\"\nconversations = 0\n{messages}");
    assert_eq!(read(&read(&alone).to_toml("")), read(&alone));
}

/// The example of the documentation is right, and has the classes that the page names.
#[test]
fn the_example_is_right() {
    let name = "scenarios/workloads/office.toml";
    let file = WorkloadFile::parse(&std::fs::read_to_string(repository(name)).unwrap(), name).unwrap();
    let names: Vec<&str> = file.classes.iter().map(|class| &*class.name).collect();
    assert_eq!(names, ["web", "bulk", "interactive", "voice"]);
}

#[test]
fn files_are_compared_by_class_and_distribution() {
    let same = compare([&read(GOOD), &read(GOOD)]);
    assert!(same.is_alike() && same.differences.len() == 6, "{same:?}");
    assert!(same.differences.iter().all(|one| one.distance == 0.0));
    // All gaps of the other are at most 0.2 s, of which the first has half below.
    let other = edited(&[
        ("[1.0, 3.5]]", "[1.0, 0.2000001]]"),
        ("samples = 119", "samples = 476"),
        ("[class.think]", "[class.pause]"),
        ("name = \"voice\"", "name = \"video\""),
    ]);
    let found = compare([&read(GOOD), &read(&other)]);
    let gaps = &found.differences[0];
    assert_eq!((gaps.distribution, gaps.samples), ("arrival_gap", [119, 476]));
    assert!((gaps.distance - 0.5).abs() < 1e-6, "{}", gaps.distance);
    assert!((gaps.bound - 1.36 * (1.0f64 / 119.0 + 1.0 / 476.0).sqrt()).abs() < 1e-12 && gaps.is_significant());
    assert!(!found.is_alike());
    let only = |file, class: &str, distribution| Only { file, class: class.into(), distribution };
    assert_eq!(
        found.only,
        [only(0, "web", Some("think")), only(1, "web", Some("pause")), only(0, "voice", None), only(1, "video", None)]
    );
}

/// A committed file that the crate prints. The environment variable `update` writes it anew.
fn committed(name: &str, printed: &str, update: &str) {
    let path = repository(name);
    if std::env::var_os(update).is_some() {
        std::fs::write(&path, printed).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(committed == printed, "{name} is old: {update}=1 cargo test -p cellway-workload");
}

#[test]
fn the_committed_schema_and_reference_have_not_drifted() {
    committed("schema/workload.schema.json", &cellway_workload::schema(), "UPDATE_SCHEMA");
    committed("docs/reference/workload.md", &cellway_workload::reference(), "UPDATE_GOLDEN");
}
