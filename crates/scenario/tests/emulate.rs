//! The keys of an emulation: loss on links, programs in hosts, limits, and files without traffic.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use cellway_scenario::*;
use cellway_units::{Bytes, Probability, Rate, Span};
use common::{GOOD, edited, enriched, scenario, with};

/// Two hosts behind a router, and programs in them; no traffic.
pub(crate) const COMMANDS: &str = r#"version = 1
name = "two hosts"

[run]
duration = "20 s"
emulate = { lateness-limit = "2 ms", conversations = 16, idle = "5 s", play = false, gateways = false, offload = false, gateway = { transport = "tls", connect = "early" } }

[[run.command]]
name = "server"
host = "b"
run = ["iperf3", "-s", "-1"]
ready = "5201"

[[run.command]]
host = "a"
run = ["iperf3", "-c", "$CELLWAY_HOST_b", "--json", ""]
start = "1 s"
stop = "100 rtt"
expect = 1

[[run.command.figure]]
metric = "goodput"
unit = "Mbit/s"
json = "end.streams.0.bits_per_second"
times = 1e-6

[[run.command.figure]]
metric = "rtt_mean"
unit = "ms"
pattern = 'rtt .* = [\d.]+/([\d.]+)/'

[buffer]
size = "2 bdp"

[[node]]
name = "a"
kind = "host"

[[node]]
name = "r"
kind = "router"

[[node]]
name = "b"
kind = "host"

[[link]]
between = ["a", "r"]
rate = "10 Mbit/s"
delay = "5 ms"
mtu = "1500 B"
loss = "0.25%"

[[link]]
between = ["r", "b"]
rate = "8 Mbit/s"
delay = "15 ms"
mtu = "1500 B"
"#;

fn chance(text: &str) -> Probability {
    text.parse().unwrap()
}

#[test]
fn commands_come_with_their_hosts_times_and_figures() {
    let s = scenario(COMMANDS);
    assert_eq!(
        s.emulate,
        Emulate {
            lateness_limit: Span::from_ms(2),
            conversations: 16,
            idle: Span::from_secs(5),
            play: false,
            gateways: false,
            offload: false,
            gateway: EmulatedGateway { transport: TransportChoice::Tls, connect: Connect::Early },
        }
    );
    let [server, client] = &s.commands[..] else { panic!("{:?}", s.commands) };
    assert_eq!((&server.name[..], server.host, server.expect), ("server", CommandHost::Node(NodeIndex(2)), 0));
    assert_eq!((server.start, server.stop, &server.figures[..]), (Span::ZERO, None, &[][..]));
    assert_eq!((&server.ready, &client.ready), (&Some(Ready::Port(5201)), &None));
    let said = scenario(&COMMANDS.replace("\"5201\"", "'listening on \\d+'"));
    assert_eq!(said.commands[0].ready, Some(Ready::Pattern(r"listening on \d+".to_owned())));
    // The number counts from the first command of the file, and a word may be empty.
    assert_eq!((&client.name[..], s.command_host(client.host)), ("a-command-2", "a".to_owned()));
    assert_eq!(client.run, ["iperf3", "-c", "$CELLWAY_HOST_b", "--json", ""]);
    // 100 round trips of 2 x 20 ms.
    assert_eq!((client.start, client.stop, client.expect), (Span::from_secs(1), Some(Span::from_secs(4)), 1));
    let [goodput, rtt] = &client.figures[..] else { panic!("{:?}", client.figures) };
    let keys = ["end", "streams", "0", "bits_per_second"].map(str::to_owned).to_vec();
    assert_eq!((&goodput.source, goodput.times), (&FigureSource::Json(keys), 1e-6));
    assert_eq!((&goodput.metric[..], &goodput.unit[..]), ("goodput", "Mbit/s"));
    assert_eq!(rtt.source, FigureSource::Pattern(r"rtt .* = [\d.]+/([\d.]+)/".to_owned()));
    assert_eq!((&rtt.unit[..], rtt.times), ("ms", 1.0));
}

#[test]
fn limits_have_their_defaults() {
    let s = scenario(GOOD);
    let default = Emulate {
        lateness_limit: Span::from_ms(1),
        conversations: 1024,
        idle: Span::from_secs(60),
        play: true,
        gateways: true,
        offload: true,
        gateway: EmulatedGateway { transport: TransportChoice::Auto, connect: Connect::Late },
    };
    assert_eq!((s.emulate, s.commands), (default, Vec::new()));
}

