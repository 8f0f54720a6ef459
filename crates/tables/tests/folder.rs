//! The result folder: whole or not there.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cellway_record::metric::slot::GOODPUT;
use cellway_record::{Counts, Row, RunKey, RunRecord, Source};
use cellway_tables::{Error, MANIFEST_FILE, Manifest, PARTIAL_MARK, Provenance, ResultFolder, Results, check_target};
use cellway_units::Span;
use tempfile::TempDir;

fn results(value: f64) -> Results {
    let row = |t| Row { subject: Arc::from("ftp-1"), metric: (&GOODPUT).into(), t, value };
    let counts = Counts { events: 500, cell_hops: 300, packet_hops: 100, packets: 20, simulated: Span::from_secs(180) };
    let record = RunRecord { summary: vec![row(None)], series: vec![row(Some(1.0)), row(Some(2.0))], counts };
    let key = RunKey { run: 0, point: 0, seed: 1, axes: Vec::new() };
    Results::from_runs(Source::Simulate, [(key, record)]).unwrap()
}

fn about() -> Provenance {
    Provenance {
        version: "0.1.0".to_owned(),
        scenario: "abc".to_owned(),
        first_seed: 1,
        seeds: 1,
        points: 1,
        started: "1991-09-03T12:00:00Z".to_owned(),
        wall_seconds: 1.5,
        host: "test".to_owned(),
        threads: 2,
        rtt_seconds: 0.045,
        warmup_seconds: 45.0,
        warnings: vec!["mind the gap".to_owned()],
        scheduling: Vec::new(),
        reuses_runs: false,
        planned_runs: None,
    }
}

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out").join("study");
    (folder, target)
}

/// Returns the names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_result_is_read_back() {
    let (_keep, target) = place();
    let written = results(3.0).write(&target, false, &about()).unwrap();
    assert_eq!(names(target.parent().unwrap()), ["study"], "nothing is left beside it");
    assert_eq!(names(&target), [MANIFEST_FILE, "runs.parquet", "series.parquet", "summary.parquet"]);
    let (read, manifest) = Results::read(&target).unwrap();
    assert_eq!(manifest, written);
    assert_eq!(read.counts, results(3.0).counts);
    assert!(read.summary.observations().unwrap().eq(results(3.0).summary.observations().unwrap()));
    assert_eq!(read.run_keys().unwrap(), results(3.0).run_keys().unwrap());
}

