//! Stores through ends of every kind: killed writers, damage, full files, several processes.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;

use cellway_record::metric::port;
use cellway_record::{Row, RunRecord};
use cellway_store::{Digest, Error, Key, Outcome, Store};

fn key(number: u64) -> Key {
    Key::new(Digest([7; 32]), number, 1)
}

fn outcome(number: u64) -> Outcome {
    if number % 5 == 4 {
        return Outcome::Failed(format!("run {number} failed"));
    }
    let row = |t: Option<f64>| Row {
        subject: format!("r{number}>s").into(),
        metric: (&port::UTILISATION).into(),
        t,
        value: 1.0 / number as f64,
    };
    Outcome::Finished(RunRecord { summary: vec![row(None)], series: vec![row(Some(0.5))], ..RunRecord::default() })
}

fn fill(folder: &Path, numbers: std::ops::Range<u64>) {
    let store = Store::open(folder).unwrap();
    numbers.for_each(|number| store.put(key(number), &outcome(number)).unwrap());
}

fn only_file(folder: &Path) -> std::path::PathBuf {
    let mut files = fs::read_dir(folder.join("runs")).unwrap().map(|entry| entry.unwrap().path());
    let file = files.next().unwrap();
    assert!(files.next().is_none());
    file
}

#[test]
fn outcomes_are_found_by_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 0..10);
    fill(folder.path(), 10..12);
    let store = Store::read(folder.path()).unwrap();
    for number in 0..12 {
        assert_eq!(store.get(key(number)).unwrap(), Some(outcome(number)));
        assert_eq!(store.finished(key(number)), Some(number % 5 != 4));
    }
    assert_eq!((store.get(key(12)).unwrap(), store.contains(key(12))), (None, false));
    let totals = store.totals().unwrap();
    assert_eq!((totals.finished, totals.failed, totals.files), (10, 2, 1));
}

/// A process that is killed, or a machine that stops, leaves the file at any length: all whole runs are there, and the
/// next writer goes on after them.
#[test]
fn a_file_of_any_length_has_its_whole_runs() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 0..3);
    let file = only_file(folder.path());
    let whole = fs::read(&file).unwrap();
    let mut before = 0;
    for length in 0..whole.len() {
        fs::write(&file, &whole[..length]).unwrap();
        let found = (0..3).filter(|number| Store::read(folder.path()).unwrap().contains(key(*number))).count();
        assert!(found >= before && found < 3, "{found} runs in {length} octets");
        before = found;
        let store = Store::open(folder.path()).unwrap();
        (0..3).for_each(|number| match store.get(key(number)).unwrap() {
            Some(found) => assert_eq!(found, outcome(number)),
            None => store.put(key(number), &outcome(number)).unwrap(),
        });
        drop(store);
        assert!(fs::read(&file).unwrap() == whole, "after {length} octets");
    }
    assert_eq!(before, 2);
}

/// Zeros at the end, as file systems leave them when a machine stops.
#[test]
fn zeros_at_the_end_are_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 0..2);
    let file = only_file(folder.path());
    let whole = fs::read(&file).unwrap();
    fs::write(&file, [&whole[..], &[0; 5000]].concat()).unwrap();
    fill(folder.path(), 2..3);
    let store = Store::read(folder.path()).unwrap();
    (0..3).for_each(|number| assert_eq!(store.get(key(number)).unwrap(), Some(outcome(number))));
    assert!(fs::metadata(&file).unwrap().len() < whole.len() as u64 + 1000);
}

