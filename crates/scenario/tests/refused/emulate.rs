//! Loss, commands and limits of emulations that are refused.

use crate::common::{edited, with};

/// Two routers and two hosts, without traffic; edited as the file of the other cases is.
const BARE: &str = "version = 1
name = \"bare\"
run = { duration = \"10 s\" }
buffer = { size = \"100 cell\" }
node = [{ name = \"a\", kind = \"host\" }, { name = \"r\", kind = \"router\" }]
link = [{ between = [\"a\", \"r\"], rate = \"1 Mbit/s\", delay = \"1 ms\" }]
";

/// The file with a command; `more` stands in it.
fn command(more: &str) -> String {
    with(&format!("\n[[run.command]]\nhost = \"ftp-1\"\nrun = [\"true\"]\n{more}\n"))
}

fn figure(keys: &str) -> String {
    command(&format!("[[run.command.figure]]\nmetric = \"m\"\nunit = \"s\"\n{keys}"))
}

pub(crate) fn cases() -> Vec<(&'static str, String)> {
    let loss = |text: &str| edited(&[("delay = \"22.5 ms\"", &format!("delay = \"22.5 ms\"\nloss = {text}"))]);
    let lost = |text: &str| edited(&[("delay = \"22.5 ms\"", &format!("delay = \"22.5 ms\"\nlost = {{ {text} }}"))]);
    let host = |name: &str| with(&format!("\n[[run.command]]\nhost = \"{name}\"\nrun = [\"true\"]\n"));
    let node = "[[node]]\nname = \"h\"\nkind = \"host\"\n\n[[link]]\nbetween = [\"h\", \"r1\"]\nrate = \"1 Gbit/s\"\ndelay = \"0 s\"\n\n[[link]]";
    vec![
        ("loss as a number", loss("0.001")),
        ("loss without unit", loss("\"0.001\"")),
        ("loss as a power", loss("\"1e-3\"")),
        ("loss of everything", loss("\"100%\"")),
        ("loss far past everything", loss("\"99999999999999999999%\"")),
        ("loss below nothing", loss("\"-1%\"")),
        ("loss finer than counted", loss("\"0.00000000000001%\"")),
        ("loss at an access link", edited(&[("delay = \"0 s\" }", "delay = \"0 s\", loss = \"200 %\" }")])),
        ("neither traffic nor commands", BARE.to_owned()),
        ("no traffic and no list of commands", BARE.replace("\"10 s\" }", "\"10 s\", command = [] }")),
        ("empty traffic", format!("{BARE}traffic = []\n")),
        (
            "commands without a path to take the round trip from",
            BARE.replace("\"10 s\" }", "\"10 s\", command = [{ host = \"a\", run = [\"true\"] }] }"),
        ),
        ("a command of nothing", with("\n[[run.command]]\n")),
        ("a command without words", with("\n[[run.command]]\nhost = \"ftp-1\"\nrun = []\n")),
        ("a command without a program", with("\n[[run.command]]\nhost = \"ftp-1\"\nrun = [\" \", \"-s\"]\n")),
        ("a command for a shell", with("\n[[run.command]]\nhost = \"ftp-1\"\nrun = \"iperf3 -s\"\n")),
        ("a command with a number", with("\n[[run.command]]\nhost = \"ftp-1\"\nrun = [\"ping\", \"-c\", 3]\n")),
        ("a word with a zero byte", with("\n[[run.command]]\nhost = \"ftp-1\"\nrun = [\"a\\u0000b\"]\n")),
        ("a command nowhere", host("fpt-1")),
        ("a command in a router", host("r1")),
        ("a command in a group", host("ftp")),
        ("a command past the count", host("ftp-3")),
        ("a command at the far end past the count", host("ftp-3-sink")),
        ("a command in slot 0", host("ftp-01")),
        (
            "a command in a slot without a host of its own",
            edited(&[("[[link]]", node), ("from = \"r1\"", "from = \"h\"")])
                + "\n[[run.command]]\nhost = \"ftp-1\"\nrun = [\"true\"]\n",
        ),
        (
            "hosts with one variable",
            edited(&[("[[link]]", &node.replace("\"h\"", "\"ftp_1\""))])
                + "\n[[run.command]]\nhost = \"ftp_1\"\nrun = [\"true\"]\n",
        ),
        ("a command that starts past the end", command("start = \"60 s\"")),
        ("a command that stops past the end", command("stop = \"60.1 s\"")),
        ("a command that stops before it starts", command("start = \"100 rtt\"\nstop = \"4.5 s\"")),
        ("a command that is ready later than the run", command("start = \"1 s\"\nready = \"80\"")),
        ("a command that is ready at port 0", command("ready = \"0\"")),
        ("a command that is ready past all ports", command("ready = \"65536\"")),
        ("a command that is ready without end", command("ready = \"listening on [0-9\"")),
        ("a command that is ready at nothing", command("ready = \"\"")),
        (
            "a buffer below the packets of a command",
            BARE.replace("\"10 s\" }", "\"10 s\", rtt = \"2 ms\", command = [{ host = \"a\", run = [\"true\"] }] }")
                .replace("\"1 ms\" }", "\"1 ms\", framing = \"packet\", mtu = \"1500 B\" }")
                .replace("\"100 cell\"", "\"1499 B\", per = \"port\", count = \"packet\""),
        ),
        ("an exit status past 255", command("expect = 256")),
        ("a key of no command", command("shell = true")),
        ("a command that is no name", command("name = \"a b\"")),
        ("a command named as a slot", command("name = \"ftp-7\"")),
        ("a command named as a group", command("name = \"ftp\"")),
        ("a command named network", command("name = \"network\"")),
        ("a command named emulation", command("name = \"emulation\"")),
        ("a figure that every program has", figure("json = \"a\"").replace("metric = \"m\"", "metric = \"failed\"")),
        (
            "the same command twice",
            command("[[run.command]]\nname = \"ftp-1-command-1\"\nhost = \"ftp-2\"\nrun = [\"true\"]"),
        ),
        ("a figure from nowhere", figure("")),
        ("a figure from two places", figure("json = \"a.b\"\npattern = '(.)'")),
        ("a figure that is no path", figure("json = \"a..b\"")),
        ("a figure of an empty path", figure("json = \"\"")),
        ("a figure that is no expression", figure("pattern = 'time=([0-9.+ ms'")),
        ("a figure without a group", figure("pattern = 'time=[0-9.]+ ms'")),
        ("a figure with two groups", figure("pattern = '(min|avg)=([0-9.]+)'")),
        ("a figure times nothing", figure("json = \"a\"\ntimes = 0")),
        ("a figure without end", figure("json = \"a\"\ntimes = inf")),
        ("a figure without metric and unit", command("[[run.command.figure]]\njson = \"a\"")),
        ("a figure that is no metric", command("[[run.command.figure]]\nmetric = \"a b\"\nunit = \"\"\njson = \"a\"")),
        (
            "the same figure twice",
            figure("json = \"a\"\n[[run.command.figure]]\nmetric = \"m\"\nunit = \"s\"\njson = \"b\""),
        ),
        (
            "limits of nothing",
            with("\n[run.emulate]\nlateness-limit = \"0 s\"\nidle = \"0 ms\"\nconversations = 0\nplay = \"no\"\n"),
        ),
        ("limits of zero", with("\n[run.emulate]\nlateness-limit = \"0 s\"\nidle = \"0 ms\"\n")),
        ("more conversations than channels", with("\n[run.emulate]\nconversations = 65505\n")),
        ("loss in a sweep", with("\n[sweep]\naxes = { \"link.*.loss\" = [\"0%\", \"0.1%\", \"100 %\"] }\n")),
        ("a lost unit without number", lost("forward = [0, 1]")),
        ("lost units out of order", lost("forward = [3, 17, 17], back = [5, 4]")),
        ("lost units of neither direction", lost("left = [1], back = [-1, \"2\"]")),
        (
            "a swept end before the start of a command",
            command("start = \"30 s\"\n[sweep]\naxes = { \"run.duration\" = [\"60 s\", \"20 s\"] }"),
        ),
        (
            "the name of a command in a sweep",
            command("name = \"c\"\n[sweep]\naxes = { \"run.command.c.name\" = [\"d\"] }"),
        ),
    ]
}
