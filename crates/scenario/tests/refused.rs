//! The messages about wrong files, in full, in `refused.golden`.
//! `UPDATE_GOLDEN=1 cargo test` writes that file anew; read the difference.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;
#[path = "refused/control.rs"]
mod control;
#[path = "refused/emulate.rs"]
mod emulate;

use common::{edited, refusal, with};

/// The TCP of the small file.
const OWN_TCP: &str = "profile = \"classic\"\nvariant = \"reno\"\nmss = \"512 B\"\nwindow = \"8 KiB\"";

/// The buffer of the small file, and one with RED.
const BDP: &str = "size = \"1 bdp\"\n";
const RED: &str = "size = \"1 bdp\"\nqueue = \"red\"\n[buffer.red]\nmin = \"MIN\"\n";

fn cases() -> Vec<(&'static str, String)> {
    let link = "between = [\"r1\", \"s1\"]\nrate = \"1.5 Mbit/s\"\ndelay = \"22.5 ms\"";
    let sweep = |axes: &str| with(&format!("\n[sweep]\naxes = {axes}\n"));
    let host = "\n[[node]]\nname = \"h\"\nkind = \"host\"\n";
    vec![
        ("no TOML", edited(&[("name = \"small\"", "name = small")])),
        ("a key twice", edited(&[("count = 2", "count = 2\ncount = 3")])),
        ("an empty file", String::new()),
        ("another version", edited(&[("version = 1", "version = 2")])),
        ("unknown key", edited(&[("warmup", "warmpu")])),
        ("unknown key with _", edited(&[("window = \"8 KiB\"", "window = \"8 KiB\"\nsend_buffer = \"8 KiB\"")])),
        ("an unknown application", edited(&[("app = \"ftp\"", "app = \"ftpd\"")])),
        ("a workload without a class", edited(&[("app = \"ftp\"", "app = \"workload:office.toml\"")])),
        (
            "options of other arrivals",
            edited(&[(
                "app = \"ftp\"",
                "app = \"workload:office.toml#web\"\nworkload = { gap = \"1 s\", scale = 2, load = 0.5 }\nrepeat = true",
            )]),
        ),
        ("unknown section", with("\n[observer]\nseries = true\n")),
        ("flows that do not exist", with("\n[observe]\nflows = [\"fpt\", \"ftp-9\", \"ftp-2\", \"all\"]\n")),
        ("flows without series", with("\n[observe]\nflows = [\"ftp\"]\nseries = false\n")),
        ("a set of unknown flows", with("\n[[observe.set]]\nname = \"s\"\nflows = [\"ftp\", \"bbr\"]\n")),
        (
            "sets with names of others",
            with(
                "\n[observe]\nset = [{ name = \"ftp\", flows = [\"ftp\"] }, { name = \"ftp-1\", flows = [\"all\"] }, \
                 { name = \"r1\", flows = [\"all\"] }, { name = \"a b\", flows = [] }]\n",
            ),
        ),
        (
            "IPv6 over links of small packets",
            edited(&[
                ("count = 2", "count = 2\nfamily = \"ipv6\""),
                ("rate = \"10 Mbit/s\", delay = \"0 s\"", "rate = \"10 Mbit/s\", delay = \"0 s\", mtu = \"1279 B\""),
            ]),
        ),
        (
            "a datagram without room for the headers of IPv6",
            edited(&[(
                "app = \"ftp\"\ncount = 2",
                "family = \"ipv6\"\nudp = { packet = \"63 B\", rate = \"1 Mbit/s\" }",
            )]),
        ),
        ("an unknown family", edited(&[("count = 2", "count = 2\nfamily = \"ip6\"")])),
        (
            "a segment that fits beside the headers of IPv4 only",
            edited(&[("count = 2", "count = 2\nfamily = \"ipv6\""), ("mss = \"512 B\"", "mss = \"1441 B\"")]),
        ),
        ("key after a header", edited(&[("[tcp]", "[tcp]\ndescription = \"late\"")])),
        ("missing keys", edited(&[("rate = \"1.5 Mbit/s\"\n", ""), ("duration = \"60 s\"\n", "")])),
        (
            "missing sections",
            edited(&[("[buffer]\nsize = \"1 bdp\"\n", ""), ("[run]\nduration = \"60 s\"\nwarmup = \"10 s\"\n", "")]),
        ),
        ("thresholds of RED in two units", edited(&[(BDP, RED), ("MIN", "3000 B")])),
        ("thresholds of RED in the wrong order", edited(&[(BDP, RED), ("MIN", "15 packet")])),
        (
            "a threshold of RED that is refused is not compared",
            edited(&[(BDP, RED), ("MIN", "1 paket\"\nmax = \"3 packet")]),
        ),
        ("a probability of zero", edited(&[(BDP, &format!("{RED}max-p = \"0 %\"\n")), ("MIN", "5 packet")])),
        (
            "a mean packet above the largest",
            edited(&[(BDP, &format!("{RED}mean-packet = \"3000000000 GiB\"\n")), ("MIN", "5 packet")]),
        ),
        ("a negative number of packets", edited(&[(BDP, RED), ("MIN", "-5 packet")])),
        ("a part of a packet", edited(&[(BDP, RED), ("MIN", "0.5 packet")])),
        (
            "a target of CoDel above its interval",
            edited(&[(BDP, "size = \"1 bdp\"\nqueue = \"codel\"\ncodel = { target = \"200 ms\" }\n")]),
        ),
        (
            "parameters of another discipline at a link",
            edited(&[
                ("kind = \"switch\"", "kind = \"router\""),
                ("delay = \"22.5 ms\"", "delay = \"22.5 ms\"\nbuffer = { queue = \"red\", codel = { ecn = true } }"),
            ]),
        ),
        (
            "a queue discipline where all links carry cells",
            edited(&[
                (BDP, "size = \"1 bdp\"\nqueue = \"fq-codel\"\n"),
                ("access = { rate = \"10 Mbit/s\",", "access = { rate = \"e3\","),
            ]),
        ),
        (
            "a queue discipline at a link that carries cells",
            edited(&[("delay = \"22.5 ms\"", "delay = \"22.5 ms\"\nbuffer = { queue = \"pie\" }")]),
        ),
        (
            "parameters of disciplines out of range",
            edited(&[(
                BDP,
                "size = \"1 bdp\"\nfq-codel = { flows = 0, quantum = \"100 B\" }\ndualpi2 = { coupling = 0, target = \"0 s\" }\n\
                 pie = { update = \"0 s\" }\nfifo = { drop = \"middle\" }\n",
            )]),
        ),
        ("another queue discipline", edited(&[(BDP, "size = \"1 bdp\"\nqueue = \"sfq\"\n")])),
        ("the window of a profile without scaling", edited(&[(OWN_TCP, "window-scaling = false")])),
        (
            "the timers of a profile against a tick",
            edited(&[(OWN_TCP, "variant = \"reno\"\ntimer-granularity = \"500 ms\"")]),
        ),
        ("the largest timeout of a file below that of a profile", edited(&[(OWN_TCP, "rto-max = \"150 ms\"")])),
        ("a segment above the window of a file", edited(&[(OWN_TCP, "window = \"1 KiB\"")])),
        ("unknown word", edited(&[("\"reno\"", "\"new-reno\"")])),
        ("a word of another kind", edited(&[("\"switch\"", "4")])),
        ("number without unit", edited(&[("\"512 B\"", "512")])),
        ("text without unit", edited(&[("\"512 B\"", "\"512\"")])),
        ("wrong unit", edited(&[("\"1.5 Mbit/s\"", "\"1.5 Mbps\""), ("\"22.5 ms\"", "\"22.5 km\"")])),
        ("an exponent", edited(&[("\"1.5 Mbit/s\"", "\"1.5e-1 Mbps\""), ("\"22.5 ms\"", "\"1e99 s\"")])),
        ("a unit of another quantity", edited(&[("\"8 KiB\"", "\"8 ms\""), ("\"512 B\"", "\"512 b\"")])),
        ("another line", edited(&[("\"1.5 Mbit/s\"", "\"ds2\""), ("\"3 Mbit/s\"", "\"oc-3c\"")])),
        ("negative", edited(&[("\"1.5 Mbit/s\"", "\"-1.5 Mbit/s\""), ("count = 2", "count = -2")])),
        ("no number", edited(&[("\"60 s\"", "\"long\""), ("window = ", "delayed-ack = \"of\"\nwindow = ")])),
        ("not whole", edited(&[("\"512 B\"", "\"0.3 B\"")])),
        ("too large", edited(&[("\"60 s\"", "\"1e9 s\""), ("\"10 s\"", "\"99999999999999999999 s\"")])),
        (
            "too many round trips",
            edited(&[
                ("\"60 s\"", "\"9999999999999999 rtt\""),
                ("\"10 s\"", "\"9999999999999999999999999999999 rtt\""),
            ]),
        ),
        ("zero rates", edited(&[("\"1.5 Mbit/s\"", "\"0 Mbit/s\""), ("\"10 Mbit/s\"", "\"0 bit/s\"")])),
        ("warm-up as long as the run", edited(&[("\"10 s\"", "\"60 s\"")])),
        ("no seeds", edited(&[("warmup = \"10 s\"", "seeds = 0")])),
        ("a fraction of a seed", edited(&[("warmup = \"10 s\"", "seed = 1.5")])),
        ("no delay for a round trip", edited(&[("\"22.5 ms\"", "\"0 s\"")])),
        ("a round trip of zero", edited(&[("warmup = \"10 s\"", "rtt = \"0 s\"")])),
        ("zero buffer", edited(&[("\"1 bdp\"", "\"0 cell\"")])),
        ("less than a cell", edited(&[("\"1 bdp\"", "\"52 B\"")])),
        ("less than a packet", edited(&[("\"1 bdp\"", "\"5 cell\"")])),
        (
            "less than a packet for each",
            edited(&[("size = \"1 bdp\"", "size = \"11 cell\"\nsharing = \"conversation\"")]),
        ),
        (
            "less than a packet in bytes",
            edited(&[("size = \"1 bdp\"", "size = \"551 B\"\nper = \"port\"\ncount = \"packet\"")]),
        ),
        ("a buffer past counting", edited(&[("\"1 bdp\"", "\"9999999999999999999 bdp\"")])),
        ("a buffer past 1 TiB", edited(&[("\"1 bdp\"", "\"1025 GiB\"\ncount = \"packet\"")])),
        ("a buffer past 1 TiB in cells", edited(&[("\"1 bdp\"", "\"20745502411 cell\"")])),
        ("a buffer past 1 TiB in products", edited(&[("\"1 bdp\"", "\"200_000_000 bdp\"")])),
        ("a buffer past counting in cells", edited(&[("\"1 bdp\"", "\"18446744073709551615 cell\"")])),
        ("window below a segment", edited(&[("\"8 KiB\"", "\"511 B\"")])),
        (
            "send buffer below a segment",
            edited(&[("window = \"8 KiB\"", "window = \"8 KiB\"\nsend-buffer = \"100 B\"")]),
        ),
        (
            "send buffer past 1 TiB",
            edited(&[("window = \"8 KiB\"", "window = \"8 KiB\"\nsend-buffer = \"18446744073709551615 B\"")]),
        ),
        ("a group's own send buffer past 1 TiB", with("tcp = { send-buffer = \"1099511627777 B\" }\n")),
        ("a group's own window", with("tcp = { window = \"300 B\" }\n")),
        ("a mode of ECN that is none", with("tcp = { ecn = \"acurate\" }\n")),
        ("a number for ECN", with("tcp = { ecn = 1 }\n")),
        ("Prague without accurate ECN", with("tcp = { variant = \"prague\", ecn = true }\n")),
        ("DCTCP without ECN, and with a smaller reaction", with("tcp = { variant = \"dctcp\", abe = true }\n")),
        ("a group's own mss", with("tcp = { mss = \"9000 B\" }\n")),
        ("a packet past IP", edited(&[("\"512 B\"", "\"65496 B\""), ("\"8 KiB\"", "\"65535 B\"")])),
        ("window without scaling", edited(&[("\"8 KiB\"", "\"64 KiB\"")])),
        ("window past scaling", edited(&[("\"8 KiB\"", "\"1 GiB\"\nwindow-scaling = true")])),
        (
            "timers",
            edited(&[(
                "window = \"8 KiB\"",
                "window = \"8 KiB\"\ntimer-granularity = \"0 s\"\nrto-min = \"2 min\"\ndelayed-ack = \"0 ms\"",
            )]),
        ),
        (
            "first timeout past the largest",
            edited(&[("window = \"8 KiB\"", "window = \"8 KiB\"\nrto-initial = \"65 s\"")]),
        ),
        ("a least timeout of one tick", edited(&[("window = \"8 KiB\"", "window = \"8 KiB\"\nrto-min = \"500 ms\"")])),
        ("a coarse clock", edited(&[("window = \"8 KiB\"", "window = \"8 KiB\"\ntimer-granularity = \"600 ms\"")])),
        (
            "first timeout below the least",
            edited(&[("window = \"8 KiB\"", "window = \"8 KiB\"\nrto-min = \"4 s\"\ndelayed-ack = \"501 ms\"")]),
        ),
        ("initial window past 1000", edited(&[("window = \"8 KiB\"", "window = \"8 KiB\"\ninitial-window = 1001")])),
        ("pacing at no rate", edited(&[("window = \"8 KiB\"", "window = \"8 KiB\"\npacing-rate = \"0 bit/s\"")])),
        ("timestamps that fill a segment", edited(&[("mss = \"512 B\"", "mss = \"12 B\"\ntimestamps = true")])),
        (
            "a recovery that contradicts its control",
            edited(&[("window = \"8 KiB\"", "window = \"8 KiB\"\nrecovery = \"rack\"\ncontrol = \"tahoe\"")]),
        ),
        ("a margin of none", edited(&[("window = \"8 KiB\"", "window = \"8 KiB\"\nrto-margin = \"0 s\"")])),
        ("initial window of none", edited(&[("window = \"8 KiB\"", "window = \"8 KiB\"\ninitial-window = 0")])),
        ("names", edited(&[("name = \"r1\"", "name = \"r 1\""), ("name = \"ftp\"", "name = \"f.t.p\"")])),
        ("the same node twice", edited(&[("name = \"s1\"", "name = \"r1\"")])),
        ("the same link twice", edited(&[("[[traffic]]", &format!("[[link]]\n{link}\n\n[[traffic]]"))])),
        (
            "the same traffic twice",
            with(
                "\n[[traffic]]\nname = \"ftp\"\napp = \"ftp\"\nfrom = \"r1\"\nto = \"r2\"\naccess = { rate = \"1 Mbit/s\", delay = \"0 s\" }\n",
            ),
        ),
        (
            "a group named as a slot",
            with(
                "\n[[traffic]]\nname = \"ftp-7\"\napp = \"ftp\"\nfrom = \"r1\"\nto = \"r2\"\naccess = { rate = \"1 Mbit/s\", delay = \"0 s\" }\n",
            ),
        ),
        ("a group named network", edited(&[("name = \"ftp\"", "name = \"network\"")])),
        ("a group named emulation", edited(&[("name = \"ftp\"", "name = \"emulation\"")])),
        ("unknown node", edited(&[("between = [\"s1\", \"r2\"]", "between = [\"s1\", \"r3\"]")])),
        ("a link with one end", edited(&[("between = [\"s1\", \"r2\"]", "between = [\"s1\"]")])),
        ("a link to itself", edited(&[("between = [\"s1\", \"r2\"]", "between = [\"s1\", \"s1\"]")])),
        ("no route", edited(&[("between = [\"s1\", \"r2\"]", "between = [\"s1\", \"r1\"]\nname = \"second\"")])),
        ("traffic to nowhere", edited(&[("to = \"r2\"", "to = \"r22\"")])),
        ("traffic to itself", edited(&[("to = \"r2\"", "to = \"r1\"")])),
        ("traffic to a switch", edited(&[("to = \"r2\"", "to = \"s1\""), ("\"10 Mbit/s\"", "\"ethernet\"")])),
        ("no access", edited(&[("access = { rate = \"10 Mbit/s\", delay = \"0 s\" }\n", "")])),
        ("half an access", edited(&[(", delay = \"0 s\" }", " }")])),
        ("a host without link", edited(&[("[[link]]", &format!("{}\n[[link]]", host.trim_start()))])),
        (
            "a host at a switch",
            edited(&[(
                "[[link]]",
                &format!(
                    "{}\n[[link]]\nbetween = [\"h\", \"s1\"]\nrate = \"fast-ethernet\"\ndelay = \"0 s\"\n\n[[link]]",
                    host.trim_start()
                ),
            )]),
        ),
        (
            "a host with two links",
            edited(&[(
                "[[link]]",
                &format!(
                    "{}\n[[link]]\nbetween = [\"h\", \"r1\"]\nrate = \"1 Gbit/s\"\ndelay = \"0 s\"\n\n[[link]]\nbetween = [\"r2\", \"h\"]\nrate = \"1 Gbit/s\"\ndelay = \"0 s\"\n\n[[link]]",
                    host.trim_start()
                ),
            )]),
        ),
        ("framing", edited(&[("delay = \"22.5 ms\"", "delay = \"22.5 ms\"\nframing = \"packet\"")])),
        (
            "access between hosts",
            edited(&[
                (
                    "[[link]]",
                    "[[node]]\nname = \"h\"\nkind = \"host\"\n\n[[node]]\nname = \"g\"\nkind = \"host\"\n\n[[link]]\nbetween = [\"h\", \"r1\"]\nrate = \"1 Gbit/s\"\ndelay = \"0 s\"\n\n[[link]]\nbetween = [\"g\", \"r2\"]\nrate = \"1 Gbit/s\"\ndelay = \"0 s\"\n\n[[link]]",
                ),
                ("from = \"r1\"\nto = \"r2\"", "from = \"h\"\nto = \"g\""),
            ]),
        ),
        ("weight", with("workload = { spike = { size = \"74 B\", weight = 1.01 } }\n")),
        ("weight as text", with("workload = { spike = { size = \"0 B\", weight = \"half\" } }\n")),
        ("not a number", with("workload = { spike = { size = \"0 B\", weight = nan } }\n")),
        ("option of another application", with("workload = { echo = true, size = \"1 MiB\" }\n")),
        ("a transfer of nothing", edited(&[("app = \"ftp\"", "app = \"bulk\"\nworkload = { size = \"0 B\" }")])),
        (
            "a transfer past 1 PiB",
            edited(&[("app = \"ftp\"", "app = \"bulk\"\nworkload = { size = \"1048577 GiB\" }")]),
        ),
        ("a spike past 1 PiB", with("workload = { spike = { size = \"1125899906842625 B\", weight = 0.5 } }\n")),
        ("too many conversations", edited(&[("count = 2", "count = 65536")])),
        ("too many channels", edited(&[("count = 2", "count = 65505")])),
        ("a start past the end", edited(&[("count = 2", "count = 2\nstart = \"60 s\"")])),
        ("a last start past the end", edited(&[("count = 2", "count = 2\nstagger = \"2000 rtt\"")])),
        ("unknown trace", with("\n[observe]\ntrace = [\"fpt-1\", \"ftp-3\", \"ftp-0\", 4]\n")),
        ("unknown traces", with("\n[observe]\ntrace = [\"fpt-1\", \"ftp-3\", \"ftp-0\", \"telnet\"]\n")),
        ("bins", with("\n[observe]\ninterval = \"1 us\"\nfairness-window = \"61 s\"\n")),
        ("a fairness window past what is counted", with("\n[observe]\nfairness-window = \"51 s\"\n")),
        (
            "a fairness window past what is counted in a point",
            with(
                "\n[observe]\nfairness-window = \"50 s\"\n[sweep]\naxes = { \"run.warmup\" = [\"10 s\", \"20 s\"] }\n",
            ),
        ),
        ("bins of what is counted", with("\n[observe]\nfairness-window = \"49 us\"\n")),
        ("a bin of nothing", with("\n[observe]\ninterval = \"0 rtt\"\n")),
        ("sweep over nothing", with("\n[sweep]\n")),
        ("sweep over no axes", sweep("{}")),
        ("sweep over no values", sweep("{ \"tcp.mss\" = [] }")),
        ("axis of no key", sweep("{ \"tcp.msss\" = [\"512 B\"] }")),
        ("axis of no element", sweep("{ \"traffic.fpt.count\" = [1], \"link.r1-s2.rate\" = [\"1 Mbit/s\"] }")),
        ("axis of a group of keys", sweep("{ \"traffic.ftp\" = [1], \"link\" = [2], \"link.*\" = [3] }")),
        ("axis past a key", sweep("{ \"tcp.mss.size\" = [\"512 B\"] }")),
        ("axis of a sweep", sweep("{ \"sweep.axes\" = [1], \"a..b\" = [2] }")),
        ("axis of a name", sweep("{ \"traffic.ftp.name\" = [\"a\", \"b\"], \"name\" = [\"c\"] }")),
        ("axis that is no array", sweep("{ \"tcp.mss\" = \"512 B\" }")),
        ("axis value twice", sweep("{ \"traffic.ftp.count\" = [1, 2, 1] }")),
        ("two axes of one key", sweep("{ \"traffic.*.count\" = [1, 2], \"traffic.ftp.count\" = [3] }")),
        (
            "a bad value in an axis",
            sweep("{ \"tcp.mss\" = [\"512 B\", 1460, \"9 KiB\"], \"traffic.ftp.count\" = [1, 2] }"),
        ),
        (
            "values that clash",
            sweep("{ \"tcp.mss\" = [\"512 B\", \"1460 B\"], \"tcp.window\" = [\"8 KiB\", \"1 KiB\"] }"),
        ),
        (
            "half a table",
            edited(&[(
                "[[traffic]]",
                "[sweep]\naxes = { \"traffic.ftp.workload.spike.weight\" = [0.1, 0.2] }\n\n[[traffic]]",
            )]),
        ),
        (
            "too many points",
            sweep(&format!("{{ \"run.seed\" = {0:?}, \"traffic.ftp.count\" = {0:?} }}", (1..400).collect::<Vec<_>>())),
        ),
        (
            "variants",
            with(
                "\n[[sweep.variant]]\nname = \"a\"\nset = { \"tcp.mms\" = \"512 B\" }\n\n[[sweep.variant]]\nname = \"a\"\n",
            ),
        ),
        (
            "a variant of an axis's key",
            with(
                "\n[sweep]\naxes = { \"tcp.mss\" = [\"512 B\"] }\n\n[[sweep.variant]]\nname = \"a\"\nset = { \"tcp.mss\" = \"1 kB\" }\n",
            ),
        ),
        (
            "many at once",
            edited(&[
                ("\"reno\"", "\"tahoo\""),
                ("\"512 B\"", "512"),
                ("kind = \"switch\"", "kid = \"switch\""),
                ("\"22.5 ms\"", "\"22.5\""),
                ("count = 2", "count = 2.5"),
                ("to = \"r2\"", "to = 2"),
            ]),
        ),
    ]
}