/// Any octet that changes leaves every other run; the damaged one is missing, reported, and can be added again.
#[test]
fn a_damaged_run_counts_as_missing() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 0..3);
    let file = only_file(folder.path());
    let whole = fs::read(&file).unwrap();
    let begin = whole.iter().position(|octet| *octet == b'\n').unwrap() + 1;
    let second = begin + whole[begin + 1..].windows(4).position(|four| four == b"run:").unwrap() + 1;
    let third = second + whole[second + 1..].windows(4).position(|four| four == b"run:").unwrap() + 1;
    for at in second..third {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x81;
        fs::write(&file, &damaged).unwrap();
        let store = Store::open(folder.path()).unwrap();
        assert_eq!(store.get(key(0)).unwrap(), Some(outcome(0)));
        assert_eq!(store.get(key(1)).unwrap(), None, "octet {at}");
        assert_eq!(store.get(key(2)).unwrap(), Some(outcome(2)));
        let damage = store.damage();
        // A damaged key is that of no run.
        let is_key = (second + 12..second + 44).contains(&at);
        assert!(damage.iter().all(|damage| damage.message.contains("octet ")), "{damage:?}");
        assert!(is_key || !damage.is_empty(), "octet {at}: {damage:?}");
        store.put(key(1), &outcome(1)).unwrap();
        drop(store);
        assert_eq!(Store::read(folder.path()).unwrap().get(key(1)).unwrap(), Some(outcome(1)));
    }
}

#[test]
fn each_process_has_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let stores: Vec<Store> = (0..3).map(|_| Store::open(folder.path()).unwrap()).collect();
    for (number, store) in stores.iter().enumerate() {
        store.put(key(number as u64), &outcome(number as u64)).unwrap();
    }
    let part = Store::open_part(folder.path(), "shard-1-of-2").unwrap();
    let refused = Store::open_part(folder.path(), "shard-1-of-2").unwrap_err();
    assert!(matches!(refused, Error::InUse { .. }), "{refused}");
    part.put(key(3), &outcome(3)).unwrap();
    let all = Store::read(folder.path()).unwrap();
    assert_eq!((all.totals().unwrap().finished, all.totals().unwrap().files), (4, 4));
    assert!(matches!(Store::compact(folder.path(), |_| true), Err(Error::InUse { .. })));
    drop((stores, part));
    // Nothing was lost by the refusal.
    assert_eq!(Store::read(folder.path()).unwrap().totals().unwrap(), all.totals().unwrap());
    // A file that is free again is used again.
    drop(Store::open(folder.path()).unwrap());
    assert_eq!(Store::read(folder.path()).unwrap().totals().unwrap().files, 4);
}

#[test]
fn compaction_keeps_what_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let other = Store::open(folder.path()).unwrap();
    fill(folder.path(), 0..20);
    other.put(key(3), &outcome(3)).unwrap();
    drop(other);
    let before = Store::read(folder.path()).unwrap().totals().unwrap();
    let wanted: Vec<Key> = (0..20).filter(|number| number % 2 == 0).map(key).collect();
    let freed = Store::compact(folder.path(), |key| wanted.contains(&key)).unwrap();
    let store = Store::read(folder.path()).unwrap();
    let after = store.totals().unwrap();
    assert_eq!((before.files, after.files, before.octets - after.octets), (2, 1, freed));
    for number in 0..20 {
        assert_eq!(store.get(key(number)).unwrap(), (number % 2 == 0).then(|| outcome(number)));
    }
}

#[test]
fn other_folders_are_refused_and_stay_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.tex"), "text").unwrap();
    let refused = Store::open(folder.path()).unwrap_err().to_string();
    assert!(refused.contains("thesis.tex") && refused.contains("accepted:"), "{refused}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let refused = Store::open(&folder.path().join("thesis.tex")).unwrap_err().to_string();
    assert!(refused.contains("it is a file"), "{refused}");
    let store = folder.path().join("store");
    fill(&store, 0..1);
    fs::write(only_file(&store), "cellway-runs 2\nand more").unwrap();
    for refused in [Store::read(&store), Store::open(&store)] {
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("format 2; accepted: 1"), "{refused}");
    }
    assert!(fs::read(only_file(&store)).unwrap() == b"cellway-runs 2\nand more");
    assert_eq!(Store::read(&folder.path().join("none")).unwrap().totals().unwrap().files, 0);
    assert!(!folder.path().join("none").exists());
}

