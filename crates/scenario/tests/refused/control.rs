//! Files that are wrong in gateways, services, shapers, policers, changes, lines and new applications.

use crate::common::{edited, enriched};

pub(crate) fn cases() -> Vec<(&'static str, String)> {
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
    // The small file with another group from r1 to r2, on the same channel; services of both.
    let shared = |[first, second]: [&str; 2]| {
        let access = "access = { rate = \"10 Mbit/s\", delay = \"0 s\" }\n";
        let packet = access.replace("}", ", framing = \"packet\" }");
        let second =
            format!("[[traffic]]\nname = \"nntp\"\napp = \"nntp\"\nfrom = \"r1\"\nto = \"r2\"\n{packet}{second}");
        edited(&[
            ("[tcp]", "[multiplexing]\nchannel = \"per-destination\"\n\n[tcp]"),
            (access, &format!("{packet}{first}\n{second}")),
        ])
    };
    vec![
        (
            "classes that overlap, and names and ceilings that cannot be",
            enriched(&[(
                "[[change]]",
                "[[class]]\nname = \"a\"\ntraffic = [\"split\"]\n[[class]]\nname = \"d\"\ntraffic = [\"cels\"]\n\
                 [[class]]\nname = \"b\"\ntraffic = [\"split\"]\nceiling = \"31 Mbit/s\"\n\
                 [[class]]\nname = \"default\"\ntraffic = [\"cells\"]\nshare = 0\nceiling = \"0 bit/s\"\n\
                 [[class]]\nname = \"c\"\n[[class]]\nname = \"c\"\n\n[[change]]",
            )]),
        ),
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
        ("packets between gateways past the mtu", enriched(&[("packet = \"8192 B\"", "packet = \"9138 B\"")])),
        (
            "gateways with different transports",
            enriched(&[("packet = \"8192 B\"", "packet = \"8192 B\", transport = \"quic\"")]),
        ),
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
        (
            "a switch with a threshold and no epd",
            enriched(&[("discard = \"epd\", threshold", "discard = \"ppd\", threshold")]),
        ),
        ("a threshold with the default discard", edited(&[("\"1 bdp\"", "\"1 bdp\"\nthreshold = \"20 cell\"")])),
        ("abr: a target below a millionth", enriched(&[("[observe]", "[abr]\ntarget = 0.0000009\n\n[observe]")])),
        (
            "abr: a loop between gateways",
            enriched(&[(
                "access = { rate = \"fddi\", delay = \"0 s\" }",
                "access = { rate = \"fddi\", delay = \"0 s\" }\nservice = { class = \"abr\", pcr = \"3 Mbit/s\", between = [\"s1\", \"s2\"] }",
            )]),
        ),
        ("abr: pcr past the line of the source", service("class = \"abr\", pcr = \"98.2 Mbit/s\"")),
        ("cbr past the line of the source", service("class = \"cbr\", pcr = \"98.2 Mbit/s\"")),
        (
            "a pcr past the line of the responder, who sends",
            enriched(&[
                ("app = \"bulk\"\nfrom = \"atm\"", "app = \"ftp-get\"\nworkload = { size = \"1 MB\" }\nfrom = \"atm\""),
                ("access = { rate = \"oc3c\"", "access = { framing = \"atm\", rate = \"29 Mbit/s\""),
            ]),
        ),
        ("a change of a pcr past the line", change("traffic = \"cells\"\npcr = \"98.2 Mbit/s\"")),
        ("a change of a line below its shaper", change("link = \"wan\"\nrate = \"15 Mbit/s\"")),
        (
            "a change of a shaper past what its line has become",
            change(
                "shaper = \"spacer\"\nrate = \"2 Mbit/s\"\n\n[[change]]\nat = \"20 s\"\nlink = \"wan\"\nrate = \"3 Mbit/s\"\n\n[[change]]\nat = \"30 s\"\nshaper = \"spacer\"\nrate = \"4 Mbit/s\"",
            ),
        ),
        ("a change of a line below its gateway", change("link = \"g1-s1\"\nrate = \"29 Mbit/s\"")),
        ("a change of a line between gateways", change("link = \"wan\"\nrate = \"19 Mbit/s\"")),
        (
            "a change of a line below the peak rate of a group",
            edited(&[
                ("rate = \"1.5 Mbit/s\"", "rate = \"oc3c\""),
                ("access = {", "service = { class = \"cbr\", pcr = \"2 Mbit/s\" }\naccess = {"),
            ]) + "\n[[change]]\nat = \"20 s\"\nlink = \"r1-s1\"\nrate = \"1 Mbit/s\"\n",
        ),
        ("a gateway's rate past its line", enriched(&[("rate = \"20 Mbit/s\"", "rate = \"149.761 Mbit/s\"")])),
        (
            "a gateway's packet below a frame",
            enriched(&[("rate = \"20 Mbit/s\"", "rate = \"20 Mbit/s\", packet = \"63 B\"")]),
        ),
        ("a gateway's window past its memory", enriched(&[("window = \"1 MiB\"", "window = \"268435457 B\"")])),
        (
            "a gateway's memory below its window",
            enriched(&[("rate = \"20 Mbit/s\"", "rate = \"20 Mbit/s\", total-buffer = \"4194303 B\"")]),
        ),
        (
            "more connections than gateways hold",
            enriched(&[
                ("rate = \"20 Mbit/s\"", "rate = \"20 Mbit/s\", total-buffer = \"8 MiB\""),
                ("from = \"h\"", "count = 3\nfrom = \"h\""),
            ]),
        ),
        (
            "a buffer below a packet between gateways",
            enriched(&[("size = \"512 cell\"\nper = \"port\"", "size = \"171 cell\"\nper = \"port\"")]),
        ),
        (
            "a link's buffer below a packet between gateways, for all conversations of the pair",
            enriched(&[
                ("size = \"1024 cell\"", "per = \"conversation\", size = \"85 cell\""),
                ("threshold = \"512 cell\"", "threshold = \"1 cell\""),
                ("from = \"h\"", "count = 9\nfrom = \"h\""),
            ]),
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
        ("a shaper of unknown traffic", enriched(&[("traffic = [\"split\"]", "traffic = [\"spilt\"]")])),
        (
            "a shaper of traffic that does not pass",
            enriched(&[("link = \"wan\"\ntraffic = [\"split\"]", "link = \"g1-s1\"\ntraffic = [\"cells\"]")]),
        ),
        (
            "a shaper without traffic",
            enriched(&[
                ("from = \"atm\"", "from = \"s1\""),
                ("at = \"s1\"\nlink = \"wan\"\ntraffic = [\"split\"]", "at = \"s1\"\nlink = \"atm-s1\""),
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
            "shapers where a service and a gateway pace",
            enriched(&[
                ("traffic = [\"split\"]\n", "traffic = [\"cells\"]\n"),
                (
                    "[[policer]]",
                    "[[shaper]]\nname = \"second\"\nat = \"g2\"\nlink = \"s2-g2\"\nrate = \"1 Mbit/s\"\n\n[[policer]]",
                ),
            ]),
        ),
        (
            "a shaper where the service of another group paces the shared channel",
            shared(["", "service = { class = \"ubr\", pcr = \"1 Mbit/s\" }\n"])
                + "\n[[shaper]]\nname = \"spacer\"\nat = \"r1\"\nlink = \"r1-s1\"\ntraffic = [\"ftp\"]\nrate = \"1 Mbit/s\"\n",
        ),
        (
            "two services on a shared channel",
            shared([
                "service = { class = \"ubr\", pcr = \"1 Mbit/s\" }\n",
                "service = { class = \"ubr\", pcr = \"1.1 Mbit/s\" }\n",
            ]),
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
        (
            "a change of a direction of a shaper",
            change("shaper = \"spacer\"\ndirection = \"back\"\nrate = \"5 Mbit/s\""),
        ),
        ("a change of no direction", change("link = \"wan\"\ndirection = \"up\"\nrate = \"30 Mbit/s\"")),
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
        ("an unknown profile", edited(&[("\"classic\"", "\"bsd-4.3\"")])),
        (
            "a profile whose window is below the segment",
            edited(&[(
                "profile = \"classic\"\nvariant = \"reno\"\nmss = \"512 B\"\nwindow = \"8 KiB\"",
                "profile = \"sunos-4.1.3\"\nmss = \"4097 B\"",
            )]),
        ),
        (
            "a profile against a timer",
            edited(&[(
                "profile = \"classic\"\nvariant = \"reno\"",
                "profile = \"solaris-2.5\"\ntimer-granularity = \"500 ms\"",
            )]),
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
