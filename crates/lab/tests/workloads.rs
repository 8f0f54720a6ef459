//! Workload files: where they are found, what is refused in words, and that their conversations are the same on any
//! number of threads.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use cellway_lab::{Override, check, compare_workloads, plan_from_file, predict, read_workload};
use common::{repository, simulate_in};

const SCENARIO: &str = r#"version = 1
name = "office"
node = [{ name = "a", kind = "host" }, { name = "b", kind = "router" }]
run = { duration = "2 s" }
buffer = { size = "64 kB", per = "port" }
link = [{ between = ["a", "b"], rate = "10 Mbit/s", delay = "5 ms" }]

[[traffic]]
name = "web"
from = "a"
to = "b"
access = { rate = "10 Mbit/s", delay = "1 ms" }
app = "workload:data/office.toml#CLASS"
workload = { OPTIONS }
"#;

const FILE: &str = r#"version = 1
[[class]]
name = "web"
transport = "tcp"
conversations = 3
[class.exchanges]
samples = 3
knots = [[1, 1]]
[class.request]
samples = 3
knots = [[0, 100], [1, 400]]
[[class]]
name = "voice"
transport = "udp"
conversations = 3
[class.packets]
samples = 3
knots = [[1, 9]]
[class.size]
samples = 3
knots = [[1, 172]]
"#;

/// Writes the scenario with this class and options and, if there is a text, the file beside it.
fn files(name: &str, class: &str, options: &str, file: Option<&str>) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("workloads-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("data")).unwrap();
    let path = folder.join("office.toml");
    fs::write(&path, SCENARIO.replace("CLASS", class).replace("OPTIONS", options)).unwrap();
    if let Some(file) = file {
        fs::write(folder.join("data/office.toml"), file).unwrap();
    }
    path
}

fn checked(path: &Path) -> Result<usize, String> {
    let plan = plan_from_file(path, &[]).unwrap();
    check(&plan, path.parent().unwrap()).map(|checked| checked.points).map_err(|e| e.to_string())
}

const CLOSED: &str = "arrivals = \"closed\"";

#[test]
fn a_file_is_read_beside_the_scenario() {
    assert_eq!(checked(&files("right", "web", CLOSED, Some(FILE))), Ok(1));
    // The mark of the byte order that some editors write.
    assert_eq!(checked(&files("mark", "web", CLOSED, Some(&format!("\u{feff}{FILE}")))), Ok(1));
}

#[test]
fn what_cannot_be_played_is_refused_with_both_locations() {
    let wrong = FILE.replace("[0, 100]", "[0.5, 700]").replacen("conversations = 3", "conversations = 3.5", 1);
    let gaps = "[class.arrival_gap]\nsamples = 2\nknots = [[1, 0]]\n[class.exchanges]";
    let no_gaps = FILE.replacen("[class.exchanges]", gaps, 1);
    for (name, class, options, file, expected) in [
        ("missing", "web", CLOSED, None, "data/office.toml: No such file"),
        (
            "class",
            "wbe",
            CLOSED,
            Some(FILE),
            "the file has no class \"wbe\"; accepted: \"workload:data/office.toml#web\", ",
        ),
        (
            "udp",
            "voice",
            "arrivals = \"closed\", gap = \"1 s\"",
            Some(FILE),
            "traffic.web.workload.arrivals: needs a class of TCP; this one is of UDP, which has no end to wait for",
        ),
        (
            "problems",
            "web",
            CLOSED,
            Some(&wrong[..]),
            "data/office.toml:5:17: class.web.conversations: the number 3.5 does not fit here (and 1 more)",
        ),
        ("arrivals", "web", "scale = 2", Some(FILE), "the class has no arrival_gap"),
        ("at once", "web", "scale = 2", Some(&no_gaps[..]), "conversations arrive every 0e0 s"),
        ("load", "web", "load = 0.5", Some(FILE), "load needs an arrival_gap, which the class does not have"),
    ] {
        let message = checked(&files(name, class, options, file)).unwrap_err();
        assert!(message.contains(expected), "{expected}: {message}");
        // Faults of a file are those of the key that names it.
        if options == CLOSED {
            assert!(message.contains("office.toml:13:7: traffic.web.app: "), "{message}");
        }
    }
}

/// Keys for TCP of a group whose class is of UDP have no effect, which `check` and `simulate` say.
#[test]
fn keys_of_tcp_are_without_effect_for_a_class_of_udp() {
    let gaps = "[class.arrival_gap]\nsamples = 2\nknots = [[1, 0.5]]\n[class.packets]";
    let path = files("warned", "voice", "scale = 1", Some(&FILE.replace("[class.packets]", gaps)));
    let folder = path.parent().unwrap();
    let set = [("traffic.web.tcp.control", "\"reno\""), ("tcp.window", "\"64 KiB\"")];
    let plan = plan_from_file(&path, &set.map(|(key, value)| Override::new(key, value))).unwrap();
    let checked: Vec<String> = check(&plan, folder).unwrap().warnings.iter().map(ToString::to_string).collect();
    let why = "traffic.web.tcp: has no effect: it is for TCP, and the class of the workload file is of UDP";
    for part in [why, "all groups send UDP datagrams"] {
        assert!(checked.iter().any(|warning| warning.contains(part)), "{part}: {checked:?}");
    }
    let simulated = simulate_in(&plan, folder, 1).unwrap().warnings;
    assert!(checked.iter().all(|warning| simulated.contains(warning)), "{simulated:?}");
    // Of TCP all is used.
    let path = files("used", "web", CLOSED, Some(FILE));
    let plan = plan_from_file(&path, &set[..1].iter().map(|(k, v)| Override::new(*k, *v)).collect::<Vec<_>>()).unwrap();
    assert_eq!(check(&plan, path.parent().unwrap()).unwrap().warnings, []);
}

