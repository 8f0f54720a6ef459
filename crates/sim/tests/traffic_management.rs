//! Shapers, policers, discards, ABR and changes of rates, with TCP above them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::{Override, Plan};
use common::{figure, run, scenario, series};

/// One transfer from an ATM host through two switches.
const LINE: &str = r#"version = 1
name = "line"
run = { duration = "12 s", warmup = "4 s" }
buffer = { size = "2000 cell", per = "port" }
tcp = { profile = "classic", variant = "sack", mss = "1460 B", window = "256 KiB", window-scaling = true }
node = [
  { name = "h", kind = "host" },
  { name = "s1", kind = "switch" },
  { name = "s2", kind = "switch" },
  { name = "k", kind = "host" },
]
link = [
  { between = ["h", "s1"], rate = "40 Mbit/s", delay = "1 ms", framing = "atm" },
  { between = ["s1", "s2"], rate = "40 Mbit/s", delay = "5 ms" },
  { between = ["s2", "k"], rate = "40 Mbit/s", delay = "0 s", framing = "atm" },
]

[[traffic]]
name = "t"
app = "bulk"
from = "h"
to = "k"

"#;

/// Returns the goodput: a segment of 1460 B is a packet of 1500 B: 32 cells.
fn goodput_of(cells_per_second: f64) -> f64 {
    cells_per_second / (32.0 * 424.0) * 1460.0 * 8.0
}

#[test]
fn a_spacer_sets_the_rate_and_nothing_is_lost() {
    let text = format!("{LINE}[[shaper]]\nname = \"x\"\nat = \"s1\"\nlink = \"s1-s2\"\nrate = \"10 Mbit/s\"\n");
    let record = run(&scenario(&text, &[("link.s1-s2.buffer", "{ size = \"7000 cell\" }")]), 1);
    let goodput = figure(&record, "t-1", "goodput");
    assert!((goodput / goodput_of(10e6) - 1.0).abs() < 0.001, "{goodput}");
    assert_eq!(figure(&record, "network", "lost_frames"), 0.0);
}

#[test]
fn a_transfer_follows_the_changes_of_a_spacer_and_of_a_line() {
    let shaper = "[[shaper]]\nname = \"x\"\nat = \"s1\"\nlink = \"s1-s2\"\nrate = \"40 Mbit/s\"\n";
    for (shaper, what) in [(shaper, "shaper = \"x\""), ("", "link = \"s1-s2\"")] {
        let text = format!(
            "{LINE}{shaper}[[change]]\nat = \"3 s\"\n{what}\nrate = \"8 Mbit/s\"\n\
             [[change]]\nat = \"9 s\"\n{what}\nrate = \"16 Mbit/s\"\n"
        );
        let set = [
            ("run.warmup", "\"0 s\""),
            ("observe.interval", "\"1 s\""),
            ("link.s1-s2.buffer", "{ size = \"7000 cell\" }"),
        ];
        let record = run(&scenario(&text, &set), 1);
        let rates: Vec<f64> =
            record.series.iter().filter(|r| &*r.subject == "t-1" && r.metric == "goodput").map(|r| r.value).collect();
        // Whole seconds well after each change: the rest of the queue leaves at the new rate at once.
        for (seconds, rate) in [(5..9, 8e6), (10..12, 16e6)] {
            for second in seconds {
                assert!((rates[second] / goodput_of(rate) - 1.0).abs() < 0.002, "{what} {second}: {}", rates[second]);
            }
        }
    }
}

#[test]
fn a_policed_transfer_loses_cells_and_a_shaped_one_does_not() {
    let police = "[[policer]]\nname = \"u\"\nat = \"s1\"\nlink = \"s1-s2\"\npcr = \"20 Mbit/s\"\nscr = \"10 Mbit/s\"\nmbs = \"100 cell\"\n";
    let text = format!("{LINE}{police}");
    let unshaped = run(&scenario(&text, &[]), 1);
    assert!(figure(&unshaped, "s1>s2", "policed_discarded") > 0.0);
    let contract = "{ class = \"vbr-nrt\", pcr = \"20 Mbit/s\", scr = \"10 Mbit/s\", mbs = \"100 cell\" }";
    let shaped = run(&scenario(&text, &[("traffic.t.service", contract)]), 1);
    assert!(shaped.summary.iter().all(|row| row.metric != "policed_discarded"), "nothing was discarded");
    let [shaped, unshaped] = [&shaped, &unshaped].map(|record| figure(record, "t-1", "goodput"));
    assert!((shaped / goodput_of(10e6) - 1.0).abs() < 0.001, "{shaped}");
    assert!(unshaped < 0.8 * shaped, "{unshaped} {shaped}");
}

