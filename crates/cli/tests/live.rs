//! `cellway shell` and `cellway emulate` with real hosts, as a user runs them. No test depends on the speed of this
//! computer: round trips are never shorter than requested, rates are those of the network over seconds, and lateness is
//! allowed.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "live/captures.rs"]
mod captures;
mod common;
#[path = "live/ends.rs"]
mod ends;
mod parts;
#[path = "live/process.rs"]
mod process;

use std::io::Write;

use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use common::{Place, Ran};
use process::{memory, piped, processor};
use serde_json::Value;

/// Parallel emulations make each other late.
static ONE: Mutex<()> = Mutex::new(());

/// The test that plays parts.
const VEHICLE: &str = "a_round_trip_takes_the_given_time";

/// Prints the reason of a skipped test on the terminal. Not through the print macros, whose output the test harness
/// captures.
fn skip(why: &str) {
    std::io::stderr().write_all(format!("skipped: {why}\n").as_bytes()).unwrap();
}

/// Waits for the other tests; prints a message and returns `None` if this host cannot emulate.
fn ready() -> Option<MutexGuard<'static, ()>> {
    match cellway_lab::emulate::missing() {
        None => Some(ONE.lock().unwrap_or_else(PoisonError::into_inner)),
        Some(why) => {
            skip(&why);
            None
        }
    }
}

/// Returns true if a program exists; prints a message if not.
fn has(program: &str, package: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !there {
        skip(&format!("the program `{program}` is missing (package {package})"));
    }
    there
}

fn quoted(words: &[String]) -> String {
    words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ")
}

/// Returns the command `cellway shell` with a server that plays its part.
fn shell(options: &[&str], command: &[String]) -> Command {
    let mut cellway = Command::new(env!("CARGO_BIN_EXE_cellway"));
    cellway.arg("shell").args(["--lateness-limit", "10 s", "--json"]).args(options);
    cellway.args(["--serve", &format!("exec {}", quoted(&parts::words(VEHICLE, "server")))]);
    cellway.arg("--").args(command);
    cellway
}

fn part(part: &str) -> Vec<String> {
    parts::words(VEHICLE, part)
}

fn sh(script: &str) -> Vec<String> {
    ["sh", "-c", script].map(str::to_owned).to_vec()
}

fn run(mut command: Command) -> Ran {
    Ran(command.output().unwrap())
}

/// Returns the results of the path: the JSON on standard error, after the output of the program there.
fn report(ran: &Ran) -> Value {
    let said = ran.err();
    let start = if said.starts_with('{') { 0 } else { said.find("\n{").unwrap_or_else(|| panic!("{said}")) + 1 };
    serde_json::from_str(&said[start..]).unwrap_or_else(|e| panic!("{e}: {said}"))
}

fn figure(report: &Value, subject: &str, metric: &str) -> f64 {
    let mut figures = report["figures"].as_array().unwrap().iter();
    let found = figures.find(|row| row["subject"] == subject && row["metric"] == metric);
    let row = found.unwrap_or_else(|| panic!("no {metric} of {subject} in {report}"));
    row.get("value").or(row.get("mean")).unwrap().as_f64().unwrap()
}

fn told(ran: &Ran) -> Vec<f64> {
    assert_eq!(ran.code(), 0, "{}{}", ran.out(), ran.err());
    let told = parts::told(&ran.out());
    assert!(!told.is_empty(), "{}{}", ran.out(), ran.err());
    told
}

/// Checks round trips of datagrams: none shorter than `ms`, the shortest not much longer. The computer may be busy.
fn assert_round_trips(found: &[f64], ms: f64) {
    let least = found.iter().copied().fold(f64::INFINITY, f64::min);
    assert!((ms..ms + 15.0).contains(&least), "{found:?}");
}

#[test]
fn a_round_trip_takes_the_given_time() {
    if parts::played() {
        return;
    }
    let Some(_one) = ready() else { return };
    let path = ["--rate", "30 Mbit/s", "--rtt", "175 ms"];
    for target in ["CELLWAY_SERVER", "6CELLWAY_SERVER"] {
        let ran = run(shell(&path, &part(&format!("ping {target} 56 5"))));
        assert_round_trips(&told(&ran), 175.0);
        let report = report(&ran);
        assert_eq!(report["status"], 0);
        assert!(figure(&report, "emulation", "packets") >= 10.0);
        // IPv6 sends to multicast groups by itself.
        assert!(report["warnings"].as_array().unwrap().is_empty(), "{report}");
    }
    if !has("ping", "iputils-ping") {
        return;
    }
    let ran = run(shell(&path, &sh("ping -c 3 -i 0.3 $CELLWAY_SERVER"))).done();
    let out = ran.out();
    let times: Vec<f64> =
        out.lines().filter_map(|line| line.split("time=").nth(1)?.split(' ').next()?.parse().ok()).collect();
    assert_eq!(times.len(), 3, "{out}");
    assert_round_trips(&times, 175.0);
}