/// Without traffic, paths between hosts replace those of groups.
#[test]
fn without_traffic_the_paths_between_hosts_count() {
    let s = scenario(COMMANDS);
    assert_eq!((s.traffic.len(), s.run.rtt), (0, Span::from_ms(40)));
    // 2 x 8 Mbit/s x 40 ms = 80 000 B.
    assert_eq!(s.buffer.size, BufferSize::Bytes(Bytes(80_000)));
    assert_eq!(s.bottleneck(), None);
    // With traffic only its paths do.
    let more = "
[tcp]
profile = 'classic'
variant = 'sack'
mss = '1000 B'
window = '16 KiB'
[[traffic]]
name = 't'
app = 'bulk'
from = 'a'
to = 'r'
access = { rate = '2 Mbit/s', delay = '1 ms' }
";
    let s = scenario(&format!("{COMMANDS}{more}").replace("count = 2", ""));
    assert_eq!((s.run.rtt, s.bottleneck()), (Span::from_ms(12), Some(Rate::from_bps(2_000_000))));
    assert_eq!(s.buffer.size, BufferSize::Bytes(Bytes(6000)));
}

#[test]
fn links_lose_with_the_chance_that_is_given() {
    let s = scenario(COMMANDS);
    assert_eq!([s.links[0].loss, s.links[1].loss], [chance("0.25%"), Probability::ZERO]);
    let s = scenario(&edited(&[
        ("rate = \"10 Mbit/s\", delay = \"0 s\"", "rate = \"10 Mbit/s\", delay = \"0 s\", loss = \"1 %\""),
        ("delay = \"22.5 ms\"", "delay = \"22.5 ms\"\nloss = \"0.0000000000001%\""),
    ]));
    assert_eq!(s.traffic[0].access.unwrap().loss, chance("1%"));
    assert_eq!(s.links[0].loss.as_f64(), 1e-15);
    assert_eq!(s.traffic[0].tcp().unwrap().tcp.mss, Bytes(512));
}

#[test]
fn links_lose_what_is_listed() {
    let link = "delay = \"22.5 ms\"";
    let s = scenario(&edited(&[(link, "delay = \"22.5 ms\"\nlost = { forward = [3, 4, 900], back = [1] }")]));
    assert_eq!(s.links[0].lost, [vec![3, 4, 900], vec![1]]);
    assert_eq!(scenario(&s.to_toml()), s);
    let s = scenario(&edited(&[(link, "delay = \"22.5 ms\"\nlost = { back = [7] }")]));
    assert_eq!(s.links[0].lost, [vec![], vec![7]]);
    assert_eq!(s.links[1].lost, [Vec::<u64>::new(), Vec::new()]);
}

#[test]
fn programs_run_in_the_own_hosts_of_slots_too() {
    let command = |host: &str| with(&format!("\n[[run.command]]\nhost = \"{host}\"\nrun = [\"true\"]\n"));
    let slot = Slot { traffic: 0, number: 2 };
    for (host, expected) in [("ftp-2", CommandHost::Originator(slot)), ("ftp-2-sink", CommandHost::Responder(slot))] {
        let s = scenario(&command(host));
        assert_eq!(s.commands[0].host, expected);
        assert_eq!(s.command_host(s.commands[0].host), host);
    }
    assert_eq!(host_variable("ftp-2-sink"), "CELLWAY_HOST_ftp_2_sink");
}

/// As for traces: a slot past the count is there in another point.
#[test]
fn a_command_in_a_slot_of_a_swept_count_runs_where_there_is_one() {
    let text = with(
        "\n[[run.command]]\nhost = \"ftp-5\"\nrun = [\"true\"]\n[sweep]\naxes = { \"traffic.ftp.count\" = [0, 5] }\n",
    );
    let points = Plan::parse(&text, "t.toml").and_then(|p| p.points()).unwrap_or_else(|e| panic!("{e}"));
    let commands: Vec<usize> = points.iter().map(|p| p.scenario.commands.len()).collect();
    assert_eq!(commands, [0, 1]);
}