/// The device `/dev/full` refuses every write, as a full disk does.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_and_keeps_the_runs() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 0..2);
    std::os::unix::fs::symlink("/dev/full", folder.path().join("runs/full.runs")).unwrap();
    let refused = Store::open_part(folder.path(), "full").unwrap_err().to_string();
    assert!(refused.contains("full.runs"), "{refused}");
    fs::remove_file(folder.path().join("runs/full.runs")).unwrap();
    assert_eq!(Store::read(folder.path()).unwrap().totals().unwrap().finished, 2);
}

#[test]
fn equal_records_are_equal_to_the_bit() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let Outcome::Finished(mut record) = outcome(1) else { panic!("it finished") };
    record.summary[0].value = f64::NAN;
    store.put(key(1), &Outcome::Finished(record.clone())).unwrap();
    assert!(store.has_same(key(1), &record).unwrap());
    record.series[0].value = -0.0;
    assert!(!store.has_same(key(1), &record).unwrap());
    record.series[0].value = 1.0;
    assert!(store.has_same(key(1), &record).unwrap());
}

#[test]
fn the_outcome_before_a_damaged_one_counts() {
    let folder = tempfile::tempdir().unwrap();
    for part in ["a", "b"] {
        Store::open_part(folder.path(), part).unwrap().put(key(1), &outcome(1)).unwrap();
    }
    let file = folder.path().join("runs/b.runs");
    let mut octets = fs::read(&file).unwrap();
    *octets.last_mut().unwrap() ^= 1;
    fs::write(&file, octets).unwrap();
    let store = Store::read(folder.path()).unwrap();
    assert!(store.has_whole(key(1)).unwrap());
    assert_eq!((store.get(key(1)).unwrap(), store.damage().len()), (Some(outcome(1)), 1));
    assert_eq!(Store::read(folder.path()).unwrap().get(key(1)).unwrap(), Some(outcome(1)));
    Store::compact(folder.path(), |_| true).unwrap();
    assert_eq!(Store::read(folder.path()).unwrap().get(key(1)).unwrap(), Some(outcome(1)));
}

/// Heads alone do not show that the octets after one have changed.
#[test]
fn a_damaged_run_is_found_before_it_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 0..3);
    let file = only_file(folder.path());
    let mut octets = fs::read(&file).unwrap();
    *octets.last_mut().unwrap() ^= 1;
    fs::write(&file, octets).unwrap();
    let store = Store::open(folder.path()).unwrap();
    let whole: Vec<bool> = (0..4).map(|number| store.has_whole(key(number)).unwrap()).collect();
    assert_eq!((whole, store.contains(key(2)), store.damage().len()), (vec![true, true, false, false], false, 1));
    store.put(key(2), &outcome(2)).unwrap();
    assert!(store.has_whole(key(2)).unwrap());
}

/// One octet of the first line, or zeros as a machine that stops can leave them.
#[test]
fn a_damaged_first_line_costs_no_run() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 0..2);
    let file = only_file(folder.path());
    let whole = fs::read(&file).unwrap();
    let title = whole.iter().position(|octet| *octet == b'\n').unwrap() + 1;
    let mut lines: Vec<Vec<u8>> = (0..title).map(|at| [&whole[..at], b"~", &whole[at + 1..title]].concat()).collect();
    lines.push(vec![0; title]);
    for line in lines {
        fs::write(&file, [&line, &whole[title..]].concat()).unwrap();
        let store = Store::read(folder.path()).unwrap();
        assert_eq!((store.get(key(1)).unwrap(), store.damage().len()), (Some(outcome(1)), 1), "{line:?}");
        // The next writer mends it.
        drop(Store::open(folder.path()).unwrap());
        assert!(fs::read(&file).unwrap() == whole, "{line:?}");
    }
    fs::write(&file, [0; 5000]).unwrap();
    fill(folder.path(), 0..2);
    assert!(fs::read(&file).unwrap() == whole);
}

