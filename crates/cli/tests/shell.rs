//! `cellway shell` around its program: options, servers at the far end, exit statuses, users, names of hosts.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;
mod parts;

use std::io::Write;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{Place, Ran};

/// Parallel emulations make each other late.
static ONE: Mutex<()> = Mutex::new(());

/// The test that this file starts as a child process to act as a client or a server.
const VEHICLE: &str = "the_program_starts_when_the_servers_are_ready";

/// Reports a skipped test on standard error, past the capture of the test harness.
fn skip(why: &str) {
    std::io::stderr().write_all(format!("skipped: {why}\n").as_bytes()).unwrap();
}

/// Waits for its turn. Returns `None`, and reports the reason, if this host cannot emulate.
fn ready() -> Option<MutexGuard<'static, ()>> {
    match cellway_lab::emulate::missing() {
        None => Some(ONE.lock().unwrap_or_else(PoisonError::into_inner)),
        Some(why) => {
            skip(&why);
            None
        }
    }
}

fn part(part: &str) -> Vec<String> {
    parts::words(VEHICLE, part)
}

fn server() -> String {
    let words: Vec<String> = part("server").iter().map(|word| format!("'{word}'")).collect();
    format!("exec {}", words.join(" "))
}

/// Runs `cellway shell` with these options, and a command after "--".
fn shell(options: &[&str], command: &[&str]) -> Ran {
    let mut cellway = Command::new(env!("CARGO_BIN_EXE_cellway"));
    cellway.arg("shell").args(options).arg("--").args(command);
    Ran(cellway.output().unwrap())
}

fn words(part: &[String]) -> Vec<&str> {
    part.iter().map(String::as_str).collect()
}

/// Each error with its option and the expected message, which must not mention a scenario file.
#[test]
fn a_mistake_is_reported_by_its_option() {
    let path = ["--rate", "8 Mbit/s", "--rtt", "40 ms"];
    let cases: &[(&[&str], &str)] = &[
        (&["--loss", "7"], "--loss: \"7\" has no unit"),
        (&["--loss", "200%"], "--loss: "),
        (&["--mtu", "9B"], "--mtu: \"9B\" is out of range; accepted: from \"68 B\" to \"65535 B\""),
        (&["--buffer", "10Q"], "--buffer: \"Q\" in \"10Q\""),
        (&["--buffer", "10B"], "--buffer: 10 B cannot hold one packet of the MTU (1500 B); accepted: at least 1500 B"),
        (&["--buffer", "9179 B", "--framing", "atm"], "--buffer: 9179 B cannot hold"),
        // A queue in cells makes the framing ATM: 9180 octets, 8 of LLC/SNAP and 8 of the AAL5 trailer, in cells of 48.
        (
            &["--buffer", "191 cell"],
            "--buffer: 191 cell cannot hold one packet of the MTU (9180 B), which takes 192 cell",
        ),
        (&["--buffer", "1499 B"], "--buffer: 1499 B cannot hold one packet of the MTU (1500 B)"),
        (&["--buffer", "0 B"], "--buffer: "),
        (
            &["--queue", "64 KiB"],
            "--queue 64 KiB: this is a size; accepted: --buffer for the size, or one of fifo, red",
        ),
        (&["--queue", "sfq"], "--queue: \"sfq\" is not known here"),
        (
            &["--queue", "pie", "--framing", "atm"],
            "--queue pie: a discipline of packet queues, but this line carries cells",
        ),
        (&["--mtu", "70 kB", "--framing", "fddi"], "--mtu: \"70 kB\" is out of range"),
        (&["--lateness-limit", "0 s"], "--lateness-limit: "),
        (&["--outage", "3s"], "--outage 3s: this is not LENGTH/TIME; accepted: the length of an outage"),
        (&["--outage", "300ms/200ms"], "--outage: 200 ms is not longer than an outage, 300 ms"),
        (&["--down", ",heavy"], "--down ,heavy: the name of a file is missing"),
        (&["--outage", "1s/9s,flush"], "--outage 1s/9s,flush: \"flush\" is neither lost nor flushed"),
        (&["--outage", "1s/9s", "--framing", "atm"], "--outage: for a line of packets, but this line carries cells"),
        (&["--jitter", "5"], "--jitter: \"5\" has no unit"),
        (&["--jitter", "5ms,none.dist"], "--jitter 5ms,none.dist: cannot read none.dist"),
        (&["--jitter", "5ms,"], "--jitter 5ms,: the name of a file is missing"),
        (&["--jitter", "5ms", "--framing", "atm"], "--jitter: for a line of packets"),
        (&["--down", "5 Mbit/s", "--framing", "atm"], "--down: for a line of packets"),
        (&["--serve", "x", "--ready", "0"], "--ready: \"0\" is no port"),
        (&["--serve", "x", "--ready", "up [0-9"], "--ready: \"up [0-9\" is no regular expression"),
        (&["--serve", "x", "--ready", "1", "--ready", "2"], "--ready: 2 of them for 1 --serve"),
    ];
    for (options, message) in cases {
        let told = shell(&[&path[..], options].concat(), &["true"]).refused();
        assert!(told.starts_with(&format!("cellway: {message}")), "{options:?}: {told}");
        let of_file = ["the path:", " | ", "the key", "no such key", "same table"];
        assert!(!of_file.iter().any(|text| told.contains(text)), "{options:?}: {told}");
        assert!(told.matches("--mtu:").count() <= 1, "{told}");
    }
    for options in [&["--rate", "fast"][..], &["--rtt", "long"]] {
        let told = shell(options, &["true"]).refused();
        assert!(told.starts_with(&format!("cellway: {}: ", options[0])), "{told}");
    }
    let told = shell(&[], &["true"]).refused();
    assert!(told.contains("--rate") && told.contains("--rtt") && told.contains("--loss"), "{told}");
}