/// S. Floyd and A. Romanow, "Dynamics of TCP Traffic over ATM Networks" (1994): cells of frames that have lost a
/// cell waste the line; early discard keeps frames whole.
#[test]
fn early_discard_wastes_less_than_plain_cell_loss() {
    let goodput = |discard: &str| {
        let buffer = format!("{{ size = \"600 cell\", per = \"port\", {discard} }}");
        let set = [
            ("link.s1-s2.rate", "\"10 Mbit/s\""),
            ("traffic.t.count", "8"),
            ("traffic.t.from", "\"s1\""),
            ("traffic.t.access", "{ rate = \"40 Mbit/s\", delay = \"1 ms\", framing = \"atm\" }"),
            ("traffic.t.stagger", "\"31 ms\""),
            ("tcp.mss", "\"9140 B\""),
            ("link.s1-s2.buffer", &buffer[..]),
        ];
        let record = run(&scenario(LINE, &set), 1);
        figure(&record, "t", "goodput_total")
    };
    let [plain, partial, early] =
        ["discard = \"cell\"", "discard = \"ppd\"", "discard = \"epd\", threshold = \"400 cell\""].map(goodput);
    assert!(plain < partial && partial < 0.92 * early, "{plain} {partial} {early}");
    assert!(early > 0.94 * 10e6 * 9140.0 / (192.0 * 53.0), "{early}");
}

/// Returns max-min shares by water filling: `paths` name the lines of each connection.
fn max_min(capacity: &[f64], paths: &[Vec<usize>]) -> Vec<f64> {
    let mut share = vec![None; paths.len()];
    let mut left = capacity.to_vec();
    while share.iter().any(Option::is_none) {
        let level = |line: usize| {
            let users = paths.iter().zip(&share).filter(|(p, s)| s.is_none() && p.contains(&line)).count();
            if users == 0 { f64::INFINITY } else { left[line] / users as f64 }
        };
        let tightest = (0..left.len()).min_by(|&a, &b| level(a).total_cmp(&level(b))).unwrap();
        let rate = level(tightest);
        for (connection, path) in paths.iter().enumerate() {
            if share[connection].is_none() && path.contains(&tightest) {
                share[connection] = Some(rate);
                path.iter().for_each(|&line| left[line] -= rate);
            }
        }
    }
    share.into_iter().map(Option::unwrap).collect()
}

/// Three switches in a row: one connection over both lines, two over the first, one over the second.
const PARKING_LOT: &str = r#"version = 1
name = "parking-lot"
run = { duration = "6 s", warmup = "3 s" }
buffer = { size = "3000 cell", per = "port" }
tcp = { profile = "classic", variant = "sack", mss = "9140 B", window = "512 KiB", window-scaling = true }
abr = { marking = "erica", target = 0.9, interval = "2 ms" }
node = [{ name = "a", kind = "switch" }, { name = "b", kind = "switch" }, { name = "c", kind = "switch" }]
link = [
  { between = ["a", "b"], rate = "40 Mbit/s", delay = "2 ms" },
  { between = ["b", "c"], rate = "30 Mbit/s", delay = "2 ms" },
]

[[traffic]]
name = "long"
app = "bulk"
from = "a"
to = "c"
access = { rate = "oc3c", delay = "0.1 ms", framing = "atm" }
service = { class = "abr", pcr = "40 Mbit/s" }

[[traffic]]
name = "first"
app = "bulk"
count = 2
from = "a"
to = "b"
access = { rate = "oc3c", delay = "0.3 ms", framing = "atm" }
service = { class = "abr", pcr = "40 Mbit/s" }

[[traffic]]
name = "second"
app = "bulk"
from = "b"
to = "c"
access = { rate = "oc3c", delay = "1 ms", framing = "atm" }
service = { class = "abr", pcr = "40 Mbit/s" }
"#;

