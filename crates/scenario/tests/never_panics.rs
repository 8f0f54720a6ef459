//! Whatever stands in a file, the answer is a plan or an error.

mod common;

use cellway_scenario::{Override, Plan, SweepSpec, TraceFormat};
use cellway_units::Time;
use common::{GOOD, RICH};
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
        Just("cell/s"),
        Just("/16"),
        Just("Gbit/s"),
        Just("Mbps"),
        Just(""),
        Just("off"),
        Just("%"),
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
    "link.*.loss",
    "run.emulate.idle",
    "traffic.ftp.start",
    "traffic.ftp.stagger",
    "traffic.ftp.access.rate",
    "traffic.ftp.access.delay",
    "traffic.ftp.access.loss",
    "observe.interval",
    "observe.fairness-window",
];

/// Quantities of [`RICH`]; any of them may be of any kind.
const RICH_QUANTITIES: &[&str] = &[
    "link.*.rate",
    "link.*.mtu",
    "link.wan.buffer.size",
    "link.wan.buffer.threshold",
    "link.*.buffer.clp-threshold",
    "buffer.threshold",
    "node.h.host.rate",
    "node.h.host.send",
    "node.g1.gateway.window",
    "node.g1.gateway.rate",
    "node.g1.gateway.packet",
    "node.g2.gateway.cpu-rate",
    "node.g1.tcp.window",
    "node.g2.tcp.mss",
    "node.g2.tcp.profile",
    "tcp.mss",
    "tcp.window",
    "tcp.profile",
    "traffic.split.access.mtu",
    "traffic.*.access.rate",
    "traffic.*.jitter",
    "traffic.split.host.receive",
    "traffic.cells.service.pcr",
    "traffic.cells.service.mcr",
    "traffic.cells.service.icr",
    "traffic.cells.service.rif",
    "traffic.cells.service.cdf",
    "traffic.cells.service.trm",
    "traffic.cells.service.tbe",
    "traffic.split.service.pcr",
    "traffic.split.workload.write",
    "traffic.*.workload.write-cost",
    "shaper.spacer.rate",
    "shaper.*.scr",
    "shaper.*.mbs",
    "policer.upc.pcr",
    "policer.upc.cdvt",
    "policer.upc.mbs",
    "change.1.at",
    "change.1.rate",
    "change.*.pcr",
    "abr.interval",
    "abr.threshold",
];

/// Values that some key of [`RICH`] accepts, so that more than the first check is reached.
fn plausible() -> impl Strategy<Value = String> {
    let words = ["ethernet", "ds3", "fddi", "bsd-4.4", "solaris-2.5", "1/16", "0/1"].map(str::to_owned).to_vec();
    let amount = 1u32..100_000;
    prop_oneof![
        prop::sample::select(words),
        (amount.clone(), prop::sample::select(vec!["B", "cell", "us", "kbit/s", "cell/s"]))
            .prop_map(|(n, u)| format!("{n} {u}")),
        quantity(),
    ]
}

fn whole_or_refused(text: &str, overrides: &[Override]) -> Result<(), TestCaseError> {
    match Plan::parse_with(text, "t.toml", overrides, None) {
        Ok(plan) => {
            // An accepted file can be written and read again.
            let text = plan.base().to_toml();
            let again = Plan::parse(&text, "again.toml");
            let again = again.map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
            prop_assert_eq!(again.base(), plan.base());
        }
        Err(error) => prop_assert!(!error.to_string().is_empty()),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn quantities(settings in prop::collection::vec((prop::sample::select(QUANTITIES), quantity()), 1..5)) {
        let overrides: Vec<Override> =
            settings.iter().map(|(path, text)| Override::new(*path, format!("{text:?}"))).collect();
        whole_or_refused(GOOD, &overrides)?;
    }

    #[test]
    fn quantities_of_gateways_and_control(settings in prop::collection::vec((prop::sample::select(RICH_QUANTITIES), plausible()), 1..4)) {
        let overrides: Vec<Override> =
            settings.iter().map(|(path, text)| Override::new(*path, format!("{text:?}"))).collect();
        whole_or_refused(RICH, &overrides)?;
    }

    #[test]
    fn any_value_anywhere(path in "(tcp|run|traffic[.](ftp|[*])|link[.][*]|node[.]r1|observe|sweep|shaper[.][*]|change[.]1|abr|buffer)[.](mss|seeds|count|tcp|workload|name|between|trace|queue|axes|service|host|gateway|peer|framing|profile|target|threshold|[a-z]{1,5})",
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

    /// The same with gateways and traffic control.
    #[test]
    fn damaged_rich_files(start in 0..RICH.len(), length in 0usize..80, noise in "[\\PC\n\"\\[\\]={}.#]{0,12}") {
        let end = (start + length).min(RICH.len());
        let text = format!("{}{noise}{}", &RICH[..start], &RICH[end..]);
        if let Ok(plan) = Plan::parse(&text, "t.toml") {
            let again = Plan::parse(&plan.base().to_toml(), "again.toml");
            let again = again.map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
            prop_assert_eq!(again.base(), plan.base());
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

/// Texts near recordings: columns, numbers with and without units, and anything.
fn recording() -> impl Strategy<Value = String> {
    let value = prop_oneof![quantity(), "[0-9]{1,20}", Just("0".to_owned()), Just("1e300".to_owned())];
    let line = prop::collection::vec(value, 1..5).prop_map(|values| values.join(","));
    let header =
        prop::sample::select(vec!["time,rate", "time,delay,loss", "loss,time", "time", "", "rate", "time,time"]);
    (header, prop::collection::vec(line, 0..12)).prop_map(|(header, lines)| format!("{header}\n{}\n", lines.join("\n")))
}

proptest! {
    /// A recording that is read has changes that ascend from the start and end before its length.
    #[test]
    fn recordings_are_read_or_refused(text in prop_oneof![
        recording(),
        "[0-9\n]{0,60}",
        "(0 20 0\n)?([0-9]{1,4}( [0-9]{1,2}| 0 0){1,4}\n){0,3}",
        ".{0,60}",
    ]) {
        use TraceFormat::{Csv, Delays, Distribution, Heavy, Light, Opportunities};
        for format in [Opportunities, Delays, Csv, Distribution, Light, Heavy] {
            let Ok(trace) = format.read(&text) else { continue };
            prop_assert!(trace.jitter.is_none_or(|values| !values.is_empty() && values.is_sorted()));
            let rates = trace.rate.map(|rate| (rate.changes.iter().map(|change| change.0).collect::<Vec<_>>(), rate.length));
            let delays = trace.delay.map(|delay| (delay.changes.iter().map(|change| change.0).collect(), delay.length));
            for (times, length) in rates.into_iter().chain(delays) {
                prop_assert!(times[0] == Time::ZERO && times.is_sorted_by(|one, other| one < other));
                prop_assert!(times[times.len() - 1] < Time::ZERO + length);
            }
        }
    }
}
