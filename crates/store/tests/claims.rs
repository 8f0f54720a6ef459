//! Claims: no two processes do one run, and whatever one has done is found by the next that claims it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use cellway_record::RunRecord;
use cellway_store::{ALL_RUNS, Digest, Key, Outcome, Store};

fn key(number: u64) -> Key {
    Key::new(Digest([7; 32]), number, 1)
}

#[test]
fn a_run_is_claimed_by_one_and_found_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    // The second is opened before the file of the third exists.
    let (one, two) = (Store::open(folder.path()).unwrap(), Store::open(folder.path()).unwrap());
    let sweep = Store::open_part(folder.path(), ALL_RUNS).unwrap();
    for writer in [&one, &sweep] {
        let number = u64::from(std::ptr::eq(writer, &sweep));
        let claim = writer.claim(key(number)).unwrap().unwrap();
        assert!(two.claim(key(number)).unwrap().is_none());
        assert!(two.claim(key(99)).unwrap().is_some());
        writer.put(key(number), &Outcome::Failed("so".to_owned())).unwrap();
        drop(claim);
        assert_eq!(two.finished(key(number)), None);
        assert!(two.claim(key(number)).unwrap().is_some());
        assert_eq!(two.finished(key(number)), Some(false));
    }
    // Nothing is left of them.
    assert_eq!(fs::read_dir(folder.path().join("claims")).unwrap().count(), 0);
}

/// Files of several machines may be in one folder, so that numbers can be missing between them.
#[test]
fn a_file_with_a_number_below_others_is_found() {
    let folder = tempfile::tempdir().unwrap();
    drop(Store::open_part(folder.path(), "00002").unwrap());
    let one = Store::open(folder.path()).unwrap();
    // Its file is 00001.
    let two = Store::open(folder.path()).unwrap();
    for number in 0..3 {
        assert!(one.claim(key(number)).unwrap().is_some());
        two.put(key(number), &Outcome::Finished(RunRecord::default())).unwrap();
        assert!(one.claim(key(number)).unwrap().is_some());
        assert_eq!(one.finished(key(number)), Some(true), "{number}");
    }
    assert_eq!(one.totals().unwrap().files, 3, "each file is there once");
}

/// The files of a store need not be numbered without a gap: somebody may have removed a damaged one.
#[test]
fn a_run_is_found_in_a_file_with_a_number_between_others() {
    let folder = tempfile::tempdir().unwrap();
    let three = [(); 3].map(|()| Store::open(folder.path()).unwrap());
    drop(three);
    fs::remove_file(folder.path().join("runs/00001.runs")).unwrap();
    let (one, two) = (Store::open(folder.path()).unwrap(), Store::open(folder.path()).unwrap());
    two.put(key(1), &Outcome::Failed("so".to_owned())).unwrap();
    assert!(folder.path().join("runs/00001.runs").exists() && one.finished(key(1)).is_none());
    for _ in 0..2 {
        assert!(one.claim(key(1)).unwrap().is_some());
        assert_eq!((one.finished(key(1)), one.totals().unwrap().files), (Some(false), 3));
    }
}

/// A process that was killed leaves the file, without its lock.
#[test]
fn the_claim_of_a_killed_process_is_free() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let left = folder.path().join("claims").join(key(1).to_string());
    fs::create_dir(folder.path().join("claims")).unwrap();
    fs::write(&left, "").unwrap();
    assert!(store.claim(key(1)).unwrap().is_some());
    assert!(!left.exists());
    fs::write(&left, "").unwrap();
    let claim = store.claim(key(2)).unwrap();
    drop(store);
    Store::compact(folder.path(), |_| true).unwrap();
    // Only those without a claim.
    assert!(!left.exists() && folder.path().join("claims").join(key(2).to_string()).exists());
    drop(claim);
}

/// Several stores, as several processes have them, do 300 runs in the same order: each run is done once.
#[test]
fn each_run_is_done_once() {
    let folder = tempfile::tempdir().unwrap();
    let done: Vec<AtomicU64> = (0..300).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let done = &done;
            let store = Store::open(folder.path()).unwrap();
            scope.spawn(move || {
                for (number, done) in (0..).zip(done) {
                    loop {
                        let Some(claim) = store.claim(key(number)).unwrap() else { continue };
                        if store.finished(key(number)).is_none() {
                            done.fetch_add(1, Ordering::Relaxed);
                            store.put(key(number), &Outcome::Finished(RunRecord::default())).unwrap();
                        }
                        drop(claim);
                        break;
                    }
                }
            });
        }
    });
    assert!(done.iter().all(|done| done.load(Ordering::Relaxed) == 1));
}
