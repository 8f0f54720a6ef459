//! No processes or devices remain of an emulation that a signal ends.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use serde_json::Value;

use super::common::{Place, Ran};
use super::process::{piped, wait_for};
use super::{emulates_directly, net, ready, report, run, sh, shell};

/// Processes that run `sleep` for just that long.
fn sleepers(seconds: &str) -> Vec<PathBuf> {
    let line = format!("sleep\0{seconds}\0").into_bytes();
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    processes.filter(|process| std::fs::read(process.join("cmdline")).is_ok_and(|found| found == line)).collect()
}

/// Processes in the network namespace `link`.
fn population(link: &Path) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter(|p| std::fs::read_link(p.path().join("ns/net")).is_ok_and(|to| to == link)).count()
}

/// Starts a shell with sleepers of three kinds: its child, one that left the session, one at the far end.
fn with_sleepers(seconds: [&str; 3]) -> (Child, PathBuf) {
    let [child, left, far] = seconds;
    let serve = format!("exec sleep {far}");
    let script = format!("setsid sleep {left} & sleep {child}; true");
    let path = ["--rate", "30 Mbit/s", "--rtt", "1 ms", "--serve", &serve];
    let cellway = piped(&shell(&path, &sh(&script)));
    wait_for("the programs are started", || seconds.iter().all(|seconds| sleepers(seconds).len() == 1));
    let link = std::fs::read_link(sleepers(left)[0].join("ns/net")).unwrap();
    assert_ne!(link, std::fs::read_link("/proc/self/ns/net").unwrap());
    (cellway, link)
}

#[test]
fn a_killed_one_leaves_nothing_after_the_next_start() {
    let Some(_one) = ready() else { return };
    let seconds = ["1021", "1022", "1023"];
    let (mut killed, link) = with_sleepers(seconds);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let ran = run(shell(&["--rate", "30 Mbit/s", "--rtt", "1 ms"], &sh("exit 0"))).done();
    wait_for("all of them are ended", || seconds.iter().all(|seconds| sleepers(seconds).is_empty()));
    wait_for("with them the namespace goes, and with it the device", || population(&link) == 0);
    // In a user namespace the process outside clears up, and no warning remains.
    if emulates_directly() {
        let warnings = report(&ran)["warnings"].to_string();
        assert!(warnings.contains("sleep 1022") && warnings.contains("left behind"), "{warnings}");
    }
    let ran = run(shell(&["--rate", "30 Mbit/s", "--rtt", "1 ms"], &sh("exit 0"))).done();
    assert_eq!(report(&ran)["warnings"], Value::Array(Vec::new()), "once is enough");
}

#[test]
fn a_signal_ends_it_with_everything_removed() {
    let Some(_one) = ready() else { return };
    for (signal, code, seconds) in [("TERM", 143, ["1031", "1032", "1033"]), ("INT", 130, ["1034", "1035", "1036"])] {
        let (cellway, link) = with_sleepers(seconds);
        let pid = cellway.id().to_string();
        assert!(Command::new("sh").args(["-c", &format!("kill -{signal} {pid}")]).status().unwrap().success());
        let ran = Ran(cellway.wait_with_output().unwrap());
        assert_eq!(ran.code(), code, "SIG{signal}: {}", ran.err());
        assert!(ran.err().contains("\"utilisation\""), "the figures of the path are printed: {}", ran.err());
        assert!(seconds.iter().all(|seconds| sleepers(seconds).is_empty()), "SIG{signal}");
        wait_for("the namespace goes", || population(&link) == 0);
    }
    // The same with a scenario, whose results are not written.
    let text = net("{ size = \"2000 cell\", per = \"port\" }", "1500 B", "per-conversation")
        + "[[run.command]]\nhost = \"client\"\nrun = [\"sleep\", \"1037\"]\n";
    let place = Place::new(&text.replace("\"9 s\"", "\"1 h\""));
    let cellway = piped(&place.command(&["emulate", "study.toml", "--out", "out"]));
    wait_for("it is started", || sleepers("1037").len() == 1);
    let pid = cellway.id().to_string();
    assert!(Command::new("sh").args(["-c", &format!("kill -INT {pid}")]).status().unwrap().success());
    let ran = Ran(cellway.wait_with_output().unwrap());
    assert_eq!(ran.code(), 130, "{}", ran.err());
    assert_eq!((sleepers("1037").len(), place.names()), (0, vec!["study.toml".to_owned()]));
}
