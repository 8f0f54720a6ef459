//! `cellway workload from-pcap`, as a user runs it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::Place;

/// Flows, and requests of one octet, over 10 Mbit/s.
const TRAFFIC: &str = r#"version = 1
name = "traffic"
node = [{ name = "a", kind = "router" }, { name = "b", kind = "router" }]

[run]
duration = "20 s"
warmup = "0 s"

[buffer]
size = "64 KiB"
per = "port"

[[link]]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "20 ms"

[[traffic]]
name = "flows"
from = "a"
to = "b"
access = { rate = "100 Mbit/s", delay = "1 ms" }
flows = { interval = "100 ms", sizes = "log-normal", median = "10 kB", sigma = 1.0 }

[[traffic]]
name = "ask"
app = "request-response"
from = "a"
to = "b"
access = { rate = "100 Mbit/s", delay = "1 ms" }
"#;

fn place() -> Place {
    let place = Place::new(TRAFFIC);
    for node in ["flows-1", "ask-1"] {
        place.run(&["simulate", "study.toml", "--quiet", "--pcap", node]).done();
    }
    place
}

#[test]
fn a_table_a_file_and_json() {
    let place = place();
    let ran = place.run(&["workload", "from-pcap", "flows-1.pcap", "-o", "out.toml"]).done();
    assert!(ran.out().contains("http-alt (tcp)") && ran.out().contains("octets to"), "{}", ran.out());
    assert!(ran.err().contains("packets in 19."), "{}", ran.err());
    let text = std::fs::read_to_string(place.path().join("out.toml")).unwrap();
    for part in ["version = 1\n\n[[class]]\nname = \"http-alt\"", "[class.request]", "law = \"lognormal\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let refused = place.run(&["workload", "from-pcap", "flows-1.pcap", "-o", "out.toml"]).refused();
    assert!(refused.contains("out.toml exists; --force replaces it"), "{refused}");
    place.run(&["workload", "from-pcap", "flows-1.pcap", "-o", "out.toml", "--force", "--quiet"]).done();
    assert_eq!(std::fs::read_to_string(place.path().join("out.toml")).unwrap(), text);
    let json = place.run(&["workload", "from-pcap", "flows-1.pcap", "--json"]).done().json();
    let class = &json["classes"][0];
    assert!(class["conversations"].as_u64().unwrap() > 100, "{class}");
    assert!((class["distributions"]["arrival_gap"]["mean"].as_f64().unwrap() - 0.1).abs() < 0.03, "{class}");
}

/// The requests are one conversation, which the end of the run cuts off.
#[test]
fn a_class_without_a_complete_conversation_is_named() {
    let place = place();
    let ran = place.run(&["workload", "from-pcap", "ask-1.pcap", "-o", "out.toml"]);
    assert!(ran.code() == 1 && ran.out().contains("1 cut off at the end"), "{}", ran.out());
    assert!(
        ran.err().contains("out.toml was not written: no conversation in the captures is complete"),
        "{}",
        ran.err()
    );
    let both = ["workload", "from-pcap", "flows-1.pcap", "ask-1.pcap", "-o", "out.toml"];
    let ran = place.run(&both).done();
    assert!(
        ran.err().contains("no conversation of netperf is complete, so the file has no such class"),
        "{}",
        ran.err()
    );
    // Its exchanges are there.
    let json = place.run(&["workload", "from-pcap", "ask-1.pcap", "--json"]).done().json();
    let request = &json["classes"][0]["distributions"]["request"];
    assert!(request["samples"].as_u64().unwrap() > 100 && request["p50"] == 1.0, "{request}");
}

#[test]
fn rules_divide_and_clusters_do() {
    let place = place();
    let rules = "[[class]]\nname = \"bulk\"\nports = [\"8000-8999\"]\nnetworks = [\"10.0.0.0/8\"]\n";
    std::fs::write(place.path().join("rules.toml"), rules).unwrap();
    let both = ["workload", "from-pcap", "flows-1.pcap", "ask-1.pcap", "--json", "--by"];
    let names = |by: &str| {
        let json = place.run(&[&both[..], &[by]].concat()).done().json();
        let classes = json["classes"].as_array().unwrap().iter();
        classes.map(|class| class["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("rules:rules.toml"), ["bulk", "other-tcp"]);
    assert!(names("cluster:2").iter().filter(|name| name.starts_with("tcp-cluster-")).count() == 2);
}

#[test]
fn a_damaged_file_counts_up_to_the_damage() {
    let place = place();
    let whole = std::fs::read(place.path().join("flows-1.pcap")).unwrap();
    std::fs::write(place.path().join("cut.pcap"), &whole[..whole.len() / 2]).unwrap();
    let ran = place.run(&["workload", "from-pcap", "cut.pcap", "--json"]).done();
    assert!(
        ran.err().contains("warning: cut.pcap: at octet ") && ran.err().contains("ends within a record"),
        "{}",
        ran.err()
    );
    let json = ran.json();
    assert_eq!(json["faults"][0]["file"], "cut.pcap");
    assert!(json["classes"][0]["conversations"].as_u64().unwrap() > 50);
}

/// The records of a pcap file, each second one before the one in front of it.
fn swapped(file: &[u8]) -> Vec<u8> {
    let mut records = Vec::new();
    let mut rest = &file[24..];
    while let Some(head) = rest.first_chunk::<16>() {
        let kept = u32::from_le_bytes([head[8], head[9], head[10], head[11]]) as usize;
        let (record, others) = rest.split_at(16 + kept);
        records.push(record);
        rest = others;
    }
    records.chunks_mut(2).for_each(<[_]>::reverse);
    [&file[..24], &records.concat()].concat()
}

#[test]
fn packets_in_another_order_than_that_of_time_are_a_warning() {
    let place = place();
    let file = std::fs::read(place.path().join("ask-1.pcap")).unwrap();
    std::fs::write(place.path().join("swapped.pcap"), swapped(&file)).unwrap();
    let ran = place.run(&["workload", "from-pcap", "ask-1.pcap", "--json"]).done();
    assert!(ran.json()["earlier"] == 0 && !ran.err().contains("earlier"), "{}", ran.err());
    let ran = place.run(&["workload", "from-pcap", "swapped.pcap", "--json"]).done();
    let earlier = ran.json()["earlier"].as_u64().unwrap();
    assert!(earlier > 100, "{earlier}");
    let warning = format!("warning: {earlier} packets with an earlier time than the packet before");
    assert!(ran.err().contains(&warning) && ran.err().contains("reordercap"), "{}", ran.err());
}

/// The file takes the place of what is there, so that a device would be gone for all programs.
#[test]
#[cfg(unix)]
fn force_replaces_files_and_nothing_else() {
    let place = place();
    let at = |name: &str| place.path().join(name);
    let socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    for command in [&["workload", "from-pcap", "flows-1.pcap"][..], &["path", "from-pcap", "flows-1.pcap"]] {
        let refused = place.run(&[command, &["-o", "socket", "--force"]].concat()).refused();
        assert!(refused.contains("socket cannot be written: it is no regular file; accepted: the name"), "{refused}");
    }
    drop(socket);
    assert!(!std::fs::metadata(at("socket")).unwrap().is_file());
    // A link stays one.
    std::fs::create_dir(at("folder")).unwrap();
    std::fs::write(at("folder/own.toml"), "").unwrap();
    std::os::unix::fs::symlink("folder/own.toml", at("link.toml")).unwrap();
    place.run(&["workload", "from-pcap", "flows-1.pcap", "-o", "link.toml", "--force"]).done();
    assert!(std::fs::symlink_metadata(at("link.toml")).unwrap().is_symlink());
    assert!(std::fs::read_to_string(at("folder/own.toml")).unwrap().contains("[[class]]"));
}

#[test]
fn a_path_needs_a_bulk_transfer() {
    let place = place();
    let refused = place.run(&["path", "from-pcap", "ask-1.pcap"]).refused();
    assert!(refused.contains("ask-1.pcap: none of") && refused.contains("accepted: captures with a TCP"), "{refused}");
    let refused = place.run(&["path", "from-pcap", "study.toml"]).refused();
    assert!(refused.contains("no capture begins with the octets"), "{refused}");
}

#[test]
fn wrong_options_and_files_are_refused_in_words() {
    let place = Place::new(TRAFFIC);
    std::fs::write(place.path().join("bad.toml"), "[[class]]\nname = \"a\"\nports = [-1]\n").unwrap();
    for (args, fault) in [
        (&["none.pcap"][..], "cannot read none.pcap: "),
        (&["study.toml"], "study.toml: at octet 0: no capture begins with the octets"),
        (&["study.toml", "--by", "size"], "--by size: there is no such rule; accepted: port, rules:FILE or cluster:N"),
        (&["study.toml", "--by", "cluster:0"], "\"0\" is no number of clusters; accepted: 1 to 64, like cluster:4"),
        (&["study.toml", "--by", "rules:none.toml"], "--by rules: cannot read none.toml"),
        (&["study.toml", "--by", "rules:bad.toml"], "bad.toml: class 1 (\"a\"): port -1 is out of range; accepted"),
        (&["study.toml", "-o", "none/out.toml"], "none/out.toml cannot be written: there is no folder none"),
    ] {
        let refused = place.run(&[&["workload", "from-pcap"], args].concat()).refused();
        assert!(refused.contains(fault), "{refused}");
        assert!(!refused.contains("panicked"));
    }
}
