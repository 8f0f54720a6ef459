//! Suspended processes, and clocks that jump.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use crate::common::pair::{Pair, Side, Wish};
use crate::common::world::{Version, World};
use crate::common::{self, until};
use crate::load::{Load, MEGA, meet, never_down, talk, until_crossed};

#[test]
fn a_suspended_daemon_continues() {
    if !common::possible("clock::a_suspended_daemon_continues") {
        return;
    }
    let _turn = common::turn();
    let world = World::new();
    let pair = Pair::start(&world, &Wish { rate: "30 Mbit/s", ..Wish::default() });
    let idle = meet(&world, Version::V6);
    for sides in [&[Side::Near][..], &[Side::Far], &Side::BOTH] {
        let load = Load::start(&world, 6, MEGA);
        until_crossed(&pair, 2 * MEGA);
        sides.iter().for_each(|&side| pair.signal(side, Signal::STOP));
        sleep(Duration::from_secs(5));
        sides.iter().for_each(|&side| pair.signal(side, Signal::CONT));
        load.whole();
    }
    talk(&idle);
    never_down(&pair);
    pair.stop();
}

/// The last jump of the clock (days): beyond the validity of certificates.
const AHEAD: u64 = 9_000;

/// Returns the path of libfaketime (<https://github.com/wolfcw/libfaketime>), from the variable or as in Debian.
fn faketime() -> Option<PathBuf> {
    const VARIABLE: &str = "CELLWAY_TEST_FAKETIME";
    if let Some(path) = std::env::var_os(VARIABLE) {
        return Some(path.into());
    }
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|folder| folder.path());
    let found = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|path| path.exists());
    if found.is_none() {
        common::skip(&format!("libfaketime is missing, with which clocks jump (or say where it is in {VARIABLE})"));
    }
    found
}

/// Sets the wall clock of both daemons to an offset. Only theirs: the monotonic clock does not change.
fn jump(clock: &Path, by: &str) {
    // Replaced atomically: a daemon may read it at any instant.
    let fresh = clock.with_extension("fresh");
    fs::write(&fresh, format!("{by}\n")).unwrap();
    fs::rename(fresh, clock).unwrap();
}

#[test]
fn a_clock_that_jumps_harms_nothing_but_certificates() {
    if !common::possible("clock::a_clock_that_jumps_harms_nothing_but_certificates") {
        return;
    }
    let _turn = common::turn();
    let Some(library) = faketime() else { return };
    let folder = tempfile::tempdir().unwrap();
    let clock = folder.path().join("clock");
    jump(&clock, "+0");
    let variables = [
        ("LD_PRELOAD", library.to_str().unwrap()),
        ("FAKETIME_TIMESTAMP_FILE", clock.to_str().unwrap()),
        ("FAKETIME_NO_CACHE", "1"),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ("DONT_FAKE_MONOTONIC", "1"),
    ];
    let assigned = variables.map(|(name, value)| format!("{name}={value}"));
    let before = ["env".to_owned()].into_iter().chain(assigned).collect();
    let world = World::new();
    let mut pair = Pair::start(&world, &Wish { rate: "30 Mbit/s", before, ..Wish::default() });
    let idle = meet(&world, Version::V4);
    let load = Load::start(&world, 6, 6 * MEGA);
    for by in ["+1h", "-1h", "+30d", "-9000d", &format!("+{AHEAD}d")] {
        until_crossed(&pair, MEGA);
        jump(&clock, by);
    }
    load.whole();
    talk(&idle);
    talk(&meet(&world, Version::V6));
    never_down(&pair);
    // The log shows that they used it: it has lines of that year.
    let days = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() / 86_400 + AHEAD;
    let year = 1_970 + (days as f64 / 365.2425) as u64;
    let at = |line: &str| [year - 1, year, year + 1].iter().any(|year| line.starts_with(&year.to_string()));
    for side in Side::BOTH {
        assert!(pair.written(side).lines().any(at), "{side:?} never wrote in {year}");
    }

    // With a clock at which certificates have expired, new handshakes fail with that reason.
    pair.kill(Side::Far);
    pair.run(Side::Far);
    until("the certificate is over", || {
        let why = pair.status(Side::Near).unwrap()["peers"][0]["why_down"].as_str().unwrap().to_owned();
        why.contains("expired")
    });
    jump(&clock, "+0");
    pair.wait_until_up();
    Load::start(&world, 6, MEGA / 2).whole();
    pair.stop();
}
