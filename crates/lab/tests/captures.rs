//! Captures of whole runs, as tshark reads them.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{plan, program, single, tshark_fields};

/// Reads ATM frames as packets, and checks the checksums.
const OPTIONS: [&str; 6] =
    ["-o", "erf.aal5_type:Unspecified", "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"];

/// Returns what tshark prints about a file; `None` without it.
fn tshark(file: &Path, arguments: &[&str]) -> Option<String> {
    program("tshark", &[&OPTIONS[..], arguments, &["-r", &file.to_string_lossy()]].concat())
}

/// Captures at `node` a short run of three FTP and a TELNET.
fn captured(node: &str, set: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf, u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture.pcap");
    let mut all = vec![("run.duration", "\"6 s\""), ("run.warmup", "\"0 s\""), ("buffer.size", "\"1 bdp\"")];
    all.retain(|(key, _)| set.iter().all(|(other, _)| other != key));
    all.extend_from_slice(set);
    let records =
        cellway_lab::capture(&plan(single(), &all), Path::new("."), node, &path, false, &mut || false).unwrap();
    assert!(records > 200, "{records} records");
    (folder, path, records)
}

/// Rows of the given fields, one for each record.
fn fields(file: &Path, names: &[&str]) -> Option<Vec<Vec<String>>> {
    tshark_fields(file, &OPTIONS, names)
}

#[test]
fn every_frame_reassembles_with_a_good_crc_and_good_checksums() {
    for encapsulation in ["\"vc-mux\"", "\"llc-snap\""] {
        for node in ["r1", "s1", "r2"] {
            let (_folder, path, records) = captured(node, &[("multiplexing.encapsulation", encapsulation)]);
            let Some(text) = tshark(&path, &["-V"]) else { return };
            let crcs: Vec<&str> = text.lines().filter(|l| l.contains("AAL5 CRC:")).collect();
            assert!(crcs.len() > 200 && crcs.iter().all(|l| l.ends_with("(correct)")), "{node}, {encapsulation}");
            assert!(!text.contains("Malformed"), "{node}, {encapsulation}");
            let rows = fields(&path, &["ip.checksum.status", "tcp.checksum.status", "atm.vci"]).unwrap();
            assert_eq!(rows.len() as u64, records);
            let frames = rows.iter().filter(|row| !row[2].is_empty()).count();
            assert_eq!(frames, crcs.len(), "{node}, {encapsulation}: each frame has a CRC");
            // A switch captures frames only, each on arrival and departure; a router also packets of its hosts.
            assert_eq!(frames == rows.len(), node == "s1", "{node}: {frames} of {records}");
            // Status 1 is "good".
            let bad: Vec<_> = rows.iter().filter(|row| row[..2] != ["1", "1"]).take(3).collect();
            assert!(bad.is_empty(), "{node}, {encapsulation}: {bad:?}");
        }
    }
}

/// Without an adaptation layer there are no AAL5 frames to write, but hosts send whole packets.
#[test]
fn cells_without_aal5_are_refused_and_hosts_captured() {
    let bare = ("multiplexing.encapsulation", "\"none\"");
    let set = [("run.duration", "\"6 s\""), ("run.warmup", "\"0 s\""), bare];
    let folder = tempfile::tempdir().unwrap();
    for node in ["r1", "s1"] {
        let path = folder.path().join("capture.pcap");
        let refused =
            cellway_lab::capture(&plan(single(), &set), Path::new("."), node, &path, false, &mut || false).unwrap_err();
        let text = refused.to_string();
        assert!(text.contains("made of AAL5 frames") && text.contains("capture at a host"), "{node}: {text}");
    }
    let (_folder, _path, records) = captured("ftp-1", &[bare]);
    assert!(records > 200);
}