fn all_cases() -> impl Iterator<Item = (&'static str, String)> {
    cases().into_iter().chain(control::cases()).chain(emulate::cases())
}

#[test]
fn messages_are_as_agreed() {
    let mut told = String::new();
    for (name, text) in all_cases() {
        told.push_str(&format!("## {name}\n{}\n\n", refusal(&text)));
    }
    let path = common::repository("crates/scenario/tests/refused.golden");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &told).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    for (told, golden) in told.split("## ").zip(golden.split("## ")) {
        assert_eq!(told, golden);
    }
    assert_eq!(told, golden, "the golden file has other cases");
}

/// Each message has its place: a line of the file that the excerpt repeats.
#[test]
fn problems_stand_in_file_order_and_carry_their_place() {
    for (name, text) in all_cases() {
        let error = refusal(&text);
        assert!(!error.problems.is_empty(), "{name}");
        let places: Vec<_> = error.problems.iter().map(|p| (p.line, p.column)).collect();
        assert!(places.is_sorted(), "{name}: {places:?}");
        let lines = text.lines().count().max(1);
        for problem in &error.problems {
            let line = problem.line.expect("all of these are in the file");
            assert!((1..=lines + 1).contains(&line), "{name}: line {line} of {lines}");
            assert_eq!(problem.file, "t.toml", "{name}");
            assert!(!problem.message.is_empty(), "{name}");
        }
    }
}