/// A queue that holds a single packet passes packets.
#[test]
fn the_least_queue_passes_packets() {
    let Some(_one) = ready() else { return };
    let ping = part("ping CELLWAY_SERVER 1472 2");
    for (framing, queue, mtu) in [("packet", "1500 B", "1500 B"), ("atm", "32 cell", "1500 B")] {
        let path = ["--rate", "8 Mbit/s", "--rtt", "1 ms", "--framing", framing, "--buffer", queue, "--mtu", mtu];
        let server = server();
        let ran = shell(&[&path[..], &["--serve", &server, "--ready", "7007"]].concat(), &words(&ping)).done();
        assert_eq!(parts::told(&ran.out()).len(), 2, "{framing}: {}{}", ran.out(), ran.err());
    }
}

#[test]
fn a_rate_or_a_round_trip_alone_will_do() {
    let Some(_one) = ready() else { return };
    let server = server();
    let serve = ["--serve", &server, "--ready", "7007"];
    let ping = part("ping CELLWAY_SERVER 1000 3");
    // 1028 octets of IP take 8.224 ms in each direction at 1 Mbit/s; with 16 of AAL5 they are 22 cells of 53 octets,
    // 6.073 ms at the 1.536 Mbit/s that ds1 leaves for cells.
    for (path, least) in [(["--rtt", "60 ms"], 60.0), (["--rate", "1 Mbit/s"], 16.448), (["--rate", "ds1"], 12.145)] {
        let ran = shell(&[&path[..], &serve].concat(), &words(&ping)).done();
        let found = parts::told(&ran.out()).into_iter().fold(f64::INFINITY, f64::min);
        // A packet is never early; a busy computer makes it late.
        assert!((least..least + 250.0).contains(&found), "{path:?}: {found} ms");
    }
}

#[test]
fn the_output_of_servers_is_shown_or_logged() {
    let Some(_one) = ready() else { return };
    let serve = ["--rtt", "1 ms", "--serve", "echo one; echo two >&2; printf three; exec sleep 60", "--ready", "three"];
    let ran = shell(&serve, &["echo", "hello"]).done();
    assert_eq!(ran.out(), "hello\n");
    for line in ["serve-1: one\n", "serve-1: two\n", "serve-1: three\n"] {
        assert!(ran.err().contains(line), "{}", ran.err());
    }
    let place = Place::new("");
    let log = place.path().join("log");
    let ran = shell(&[&serve[..], &["--log", log.to_str().unwrap()]].concat(), &["true"]).done();
    assert!(!ran.err().contains("serve-1"), "{}", ran.err());
    let mut lines: Vec<String> = std::fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["serve-1: one", "serve-1: three", "serve-1: two"]);
}

