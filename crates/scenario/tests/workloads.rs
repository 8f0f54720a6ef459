//! Groups that play a class of a workload file: what is taken, printed and refused.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::{App, AppFile, ConversationPace, ConversationUse, Plan, Scenario, WorkloadSpec};
use cellway_units::Span;
use common::{edited, refusal, scenario};

/// The small file with a class in place of its application.
fn with_class(workload: &str) -> String {
    let app = format!("app = \"workload:data/office.toml#web\"\nworkload = {{ {workload} }}");
    edited(&[("app = \"ftp\"", &app)])
}

fn spec(scenario: &Scenario) -> &WorkloadSpec {
    let Some(App::Workload(spec)) = scenario.traffic[0].app() else { panic!("no class") };
    spec
}

#[test]
fn a_class_is_taken_with_its_defaults_and_printed_again() {
    let open = |pace| ConversationUse::Open { pace, count: None, duration: None, limit: 10_000 };
    for (text, arrivals, fits) in [
        ("", open(ConversationPace::Scale(1.0)), false),
        ("arrivals = \"open\", scale = 2.5, fits = true", open(ConversationPace::Scale(2.5)), true),
        ("load = 0.6", open(ConversationPace::Load(0.6)), false),
        (
            "conversations = 9, duration = \"20 s\", limit = 7",
            ConversationUse::Open {
                pace: ConversationPace::Scale(1.0),
                count: Some(9),
                duration: Some(Span::from_secs(20)),
                limit: 7,
            },
            false,
        ),
        ("arrivals = \"closed\"", ConversationUse::Closed { gap: Span::ZERO }, false),
        ("arrivals = \"closed\", gap = \"2 s\"", ConversationUse::Closed { gap: Span::from_secs(2) }, false),
    ] {
        let s = scenario(&with_class(text));
        let (file, class) = ("data/office.toml".to_owned(), "web".to_owned());
        assert_eq!(*spec(&s), WorkloadSpec { file, class, fits, arrivals }, "{text}");
        let is_closed = matches!(arrivals, ConversationUse::Closed { .. });
        assert_eq!(s.traffic[0].tcp().unwrap().repeat, is_closed);
        let named = AppFile::Workload { file: "data/office.toml", class: "web" };
        assert_eq!(s.traffic[0].app().unwrap().file(), Some((named, &["app"][..])));
        let printed = s.to_toml();
        assert_eq!(Plan::parse(&printed, "printed.toml").unwrap().base(), &s, "{printed}");
        // A group whose file has a class of UDP is written as it was.
        let mut datagrams = s.clone();
        datagrams.traffic[0].use_datagrams();
        assert!(datagrams.traffic[0].tcp().is_none() && datagrams.traffic[0].udp().is_none());
        assert_eq!(datagrams.traffic[0].file(), s.traffic[0].file());
        let mut again = Plan::parse(&datagrams.to_toml(), "printed.toml").unwrap().base().clone();
        again.traffic[0].use_datagrams();
        assert_eq!(again, datagrams);
    }
}

#[test]
fn keys_that_do_not_fit_are_refused() {
    let message = |text: &str| refusal(text).problems[0].to_string();
    for (workload, expected) in [
        ("gap = \"1 s\"", "traffic.ftp.workload.gap: is not an option of arrivals = \"open\""),
        ("arrivals = \"closed\", scale = 2", "traffic.ftp.workload.scale: is not an option of arrivals = \"closed\""),
        ("arrivals = \"closed\", duration = \"2 s\"", "workload.duration: is not an option of arrivals = \"closed\""),
        ("scale = 2, load = 0.5", "traffic.ftp.workload.load: and scale both give the rate of conversations"),
        ("scale = 0", "traffic.ftp.workload.scale: 0 is out of range"),
        ("request = \"1 B\"", "traffic.ftp.workload.request: is not an option of workload"),
    ] {
        let found = message(&with_class(workload));
        assert!(found.contains(expected), "{found}");
    }
    let with = |app: &str| edited(&[("app = \"ftp\"", app)]);
    let found = message(&with("app = \"workload:office.toml#web\"\nrepeat = false"));
    assert!(found.contains("traffic.ftp.repeat: has no use"), "{found}");
    for app in ["workload", "workload:office.toml", "workload:#web", "workload:office.toml#"] {
        let found = message(&with(&format!("app = \"{app}\"")));
        assert!(found.contains("is not known here") && found.contains("or \"workload:FILE#CLASS\""), "{found}");
    }
    // Options of a class are of no other application.
    let found = message(&edited(&[("app = \"ftp\"", "app = \"ftp\"\nworkload = { fits = true }")]));
    assert!(found.contains("traffic.ftp.workload.fits: is not an option of ftp"), "{found}");
}
