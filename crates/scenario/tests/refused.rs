//! What is said about files that are wrong: every message in full, in `refused.golden`.
//! `UPDATE_GOLDEN=1 cargo test` writes that file anew; read the difference.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{edited, enriched, refusal, with};

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
        ("unknown section", with("\n[observer]\nseries = true\n")),
        ("key after a header", edited(&[("[tcp]", "[tcp]\ndescription = \"late\"")])),
        ("missing keys", edited(&[("rate = \"1.5 Mbit/s\"\n", ""), ("duration = \"60 s\"\n", "")])),
        (
            "missing sections",
            edited(&[("[buffer]\nsize = \"1 bdp\"\n", ""), ("[run]\nduration = \"60 s\"\nwarmup = \"10 s\"\n", "")]),
        ),
        (
            "mss, window and variant nowhere",
            edited(&[("[tcp]\nvariant = \"reno\"\nmss = \"512 B\"\nwindow = \"8 KiB\"\n", "")]),
        ),
        ("unknown word", edited(&[("\"reno\"", "\"new-reno\"")])),
        ("a word of another kind", edited(&[("\"switch\"", "4")])),
        ("number without unit", edited(&[("\"512 B\"", "512")])),
        ("text without unit", edited(&[("\"512 B\"", "\"512\"")])),
        ("wrong unit", edited(&[("\"1.5 Mbit/s\"", "\"1.5 Mbps\""), ("\"22.5 ms\"", "\"22.5 km\"")])),
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
        ("unknown node", edited(&[("between = [\"s1\", \"r2\"]", "between = [\"s1\", \"r3\"]")])),
        ("a link with one end", edited(&[("between = [\"s1\", \"r2\"]", "between = [\"s1\"]")])),
        ("a link to itself", edited(&[("between = [\"s1\", \"r2\"]", "between = [\"s1\", \"s1\"]")])),
        ("no route", edited(&[("between = [\"s1\", \"r2\"]", "between = [\"s1\", \"r1\"]\nname = \"second\"")])),
        ("traffic to nowhere", edited(&[("to = \"r2\"", "to = \"r22\"")])),
        ("traffic to itself", edited(&[("to = \"r2\"", "to = \"r1\"")])),
        ("traffic to a switch", edited(&[("to = \"r2\"", "to = \"s1\"")])),
        ("no access", edited(&[("access = { rate = \"10 Mbit/s\", delay = \"0 s\" }\n", "")])),
        ("half an access", edited(&[(", delay = \"0 s\" }", " }")])),
        ("a host without link", edited(&[("[[link]]", &format!("{}\n[[link]]", host.trim_start()))])),
        (
            "a host at a switch",
            edited(&[(
                "[[link]]",
                &format!(
                    "{}\n[[link]]\nbetween = [\"h\", \"s1\"]\nrate = \"1 Gbit/s\"\ndelay = \"0 s\"\n\n[[link]]",
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

/// Cases of gateways, services, shapers, policers, changes and lines.
fn control_cases() -> Vec<(&'static str, String)> {
    let service = |text: &str| {
        enriched(&[(
            "service = { class = \"abr\", pcr = \"30 Mbit/s\", mcr = \"1 Mbit/s\", between = [\"s1\", \"s2\"] }",
            &format!("service = {{ {text} }}"),
        )])
    };
    let abr = |text: &str| service(&format!("class = \"abr\", pcr = \"30 Mbit/s\", {text}"));
    let shaper = |to: &str| enriched(&[("rate = \"36000 cell/s\"", to)]);
    let change = |to: &str| enriched(&[("shaper = \"spacer\"\nrate = \"5 Mbit/s\"", to)]);
    let app = |text: &str| edited(&[("app = \"ftp\"", text)]);
    vec![
        ("a line that does not exist", enriched(&[("\"ds3\"", "\"ds-3\""), ("\"oc3c\"", "\"oc48\"")])),
        ("a line for packets at a switch", enriched(&[("\"oc3c\"", "\"fddi\"")])),
        ("an mtu that IP does not allow", enriched(&[("\"ethernet\"", "\"ethernet\"\nmtu = \"67 B\"")])),
        ("segments past the mtu", enriched(&[("mss = \"1460 B\"", "mss = \"1461 B\"")])),
        (
            "segments past the mtu of the access link",
            edited(&[("delay = \"0 s\" }", "delay = \"0 s\", mtu = \"551 B\" }")]),
        ),
        (
            "a gateway's segments past the mtu",
            enriched(&[("tcp = { window = \"64 kB\" }", "tcp = { mss = \"4000 B\" }")]),
        ),
        (
            "a gateway's window without scaling",
            enriched(&[("tcp = { window = \"64 kB\" }", "tcp = { window = \"64 KiB\" }")]),
        ),
        ("packets between gateways past the mtu", enriched(&[("packet = \"8192 B\"", "packet = \"9137 B\"")])),
        ("a gateway without peer", enriched(&[("peer = \"g2\"\n", "")])),
        (
            "a gateway without rate",
            enriched(&[("gateway = { rate = \"20 Mbit/s\" }", "gateway = { window = \"1 MiB\" }")]),
        ),
        ("a gateway without anything", enriched(&[("gateway = { rate = \"20 Mbit/s\" }\n", "")])),
        ("a gateway that is its own peer", enriched(&[("peer = \"g2\"", "peer = \"g1\"")])),
        ("a peer that is no gateway", enriched(&[("peer = \"g2\"", "peer = \"s2\"")])),
        ("a peer that is unknown", enriched(&[("peer = \"g2\"", "peer = \"g22\"")])),
        (
            "a peer with another peer",
            enriched(&[(
                "[[link]]",
                "[[node]]\nname = \"g3\"\nkind = \"gateway\"\npeer = \"g1\"\ngateway = { rate = \"1 Mbit/s\" }\n\n[[link]]",
            )]),
        ),
        ("a gateway's window below its packet", enriched(&[("window = \"1 MiB\"", "window = \"8191 B\"")])),
        (
            "a gateway's packet past its window",
            enriched(&[("rate = \"20 Mbit/s\"", "rate = \"0 Mbit/s\", window = \"1 KiB\"")]),
        ),
        (
            "keys of gateways at a switch",
            enriched(&[("kind = \"switch\"", "kind = \"switch\"\npeer = \"g1\"\ntcp = {}\nhost = {}")]),
        ),
        (
            "two pairs of gateways on a path",
            enriched(&[
                (
                    "[[link]]",
                    "[[node]]\nname = \"x\"\nkind = \"gateway\"\npeer = \"y\"\ngateway = { rate = \"1 Mbit/s\" }\n\n[[node]]\nname = \"y\"\nkind = \"gateway\"\npeer = \"x\"\ngateway = { rate = \"1 Mbit/s\" }\n\n[[link]]\nbetween = [\"g2\", \"x\"]\nrate = \"oc3c\"\ndelay = \"0 s\"\n\n[[link]]\nbetween = [\"x\", \"y\"]\nrate = \"oc3c\"\ndelay = \"0 s\"\n\n[[link]]",
                ),
                ("to = \"g2\"", "to = \"y\""),
            ]),
        ),
        ("two hosts on one link", enriched(&[("between = [\"atm\", \"s1\"]", "between = [\"atm\", \"h\"]")])),
        ("a machine of no rate", enriched(&[("rate = \"60 Mbit/s\"", "rate = \"0 Mbit/s\"")])),
        (
            "a machine of hosts that are not there",
            edited(&[
                (
                    "[[link]]",
                    "[[node]]\nname = \"h\"\nkind = \"host\"\n\n[[node]]\nname = \"g\"\nkind = \"host\"\n\n[[link]]\nbetween = [\"h\", \"r1\"]\nrate = \"1 Gbit/s\"\ndelay = \"0 s\"\n\n[[link]]\nbetween = [\"g\", \"r2\"]\nrate = \"1 Gbit/s\"\ndelay = \"0 s\"\n\n[[link]]",
                ),
                (
                    "from = \"r1\"\nto = \"r2\"\naccess = { rate = \"10 Mbit/s\", delay = \"0 s\" }",
                    "from = \"h\"\nto = \"g\"\nhost = { send = \"1 ms\" }",
                ),
            ]),
        ),
        ("an unknown service", service("class = \"vbr\"")),
        ("a service without its rates", service("class = \"cbr\"")),
        ("vbr without scr", service("class = \"vbr-nrt\", pcr = \"3 Mbit/s\"")),
        (
            "vbr that may burst without end",
            service("class = \"vbr-nrt\", pcr = \"3 Mbit/s\", scr = \"3.1 Mbit/s\", mbs = \"0 cell\""),
        ),
        (
            "vbr without bursts",
            service("class = \"vbr-nrt\", pcr = \"3 Mbit/s\", scr = \"3 Mbit/s\", mbs = \"0 cell\""),
        ),
        ("parameters of another service", service("pcr = \"3 Mbit/s\", mcr = \"1 Mbit/s\", shape = true")),
        ("abr: mcr past pcr", abr("mcr = \"31 Mbit/s\"")),
        ("abr: icr past pcr", abr("icr = \"31 Mbit/s\"")),
        ("abr: icr below mcr", abr("icr = \"1 Mbit/s\", mcr = \"2 Mbit/s\"")),
        ("abr: fractions", abr("rif = \"2/1\", rdf = \"1/0\", cdf = \"0.5\"")),
        ("abr: fractions of nothing", abr("rif = \"0/1\", rdf = \"0/16\", cdf = \"0/2\"")),
        ("abr: times of nothing", abr("trm = \"0 s\", adtf = \"0 s\"")),
        ("abr: crm and tbe", abr("crm = 32, tbe = \"1024 cell\"")),
        ("abr: no transient buffer exposure", abr("tbe = \"0 cell\"")),
        ("abr: unknown ends", abr("between = [\"s1\", \"s3\"]")),
        ("abr: ends that are not on the path", abr("between = [\"s1\", \"g2\"]")),
        ("abr: ends out of order", abr("between = [\"s2\", \"s1\"]")),
        (
            "abr: ends with packets between",
            enriched(&[(
                "access = { rate = \"fddi\", delay = \"0 s\" }",
                "access = { rate = \"fddi\", delay = \"0 s\" }\nservice = { class = \"abr\", pcr = \"3 Mbit/s\", between = [\"h\", \"s1\"] }",
            )]),
        ),
        (
            "a service where no link carries cells",
            enriched(&[("to = \"g2\"", "to = \"g1\"\nservice = { class = \"cbr\", pcr = \"3 Mbit/s\" }")]),
        ),
        (
            "abr switches",
            enriched(&[("[observe]", "[abr]\ntarget = 0\ninterval = \"0 s\"\nmarking = \"eric\"\n\n[observe]")]),
        ),
        (
            "abr switches that do nothing",
            enriched(&[("[observe]", "[abr]\ntarget = 0\ninterval = \"0 s\"\n\n[observe]")]),
        ),
        ("a shaper past the line", shaper("rate = \"41 Mbit/s\"")),
        ("a shaper of nothing", shaper("rate = \"0 cell/s\"")),
        ("a shaper with scr past its rate", shaper("rate = \"1 Mbit/s\"\nscr = \"2 Mbit/s\"\nmbs = \"1 cell\"")),
        ("a shaper with half a bucket", shaper("rate = \"1 Mbit/s\"\nscr = \"1 Mbit/s\"")),
        ("a shaper with the other half", shaper("rate = \"1 Mbit/s\"\nmbs = \"10 cell\"")),
        ("a shaper at a host", enriched(&[("at = \"s1\"\nlink = \"wan\"", "at = \"atm\"\nlink = \"wan\"")])),
        (
            "a shaper on another node's link",
            enriched(&[("at = \"s1\"\nlink = \"wan\"", "at = \"s1\"\nlink = \"s2-g2\"")]),
        ),
        ("a shaper at unknown places", enriched(&[("at = \"s1\"\nlink = \"wan\"", "at = \"s11\"\nlink = \"won\"")])),
        ("a shaper of unknown traffic", enriched(&[("traffic = [\"cells\"]", "traffic = [\"cell\"]")])),
        (
            "a shaper of traffic that does not pass",
            enriched(&[("link = \"wan\"\ntraffic = [\"cells\"]", "link = \"g1-s1\"\ntraffic = [\"cells\"]")]),
        ),
        (
            "a shaper without traffic",
            enriched(&[
                ("from = \"atm\"", "from = \"s1\""),
                ("at = \"s1\"\nlink = \"wan\"\ntraffic = [\"cells\"]", "at = \"s1\"\nlink = \"atm-s1\""),
            ]),
        ),
        (
            "two shapers of one group",
            enriched(&[(
                "[[policer]]",
                "[[shaper]]\nname = \"second\"\nat = \"s1\"\nlink = \"wan\"\nrate = \"1 Mbit/s\"\n\n[[policer]]",
            )]),
        ),
        (
            "the same shaper twice",
            enriched(&[(
                "[[policer]]",
                "[[shaper]]\nname = \"spacer\"\nat = \"s2\"\nlink = \"wan\"\nrate = \"1 Mbit/s\"\n\n[[policer]]",
            )]),
        ),
        (
            "a policer of packets",
            enriched(&[(
                "name = \"upc\"\nat = \"s1\"\nlink = \"wan\"",
                "name = \"upc\"\nat = \"g1\"\nlink = \"h-g1\"",
            )]),
        ),
        ("a policer with scr past pcr", enriched(&[("scr = \"20 Mbit/s\"", "scr = \"41 Mbit/s\"")])),
        (
            "a policer of an unknown kind",
            enriched(&[("mbs = \"100 cell\"", "mbs = \"100 cell\"\naction = \"tagg\"\ncdvt = \"1\"")]),
        ),
        ("a change after the run", enriched(&[("at = \"20 s\"", "at = \"60 s\"")])),
        ("a change of nothing", change("rate = \"5 Mbit/s\"")),
        ("a change of two things", change("shaper = \"spacer\"\nlink = \"wan\"\nrate = \"5 Mbit/s\"")),
        ("a change of what is unknown", change("shaper = \"space\"\nrate = \"5 Mbit/s\"")),
        ("a change of a shaper past its line", change("shaper = \"spacer\"\nrate = \"41 Mbit/s\"")),
        ("a change to no rate", change("shaper = \"spacer\"\nrate = \"0 bit/s\"")),
        ("a change without rate", change("link = \"wan\"")),
        ("a change with a rate of the wrong kind", change("traffic = \"cells\"\nrate = \"5 Mbit/s\"")),
        ("a change of a pcr below mcr", change("traffic = \"cells\"\npcr = \"999 kbit/s\"")),
        ("a change of a pcr that is not there", change("traffic = \"split\"\npcr = \"5 Mbit/s\"")),
        ("epd without threshold", enriched(&[(", threshold = \"512 cell\"", "")])),
        (
            "thresholds past the buffer",
            enriched(&[("threshold = \"512 cell\"", "threshold = \"1025 cell\", clp-threshold = \"60 kB\"")]),
        ),
        (
            "a clp threshold past the buffer",
            enriched(&[("per = \"port\"", "per = \"port\"\nclp-threshold = \"513 cell\"")]),
        ),
        ("thresholds of nothing", enriched(&[("threshold = \"512 cell\"", "threshold = \"0 cell\"")])),
        (
            "a link's buffer below a packet",
            enriched(&[
                ("size = \"1024 cell\"", "size = \"31 cell\""),
                ("threshold = \"512 cell\"", "threshold = \"1 cell\""),
            ]),
        ),
        (
            "a link's buffer for packets below a packet",
            enriched(&[(
                "rate = \"ethernet\"",
                "rate = \"ethernet\"\nbuffer = { size = \"1499 B\", count = \"packet\", discard = \"cell\" }",
            )]),
        ),
        (
            "queues",
            enriched(&[("queue = [\"s1>s2\", \"s2>wan\"]", "queue = [\"s1\", \"s1>h\", \"s3>s1\", \"s1>s22\"]")]),
        ),
        (
            "a queue of two links",
            enriched(&[(
                "[[traffic]]",
                "[[link]]\nname = \"second\"\nbetween = [\"s2\", \"s1\"]\nrate = \"ds1\"\ndelay = \"1 s\"\n\n[[traffic]]",
            )]),
        ),
        ("an unknown profile", edited(&[("variant = \"reno\"", "profile = \"bsd-4.3\"")])),
        (
            "a profile whose window is below the segment",
            edited(&[(
                "variant = \"reno\"\nmss = \"512 B\"\nwindow = \"8 KiB\"",
                "profile = \"sunos-4.1.3\"\nmss = \"4097 B\"",
            )]),
        ),
        (
            "a profile against a timer",
            edited(&[("variant = \"reno\"", "profile = \"solaris-2.5\"\ntimer-granularity = \"500 ms\"")]),
        ),
        ("ftp-get without file", app("app = \"ftp-get\"")),
        ("www without files", app("app = \"www\"")),
        (
            "www of nothing",
            app(
                "app = \"www\"\nworkload = { sizes = [\"1 B\", \"0 B\"], request = \"0 B\", display-rate = \"0 bit/s\" }",
            ),
        ),
        ("www without any file", app("app = \"www\"\nworkload = { sizes = [] }")),
        ("animation without frames", app("app = \"animation\"")),
        (
            "animation of nothing",
            app("app = \"animation\"\nworkload = { frame = \"0 B\", rate = 0, duration = \"0 s\" }"),
        ),
        ("ttcp of nothing", app("app = \"ttcp\"\nworkload = { write = \"0 B\", buffers = 0 }")),
        ("ttcp past 1 PiB", app("app = \"ttcp\"\nworkload = { write = \"1 GiB\", buffers = 1048577 }")),
        (
            "options of other new applications",
            app(
                "app = \"www\"\nworkload = { sizes = [\"1 B\"], frame = \"1 B\", write-cost = \"0 s\", disk-rate = \"1 bit/s\" }",
            ),
        ),
        ("a jitter past the end", edited(&[("count = 2", "count = 2\nstart = \"50 s\"\njitter = \"10.001 s\"")])),
        (
            "axis of no shaper",
            enriched(&[(
                "[observe]",
                "[sweep]\naxes = { \"shaper.space.rate\" = [\"1 Mbit/s\"], \"change.2.rate\" = [\"1 Mbit/s\"] }\n\n[observe]",
            )]),
        ),
    ]
}

fn all_cases() -> impl Iterator<Item = (&'static str, String)> {
    cases().into_iter().chain(control_cases())
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
