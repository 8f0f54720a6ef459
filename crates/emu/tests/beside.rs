//! A caller that works in the hosts of a network while it runs.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use cellway_emu::{Control, Hosts, LinkChange, Signals};
use cellway_scenario::LinkDirection;
use cellway_units::{Rate, Span};
use common::{figure, has, one_at_a_time, possible, run};

const PATH: &str = r#"
version = 1
name = "path"
buffer = { size = "64 KiB", per = "port" }
node = [
  { name = "a", kind = "host" },
  { name = "r", kind = "router" },
  { name = "s", kind = "router" },
  { name = "b", kind = "host" },
]
link = [
  { between = ["a", "r"], rate = "100 Mbit/s", delay = "0 s" },
  { name = "line", between = ["r", "s"], rate = "8 Mbit/s", delay = "5 ms" },
  { between = ["s", "b"], rate = "100 Mbit/s", delay = "0 s" },
]
[run]
duration = "60 s"
warmup = "0 s"
[[run.command]]
name = "wait"
host = "a"
run = ["sleep", "infinity"]
"#;

/// Returns the time that a ping of 1000 octets takes.
fn ping(hosts: &Hosts) -> f64 {
    let mut command = Command::new("ping");
    command.args(["-c", "3", "-i", "0.2", "-s", "972", "b"]).stdout(Stdio::piped());
    let mut child = hosts.spawn("a", command).unwrap();
    let said = std::io::read_to_string(child.take_stdout().unwrap()).unwrap();
    assert!(child.wait().unwrap().success(), "{said}");
    said.split("= ").last().unwrap().split('/').next().unwrap().parse().unwrap()
}

#[test]
fn a_caller_runs_programs_changes_a_link_and_ends_the_run() {
    if !has("ping", "iputils-ping") || !possible("a_caller_runs_programs_changes_a_link_and_ends_the_run") {
        return;
    }
    let _one = one_at_a_time();
    let times = Mutex::new(Vec::new());
    let beside = |hosts: &Hosts| {
        assert_eq!(hosts.all().map(|(name, _)| name).collect::<Vec<_>>(), ["a", "b"]);
        assert!(hosts.links().eq(["a-r", "line", "s-b"]));
        assert_eq!(hosts.is_listening("b", 9), Some(false));
        assert_eq!(hosts.is_listening("c", 9), None);
        assert!(hosts.spawn("c", Command::new("true")).unwrap_err().to_string().contains("no host \"c\""));
        let slow = LinkChange::Rate(Rate::from_bps(100_000));
        let unknown = hosts.change_link("lin", LinkDirection::Both, slow).unwrap_err().to_string();
        assert_eq!(unknown, "there is no link \"lin\"; accepted: a-r, line, s-b");
        let none = LinkChange::Rate(Rate::from_bps(0));
        assert!(hosts.change_link("line", LinkDirection::Both, none).unwrap_err().to_string().contains("above zero"));
        times.lock().unwrap().push(ping(hosts));
        let slower = LinkChange::Delay(Span::from_ms(100));
        let changes = [(LinkDirection::Forward, slow), (LinkDirection::Both, slow), (LinkDirection::Back, slower)];
        for (direction, change) in changes {
            hosts.change_link("line", direction, change).unwrap();
            // The thread of the network polls at least this often.
            std::thread::sleep(Duration::from_millis(100));
            times.lock().unwrap().push(ping(hosts));
        }
        assert!(!hosts.is_over());
        hosts.end();
    };
    let control = Control { beside: Some(Box::new(beside)), signals: Signals::OfCaller, ..Control::default() };
    let emulated = run(PATH, &[], control).unwrap();
    // At the least 10 ms of delay, and the packet twice over the line: 1 ms each at 8 Mbit/s, 80 ms at 100 kbit/s. In the
    // end 105 ms of delay.
    let times = times.into_inner().unwrap();
    for (time, least) in times.iter().zip([12.0, 91.0, 170.0, 265.0]) {
        assert!(*time >= least, "{times:?}");
    }
    assert!((0.5..30.0).contains(&emulated.duration.as_secs_f64()));
    assert!(figure(&emulated, "r>s", "utilisation") > 0.0);
}
