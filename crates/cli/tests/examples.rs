//! The examples of today's networks over real hosts, shortened.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::io::Write;

use common::{Place, repository};

/// Each file with one point of its sweep, four seconds long, in real time: every group has sent and received.
#[test]
fn the_examples_run_in_real_time() {
    if let Some(why) = cellway_lab::emulate::missing() {
        std::io::stderr().write_all(format!("skipped: {why}\n").as_bytes()).unwrap();
        return;
    }
    for (name, groups) in [
        ("bufferbloat", &["call", "upload"][..]),
        ("lte", &["call", "download"]),
        ("leo", &["call", "download"]),
        ("incast", &["answer", "network"]),
        ("video", &["video", "download"]),
        ("rrul", &["ping", "icmp", "download", "upload"]),
        ("page", &["page", "download"]),
        ("office", &["web", "bulk", "shell", "voice"]),
    ] {
        let text = std::fs::read_to_string(repository(&format!("scenarios/{name}.toml"))).unwrap();
        let first_point = text.split_once("[sweep]").map_or(&text[..], |(first, _)| first);
        let [traces, workloads] = ["traces", "workloads"].map(|folder| repository("scenarios").join(folder));
        let text = first_point.replace("\"traces/", &format!("\"{}/", traces.display()));
        let place = Place::new(&text.replace("workload:workloads/", &format!("workload:{}/", workloads.display())));
        let set = ["run.duration=4 s", "run.warmup=1 s", "run.emulate.lateness-limit=10 s", "traffic.*.start=0 s"];
        let set = set.iter().flat_map(|set| ["--set", set]);
        let args: Vec<&str> = ["emulate", "study.toml", "--json"].into_iter().chain(set).collect();
        let told = place.run(&args).done().json();
        let rows = told["points"][0]["figures"].as_array().unwrap();
        for &group in groups {
            let rate = rows.iter().find(|row| row["subject"] == group && row["metric"] == "goodput_total");
            let rate = rate.unwrap_or_else(|| panic!("{name}: no goodput of {group}: {told}"));
            // A ping each 200 ms is 4480 bit/s at the most, there and back.
            // So is a session in a terminal.
            let least = if ["ping", "icmp", "shell"].contains(&group) { 1000.0 } else { 10_000.0 };
            assert!(rate["mean"].as_f64().unwrap() > least, "{name}: {rate}");
        }
    }
}