#[test]
fn what_is_written_reads_as_the_same() {
    let escaped = COMMANDS.replace("\"--json\"", "\"a \\\"b\\\" \\\\ c\\n\"");
    for text in [COMMANDS, &escaped] {
        let s = scenario(text);
        assert_eq!(scenario(&s.to_toml()), s, "{}", s.to_toml());
    }
    for text in [
        with("\n[[run.command]]\nhost = \"ftp-1-sink\"\nrun = [\"true\"]\nstop = \"59.999999999999 s\"\n"),
        enriched(&[("access = { rate = \"fddi\", ", "access = { loss = \"0.0123456789012%\", rate = \"fddi\", ")]),
    ] {
        let s = scenario(&text);
        assert_eq!(scenario(&s.to_toml()), s, "{}", s.to_toml());
    }
}

#[test]
fn all_of_it_can_be_set_by_path() {
    let set = |sets: &[(&str, &str)]| {
        let sets: Vec<Override> = sets.iter().map(|(key, value)| Override::new(*key, *value)).collect();
        Plan::parse_with(COMMANDS, "t.toml", &sets, None).unwrap_or_else(|e| panic!("{e}")).base().clone()
    };
    let s = set(&[
        ("link.*.loss", "2%"),
        ("run.emulate.conversations", "7"),
        ("run.emulate.play", "true"),
        ("run.command.server.run", "[\"iperf3\", \"-s\"]"),
        ("run.command.2.stop", "5 s"),
        ("run.command.2.figure.1.times", "8e-6"),
        ("run.command.*.expect", "3"),
    ]);
    assert!(s.links.iter().all(|link| link.loss == chance("2%")));
    assert_eq!((s.emulate.conversations, s.emulate.play), (7, true));
    assert_eq!(s.commands[0].run, ["iperf3", "-s"]);
    assert_eq!((s.commands[1].stop, s.commands[1].figures[0].times), (Some(Span::from_secs(5)), 8e-6));
    assert!(s.commands.iter().all(|c| c.expect == 3));
    let sweep =
        "\n[sweep]\naxes = { \"link.a-r.loss\" = [\"0%\", \"0.1%\"], \"run.command.2.start\" = [\"1 s\", \"2 s\"] }\n";
    let points = Plan::parse(&format!("{COMMANDS}{sweep}"), "t.toml").and_then(|p| p.points());
    let points = points.unwrap_or_else(|e| panic!("{e}"));
    let values: Vec<_> = points.iter().map(|p| (p.scenario.links[0].loss, p.scenario.commands[1].start)).collect();
    let [none, some] = ["0%", "0.1%"].map(chance);
    let [one, two] = [1, 2].map(Span::from_secs);
    assert_eq!(values, [(none, one), (none, two), (some, one), (some, two)]);
}

#[test]
fn what_real_gateways_are_told_is_one_of_a_few_words() {
    let keys = "[run.emulate]\ngateways = 1\ngateway = { transport = \"udp\", connect = \"soon\", rate = 3 }\n";
    let told = common::refusal(&with(&format!("\n{keys}"))).to_string();
    for word in
        ["run.emulate.gateways", "\"auto\", \"quic\" or \"tls\"", "\"late\" or \"early\"", "run.emulate.gateway.rate"]
    {
        assert!(told.contains(word), "{word}: {told}");
    }
    // Programs reach gateways by their names as they reach hosts.
    let twins = COMMANDS.replace(
        "[[link]]\nbetween = [\"a\", \"r\"]",
        "[[node]]\nname = \"x-1\"\nkind = \"gateway\"\npeer = \"x_1\"\ngateway = { rate = \"1 Mbit/s\" }\n\n\
         [[node]]\nname = \"x_1\"\nkind = \"gateway\"\npeer = \"x-1\"\ngateway = { rate = \"1 Mbit/s\" }\n\n\
         [[link]]\nbetween = [\"x-1\", \"x_1\"]\nrate = \"oc3c\"\ndelay = \"0 s\"\n\n\
         [[link]]\nbetween = [\"a\", \"r\"]",
    );
    let told = common::refusal(&twins).to_string();
    assert!(told.contains("\"x-1\" and \"x_1\" would share the variable CELLWAY_HOST_x_1"), "{told}");
}