#[test]
fn explicit_rates_are_max_min_fair_on_a_parking_lot_and_lose_nothing() {
    let record = run(&scenario(PARKING_LOT, &[]), 1);
    let target = [0.9 * 40e6, 0.9 * 30e6];
    let shares = max_min(&target, &[vec![0, 1], vec![0], vec![0], vec![1]]);
    for (slot, share) in ["long-1", "first-1", "first-2", "second-1"].into_iter().zip(shares) {
        let acr = figure(&record, slot, "acr_mean");
        assert!((acr / share - 1.0).abs() < 0.02, "{slot}: ACR {acr}, max-min {share}");
        // One cell in 32 is an RM cell; a segment is 192 data cells.
        let goodput = figure(&record, slot, "goodput");
        let of_share = share * 31.0 / 32.0 / 424.0 / 192.0 * 9140.0 * 8.0;
        assert!((goodput / of_share - 1.0).abs() < 0.02, "{slot}: {goodput}, {of_share}");
    }
    assert_eq!(figure(&record, "network", "lost_frames"), 0.0);
    let dropped: f64 = record.summary.iter().filter(|r| r.metric == "dropped_cells").map(|r| r.value).sum();
    assert_eq!(dropped, 0.0);
}

/// `nasa`, CTI test: ABR between two switches only, plain cells on either side.
#[test]
fn a_control_loop_between_two_switches_adapts_to_a_changing_line() {
    let set = [
        (
            "traffic.t.service",
            "{ class = \"abr\", pcr = \"20 Mbit/s\", mcr = \"1 Mbit/s\", between = [\"s1\", \"s2\"] }",
        ),
        ("abr.interval", "\"2 ms\""),
        ("link.s1-s2.buffer", "{ size = \"9000 cell\" }"),
        ("run.warmup", "\"0 s\""),
        ("observe.interval", "\"1 s\""),
    ];
    let text = format!("{LINE}[[change]]\nat = \"6 s\"\nlink = \"s1-s2\"\nrate = \"5 Mbit/s\"\n");
    let record = run(&scenario(&text, &set), 1);
    let series = |metric: &str| -> Vec<f64> {
        record.series.iter().filter(|r| &*r.subject == "t-1" && r.metric == metric).map(|r| r.value).collect()
    };
    let (acr, goodput) = (series("acr"), series("goodput"));
    assert!((acr[4] / 20e6 - 1.0).abs() < 0.001, "PCR binds: {acr:?}");
    assert!((acr[10] / (0.95 * 5e6) - 1.0).abs() < 0.03, "the line binds: {acr:?}");
    assert!((goodput[10] / goodput_of(0.95 * 5e6 * 31.0 / 32.0) - 1.0).abs() < 0.05, "{goodput:?}");
    assert_eq!(figure(&record, "network", "lost_frames"), 0.0);
    assert!(figure(&record, "s1>s2", "rm_cells") > 0.0);
    // No control loop, no RM cells before s1.
    assert!(record.summary.iter().all(|r| !(&*r.subject == "h>s1" && r.metric == "rm_cells")));
}

/// Returns the share of data among the cells of an ABR source on [`LINE`]. After 31 others one is a forward RM cell.
/// For each segment of 32 cells b of the others turn RM cells of the other direction back, which has there, for the
/// same segment, one cell of acknowledgement and (32 + b) / 31 RM cells turned back: b = (1 + (32 + b) / 31) / 31.
fn abr_share() -> f64 {
    31.0 / 32.0 * 32.0 / (32.0 + 63.0 / 960.0)
}

/// Returns the messages with which a file is refused. What is accepted can be built.
fn refusal(text: &str, set: &[(&str, &str)]) -> Option<String> {
    let set: Vec<Override> = set.iter().map(|(key, value)| Override::new(*key, *value)).collect();
    match Plan::parse_with(text, "t.toml", &set, None) {
        Ok(plan) => {
            cellway_sim::node_names(plan.base()).unwrap();
            None
        }
        Err(error) => {
            Some(error.problems.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("; "))
        }
    }
}