/// Calls of 9 packets of 172 B, each half a second, in two slots: 200 B of IP, 2 x 18 packets/s.
#[test]
fn a_prediction_reads_the_file() {
    let gaps = "[class.arrival_gap]\nsamples = 2\nknots = [[1, 0.5]]\n";
    let text = FILE.replace("[class.packets]", &format!("{gaps}[class.packets]"));
    let text = text.replace("[class.exchanges]", &format!("{gaps}[class.exchanges]"));
    let predicted = |name, class, file: &str, set: &[(&str, &str)]| {
        let path = files(name, class, "scale = 1", Some(file));
        let set: Vec<Override> = set.iter().map(|(key, value)| Override::new(*key, *value)).collect();
        let plan = plan_from_file(&path, &set).unwrap();
        predict::scenario(&plan, path.parent().unwrap()).map_err(|error| error.to_string())
    };
    let points = predicted("rate", "voice", &text, &[("traffic.web.count", "2")]).unwrap();
    let [of] = &points[0].udp[..] else { panic!("{:?}", points[0].udp) };
    assert!(points[0].groups.is_empty() && (of.rate - 2.0 * 18.0 * 1600.0).abs() < 1e-6, "{of:?}");
    // 160 us on each link of 10 Mbit/s, and 6 ms.
    assert!((of.path_delay - 0.006_32).abs() < 1e-12, "{of:?}");
    assert!(matches!(&of.delay_mean, predict::Answer::None(why) if why.contains("any distribution")), "{of:?}");
    assert_eq!(of.delay_mean, of.loss_ratio);
    let points = predicted("exchanges", "web", &text, &[]).unwrap();
    let caveats = &points[0].groups[0].caveats;
    assert!(points[0].udp.is_empty() && caveats.iter().any(|text| text.contains("250 B on average")), "{caveats:?}");
    assert!(caveats.iter().any(|text| text.contains("the originators of the class send more")), "{caveats:?}");
    let missing = predicted("no class", "call", &text, &[]).err().unwrap();
    assert!(missing.contains("the file has no class \"call\"; accepted: "), "{missing}");
    let law = "[class.packets]\nsamples = 3\nfit = { law = \"pareto\", minimum = 1, shape = 1, ks = 0 }";
    let set = [("traffic.web.workload.fits", "true")];
    let endless =
        predicted("endless", "voice", &text.replace("[class.packets]\nsamples = 3", law), &set).err().unwrap();
    let expected =
        "traffic.web.workload.fits: uses laws without a mean, so that there is no rate to predict; accepted: ";
    assert!(endless.contains(expected), "{endless}");
}

/// The example has open arrivals, those of a load with fitted laws, and closed users.
#[test]
fn the_example_gives_the_same_on_any_number_of_threads() {
    let path = repository("scenarios/office.toml");
    let set = [("run.duration", "\"20 s\""), ("run.warmup", "\"2 s\""), ("run.seeds", "3")];
    let plan = plan_from_file(&path, &set.map(|(key, value)| Override::new(key, value))).unwrap();
    let run = |threads| {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out");
        simulate_in(&plan, path.parent().unwrap(), threads).unwrap().write(&out, false).unwrap();
        ["runs", "series", "summary"].map(|table| fs::read(out.join(format!("{table}.parquet"))).unwrap())
    };
    let one = run(1);
    assert!(one.iter().all(|bytes| bytes.len() > 500) && one == run(2) && one == run(3));
}

#[test]
fn files_are_read_and_compared() {
    let path = repository("scenarios/workloads/office.toml");
    assert_eq!(read_workload(&path).unwrap().classes.len(), 4);
    assert!(compare_workloads([&path, &path]).unwrap().is_alike());
    let capture = tempfile::NamedTempFile::new().unwrap();
    fs::write(capture.path(), [0xd4, 0xc3, 0xb2, 0xa1]).unwrap();
    let refused = read_workload(capture.path()).unwrap_err().to_string();
    assert!(refused.contains("is no text in UTF-8; accepted: ") && refused.contains("workload from-pcap"), "{refused}");
    let missing = read_workload(Path::new("nowhere.toml")).unwrap_err();
    assert!(missing.is_input() && missing.to_string().starts_with("cannot read nowhere.toml: "), "{missing}");
}
