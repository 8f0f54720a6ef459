//! Whatever stands in a file, the answer is a plan or an error.

mod common;

use cellway_scenario::{Override, Plan, SweepSpec};
use common::GOOD;
use proptest::prelude::*;

/// Texts near quantities: numbers, signs, points, units, and anything.
fn quantity() -> impl Strategy<Value = String> {
    let number = "[-+]?[0-9_]{0,25}[.]?[0-9_]{0,25}[.]?";
    let unit = prop_oneof![
        Just("rtt"),
        Just("bdp"),
        Just("cell"),
        Just("B"),
        Just("KiB"),
        Just("GiB"),
        Just("s"),
        Just("h"),
        Just("ps"),
        Just("µs"),
        Just("bit/s"),
        Just("Gbit/s"),
        Just("Mbps"),
        Just(""),
        Just("off"),
    ];
    prop_oneof![(number, " {0,2}", unit).prop_map(|(n, s, u)| format!("{n}{s}{u}")), ".{0,12}"]
}

const QUANTITIES: &[&str] = &[
    "run.duration",
    "run.warmup",
    "run.rtt",
    "buffer.size",
    "tcp.mss",
    "tcp.window",
    "tcp.send-buffer",
    "tcp.delayed-ack",
    "tcp.timer-granularity",
    "tcp.rto-initial",
    "tcp.rto-min",
    "tcp.rto-max",
    "tcp.time-wait",
    "link.*.rate",
    "link.r1-s1.delay",
    "traffic.ftp.start",
    "traffic.ftp.stagger",
    "traffic.ftp.access.rate",
    "traffic.ftp.access.delay",
    "observe.interval",
    "observe.fairness-window",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn quantities(settings in prop::collection::vec((prop::sample::select(QUANTITIES), quantity()), 1..5)) {
        let overrides: Vec<Override> =
            settings.iter().map(|(path, text)| Override::new(*path, format!("{text:?}"))).collect();
        match Plan::parse_with(GOOD, "t.toml", &overrides, None) {
            Ok(plan) => {
                // What is accepted is whole: it can be written and read again.
                let text = plan.base().to_toml();
                let again = Plan::parse(&text, "again.toml");
                let again = again.map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
                prop_assert_eq!(again.base(), plan.base());
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn any_value_anywhere(path in "(tcp|run|traffic[.](ftp|[*])|link[.][*]|node[.]r1|observe|sweep)[.](mss|seeds|count|tcp|workload|name|between|trace|axes|[a-z]{1,5})",
                          value in prop_oneof![".{0,20}", "[-0-9.e]{1,8}", Just("nan".to_owned()), Just("[]".to_owned()),
                                               Just("{ a = 1 }".to_owned()), Just("1979-05-27".to_owned()), Just("[[1], {}]".to_owned())]) {
        let overrides = [Override::new(path.as_str(), value.as_str())];
        if let Err(error) = Plan::parse_with(GOOD, "t.toml", &overrides, None) {
            prop_assert!(!error.to_string().is_empty());
        }
        let spec = SweepSpec { axes: vec![(path, vec![value])], variants: vec![] };
        if let Err(error) = Plan::parse_with(GOOD, "t.toml", &[], Some(spec)).and_then(|p| p.points()) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    /// A file with a piece cut out, doubled, or replaced by noise.
    #[test]
    fn damaged_files(start in 0..GOOD.len(), length in 0usize..80, noise in "[\\PC\n\"\\[\\]={}.#]{0,12}", twice: bool) {
        let end = (start + length).min(GOOD.len());
        let text = match twice {
            true => format!("{}{}{noise}{}", &GOOD[..end], &GOOD[start..end], &GOOD[end..]),
            false => format!("{}{noise}{}", &GOOD[..start], &GOOD[end..]),
        };
        if let Err(error) = Plan::parse(&text, "t.toml").and_then(|p| p.points()) {
            for problem in &error.problems {
                prop_assert!(problem.line.is_some_and(|line| line <= text.lines().count() + 1));
            }
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