/// A shaper at a queue that the service, or a gateway, paces already would silently replace that pacer.
#[test]
fn a_shaper_at_a_queue_that_is_paced_already_is_refused() {
    let text = format!("{LINE}[[shaper]]\nname = \"x\"\nat = \"s1\"\nlink = \"s1-s2\"\nrate = \"10 Mbit/s\"\n");
    let told = "the service of traffic \"t\" paces the same cells at this port already";
    let abr = "{ class = \"abr\", pcr = \"20 Mbit/s\", between = [\"s1\", \"s2\"] }";
    assert_eq!(refusal(&text, &[("traffic.t.service", abr)]).as_deref(), Some(told));
    // From end to end the loop begins at the host, at which the constant rate is also paced.
    for service in ["{ class = \"abr\", pcr = \"20 Mbit/s\" }", "{ class = \"cbr\", pcr = \"20 Mbit/s\" }"] {
        assert_eq!(refusal(&text, &[("traffic.t.service", service)]), None);
    }
    // A router paces for hosts that send packets.
    let routed = LINE.replace("{ name = \"h\", kind = \"host\" }", "{ name = \"h\", kind = \"router\" }")
        + "[[shaper]]\nname = \"x\"\nat = \"h\"\nlink = \"h-s1\"\nrate = \"10 Mbit/s\"\n";
    let access = ("traffic.t.access", "{ rate = \"40 Mbit/s\", delay = \"0 s\" }");
    for (service, expected) in [
        ("{ class = \"cbr\", pcr = \"20 Mbit/s\" }", Some(told)),
        ("{ class = \"ubr\", pcr = \"20 Mbit/s\" }", Some(told)),
        ("{ class = \"vbr-nrt\", pcr = \"20 Mbit/s\", scr = \"5 Mbit/s\", mbs = \"9 cell\" }", Some(told)),
        ("{ class = \"ubr\" }", None),
    ] {
        assert_eq!(refusal(&routed, &[access, ("traffic.t.service", service)]).as_deref(), expected, "{service}");
    }
}

/// PCR of an ABR source also changes with a shaper elsewhere on the path, and that of a service without ABR changes at
/// its own shaper.
#[test]
fn the_peak_rate_of_a_service_changes_where_it_is_paced() {
    let text = format!(
        "{LINE}[[shaper]]\nname = \"x\"\nat = \"s1\"\nlink = \"s1-s2\"\nrate = \"30 Mbit/s\"\n\
         [[change]]\nat = \"2 s\"\ntraffic = \"t\"\npcr = \"8 Mbit/s\"\n"
    );
    for (class, share) in [("cbr", 1.0), ("abr", abr_share())] {
        let service = format!("{{ class = \"{class}\", pcr = \"20 Mbit/s\" }}");
        let goodput = figure(&run(&scenario(&text, &[("traffic.t.service", &service)]), 1), "t-1", "goodput");
        assert!((goodput / goodput_of(8e6 * share) - 1.0).abs() < 0.0002, "{class}: {goodput}");
    }
}

/// Conversations that share a channel share one loop: together they get the rate of one.
#[test]
fn a_shared_channel_has_one_control_loop() {
    for policy in ["\"per-type\"", "\"per-destination\""] {
        let set = [
            ("multiplexing.channel", policy),
            ("traffic.t.count", "3"),
            ("traffic.t.stagger", "\"31 ms\""),
            ("traffic.t.service", "{ class = \"abr\", pcr = \"20 Mbit/s\" }"),
        ];
        let record = run(&scenario(LINE, &set), 1);
        let goodput = figure(&record, "t", "goodput_total");
        assert!((goodput / goodput_of(20e6 * abr_share()) - 1.0).abs() < 0.0002, "{policy}: {goodput}");
        for slot in ["t-1", "t-2", "t-3"] {
            assert_eq!(figure(&record, slot, "acr_mean"), 20e6, "{policy} {slot}");
        }
    }
}

#[test]
fn groups_of_one_channel_and_two_services_are_refused() {
    let group = |name: &str, pcr: &str| {
        format!(
            "[[traffic]]\nname = \"{name}\"\napp = \"bulk\"\nfrom = \"h\"\nto = \"k\"\n\
             service = {{ class = \"abr\", pcr = \"{pcr}\" }}\n"
        )
    };
    let text = |pcr: &str| format!("{LINE}{}{}", group("u", "20 Mbit/s"), group("v", pcr));
    let told = "\"v\" shares a channel with traffic \"u\", but not its service";
    let policy = |policy| [("multiplexing.channel", policy)];
    assert_eq!(refusal(&text("10 Mbit/s"), &policy("\"per-type\"")).as_deref(), Some(told));
    assert_eq!(refusal(&text("20 Mbit/s"), &policy("\"per-type\"")), None);
    assert_eq!(refusal(&text("10 Mbit/s"), &policy("\"per-conversation\"")), None);
}