/// The program would run for an hour: it is killed, and the exit status is not its own.
#[test]
fn a_server_that_fails_fails_the_run_at_once() {
    let Some(_one) = ready() else { return };
    for wait in [&[][..], &["--ready", "7099"]] {
        let serve = ["--rtt", "1 ms", "--serve", "echo cannot bind >&2; exit 3"];
        let ran = shell(&[&serve[..], wait].concat(), &["sleep", "3600"]);
        assert_eq!(ran.code(), 125, "{}", ran.err());
        let told = ran.err();
        let last = told.lines().last().unwrap();
        assert!(
            last.starts_with("cellway: --serve \"echo cannot bind >&2; exit 3\" ended with exit status 3"),
            "{told}"
        );
        assert!(last.ends_with(": cannot bind"), "{told}");
        assert_eq!(last.contains("nothing listens on port 7099"), !wait.is_empty(), "{told}");
    }
    // A server that ends with status 0 has not failed.
    let ran = shell(&["--rtt", "1 ms", "--serve", "exit 0"], &["sleep", "0.3"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
}

#[test]
fn the_program_starts_when_the_servers_are_ready() {
    if parts::played() {
        return;
    }
    let Some(_one) = ready() else { return };
    let place = Place::new("");
    let mark = place.path().join("mark");
    let mark = mark.to_str().unwrap();
    // The first server prints that it is ready; the second opens its port after a second.
    let first = format!("sleep 0.5; touch '{mark}'; echo up and running; exec sleep 60");
    let second = format!("sleep 1; {}", server());
    let serve = ["--rtt", "1 ms", "--serve", &first, "--ready", "^up and", "--serve", &second, "--ready", "7008"];
    let connect = part("connect CELLWAY_SERVER");
    let ran = shell(&serve, &words(&connect)).done();
    assert_eq!(parts::told(&ran.out()), [1.0], "{}{}", ran.out(), ran.err());
    assert!(std::path::Path::new(mark).is_file());
}

#[test]
fn an_invalid_run_fails_if_strict() {
    let Some(_one) = ready() else { return };
    let server = server();
    let path = ["--rtt", "1 ms", "--lateness-limit", "1 ns", "--serve", &server, "--ready", "7007"];
    let ping = part("ping CELLWAY_SERVER 56 2");
    for (more, code) in [(&[][..], 0), (&["--strict"], 125)] {
        let ran = shell(&[&path[..], more].concat(), &words(&ping));
        assert_eq!(ran.code(), code, "{}", ran.err());
        assert!(ran.err().contains("warning: INVALID"), "{}", ran.err());
        assert_eq!(ran.err().contains("cellway: --strict: "), code != 0, "{}", ran.err());
    }
    // A valid run ends with 0, and a program that failed keeps its status.
    let ran = shell(&["--rtt", "1 ms", "--lateness-limit", "10 s", "--strict"], &["true"]);
    assert_eq!(ran.code(), 0, "{}", ran.err());
    let ran = shell(&["--rtt", "1 ms", "--strict"], &["sh", "-c", "exit 9"]);
    assert_eq!(ran.code(), 9, "{}", ran.err());
}

/// The resolver of the host cannot be reached. Look-ups go to the far end, which refuses them at once, and the hosts of
/// the path have names.
#[test]
fn hosts_have_names_and_look_ups_fail_fast() {
    let Some(_one) = ready() else { return };
    let files = ["/etc/hosts", "/etc/resolv.conf"];
    let before = files.map(std::fs::read);
    let ran = shell(&["--rtt", "1 ms"], &["cat", "/etc/hosts"]).done();
    assert!(ran.out().starts_with("100.64.0.1 client\n100.64.0.2 server\n"), "{}", ran.out());
    let known = String::from_utf8_lossy(before[0].as_ref().unwrap()).into_owned();
    assert!(ran.out().ends_with(&known), "{}", ran.out());
    if std::path::Path::new(files[1]).is_file() {
        let ran = shell(&["--rtt", "1 ms"], &["cat", files[1]]).done();
        assert!(ran.out().lines().any(|line| line == "nameserver 100.64.0.2"), "{}", ran.out());
        assert_eq!(ran.out().matches("nameserver").count(), 1, "{}", ran.out());
        // The query is refused within the emulated network; none leaves it.
        let ran = shell(&["--rtt", "1 ms"], &["sh", "-c", "getent hosts no-such-name.example; test $? = 2"]).done();
        assert!(!ran.err().contains("did not enter the network"), "{}", ran.err());
    }
    for (file, before) in files.iter().zip(before) {
        assert_eq!(std::fs::read(file).ok(), before.ok(), "{file} of the machine");
    }
}

/// Runs `cellway` as an unprivileged user. Returns `None`, and reports the reason, if that is not possible.
fn as_user(arguments: &[&str]) -> Option<Ran> {
    let cellway = env!("CARGO_BIN_EXE_cellway");
    if !is_root() {
        return Some(Ran(Command::new(cellway).args(arguments).output().unwrap()));
    }
    // The device node of this host may be accessible to root only.
    let script = "mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200 && chmod 755 /dev/net && cd / && \
                  exec setpriv --reuid=4242 --regid=4343 --clear-groups \"$@\"";
    let become_user = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, "sh"]).args(words);
        command.output().ok().map(Ran)
    };
    match become_user(&["test", "-x", cellway]) {
        Some(ran) if ran.code() == 0 => {}
        Some(ran) => {
            skip(&format!("no user that may run {cellway}: {}", ran.err()));
            return None;
        }
        None => {
            skip("the program `unshare` (package util-linux) cannot be run");
            return None;
        }
    }
    let ran = become_user(&[&[cellway], arguments].concat()).unwrap();
    if ran.code() == 125 && ran.err().contains("cannot emulate") {
        skip(ran.err().trim());
        return None;
    }
    Some(ran)
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