#[test]
fn the_manifest_describes_the_runs() {
    let (_keep, target) = place();
    let manifest = results(3.0).write(&target, false, &about()).unwrap();
    // The SHA-256 of "abc", FIPS 180-2, B.1.
    assert_eq!(manifest.scenario_sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!((manifest.runs, manifest.events, manifest.cell_hops, manifest.packets), (1, 500, 300, 20));
    assert_eq!((manifest.packet_hops, manifest.packet_hops_per_second), (100, Some(100.0 / 1.5)));
    assert_eq!(manifest.warnings, ["mind the gap"]);
    assert_eq!((manifest.cell_hops_per_second, manifest.simulated_seconds), (Some(200.0), 180.0));
    let sizes: Vec<_> = manifest.files.iter().map(|f| (f.name.as_str(), f.bytes)).collect();
    let on_disk = |name: &str| fs::metadata(target.join(name)).unwrap().len();
    let expected = ["runs.parquet", "summary.parquet", "series.parquet"].map(|n| (n, on_disk(n)));
    assert_eq!(sizes, expected);
    let untimed = results(3.0).write(&target, true, &Provenance { wall_seconds: 0.0, ..about() }).unwrap();
    assert_eq!(untimed.cell_hops_per_second, None);
    let stored = results(3.0).write(&target, true, &Provenance { reuses_runs: true, ..about() }).unwrap();
    assert_eq!((stored.cell_hops_per_second, stored.packet_hops_per_second, stored.packet_hops), (None, None, 100));
}

#[test]
fn the_same_results_are_the_same_files() {
    let (_keep, target) = place();
    let other = target.with_file_name("other");
    results(3.0).write(&target, false, &about()).unwrap();
    let later = Provenance { started: "1991-09-04T12:00:00Z".to_owned(), wall_seconds: 9.0, ..about() };
    results(3.0).write(&other, false, &later).unwrap();
    for name in ["runs.parquet", "summary.parquet", "series.parquet"] {
        assert_eq!(fs::read(target.join(name)).unwrap(), fs::read(other.join(name)).unwrap(), "{name}");
    }
}

#[test]
fn an_existing_folder_is_replaced_only_by_force_and_only_if_it_is_a_result() {
    let (_keep, target) = place();
    results(1.0).write(&target, false, &about()).unwrap();
    assert!(matches!(results(2.0).write(&target, false, &about()), Err(Error::Exists { .. })));
    let value = || Results::read(&target).unwrap().0.summary.observations().unwrap().next().unwrap().value;
    assert_eq!(value(), 1.0);
    results(2.0).write(&target, true, &about()).unwrap();
    assert_eq!(value(), 2.0);
    assert_eq!(names(target.parent().unwrap()), ["study"], "the old one is gone");

    let foreign = target.with_file_name("photos");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("cat.jpg"), "cat").unwrap();
    let is_kept = |with: &str| {
        for force in [false, true] {
            let error = results(2.0).write(&foreign, force, &about()).unwrap_err().to_string();
            assert!(error.contains("is no result of Cellway"), "{with}: {error}");
            assert!(check_target(&foreign, force).is_err());
        }
        assert_eq!(fs::read(foreign.join("cat.jpg")).unwrap(), b"cat");
    };
    is_kept("no manifest");
    let refused = Results::read(&foreign).err().unwrap().to_string();
    assert!(refused.ends_with("it has no manifest.json"), "{refused}");
    // The store of a sweep, and then with its tables.
    let store = target.with_file_name("store");
    fs::create_dir(&store).unwrap();
    fs::write(store.join("plan.json"), "{}").unwrap();
    let refused = Results::read(&store).err().unwrap().to_string();
    assert!(refused.contains("`cellway sweep merge` writes"), "{refused}");
    results(1.0).write(&store.join("results"), false, &about()).unwrap();
    let refused = Results::read(&store).err().unwrap().to_string();
    assert!(refused.contains(&format!("accepted: {}, which", store.join("results").display())), "{refused}");
    fs::remove_dir_all(&store).unwrap();
    fs::write(foreign.join(MANIFEST_FILE), r#"{"name": "somebody else's"}"#).unwrap();
    is_kept("the manifest of another program");
    assert_eq!(names(target.parent().unwrap()), ["photos", "study"]);

    let file = target.with_file_name("file");
    fs::write(&file, "text").unwrap();
    assert!(matches!(check_target(&file, true), Err(Error::NotReplaceable { .. })));
    assert!(check_target(&target, true).is_ok() && check_target(&target.with_file_name("new"), false).is_ok());
    assert_eq!(names(target.parent().unwrap()), ["file", "photos", "study"], "the check leaves nothing");
}

/// In /proc nobody can make a folder, not even root.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_made_is_refused_before_the_runs() {
    for path in ["/proc/study", "/proc/results/study", "/proc/version/study"] {
        assert!(matches!(check_target(Path::new(path), false), Err(Error::Io { .. })), "{path}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_is_not_followed() {
    let (_keep, target) = place();
    results(1.0).write(&target, false, &about()).unwrap();
    let link = target.with_file_name("latest");
    std::os::unix::fs::symlink(&target, &link).unwrap();
    assert!(matches!(results(2.0).write(&link, true, &about()), Err(Error::NotReplaceable { .. })));
    assert!(Results::read(&link).is_ok(), "reading through it is fine");
}

#[test]
fn a_run_that_stops_leaves_no_readable_result() {
    let (_keep, target) = place();
    let study = results(1.0);
    // Stopped at each step: dropped, as when the run fails, and forgotten, as when the process is killed.
    for steps in 0..=3 {
        for killed in [false, true] {
            let mut folder = ResultFolder::create(&target, false).unwrap();
            let partial = folder.path().to_owned();
            study.tables().into_iter().take(steps).for_each(|t| folder.write_table(t).unwrap());
            assert!(!target.exists());
            if killed {
                // All of the files, the manifest too: only the name distinguishes it.
                fs::write(partial.join(MANIFEST_FILE), "{}").unwrap();
                std::mem::forget(folder);
                assert!(matches!(Results::read(&partial), Err(Error::Partial { .. })));
            } else {
                drop(folder);
                assert!(!partial.exists());
            }
            assert!(matches!(Results::read(&target), Err(Error::NoManifest { .. })));
        }
    }
    assert_eq!(names(target.parent().unwrap()).len(), 4, "each killed run has a folder of its own");
    study.write(&target, false, &about()).unwrap();
    assert!(Results::read(&target).is_ok());
}

#[test]
fn other_files_are_listed_and_cannot_escape() {
    let (_keep, target) = place();
    let mut folder = ResultFolder::create(&target, false).unwrap();
    folder.write_file("a.pcap", b"abc").unwrap();
    fs::write(folder.path().join("b.pcap"), "abc").unwrap();
    folder.adopt("b.pcap").unwrap();
    assert!(matches!(folder.adopt("c.pcap"), Err(Error::Io { .. })), "it is not there");
    for name in ["../b", "a/b", "", ".", "..", "/tmp/b", MANIFEST_FILE, "a.pcap"] {
        assert!(matches!(folder.write_file(name, b"abc"), Err(Error::FileName { .. })), "{name:?}");
    }
    let manifest = folder.commit(&about(), 0, Counts::default()).unwrap();
    let files: Vec<_> = manifest.files.iter().map(|f| (f.name.as_str(), f.bytes, f.sha256[..8].to_owned())).collect();
    assert_eq!(files, [("a.pcap", 3, "ba7816bf".to_owned()), ("b.pcap", 3, "ba7816bf".to_owned())]);
    assert_eq!(names(target.parent().unwrap()), ["study"]);
}

#[test]
fn damage_and_later_formats_are_named() {
    let (_keep, target) = place();
    results(1.0).write(&target, false, &about()).unwrap();
    let table = target.join("summary.parquet");
    let mut bytes = fs::read(&table).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&table, bytes).unwrap();
    assert!(matches!(Results::read(&target), Err(Error::Damaged { path }) if path == table));

    let manifest = target.join(MANIFEST_FILE);
    fs::write(&manifest, r#"{"format": 2, "cellway": "9.0.0"}"#).unwrap();
    let error = Manifest::read(&target).unwrap_err().to_string();
    assert!(error.contains("format 2, written by Cellway 9.0.0; this version reads format 1"), "{error}");
    fs::write(&manifest, "{").unwrap();
    assert!(matches!(Manifest::read(&target), Err(Error::BadManifest { .. })));
}

#[test]
fn names_that_cannot_be_results() {
    let (_keep, target) = place();
    for name in ["/", "..", &format!("{}{PARTIAL_MARK}7", target.display())] {
        assert!(matches!(check_target(Path::new(name), true), Err(Error::BadName { .. })), "{name}");
    }
}