/// Loops with other ends on one channel would take each other's RM cells; a loop that a group of the other direction names
/// from its end is the same one.
#[test]
fn loops_of_one_channel_have_the_same_ends() {
    let group = |name: &str, ends: [&str; 2], between: [&str; 2]| {
        format!(
            "[[traffic]]\nname = \"{name}\"\napp = \"bulk\"\nfrom = \"{}\"\nto = \"{}\"\n\
             service = {{ class = \"abr\", pcr = \"20 Mbit/s\", between = {between:?} }}\n",
            ends[0], ends[1]
        )
    };
    let told = "\"v\" shares a channel with traffic \"u\", but not its service";
    for (second, between, expected) in [
        (["h", "k"], ["s1", "s2"], None),
        (["k", "h"], ["s2", "s1"], None),
        (["h", "k"], ["h", "k"], Some(told)),
        (["h", "k"], ["h", "s2"], Some(told)),
    ] {
        let text = format!("{LINE}{}{}", group("u", ["h", "k"], ["s1", "s2"]), group("v", second, between));
        let all = refusal(&text, &[("multiplexing.channel", "\"per-destination\"")]);
        assert_eq!(all.as_deref(), expected, "{second:?} {between:?}");
    }
}

/// A group without conversations opens no channels, so that a sweep can choose between groups by their count. Gateways
/// pace on the way to their peers also for hosts that ATM links attach to them.
#[test]
fn who_paces_depends_on_the_conversations_that_there_are() {
    let text = r#"version = 1
name = "gateways"
run = { duration = "1 s" }
buffer = { size = "64 KiB", per = "port" }
node = [
  { name = "a", kind = "KIND", PEERb },
  { name = "s", kind = "switch" },
  { name = "b", kind = "KIND", PEERa },
]
link = [
  { between = ["a", "s"], rate = "oc3c", delay = "1 ms" },
  { between = ["s", "b"], rate = "oc3c", delay = "1 ms" },
]
traffic = [
  { name = "t", app = "bulk", from = "a", to = "b", access = { rate = "oc3c", delay = "0 s", framing = "FRAMING" }, service = { class = "cbr", pcr = "2 Mbit/s" } },
  { name = "u", app = "bulk", from = "a", to = "b", access = { rate = "oc3c", delay = "0 s", framing = "FRAMING" }, service = { class = "cbr", pcr = "3 Mbit/s" } },
]
"#;
    let with = |kind: &str, framing: &str| {
        let peer = |name: &str| match kind {
            "router" => "host = {}".to_owned(),
            _ => format!("peer = \"{name}\", gateway = {{ rate = \"10 Mbit/s\" }}"),
        };
        let text = text.replace("PEERa", &peer("a")).replace("PEERb", &peer("b"));
        text.replace("KIND", kind).replace("FRAMING", framing).replace(", host = {}", "")
    };
    let shaper = "[[shaper]]\nname = \"x\"\nat = \"a\"\nlink = \"a-s\"\nrate = \"5 Mbit/s\"\n";
    for framing in ["packet", "atm"] {
        let text = with("gateway", framing) + shaper;
        let told = "gateway \"a\" paces the same cells at this port already";
        assert_eq!(refusal(&text, &[]).as_deref(), Some(told), "{framing}");
        assert_eq!(refusal(&text, &[("traffic.*.count", "0")]).as_deref(), Some(told), "{framing}");
    }
    let routed = with("router", "packet");
    let shared = ("multiplexing.channel", "\"per-destination\"");
    let told = "\"u\" shares a channel with traffic \"t\", but not its service";
    assert_eq!(refusal(&routed, &[shared]).as_deref(), Some(told));
    assert_eq!(refusal(&routed, &[shared, ("traffic.u.count", "0")]), None);
}