#[test]
fn paths_inside_each_other_add_up() {
    let Some(_one) = ready() else { return };
    let inner = ["shell", "--lateness-limit", "10 s", "--rate", "20 Mbit/s", "--rtt", "40 ms", "--"];
    let mut command = vec![env!("CARGO_BIN_EXE_cellway").to_owned()];
    command.extend(inner.map(str::to_owned));
    command.extend(part("ping CELLWAY_SERVER 56 5"));
    let ran = run(shell(&["--rate", "30 Mbit/s", "--rtt", "60 ms"], &command));
    assert_round_trips(&told(&ran), 100.0);
}

#[test]
fn the_exit_status_is_that_of_the_program() {
    let Some(_one) = ready() else { return };
    let path = ["--rate", "30 Mbit/s", "--rtt", "1 ms"];
    let ran = run(shell(&path, &sh("echo out; echo err >&2; exit 7")));
    assert_eq!((ran.code(), ran.out()), (7, "out\n".to_owned()));
    assert!(ran.err().lines().any(|line| line == "err"), "{}", ran.err());
    assert_eq!(report(&ran)["status"], 7);
    let ran = run(shell(&path, &sh("kill -TERM $$")));
    assert_eq!(ran.code(), 143);
    let ran = run(shell(&path, &["/no/such/program".to_owned()]));
    assert_eq!(ran.code(), 127, "{}", ran.err());
    assert!(ran.err().contains("/no/such/program"), "{}", ran.err());
    let ran = run(shell(&path, &["/dev/null".to_owned()]));
    assert_eq!(ran.code(), 126, "{}", ran.err());
}

#[test]
fn packets_are_lost_at_the_given_ratio() {
    let Some(_one) = ready() else { return };
    let place = Place::new("");
    let views = place.path().join("views");
    let top = views.to_str().unwrap();
    let path = ["--rate", "30 Mbit/s", "--rtt", "10 ms", "--loss", "10%", "--top", top];
    let ran = run(shell(&path, &part("count CELLWAY_SERVER 4000")));
    let told = told(&ran);
    let came = told.last().unwrap();
    // Binomial: 3600 of 4000 with a deviation of 19. Five of them.
    assert!((3505.0..=3695.0).contains(came), "{came} of 4000");
    // The views of a shell: the losses shown are those so far.
    let text = std::fs::read_to_string(&views).unwrap();
    let views: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lost = |view: &Value| {
        let ports = view["ports"].as_array().unwrap();
        ports.iter().find(|port| port["name"] == "client>near").unwrap()["dropped"].as_f64().unwrap()
    };
    assert!(views.len() >= 2 && views.windows(2).all(|two| lost(&two[0]) <= lost(&two[1])), "{text}");
    let all = figure(&report(&ran), "client>near", "lost");
    assert!((1.0..=all).contains(&lost(views.last().unwrap())), "{all}: {text}");
}

/// Goodput of the kernel's TCP through a line, against the result of `cellway predict`.
#[test]
fn goodput_through_a_line_is_as_predicted() {
    let Some(_one) = ready() else { return };
    for (framing, named, mss) in [("atm", "aal5-llc-snap", 9140.0), ("packet", "packet", 1460.0)] {
        let text = format!("{mss} B");
        let known = ["--rate", "30 Mbit/s", "--rtt", "20 ms", "--window", "4 MiB", "--mss", &text, "--framing", named];
        let place = Place::new("");
        let predicted = run(place.command(&[&["predict", "--json"][..], &known].concat())).done().json();
        let predicted = predicted["goodput"].as_f64().unwrap();
        let path = ["--rate", "30 Mbit/s", "--rtt", "20 ms", "--framing", framing];
        // The prediction is for IPv4, whose header is 20 octets shorter than that of IPv6.
        for (target, predicted) in [("CELLWAY_SERVER", predicted), ("6CELLWAY_SERVER", predicted * (mss - 20.0) / mss)]
        {
            let ran = run(shell(&path, &part(&format!("send {target} 3000 4000"))));
            let found = told(&ran)[0];
            assert!((found / predicted - 1.0).abs() < 0.03, "{framing}, {target}: {found} of {predicted} bit/s");
        }
    }
}