#[test]
#[cfg(unix)]
fn what_is_no_file_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 0..1);
    let runs = folder.path().join("runs");
    fs::create_dir(runs.join("folder.runs")).unwrap();
    // Opened, it would wait for a writer without end.
    assert!(std::process::Command::new("mkfifo").arg(runs.join("pipe.runs")).status().unwrap().success());
    assert!(Store::read(folder.path()).unwrap().contains(key(0)));
    std::os::unix::fs::symlink("nowhere", runs.join("link.runs")).unwrap();
    let refused = Store::read(folder.path()).unwrap_err().to_string();
    assert!(refused.contains("link.runs"), "{refused}");
}

/// Readers see all runs while others compact.
#[test]
fn compactions_hide_no_run_from_readers() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 0..20);
    std::thread::scope(|scope| {
        let compactor = scope.spawn(|| {
            for round in 0..100 {
                let part = Store::open_part(folder.path(), &format!("part-{round}")).unwrap();
                part.put(key(round), &outcome(round)).unwrap();
                drop(part);
                Store::compact(folder.path(), |_| true).unwrap();
            }
        });
        while !compactor.is_finished() {
            let store = Store::read(folder.path()).unwrap();
            assert!((0..20).all(|number| store.contains(key(number))));
        }
    });
}

/// Writers come and go while others compact: each run that was added is there.
#[test]
#[cfg(unix)]
fn compactions_lose_no_run_of_writers() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        let path = folder.path();
        let write =
            |first: u64| move || (0..300).for_each(|number| fill(path, number * 2 + first..number * 2 + first + 1));
        let writers = [scope.spawn(write(0)), scope.spawn(write(1))];
        while writers.iter().any(|writer| !writer.is_finished()) {
            match Store::compact(folder.path(), |_| true) {
                Ok(_) | Err(Error::InUse { .. } | Error::Io { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    });
    let store = Store::read(folder.path()).unwrap();
    let lost: Vec<u64> = (0..600).filter(|number| !store.contains(key(*number))).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
#[cfg(unix)]
fn a_store_that_is_removed_while_it_is_used_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    store.put(key(0), &outcome(0)).unwrap();
    store.sync().unwrap();
    fs::remove_dir_all(folder.path().join("runs")).unwrap();
    let refused = store.sync().unwrap_err().to_string();
    assert!(refused.contains("removed while runs were added"), "{refused}");
}

/// Processes that begin at the same time, such as the shards of a job, make one store.
#[test]
fn a_new_store_is_made_by_several_at_once() {
    for _ in 0..50 {
        let folder = tempfile::tempdir().unwrap();
        let barrier = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for part in ["a", "b", "c", "d"] {
                let (barrier, folder) = (&barrier, folder.path());
                scope.spawn(move || {
                    barrier.wait();
                    Store::open_part(folder, part).unwrap();
                });
            }
        });
        assert_eq!(Store::read(folder.path()).unwrap().totals().unwrap().files, 4);
    }
}

/// A failed run that was run again has its failure in a file that may be read later.
#[test]
fn a_run_that_finished_counts_before_its_failures() {
    let finished = outcome(1);
    let failed = Outcome::Failed("no memory".to_owned());
    for outcomes in [[&finished, &failed], [&failed, &finished]] {
        let folder = tempfile::tempdir().unwrap();
        for (part, outcome) in ["a", "b"].iter().zip(outcomes) {
            Store::open_part(folder.path(), part).unwrap().put(key(1), outcome).unwrap();
        }
        let read = || Store::read(folder.path()).unwrap();
        assert_eq!(read().get(key(1)).unwrap(), Some(finished.clone()), "{outcomes:?}");
        // Damage of the record leaves the failure.
        let part = if outcomes[0] == &finished { "a" } else { "b" };
        let file = folder.path().join(format!("runs/{part}.runs"));
        let mut octets = fs::read(&file).unwrap();
        *octets.last_mut().unwrap() ^= 1;
        fs::write(&file, octets).unwrap();
        assert_eq!(read().get(key(1)).unwrap(), Some(failed.clone()), "{outcomes:?}");
    }
}