/// Of two shapers, or policers, of different groups on one channel only the last would act.
#[test]
fn shapers_of_groups_that_share_a_channel_are_one() {
    let group = |name: &str| format!("[[traffic]]\nname = \"{name}\"\napp = \"bulk\"\nfrom = \"h\"\nto = \"k\"\n");
    let at = |array: &str, name: &str, rate: &str| {
        format!(
            "[[{array}]]\nname = \"{name}-{array}\"\nat = \"s1\"\nlink = \"s1-s2\"\ntraffic = [\"{name}\"]\n{rate} = \"9 Mbit/s\"\n"
        )
    };
    for (array, rate) in [("shaper", "rate"), ("policer", "pcr")] {
        let text = format!("{LINE}{}{}{}{}", group("u"), group("v"), at(array, "u", rate), at(array, "v", rate));
        let told = format!("{array}.u-{array} acts on the same channel at this port");
        assert_eq!(refusal(&text, &[("multiplexing.channel", "\"per-destination\"")]), Some(told));
        assert_eq!(refusal(&text, &[]), None);
    }
}

/// A busy queue changes twice for each cell. A record that would be too long keeps fewer changes, but reaches the end
/// of the run.
#[test]
fn the_record_of_a_queue_reaches_to_the_end() {
    let recorded = |most: &str| {
        let set = [
            ("observe.queue", "[\"s1>s2\"]"),
            ("observe.max-rows", most),
            ("link.s1-s2.rate", "\"39 Mbit/s\""),
            ("run.duration", "\"3 s\""),
            ("run.warmup", "\"0 s\""),
        ];
        let record = run(&scenario(LINE, &set), 1);
        assert!(record.series.iter().filter(|row| row.metric == "queue").all(|row| row.metric.unit() == "cell"));
        let interval =
            record.summary.iter().find(|row| row.metric == "queue_interval").map(|row| (row.metric.unit(), row.value));
        (series(&record, "s1>s2", "queue"), interval, figure(&record, "s1>s2", "queue_max"))
    };
    let (whole, none, max) = recorded("1000000");
    assert!((100_000..1_000_000).contains(&whole.len()) && none.is_none(), "{}", whole.len());
    let (some, interval, same) = recorded("1000");
    let (unit, interval) = interval.unwrap();
    assert!((250..=1000).contains(&some.len()) && unit == "s" && max == same, "{} {interval}", some.len());
    assert_eq!((some.first(), some.last()), (whole.first(), whole.last()));
    let highest = |of: &[(f64, f64)]| of.iter().map(|c| c.1).fold(0.0, f64::max);
    assert_eq!((highest(&some), highest(&whole)), (max, max));
    // Each row is one of the changes, and each interval with changes has a row.
    assert!(some.iter().all(|row| whole.contains(row)));
    let intervals =
        |of: &[(f64, f64)]| of.iter().map(|c| (c.0 / interval) as u64).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(intervals(&some), intervals(&whole));
}

/// A line that carries packets counts packets; the queue of one without its own rows, since it leads to a host, can be
/// recorded, too.
#[test]
fn the_queue_of_a_packet_line_counts_packets() {
    let text = r#"version = 1
name = "lan"
run = { duration = "3 s", warmup = "1 s" }
buffer = { size = "2000 cell", per = "port" }
tcp = { profile = "classic", variant = "sack", mss = "1460 B", window = "64000 B" }
node = [
  { name = "h", kind = "host" },
  { name = "r1", kind = "router" },
  { name = "r2", kind = "router" },
  { name = "k", kind = "host" },
]
link = [
  { between = ["h", "r1"], rate = "100 Mbit/s", delay = "1 ms", framing = "ethernet" },
  { between = ["r1", "r2"], rate = "50 Mbit/s", delay = "1 ms", framing = "packet" },
  { between = ["r2", "k"], rate = "10 Mbit/s", delay = "1 ms", framing = "ethernet" },
]
observe = { queue = ["r1>r2", "r2>k"] }
[[traffic]]
name = "t"
app = "bulk"
from = "h"
to = "k"
"#;
    let record = run(&scenario(text, &[]), 1);
    for port in ["r1>r2", "r2>k"] {
        let units: Vec<_> = record.series.iter().filter(|r| &*r.subject == port && r.metric == "queue").collect();
        assert!(!units.is_empty() && units.iter().all(|row| row.metric.unit() == "packet"), "{port}: {}", units.len());
    }
    let of_line = |metric: &str| record.summary.iter().find(|r| &*r.subject == "r1>r2" && r.metric == metric).unwrap();
    assert!(["queue_mean", "queue_max", "queue_min"].iter().all(|metric| of_line(metric).metric.unit() == "packet"));
}