#[test]
fn an_ordinary_user_gets_a_path_too() {
    let Some(_one) = ready() else { return };
    let server = server();
    let path = ["shell", "--rate", "30 Mbit/s", "--rtt", "50 ms", "--serve", &server, "--ready", "7007", "--"];
    let ping = part("ping CELLWAY_SERVER 56 3");
    let Some(ran) = as_user(&[&path[..], &words(&ping)].concat()) else { return };
    let told = parts::told(&ran.out());
    assert!(told.len() == 3 && told.iter().all(|&ms| ms >= 50.0), "{}{}", ran.out(), ran.err());
    let ran = as_user(&["shell", "--rtt", "1 ms", "--", "sh", "-c", "exit 9"]).unwrap();
    assert_eq!(ran.code(), 9, "{}", ran.err());
    // No namespace of a user has a link to the network of the machine.
    for option in ["--here", "--internet"] {
        let said = as_user(&["shell", "--rtt", "1 ms", option, "--", "true"]).unwrap().refused();
        assert!(said.contains(option) && said.contains("run it as root"), "{said}");
    }
}

/// PostgreSQL and Chromium refuse to run as root, and a capability like CAP_DAC_OVERRIDE overrides file permissions.
#[test]
fn an_ordinary_user_stays_that_user() {
    let Some(_one) = ready() else { return };
    let script = "id -u; id -g; grep CapEff /proc/self/status; cat /proc/sys/net/ipv4/ping_group_range";
    let Some(ran) = as_user(&["shell", "--rtt", "1 ms", "--", "sh", "-c", script]) else { return };
    let ran = ran.done();
    let out = ran.out();
    let lines: Vec<&str> = out.lines().collect();
    let own = |flag: &str| {
        let told = Command::new("id").arg(flag).output().unwrap();
        String::from_utf8(told.stdout).unwrap().trim().to_owned()
    };
    let [uid, gid] = if is_root() { ["4242", "4343"].map(str::to_owned) } else { ["-u", "-g"].map(own) };
    assert_eq!(lines[..2], [uid.as_str(), gid.as_str()], "{out}");
    // CAP_NET_BIND_SERVICE (10), CAP_NET_ADMIN (12), CAP_NET_RAW (13), CAP_SYS_ADMIN (21).
    let kept = lines[2].split_whitespace().last().unwrap();
    assert_eq!(u64::from_str_radix(kept, 16).unwrap(), 1 << 10 | 1 << 12 | 1 << 13 | 1 << 21, "{out}");
    // The user's group may send echoes without any capability.
    assert!(lines[3].split_whitespace().eq([gid.as_str(), gid.as_str()]), "{out}");
    // A path inside a path needs capabilities over the network of the outer one.
    let cellway = env!("CARGO_BIN_EXE_cellway");
    let nested = ["shell", "--rtt", "1 ms", "--", cellway, "shell", "--rtt", "1 ms", "--", "id", "-u"];
    assert_eq!(as_user(&nested).unwrap().done().out().trim(), uid);
}

/// A file that is not written is an error, never exit 0.
#[test]
fn files_on_a_full_disk_are_named() {
    let Some(_one) = ready() else { return };
    let serve = ["--serve", "while :; do echo x; sleep 0.05; done"];
    for (options, name) in [
        (&["--log", "/dev/full"][..], "/dev/full"),
        (&["--top", "/dev/full"], "--top /dev/full"),
        (&["--pcap", "near=/dev/full"], "--pcap near=/dev/full"),
    ] {
        let path = ["--rtt", "2 ms"];
        let sleep = ["sh", "-c", "ping -c 3 -i 0.2 $CELLWAY_SERVER; sleep 2"];
        let ran = shell(&[&path[..], &serve, options].concat(), &sleep);
        assert_eq!(ran.code(), 125, "{options:?}: {}", ran.err());
        assert!(ran.err().contains(name), "{options:?}: {}", ran.err());
    }
}