#[test]
fn a_host_is_captured_as_whole_connections() {
    let (_folder, path, records) = captured("ftp-1", &[]);
    let names = [
        "ip.src",
        "tcp.stream",
        "tcp.flags.syn",
        "tcp.flags.fin",
        "tcp.len",
        "tcp.analysis.lost_segment",
        "tcp.analysis.ack_lost_segment",
    ];
    let Some(rows) = fields(&path, &names) else { return };
    assert_eq!(rows.len() as u64, records);
    assert!(rows.iter().all(|row| row[5].is_empty() && row[6].is_empty()), "nothing is missing between SYN and FIN");
    let mut streams: BTreeMap<&str, Vec<&Vec<String>>> = BTreeMap::new();
    rows.iter().for_each(|row| streams.entry(&row[1]).or_default().push(row));
    // The end of the run may cut the last one short.
    let last = rows.last().expect("there are rows")[1].clone();
    assert!(streams.len() >= 3, "{} connections", streams.len());
    for (stream, rows) in streams.iter().filter(|(stream, _)| **stream != last) {
        let on = |cell: &str| cell == "1" || cell == "True";
        assert_eq!(rows.iter().filter(|row| on(&row[2])).count(), 2, "stream {stream}: SYN and its answer");
        assert!(on(&rows[0][2]), "stream {stream} begins with a SYN");
    }
    let hosts: std::collections::BTreeSet<_> = rows.iter().map(|row| &row[0]).collect();
    assert_eq!(hosts.len(), 2, "{hosts:?}: the host and its peer");
}

/// Each policy has its own number of channels on the line, from VCI 32 on.
#[test]
fn channels_of_a_capture_are_those_of_the_policy() {
    for (policy, there) in [("\"per-conversation\"", 4), ("\"per-type\"", 2), ("\"per-destination\"", 1)] {
        let (_folder, path, _) = captured("s1", &[("multiplexing.channel", policy)]);
        let Some(rows) = fields(&path, &["atm.vpi", "atm.vci", "ip.src"]) else { return };
        let channels: std::collections::BTreeSet<(&String, &String)> =
            rows.iter().map(|row| (&row[0], &row[1])).collect();
        // Both directions.
        assert_eq!(channels.len(), 2 * there, "{policy}: {channels:?}");
        assert!(channels.iter().all(|(vpi, vci)| *vpi == "0" && vci.parse::<u32>().unwrap() >= 32), "{channels:?}");
    }
}

/// The counterpart: if single cells are dropped, the rest of their frames has no good CRC, and there are as many such
/// frames as the router counts as lost.
#[test]
fn frames_that_lost_cells_fail_the_check() {
    let tight = [
        ("run.duration", "\"15 s\""),
        ("run.warmup", "\"0 s\""),
        ("run.seeds", "1"),
        ("buffer.discard", "\"cell\""),
        ("buffer.size", "\"40 cell\""),
        ("buffer.per", "\"port\""),
        ("multiplexing.channel", "\"per-destination\""),
    ];
    let (_folder, path, _) = captured("r2", &tight);
    let Some(text) = tshark(&path, &["-V"]) else { return };
    let frames = text.lines().filter(|l| l.starts_with("Asynchronous Transfer Mode")).count();
    let good = text.lines().filter(|l| l.contains("AAL5 CRC:") && l.ends_with("(correct)")).count();
    let study = common::simulate(&plan(single(), &tight), 1).unwrap();
    let rows = study.results.summary.observations().unwrap();
    let lost: f64 = rows.filter(|r| r.metric.starts_with("lost_frames_")).map(|r| r.value).sum();
    assert!(lost > 10.0, "{lost} lost");
    assert_eq!((frames - good) as f64, lost, "{good} good of {frames}");
}

#[test]
fn no_file_is_left_for_a_node_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture.pcap");
    let refused =
        cellway_lab::capture(&plan(single(), &[]), Path::new("."), "r7", &path, false, &mut || false).unwrap_err();
    assert!(
        refused.is_input() && refused.to_string().contains("r7") && refused.to_string().contains("ftp-1-sink"),
        "{refused}"
    );
    assert_eq!(common::names(folder.path()), Vec::<String>::new());
}