const WINDOWS: &str = r#"version = 1
name = "windows"
run = { duration = "10 s", warmup = "5 s", emulate = { lateness-limit = "10 s" } }
buffer = { size = "8000 cell", per = "port" }
tcp = { profile = "classic", variant = "sack", mss = "1000 B", window = "40 KiB", send-buffer = "1 MiB", window-scaling = true }
node = [
  { name = "client", kind = "host" },
  { name = "near", kind = "router" },
  { name = "far", kind = "router" },
  { name = "server", kind = "host" },
]
link = [
  { between = ["client", "near"], rate = "100 Mbit/s", delay = "0 s", framing = "packet", mtu = "1500 B" },
  { name = "line", between = ["near", "far"], rate = "10 Mbit/s", delay = "50 ms", framing = "atm", mtu = "1500 B" },
  { between = ["far", "server"], rate = "100 Mbit/s", delay = "0 s", framing = "packet", mtu = "1500 B" },
]

[[traffic]]
name = "bulk"
app = "bulk"
from = "client"
to = "server"

[sweep]
axes = { "link.line.framing" = ["atm", "packet"], "traffic.bulk.tcp.window" = ["40 KiB", "320 KiB"] }
"#;

#[test]
fn goodput_of_a_window_is_as_predicted() {
    let Some(_one) = ready() else { return };
    let place = Place::new(WINDOWS);
    let predicted = place.run(&["predict", "study.toml", "--json"]).done().json();
    let emulated = place.run(&["emulate", "study.toml", "--json", "--out", "out"]).done().json();
    let [predicted, found] = [predicted, emulated].map(|told| told["points"].as_array().unwrap().clone());
    assert_eq!((predicted.len(), found.len()), (4, 4));
    for (predicted, found) in predicted.iter().zip(&found) {
        assert_eq!(predicted["axes"], found["axes"]);
        let window = found["axes"]["traffic.bulk.tcp.window"] == "40 KiB";
        let predicted = predicted["groups"][0]["goodput"].as_f64().unwrap();
        let goodput = figure(found, "bulk", "goodput_total");
        assert_eq!(window, predicted < 4e6, "one is held by its window, the other by the line: {predicted}");
        assert!((goodput / predicted - 1.0).abs() < 0.03, "{}: {goodput} of {predicted}", found["axes"]);
    }
    let tables = common::names(&place.path().join("out"));
    assert_eq!(tables, ["manifest.json", "runs.parquet", "series.parquet", "summary.parquet"]);
    let summary = std::fs::read(place.path().join("out/summary.parquet")).unwrap();
    assert!(summary.windows(7).any(|octets| octets == b"emulate"), "the source of its rows");
}

/// Returns the `[[run.command]]` of a part.
fn command(name: &str, host: &str, text: &str, more: &str) -> String {
    let words: Vec<String> = part(text).iter().map(|word| format!("'{word}'")).collect();
    format!("[[run.command]]\nname = \"{name}\"\nhost = \"{host}\"\nrun = [{}]\n{more}\n", words.join(", "))
}

/// The last report of a part.
const TOLD: &str = "figure = [{ metric = \"told\", unit = \"1\", pattern = 'told: (\\S+)' }]";

fn net(buffer: &str, mtu: &str, channel: &str) -> String {
    format!(
        "version = 1\nname = \"net\"\n\
         buffer = {buffer}\nmultiplexing = {{ channel = \"{channel}\" }}\n\
         node = [\n  {{ name = \"client\", kind = \"host\" }},\n  {{ name = \"near\", kind = \"router\" }},\n  \
         {{ name = \"far\", kind = \"router\" }},\n  {{ name = \"server\", kind = \"host\" }},\n]\n\
         link = [\n  \
         {{ between = [\"client\", \"near\"], rate = \"100 Mbit/s\", delay = \"0 s\", framing = \"packet\", mtu = \"9000 B\" }},\n  \
         {{ between = [\"near\", \"far\"], rate = \"10 Mbit/s\", delay = \"5 ms\", framing = \"atm\", mtu = \"{mtu}\" }},\n  \
         {{ between = [\"far\", \"server\"], rate = \"100 Mbit/s\", delay = \"0 s\", framing = \"packet\", mtu = \"9000 B\" }},\n]\n\n\
         [run]\nduration = \"9 s\"\nemulate = {{ lateness-limit = \"10 s\", idle = \"1 s\" }}\n\n"
    ) + &command("serve", "server", "server", "")
}

