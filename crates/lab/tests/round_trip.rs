//! Known traffic, simulated, captured and derived again, has the distributions of its file.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::path::Path;

use cellway_lab::captured::{Next, by, from_captures, write};
use cellway_lab::read_workload;
use cellway_workload::{ClassModel, Recorded, WorkloadFile};
use common::{plan, repository};

/// Traffic over a line that is wide enough for it; the capture is at the host of the originators' side.
const TRAFFIC: &str = r#"version = 1
name = "traffic"
run = { duration = "400 s", warmup = "0 s" }
buffer = { size = "1 MB", per = "port" }
node = [{ name = "office", kind = "router" }, { name = "net", kind = "router" }]
link = [{ between = ["office", "net"], framing = "packet", rate = "200 Mbit/s", delay = "5 ms" }]
tcp = { profile = "linux-6" }

[[traffic]]
name = "group"
app = "workload:FILE"
from = "office"
to = "net"
access = { rate = "1 Gbit/s", delay = "0.1 ms" }
"#;

/// Conversations over UDP whose times overlap, as those of games and of names do: counts with values of their own,
/// sizes with two modes, and fewer and larger packets back. All have ended some minutes after the last arrival.
const DATAGRAMS: &str = r#"version = 1

[[class]]
name = "game"
transport = "udp"
conversations = 20000

[class.arrival_gap]
samples = 19999
knots = [
    [0, 0], [0.05, 0.00154], [0.1, 0.00316], [0.25, 0.00863], [0.5, 0.0208], [0.75, 0.0416], [0.9, 0.0691],
    [0.95, 0.0899], [0.99, 0.138], [0.999, 0.207], [1, 0.276],
]

[class.packets]
samples = 20000
knots = [[0.4, 1], [0.400001, 2], [0.6, 2], [0.600001, 3], [0.7, 3], [0.9, 9], [1, 30]]

[class.packets_back]
samples = 20000
knots = [[0.2, 0], [0.200001, 1], [0.6, 1], [0.9, 6], [1, 12]]

[class.size]
samples = 80000
knots = [[0, 30], [0.5, 62], [0.7, 90], [0.75, 700], [1, 800]]

[class.size_back]
samples = 50000
knots = [[0, 80], [0.3, 160], [0.6, 1100], [0.600001, 1400], [1, 1400]]

[class.gap]
samples = 60000
knots = [[0, 0.001], [0.3, 0.02], [0.8, 0.04], [0.99, 1.2], [1, 6]]

[class.gap_back]
samples = 40000
knots = [[0, 0.0005], [0.5, 0.03], [0.9, 0.3], [1, 4]]
"#;

/// Whole conversations: one in which both ends send at once, as in ssh, one that is pushed, and a request with its
/// response. A message has arrived 5.2 ms after it was sent, so that each acknowledges what the next number says.
const WHOLE: &str = r#"version = 1

[[class]]
name = "shell"
transport = "tcp"
conversations = 3
messages = [
    [[[21, 0, 0.002], [1500, 40, 0.002], [7, 1149, 0.2]], [[40, 0, 0.001], [1100, 21, 0.005], [9, 1521, 0.05]]],
    [[], [[10, 0, 0.005], [20, 0, 1.0]]],
    [[[300, 0, 0.0]], [[50000, 300, 0.02]]],
]

[class.arrival_gap]
samples = 2
knots = [[1, 2.0]]
"#;

/// The conversations of the only class of a file.
fn recorded(file: &WorkloadFile) -> Vec<Recorded> {
    let [class] = &file.classes[..] else { panic!("{} classes", file.classes.len()) };
    let ClassModel::Tcp(model) = &class.model else { panic!("{} is of UDP", class.name) };
    model.recorded.iter().map(|one| Recorded::clone(one)).collect()
}