/// Of two records and a later failure of one run, the earlier record counts if the later one is damaged: also for a
/// compaction, after which nothing else is left.
#[test]
fn a_compaction_keeps_the_outcome_that_a_reader_takes() {
    let folder = tempfile::tempdir().unwrap();
    for (part, outcome) in [("a", outcome(1)), ("b", outcome(1)), ("c", Outcome::Failed("no memory".to_owned()))] {
        Store::open_part(folder.path(), part).unwrap().put(key(1), &outcome).unwrap();
    }
    let file = folder.path().join("runs/b.runs");
    let mut octets = fs::read(&file).unwrap();
    *octets.last_mut().unwrap() ^= 1;
    fs::write(&file, octets).unwrap();
    assert_eq!(Store::read(folder.path()).unwrap().get(key(1)).unwrap(), Some(outcome(1)));
    Store::compact(folder.path(), |_| true).unwrap();
    assert_eq!(Store::read(folder.path()).unwrap().get(key(1)).unwrap(), Some(outcome(1)));
}

#[test]
fn failures_that_are_forgotten_count_as_missing_until_they_fail_again() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 0..10);
    let store = Store::open(folder.path()).unwrap();
    store.forget_failures();
    let found: Vec<u64> = (0..10).filter(|number| store.contains(key(*number))).collect();
    assert_eq!(found, [0, 1, 2, 3, 5, 6, 7, 8]);
    store.put(key(4), &Outcome::Failed("again".to_owned())).unwrap();
    store.put(key(9), &outcome(8)).unwrap();
    drop(store);
    let store = Store::read(folder.path()).unwrap();
    assert_eq!(store.get(key(4)).unwrap(), Some(Outcome::Failed("again".to_owned())));
    assert_eq!(store.get(key(9)).unwrap(), Some(outcome(8)));
}

/// Many runs at once, on any number of threads, are checked as one by one.
#[test]
fn threads_check_runs_as_one_does() {
    let folder = tempfile::tempdir().unwrap();
    fill(folder.path(), 0..3000);
    let file = only_file(folder.path());
    let mut octets = fs::read(&file).unwrap();
    let length = octets.len();
    for at in [length / 3, length / 2, length - 1] {
        octets[at] ^= 0x40;
    }
    fs::write(&file, octets).unwrap();
    let keys: Vec<Key> = (0..3001).map(key).collect();
    let one = Store::read(folder.path()).unwrap();
    let expected: Vec<bool> = keys.iter().map(|key| one.has_whole(*key).unwrap()).collect();
    assert_eq!(expected.iter().filter(|whole| !**whole).count(), 4);
    for threads in [1, 3] {
        let store = Store::read(folder.path()).unwrap();
        assert_eq!(store.have_whole(&keys, threads).unwrap(), expected);
        assert_eq!(store.damage().len(), 3);
        assert_eq!(store.have_whole(&[], threads).unwrap(), []);
    }
}

/// Outcomes around the size that is read in one call.
#[test]
fn outcomes_of_any_size_are_read_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let sizes = [0, 1, 4043, 4044, 4045, 5000, 70_000, 3_000_000];
    let store = Store::open(folder.path()).unwrap();
    let failed = |size: usize| Outcome::Failed("x".repeat(size));
    for (number, size) in (0..).zip(sizes) {
        store.put(key(number), &failed(size)).unwrap();
    }
    let store = Store::read(folder.path()).unwrap();
    for (number, size) in (0..).zip(sizes) {
        assert!(store.get(key(number)).unwrap() == Some(failed(size)), "{size}");
    }
    let file = only_file(folder.path());
    let mut octets = fs::read(&file).unwrap();
    *octets.last_mut().unwrap() ^= 1;
    fs::write(&file, octets).unwrap();
    let store = Store::read(folder.path()).unwrap();
    assert_eq!((store.has_whole(key(6)).unwrap(), store.has_whole(key(7)).unwrap()), (true, false));
}