/// With a channel each, a transfer gets its half in parallel with a flood; sharing one, it gets nearly nothing. And the
/// flood ends, as the transfer does: their channels are closed.
#[test]
fn each_conversation_has_its_share_and_loses_its_channel_when_it_is_idle() {
    let Some(_one) = ready() else { return };
    let share = |channel: &str| {
        let buffer = "{ size = \"600 cell\", per = \"conversation\", sharing = \"channel\" }";
        let send = command("send", "client", "against-flood CELLWAY_HOST_server 1000 3000", TOLD);
        let place = Place::new(&(net(buffer, "1500 B", channel) + &send));
        let ran = place.run(&["emulate", "study.toml", "--top", "--out", "out", "--force", "--wide"]).done();
        (ran.out(), ran.err())
    };
    let (out, err) = share("per-conversation");
    let views: Vec<Value> = out.lines().map_while(|line| serde_json::from_str(line).ok()).collect();
    assert!(views.len() >= 5, "{out}{err}");
    let of = |view: &Value, protocol: &str| {
        let conversations = view["conversations"].as_array().unwrap().iter();
        conversations.filter(|c| c["protocol"] == protocol).map(|c| c["rate"][0].as_f64().unwrap()).sum::<f64>()
    };
    // In the seconds in which both send: cells of 10 Mbit/s carry 8.6 Mbit/s of such packets.
    let both: Vec<(f64, f64)> = views.iter().map(|view| (of(view, "tcp"), of(view, "udp"))).collect();
    let fair = both.iter().filter(|(tcp, udp)| (3.6e6..5e6).contains(tcp) && (3.6e6..5e6).contains(udp)).count();
    assert!(fair >= 2, "{both:?}");
    assert!(views.last().unwrap()["conversations"].as_array().unwrap().is_empty(), "{}", views.last().unwrap());
    let dropped = |view: &Value| {
        let ports = view["ports"].as_array().unwrap();
        ports.iter().find(|port| port["name"] == "near>far").unwrap()["dropped"].as_u64().unwrap()
    };
    assert!(dropped(views.last().unwrap()) > 100, "the flood was too large");
}

/// A shell may export COLUMNS of another window. A line that wraps there is two, and the next view would leave it.
#[test]
fn a_view_is_as_wide_as_its_window() {
    let Some(_one) = ready() else { return };
    if !has("script", "bsdutils") {
        return;
    }
    let access = "access = { rate = \"1 Gbit/s\", delay = \"0 s\" }";
    let place = Place::new(&format!(
        "version = 1\nname = \"one\"\nrun = {{ duration = \"2500 ms\", emulate = {{ lateness-limit = \"10 s\" }} }}\n\
         buffer = {{ size = \"64 KiB\", per = \"port\", count = \"packet\" }}\n\
         node = [{{ name = \"a\", kind = \"router\" }}, {{ name = \"b\", kind = \"router\" }}]\n\
         link = [{{ between = [\"a\", \"b\"], rate = \"1 Mbit/s\", delay = \"5 ms\", framing = \"packet\" }}]\n\
         traffic = [{{ name = \"t\", app = \"bulk\", from = \"a\", to = \"b\", {access} }}]\n"
    ));
    let cellway =
        format!("stty rows 40 cols 50 && COLUMNS=200 '{}' emulate study.toml --top", env!("CARGO_BIN_EXE_cellway"));
    let mut script = Command::new("script");
    script.args(["-qec", &cellway, "/dev/null"]).current_dir(place.path()).stdin(Stdio::null());
    let shown = run(script).done().out();
    // Each view begins with the time.
    let views: Vec<&str> = shown.split(" s   lateness").skip(1).collect();
    assert!(views.len() >= 2, "{shown}");
    let wide = views[0].lines().map(|line| line.chars().count()).max().unwrap();
    assert!(views[0].contains("conversation") && wide <= 50, "{wide}: {}", views[0]);
}