/// Octets are the same, and each time is within 0.2 ms: data take up to 0.1 ms on each way, a SYN takes none of that.
#[test]
fn whole_conversations_are_derived_again() {
    let folder = tempfile::tempdir().unwrap();
    let (file, capture, out) =
        (folder.path().join("whole.toml"), folder.path().join("a.pcap"), folder.path().join("derived.toml"));
    std::fs::write(&file, WHOLE).unwrap();
    // Nagle's algorithm would hold the last part of a message.
    let text = TRAFFIC.replace("FILE", "whole.toml#shell").replace("\"linux-6\"", "\"linux-6\", nagle = false");
    cellway_lab::capture(&plan(&text, &[]), folder.path(), "office", &capture, false, &mut || false).unwrap();
    let derived = from_captures(&[capture], by("port").unwrap(), true, &mut |_| Next::Continue).unwrap();
    write(&derived, &out, false).unwrap();
    let known = recorded(&read_workload(&file).unwrap());
    let mut found = vec![0; known.len()];
    for one in recorded(&read_workload(&out).unwrap()) {
        let numbers = |one: &Recorded| -> Vec<Vec<[u64; 2]>> {
            one.messages.iter().map(|all| all.iter().map(|message| [message.octets, message.after]).collect()).collect()
        };
        let at = known.iter().position(|known| numbers(known) == numbers(&one)).unwrap_or_else(|| panic!("{one:?}"));
        found[at] += 1;
        for (found, known) in one.messages.iter().flatten().zip(known[at].messages.iter().flatten()) {
            let late = (found.delay.as_secs_f64() - known.delay.as_secs_f64()).abs();
            assert!(late < 0.2e-3, "{found:?} for {known:?}");
        }
    }
    // One each 2 s, and none of them is cut off but the last.
    assert!(found.iter().all(|count| *count > 40) && found.iter().sum::<usize>() >= 198, "{found:?}");
}

/// Simulates a class of a file, named from the folder of the file, and derives it again. The distance of each
/// distribution is at most 0.03 beyond what samples of one distribution have in 19 of 20 cases. Returns the names of the
/// distributions, in the order of the alphabet; each has more than `least` samples.
fn derived_again(file: &Path, class: &str, least: u64) -> Vec<&'static str> {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("office.pcap");
    let named = format!("{}#{class}", file.file_name().unwrap().to_string_lossy());
    let text = TRAFFIC.replace("FILE", &named);
    cellway_lab::capture(&plan(&text, &[]), file.parent().unwrap(), "office", &capture, false, &mut || false).unwrap();
    let derived = from_captures(&[capture], by("port").unwrap(), false, &mut |_| Next::Continue).unwrap();
    let path = folder.path().join("derived.toml");
    write(&derived, &path, false).unwrap();
    // The class has the name of its port.
    let text = std::fs::read_to_string(&path).unwrap();
    let names: Vec<&str> = text.lines().filter(|line| line.starts_with("name = ")).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    std::fs::write(&path, text.replace(names[0], &format!("name = \"{class}\""))).unwrap();
    let compared = cellway_lab::compare_workloads([file, &path]).unwrap();
    let mut seen = Vec::new();
    for difference in compared.differences.iter().filter(|difference| difference.class == class) {
        let name = difference.distribution;
        // The round trip is that of the path, not of the file.
        if name == "rtt" {
            continue;
        }
        assert!(difference.samples[1] > least, "{name}: {} samples", difference.samples[1]);
        assert!(difference.distance <= 0.03 + difference.bound, "{difference:?}");
        seen.push(name);
    }
    seen.sort_unstable();
    seen
}

#[test]
fn simulated_exchanges_are_derived_again() {
    let seen = derived_again(&repository("scenarios/workloads/office.toml"), "web", 1000);
    assert_eq!(seen, ["arrival_gap", "exchanges", "pause", "request", "response", "think"]);
}

/// Of 10,000 samples the bound is 0.0167.
#[test]
fn simulated_datagrams_are_derived_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("games.toml");
    std::fs::write(&file, DATAGRAMS).unwrap();
    let seen = derived_again(&file, "game", 10_000);
    assert_eq!(seen, ["arrival_gap", "gap", "gap_back", "packets", "packets_back", "size", "size_back"]);
}