/// TCP discovers the MTU of the path, datagrams are sent in fragments, and an expired time to live is reported.
#[test]
fn large_packets_are_fragmented_or_resized() {
    let Some(_one) = ready() else { return };
    let buffer = "{ size = \"2000 cell\", per = \"port\" }";
    let text = net(buffer, "1400 B", "per-conversation")
        + &command("send", "client", "send CELLWAY_HOST_server 1500 2000", TOLD)
        + &command("send6", "client", "send 6CELLWAY_HOST_server 1500 2000", &format!("start = \"4 s\"\n{TOLD}"))
        + &command("ping", "client", "ping CELLWAY_HOST_server 20000 3", "")
        + &command("hop", "client", "hop CELLWAY_HOST_server", "");
    let place = Place::new(&text);
    let told = place.run(&["emulate", "study.toml", "--json"]).done().json();
    let point = &told["points"][0];
    for transfer in ["send", "send6"] {
        assert_eq!(figure(point, transfer, "failed"), 0.0, "{told}");
        // 8.6 Mbit/s of payload, and the large datagrams in addition.
        assert!((6e6..8.7e6).contains(&figure(point, transfer, "told")), "{told}");
    }
    assert_eq!((figure(point, "ping", "failed"), figure(point, "hop", "failed")), (0.0, 0.0), "{told}");
    let warnings = told["warnings"].to_string();
    assert!(
        warnings.contains("too-big")
            && warnings.contains("1 packets of hosts did not enter the network: time-exceeded"),
        "{warnings}"
    );
    if has("ping", "iputils-ping") {
        let script = "ping -c 1 -t 1 $CELLWAY_SERVER; ping -c 1 -M do -s 9200 $CELLWAY_SERVER; true";
        let out = run(shell(&["--rate", "30 Mbit/s", "--rtt", "1 ms"], &sh(script))).done();
        assert!(out.out().contains("From 192.0.0.8") && out.out().contains("Time to live exceeded"), "{}", out.out());
    }
}

/// A flood of thousands of datagrams a second into 2 Mbit/s: the run ends in time and its memory has not grown.
#[test]
fn a_flood_is_dropped_counted_and_takes_no_memory() {
    let Some(_one) = ready() else { return };
    let path = ["--rate", "2 Mbit/s", "--rtt", "20 ms", "--framing", "packet", "--buffer", "64 KiB"];
    let mut child = piped(&shell(&path, &part("flood CELLWAY_SERVER 6000")));
    std::thread::sleep(Duration::from_secs(3));
    let before = memory(child.id());
    std::thread::sleep(Duration::from_secs(2));
    let after = memory(child.id());
    assert_eq!(child.try_wait().unwrap(), None);
    let ran = Ran(child.wait_with_output().unwrap());
    assert!(after < before + 8192, "from {before} KiB to {after} KiB");
    let sent = told(&ran)[0];
    let report = report(&ran);
    let dropped = figure(&report, "near>far", "dropped_packets");
    // In 6 s the line carries 1050 such packets.
    assert!(sent > 5000.0 && dropped > 3000.0 && dropped < sent, "{dropped} of {sent}");
    assert!(figure(&report, "near>far", "queue_max") <= 64.0 * 1024.0 / 1428.0 + 1.0);
    assert!(figure(&report, "near>far", "utilisation") > 0.5, "the line goes on");
}

/// A host on a slow line: its packets wait in its kernel, and the emulator does not spin meanwhile.
#[test]
fn a_host_that_is_held_back_costs_no_time() {
    let Some(_one) = ready() else { return };
    let text = net("{ size = \"2000 cell\", per = \"port\" }", "1500 B", "per-conversation")
        .replacen("100 Mbit/s", "256 kbit/s", 1)
        .replace("duration = \"9 s\"", "duration = \"6 s\"")
        + &command("flood", "client", "flood CELLWAY_HOST_server 5000", "");
    let place = Place::new(&text);
    let mut child = piped(&place.command(&["emulate", "study.toml", "--json"]));
    std::thread::sleep(Duration::from_millis(2500));
    let before = processor(child.id());
    std::thread::sleep(Duration::from_secs(2));
    let used = processor(child.id()) - before;
    assert_eq!(child.try_wait().unwrap(), None);
    let told = Ran(child.wait_with_output().unwrap()).done().json();
    // 23 packets a second: a few hundredths of a second. One that spins uses all of the two.
    assert!(used < 0.8, "{used} s of 2 s");
    assert_eq!(figure(&told["points"][0], "flood", "failed"), 0.0, "{told}");
}

fn emulates_directly() -> bool {
    // Root of the first user namespace: the only map that has all numbers.
    std::fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| map.contains("4294967295"))
        && std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

#[test]
fn missing_programs_are_named() {
    let Some(_one) = ready() else { return };
    if !emulates_directly() {
        skip("only root can hide /dev/net/tun from itself");
        return;
    }
    if !has("unshare", "util-linux") {
        return;
    }
    let hidden = format!(
        "mount -t tmpfs none /dev/net && exec '{}' shell --rate 1Mbit/s --rtt 1ms -- true",
        env!("CARGO_BIN_EXE_cellway")
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &hidden]);
    let ran = run(command);
    assert_eq!(ran.code(), 125, "{}", ran.err());
    assert!(ran.err().contains("/dev/net/tun is missing") && ran.err().contains("modprobe tun"), "{}", ran.err());
}
